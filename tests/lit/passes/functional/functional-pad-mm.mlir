// RUN: lect-opt %s -p 'functional-pad-mm{alignment=4 least=2}' | filecheck %s
// RUN: lect-opt %s -p functional-pad-mm{least=2} | filecheck %s --check-prefix=TARGET

// CHECK-LABEL: functional.func @pads_all_sizes
// CHECK-NEXT: %[[X:.*]] = functional.pad(%x) {pads = {{\[\[}}0, 1], [0, 3{{\]\]}}} : !functional.tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = functional.pad(%y) {pads = {{\[\[}}0, 3], [0, 2{{\]\]}}} : !functional.tensor<8x8xf32>
// CHECK-NEXT: %[[P:.*]] = functional.mm(%[[X]], %[[Y]]) : !functional.tensor<4x8xf32>
// CHECK-NEXT: %[[R:.*]] = functional.slice(%[[P]]) {dim = 0, start = 0, end = 3}
// CHECK-NEXT: %[[C:.*]] = functional.slice(%[[R]]) {dim = 1, start = 0, end = 6, strides = [6, 1]} : !functional.tensor<3x6xf32>
// CHECK-NEXT: functional.return(%[[C]])
// TARGET-LABEL: functional.func @pads_all_sizes
// TARGET-NOT: functional.pad
// TARGET: functional.return
functional.func @pads_all_sizes(%x: !functional.tensor<3x5xf32>, %y: !functional.tensor<5x6xf32>) {
  %0 = functional.mm(%x, %y) : !functional.tensor<3x6xf32>
  functional.return(%0)
}

// CHECK-LABEL: functional.func @pads_what_is_added
// CHECK: %[[B:.*]] = functional.pad(%b) {pads = {{\[\[}}0, 2{{\]\]}}} : !functional.tensor<8xf32>
// CHECK-NEXT: functional.addmm(%[[B]], %{{.*}}, %{{.*}}) {beta = 2} : !functional.tensor<4x8xf32>
functional.func @pads_what_is_added(%b: !functional.tensor<6xf32>, %x: !functional.tensor<4x8xf32>, %y: !functional.tensor<8x6xf32>) {
  %0 = functional.addmm(%b, %x, %y) {beta = 2} : !functional.tensor<4x6xf32>
  functional.return(%0)
}

// Sixteen bytes are eight halves.
// TARGET-LABEL: functional.func @pads_batches_on_a_gpu
// TARGET: functional.bmm({{.*}}) : !functional.tensor<2x16x8xf16, "cuda:0">
functional.func @pads_batches_on_a_gpu(%x: !functional.tensor<2x9x8xf16, "cuda:0">, %y: !functional.tensor<2x8x7xf16, "cuda:0">) {
  %0 = functional.bmm(%x, %y) : !functional.tensor<2x9x7xf16, "cuda:0">
  functional.return(%0)
}

// CHECK-LABEL: functional.func @no_padding_of_aligned_or_small_products
// CHECK-NOT: functional.pad
// CHECK: functional.return
functional.func @no_padding_of_aligned_or_small_products(%x: !functional.tensor<4x8xf32>, %y: !functional.tensor<8x4xf32>, %z: !functional.tensor<8x1xf32>) {
  %0 = functional.mm(%x, %y) : !functional.tensor<4x4xf32>
  %1 = functional.mm(%x, %z) : !functional.tensor<4x1xf32>
  functional.return(%0, %1)
}

// Rows of an unknown number are not padded; the columns are.
// TARGET-LABEL: functional.func @pads_what_is_known
// TARGET: functional.mm({{.*}}) : !functional.tensor<s0x16xf16, "cuda:0">
functional.func @pads_what_is_known(%x: !functional.tensor<s0x8xf16, "cuda:0">, %y: !functional.tensor<8x15xf16, "cuda:0">) {symbols = {s0 = {hint = 9}}} {
  %0 = functional.mm(%x, %y) : !functional.tensor<s0x15xf16, "cuda:0">
  functional.return(%0)
}
