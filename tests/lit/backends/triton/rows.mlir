// RUN: lect-opt %s --emit triton | filecheck %s

// A row that is taken whole, several a program: folds keep the dim of the rows.
// CHECK-LABEL: # @softmax
// CHECK: def nan_max(a, b):
// CHECK: def softmax(x, y):
// CHECK:     at_y = p * 4 + tl.arange(0, 4)[:, None]
// CHECK:     at_r = tl.arange(0, 128)[None, :]
// CHECK:     in_r = at_r < 100
// CHECK:     x_1 = tl.load(x + (at_y * 100 + at_r), mask=in_r, other=0.0)
// CHECK:     max = tl.reduce(tl.where(in_r, x_1, float("-inf")), 1, nan_max, keep_dims=True)
// CHECK:     sum = tl.sum(x_1 - max, 1, keep_dims=True)
// CHECK:     tl.store(y + at_y, sum)
kernel.func @softmax(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [2], axes = #kernel.axes<Y: 8 grid, R: 100 whole>, blocks = #kernel.blocks<Y = 4, R = 128>, vector = "R", target = "cuda"} {
  %p = kernel.program_id() : index
  %i = kernel.lanes(%p) {axis = "Y"} : !kernel.tile<Yx1xindex>
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<1xRxindex>
  %b = kernel.bound(%l) {axis = "R"} : !kernel.tile<1xRxi1>
  %v = kernel.load(%x, %i, %l; %b) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>} : !kernel.tile<YxRxf32>
  %low = kernel.const() {value = -inf} : f32
  %m = kernel.select(%b, %v, %low) : !kernel.tile<YxRxf32>
  %g = kernel.reduce(%m) {kind = "max", axis = "R"} : !kernel.tile<Yx1xf32>
  %d = kernel.sub(%v, %g) : !kernel.tile<YxRxf32>
  %s = kernel.reduce(%d) {kind = "sum", axis = "R"} : !kernel.tile<Yx1xf32>
  kernel.store(%y, %s, %i) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A loop that carries a tile; its last, shorter step is masked.  A fold of all lanes is a scalar.
// CHECK-LABEL: # @loop
// CHECK:     acc = tl.full([256], 0.0, tl.float32)
// CHECK:     for r in range(0, 1000, 256):
// CHECK:         at_r = r + tl.arange(0, 256)
// CHECK:         in_r = at_r < 1000
// CHECK:         x_1 = tl.load(x + at_r, mask=in_r, other=0.0)
// CHECK:         acc = acc + x_1
// CHECK:     sum = tl.sum(acc, 0)
// CHECK:     tl.store(y, sum)
kernel.func @loop(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 1000 loop>, blocks = #kernel.blocks<R = 256>, vector = "R", target = "cuda"} {
  %z = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %t = kernel.for(%z) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %b = kernel.bound(%l) {axis = "R"} : !kernel.tile<Rxi1>
    %v = kernel.load(%x, %l; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %n = kernel.add(%a, %v) : !kernel.tile<Rxf32>
    kernel.yield(%n)
  }
  %s = kernel.reduce(%t) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %s) {map = #loop.map<() -> (0)>}
  kernel.return()
}

// What is carried changes places at once.
// CHECK-LABEL: # @swap
// CHECK: acc = tl.full([], 1.0, tl.float32)
// CHECK: acc_1 = tl.full([], 2.0, tl.float32)
// CHECK: for r in range(0, 64, 16):
// CHECK:     acc, acc_1 = acc_1, acc
kernel.func @swap(%y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 16>, vector = "R", target = "cuda"} {
  %a = kernel.const() {value = 1.0} : f32
  %b = kernel.const() {value = 2.0} : f32
  %c, %d = kernel.for(%a, %b) {axis = "R"} : (f32, f32) {
  ^bb0(%at: index, %e: f32, %f: f32):
    kernel.yield(%f, %e)
  }
  kernel.store(%y, %c) {map = #loop.map<() -> (0)>}
  kernel.return()
}

// CHECK-LABEL: # @others
// CHECK: def first_max(a, i, b, j):
// CHECK: best, found = tl.reduce((x_1, at_r), 0, first_max)
// CHECK: any = tl.max((x_1 < 0.0).to(tl.int32), 0) != 0
// CHECK: scan = tl.associative_scan(x_1, 0, add)
kernel.func @others(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %n: !kernel.ptr<i64>, %b: !kernel.ptr<i1>) {grid = [1], axes = #kernel.axes<R: 64 whole>, blocks = #kernel.blocks<R = 64>, vector = "R", target = "cuda"} {
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
  %i = kernel.reduce_index(%v, %l) {kind = "max", axis = "R"} : index
  %j = kernel.cast(%i) : i64
  kernel.store(%n, %j) {map = #loop.map<() -> (0)>}
  %z = kernel.const() {value = 0.0} : f32
  %c = kernel.lt(%v, %z) : !kernel.tile<Rxi1>
  %a = kernel.reduce(%c) {kind = "any", axis = "R"} : i1
  kernel.store(%b, %a) {map = #loop.map<() -> (0)>}
  %s = kernel.scan(%v) {kind = "sum", axis = "R"} : !kernel.tile<Rxf32>
  kernel.store(%y, %s, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
