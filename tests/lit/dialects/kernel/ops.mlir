// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s

// CHECK-LABEL: kernel.func @tiles(%x: !kernel.ptr<f32>, %y: !kernel.ptr<bf16>, %n: !kernel.ptr<i64>) {grid = [4, 2], axes = #kernel.axes<Y: 16 grid, R: 100 loop>, blocks = #kernel.blocks<Y = 8, R = 32>, vector = "R"}
kernel.func @tiles(%x: !kernel.ptr<f32>, %y: !kernel.ptr<bf16>, %n: !kernel.ptr<i64>) {grid = [4, 2], axes = #kernel.axes<Y: 16 grid, R: 100 loop>, blocks = #kernel.blocks<Y = 8, R = 32>, vector = "R"} {
  // CHECK-NEXT: %p = kernel.program_id() : index
  %p = kernel.program_id() : index
  // CHECK-NEXT: %q = kernel.program_id() {dim = 1} : index
  %q = kernel.program_id() {dim = 1} : index
  // CHECK-NEXT: %ys = kernel.lanes(%q) {axis = "Y"} : !kernel.tile<Yx1xindex>
  %ys = kernel.lanes(%q) {axis = "Y"} : !kernel.tile<Yx1xindex>
  // CHECK-NEXT: %next = kernel.index(%p) {map = #loop.map<(d0) -> (d0 + 1)>} : index
  %next = kernel.index(%p) {map = #loop.map<(d0) -> (d0 + 1)>} : index
  // CHECK-NEXT: %memory = kernel.scratch() : !kernel.scratch<100xf32>
  %memory = kernel.scratch() : !kernel.scratch<100xf32>
  // CHECK-NEXT: %zero = kernel.const() {value = 0.0} : !kernel.tile<YxRxf32>
  %zero = kernel.const() {value = 0.0} : !kernel.tile<YxRxf32>
  // CHECK-NEXT: %none = kernel.const() {value = -1} : !kernel.tile<YxRxi64>
  %none = kernel.const() {value = -1} : !kernel.tile<YxRxi64>
  // CHECK-NEXT: %sum, %best = kernel.for(%zero, %none) {axis = "R"} : (!kernel.tile<YxRxf32>, !kernel.tile<YxRxi64>) {
  %sum, %best = kernel.for(%zero, %none) {axis = "R"} : (!kernel.tile<YxRxf32>, !kernel.tile<YxRxi64>) {
  // CHECK-NEXT: ^bb0(%at: index, %acc: !kernel.tile<YxRxf32>, %pos: !kernel.tile<YxRxi64>):
  ^bb0(%at: index, %acc: !kernel.tile<YxRxf32>, %pos: !kernel.tile<YxRxi64>):
    // CHECK-NEXT: %rs = kernel.lanes(%at) {axis = "R"} : !kernel.tile<1xRxindex>
    %rs = kernel.lanes(%at) {axis = "R"} : !kernel.tile<1xRxindex>
    // CHECK-NEXT: %in = kernel.bound(%rs) {axis = "R"} : !kernel.tile<1xRxi1>
    %in = kernel.bound(%rs) {axis = "R"} : !kernel.tile<1xRxi1>
    // CHECK-NEXT: %i = kernel.load(%n, %rs; %in) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<1xRxi64>
    %i = kernel.load(%n, %rs; %in) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<1xRxi64>
    // CHECK-NEXT: %v = kernel.load(%x, %ys, %i; %in) {map = #loop.map<(d0)[i0] -> (d0 * 100 + i0)>} : !kernel.tile<YxRxf32>
    %v = kernel.load(%x, %ys, %i; %in) {map = #loop.map<(d0)[i0] -> (d0 * 100 + i0)>} : !kernel.tile<YxRxf32>
    // CHECK-NEXT: kernel.prefetch(%x, %next, %rs) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>}
    kernel.prefetch(%x, %next, %rs) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>}
    // CHECK-NEXT: %c = kernel.const() {value = 2.0} : f32
    %c = kernel.const() {value = 2.0} : f32
    // CHECK-NEXT: %w = kernel.mul(%v, %c) : !kernel.tile<YxRxf32>
    %w = kernel.mul(%v, %c) : !kernel.tile<YxRxf32>
    // CHECK-NEXT: %f = kernel.fma(%v, %c, %w) : !kernel.tile<YxRxf32>
    %f = kernel.fma(%v, %c, %w) : !kernel.tile<YxRxf32>
    // CHECK-NEXT: %g = kernel.gt(%f, %acc) : !kernel.tile<YxRxi1>
    %g = kernel.gt(%f, %acc) : !kernel.tile<YxRxi1>
    // CHECK-NEXT: %s = kernel.select(%g, %i, %pos) : !kernel.tile<YxRxi64>
    %s = kernel.select(%g, %i, %pos) : !kernel.tile<YxRxi64>
    // CHECK-NEXT: %row = kernel.reduce(%f) {kind = "sum", axis = "Y"} : !kernel.tile<1xRxf32>
    %row = kernel.reduce(%f) {kind = "sum", axis = "Y"} : !kernel.tile<1xRxf32>
    // CHECK-NEXT: kernel.scratch_store(%memory, %row, %rs, %in)
    kernel.scratch_store(%memory, %row, %rs, %in)
    // CHECK-NEXT: %run = kernel.scan(%f) {kind = "sum", axis = "R"} : !kernel.tile<YxRxf32>
    %run = kernel.scan(%f) {kind = "sum", axis = "R"} : !kernel.tile<YxRxf32>
    // CHECK-NEXT: %new = kernel.add(%acc, %run) : !kernel.tile<YxRxf32>
    %new = kernel.add(%acc, %run) : !kernel.tile<YxRxf32>
    // CHECK-NEXT: kernel.yield(%new, %s)
    kernel.yield(%new, %s)
  }
  // CHECK: %top = kernel.reduce_index(%sum, %best) {kind = "max", axis = "R"} : !kernel.tile<Yx1xi64>
  %top = kernel.reduce_index(%sum, %best) {kind = "max", axis = "R"} : !kernel.tile<Yx1xi64>
  // CHECK-NEXT: kernel.store(%n, %top, %ys) {map = #loop.map<(d0) -> (d0)>}
  kernel.store(%n, %top, %ys) {map = #loop.map<(d0) -> (d0)>}
  // CHECK-NEXT: kernel.for() {axis = "R", step = 64, span = 64} {
  kernel.for() {axis = "R", step = 64, span = 64} {
  ^bb0(%chunk: index):
    // CHECK: kernel.for(; %chunk) {axis = "R", span = 64} {
    kernel.for(; %chunk) {axis = "R", span = 64} {
    ^bb0(%at: index):
      %rs = kernel.lanes(%at) {axis = "R"} : !kernel.tile<1xRxindex>
      // CHECK: %kept = kernel.scratch_load(%memory, %rs_1) : !kernel.tile<1xRxf32>
      %kept = kernel.scratch_load(%memory, %rs) : !kernel.tile<1xRxf32>
      // CHECK-NEXT: %half = kernel.cast(%kept) : !kernel.tile<1xRxbf16>
      %half = kernel.cast(%kept) : !kernel.tile<1xRxbf16>
      // CHECK-NEXT: kernel.store(%y, %half, %rs_1) {map = #loop.map<(d0) -> (d0)>}
      kernel.store(%y, %half, %rs) {map = #loop.map<(d0) -> (d0)>}
      kernel.yield()
    }
    kernel.yield()
  }
  // CHECK: kernel.for() {axis = "R", begin = 64} {
  kernel.for() {axis = "R", begin = 64} {
  ^bb0(%at: index):
    kernel.yield()
  }
  // CHECK: kernel.return()
  kernel.return()
}

// CHECK-LABEL: kernel.func @product(%a: !kernel.ptr<f16>, %b: !kernel.ptr<f16>, %c: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<M: 16 whole, N: 16 whole, K: 16 whole>, blocks = #kernel.blocks<M = 16, N = 16, K = 16>}
kernel.func @product(%a: !kernel.ptr<f16>, %b: !kernel.ptr<f16>, %c: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<M: 16 whole, N: 16 whole, K: 16 whole>, blocks = #kernel.blocks<M = 16, N = 16, K = 16>} {
  %m = kernel.lanes() {axis = "M"} : !kernel.tile<Mx1x1xindex>
  %n = kernel.lanes() {axis = "N"} : !kernel.tile<1xNx1xindex>
  %k = kernel.lanes() {axis = "K"} : !kernel.tile<1x1xKxindex>
  %0 = kernel.load(%a, %m, %k) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : !kernel.tile<Mx1xKxf16>
  %1 = kernel.load(%b, %k, %n) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : !kernel.tile<1xNxKxf16>
  %2 = kernel.const() {value = 0.0} : !kernel.tile<MxNx1xf32>
  // CHECK: kernel.dot(%{{.*}}, %{{.*}}, %{{.*}}) {axis = "K"} : !kernel.tile<MxNx1xf32>
  %3 = kernel.dot(%0, %1, %2) {axis = "K"} : !kernel.tile<MxNx1xf32>
  // CHECK-NEXT: kernel.atomic_add(%c, %{{.*}}, %{{.*}}, %{{.*}}) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  kernel.atomic_add(%c, %3, %m, %n) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_axes
// CHECK-SAME: {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>}
kernel.func @no_axes(%x: !kernel.ptr<i1>) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %0 = kernel.load(%x) {map = #loop.map<() -> (0)>} : i1
  %1 = kernel.not(%0) : i1
  kernel.store(%x, %1) {map = #loop.map<() -> (0)>}
  kernel.return()
}

// CHECK: builtin.module {kernel.tiles = [#kernel.tiles<"point">, #kernel.tiles<"row", R: d1 by 32 loop, vector R>, #kernel.tiles<"tiled", Y: d0 by 8 grid, X: d1 by 8 grid, vector X>]}
builtin.module {kernel.tiles = [#kernel.tiles<"point">, #kernel.tiles<"row", R: d1 by 32 loop, vector R>, #kernel.tiles<"tiled", Y: d0 by 8 grid, X: d1 by 8 grid, vector X>]} {
}
