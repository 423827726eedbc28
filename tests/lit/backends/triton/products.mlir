// RUN: lect-opt %s --emit triton | filecheck %s

// The axis of the sum is the last dim of the first factor and the first of the second; what is of that axis alone is there for both.
// CHECK-LABEL: # @product
// CHECK: at_y = p0 * 64 + tl.arange(0, 64)[:, None]
// CHECK: at_x = p1 * 32 + tl.arange(0, 32)[None, :]
// CHECK: acc = {{.*}}
// CHECK: for r in range(0, 72, 16):
// CHECK:     at_r = r + tl.arange(0, 16)[None, :]
// CHECK:     at_r_1 = r + tl.arange(0, 16)[:, None]
// CHECK:     in_r = at_r < 72
// CHECK:     in_r_1 = at_r_1 < 72
// CHECK:     x_1 = tl.load(x + (at_y * 72 + at_r), mask=in_r, other=0.0)
// CHECK:     w_1 = tl.load(w + (at_r_1 * 64 + at_x), mask=in_r_1, other=0.0)
// CHECK:     acc = tl.dot(x_1, w_1, acc)
// CHECK: tl.store(y + (at_y * 64 + at_x), acc.to(tl.bfloat16))
kernel.func @product(%x: !kernel.ptr<bf16>, %w: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {grid = [2, 2], axes = #kernel.axes<Y: 128 grid, X: 64 grid, R: 72 loop>, blocks = #kernel.blocks<Y = 64, X = 32, R = 16>, vector = "X", target = "cuda", warps = 4, stages = 3} {
  %p0 = kernel.program_id() : index
  %p1 = kernel.program_id() {dim = 1} : index
  %i = kernel.lanes(%p0) {axis = "Y"} : !kernel.tile<Yx1x1xindex>
  %j = kernel.lanes(%p1) {axis = "X"} : !kernel.tile<1xXx1xindex>
  %zero = kernel.const() {value = 0.0} : !kernel.tile<YxXx1xf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<YxXx1xf32> {
  ^bb0(%r: index, %acc: !kernel.tile<YxXx1xf32>):
    %k = kernel.lanes(%r) {axis = "R"} : !kernel.tile<1x1xRxindex>
    %in = kernel.bound(%k) {axis = "R"} : !kernel.tile<1x1xRxi1>
    %a = kernel.load(%x, %i, %k; %in) {map = #loop.map<(d0, d1) -> (d0 * 72 + d1)>} : !kernel.tile<Yx1xRxbf16>
    %b = kernel.load(%w, %k, %j; %in) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<1xXxRxbf16>
    %d = kernel.dot(%a, %b, %acc) {axis = "R"} : !kernel.tile<YxXx1xf32>
    kernel.yield(%d)
  }
  %h = kernel.cast(%sum) : !kernel.tile<YxXx1xbf16>
  kernel.store(%y, %h, %i, %j) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  kernel.return()
}

// The first factor is the one whose dim comes first in the result, whatever the order of the operands is.
// CHECK-LABEL: # @turned
// CHECK: w_1 = tl.load(w + (at_r_1 * 64 + at_x))
// CHECK: x_1 = tl.load(x + (at_y * 64 + at_r))
// CHECK: acc = tl.dot(x_1, w_1, acc)
kernel.func @turned(%w: !kernel.ptr<bf16>, %x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {grid = [2, 2], axes = #kernel.axes<Y: 128 grid, X: 64 grid, R: 64 loop>, blocks = #kernel.blocks<Y = 64, X = 32, R = 16>, vector = "X", target = "cuda", warps = 4, stages = 3} {
  %p0 = kernel.program_id() : index
  %p1 = kernel.program_id() {dim = 1} : index
  %i = kernel.lanes(%p0) {axis = "Y"} : !kernel.tile<Yx1x1xindex>
  %j = kernel.lanes(%p1) {axis = "X"} : !kernel.tile<1xXx1xindex>
  %zero = kernel.const() {value = 0.0} : !kernel.tile<YxXx1xf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<YxXx1xf32> {
  ^bb0(%r: index, %acc: !kernel.tile<YxXx1xf32>):
    %k = kernel.lanes(%r) {axis = "R"} : !kernel.tile<1x1xRxindex>
    %b = kernel.load(%w, %k, %j) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<1xXxRxbf16>
    %a = kernel.load(%x, %i, %k) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Yx1xRxbf16>
    %d = kernel.dot(%b, %a, %acc) {axis = "R"} : !kernel.tile<YxXx1xf32>
    kernel.yield(%d)
  }
  %h = kernel.cast(%sum) : !kernel.tile<YxXx1xbf16>
  kernel.store(%y, %h, %i, %j) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  kernel.return()
}
