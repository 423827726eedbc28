// RUN: lect-opt %s --split-input-file --verify-diagnostics

functional.func @shapes_do_not_broadcast(%x: !functional.tensor<8xf32>, %y: !functional.tensor<7xf32>) {
  // expected-error @+1 {{'functional.add' cannot be: sizes 8 and 7 of dim 0 do not broadcast}}
  %0 = functional.add(%x, %y) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @elements_differ(%x: !functional.tensor<8xf32>, %y: !functional.tensor<8xbf16>) {
  // expected-error @+1 {{operands of 'functional.add' must have one element type, got f32 and bf16}}
  %0 = functional.add(%x, %y) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @result_type_is_wrong(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{result of 'functional.exp' must be !functional.tensor<8xf32>, got !functional.tensor<8xf64>}}
  %0 = functional.exp(%x) : !functional.tensor<8xf64>
  functional.return()
}
// -----
functional.func @result_strides_are_wrong(%x: !functional.tensor<4x8xf32, strides [1, 4]>) {
  // expected-error @+1 {{result of 'functional.exp' must be !functional.tensor<4x8xf32, strides [1, 4]>}}
  %0 = functional.exp(%x) : !functional.tensor<4x8xf32>
  functional.return()
}
// -----
functional.func @devices_differ(%x: !functional.tensor<8xf32>, %y: !functional.tensor<8xf32, "cuda:0">) {
  // expected-error @+1 {{operands of 'functional.add' must be on one device, got cpu, cuda:0}}
  %0 = functional.add(%x, %y) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @function_of_floats_takes_integers(%x: !functional.tensor<8xi64>) {
  // expected-error @+1 {{'functional.exp' takes floats, got i64}}
  %0 = functional.exp(%x) : !functional.tensor<8xi64>
  functional.return()
}
// -----
functional.func @bits_of_floats(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.bitwise_not' takes integers or i1, got f32}}
  %0 = functional.bitwise_not(%x) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @binary_with_bits_of_floats(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.bitwise_and' takes no f32}}
  %0 = functional.bitwise_and(%x, %x) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @number_changes_the_type(%x: !functional.tensor<8xi64>) {
  // expected-error @+1 {{'other' of 'functional.add' must be a number that i64 can hold, got 1.5}}
  %0 = functional.add(%x) {other = 1.5} : !functional.tensor<8xi64>
  functional.return()
}
// -----
functional.func @tensor_and_number(%x: !functional.tensor<8xi64>) {
  // expected-error @+1 {{'functional.add' takes a second tensor or the number 'other', not both}}
  %0 = functional.add(%x, %x) {other = 1} : !functional.tensor<8xi64>
  functional.return()
}
// -----
functional.func @neither_tensor_nor_number(%x: !functional.tensor<8xi64>) {
  // expected-error @+1 {{'functional.add' needs a second tensor or the number 'other'}}
  %0 = functional.add(%x) : !functional.tensor<8xi64>
  functional.return()
}
// -----
functional.func @reversed_without_number(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'reversed' of 'functional.sub' needs the number 'other'}}
  %0 = functional.sub(%x, %x) {reversed = true} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @true_division_of_integers(%x: !functional.tensor<8xi64>) {
  // expected-error @+1 {{'functional.div' of integers needs the mode floor or trunc}}
  %0 = functional.div(%x, %x) : !functional.tensor<8xi64>
  functional.return()
}
// -----
functional.func @unknown_mode(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{attribute 'mode' of 'functional.div' must be one of floor, true, trunc}}
  %0 = functional.div(%x, %x) {mode = "up"} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @strides_have_too_few_entries(%x: !functional.tensor<4x8xf32>) {
  // expected-error @+1 {{strides of 'functional.exp' must have 2 entries, got 1}}
  %0 = functional.exp(%x) {strides = [1]} : !functional.tensor<4x8xf32>
  functional.return()
}
// -----
functional.func @strides_for_one_result_of_two(%x: !functional.tensor<4x8xf32>) {
  // expected-error @+1 {{strides of 'functional.sort' must be one list for each result}}
  %0, %1 = functional.sort(%x) {dim = 1, strides = [[8, 1]]} : (!functional.tensor<4x8xf32>, !functional.tensor<4x8xi64>)
  functional.return()
}
// -----
functional.func @condition_is_no_mask(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{the condition of 'functional.where' must have elements i1, got f32}}
  %0 = functional.where(%x, %x, %x) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @two_bounds_at_one_side(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.clamp' takes a tensor or the number 'min', not both}}
  %0 = functional.clamp(%x, %x) {min = 0.0} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @glu_of_an_odd_size(%x: !functional.tensor<4x3xf32>) {
  // expected-error @+1 {{'functional.glu' needs an even size along dim 1}}
  %0 = functional.glu(%x) {dim = 1} : !functional.tensor<4x1xf32>
  functional.return()
}
// -----
functional.func @lerp_without_weight(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.lerp' takes a tensor 'weight' or the number 'amount'}}
  %0 = functional.lerp(%x, %x) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @xlogy_without_second(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.xlogy' takes a second tensor or the number 'other'}}
  %0 = functional.xlogy(%x) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @fill_without_value(%x: !functional.tensor<8xf32>, %m: !functional.tensor<8xi1>) {
  // expected-error @+1 {{'functional.masked_fill' takes a 0-d tensor or the number 'other'}}
  %0 = functional.masked_fill(%x, %m) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @fill_with_a_row(%x: !functional.tensor<8xf32>, %m: !functional.tensor<8xi1>) {
  // expected-error @+1 {{the value of 'functional.masked_fill' must be a 0-d tensor}}
  %0 = functional.masked_fill(%x, %m, %x) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @mask_of_floats(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.masked_fill' takes i1, got f32}}
  %0 = functional.masked_fill(%x, %x) {other = 1.0} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @value_does_not_fit(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'value' of 'functional.full' must be a number that i64 can hold, got 1.5}}
  %0 = functional.full() {shape = [2], value = 1.5, element = i64} : !functional.tensor<2xi64>
  functional.return()
}
// -----
functional.func @shape_is_negative(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{the shape of 'functional.undefined' must be sizes that are not negative, got [-1]}}
  %0 = functional.undefined() {shape = [-1], element = i64} : !functional.tensor<1xi64>
  functional.return()
}
// -----
functional.func @size_is_negative(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{the size of 'functional.iota' must not be negative, got -1}}
  %0 = functional.iota() {size = -1} : !functional.tensor<1xi64>
  functional.return()
}
// -----
functional.func @seed_is_a_row(%x: !functional.tensor<8xi64>) {
  // expected-error @+1 {{the seed of 'functional.rand' must be a 0-d tensor of i64}}
  %0 = functional.rand(%x) {shape = [2], element = f32} : !functional.tensor<2xf32>
  functional.return()
}
// -----
functional.func @random_integers_are_no_floats(%x: !functional.tensor<i64>) {
  // expected-error @+1 {{'functional.rand' makes floats, got i64}}
  %0 = functional.rand(%x) {shape = [2], element = i64} : !functional.tensor<2xi64>
  functional.return()
}
// -----
functional.func @normal_integers(%x: !functional.tensor<i64>) {
  // expected-error @+1 {{'functional.randn' makes floats, got i1}}
  %0 = functional.randn(%x) {shape = [2], element = i1} : !functional.tensor<2xi1>
  functional.return()
}
// -----
functional.func @stream_is_too_great(%x: !functional.tensor<i64>) {
  // expected-error @+1 {{the offset of 'functional.rand' must fit i64, got 9223372036854775808}}
  %0 = functional.rand(%x) {shape = [2], element = f32, offset = 9223372036854775808} : !functional.tensor<2xf32>
  functional.return()
}
// -----
functional.func @range_is_too_great(%x: !functional.tensor<i64>) {
  // expected-error @+1 {{'functional.randint' gives numbers of i64, got 0 and 9223372036854775809}}
  %0 = functional.randint(%x) {shape = [2], element = i64, high = 9223372036854775809} : !functional.tensor<2xi64>
  functional.return()
}
// -----
functional.func @range_is_empty(%x: !functional.tensor<i64>) {
  // expected-error @+1 {{'functional.randint' needs low below high, got 0 and 0}}
  %0 = functional.randint(%x) {shape = [2], element = i64, high = 0} : !functional.tensor<2xi64>
  functional.return()
}
// -----
functional.func @reshape_changes_the_count(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.reshape' cannot give 8 elements the shape [3, 3]}}
  %0 = functional.reshape(%x) {shape = [3, 3]} : !functional.tensor<3x3xf32>
  functional.return()
}
// -----
functional.func @permute_forgets_a_dim(%x: !functional.tensor<4x8xf32>) {
  // expected-error @+1 {{'dims' of 'functional.permute' must be an order of 0..1, got [0, 0]}}
  %0 = functional.permute(%x) {dims = [0, 0]} : !functional.tensor<4x4xf32>
  functional.return()
}
// -----
functional.func @expand_repeats_rows_of_two(%x: !functional.tensor<2xf32>) {
  // expected-error @+1 {{'functional.expand' cannot repeat [2] to [4]}}
  %0 = functional.expand(%x) {shape = [4]} : !functional.tensor<4xf32>
  functional.return()
}
// -----
functional.func @slice_ends_outside(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.slice' needs 0 <= start <= end <= 8, got 2 and 9}}
  %0 = functional.slice(%x) {dim = 0, start = 2, end = 9} : !functional.tensor<7xf32>
  functional.return()
}
// -----
functional.func @slice_stands_still(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{the step of 'functional.slice' must be positive, got 0}}
  %0 = functional.slice(%x) {dim = 0, start = 2, end = 4, step = 0} : !functional.tensor<2xf32>
  functional.return()
}
// -----
functional.func @dim_is_not_there(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'dim' of 'functional.slice' must name different dims of 0..0, got [1]}}
  %0 = functional.slice(%x) {dim = 1, start = 0, end = 1} : !functional.tensor<1xf32>
  functional.return()
}
// -----
functional.func @diagonal_of_one_dim(%x: !functional.tensor<8x8xf32>) {
  // expected-error @+1 {{'dim1, dim2' of 'functional.diagonal' must name different dims of 0..1, got [1, 1]}}
  %0 = functional.diagonal(%x) {dim1 = 1} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @as_strided_reaches_outside(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.as_strided' reads element 8 of a tensor that ends at 7}}
  %0 = functional.as_strided(%x) {size = [4], stride = [2], offset = 2} : !functional.tensor<4xf32, strides [2]>
  functional.return()
}
// -----
functional.func @as_strided_forgets_a_stride(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.as_strided' needs as many strides as sizes}}
  %0 = functional.as_strided(%x) {size = [4], stride = []} : !functional.tensor<4xf32>
  functional.return()
}
// -----
functional.func @cat_of_nothing(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.cat' needs an operand}}
  %0 = functional.cat() {dim = 0} : !functional.tensor<0xf32>
  functional.return()
}
// -----
functional.func @cat_of_scalars(%x: !functional.tensor<f32>) {
  // expected-error @+1 {{'functional.cat' needs tensors with dims}}
  %0 = functional.cat(%x) {dim = 0} : !functional.tensor<1xf32>
  functional.return()
}
// -----
functional.func @cat_of_other_rows(%x: !functional.tensor<2x3xf32>, %y: !functional.tensor<2x4xf32>) {
  // expected-error @+1 {{'functional.cat' cannot be: [2, 3] and [2, 4] differ outside of dim 0}}
  %0 = functional.cat(%x, %y) {dim = 0} : !functional.tensor<4x3xf32>
  functional.return()
}
// -----
functional.func @pad_forgets_a_dim(%x: !functional.tensor<2x3xf32>) {
  // expected-error @+1 {{'functional.pad' needs two numbers for each of 2 dims}}
  %0 = functional.pad(%x) {pads = [[1, 1]]} : !functional.tensor<2x5xf32>
  functional.return()
}
// -----
functional.func @pad_cuts_too_much(%x: !functional.tensor<2xf32>) {
  // expected-error @+1 {{'functional.pad' cuts more than there is: [-1]}}
  %0 = functional.pad(%x) {pads = [[-2, -1]]} : !functional.tensor<2xf32>
  functional.return()
}
// -----
functional.func @maximum_of_nothing(%x: !functional.tensor<0x3xf32>) {
  // expected-error @+1 {{'functional.amax' needs elements to choose from}}
  %0 = functional.amax(%x) {dims = [0]} : !functional.tensor<3xf32>
  functional.return()
}
// -----
functional.func @scalar_has_no_dims(%x: !functional.tensor<f32>) {
  // expected-error @+1 {{'functional.sum' of a 0-d tensor reduces no dim, got [0]}}
  %0 = functional.sum(%x) {dims = [0]} : !functional.tensor<f32>
  functional.return()
}
// -----
functional.func @mean_of_integers(%x: !functional.tensor<4xi64>) {
  // expected-error @+1 {{'functional.mean' gives floats, got i64}}
  %0 = functional.mean(%x) {dims = [0]} : !functional.tensor<i64>
  functional.return()
}
// -----
functional.func @gradient_has_another_shape(%x: !functional.tensor<4xf32>, %y: !functional.tensor<5xf32>) {
  // expected-error @+1 {{'functional.softmax_backward' needs operands of one shape}}
  %0 = functional.softmax_backward(%x, %y) {dim = 0} : !functional.tensor<4xf32>
  functional.return()
}
// -----
functional.func @too_many_are_asked_for(%x: !functional.tensor<4xf32>) {
  // expected-error @+1 {{'functional.topk' cannot find 5 elements along dim 0}}
  %0, %1 = functional.topk(%x) {k = 5, dim = 0} : (!functional.tensor<5xf32>, !functional.tensor<5xi64>)
  functional.return()
}
// -----
functional.func @matrices_do_not_fit(%x: !functional.tensor<2x3xf32>, %y: !functional.tensor<4x5xf32>) {
  // expected-error @+1 {{'functional.mm' cannot be: [2, 3] times [4, 5] does not fit}}
  %0 = functional.mm(%x, %y) : !functional.tensor<2x5xf32>
  functional.return()
}
// -----
functional.func @product_of_rows(%x: !functional.tensor<3xf32>, %y: !functional.tensor<3xf32>) {
  // expected-error @+1 {{'functional.mm' multiplies tensors with 2 dims, got 1 and 1}}
  %0 = functional.mm(%x, %y) : !functional.tensor<f32>
  functional.return()
}
// -----
functional.func @matrix_times_matrix_as_a_vector(%a: !functional.tensor<2xf32>, %x: !functional.tensor<2x3xf32>, %y: !functional.tensor<3x5xf32>) {
  // expected-error @+1 {{'y' of 'functional.addmv' must have 1 dims, got 2}}
  %0 = functional.addmv(%a, %x, %y) : !functional.tensor<2xf32>
  functional.return()
}
// -----
functional.func @added_matrix_is_too_large(%a: !functional.tensor<9xf32>, %x: !functional.tensor<2x3xf32>, %y: !functional.tensor<3x5xf32>) {
  // expected-error @+1 {{'functional.addmm' cannot be: [9] does not broadcast to [2, 5]}}
  %0 = functional.addmm(%a, %x, %y) : !functional.tensor<2x5xf32>
  functional.return()
}
// -----
functional.func @attention_without_heads(%x: !functional.tensor<2x3x4xf32>) {
  // expected-error @+1 {{'query' of 'functional.attention' must have 4 dims, got 3}}
  %0, %1 = functional.attention(%x, %x, %x) : (!functional.tensor<2x3x4xf32>, !functional.tensor<2x3xf32>)
  functional.return()
}
// -----
functional.func @attention_to_other_widths(%x: !functional.tensor<2x3x4x5xf32>, %k: !functional.tensor<2x3x4x6xf32>) {
  // expected-error @+1 {{query, key and value of 'functional.attention' do not fit: [2, 3, 4, 5], [2, 3, 4, 6], [2, 3, 4, 6]}}
  %0, %1 = functional.attention(%x, %k, %k) : (!functional.tensor<2x3x4x5xf32>, !functional.tensor<2x3x4xf32>)
  functional.return()
}
// -----
functional.func @convolution_of_rows(%x: !functional.tensor<2x3xf32>) {
  // expected-error @+1 {{'functional.convolution' needs one stride, padding and dilation for each of 0 spatial dims}}
  %0 = functional.convolution(%x, %x) {stride = [1], padding = [0], dilation = [1]} : !functional.tensor<2x3xf32>
  functional.return()
}
// -----
functional.func @convolution_stands_still(%x: !functional.tensor<2x3x4xf32>, %w: !functional.tensor<5x3x2xf32>) {
  // expected-error @+1 {{strides, dilations and groups of 'functional.convolution' must be positive}}
  %0 = functional.convolution(%x, %w) {stride = [0], padding = [0], dilation = [1]} : !functional.tensor<2x5x3xf32>
  functional.return()
}
// -----
functional.func @filters_for_other_channels(%x: !functional.tensor<2x3x4xf32>, %w: !functional.tensor<5x4x2xf32>) {
  // expected-error @+1 {{'functional.convolution' has filters for 4 channels, got 3}}
  %0 = functional.convolution(%x, %w) {stride = [1], padding = [0], dilation = [1]} : !functional.tensor<2x5x3xf32>
  functional.return()
}
// -----
functional.func @kernel_is_too_large(%x: !functional.tensor<2x3x4xf32>, %w: !functional.tensor<5x3x6xf32>) {
  // expected-error @+1 {{the kernel of 'functional.convolution' is larger than its padded input}}
  %0 = functional.convolution(%x, %w) {stride = [1], padding = [0], dilation = [1]} : !functional.tensor<2x5x1xf32>
  functional.return()
}
// -----
functional.func @window_without_stride(%x: !functional.tensor<2x3x4xf32>) {
  // expected-error @+1 {{'functional.window_sum' needs one kernel size, stride, padding and dilation for each spatial dim}}
  %0 = functional.window_sum(%x) {kernel = [2]} : !functional.tensor<2x3x3xf32>
  functional.return()
}
// -----
functional.func @window_stands_still(%x: !functional.tensor<2x3x4xf32>) {
  // expected-error @+1 {{kernel, stride and dilation of 'functional.window_sum' must be positive}}
  %0 = functional.window_sum(%x) {kernel = [2], stride = [0], padding = [0]} : !functional.tensor<2x3x3xf32>
  functional.return()
}
// -----
functional.func @window_is_too_large(%x: !functional.tensor<2x3x4xf32>) {
  // expected-error @+1 {{the window of 'functional.window_sum' is larger than its padded input}}
  %0 = functional.window_sum(%x) {kernel = [6], stride = [1], padding = [0]} : !functional.tensor<2x3x1xf32>
  functional.return()
}
// -----
functional.func @adaptive_pool_of_all_dims(%x: !functional.tensor<4xf32>) {
  // expected-error @+1 {{'functional.window_sum' cannot give 1 spatial dims to !functional.tensor<4xf32>}}
  %0 = functional.window_sum(%x) {output_size = [2]} : !functional.tensor<2xf32>
  functional.return()
}
// -----
functional.func @places_of_another_type(%g: !functional.tensor<2x3x2xf32>, %x: !functional.tensor<2x3x4xf32>, %i: !functional.tensor<2x3x2xi32>) {
  // expected-error @+1 {{indices of 'functional.max_pool_backward' must be i64, got i32}}
  %0 = functional.max_pool_backward(%g, %x, %i) {spatial = 1} : !functional.tensor<2x3x4xf32>
  functional.return()
}
// -----
functional.func @upsample_without_channels(%x: !functional.tensor<4xf32>) {
  // expected-error @+1 {{'functional.upsample' needs 3 dims for 1 spatial sizes, got 1}}
  %0 = functional.upsample(%x) {kind = "nearest", size = [8]} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @grid_of_one_coordinate(%x: !functional.tensor<2x3x4x4xf32>, %g: !functional.tensor<2x4x4x1xf32>) {
  // expected-error @+1 {{the grid of 'functional.grid_sample' must name 2 coordinates}}
  %0 = functional.grid_sample(%x, %g) : !functional.tensor<2x3x4x4xf32>
  functional.return()
}
// -----
functional.func @norm_of_another_shape(%x: !functional.tensor<2x3xf32>) {
  // expected-error @+1 {{'functional.layer_norm' normalises [4], which does not end [2, 3]}}
  %0, %1, %2 = functional.layer_norm(%x) {normalized = [4], eps = 1.0e-05} : (!functional.tensor<2x3xf32>, !functional.tensor<2x1xf32>, !functional.tensor<2x1xf32>)
  functional.return()
}
// -----
functional.func @parameters_of_another_shape(%x: !functional.tensor<2x3xf32>, %w: !functional.tensor<4xf32>) {
  // expected-error @+1 {{parameters of 'functional.layer_norm' must have the shape [3]}}
  %0, %1, %2 = functional.layer_norm(%x, %w) {normalized = [3], eps = 1.0e-05} : (!functional.tensor<2x3xf32>, !functional.tensor<2x1xf32>, !functional.tensor<2x1xf32>)
  functional.return()
}
// -----
functional.func @groups_do_not_divide(%x: !functional.tensor<2x3x4xf32>) {
  // expected-error @+1 {{'functional.group_norm' cannot divide the channels of !functional.tensor<2x3x4xf32> into 2 groups}}
  %0, %1, %2 = functional.group_norm(%x) {groups = 2, eps = 1.0e-05} : (!functional.tensor<2x3x4xf32>, !functional.tensor<2x2xf32>, !functional.tensor<2x2xf32>)
  functional.return()
}
// -----
functional.func @batch_norm_of_rows(%x: !functional.tensor<4xf32>) {
  // expected-error @+1 {{'functional.batch_norm' needs a channel dim, got !functional.tensor<4xf32>}}
  %0, %1, %2, %3, %4 = functional.batch_norm(%x, %x, %x) {training = false, momentum = 0.1, eps = 1.0e-05} : (!functional.tensor<4xf32>, !functional.tensor<0xf32>, !functional.tensor<0xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  functional.return()
}
// -----
functional.func @targets_are_floats(%x: !functional.tensor<2x3xf32>, %t: !functional.tensor<2xf32>) {
  // expected-error @+1 {{'functional.nll' takes integers, got f32}}
  %0, %1 = functional.nll(%x, %t) : (!functional.tensor<f32>, !functional.tensor<f32>)
  functional.return()
}
// -----
functional.func @index_is_a_float(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{indices of 'functional.index' must be i64 or i32, got f32}}
  %0 = functional.index(%x, %x) {dims = [0]} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @index_for_two_dims(%x: !functional.tensor<8x8xf32>, %i: !functional.tensor<2xi64>) {
  // expected-error @+1 {{'functional.index' needs one index for each of 2 dims, got 1}}
  %0 = functional.index(%x, %i) {dims = [0, 1]} : !functional.tensor<2xf32>
  functional.return()
}
// -----
functional.func @gather_of_another_rank(%x: !functional.tensor<8x8xf32>, %i: !functional.tensor<2xi64>) {
  // expected-error @+1 {{the index of 'functional.gather' must have 2 dims, got 1}}
  %0 = functional.gather(%x, %i) {dim = 0} : !functional.tensor<2xf32>
  functional.return()
}
// -----
functional.func @gather_reaches_outside(%x: !functional.tensor<8x4xf32>, %i: !functional.tensor<2x5xi64>) {
  // expected-error @+1 {{the index [2, 5] of 'functional.gather' reaches outside of [8, 4]}}
  %0 = functional.gather(%x, %i) {dim = 0} : !functional.tensor<2x5xf32>
  functional.return()
}
// -----
functional.func @scatter_of_nothing(%x: !functional.tensor<8xf32>, %i: !functional.tensor<2xi64>) {
  // expected-error @+1 {{'functional.scatter' takes a tensor 'src' or the number 'value'}}
  %0 = functional.scatter(%x, %i) {dim = 0} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @slice_of_another_shape(%x: !functional.tensor<8xf32>, %s: !functional.tensor<3xf32>) {
  // expected-error @+1 {{'src' of 'functional.slice_scatter' must have the shape [2], got [3]}}
  %0 = functional.slice_scatter(%x, %s) {dim = 0, start = 0, end = 2} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @places_as_floats(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.searchsorted' gives i64 or i32, got f32}}
  %0 = functional.searchsorted(%x, %x) {element = f32} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @list_of_names(%x: !functional.tensor<4x8xf32>) {
  // expected-error @+1 {{'dims' of 'functional.permute' must be a list of integers, got ['a', 1]}}
  %0 = functional.permute(%x) {dims = ["a", 1]} : !functional.tensor<8x4xf32>
  functional.return()
}
// -----
functional.func @strides_are_a_number(%x: !functional.tensor<4x8xf32>) {
  // expected-error @+1 {{strides of 'functional.exp' must be a list of integers, or one for each result}}
  %0 = functional.exp(%x) {strides = 7} : !functional.tensor<4x8xf32>
  functional.return()
}
// -----
functional.func @opaque_name_is_short(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{the target of 'functional.opaque' is @namespace.name.overload, got @aten.relu}}
  %0 = functional.opaque(%x) {target = @aten.relu, args = [#functional.operand<0>]} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @opaque_forgets_an_operand(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{arguments of 'functional.opaque' must use each of its 1 operands, found the numbers []}}
  %0 = functional.opaque(%x) {target = @aten.relu.default} : !functional.tensor<8xf32>
  functional.return()
}
// -----
// expected-error @+1 {{inputs of 'functional.func' are tensors, got i64}}
functional.func @input_is_a_number(%x: i64) {
  functional.return()
}
// -----
functional.func @does_not_return(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{the block must end in a terminator, not in 'functional.exp'}}
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
}
// -----
functional.func @aliases_are_too_few(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'aliases' needs an entry for each of 2 results, got 1}}
  functional.return(%x, %x) {aliases = [none]}
}
// -----
functional.func @alias_of_a_later_result(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{alias 0 must be none, or name an input or an earlier result and an offset}}
  functional.return(%x, %x) {aliases = [["result", 0, 0], none]}
}
// -----
// expected-error @+1 {{2 sizes need as many strides, got 1}}
functional.func @strides_are_too_few(%x: !functional.tensor<8x4xf32, strides [1]>) {
  functional.return()
}
// -----
// expected-error @+1 {{'f33' is no element type}}
functional.func @element_is_unknown(%x: !functional.tensor<8xf33>) {
  functional.return()
}
// -----
// expected-error @+1 {{a functional tensor has sizes and an element type}}
functional.func @type_has_no_body(%x: !functional.tensor) {
  functional.return()
}
// -----
functional.func @write_to_no_input(%x: !functional.tensor<8xf32>) {
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
  // expected-error @+1 {{only inputs of the graph are written}}
  functional.write(%0, %x)
  functional.return()
}
// -----
functional.func @write_of_another_type(%x: !functional.tensor<8xf32>, %y: !functional.tensor<8xf64>) {
  // expected-error @+1 {{a write keeps element type and device of}}
  functional.write(%x, %y)
  functional.return()
}
// -----
functional.func @write_beyond_the_input(%x: !functional.tensor<8xf32>, %y: !functional.tensor<4x2xf32, strides [2, 1]>) {
  // expected-error @+1 {{the write reaches beyond the 8 elements of the input}}
  functional.write(%x, %y) {offset = 1}
  functional.return()
}
// -----
functional.func @writes_fewer_than_none(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'versions' counts writes, got -1}}
  functional.write(%x, %x) {versions = -1}
  functional.return()
}
// -----
functional.func @operation_behind_a_write(%x: !functional.tensor<8xf32>) {
  functional.write(%x, %x)
  // expected-error @+1 {{'functional.exp' stands behind a write to an input}}
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
  functional.return(%0)
}
// -----
functional.func @factor_of_another_element(%x: !functional.tensor<8xf32>, %n: !functional.tensor<f64>) {
  // expected-error @+1 {{'factor' of 'functional.add' must be a 0-d tensor of f32, got !functional.tensor<f64>}}
  %0 = functional.add(%x, %x; %n) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @factor_beside_alpha(%x: !functional.tensor<8xf32>, %n: !functional.tensor<f32>) {
  // expected-error @+1 {{'factor' of 'functional.sub' needs a second tensor, and no 'alpha'}}
  %0 = functional.sub(%x, %x; %n) {alpha = 2} : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @factor_with_dims(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'factor' of 'functional.addcmul' must be a 0-d tensor in the place of 'value', got !functional.tensor<8xf32>}}
  %0 = functional.addcmul(%x, %x, %x, %x) : !functional.tensor<8xf32>
  functional.return()
}
