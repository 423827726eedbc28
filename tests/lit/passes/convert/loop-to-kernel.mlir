// RUN: lect-opt %s --split-input-file -p loop-to-kernel --verify-diagnostics | filecheck %s

// CHECK-LABEL: kernel.func @flat(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 100 grid>, blocks = #kernel.blocks<X = 32>, vector = "X"} {
// CHECK-NEXT: %[[P:.*]] = kernel.program_id() : index
// CHECK-NEXT: %[[L:.*]] = kernel.lanes(%[[P]]) {axis = "X"} : !kernel.tile<Xxindex>
// CHECK-NEXT: %[[B:.*]] = kernel.bound(%[[L]]) {axis = "X"} : !kernel.tile<Xxi1>
// CHECK-NEXT: %[[V:.*]] = kernel.load(%x, %[[L]]; %[[B]]) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
// CHECK-NEXT: %[[N:.*]] = kernel.neg(%[[V]]) : !kernel.tile<Xxf32>
// CHECK-NEXT: kernel.store(%y, %[[N]], %[[L]]; %[[B]]) {map = #loop.map<(d0) -> (d0)>}
// CHECK-NEXT: kernel.return()
// CHECK: host.func @pointwise(%x: !host.tensor<10x10xf32>) {
// CHECK-NEXT: %y = host.empty() {reason = "graph output"} : !host.tensor<10x10xf32>
// CHECK-NEXT: %[[XM:.*]] = host.memory(%x) : !host.buffer<100xf32>
// CHECK-NEXT: %[[YM:.*]] = host.memory(%y) : !host.buffer<100xf32>
// CHECK-NEXT: host.launch(%[[XM]], %[[YM]]) {kernel = @flat, grid = 4}
// CHECK-NEXT: host.return(%y)
loop.func @pointwise(%x: !loop.buffer<10x10xf32>) {
  %y = loop.nest @flat(%x) {space = #loop.space<d0: 100>, realize = ["graph output"]} : !loop.buffer<10x10xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<10x10>]}
}

// -----

// A value behind a reduction that varies over the folded dim again takes a second sweep; what varies over no loop stands outside.
// CHECK-LABEL: kernel.func @row
// CHECK-SAME: {grid = [7], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"}
// CHECK: %[[P:.*]] = kernel.program_id() : index
// CHECK: %[[Z:.*]] = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
// CHECK: %[[SUM:.*]] = kernel.for(%[[Z]]) {axis = "R"} : !kernel.tile<Rxf32> {
// CHECK-NEXT: ^bb0(%[[AT:.*]]: index, %[[ACC:.*]]: !kernel.tile<Rxf32>):
// CHECK-NEXT: %[[L:.*]] = kernel.lanes(%[[AT]]) {axis = "R"} : !kernel.tile<Rxindex>
// CHECK-NEXT: %[[V:.*]] = kernel.load(%x, %[[P]], %[[L]]) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
// CHECK-NEXT: %[[NEXT:.*]] = kernel.add(%[[ACC]], %[[V]]) : !kernel.tile<Rxf32>
// CHECK-NEXT: kernel.yield(%[[NEXT]])
// CHECK: %[[TOTAL:.*]] = kernel.reduce(%[[SUM]]) {kind = "sum", axis = "R"} : f32
// CHECK-NEXT: %[[ROOT:.*]] = kernel.sqrt(%[[TOTAL]]) : f32
// CHECK-NEXT: kernel.for() {axis = "R"} {
// CHECK: kernel.mul(%{{.*}}, %[[ROOT]]) : !kernel.tile<Rxf32>
// CHECK-NEXT: kernel.store(%y
loop.func @two_sweeps(%x: !loop.buffer<7x64xf32>) {
  %y = loop.nest @row(%x) {space = #loop.space<d0: 7, d1: 64>} : !loop.buffer<7x64xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    %2 = loop.sqrt(%1) : f32
    %3 = loop.mul(%0, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<7x64>]}
}

// -----

// Columns: rows of a chunk are folded at once, one row of accumulators is carried; lanes beyond the end are neutral.
// CHECK-LABEL: kernel.func @column
// CHECK-SAME: {grid = [2], axes = #kernel.axes<R: 90 loop, X: 100 grid>, blocks = #kernel.blocks<R = 4, X = 64>, vector = "X"}
// CHECK: kernel.for(%{{.*}}) {axis = "R"} : !kernel.tile<1xXxf32> {
// CHECK: %[[IN:.*]] = kernel.bound(%{{.*}}) {axis = "R"} : !kernel.tile<Rx1xi1>
// CHECK: %[[V:.*]] = kernel.load(%x, {{.*}}; %[[IN]], %{{.*}}) {{.*}} : !kernel.tile<RxXxf32>
// CHECK-NEXT: %[[LOW:.*]] = kernel.const() {value = -inf} : f32
// CHECK-NEXT: %[[M:.*]] = kernel.select(%[[IN]], %[[V]], %[[LOW]]) : !kernel.tile<RxXxf32>
// CHECK-NEXT: %[[F:.*]] = kernel.reduce(%[[M]]) {kind = "max", axis = "R"} : !kernel.tile<1xXxf32>
// CHECK-NEXT: kernel.maximum(%{{.*}}, %[[F]]) : !kernel.tile<1xXxf32>
loop.func @maxima_of_columns(%x: !loop.buffer<90x100xf32>) {
  %y = loop.nest @column(%x) {space = #loop.space<d0: 90, d1: 100>} : !loop.buffer<100xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "max", over = [0]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%y) {views = [#loop.view<100>]}
}

// -----

// Folded dims that cannot be merged are loops in loops; the outer is walked one by one.
// CHECK-LABEL: kernel.func @apart
// CHECK-SAME: axes = #kernel.axes<R: 64 loop, R1: 3 loop>, blocks = #kernel.blocks<R = 32, R1 = 1>
// CHECK: kernel.for(%{{.*}}) {axis = "R1"} : !kernel.tile<Rx1xf32> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: index,
// CHECK-NEXT: kernel.for(%{{.*}}) {axis = "R"} : !kernel.tile<Rx1xf32> {
// CHECK: kernel.load(%x, %[[A]], %{{.*}}, %{{.*}}) {map = #loop.map<(d0, d1, d2) -> (d0 * 320 + d1 * 64 + d2)>}
loop.func @channel_sums(%x: !loop.buffer<3x5x64xf32>) {
  %y = loop.nest @apart(%x) {space = #loop.space<d0: 3, d1: 5, d2: 64>} : !loop.buffer<5xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 320 + d1 * 64 + d2)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [0, 2]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1, d2) -> (d1)>}
  }
  loop.return(%y) {views = [#loop.view<5>]}
}

// -----

// The position of the greatest value: both are carried, the position in half the width where it fits.  Positions grow, so the first of equals is
// found first, and only a row of nothing but the worst value finds none.
// CHECK-LABEL: kernel.func @position
// CHECK: %[[LOW:.*]] = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
// CHECK-NEXT: %[[NONE:.*]] = kernel.const() {value = 2147483647} : !kernel.tile<Rxi32>
// CHECK: %[[V:.*]], %[[I:.*]] = kernel.for(%[[LOW]], %[[NONE]]) {axis = "R"}
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[BEST:.*]]: !kernel.tile<Rxf32>, %{{.*}}: !kernel.tile<Rxi32>):
// CHECK: %[[LE:.*]] = kernel.le(%{{.*}}, %[[BEST]])
// CHECK-NEXT: kernel.not(%[[LE]])
// CHECK-NEXT: kernel.isnan(%[[BEST]])
// CHECK: %[[P:.*]] = kernel.reduce_index(%[[V]], %[[I]]) {kind = "max", axis = "R"} : i32
// CHECK: kernel.eq(%[[P]], %{{.*}}) : i1
// CHECK-NEXT: %[[FOUND:.*]] = kernel.select(%{{.*}}, %{{.*}}, %[[P]]) : i32
// CHECK-NEXT: kernel.cast(%[[FOUND]]) : i64
loop.func @argmax(%x: !loop.buffer<64xf32>) {
  %y = loop.nest @position(%x) {space = #loop.space<d0: 64>} : !loop.buffer<i64> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.index() {map = #loop.map<(d0) -> (d0)>} : i64
    %2 = loop.reduce_index(%0, %1) {kind = "max", over = [0]} : i64
    loop.store(%2) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%y) {views = [#loop.view<scalar>]}
}

// -----

// A scan carries its total from step to step.
// CHECK-LABEL: kernel.func @running
// CHECK: kernel.for(%{{.*}}) {axis = "R"} : f64 {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[CARRY:.*]]: f64):
// CHECK: %[[S:.*]] = kernel.scan(%[[V:.*]]) {kind = "sum", axis = "R"} : !kernel.tile<Rxf64>
// CHECK-NEXT: %[[T:.*]] = kernel.reduce(%[[V]]) {kind = "sum", axis = "R"} : f64
// CHECK-NEXT: %[[NEXT:.*]] = kernel.add(%[[CARRY]], %[[T]]) : f64
// CHECK-NEXT: %[[OUT:.*]] = kernel.add(%[[CARRY]], %[[S]]) : !kernel.tile<Rxf64>
// CHECK-NEXT: kernel.store(%y, %[[OUT]]
// CHECK-NEXT: kernel.yield(%[[NEXT]])
loop.func @cumsum(%x: !loop.buffer<64xf64>) {
  %y = loop.nest @running(%x) {space = #loop.space<d0: 64>, tiles = #kernel.tiles<"scan", R: d0 by 32 loop, vector R>} : !loop.buffer<64xf64> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f64
    %1 = loop.scan(%0) {kind = "sum", over = 0} : f64
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<64>]}
}

// -----

// Loaded numbers are symbols of the map; masks of the loop level stand behind the bounds of the axes.
// CHECK-LABEL: kernel.func @gather
// CHECK: %[[I:.*]] = kernel.load(%at, %{{.*}}; %[[B:.*]]) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi64>
// CHECK: %[[OK:.*]] = kernel.ge(%[[I]], %{{.*}}) : !kernel.tile<Xxi1>
// CHECK: kernel.load(%x, %[[I]]; %[[B]], %[[OK]]) {map = #loop.map<()[i0] -> (i0)>} : !kernel.tile<Xxf32>
loop.func @picked(%at: !loop.buffer<100xi64>, %x: !loop.buffer<50xf32>) {
  %y = loop.nest @gather(%at, %x) {space = #loop.space<d0: 100>} : !loop.buffer<100xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%at) {map = #loop.map<(d0) -> (d0)>} : i64
    %1 = loop.const() {value = 0} : i64
    %2 = loop.ge(%0, %1) : i1
    %3 = loop.load(%x, %0; %2) {map = #loop.map<(d0)[i0] -> (i0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<100>]}
}

// -----

// Equal nests share a kernel; library calls take views, and what is not used any more is freed.
// CHECK: kernel.func @first
// CHECK-NOT: kernel.func
// CHECK-LABEL: host.func @around_a_library_call(%x: !host.tensor<4x8xf32>, %w: !host.tensor<8x8xf32>) {
// CHECK-NEXT: %a = host.empty() : !host.tensor<4x8xf32>
// CHECK: host.launch(%{{.*}}, %{{.*}}) {kernel = @first, grid = 1}
// CHECK-NEXT: %m = host.extern(%a, %w) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<4x8xf32>
// CHECK-NEXT: host.free(%a)
// CHECK-NEXT: %[[V:.*]] = host.empty() : !host.tensor<4x8xf32>
// CHECK: host.launch(%{{.*}}, %{{.*}}) {kernel = @first, grid = 1}
// CHECK-NEXT: host.free(%m)
// CHECK-NEXT: host.return(%[[V]])
loop.func @around_a_library_call(%x: !loop.buffer<4x8xf32>, %w: !loop.buffer<8x8xf32>) {
  %a = loop.nest @first(%x) {space = #loop.space<d0: 32>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %m = loop.extern @second(%a, %w) {callee = @aten.mm.default, views = [#loop.view<4x8>, #loop.view<8x8>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<4x8>]} : !loop.buffer<4x8xf32>
  %y = loop.nest @third(%m) {space = #loop.space<d0: 32>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%m) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<4x8>]}
}

// -----

// A parameter is written behind all kernels, and what was written is freed.
// CHECK-LABEL: host.func @write_to_a_part(%x: !host.tensor<3x4xf32>, %y: !host.tensor<4xf32>) {
// CHECK: %[[A:.*]] = host.empty() {{.*}}: !host.tensor<4xf32>
// CHECK: host.launch
// CHECK: %[[V:.*]] = host.view(%{{.*}}) {offset = 4} : !host.tensor<4xf32>
// CHECK-NEXT: host.write(%[[V]], %[[A]]) {versions = 3}
// CHECK-NEXT: host.free(%[[V]])
// CHECK-NEXT: host.free(%[[A]])
// CHECK-NEXT: host.return(%x)
loop.func @write_to_a_part(%x: !loop.buffer<3x4xf32>, %y: !loop.buffer<4xf32>) {
  %a = loop.nest @first(%y) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%y) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.write(%x, %a) {place = #loop.view<4, offset 4>, view = #loop.view<4>, versions = 3}
  loop.return(%x) {views = [#loop.view<3x4>]}
}

// -----

// A result that lies in a parameter is not copied there.
// CHECK-LABEL: host.func @written_in_place(%x: !host.tensor<16xf32>) {
// CHECK-NEXT: %[[M:.*]] = host.memory(%x)
// CHECK-NEXT: host.launch(%[[M]], %[[M]])
// CHECK-NEXT: host.written(%x) {versions = 2}
// CHECK-NEXT: host.return()
loop.func @written_in_place(%x: !loop.buffer<16xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>, in_place = [[0, 0]]} : !loop.buffer<16xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.write(%x, %0) {place = #loop.view<16>, view = #loop.view<16>, versions = 2}
  loop.return()
}

// -----

// A call in place changes the parameter, which the product reads; a slice is a copy into a part of the parameter.
// CHECK-LABEL: host.func @updated_in_place(%x: !host.tensor<4x4xf32>, %y: !host.tensor<4x4xf32>, %r: !host.tensor<1x4xf32>, %i: !host.tensor<1xi64>) {
// CHECK-NEXT: host.update(%x, %i, %r) {callee = @aten.index_copy_.default, args = [#host.operand<0>, 0, #host.operand<1>, #host.operand<2>]}
// CHECK-NEXT: %[[M:.*]] = host.memory(%y)
// CHECK-NEXT: %[[V:.*]] = host.view(%[[M]]) {offset = 8} : !host.tensor<1x4xf32>
// CHECK-NEXT: host.write(%[[V]], %r) {versions = 0}
// CHECK: %[[P:.*]] = host.extern(%x, %y) {callee = @aten.mm.default
// CHECK-NEXT: host.written(%x) {versions = 2}
// CHECK-NEXT: host.written(%y)
// CHECK-NEXT: host.return(%[[P]])
loop.func @updated_in_place(%x: !loop.buffer<4x4xf32>, %y: !loop.buffer<4x4xf32>, %r: !loop.buffer<1x4xf32>, %i: !loop.buffer<1xi64>) {
  %0 = loop.extern @e0(%x, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>], in_place = [[0, 0]]} : !loop.buffer<4x4xf32>
  %1 = loop.extern @e1(%y, %r) {callee = @aten.slice_scatter.default, views = [#loop.view<4x4>, #loop.view<1x4>], args = [#loop.operand<0>, #loop.operand<1>, 0, 2, 3, 1], result_views = [#loop.view<4x4>], in_place = [[0, 0]]} : !loop.buffer<4x4xf32>
  %2 = loop.extern @e2(%0, %1) {callee = @aten.mm.default, views = [#loop.view<4x4>, #loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<4x4>]} : !loop.buffer<4x4xf32>
  loop.write(%x, %0) {place = #loop.view<4x4>, view = #loop.view<4x4>, versions = 2}
  loop.write(%y, %1) {place = #loop.view<4x4>, view = #loop.view<4x4>}
  loop.return(%2) {views = [#loop.view<4x4>]}
}

// -----

loop.func @no_form_in_place(%x: !loop.buffer<4xf32>) {
  // expected-error @+1 {{aten.neg.default has no form that writes to its first argument}}
  %0 = loop.extern @e0(%x) {callee = @aten.neg.default, views = [#loop.view<4>], args = [#loop.operand<0>], result_views = [#loop.view<4>], in_place = [[0, 0]]} : !loop.buffer<4xf32>
  loop.write(%x, %0) {place = #loop.view<4>, view = #loop.view<4>}
  loop.return()
}

// -----

// The key is read once; the number is an index of the lanes.
// CHECK-LABEL: kernel.func @words(%key: !kernel.ptr<i64>
// CHECK: %[[K:.*]] = kernel.load(%key) {map = #loop.map<() -> (0)>} : i64
// CHECK: %[[P:.*]] = kernel.index(%{{.*}}) {map = #loop.map<(d0) -> (d0 + 4)>} : !kernel.tile<Xxindex>
// CHECK: %[[N:.*]] = kernel.cast(%{{.*}}) : !kernel.tile<Xxi64>
// CHECK: kernel.philox32(%[[K]], %[[K]], %[[N]]) : !kernel.tile<Xxi64>
loop.func @words_of_a_stream(%key: !loop.buffer<i64>) {
  %z = loop.nest @words(%key) {space = #loop.space<d0: 64>, tiles = #kernel.tiles<"flat", X: d0 by 16 grid, vector X>} : !loop.buffer<64xi64> {
  ^bb0(%d0: index):
    %0 = loop.load(%key) {map = #loop.map<(d0) -> (0)>} : i64
    %1 = loop.index() {map = #loop.map<(d0) -> (d0 + 4)>} : i64
    %2 = loop.philox32(%0, %0, %1) : i64
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%z) {views = [#loop.view<64>]}
}

// -----

// Elements are updated one step of the ordered dim after another, neighbours at once; the result lies where it began.
// CHECK-LABEL: kernel.func @rows
// CHECK: %[[I:.*]] = kernel.load(%i
// CHECK: kernel.for
// CHECK: %[[O:.*]] = kernel.load(%[[R:.*]], {{.*}}, %[[I]])
// CHECK: %[[S:.*]] = kernel.add(%[[O]], {{.*}})
// CHECK: kernel.store(%[[R]], %[[S]], {{.*}}, %[[I]])
// CHECK-LABEL: host.func @updated_rows
// CHECK: %[[B:.*]] = host.alloc()
// CHECK: host.launch({{.*}}, %[[B]]) {kernel = @base
// CHECK: host.launch({{.*}}, %[[B]], %[[B]]) {kernel = @rows
loop.func @updated_rows(%x: !loop.buffer<4x8xf32>, %i: !loop.buffer<9xi64>, %v: !loop.buffer<9x8xf32>) {
  %0 = loop.nest @base(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %2 = loop.nest @rows(%i, %v, %0) {space = #loop.space<d0: 9, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %3 = loop.load(%i) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %4 = loop.load(%v) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.update(%4, %0, %3;) {kind = "sum", order = [0], map = #loop.map<(d0, d1)[i0] -> (i0 * 8 + d1)>}
  }
  loop.return(%2) {views = [#loop.view<4x8>]}
}

// -----

// A total of floats is carried from element to element, so that it rounds as eager's does.
// CHECK-LABEL: kernel.func @in_order
// CHECK: kernel.for(%{{.*}}) {axis = "R1"} : f32 {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[CARRY:.*]]: f32):
// CHECK: %[[T:.*]] = kernel.add(%[[CARRY]], %{{.*}}) : f32
// CHECK-NEXT: kernel.store(%y, %[[T]]
// CHECK-NEXT: kernel.yield(%[[T]])
loop.func @cumsum_in_order(%x: !loop.buffer<64xf32>) {
  %y = loop.nest @in_order(%x) {space = #loop.space<d0: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.scan(%0) {kind = "sum", over = 0} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<64>]}
}

// -----

loop.func @no_tiles_for_a_scan_of_several_steps(%x: !loop.buffer<64xf32>) {
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 64>, tiles = #kernel.tiles<"scan", R: d0 by 32 loop, vector R>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    // expected-error @+1 {{the scan of kind logaddexp is walked one by one, so its dim takes no tiles}}
    %1 = loop.scan(%0) {kind = "logaddexp", over = 0} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<64>]}
}

// -----

// An axis that is taken whole is known from the start: there is no loop, every value is computed once, and lanes beyond the end are neutral in folds.
// CHECK-LABEL: kernel.func @whole
// CHECK-SAME: {grid = [2], axes = #kernel.axes<Y: 7 grid, R: 100 whole>, blocks = #kernel.blocks<Y = 4, R = 128>, vector = "R"}
// CHECK-NOT: kernel.for
// CHECK: %[[R:.*]] = kernel.lanes() {axis = "R"} : !kernel.tile<1xRxindex>
// CHECK: %[[B:.*]] = kernel.bound(%[[R]]) {axis = "R"}
// CHECK: %[[V:.*]] = kernel.load
// CHECK-NOT: kernel.load
// CHECK: %[[IN:.*]] = kernel.select(%[[B]], %[[V]], %{{.*}}) : !kernel.tile<YxRxf32>
// CHECK: %[[S:.*]] = kernel.reduce(%[[IN]]) {kind = "sum", axis = "R"} : !kernel.tile<Yx1xf32>
// CHECK: kernel.reduce_index(%{{.*}}) {kind = "max", axis = "R"}
// CHECK: kernel.mul(%[[V]], %[[S]]) : !kernel.tile<YxRxf32>
loop.func @at_once(%x: !loop.buffer<7x100xf32>) {
  %y, %n = loop.nest @whole(%x) {space = #loop.space<d0: 7, d1: 100>, tiles = #kernel.tiles<"rows", Y: d0 by 4 grid, R: d1 by 128 whole, vector R>} : (!loop.buffer<7x100xf32>, !loop.buffer<7xi64>) {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    %2 = loop.mul(%0, %1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>}
    %3 = loop.index() {map = #loop.map<(d0, d1) -> (d1)>} : i64
    %4 = loop.reduce_index(%0, %3) {kind = "max", over = [1]} : i64
    loop.store(%4) {to = 1, map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y, %n) {views = [#loop.view<7x100>, #loop.view<7>]}
}

// -----

// Wide tiles: the loop accumulates all its lanes, which are folded behind it.
// CHECK-LABEL: kernel.func @wide
// CHECK: %[[SUM:.*]] = kernel.for(%{{.*}}) {axis = "R"} : !kernel.tile<RxXxf32> {
// CHECK-NOT: kernel.reduce
// CHECK: kernel.yield
// CHECK: kernel.reduce(%[[SUM]]) {kind = "sum", axis = "R"} : !kernel.tile<1xXxf32>
loop.func @columns_at_once(%x: !loop.buffer<64x32xf32>) {
  %y = loop.nest @wide(%x) {space = #loop.space<d0: 64, d1: 32>, tiles = #kernel.tiles<"columns", R: d0 by 16 loop, X: d1 by 32 grid, vector X, wide>} : !loop.buffer<32xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [0]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%y) {views = [#loop.view<32>]}
}

// -----

// Size symbols of a nest become parameters of its kernel, numbered anew; the host program reads them off its arguments.
// CHECK-LABEL: kernel.func @n0(%x: !kernel.ptr<f32>, %0: !kernel.ptr<f32>, %s0: index, %s1: index)
// CHECK-SAME:  {grid = [#lect.size<s0>], axes = #kernel.axes<R: s1 * 2 loop>, blocks = #kernel.blocks<R = 8>, vector = "R", symbols = {s0 = {hint = 30}, s1 = {hint = 50}}}
// CHECK:       kernel.bound({{.*}}) {axis = "R"}
// CHECK:       {map = #loop.map<(d0, d1) -> (d0 * s1 * 2 + d1)>}
// CHECK-LABEL: host.func @sizes_are_parameters
// CHECK-NEXT:  host.size(%x) {dim = 0, symbol = 0} : index
// CHECK-NEXT:  host.size(%x) {dim = 1, symbol = 2, divisor = 2} : index
// CHECK:       grid = #lect.size<s0>, sizes = [#lect.size<s0>, #lect.size<s2>]}
loop.func @sizes_are_parameters(%x: !loop.buffer<s0xs2xf32>) {symbols = {s0 = {hint = 30, argument = 0, dim = 0}, s2 = {hint = 50, argument = 0, dim = 1, divisor = 2}}, arguments = [#loop.view<s0x(s2 * 2)>]} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: s2 * 2>, tiles = #kernel.tiles<"row", R: d1 by 8 loop, vector R>} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s2 * 2 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<s0>]}
}

// -----

// CHECK-LABEL: kernel.func @n0
// CHECK-SAME:  {grid = [#lect.size<s0 floordiv 16>], axes = #kernel.axes<X: s0 grid>
// CHECK-SAME:  symbols = {s0 = {hint = 64, multiple = 16}}}
// CHECK-NOT:   kernel.bound
// CHECK:       host.func @no_mask_as_the_size_is_a_multiple
loop.func @no_mask_as_the_size_is_a_multiple(%x: !loop.buffer<s0xf32>) {symbols = {s0 = {hint = 64, multiple = 16, argument = 0, dim = 0}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0>, tiles = #kernel.tiles<"flat", X: d0 by 16 grid, vector X>} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<s0>]}
}

// -----

// CHECK-LABEL: kernel.func @n0
// CHECK-NOT:   kernel.func
// CHECK:       host.func @one_kernel_for_two_sizes
// CHECK:       {kernel = @n0, {{.*}}sizes = [#lect.size<s0>]}
// CHECK:       {kernel = @n0, {{.*}}sizes = [#lect.size<s1>]}
loop.func @one_kernel_for_two_sizes(%x: !loop.buffer<s0xf32>, %y: !loop.buffer<s1xf32>) {symbols = {s0 = {hint = 64, argument = 0, dim = 0}, s1 = {hint = 64, argument = 1, dim = 0}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0>} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%y) {space = #loop.space<d0: s1>} : !loop.buffer<s1xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%y) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0, %2) {views = [#loop.view<s0>, #loop.view<s1>]}
}

// -----
!v = !loop.buffer<64xf32>

// Only what is consumed is freed, and a parameter that is returned is not.
// CHECK-LABEL: host.func @frees_what_it_consumes(%x: {{.*}}, %y: {{.*}}, %z: {{.*}}) {consumed = [1, 2]} {
// CHECK:         host.launch({{.*}}) {kernel = @n0
// CHECK-NEXT:    host.free(%y)
// CHECK-NOT:     host.free
// CHECK:         host.return({{.*}}, %z)
loop.func @frees_what_it_consumes(%x: !v, %y: !v, %z: !v) {consumed = [1, 2]} {
  %0 = loop.nest @n0(%x, %y, %z) {space = #loop.space<d0: 64>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.load(%y) {map = #loop.map<(d0) -> (d0)>} : f32
    %3 = loop.load(%z) {map = #loop.map<(d0) -> (d0)>} : f32
    %4 = loop.add(%1, %2) : f32
    %5 = loop.add(%3, %4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0, %z) {views = [#loop.view<64>, #loop.view<64>]}
}

// -----

// expected-error @+1 {{no argument tells what the size s0 is}}
loop.func @no_program_as_nothing_tells_the_size(%x: !loop.buffer<s0xf32>) {symbols = {s0 = {hint = 64}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0>} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<s0>]}
}

// -----

// The host program reads a size that a call finds off its result, which lives as long as the size is needed.
// CHECK-LABEL: host.func @found_size(%mask: !host.tensor<s0xi1>)
// CHECK:       %[[P:.*]] = host.extern(%mask) {callee = @aten.nonzero.default, args = [#host.operand<0>], finds = {s1 = [0, 0, 2, none]}} : !host.tensor<s1x1xi64, strides [1, s1]>
// CHECK-NEXT:  host.size(%[[P]]) {dim = 0, symbol = 1} : index
// CHECK-NEXT:  host.empty() : !host.tensor<s1xf32>
// CHECK-NEXT:  host.memory
// CHECK-NEXT:  host.launch({{.*}}sizes = [#lect.size<s1>]}
// CHECK-NEXT:  host.free(%[[P]])
// CHECK-NEXT:  host.return
loop.func @found_size(%mask: !loop.buffer<s0xi1>) {symbols = {s0 = {hint = 9, min = 2, argument = 0, dim = 0}, s1 = {hint = 64, min = 2}}} {
  %2 = loop.extern @e0(%mask) {callee = @aten.nonzero.default, views = [#loop.view<s0>], args = [#loop.operand<0>], result_views = [#loop.view<s1x1, strides [1, s1]>]} : !loop.buffer<1xs1xi64>
  %0 = loop.nest @n0 {space = #loop.space<d0: s1>} : !loop.buffer<s1xf32> {
  ^bb0(%d0: index):
    %1 = loop.const() {value = 0.0} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<s1>]}
}

// -----

// Only a launch on a GPU takes a version whose block covers a row.
loop.func @no_whole_row_as_its_length_is_unknown(%x: !loop.buffer<s0xs1xf32>) {symbols = {s0 = {hint = 64, argument = 0, dim = 0}, s1 = {hint = 1000, argument = 0, dim = 1}}} {
  // expected-error @+1 {{axis R of @rows is taken whole, but its block does not cover s1}}
  %y = loop.nest @rows(%x) {space = #loop.space<d0: s0, d1: s1>, tiles = #kernel.tiles<"rows", R: d1 by 1024 whole, vector R>, realize = ["graph output"]} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<s0>]}
}

// -----

// What overwrites an operand is stored by the sweep that has it, as no later one loads the operand.
// CHECK-LABEL: kernel.func @n0
// CHECK-COUNT-1: kernel.for
// CHECK: kernel.store
// CHECK: kernel.yield
// CHECK-NOT: kernel.for
// CHECK-LABEL: host.func @stored_where_it_is_summed
loop.func @stored_where_it_is_summed(%x: !loop.buffer<64x32xf32>, %y: !loop.buffer<64x32xf32>) {
  %0, %1 = loop.nest @n0(%x, %y) {space = #loop.space<d0: 64, d1: 32>, in_place = [[0, 0]], tiles = #kernel.tiles<"columns", R: d0 by 16 loop, X: d1 by 32 grid, vector X, wide>} : (!loop.buffer<64x32xf32>, !loop.buffer<32xf32>) {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %3 = loop.load(%y) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %4 = loop.add(%2, %3) : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [0]} : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>}
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d1)>, to = 1}
  }
  loop.return(%0, %1) {views = [#loop.view<64x32>, #loop.view<32>]}
}

// -----

// CHECK-LABEL: kernel.func @n0
// CHECK: kernel.for
// CHECK-NOT: kernel.store
// CHECK: kernel.for
// CHECK: kernel.store
// CHECK-LABEL: host.func @no_store_before_the_last_sweep_that_loads_it
loop.func @no_store_before_the_last_sweep_that_loads_it(%x: !loop.buffer<64x32xf32>, %y: !loop.buffer<64x32xf32>) {
  %0, %1 = loop.nest @n0(%x, %y) {space = #loop.space<d0: 64, d1: 32>, in_place = [[0, 0]], tiles = #kernel.tiles<"columns", R: d0 by 16 loop, X: d1 by 32 grid, vector X, wide>} : (!loop.buffer<64x32xf32>, !loop.buffer<32xf32>) {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %3 = loop.load(%y) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %4 = loop.add(%2, %3) : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [0]} : f32
    %6 = loop.sub(%2, %5) : f32
    %7 = loop.mul(%6, %6) : f32
    %8 = loop.reduce(%7) {kind = "sum", over = [0]} : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>}
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d1)>, to = 1}
  }
  loop.return(%0, %1) {views = [#loop.view<64x32>, #loop.view<32>]}
}

// -----

// The sum is of the same dim, but the rows are loaded from the other end: the store comes with a sweep of its own.
// CHECK-LABEL: kernel.func @n0
// CHECK: kernel.for
// CHECK-NOT: kernel.store
// CHECK: kernel.yield
loop.func @no_store_among_loads_of_other_elements(%x: !loop.buffer<64x32xf32>, %y: !loop.buffer<64x32xf32>) {
  %0, %1 = loop.nest @n0(%x, %y) {space = #loop.space<d0: 64, d1: 32>, in_place = [[0, 0]], tiles = #kernel.tiles<"columns", R: d0 by 16 loop, X: d1 by 32 grid, vector X, wide>} : (!loop.buffer<64x32xf32>, !loop.buffer<32xf32>) {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %3 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * -32 + d1 + 2016)>} : f32
    %6 = loop.load(%y) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %4 = loop.add(%2, %6) : f32
    %5 = loop.reduce(%3) {kind = "sum", over = [0]} : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>}
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d1)>, to = 1}
  }
  loop.return(%0, %1) {views = [#loop.view<64x32>, #loop.view<32>]}
}
