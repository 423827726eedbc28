// RUN: lect-opt %s -p canonicalize | filecheck %s

// cast(cast(x : A) : B) : A is x, where B holds every A.
// CHECK-LABEL: functional.func @cast_to_wider_and_back(
// CHECK-NEXT: %[[E:.*]] = functional.exp(%x)
// CHECK-NEXT: functional.return(%[[E]])
functional.func @cast_to_wider_and_back(%x: !functional.tensor<8xbf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<8xf32>
  %1 = functional.cast(%0) {to = bf16} : !functional.tensor<8xbf16>
  %2 = functional.exp(%1) : !functional.tensor<8xbf16>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_fold_as_the_first_cast_rounds(
// CHECK-NEXT: functional.cast(%x) {to = bf16}
// CHECK-NEXT: functional.cast
// CHECK-NEXT: functional.return
functional.func @no_fold_as_the_first_cast_rounds(%x: !functional.tensor<8xf32>) {
  %0 = functional.cast(%x) {to = bf16} : !functional.tensor<8xbf16>
  %1 = functional.cast(%0) {to = f32} : !functional.tensor<8xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_f16_and_bf16_hold_different_numbers(
// CHECK-NEXT: functional.cast(%x) {to = bf16}
// CHECK-NEXT: functional.cast
// CHECK-NEXT: functional.return
functional.func @no_fold_as_f16_and_bf16_hold_different_numbers(%x: !functional.tensor<8xf16>) {
  %0 = functional.cast(%x) {to = bf16} : !functional.tensor<8xbf16>
  %1 = functional.cast(%0) {to = f16} : !functional.tensor<8xf16>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @cast_by_way_of_a_wider_float(
// CHECK-NEXT: %[[C:.*]] = functional.cast(%x) {to = f64}
// CHECK-NEXT: functional.return(%[[C]])
functional.func @cast_by_way_of_a_wider_float(%x: !functional.tensor<8xbf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<8xf32>
  %1 = functional.cast(%0) {to = f64} : !functional.tensor<8xf64>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_floats_become_integers_otherwise(
// CHECK-NEXT: functional.cast(%x) {to = f32}
// CHECK-NEXT: functional.cast
// CHECK-NEXT: functional.return
functional.func @no_fold_as_floats_become_integers_otherwise(%x: !functional.tensor<8xf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<8xf32>
  %1 = functional.cast(%0) {to = i32} : !functional.tensor<8xi32>
  functional.return(%1)
}

// A copy has no consequence unless it is returned.
// CHECK-LABEL: functional.func @copy_inside_the_graph(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @copy_inside_the_graph(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.copy(%x) : !functional.tensor<4x8xf32>
  %1 = functional.exp(%0) : !functional.tensor<4x8xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_the_copy_is_returned(
// CHECK-NEXT: %[[C:.*]] = functional.copy(%x)
// CHECK-NEXT: functional.return(%[[C]])
functional.func @no_fold_as_the_copy_is_returned(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.copy(%x) : !functional.tensor<4x8xf32>
  functional.return(%0)
}

// CHECK-LABEL: functional.func @copy_of_copy(
// CHECK-NEXT: %[[C:.*]] = functional.copy(%x) :
// CHECK-NEXT: functional.return(%[[C]])
functional.func @copy_of_copy(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.copy(%x) {strides = [1, 4]} : !functional.tensor<4x8xf32, strides [1, 4]>
  %1 = functional.copy(%0) {strides = [8, 1]} : !functional.tensor<4x8xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @reshape_of_reshape(
// CHECK-NEXT: %[[R:.*]] = functional.reshape(%x) {shape = [2, 16]}
// CHECK-NEXT: functional.return(%[[R]])
functional.func @reshape_of_reshape(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.reshape(%x) {shape = [32]} : !functional.tensor<32xf32>
  %1 = functional.reshape(%0) {shape = [2, 16]} : !functional.tensor<2x16xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @reshape_and_back(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @reshape_and_back(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.reshape(%x) {shape = [32]} : !functional.tensor<32xf32>
  %1 = functional.reshape(%0) {shape = [4, 8]} : !functional.tensor<4x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<4x8xf32>
  functional.return(%2)
}

// The result keeps its strides, though another way would give others.
// CHECK-LABEL: functional.func @reshape_keeps_the_strides_of_the_result(
// CHECK-NEXT: functional.reshape(%x) {shape = [4, 2, 4], strides = [8, 4, 1]} : !functional.tensor<4x2x4xf32>
// CHECK-NEXT: functional.return
functional.func @reshape_keeps_the_strides_of_the_result(%x: !functional.tensor<4x8xf32, strides [1, 4]>) {
  %0 = functional.reshape(%x) {shape = [32]} : !functional.tensor<32xf32>
  %1 = functional.reshape(%0) {shape = [4, 2, 4]} : !functional.tensor<4x2x4xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @permute_twice(
// CHECK-NEXT: functional.permute(%x) {dims = [2, 0, 1]}
// CHECK-NEXT: functional.return
functional.func @permute_twice(%x: !functional.tensor<2x3x4xf32>) {
  %0 = functional.permute(%x) {dims = [1, 2, 0]} : !functional.tensor<3x4x2xf32, strides [4, 1, 12]>
  %1 = functional.permute(%0) {dims = [1, 2, 0]} : !functional.tensor<4x2x3xf32, strides [1, 12, 4]>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @transpose_twice(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @transpose_twice(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.permute(%x) {dims = [1, 0]} : !functional.tensor<8x4xf32, strides [1, 8]>
  %1 = functional.permute(%0) {dims = [1, 0]} : !functional.tensor<4x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<4x8xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @expand_twice(
// CHECK-NEXT: functional.expand(%x) {shape = [2, 4, 8]}
// CHECK-NEXT: functional.return
functional.func @expand_twice(%x: !functional.tensor<1x8xf32>) {
  %0 = functional.expand(%x) {shape = [4, 8]} : !functional.tensor<4x8xf32, strides [0, 1]>
  %1 = functional.expand(%0) {shape = [2, 4, 8]} : !functional.tensor<2x4x8xf32, strides [0, 0, 1]>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @slice_of_slice(
// CHECK-NEXT: functional.slice(%x) {dim = 0, start = 5, end = 30, step = 6}
// CHECK-NEXT: functional.return
functional.func @slice_of_slice(%x: !functional.tensor<32xf32>) {
  %0 = functional.slice(%x) {dim = 0, start = 3, end = 30, step = 2} : !functional.tensor<14xf32, strides [2]>
  %1 = functional.slice(%0) {dim = 0, start = 1, end = 14, step = 3} : !functional.tensor<5xf32, strides [6]>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @slice_of_everything(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @slice_of_everything(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.slice(%x) {dim = 1, start = 0, end = 8} : !functional.tensor<4x8xf32>
  %1 = functional.exp(%0) : !functional.tensor<4x8xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_the_slices_cut_different_dims(
// CHECK-NEXT: functional.slice
// CHECK-NEXT: functional.slice
// CHECK-NEXT: functional.return
functional.func @no_fold_as_the_slices_cut_different_dims(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.slice(%x) {dim = 1, start = 0, end = 4} : !functional.tensor<4x4xf32, strides [8, 1]>
  %1 = functional.slice(%0) {dim = 0, start = 0, end = 2} : !functional.tensor<2x4xf32, strides [8, 1]>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @reverse_twice(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @reverse_twice(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.reverse(%x) {dims = [0]} : !functional.tensor<4x8xf32>
  %1 = functional.reverse(%0) {dims = [0]} : !functional.tensor<4x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<4x8xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @cat_of_one_and_pad_of_nothing(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @cat_of_one_and_pad_of_nothing(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.cat(%x) {dim = 0} : !functional.tensor<4x8xf32>
  %1 = functional.pad(%0) {pads = [[0, 0], [0, 0]]} : !functional.tensor<4x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<4x8xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @view_of_full(
// CHECK-NEXT: functional.full() {shape = [4], value = 2.0, element = f32, strides = [0]} : !functional.tensor<4xf32, strides [0]>
// CHECK-NEXT: functional.return
functional.func @view_of_full() {
  %0 = functional.full() {shape = [1], value = 2.0, element = f32} : !functional.tensor<1xf32>
  %1 = functional.expand(%0) {shape = [4]} : !functional.tensor<4xf32, strides [0]>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @neg_twice(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @neg_twice(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.neg(%x) : !functional.tensor<4x8xf32>
  %1 = functional.neg(%0) : !functional.tensor<4x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<4x8xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @relu_twice(
// CHECK-NEXT: %[[R:.*]] = functional.relu(%x)
// CHECK-NEXT: functional.return(%[[R]])
functional.func @relu_twice(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.relu(%x) : !functional.tensor<4x8xf32>
  %1 = functional.relu(%0) : !functional.tensor<4x8xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_logical_not_of_floats_forgets_them(
// CHECK-NEXT: functional.logical_not
// CHECK-NEXT: functional.logical_not
// CHECK-NEXT: functional.return
functional.func @no_fold_as_logical_not_of_floats_forgets_them(%x: !functional.tensor<8xf32>) {
  %0 = functional.logical_not(%x) : !functional.tensor<8xi1>
  %1 = functional.logical_not(%0) : !functional.tensor<8xi1>
  functional.return(%1)
}

// x + 0.0 would make 0.0 of -0.0; x + -0.0 and x - 0.0 are x.
// CHECK-LABEL: functional.func @no_fold_as_zero_changes_minus_zero(
// CHECK-NEXT: functional.add(%x) {other = 0.0}
// CHECK-NEXT: functional.return
functional.func @no_fold_as_zero_changes_minus_zero(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.add(%x) {other = 0.0} : !functional.tensor<4x8xf32>
  functional.return(%0)
}

// CHECK-LABEL: functional.func @no_fold_as_an_integer_zero_is_a_plus_zero(
// CHECK-NEXT: functional.add(%x) {other = 0}
// CHECK-NEXT: functional.return
functional.func @no_fold_as_an_integer_zero_is_a_plus_zero(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.add(%x) {other = 0} : !functional.tensor<4x8xf32>
  functional.return(%0)
}

// CHECK-LABEL: functional.func @neutral_elements_of_sums(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @neutral_elements_of_sums(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.add(%x) {other = -0.0} : !functional.tensor<4x8xf32>
  %1 = functional.sub(%0) {other = 0.0} : !functional.tensor<4x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<4x8xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_fold_as_minus_zero_is_subtracted(
// CHECK-NEXT: functional.sub(%x) {other = -0.0}
// CHECK-NEXT: functional.return
functional.func @no_fold_as_minus_zero_is_subtracted(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.sub(%x) {other = -0.0} : !functional.tensor<4x8xf32>
  functional.return(%0)
}

// CHECK-LABEL: functional.func @no_fold_as_the_number_stands_in_front(
// CHECK-NEXT: functional.sub(%x) {other = 0.0, reversed = true}
// CHECK-NEXT: functional.return
functional.func @no_fold_as_the_number_stands_in_front(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.sub(%x) {other = 0.0, reversed = true} : !functional.tensor<4x8xf32>
  functional.return(%0)
}

// CHECK-LABEL: functional.func @integer_zero(
// CHECK-NEXT: functional.neg(%x)
// CHECK-NEXT: functional.return
functional.func @integer_zero(%x: !functional.tensor<4xi64>) {
  %0 = functional.add(%x) {other = 0} : !functional.tensor<4xi64>
  %1 = functional.neg(%0) : !functional.tensor<4xi64>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @neutral_elements_of_products(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @neutral_elements_of_products(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.mul(%x) {other = 1} : !functional.tensor<4x8xf32>
  %1 = functional.div(%0) {other = 1.0} : !functional.tensor<4x8xf32>
  %2 = functional.pow(%1) {other = 1} : !functional.tensor<4x8xf32>
  %3 = functional.exp(%2) : !functional.tensor<4x8xf32>
  functional.return(%3)
}

// CHECK-LABEL: functional.func @no_fold_as_floor_division_rounds(
// CHECK-NEXT: functional.div(%x) {other = 1.0, mode = "floor"}
// CHECK-NEXT: functional.return
functional.func @no_fold_as_floor_division_rounds(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.div(%x) {other = 1.0, mode = "floor"} : !functional.tensor<4x8xf32>
  functional.return(%0)
}

// x * 0 is no 0: NaN, infinities and -0.0 stay to be seen.
// CHECK-LABEL: functional.func @no_fold_as_zero_times_nan_is_nan(
// CHECK-NEXT: functional.mul(%x) {other = 0.0}
// CHECK-NEXT: functional.return
functional.func @no_fold_as_zero_times_nan_is_nan(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.mul(%x) {other = 0.0} : !functional.tensor<4x8xf32>
  functional.return(%0)
}

// CHECK-LABEL: functional.func @square(
// CHECK-NEXT: functional.mul(%x, %x)
// CHECK-NEXT: functional.return
functional.func @square(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.pow(%x) {other = 2} : !functional.tensor<4x8xf32>
  functional.return(%0)
}

// CHECK-LABEL: functional.func @where_of_equals_and_maximum_of_equals(
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.return
functional.func @where_of_equals_and_maximum_of_equals(%c: !functional.tensor<4x8xi1>, %x: !functional.tensor<4x8xf32>) {
  %0 = functional.where(%c, %x, %x) : !functional.tensor<4x8xf32>
  %1 = functional.maximum(%0, %0) : !functional.tensor<4x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<4x8xf32>
  functional.return(%2)
}

// A 0-d constant is a number.
// CHECK-LABEL: functional.func @number_instead_of_full(
// CHECK-NEXT: functional.div(%x) {other = 2.0}
// CHECK-NEXT: functional.return
functional.func @number_instead_of_full(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.full() {shape = [], value = 2.0, element = f32} : !functional.tensor<f32>
  %1 = functional.div(%x, %0) : !functional.tensor<4x8xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_the_constant_has_another_type(
// CHECK-NEXT: functional.full
// CHECK-NEXT: functional.mul(%x, %{{.*}})
// CHECK-NEXT: functional.return
functional.func @no_fold_as_the_constant_has_another_type(%x: !functional.tensor<8xbf16>) {
  %0 = functional.full() {shape = [], value = 0.1, element = f32} : !functional.tensor<f32>
  %1 = functional.mul(%x, %0) : !functional.tensor<8xbf16>
  functional.return(%1)
}

// slice(slice_scatter(x, y)) takes its elements from where they are.
// CHECK-LABEL: functional.func @slice_of_the_scattered_part(
// CHECK-NEXT: %[[S:.*]] = functional.slice(%y) {dim = 0, start = 1, end = 3}
// CHECK-NEXT: functional.neg(%[[S]])
functional.func @slice_of_the_scattered_part(%x: !functional.tensor<8x4xf32>, %y: !functional.tensor<4x4xf32>) {
  %0 = functional.slice_scatter(%x, %y) {dim = 0, start = 2, end = 6} : !functional.tensor<8x4xf32>
  %1 = functional.slice(%0) {dim = 0, start = 3, end = 5} : !functional.tensor<2x4xf32>
  %2 = functional.neg(%1) : !functional.tensor<2x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @slice_beside_the_scattered_part(
// CHECK-NEXT: %[[S:.*]] = functional.slice(%x) {dim = 0, start = 6, end = 8}
// CHECK-NEXT: functional.neg(%[[S]])
functional.func @slice_beside_the_scattered_part(%x: !functional.tensor<8x4xf32>, %y: !functional.tensor<4x4xf32>) {
  %0 = functional.slice_scatter(%x, %y) {dim = 0, start = 2, end = 6} : !functional.tensor<8x4xf32>
  %1 = functional.slice(%0) {dim = 0, start = 6, end = 8} : !functional.tensor<2x4xf32>
  %2 = functional.neg(%1) : !functional.tensor<2x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @slice_over_the_edge_of_the_scattered_part(
// CHECK-DAG: %[[P:.*]] = functional.slice(%y) {dim = 0, start = 0, end = 2}
// CHECK-DAG: %[[A:.*]] = functional.slice(%x) {dim = 0, start = 0, end = 4}
// CHECK: functional.slice_scatter(%[[A]], %[[P]]) {dim = 0, start = 2, end = 4}
functional.func @slice_over_the_edge_of_the_scattered_part(%x: !functional.tensor<8x4xf32>, %y: !functional.tensor<4x4xf32>) {
  %0 = functional.slice_scatter(%x, %y) {dim = 0, start = 2, end = 6} : !functional.tensor<8x4xf32>
  %1 = functional.slice(%0) {dim = 0, start = 0, end = 4} : !functional.tensor<4x4xf32>
  %2 = functional.neg(%1) : !functional.tensor<4x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @slice_across_the_scattered_part(
// CHECK-DAG: %[[P:.*]] = functional.slice(%y) {dim = 1, start = 1, end = 2}
// CHECK-DAG: %[[A:.*]] = functional.slice(%x) {dim = 1, start = 1, end = 2}
// CHECK: functional.slice_scatter(%[[A]], %[[P]]) {dim = 0, start = 2, end = 6, strides = [4, 1]}
functional.func @slice_across_the_scattered_part(%x: !functional.tensor<8x4xf32>, %y: !functional.tensor<4x4xf32>) {
  %0 = functional.slice_scatter(%x, %y) {dim = 0, start = 2, end = 6} : !functional.tensor<8x4xf32>
  %1 = functional.slice(%0) {dim = 1, start = 1, end = 2} : !functional.tensor<8x1xf32, strides [4, 1]>
  %2 = functional.neg(%1) : !functional.tensor<8x1xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_move_as_every_second_element_was_scattered(
// CHECK-NEXT: functional.slice_scatter
// CHECK-NEXT: functional.slice
functional.func @no_move_as_every_second_element_was_scattered(%x: !functional.tensor<8xf32>, %y: !functional.tensor<4xf32>) {
  %0 = functional.slice_scatter(%x, %y) {dim = 0, start = 0, end = 8, step = 2} : !functional.tensor<8xf32>
  %1 = functional.slice(%0) {dim = 0, start = 1, end = 3} : !functional.tensor<2xf32>
  %2 = functional.neg(%1) : !functional.tensor<2xf32>
  functional.return(%2)
}

// A size is no number of an attribute, and a view of it is the size.
// CHECK-LABEL: functional.func @size_stays_an_operand(
// CHECK-NEXT: %[[N:.*]] = functional.full() {shape = [], value = #lect.size<s0>, element = i64}
// CHECK-NEXT: functional.full() {shape = [3], value = #lect.size<s0>, element = i64, strides = [0]}
// CHECK-NEXT: functional.mul(%x, %[[N]])
functional.func @size_stays_an_operand(%x: !functional.tensor<s0xi64>) {symbols = {s0 = {hint = 3, min = 2}}} {
  %0 = functional.full() {shape = [], value = #lect.size<s0>, element = i64} : !functional.tensor<i64>
  %1 = functional.expand(%0) {shape = [3]} : !functional.tensor<3xi64, strides [0]>
  %2 = functional.mul(%x, %0) : !functional.tensor<s0xi64>
  functional.return(%1, %2)
}

// All elements in their order; what is between the elements of a dim of size 1 says nothing.
// CHECK-LABEL: functional.func @strided_view_of_all(
// CHECK-NEXT: %[[R:.*]] = functional.reshape(%x) {shape = [8, 4, 1, 1], strides = [4, 1, 4, 4]}
// CHECK-NEXT: functional.neg(%[[R]])
functional.func @strided_view_of_all(%x: !functional.tensor<32xf32>) {
  %0 = functional.as_strided(%x) {size = [8, 4, 1, 1], stride = [4, 1, 4, 4]} : !functional.tensor<8x4x1x1xf32, strides [4, 1, 4, 4]>
  %1 = functional.neg(%0) : !functional.tensor<8x4x1x1xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_reshape_of_a_part(
// CHECK-NEXT: functional.as_strided
functional.func @no_reshape_of_a_part(%x: !functional.tensor<32xf32>) {
  %0 = functional.as_strided(%x) {size = [4, 4], stride = [4, 1]} : !functional.tensor<4x4xf32>
  %1 = functional.neg(%0) : !functional.tensor<4x4xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_reshape_of_another_order(
// CHECK-NEXT: functional.as_strided
functional.func @no_reshape_of_another_order(%x: !functional.tensor<8x4xf32>) {
  %0 = functional.as_strided(%x) {size = [4, 8], stride = [1, 4]} : !functional.tensor<4x8xf32, strides [1, 4]>
  %1 = functional.neg(%0) : !functional.tensor<4x8xf32, strides [1, 4]>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @scattered_over_all(
// CHECK-NEXT: %[[R:.*]] = functional.reshape(%y) {shape = [32]}
// CHECK-NEXT: functional.neg(%[[R]])
functional.func @scattered_over_all(%x: !functional.tensor<32xf32>, %y: !functional.tensor<8x4xf32>) {
  %0 = functional.as_strided_scatter(%x, %y) {size = [8, 4], stride = [4, 1]} : !functional.tensor<32xf32>
  %1 = functional.neg(%0) : !functional.tensor<32xf32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_reshape_as_some_elements_stay(
// CHECK-NEXT: functional.as_strided_scatter
functional.func @no_reshape_as_some_elements_stay(%x: !functional.tensor<32xf32>, %y: !functional.tensor<7x4xf32>) {
  %0 = functional.as_strided_scatter(%x, %y) {size = [7, 4], stride = [4, 1], offset = 4} : !functional.tensor<32xf32>
  %1 = functional.neg(%0) : !functional.tensor<32xf32>
  functional.return(%1)
}

// A result has memory of its own.
// CHECK-LABEL: functional.func @no_reshape_as_the_graph_returns_it(
// CHECK-NEXT: functional.as_strided_scatter
functional.func @no_reshape_as_the_graph_returns_it(%x: !functional.tensor<32xf32>, %y: !functional.tensor<8x4xf32>) {
  %0 = functional.as_strided_scatter(%x, %y) {size = [8, 4], stride = [4, 1]} : !functional.tensor<32xf32>
  functional.return(%0)
}
