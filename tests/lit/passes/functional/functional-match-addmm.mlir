// RUN: lect-opt %s -p functional-match-addmm,dce | filecheck %s
// RUN: lect-opt %s -p 'functional-match-addmm{numerics=fused},dce' | filecheck %s --check-prefix=FUSED

!x = !functional.tensor<8x16xf32>
!y = !functional.tensor<16x4xf32>
!b = !functional.tensor<4xf32>
!r = !functional.tensor<8x4xf32>

// CHECK-LABEL: functional.func @joins_a_bias
// CHECK-NEXT: %[[R:.*]] = functional.addmm(%b, %x, %y) : !functional.tensor<8x4xf32>
// CHECK-NEXT: functional.return(%[[R]])
functional.func @joins_a_bias(%x: !x, %y: !y, %b: !b) {
  %0 = functional.mm(%x, %y) : !r
  %1 = functional.add(%0, %b) : !r
  functional.return(%1)
}

// CHECK-LABEL: functional.func @joins_factors_and_differences
// CHECK-NEXT: %[[A:.*]] = functional.addmm(%b, %x, %y) {beta = 3, alpha = 0.5}
// CHECK-NEXT: %[[S:.*]] = functional.addmm(%b, %x, %y) {alpha = -2}
// CHECK-NEXT: functional.return(%[[A]], %[[S]])
functional.func @joins_factors_and_differences(%x: !x, %y: !y, %b: !r) {
  %0 = functional.mm(%x, %y) : !r
  %1 = functional.mul(%0) {other = 0.5} : !r
  %2 = functional.add(%1, %b) {alpha = 3} : !r
  %3 = functional.mm(%x, %y) : !r
  %4 = functional.sub(%b, %3) {alpha = 2} : !r
  functional.return(%2, %4)
}

// CHECK-LABEL: functional.func @joins_behind_a_reshape
// CHECK-NEXT: %[[A:.*]] = functional.addmm(%b, %x, %y)
// CHECK-NEXT: %[[R:.*]] = functional.reshape(%[[A]]) {shape = [2, 4, 4]}
// CHECK-NEXT: functional.return(%[[R]])
functional.func @joins_behind_a_reshape(%x: !x, %y: !y, %b: !b) {
  %0 = functional.mm(%x, %y) : !r
  %1 = functional.reshape(%0) {shape = [2, 4, 4]} : !functional.tensor<2x4x4xf32>
  %2 = functional.add(%1, %b) : !functional.tensor<2x4x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @joins_batches
// CHECK-NEXT: functional.baddbmm(%b, %x, %y)
functional.func @joins_batches(%x: !functional.tensor<2x8x4xf64>, %y: !functional.tensor<2x4x8xf64>, %b: !functional.tensor<2x1x8xf64>) {
  %0 = functional.bmm(%x, %y) : !functional.tensor<2x8x8xf64>
  %1 = functional.add(%b, %0) : !functional.tensor<2x8x8xf64>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_join_as_halves_are_rounded_twice
// CHECK: functional.mm
// CHECK: functional.add(
// FUSED-LABEL: functional.func @no_join_as_halves_are_rounded_twice
// FUSED-NEXT: functional.addmm
functional.func @no_join_as_halves_are_rounded_twice(%x: !functional.tensor<8x16xbf16>, %y: !functional.tensor<16x4xbf16>, %b: !functional.tensor<4xbf16>) {
  %0 = functional.mm(%x, %y) : !functional.tensor<8x4xbf16>
  %1 = functional.add(%0, %b) : !functional.tensor<8x4xbf16>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_join_as_the_sum_is_free_in_a_kernel
// CHECK-NOT: functional.addmm
// CHECK: functional.return
functional.func @no_join_as_the_sum_is_free_in_a_kernel(%x: !x, %y: !y, %b: !b) {
  %0 = functional.mm(%x, %y) : !r
  %1 = functional.add(%0, %b) : !r
  %2 = functional.gelu(%1) : !r
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_join_as_the_product_is_read_twice
// CHECK-NOT: functional.addmm
// CHECK: functional.return
functional.func @no_join_as_the_product_is_read_twice(%x: !x, %y: !y, %b: !b) {
  %0 = functional.mm(%x, %y) : !r
  %1 = functional.add(%0, %b) : !r
  functional.return(%0, %1)
}

// CHECK-LABEL: functional.func @no_join_as_the_product_broadcasts
// CHECK-NOT: functional.addmm
// CHECK: functional.return
functional.func @no_join_as_the_product_broadcasts(%x: !functional.tensor<1x16xf32>, %y: !y, %b: !r) {
  %0 = functional.mm(%x, %y) : !functional.tensor<1x4xf32>
  %1 = functional.add(%0, %b) : !r
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_join_as_the_other_operand_is_computed_in_the_same_kernel
// CHECK-NOT: functional.addmm
// CHECK: functional.return
functional.func @no_join_as_the_other_operand_is_computed_in_the_same_kernel(%x: !x, %y: !y, %b: !r) {
  %0 = functional.mm(%x, %y) : !r
  %1 = functional.exp(%b) : !r
  %2 = functional.add(%0, %1) : !r
  functional.return(%2)
}
