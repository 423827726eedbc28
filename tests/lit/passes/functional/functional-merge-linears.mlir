// RUN: lect-opt %s -p functional-merge-linears,dce | filecheck %s

!x = !functional.tensor<512x8xf32>
!w = !functional.tensor<4x8xf32>
!y = !functional.tensor<512x4xf32>

// CHECK-LABEL: functional.func @merges_products_of_one_matrix
// CHECK-NEXT: %[[C:.*]] = functional.cat(%a, %b) {dim = 0} : !functional.tensor<8x8xf32>
// CHECK-NEXT: %[[T:.*]] = functional.permute(%[[C]]) {dims = [1, 0]}
// CHECK-NEXT: %[[M:.*]] = functional.mm(%x, %[[T]]) : !functional.tensor<512x8xf32>
// CHECK-NEXT: %[[A:.*]] = functional.slice(%[[M]]) {dim = 1, start = 0, end = 4, strides = [4, 1]} : !functional.tensor<512x4xf32>
// CHECK-NEXT: %[[B:.*]] = functional.slice(%[[M]]) {dim = 1, start = 4, end = 8, strides = [4, 1]} : !functional.tensor<512x4xf32>
// CHECK-NEXT: functional.mul(%[[A]], %[[B]])
functional.func @merges_products_of_one_matrix(%x: !x, %a: !w, %b: !w) {
  %0 = functional.permute(%a) {dims = [1, 0]} : !functional.tensor<8x4xf32, strides [1, 8]>
  %1 = functional.mm(%x, %0) : !y
  %2 = functional.permute(%b) {dims = [1, 0]} : !functional.tensor<8x4xf32, strides [1, 8]>
  %3 = functional.mm(%x, %2) : !y
  %4 = functional.mul(%1, %3) : !y
  functional.return(%4)
}

// CHECK-LABEL: functional.func @merges_weights_that_are_not_transposed
// CHECK-NEXT: functional.cat(%a, %b) {dim = 1} : !functional.tensor<8x7xf32>
// CHECK-NEXT: functional.mm
functional.func @merges_weights_that_are_not_transposed(%x: !x, %a: !functional.tensor<8x4xf32>, %b: !functional.tensor<8x3xf32>) {
  %0 = functional.mm(%x, %a) : !y
  %1 = functional.mm(%x, %b) : !functional.tensor<512x3xf32>
  %2 = functional.exp(%0) : !y
  %3 = functional.exp(%1) : !functional.tensor<512x3xf32>
  functional.return(%2, %3)
}

// CHECK-LABEL: functional.func @no_merge_as_there_are_few_rows
// CHECK-COUNT-2: functional.mm
functional.func @no_merge_as_there_are_few_rows(%x: !functional.tensor<64x8xf32>, %a: !functional.tensor<8x4xf32>, %b: !functional.tensor<8x4xf32>) {
  %0 = functional.mm(%x, %a) : !functional.tensor<64x4xf32>
  %1 = functional.mm(%x, %b) : !functional.tensor<64x4xf32>
  %2 = functional.mul(%0, %1) : !functional.tensor<64x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_merge_as_a_library_reads_a_result
// CHECK-COUNT-3: functional.mm
functional.func @no_merge_as_a_library_reads_a_result(%x: !x, %a: !functional.tensor<8x4xf32>, %b: !functional.tensor<8x4xf32>, %c: !functional.tensor<4x4xf32>) {
  %0 = functional.mm(%x, %a) : !y
  %1 = functional.mm(%x, %b) : !y
  %2 = functional.mm(%1, %c) : !y
  %3 = functional.mul(%0, %2) : !y
  functional.return(%3)
}

// CHECK-LABEL: functional.func @no_merge_as_a_weight_is_computed
// CHECK-COUNT-2: functional.mm
functional.func @no_merge_as_a_weight_is_computed(%x: !x, %a: !functional.tensor<8x4xf32>) {
  %0 = functional.exp(%a) : !functional.tensor<8x4xf32>
  %1 = functional.mm(%x, %a) : !y
  %2 = functional.mm(%x, %0) : !y
  %3 = functional.mul(%1, %2) : !y
  functional.return(%3)
}

// CHECK-LABEL: functional.func @no_merge_of_gradients_of_two_groups
// CHECK-COUNT-2: functional.mm
functional.func @no_merge_of_gradients_of_two_groups(%x: !x, %tangent: !functional.tensor<8x4xf32>, %tangent_1: !functional.tensor<8x4xf32>) {training = {inputs = 1, results = 0, tangents = [0, 1], gradients = [0, 0], held = [], tangent_groups = [0, 1], gradient_groups = [0, 1]}} {
  %0 = functional.mm(%x, %tangent) : !y
  %1 = functional.mm(%x, %tangent_1) : !y
  %2 = functional.mul(%0) {other = 2} : !y
  %3 = functional.mul(%1) {other = 2} : !y
  functional.return(%2, %3)
}
