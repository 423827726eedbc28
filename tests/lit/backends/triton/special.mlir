// RUN: lect-opt %s --emit triton | filecheck %s

// A special function of f32 computes in f64; its text stands once in front of the kernel, behind what it calls.
// CHECK-LABEL: # @waves
// CHECK: def constant(x, VALUE: tl.constexpr):
// CHECK: def spherical_bessel_j0_f32(x):
// CHECK-NEXT:     wide = x.to(tl.float64)
// CHECK-NEXT:     equal = wide == 0.0
// CHECK-NEXT:     sin = libdevice.sin(wide)
// CHECK-NEXT:     quotient = sin / wide
// CHECK-NEXT:     select = tl.where(equal, constant(quotient, 1.0), quotient)
// CHECK:     narrow = select_1.to(tl.float32)
// CHECK-NEXT:     return narrow
// CHECK: def waves(x):
// CHECK: tl.store(x + at_x, spherical_bessel_j0_f32(spherical_bessel_j0_f32(x_1)))
kernel.func @waves(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %w = kernel.spherical_bessel_j0(%v) : !kernel.tile<Xxf32>
  %r = kernel.spherical_bessel_j0(%w) : !kernel.tile<Xxf32>
  kernel.store(%x, %r, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// What only some elements need is behind a branch; a loop goes on as long as one element does.
// CHECK-LABEL: # @divisors
// CHECK: def any_of(mask):
// CHECK: def gcd_i64(x, y):
// CHECK-NEXT:     x, y = tl.broadcast(x, y)
// CHECK:     while any_of(running):
// CHECK:         state, state_1 = next, next_1
// CHECK: tl.store(x + at_x, gcd_i64(x_1.to(tl.int64), tl.full([], 12, tl.int32).to(tl.int64)).to(tl.int32)
kernel.func @divisors(%x: !kernel.ptr<i32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi32>
  %c = kernel.const() {value = 12} : i32
  %r = kernel.gcd(%v, %c) : !kernel.tile<Xxi32>
  kernel.store(%x, %r, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
