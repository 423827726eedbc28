// RUN: lect-opt %s -p kernel-choose-tiles | filecheck %s
// RUN: lect-opt %s --tuning=%S/Inputs/records.tuning -p kernel-choose-tiles | filecheck %s --check-prefix=RECORD

// CHECK-LABEL: loop.func @a_row_is_cut_into_programs
loop.func @a_row_is_cut_into_programs(%x: !loop.buffer<4096xf32>) {
  // CHECK: tiles = #kernel.tiles<"flat", X: d0 by 32 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 4096>} : !loop.buffer<4096xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<4096>]}
}

// CHECK-LABEL: loop.func @fewer_lanes_where_much_is_computed
loop.func @fewer_lanes_where_much_is_computed(%x: !loop.buffer<4096xf32>) {
  // CHECK: tiles = #kernel.tiles<"flat", X: d0 by 16 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 4096>} : !loop.buffer<4096xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.exp(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<4096>]}
}

// CHECK-LABEL: loop.func @fewer_lanes_of_a_wider_type
loop.func @fewer_lanes_of_a_wider_type(%x: !loop.buffer<4096xf64>) {
  // CHECK: tiles = #kernel.tiles<"flat", X: d0 by 16 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 4096>} : !loop.buffer<4096xf64> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f64
    loop.store(%0) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<4096>]}
}

// CHECK-LABEL: loop.func @many_short_rows_are_programs
loop.func @many_short_rows_are_programs(%x: !loop.buffer<500x100xf32>, %b: !loop.buffer<100xf32>) {
  // CHECK: tiles = #kernel.tiles<"flat", X: d1 by 32 loop, vector X>
  %y = loop.nest @n0(%x, %b) {space = #loop.space<d0: 500, d1: 100>} : !loop.buffer<500x100xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>} : f32
    %1 = loop.load(%b) {map = #loop.map<(d0, d1) -> (d1)>} : f32
    %2 = loop.add(%0, %1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<500x100>]}
}

// CHECK-LABEL: loop.func @a_transposition_is_turned_in_blocks
loop.func @a_transposition_is_turned_in_blocks(%x: !loop.buffer<100x500xf32>) {
  // CHECK: tiles = #kernel.tiles<"tiled", Y: d0 by 8 grid, X: d1 by 8 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 500, d1: 100>} : !loop.buffer<500x100xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 500 + d0)>} : f32
    loop.store(%0) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<500x100>]}
}

// CHECK-LABEL: loop.func @a_folded_row_is_walked_along
loop.func @a_folded_row_is_walked_along(%x: !loop.buffer<50x1000xf32>) {
  // CHECK: tiles = #kernel.tiles<"row", R: d1 by 32 loop, vector R>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 50, d1: 1000>} : !loop.buffer<50xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1000 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<50>]}
}

// CHECK-LABEL: loop.func @a_short_row_has_few_lanes
loop.func @a_short_row_has_few_lanes(%x: !loop.buffer<50x5xf32>) {
  // CHECK: tiles = #kernel.tiles<"row", R: d1 by 8 loop, vector R>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 50, d1: 5>} : !loop.buffer<50xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 5 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<50>]}
}

// CHECK-LABEL: loop.func @columns_are_folded_side_by_side
loop.func @columns_are_folded_side_by_side(%x: !loop.buffer<1000x500xf32>) {
  // CHECK: tiles = #kernel.tiles<"column", R: d0 by 4 loop, X: d1 by 64 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 1000, d1: 500>} : !loop.buffer<500xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 500 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [0]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%y) {views = [#loop.view<500>]}
}

// CHECK-LABEL: loop.func @one_number_has_no_axes
loop.func @one_number_has_no_axes(%x: !loop.buffer<f32>) {
  // CHECK: tiles = #kernel.tiles<"point">
  %y = loop.nest @n0(%x) {space = #loop.space<>} : !loop.buffer<f32> {
    %0 = loop.load(%x) {map = #loop.map<() -> (0)>} : f32
    loop.store(%0) {map = #loop.map<() -> (0)>}
  }
  loop.return(%y) {views = [#loop.view<scalar>]}
}

// CHECK-LABEL: loop.func @no_choice_where_one_was_made
loop.func @no_choice_where_one_was_made(%x: !loop.buffer<4096xf32>) {
  // CHECK: tiles = #kernel.tiles<"mine", X: d0 by 4 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 4096>, tiles = #kernel.tiles<"mine", X: d0 by 4 grid, vector X>} : !loop.buffer<4096xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%0) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<4096>]}
}

// Random words are made for several lanes at once, so the lanes are those of what is stored: 32 bytes hold 8 floats, and much is computed on each.
// CHECK-LABEL: loop.func @random_words_do_not_count
loop.func @random_words_do_not_count(%key: !loop.buffer<i64>) {
  // CHECK: tiles = #kernel.tiles<"flat", X: d0 by 16 grid, vector X>
  %y = loop.nest @n0(%key) {space = #loop.space<d0: 4096>} : !loop.buffer<4096xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%key) {map = #loop.map<(d0) -> (0)>} : i64
    %1 = loop.index() {map = #loop.map<(d0) -> (d0)>} : i64
    %2 = loop.philox32(%0, %0, %1) : i64
    %3 = loop.cast(%2) : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<4096>]}
}

// Four rows of x by two registers of w: each element that is loaded enters many sums.
// CHECK-LABEL: loop.func @a_product_fills_the_registers
loop.func @a_product_fills_the_registers(%x: !loop.buffer<64x32xf32>, %w: !loop.buffer<32x48xf32>) {
  // CHECK: tiles = #kernel.tiles<"product", X: d1 by 16 grid, Y: d0 by 4 grid, vector X>
  %y = loop.nest @n0(%x, %w) {space = #loop.space<d0: 64, d1: 48, d2: 32>} : !loop.buffer<64x48xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 32 + d2)>} : f32
    %1 = loop.load(%w) {map = #loop.map<(d0, d1, d2) -> (d2 * 48 + d1)>} : f32
    %2 = loop.mul(%0, %1) : f32
    %3 = loop.reduce(%2) {kind = "sum", over = [2], contract = true} : f32
    loop.store(%3) {map = #loop.map<(d0, d1, d2) -> (d0 * 48 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<64x48>]}
}

// A running total waits for the one before it, so two registers of rows are taken at once; they hold 8 floats of f64.
// CHECK-LABEL: loop.func @totals_of_several_rows
loop.func @totals_of_several_rows(%x: !loop.buffer<64x100xf64>) {
  // CHECK: tiles = #kernel.tiles<"scan", X: d0 by 8 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 64, d1: 100>} : !loop.buffer<64x100xf64> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>} : f64
    %1 = loop.scan(%0) {kind = "sum", over = 1} : f64
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<64x100>]}
}

// Two registers hold 16 floats of f32, but a set of a first cache of 32 KB holds 8 lines, and rows of 4 KB lie in one set.
// CHECK-LABEL: loop.func @totals_of_no_more_rows_than_the_cache_holds
loop.func @totals_of_no_more_rows_than_the_cache_holds(%x: !loop.buffer<64x1024xf32>) {
  // CHECK: tiles = #kernel.tiles<"scan", X: d0 by 8 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 64, d1: 1024>} : !loop.buffer<64x1024xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : f32
    %1 = loop.scan(%0) {kind = "sum", over = 1} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<64x1024>]}
}

// CHECK-LABEL: loop.func @no_rows_at_once_as_they_are_too_few
loop.func @no_rows_at_once_as_they_are_too_few(%x: !loop.buffer<3x100xf64>) {
  // CHECK: tiles = #kernel.tiles<"scan">
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 3, d1: 100>} : !loop.buffer<3x100xf64> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>} : f64
    %1 = loop.scan(%0) {kind = "sum", over = 1} : f64
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<3x100>]}
}

// Columns lie beside each other, so their totals run side by side, whatever is added up.
// CHECK-LABEL: loop.func @totals_of_columns
loop.func @totals_of_columns(%x: !loop.buffer<100x64xi64>) {
  // CHECK: tiles = #kernel.tiles<"scan", X: d1 by 16 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 100, d1: 64>} : !loop.buffer<100x64xi64> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : i64
    %1 = loop.scan(%0) {kind = "sum", over = 0} : i64
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<100x64>]}
}

// A size that is known only at run time is one number of i64 for the whole nest, in no vector: the row is cut for f32.
// CHECK-LABEL: loop.func @rows_divided_by_a_size
loop.func @rows_divided_by_a_size(%x: !loop.buffer<s0xs1xf32>) {symbols = {s0 = {hint = 64, min = 2, argument = 0, dim = 0}, s1 = {hint = 768, min = 2, argument = 0, dim = 1}}} {
  // CHECK: tiles = #kernel.tiles<"row", R: d1 by 32 loop, vector R>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: s1>} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    %2 = loop.index() {map = #loop.map<(d0, d1) -> (s1)>} : i64
    %3 = loop.cast(%2) : f32
    %4 = loop.div(%1, %3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<s0>]}
}

// CHECK-LABEL: loop.func @positions_of_i64_take_as_many_lanes_as_fit_i64
loop.func @positions_of_i64_take_as_many_lanes_as_fit_i64(%x: !loop.buffer<s0xs1xi64>) {symbols = {s0 = {hint = 64, min = 2, argument = 0, dim = 0}, s1 = {hint = 768, min = 2, argument = 0, dim = 1}}} {
  // CHECK: tiles = #kernel.tiles<"row", R: d1 by 16 loop, vector R>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: s1>} : !loop.buffer<s0xi64> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : i64
    %1 = loop.index() {map = #loop.map<(d0, d1) -> (d1)>} : i64
    %2 = loop.mul(%0, %1) : i64
    %3 = loop.reduce(%2) {kind = "sum", over = [1]} : i64
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<s0>]}
}

// What is not in the records is chosen as ever; only the text of the kernel counts, not how the nest and its buffers are called.
// RECORD-LABEL: loop.func @a_row_as_its_record_says
loop.func @a_row_as_its_record_says(%given: !loop.buffer<8192x8000xf32>) {
  // RECORD: loop.nest @sums({{.*}}) {{.*}}tiles = #kernel.tiles<"row", R: d1 by 8 loop, vector R>}
  %sums = loop.nest @sums(%given) {space = #loop.space<d0: 8192, d1: 8000>, realize = ["graph output"]} : !loop.buffer<8192xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%given) {map = #loop.map<(d0, d1) -> (d0 * 8000 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%sums) {views = [#loop.view<8192>]}
}
