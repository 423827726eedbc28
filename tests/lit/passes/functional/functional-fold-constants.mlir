// RUN: lect-opt %s -p functional-fold-constants,dce | filecheck %s
// RUN: lect-opt %s -p 'functional-fold-constants{budget=4},dce' | filecheck %s --check-prefix=SMALL

// CHECK-LABEL: functional.func @writes_one_number_for_equal_elements
// CHECK-NEXT: %[[F:.*]] = functional.full() {shape = [8], value = true, element = i1} : !functional.tensor<8xi1>
// CHECK-NEXT: functional.return(%[[F]])
// SMALL-LABEL: functional.func @writes_one_number_for_equal_elements
// SMALL: functional.ge
functional.func @writes_one_number_for_equal_elements() {
  %0 = functional.iota() {size = 8} : !functional.tensor<8xi64>
  %1 = functional.ge(%0) {other = 0} : !functional.tensor<8xi1>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @writes_steps_as_iota
// CHECK-NEXT: %[[I:.*]] = functional.iota() {size = 4, start = -1, step = 2} : !functional.tensor<4xi64>
// CHECK-NEXT: %[[R:.*]] = functional.reshape(%[[I]]) {shape = [4, 1]}
// CHECK-NEXT: %[[E:.*]] = functional.expand(%[[R]]) {shape = [4, 3], strides = [3, 1]} : !functional.tensor<4x3xi64>
// CHECK-NEXT: functional.return(%[[E]])
functional.func @writes_steps_as_iota() {
  %0 = functional.iota() {size = 4} : !functional.tensor<4xi64>
  %1 = functional.mul(%0) {other = 2} : !functional.tensor<4xi64>
  %2 = functional.sub(%1) {other = 1} : !functional.tensor<4xi64>
  %3 = functional.reshape(%2) {shape = [4, 1]} : !functional.tensor<4x1xi64>
  %4 = functional.full() {shape = [3], value = 0, element = i64} : !functional.tensor<3xi64>
  %5 = functional.add(%3, %4) : !functional.tensor<4x3xi64>
  functional.return(%5)
}

// A mask of the rows and columns stays what it is; the part of it that hides nothing goes.
// CHECK-LABEL: functional.func @keeps_a_mask_of_rows_and_columns
// CHECK: %[[M:.*]] = functional.le
// CHECK-NOT: functional.bitwise_and
// CHECK: functional.where(%[[M]], %x, %y)
functional.func @keeps_a_mask_of_rows_and_columns(%x: !functional.tensor<4x4xf32>, %y: !functional.tensor<4x4xf32>) {
  %0 = functional.iota() {size = 4} : !functional.tensor<4xi64>
  %1 = functional.reshape(%0) {shape = [4, 1]} : !functional.tensor<4x1xi64>
  %2 = functional.le(%0, %1) : !functional.tensor<4x4xi1>
  %3 = functional.cumsum(%0) {dim = 0} : !functional.tensor<4xi64>
  %4 = functional.ge(%3) {other = 0} : !functional.tensor<4xi1>
  %5 = functional.bitwise_and(%2, %4) : !functional.tensor<4x4xi1>
  %6 = functional.where(%5, %x, %y) : !functional.tensor<4x4xf32>
  functional.return(%6)
}

// The number 0 of the first tensor costs one element, whatever its size.
// SMALL-LABEL: functional.func @evaluates_large_tensors_of_one_number
// SMALL-NEXT: functional.full() {shape = [1024, 1024], value = 3.0, element = f32}
functional.func @evaluates_large_tensors_of_one_number() {
  %0 = functional.full() {shape = [1024, 1024], value = 1.5, element = f32} : !functional.tensor<1024x1024xf32>
  %1 = functional.add(%0, %0) : !functional.tensor<1024x1024xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @selects_by_a_known_condition
// CHECK-NEXT: %[[E:.*]] = functional.expand(%y) {shape = [2, 4], strides = [4, 1]}
// CHECK-NEXT: functional.return(%x, %[[E]])
functional.func @selects_by_a_known_condition(%x: !functional.tensor<2x4xf32>, %y: !functional.tensor<4xf32>) {
  %0 = functional.full() {shape = [], value = true, element = i1} : !functional.tensor<i1>
  %1 = functional.logical_not(%0) : !functional.tensor<i1>
  %2 = functional.where(%0, %x, %y) : !functional.tensor<2x4xf32>
  %3 = functional.where(%1, %x, %y) : !functional.tensor<2x4xf32>
  functional.return(%2, %3)
}

// CHECK-LABEL: functional.func @fills_nothing_or_all
// CHECK-NEXT: %[[F:.*]] = functional.full() {shape = [2], value = 7, element = f32}
// CHECK-NEXT: functional.return(%x, %[[F]])
functional.func @fills_nothing_or_all(%x: !functional.tensor<2xf32>) {
  %0 = functional.full() {shape = [2], value = false, element = i1} : !functional.tensor<2xi1>
  %1 = functional.bitwise_not(%0) : !functional.tensor<2xi1>
  %2 = functional.masked_fill(%x, %0) {other = 1} : !functional.tensor<2xf32>
  %3 = functional.masked_fill(%x, %1) {other = 7} : !functional.tensor<2xf32>
  functional.return(%2, %3)
}

// CHECK-LABEL: functional.func @reads_a_row_of_numbers_as_a_slice
// CHECK-NEXT: %[[S:.*]] = functional.slice(%table) {dim = 0, start = 2, end = 5}
// CHECK-NEXT: %[[R:.*]] = functional.reshape(%[[S]]) {shape = [1, 3, 8]}
// CHECK-NEXT: %[[C:.*]] = functional.copy(%[[R]])
// CHECK-NEXT: functional.return(%[[C]])
functional.func @reads_a_row_of_numbers_as_a_slice(%table: !functional.tensor<10x8xf32>) {
  %0 = functional.iota() {size = 3, start = 2} : !functional.tensor<3xi64>
  %1 = functional.reshape(%0) {shape = [1, 3]} : !functional.tensor<1x3xi64>
  %2 = functional.index(%table, %1) {dims = [0], negative = false} : !functional.tensor<1x3x8xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @takes_a_number_instead_of_a_tensor_of_it
// CHECK-NEXT: %[[A:.*]] = functional.add(%x) {other = 0.5} : !functional.tensor<2x4xf32>
// CHECK-NEXT: functional.return(%[[A]])
functional.func @takes_a_number_instead_of_a_tensor_of_it(%x: !functional.tensor<2x4xf32>) {
  %0 = functional.full() {shape = [4], value = 0.25, element = f32} : !functional.tensor<4xf32>
  %1 = functional.add(%0, %0) : !functional.tensor<4xf32>
  %2 = functional.add(%x, %1) : !functional.tensor<2x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_fold_of_random_numbers
// CHECK: functional.rand
functional.func @no_fold_of_random_numbers() {
  %0 = functional.full() {shape = [], value = 0, element = i64} : !functional.tensor<i64>
  %1 = functional.rand(%0) {shape = [2], element = f32} : !functional.tensor<2xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_of_what_raises
// CHECK: functional.index
// CHECK: functional.div
functional.func @no_fold_of_what_raises() {
  %0 = functional.full() {shape = [2], value = 5, element = i64} : !functional.tensor<2xi64>
  %1 = functional.iota() {size = 3} : !functional.tensor<3xi64>
  %2 = functional.index(%1, %0) {dims = [0]} : !functional.tensor<2xi64>
  %3 = functional.div(%0) {other = 0, mode = "floor"} : !functional.tensor<2xi64>
  functional.return(%3)
}

// CHECK-LABEL: functional.func @no_fold_of_a_sum_of_floats
// CHECK: functional.sum
functional.func @no_fold_of_a_sum_of_floats() {
  %0 = functional.full() {shape = [3], value = 0.1, element = f32} : !functional.tensor<3xf32>
  %1 = functional.sum(%0) {dims = [0]} : !functional.tensor<f32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_of_a_nan_with_a_sign
// CHECK: functional.neg
functional.func @no_fold_of_a_nan_with_a_sign() {
  %0 = functional.full() {shape = [3], value = nan, element = f32} : !functional.tensor<3xf32>
  %1 = functional.neg(%0) : !functional.tensor<3xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_of_results_that_share_memory
// CHECK: %[[A:.*]] = functional.add
// CHECK: %[[R:.*]] = functional.reshape(%[[A]])
// CHECK: functional.return(%[[A]], %[[R]])
functional.func @no_fold_of_results_that_share_memory() {
  %0 = functional.full() {shape = [4], value = 1.5, element = f32} : !functional.tensor<4xf32>
  %1 = functional.add(%0, %0) : !functional.tensor<4xf32>
  %2 = functional.reshape(%1) {shape = [2, 2]} : !functional.tensor<2x2xf32>
  functional.return(%1, %2) {aliases = [none, ["result", 0, 0]]}
}

// CHECK-LABEL: functional.func @no_slice_as_a_place_is_outside
// CHECK: functional.index
functional.func @no_slice_as_a_place_is_outside(%table: !functional.tensor<4x8xf32>) {
  %0 = functional.iota() {size = 3, start = 2} : !functional.tensor<3xi64>
  %1 = functional.index(%table, %0) {dims = [0], negative = false} : !functional.tensor<3x8xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_number_as_it_broadcasts_the_operand
// CHECK: functional.add(%x, %{{.*}}) : !functional.tensor<4x4xf32>
functional.func @no_number_as_it_broadcasts_the_operand(%x: !functional.tensor<4xf32>) {
  %0 = functional.full() {shape = [4, 4], value = 1.0, element = f32} : !functional.tensor<4x4xf32>
  %1 = functional.add(%x, %0) : !functional.tensor<4x4xf32>
  functional.return(%1)
}
