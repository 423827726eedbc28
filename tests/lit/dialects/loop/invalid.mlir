// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{parameters of 'loop.func' are !loop.buffer, got f32}}
loop.func @parameter_is_no_buffer(%x: f32) {
  loop.return()
}

// -----

// expected-error @+1 {{'arguments' needs one view for each of 1 parameters}}
loop.func @wrong_number_of_arguments(%x: !loop.buffer<4xf32>) {arguments = [#loop.view<4>, #loop.view<4>]} {
  loop.return()
}

// -----

// expected-error @+1 {{the view #loop.view<8> reaches beyond the 4 elements of its buffer}}
loop.func @argument_view_too_large(%x: !loop.buffer<4xf32>) {arguments = [#loop.view<8>]} {
  loop.return()
}

// -----

// expected-error @+1 {{a view is written #loop.view<...>, got 3}}
loop.func @argument_is_no_view(%x: !loop.buffer<4xf32>) {arguments = [3]} {
  loop.return()
}

// -----

loop.func @input_listed_twice(%x: !loop.buffer<4x8xf32>) {
  // expected-error @+1 {{a buffer is listed twice among the inputs}}
  %0 = loop.nest @n0(%x, %x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @input_never_loaded(%x: !loop.buffer<4x8xf32>) {
  // expected-error @+1 {{an input of type !loop.buffer<4x8xf32> is never loaded}}
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.const() {value = 1.0} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @wrong_block_arguments(%x: !loop.buffer<4x8xf32>) {
  // expected-error @+1 {{the block takes 2 dims of type index, got [index]}}
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @wrong_number_of_reasons(%x: !loop.buffer<4x8xf32>) {
  // expected-error @+1 {{'realize' needs one entry for each of 1 results, got 2}}
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>, realize = ["a", "b"]} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @result_never_stored(%x: !loop.buffer<4x8xf32>) {
  // expected-error @+1 {{result 0 is never stored}}
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @result_stored_twice(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
    // expected-error @+1 {{result 0 is stored twice}}
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @loaded_buffer_is_no_input(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0() {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    // expected-error @+1 {{the loaded buffer is no input of its nest}}
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @two_sets_of_folded_dims(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    // expected-error @+1 {{one nest folds the dims (1,), and here (0,)}}
    %3 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    %4 = loop.add(%2, %3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @value_varies_where_the_address_does_not(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{the stored value varies over d1, the address does not}}
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<4>]}
}

// -----

loop.func @map_of_another_rank(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    // expected-error @+1 {{the map takes 1 dims, the space has 2}}
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @map_with_two_results(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    // expected-error @+1 {{the map must have one result, got 2}}
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0, d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @missing_loaded_index(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    // expected-error @+1 {{the map takes 1 loaded indices, got 0}}
    %1 = loop.load(%x) {map = #loop.map<(d0, d1)[i0] -> (i0)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @load_out_of_bounds(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    // expected-error @+1 {{the map reaches from 8 to 39, the buffer has 32 elements}}
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1 + 8)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @store_out_of_bounds(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{the map reaches from -1 to 30, the buffer has 32 elements}}
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1 - 1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @store_to_a_result_that_is_not_there(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
    // expected-error @+1 {{the nest has 1 results, there is no number 1}}
    loop.store(%1) {to = 1, map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @store_of_another_type(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.cast(%1) : f64
    // expected-error @+1 {{result 0 takes f32, got f64}}
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @over_names_no_dim(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{'over' lists dims of the space in order, each once; the space has 2, got [2]}}
    %2 = loop.reduce(%1) {kind = "sum", over = [2]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @over_out_of_order(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{'over' lists dims of the space in order, each once; the space has 2, got [1, 0]}}
    %2 = loop.reduce(%1) {kind = "sum", over = [1, 0]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @fold_in_half_precision(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.cast(%1) : bf16
    // expected-error @+1 {{'loop.reduce' does not fold in bf16, cast to f32 first}}
    %3 = loop.reduce(%2) {kind = "sum", over = [1]} : bf16
    %4 = loop.cast(%3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @any_of_floats(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{'any' folds i1, got f32}}
    %2 = loop.reduce(%1) {kind = "any", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @sum_of_truths(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.isnan(%1) : i1
    // expected-error @+1 {{'sum' does not fold i1}}
    %3 = loop.reduce(%2) {kind = "sum", over = [1]} : i1
    %4 = loop.cast(%3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @contracted_sum_of_what_is_no_product(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{'contract' is for sums of float products}}
    %2 = loop.reduce(%1) {kind = "sum", over = [1], contract = true} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @unknown_kind_of_fold(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{attribute 'kind' of 'loop.reduce' must be one of all, any, max, min, prod, sum, xor, got "mean"}}
    %2 = loop.reduce(%1) {kind = "mean", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @position_of_halves(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.cast(%1) : bf16
    %3 = loop.index() {map = #loop.map<(d0, d1) -> (d1)>} : i64
    // expected-error @+1 {{'loop.reduce_index' does not compare bf16, cast to f32 first}}
    %4 = loop.reduce_index(%2, %3) {kind = "max", over = [1]} : i64
    %5 = loop.cast(%4) : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @scan_in_half_precision(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.cast(%1) : bf16
    // expected-error @+1 {{'loop.scan' does not fold in bf16, cast to f32 first}}
    %3 = loop.scan(%2) {kind = "sum", over = 1} : bf16
    %4 = loop.cast(%3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @float_constant_of_an_integer_type(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{a constant of i64 cannot be 1.5}}
    %2 = loop.const() {value = 1.5} : i64
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @constant_too_large(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{300 does not fit ui8}}
    %2 = loop.const() {value = 300} : ui8
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @select_of_two_types(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.isnan(%1) : i1
    %3 = loop.cast(%1) : f64
    // expected-error @+1 {{'loop.select' needs operands of one type, got f32 and f64}}
    %4 = loop.select(%2, %1, %3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @halves_do_not_compute(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.cast(%1) : bf16
    // expected-error @+1 {{'loop.add' does not compute in bf16, cast to f32 first}}
    %3 = loop.add(%2, %2) : bf16
    %4 = loop.cast(%3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @operands_of_two_types(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.cast(%1) : f64
    // expected-error @+1 {{'loop.add' needs operands of one element type, got f32, f64}}
    %3 = loop.add(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @integer_operation_on_floats(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{'loop.xor' takes integers or i1, got f32}}
    %2 = loop.xor(%1, %1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @nest_in_a_nest(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
    // expected-error @+1 {{'loop.return' must stand inside 'loop.func', found it in 'loop.nest'}}
    loop.return()
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @scalar_outside_of_a_nest() {
  // expected-error @+1 {{'loop.const' must stand inside 'loop.nest', found it in 'loop.func'}}
  %0 = loop.const() {value = 1.0} : f32
  loop.return()
}

// -----

loop.func @call_without_views(%x: !loop.buffer<4xf32>) {
  // expected-error @+1 {{'views' needs one view for each of 1 operands, got 0}}
  %0 = loop.extern @e0(%x) {callee = @aten.neg.default, args = [#loop.operand<0>], result_views = [#loop.view<4>]} : !loop.buffer<4xf32>
  loop.return()
}

// -----

loop.func @call_without_result_views(%x: !loop.buffer<4xf32>) {
  // expected-error @+1 {{'result_views' needs one view for each of 1 results, got 0}}
  %0 = loop.extern @e0(%x) {callee = @aten.neg.default, views = [#loop.view<4>], args = [#loop.operand<0>]} : !loop.buffer<4xf32>
  loop.return()
}

// -----

loop.func @call_names_a_missing_operand(%x: !loop.buffer<4xf32>) {
  // expected-error @+1 {{there is no operand 1, the call has 1}}
  %0 = loop.extern @e0(%x) {callee = @aten.neg.default, views = [#loop.view<4>], args = [[#loop.operand<1>]], result_views = [#loop.view<4>]} : !loop.buffer<4xf32>
  loop.return()
}

// -----

loop.func @returned_view_too_large(%x: !loop.buffer<4xf32>) {
  // expected-error @+1 {{the view #loop.view<2, strides [4]> reaches beyond the 4 elements of its buffer}}
  loop.return(%x) {views = [#loop.view<2, strides [4]>]}
}

// -----

loop.func @return_without_views(%x: !loop.buffer<4xf32>) {
  // expected-error @+1 {{'views' needs one view for each of 1 values, got 0}}
  loop.return(%x)
}

// -----

loop.func @one_name_for_two(%x: !loop.buffer<4xf32>) {
  %0 = loop.extern @e0(%x) {callee = @aten.neg.default, views = [#loop.view<4>], args = [#loop.operand<0>], result_views = [#loop.view<4>]} : !loop.buffer<4xf32>
  // expected-error @+1 {{symbol @e0 is defined twice}}
  %1 = loop.extern @e0(%x) {callee = @aten.neg.default, views = [#loop.view<4>], args = [#loop.operand<0>], result_views = [#loop.view<4>]} : !loop.buffer<4xf32>
  loop.return()
}

// -----

// expected-error @+1 {{expected a size or an element type}}
loop.func @bad_type(%x: !loop.buffer<4x>) {
  loop.return()
}

// -----

// expected-error @+1 {{'f33' is no element type}}
loop.func @bad_type(%x: !loop.buffer<4xf33>) {
  loop.return()
}

// -----

// expected-error @+1 {{expected a size}}
loop.func @bad_attribute() {note = #loop.view<>} {
  loop.return()
}

// -----

// expected-error @+1 {{expected a symbol}}
loop.func @bad_attribute() {note = #loop.view<4, offset x>} {
  loop.return()
}

// -----

// expected-error @+1 {{'d1' is not defined here}}
loop.func @bad_attribute() {note = #loop.map<(d0) -> (d1)>} {
  loop.return()
}

// -----

// expected-error @+1 {{expected a positive divisor before this}}
loop.func @bad_attribute() {note = #loop.map<(d0) -> (d0 floordiv 0)>} {
  loop.return()
}

// -----

// expected-error @+1 {{expected 'd0'}}
loop.func @bad_attribute() {note = #loop.space<d1: 4>} {
  loop.return()
}

// -----

// expected-error @+1 {{expected one of epilogue, horizontal, inline, reductions, vertical before this}}
loop.func @bad_attribute() {note = #loop.fuse<sideways @a, @b saves 1>} {
  loop.return()
}

// -----

// expected-error @+1 {{expected 'by'}}
loop.func @bad_attribute() {note = #loop.blocked<@a>} {
  loop.return()
}

// -----

// expected-error @+1 {{2 sizes but 1 strides}}
loop.func @bad_attribute() {note = #loop.view<4x4, strides [1]>} {
  loop.return()
}

// -----

loop.func @decision_of_the_wrong_kind(%x: !loop.buffer<4x8xf32>) {
  // expected-error @+1 {{'fused' cannot have the entry 3}}
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>, fused = [3]} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

// expected-error @+1 {{expected a size that is not negative instead of -4}}
loop.func @negative_size(%x: !loop.buffer<(0 - 4)xf32>) {
  loop.return()
}

// -----

loop.func @extern_in_place_of_no_operand(%x: !loop.buffer<4xf32>) {
  // expected-error @+1 {{'in_place' cannot have the entry (0, 1)}}
  %0 = loop.extern @e0(%x) {callee = @aten.neg.default, views = [#loop.view<4>], args = [#loop.operand<0>], result_views = [#loop.view<4>], in_place = [[0, 1]]} : !loop.buffer<4xf32>
  loop.return()
}
