// RUN: lect-opt %s --target=cuda:sm_90 -p kernel-choose-gpu-tiles | filecheck %s
// RUN: lect-opt %s --target=cuda:sm_90 --tuning=%S/Inputs/records.tuning -p kernel-choose-gpu-tiles | filecheck %s --check-prefix=RECORD
// RUN: not lect-opt %s --target=cuda:sm_90 --tuning=%S/Inputs/unfit.tuning -p kernel-choose-gpu-tiles 2>&1 | filecheck %s --check-prefix=UNFIT
// UNFIT: unfit.tuning:2:1: error: the record @beyond does not fit its kernel: the tiles of @n0 name the dim d3, which it lacks
// RUN: lect-opt %s -p kernel-choose-gpu-tiles | filecheck %s --check-prefix=CPU
// RUN: lect-opt %s --target=cuda:sm_90 -p 'kernel-choose-gpu-tiles,loop-to-kernel' | filecheck %s --check-prefix=KERNEL

// Nothing is decided for a CPU here.
// CPU-NOT: "rows"

// CHECK-LABEL: loop.func @tiles_of_neighbours
loop.func @tiles_of_neighbours(%x: !loop.buffer<67108864xbf16>) {
  // CHECK: tiles = #kernel.tiles<"flat", X: d0 by 2048 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 67108864>} : !loop.buffer<67108864xbf16> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : bf16
    loop.store(%0) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<67108864>]}
}

// CHECK-LABEL: loop.func @small_tiles_leave_work_for_every_processor
loop.func @small_tiles_leave_work_for_every_processor(%x: !loop.buffer<100000xf32>) {
  // CHECK: tiles = #kernel.tiles<"flat", X: d0 by 128 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 100000>} : !loop.buffer<100000xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%0) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<100000>]}
}

// The block divides the rows, and several rows fill the tile.
// CHECK-LABEL: loop.func @short_rows_share_a_tile
loop.func @short_rows_share_a_tile(%x: !loop.buffer<65536x768xf32>, %b: !loop.buffer<768xf32>) {
  // CHECK: tiles = #kernel.tiles<"flat", Y: d0 by 8 grid, X: d1 by 256 grid, vector X>
  %y = loop.nest @n0(%x, %b) {space = #loop.space<d0: 65536, d1: 768>} : !loop.buffer<65536x768xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 768 + d1)>} : f32
    %1 = loop.load(%b) {map = #loop.map<(d0, d1) -> (d1)>} : f32
    %2 = loop.add(%0, %1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 768 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<65536x768>]}
}

// CHECK-LABEL: loop.func @a_transposition_takes_squares
loop.func @a_transposition_takes_squares(%x: !loop.buffer<8192x8192xf32>) {
  // CHECK: tiles = #kernel.tiles<"tiled", Y: d0 by 64 grid, X: d1 by 64 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 8192, d1: 8192>} : !loop.buffer<8192x8192xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8192 + d0)>} : f32
    loop.store(%0) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<8192x8192>]}
}

// CHECK-LABEL: loop.func @a_row_is_taken_whole
loop.func @a_row_is_taken_whole(%x: !loop.buffer<8192x8000xf32>) {
  // CHECK: tiles = #kernel.tiles<"rows", R: d1 by 8192 whole, vector R>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 8192, d1: 8000>} : !loop.buffer<8192xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8000 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<8192>]}
}

// CHECK-LABEL: loop.func @several_short_rows_a_program
loop.func @several_short_rows_a_program(%x: !loop.buffer<100000x64xf32>) {
  // CHECK: tiles = #kernel.tiles<"rows", Y: d0 by 16 grid, R: d1 by 64 whole, vector R>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 100000, d1: 64>} : !loop.buffer<100000xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<100000>]}
}

// CHECK-LABEL: loop.func @a_loop_walks_rows_that_do_not_fit
loop.func @a_loop_walks_rows_that_do_not_fit(%x: !loop.buffer<512x50304xf32>) {
  // CHECK: tiles = #kernel.tiles<"long rows", R: d1 by 4096 loop, vector R>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 512, d1: 50304>} : !loop.buffer<512xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 50304 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "max", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<512>]}
}

// CHECK-LABEL: loop.func @columns_are_folded_behind_the_loop
loop.func @columns_are_folded_behind_the_loop(%x: !loop.buffer<16384x8192xf32>) {
  // CHECK: tiles = #kernel.tiles<"columns", R: d0 by 64 loop, X: d1 by 32 grid, vector X, wide>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 16384, d1: 8192>} : !loop.buffer<8192xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [0]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%y) {views = [#loop.view<8192>]}
}

// Squares of the result; the sum is walked in steps.
// CHECK-LABEL: loop.func @a_product_by_tiles
loop.func @a_product_by_tiles(%x: !loop.buffer<65536x64xbf16>, %w: !loop.buffer<64x256xbf16>) {
  // CHECK: tiles = #kernel.tiles<"tile product", Y: d0 by 128 grid, X: d1 by 128 grid, R: d2 by 64 loop, vector X>
  %y = loop.nest @e0(%x, %w) {space = #loop.space<d0: 65536, d1: 256, d2: 64>, chosen = "own tiles: by hand"} : !loop.buffer<65536x256xbf16> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d2)>} : bf16
    %1 = loop.load(%w) {map = #loop.map<(d0, d1, d2) -> (d2 * 256 + d1)>} : bf16
    %2 = loop.cast(%0) : f32
    %3 = loop.cast(%1) : f32
    %4 = loop.mul(%2, %3) : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [2], contract = true} : f32
    %6 = loop.cast(%5) : bf16
    loop.store(%6) {map = #loop.map<(d0, d1, d2) -> (d0 * 256 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<65536x256>]}
}

// Few rows: smaller tiles, until most processors have one, and longer steps of the sum.
// CHECK-LABEL: loop.func @a_product_of_few_rows
loop.func @a_product_of_few_rows(%x: !loop.buffer<64x768xbf16>, %w: !loop.buffer<768x3072xbf16>) {
  // CHECK: tiles = #kernel.tiles<"tile product", Y: d0 by 64 grid, X: d1 by 32 grid, R: d2 by 128 loop, vector X>
  %y = loop.nest @e0(%x, %w) {space = #loop.space<d0: 64, d1: 3072, d2: 768>, chosen = "own tiles: by hand"} : !loop.buffer<64x3072xbf16> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 768 + d2)>} : bf16
    %1 = loop.load(%w) {map = #loop.map<(d0, d1, d2) -> (d2 * 3072 + d1)>} : bf16
    %2 = loop.cast(%0) : f32
    %3 = loop.cast(%1) : f32
    %4 = loop.mul(%2, %3) : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [2], contract = true} : f32
    %6 = loop.cast(%5) : bf16
    loop.store(%6) {map = #loop.map<(d0, d1, d2) -> (d0 * 3072 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<64x3072>]}
}

// CHECK-LABEL: loop.func @keeps_a_decision
loop.func @keeps_a_decision(%x: !loop.buffer<64xf32>) {
  // CHECK: tiles = #kernel.tiles<"mine", X: d0 by 4 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 64>, tiles = #kernel.tiles<"mine", X: d0 by 4 grid, vector X>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%0) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<64>]}
}

// What is not in the records is chosen as ever; only the text of the kernel counts, not how the nest and its buffers are called.
// RECORD-LABEL: loop.func @a_row_as_its_record_says
loop.func @a_row_as_its_record_says(%given: !loop.buffer<8192x8000xf32>) {
  // RECORD: loop.nest @sums({{.*}}) {{.*}}tiles = #kernel.tiles<"long rows", R: d1 by 2048 loop, vector R>, warps = 2}
  %sums = loop.nest @sums(%given) {space = #loop.space<d0: 8192, d1: 8000>, realize = ["graph output"]} : !loop.buffer<8192xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%given) {map = #loop.map<(d0, d1) -> (d0 * 8000 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%sums) {views = [#loop.view<8192>]}
}

// Sizes that are known only at run time are weighed as in the captured call; a launch takes a version whose block covers the row.
// CHECK-LABEL: loop.func @a_row_of_unknown_length_is_taken_whole
// KERNEL-LABEL: kernel.func @rows.longer(
// KERNEL-SAME: axes = #kernel.axes<R: s1 loop>, blocks = #kernel.blocks<R = 4096>, vector = "R"
// KERNEL-LABEL: kernel.func @rows(
// KERNEL-SAME: axes = #kernel.axes<R: s1 whole>, blocks = #kernel.blocks<R = 1024>, vector = "R"
// KERNEL-SAME: longer = "rows.longer"
// KERNEL-NOT: kernel.for
// KERNEL: host.launch({{.*}}) {kernel = @rows
loop.func @a_row_of_unknown_length_is_taken_whole(%x: !loop.buffer<s0xs1xf32>) {symbols = {s0 = {hint = 8192, argument = 0, dim = 0}, s1 = {hint = 1000, argument = 0, dim = 1}}} {
  // CHECK: tiles = #kernel.tiles<"rows", R: d1 by 1024 whole, vector R>
  %y = loop.nest @rows(%x) {space = #loop.space<d0: s0, d1: s1>} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<s0>]}
}

// A block divides what is known to be a multiple of it, whatever the rest of the size is.
// CHECK-LABEL: loop.func @a_multiple_of_a_known_number_is_divided
loop.func @a_multiple_of_a_known_number_is_divided(%x: !loop.buffer<(s0 * 1536)xf32>) {symbols = {s0 = {hint = 8192, argument = 0, dim = 0, divisor = 1536}}} {
  // CHECK: tiles = #kernel.tiles<"flat", X: d0 by 512 grid, vector X>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: s0 * 1536>} : !loop.buffer<(s0 * 1536)xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%0) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<(s0 * 1536)>]}
}
