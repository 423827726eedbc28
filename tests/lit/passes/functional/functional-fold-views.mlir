// RUN: lect-opt %s -p functional-fold-views,dce | filecheck %s

// CHECK-LABEL: functional.func @cancels_reshapes_around_pointwise
// CHECK-NEXT: %[[R:.*]] = functional.add(%x, %y) : !functional.tensor<3x4xf32>
// CHECK-NEXT: functional.return(%[[R]])
functional.func @cancels_reshapes_around_pointwise(%x: !functional.tensor<3x4xf32>, %y: !functional.tensor<3x4xf32>) {
  %0 = functional.reshape(%x) {shape = [12]} : !functional.tensor<12xf32>
  %1 = functional.reshape(%y) {shape = [12]} : !functional.tensor<12xf32>
  %2 = functional.add(%0, %1) : !functional.tensor<12xf32>
  %3 = functional.reshape(%2) {shape = [3, 4]} : !functional.tensor<3x4xf32>
  functional.return(%3)
}

// Eager's add gives a dense result in the order of its operands, of which the permute shows a view.
// CHECK-LABEL: functional.func @cancels_permutes_and_keeps_the_layout
// CHECK-NEXT: %[[R:.*]] = functional.mul(%x, %s) {strides = [1, 3]} : !functional.tensor<3x4xf32, strides [1, 3]>
// CHECK-NEXT: functional.return(%[[R]])
functional.func @cancels_permutes_and_keeps_the_layout(%x: !functional.tensor<3x4xf32>, %s: !functional.tensor<f32>) {
  %0 = functional.permute(%x) {dims = [1, 0]} : !functional.tensor<4x3xf32, strides [1, 4]>
  %1 = functional.mul(%0, %s) {strides = [3, 1]} : !functional.tensor<4x3xf32>
  %2 = functional.permute(%1) {dims = [1, 0]} : !functional.tensor<3x4xf32, strides [1, 3]>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @drops_expand_that_the_operation_does_itself
// CHECK-NEXT: %[[R:.*]] = functional.add(%x, %y) : !functional.tensor<3x4xf32>
functional.func @drops_expand_that_the_operation_does_itself(%x: !functional.tensor<3x4xf32>, %y: !functional.tensor<3x1xf32>) {
  %0 = functional.expand(%y) {shape = [3, 4]} : !functional.tensor<3x4xf32, strides [1, 0]>
  %1 = functional.add(%x, %0) : !functional.tensor<3x4xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @computes_before_it_repeats
// CHECK-NEXT: %[[E:.*]] = functional.exp(%x) : !functional.tensor<3x1xf32>
// CHECK-NEXT: %[[R:.*]] = functional.expand(%[[E]]) {shape = [3, 4], strides = [1, 3]} : !functional.tensor<3x4xf32, strides [1, 3]>
functional.func @computes_before_it_repeats(%x: !functional.tensor<3x1xf32>) {
  %0 = functional.expand(%x) {shape = [3, 4]} : !functional.tensor<3x4xf32, strides [1, 0]>
  %1 = functional.exp(%0) {strides = [1, 3]} : !functional.tensor<3x4xf32, strides [1, 3]>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @reads_pieces_of_cat
// CHECK-NEXT: %[[S:.*]] = functional.slice(%y) {dim = 1, start = 1, end = 3, strides = [6, 1]} : !functional.tensor<2x2xf32, strides [6, 1]>
// CHECK-NEXT: %[[C:.*]] = functional.copy(%x) {strides = [6, 1]}
// CHECK-NEXT: functional.return(%[[S]], %[[C]])
functional.func @reads_pieces_of_cat(%x: !functional.tensor<2x2xf32>, %y: !functional.tensor<2x4xf32>) {
  %0 = functional.cat(%x, %y) {dim = 1} : !functional.tensor<2x6xf32>
  %1 = functional.slice(%0) {dim = 1, start = 3, end = 5} : !functional.tensor<2x2xf32, strides [6, 1]>
  %2 = functional.slice(%0) {dim = 1, start = 0, end = 2} : !functional.tensor<2x2xf32, strides [6, 1]>
  functional.return(%1, %2)
}

// CHECK-LABEL: functional.func @reads_inside_of_padding
// CHECK-NEXT: %[[S:.*]] = functional.slice(%x) {dim = 0, start = 1, end = 4}
// CHECK-NEXT: functional.return(%[[S]])
functional.func @reads_inside_of_padding(%x: !functional.tensor<4x2xf32>) {
  %0 = functional.pad(%x) {pads = [[2, 1], [0, 0]]} : !functional.tensor<7x2xf32>
  %1 = functional.slice(%0) {dim = 0, start = 3, end = 6} : !functional.tensor<3x2xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @repeats_less_often
// CHECK-NEXT: %[[E:.*]] = functional.expand(%x) {shape = [2, 4]}
functional.func @repeats_less_often(%x: !functional.tensor<1x4xf32>) {
  %0 = functional.expand(%x) {shape = [8, 4]} : !functional.tensor<8x4xf32, strides [0, 1]>
  %1 = functional.slice(%0) {dim = 0, start = 0, end = 2} : !functional.tensor<2x4xf32, strides [0, 1]>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @joins_neighbours
// CHECK-NEXT: %[[S:.*]] = functional.slice(%x) {dim = 0, start = 1, end = 6}
// CHECK-NEXT: %[[C:.*]] = functional.cat(%[[S]], %y) {dim = 0} : !functional.tensor<7xf32>
// CHECK-NEXT: functional.return(%[[C]], %x)
functional.func @joins_neighbours(%x: !functional.tensor<8xf32>, %y: !functional.tensor<2xf32>) {
  %0 = functional.slice(%x) {dim = 0, start = 1, end = 4} : !functional.tensor<3xf32>
  %1 = functional.slice(%x) {dim = 0, start = 4, end = 6} : !functional.tensor<2xf32>
  %2 = functional.cat(%0, %1, %y) {dim = 0} : !functional.tensor<7xf32>
  %3 = functional.slice(%x) {dim = 0, start = 0, end = 4} : !functional.tensor<4xf32>
  %4 = functional.slice(%x) {dim = 0, start = 4, end = 8} : !functional.tensor<4xf32>
  %5 = functional.cat(%3, %4) {dim = 0} : !functional.tensor<8xf32>
  functional.return(%2, %5)
}

// CHECK-LABEL: functional.func @no_cancel_as_the_value_has_another_user
// CHECK: functional.reshape
// CHECK: functional.relu
// CHECK: functional.reshape
functional.func @no_cancel_as_the_value_has_another_user(%x: !functional.tensor<3x4xf32>) {
  %0 = functional.reshape(%x) {shape = [12]} : !functional.tensor<12xf32>
  %1 = functional.relu(%0) : !functional.tensor<12xf32>
  %2 = functional.reshape(%1) {shape = [3, 4]} : !functional.tensor<3x4xf32>
  functional.return(%1, %2)
}

// CHECK-LABEL: functional.func @no_cancel_as_the_other_operand_broadcasts
// CHECK: functional.reshape
// CHECK: functional.add
// CHECK: functional.reshape
functional.func @no_cancel_as_the_other_operand_broadcasts(%x: !functional.tensor<3x4xf32>, %y: !functional.tensor<12xf32>) {
  %0 = functional.reshape(%x) {shape = [12]} : !functional.tensor<12xf32>
  %1 = functional.add(%0, %y) : !functional.tensor<12xf32>
  %2 = functional.reshape(%1) {shape = [3, 4]} : !functional.tensor<3x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_drop_as_all_operands_are_expanded
// CHECK-COUNT-2: functional.expand
functional.func @no_drop_as_all_operands_are_expanded(%x: !functional.tensor<1x4xf32>, %y: !functional.tensor<3x1xf32>) {
  %0 = functional.expand(%x) {shape = [3, 4]} : !functional.tensor<3x4xf32, strides [0, 1]>
  %1 = functional.expand(%y) {shape = [3, 4]} : !functional.tensor<3x4xf32, strides [1, 0]>
  %2 = functional.add(%0, %1) : !functional.tensor<3x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_piece_as_the_slice_reaches_into_the_next_operand
// CHECK: functional.cat
// CHECK: functional.slice
functional.func @no_piece_as_the_slice_reaches_into_the_next_operand(%x: !functional.tensor<2xf32>, %y: !functional.tensor<4xf32>) {
  %0 = functional.cat(%x, %y) {dim = 0} : !functional.tensor<6xf32>
  %1 = functional.slice(%0) {dim = 0, start = 1, end = 3} : !functional.tensor<2xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_slice_of_the_operand_as_another_dim_is_padded
// CHECK: functional.pad
functional.func @no_slice_of_the_operand_as_another_dim_is_padded(%x: !functional.tensor<4x2xf32>) {
  %0 = functional.pad(%x) {pads = [[2, 1], [1, 0]]} : !functional.tensor<7x3xf32>
  %1 = functional.slice(%0) {dim = 0, start = 3, end = 6} : !functional.tensor<3x3xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_of_a_result_that_is_a_view_of_another
// CHECK: %[[C:.*]] = functional.cat
// CHECK: %[[S:.*]] = functional.slice(%[[C]])
// CHECK: functional.return(%[[C]], %[[S]])
functional.func @no_fold_of_a_result_that_is_a_view_of_another(%x: !functional.tensor<2xf32>, %y: !functional.tensor<4xf32>) {
  %0 = functional.cat(%x, %y) {dim = 0} : !functional.tensor<6xf32>
  %1 = functional.slice(%0) {dim = 0, start = 0, end = 2} : !functional.tensor<2xf32>
  functional.return(%0, %1) {aliases = [none, ["result", 0, 0]]}
}

// CHECK-LABEL: functional.func @no_join_as_the_slices_overlap
// CHECK: functional.cat(%{{.*}}, %{{.*}}) {dim = 0}
functional.func @no_join_as_the_slices_overlap(%x: !functional.tensor<8xf32>) {
  %0 = functional.slice(%x) {dim = 0, start = 0, end = 4} : !functional.tensor<4xf32>
  %1 = functional.slice(%x) {dim = 0, start = 3, end = 8} : !functional.tensor<5xf32>
  %2 = functional.cat(%0, %1) {dim = 0} : !functional.tensor<9xf32>
  functional.return(%2)
}
