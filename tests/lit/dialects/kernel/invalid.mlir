// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{parameters of 'kernel.func' are !kernel.ptr, got f32}}
kernel.func @parameter_is_a_number(%x: f32) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  kernel.return()
}

// -----

// expected-error @+1 {{the grid must be sizes, got (-1,)}}
kernel.func @negative_grid() {grid = [-1], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  kernel.return()
}

// -----

// expected-error @+1 {{blocks must name the axes ['R'] in order, got []}}
kernel.func @no_block() {grid = [1], axes = #kernel.axes<R: 8 loop>, blocks = #kernel.blocks<>} {
  kernel.return()
}

// -----

// expected-error @+1 {{'vector' names no axis: X}}
kernel.func @no_such_vector() {grid = [1], axes = #kernel.axes<R: 8 loop>, blocks = #kernel.blocks<R = 8>, vector = "X"} {
  kernel.return()
}

// -----

// expected-error @+1 {{axis R is taken whole, so its block must cover 9}}
kernel.func @short_whole_axis() {grid = [1], axes = #kernel.axes<R: 9 whole>, blocks = #kernel.blocks<R = 8>} {
  kernel.return()
}

// -----

kernel.func @no_dim_of_the_grid() {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  // expected-error @+1 {{the grid has no dim 1, it has 1}}
  %0 = kernel.program_id() {dim = 1} : index
  kernel.return()
}

// -----

kernel.func @no_axis() {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.program_id() : index
  // expected-error @+1 {{there is no axis R among none}}
  %1 = kernel.lanes(%0) {axis = "R"} : !kernel.tile<Rxindex>
  kernel.return()
}

// -----

kernel.func @whole_axis_with_base() {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.program_id() : index
  // expected-error @+1 {{an axis of role whole takes no base}}
  %1 = kernel.lanes(%0) {axis = "R"} : !kernel.tile<Rxindex>
  kernel.return()
}

// -----

kernel.func @lanes_of_another_axis() {grid = [4], axes = #kernel.axes<Y: 8 grid, R: 8 whole>, blocks = #kernel.blocks<Y = 2, R = 8>} {
  // expected-error @+1 {{lanes of R are !kernel.tile<1xRxindex>, got !kernel.tile<Yx1xindex>}}
  %1 = kernel.lanes() {axis = "R"} : !kernel.tile<Yx1xindex>
  kernel.return()
}

// -----

kernel.func @bound_of_no_lanes() {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.const() {value = 1} : !kernel.tile<Rxi64>
  // expected-error @+1 {{'kernel.bound' takes the lanes of axis R}}
  %1 = kernel.bound(%0) {axis = "R"} : !kernel.tile<Rxi1>
  kernel.return()
}

// -----

kernel.func @map_of_another_rank(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  // expected-error @+1 {{the map takes 2 indices, got 1}}
  %1 = kernel.load(%x, %0) {map = #loop.map<(d0, d1) -> (d0 + d1)>} : !kernel.tile<Rxf32>
  kernel.return()
}

// -----

kernel.func @map_of_two_results(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  // expected-error @+1 {{the map must have one result, got 2}}
  %1 = kernel.load(%x, %0) {map = #loop.map<(d0) -> (d0, d0)>} : !kernel.tile<Rxf32>
  kernel.return()
}

// -----

kernel.func @float_index(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.const() {value = 1.0} : f32
  // expected-error @+1 {{an index must be an integer, got f32}}
  %1 = kernel.load(%x, %0) {map = #loop.map<(d0) -> (d0)>} : f32
  kernel.return()
}

// -----

kernel.func @mask_is_no_bool(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.program_id() : index
  // expected-error @+1 {{a mask must be i1, got index}}
  %1 = kernel.load(%x, %0; %0) {map = #loop.map<(d0) -> (d0)>} : f32
  kernel.return()
}

// -----

kernel.func @store_of_another_type(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.program_id() : index
  %1 = kernel.const() {value = 1.0} : f64
  // expected-error @+1 {{memory of f32 cannot take f64}}
  kernel.store(%x, %1, %0) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// -----

kernel.func @lanes_write_one_element(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.program_id() : index
  %1 = kernel.const() {value = 1.0} : !kernel.tile<Rxf32>
  // expected-error @+1 {{the value varies over R, the address does not}}
  kernel.store(%x, %1, %0) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// -----

kernel.func @sum_of_another_type(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.program_id() : index
  %1 = kernel.const() {value = 1} : i64
  // expected-error @+1 {{memory of f32 cannot take i64}}
  kernel.atomic_add(%x, %1, %0) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// -----

kernel.func @scratch_of_another_type() {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %1 = kernel.scratch() : !kernel.scratch<8xf32>
  %2 = kernel.const() {value = 1} : !kernel.tile<Rxi64>
  // expected-error @+1 {{scratch of f32 cannot take i64}}
  kernel.scratch_store(%1, %2, %0)
  kernel.return()
}

// -----

kernel.func @lanes_go_to_one_element_of_scratch() {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.program_id() : index
  %1 = kernel.scratch() : !kernel.scratch<8xf32>
  %2 = kernel.const() {value = 1.0} : !kernel.tile<Rxf32>
  // expected-error @+1 {{the value varies over R, the address does not}}
  kernel.scratch_store(%1, %2, %0)
  kernel.return()
}

// -----

kernel.func @index_is_memory(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  // expected-error @+1 {{an index must be an integer, got !kernel.ptr<f32>}}
  %0 = kernel.load(%x, %x) {map = #loop.map<(d0) -> (d0)>} : f32
  kernel.return()
}

// -----

kernel.func @memory_is_no_number(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  // expected-error @+1 {{expected a tile or a number, got !kernel.ptr<f32>}}
  %0 = kernel.add(%x, %x) : f32
  kernel.return()
}

// -----

kernel.func @constant_of_another_type() {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  // expected-error @+1 {{a constant of f32 cannot be 1}}
  %0 = kernel.const() {value = 1} : f32
  kernel.return()
}

// -----

kernel.func @cast_to_other_axes() {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<Rxf32>
  // expected-error @+1 {{a cast keeps the axes of !kernel.tile<Rxf32>, got f64}}
  %1 = kernel.cast(%0) : f64
  kernel.return()
}

// -----

kernel.func @condition_is_a_number() {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.const() {value = 1.0} : f32
  // expected-error @+1 {{the condition must be i1, got f32}}
  %1 = kernel.select(%0, %0, %0) : f32
  kernel.return()
}

// -----

kernel.func @choice_between_types() {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %c = kernel.const() {value = true} : i1
  %0 = kernel.const() {value = 1.0} : f32
  %1 = kernel.const() {value = 1.0} : f64
  // expected-error @+1 {{'kernel.select' chooses between values of one element type, got f32 and f64}}
  %2 = kernel.select(%c, %0, %1) : f32
  kernel.return()
}

// -----

kernel.func @sum_of_two_types() {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.const() {value = 1.0} : f32
  %1 = kernel.const() {value = 1.0} : f64
  // expected-error @+1 {{'kernel.add' needs operands of one element type, got f32, f64}}
  %2 = kernel.add(%0, %1) : f32
  kernel.return()
}

// -----

kernel.func @words_of_a_narrow_key() {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.const() {value = 1} : i32
  // expected-error @+1 {{'kernel.philox32' takes i64, got i32}}
  %1 = kernel.philox32(%0, %0, %0) : i32
  kernel.return()
}

// -----

kernel.func @exponential_of_an_integer() {grid = [4], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.const() {value = 1} : i64
  // expected-error @+1 {{'kernel.exp' takes floats, got i64}}
  %1 = kernel.exp(%0) : i64
  kernel.return()
}

// -----

kernel.func @fold_along_an_axis_that_is_not_there() {grid = [4], axes = #kernel.axes<Y: 8 whole, R: 8 whole>, blocks = #kernel.blocks<Y = 8, R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<1xRxf32>
  // expected-error @+1 {{!kernel.tile<1xRxf32> does not vary over Y}}
  %1 = kernel.reduce(%0) {kind = "sum", axis = "Y"} : !kernel.tile<1xRxf32>
  kernel.return()
}

// -----

kernel.func @position_along_an_axis_that_is_not_there() {grid = [4], axes = #kernel.axes<Y: 8 whole, R: 8 whole>, blocks = #kernel.blocks<Y = 8, R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<1xRxf32>
  %1 = kernel.const() {value = 1} : !kernel.tile<1xRxi64>
  // expected-error @+1 {{!kernel.tile<1xRxf32> does not vary over Y}}
  %2 = kernel.reduce_index(%0, %1) {kind = "max", axis = "Y"} : !kernel.tile<1xRxi64>
  kernel.return()
}

// -----

kernel.func @entries_are_floats() {grid = [4], axes = #kernel.axes<R: 8 whole>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<Rxf32>
  // expected-error @+1 {{entries must be integers, got !kernel.tile<Rxf32>}}
  %2 = kernel.reduce_index(%0, %0) {kind = "max", axis = "R"} : f32
  kernel.return()
}

// -----

kernel.func @scan_along_an_axis_that_is_not_there() {grid = [4], axes = #kernel.axes<Y: 8 whole, R: 8 whole>, blocks = #kernel.blocks<Y = 8, R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<1xRxf32>
  // expected-error @+1 {{!kernel.tile<1xRxf32> does not vary over Y}}
  %1 = kernel.scan(%0) {kind = "sum", axis = "Y"} : !kernel.tile<1xRxf32>
  kernel.return()
}

// -----

kernel.func @product_without_a_common_axis() {grid = [4], axes = #kernel.axes<Y: 8 whole, R: 8 whole>, blocks = #kernel.blocks<Y = 8, R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<1xRxf32>
  %1 = kernel.const() {value = 1.0} : !kernel.tile<Yx1xf32>
  %2 = kernel.const() {value = 1.0} : !kernel.tile<YxRxf32>
  // expected-error @+1 {{both tiles must vary over R}}
  %3 = kernel.dot(%0, %1, %2) {axis = "R"} : !kernel.tile<YxRxf32>
  kernel.return()
}

// -----

kernel.func @product_and_accumulator_differ() {grid = [4], axes = #kernel.axes<Y: 8 whole, R: 8 whole>, blocks = #kernel.blocks<Y = 8, R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<YxRxf32>
  %1 = kernel.const() {value = 1.0} : !kernel.tile<1xRxf32>
  // expected-error @+1 {{the product varies over ['Y'], the accumulator is !kernel.tile<YxRxf32>}}
  %3 = kernel.dot(%0, %1, %0) {axis = "R"} : !kernel.tile<YxRxf32>
  kernel.return()
}

// -----

kernel.func @walks_a_grid_axis() {grid = [4], axes = #kernel.axes<Y: 8 grid>, blocks = #kernel.blocks<Y = 2>} {
  // expected-error @+1 {{axis Y has the role grid, only a loop axis is walked}}
  kernel.for() {axis = "Y"} {
  ^bb0(%at: index):
    kernel.yield()
  }
  kernel.return()
}

// -----

kernel.func @step_is_no_multiple_of_the_block() {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 8>} {
  // expected-error @+1 {{'step' must be a multiple of the block 8, got 12}}
  kernel.for() {axis = "R", step = 12, span = 64} {
  ^bb0(%at: index):
    kernel.yield()
  }
  kernel.return()
}

// -----

kernel.func @start_without_span() {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 8>} {
  kernel.for() {axis = "R", step = 16} {
  ^bb0(%at: index):
    // expected-error @+1 {{a loop with a start needs a span}}
    kernel.for(; %at) {axis = "R"} {
    ^bb0(%inner: index):
      kernel.yield()
    }
    kernel.yield()
  }
  kernel.return()
}

// -----

kernel.func @span_is_no_multiple_of_the_step() {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 8>} {
  // expected-error @+1 {{the span 40 must be a multiple of the step 16}}
  kernel.for() {axis = "R", step = 16, span = 40} {
  ^bb0(%at: index):
    kernel.yield()
  }
  kernel.return()
}

// -----

kernel.func @walks_beyond_the_axis() {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 8>} {
  // expected-error @+1 {{the loop reaches beyond the extent 64}}
  kernel.for() {axis = "R", begin = 32, span = 64} {
  ^bb0(%at: index):
    kernel.yield()
  }
  kernel.return()
}

// -----

kernel.func @body_takes_other_values() {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.const() {value = 1.0} : f32
  // expected-error @+1 {{the body takes index and what is carried, f32; got index}}
  %1 = kernel.for(%0) {axis = "R"} : f32 {
  ^bb0(%at: index):
    kernel.yield(%0)
  }
  kernel.return()
}

// -----

kernel.func @loop_gives_other_values() {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.const() {value = 1.0} : f32
  // expected-error @+1 {{a loop gives what it carries, f32; got f64}}
  %1 = kernel.for(%0) {axis = "R"} : f64 {
  ^bb0(%at: index, %v: f32):
    kernel.yield(%v)
  }
  kernel.return()
}

// -----

kernel.func @yield_of_other_values() {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 8>} {
  %0 = kernel.const() {value = 1.0} : f32
  %1 = kernel.for(%0) {axis = "R"} : f32 {
  ^bb0(%at: index, %v: f32):
    // expected-error @+1 {{'kernel.yield' must give what is carried, f32; got nothing}}
    kernel.yield()
  }
  kernel.return()
}

// -----

kernel.func @mixed_axes() {grid = [1], axes = #kernel.axes<Y: 8 whole, R: 8 whole>, blocks = #kernel.blocks<Y = 8, R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<1xRxf32>
  %1 = kernel.const() {value = 1.0} : !kernel.tile<Rxf32>
  // expected-error @+1 {{'kernel.add' mixes tiles of 2 and 1 axes}}
  %2 = kernel.add(%0, %1) : !kernel.tile<1xRxf32>
  kernel.return()
}

// -----

kernel.func @two_axes_at_one_place() {grid = [1], axes = #kernel.axes<Y: 8 whole, R: 8 whole>, blocks = #kernel.blocks<Y = 8, R = 8>} {
  %0 = kernel.const() {value = 1.0} : !kernel.tile<1xRxf32>
  %1 = kernel.const() {value = 1.0} : !kernel.tile<1xYxf32>
  // expected-error @+1 {{'kernel.add' mixes the axes R and Y at one place}}
  %2 = kernel.add(%0, %1) : !kernel.tile<1xRxf32>
  kernel.return()
}

// -----

// expected-error @+1 {{the last parameters of 'kernel.func' are an index for each of its symbols, got [!kernel.ptr<f32>]}}
kernel.func @no_size_of_a_symbol(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>, symbols = {s0 = {hint = 3}}} {
  kernel.return()
}

// -----

// expected-error @+1 {{the symbols of 'kernel.func' are s0, s1, ... in order}}
kernel.func @symbols_with_a_gap(%x: !kernel.ptr<f32>, %n: index) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>, symbols = {s1 = {hint = 3}}} {
  kernel.return()
}

// -----

// expected-error @+1 {{what 'symbols' says of s0 are numbers for}}
kernel.func @symbols_of_words(%x: !kernel.ptr<f32>, %n: index) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>, symbols = {s0 = {hint = "much"}}} {
  kernel.return()
}
