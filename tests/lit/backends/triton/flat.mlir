// RUN: lect-opt %s --emit triton | filecheck %s

// An axis of the grid with its bound, constants as Python numbers, a half that computes in f32.
// CHECK-LABEL: # @flat
// CHECK: from triton.language.extra import libdevice
// CHECK: @triton.jit
// CHECK: def flat(x, y):
// CHECK:     p = tl.program_id(0)
// CHECK:     at_x = p * 128 + tl.arange(0, 128)
// CHECK:     in_x = at_x < 1000
// CHECK:     f32 = tl.load(x + at_x, mask=in_x, other=0.0).to(tl.float32)
// CHECK:     tl.store(y + (at_x + 8), tl.div_rn(libdevice.exp(f32 * 0.5), 3.0).to(tl.bfloat16), mask=in_x)
kernel.func @flat(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {grid = [8], axes = #kernel.axes<X: 1000 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %b = kernel.bound(%l) {axis = "X"} : !kernel.tile<Xxi1>
  %v = kernel.load(%x, %l; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxbf16>
  %w = kernel.cast(%v) : !kernel.tile<Xxf32>
  %h = kernel.const() {value = 0.5} : f32
  %m = kernel.mul(%w, %h) : !kernel.tile<Xxf32>
  %e = kernel.exp(%m) : !kernel.tile<Xxf32>
  %t = kernel.const() {value = 3.0} : f32
  %d = kernel.div(%e, %t) : !kernel.tile<Xxf32>
  %r = kernel.cast(%d) : !kernel.tile<Xxbf16>
  kernel.store(%y, %r, %l; %b) {map = #loop.map<(d0) -> (d0 + 8)>}
  kernel.return()
}

// The functions of the hardware where a kernel may be approximate.
// CHECK-LABEL: # @approximate
// CHECK: tl.store(x + at_x, tl.sqrt(tl.exp(x_1) / x_1))
kernel.func @approximate(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %e = kernel.exp(%v) : !kernel.tile<Xxf32>
  %d = kernel.div(%e, %v) : !kernel.tile<Xxf32>
  %s = kernel.sqrt(%d) : !kernel.tile<Xxf32>
  kernel.store(%x, %s, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// Two dims of the grid are one number; an offset beyond 2^31 is computed in i64; constants of f64 keep their digits.
// CHECK-LABEL: # @two_dims
// CHECK: program = tl.program_id(0)
// CHECK: p1 = program % 4
// CHECK: p0 = program // 4
// CHECK: at_y = p0 * 8 + tl.arange(0, 8)[:, None]
// CHECK: at_x = p1 * 16 + tl.arange(0, 16)[None, :]
// CHECK: x_1 = tl.load(x + (at_y.to(tl.int64) * 1000000000 + at_x.to(tl.int64)))
// CHECK: tl.store(y + (at_x * 64 + at_y), tl.maximum(x_1 * 0.1, tl.full([], 0.1, tl.float64), propagate_nan=tl.PropagateNan.ALL))
kernel.func @two_dims(%x: !kernel.ptr<f64>, %y: !kernel.ptr<f64>) {grid = [8, 4], axes = #kernel.axes<Y: 64 grid, X: 64 grid>, blocks = #kernel.blocks<Y = 8, X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %q = kernel.program_id() {dim = 1} : index
  %i = kernel.lanes(%p) {axis = "Y"} : !kernel.tile<Yx1xindex>
  %j = kernel.lanes(%q) {axis = "X"} : !kernel.tile<1xXxindex>
  %v = kernel.load(%x, %i, %j) {map = #loop.map<(d0, d1) -> (d0 * 1000000000 + d1)>} : !kernel.tile<YxXxf64>
  %c = kernel.const() {value = 0.1} : f64
  %m = kernel.mul(%v, %c) : !kernel.tile<YxXxf64>
  %n = kernel.maximum(%m, %c) : !kernel.tile<YxXxf64>
  kernel.store(%y, %n, %i, %j) {map = #loop.map<(d0, d1) -> (d1 * 64 + d0)>}
  kernel.return()
}

// A loaded number is an index; the address varies over as many lanes as the mask.
// CHECK-LABEL: # @gather
// CHECK: n_1 = tl.load(n + at_x)
// CHECK: x_1 = tl.load(x + (n_1 * 100 + 7))
// CHECK: in_x = at_x < 100
// CHECK: x_2 = tl.load(x + (5 + tl.zeros([128], tl.int32)), mask=in_x, other=0.0)
kernel.func @gather(%n: !kernel.ptr<i64>, %x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 100 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %i = kernel.load(%n, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi64>
  %v = kernel.load(%x, %i) {map = #loop.map<()[i0] -> (i0 * 100 + 7)>} : !kernel.tile<Xxf32>
  %b = kernel.bound(%l) {axis = "X"} : !kernel.tile<Xxi1>
  %w = kernel.load(%x; %b) {map = #loop.map<() -> (5)>} : !kernel.tile<Xxf32>
  %s = kernel.add(%v, %w) : !kernel.tile<Xxf32>
  kernel.store(%y, %s, %l; %b) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
