// RUN: lect-opt %s -p strip-loc --emit triton | filecheck %s
// RUN: lect-opt %s --emit triton | grep -v "    #" | filecheck %s

// What one operation reads once stands where it is read, a converted load at its load.
// CHECK-LABEL: def flat(x, y):
// CHECK: f32 = tl.load(x + at_x, mask=in_x, other=0.0).to(tl.float32)
// CHECK-NEXT: tl.store(y + (at_x + 8), tl.div_rn(libdevice.exp(f32 * 0.5), 3.0).to(tl.bfloat16), mask=in_x)
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

// CHECK-LABEL: def no_nest_as_it_is_read_twice(x):
// CHECK: mul = x_1 * 0.5
// CHECK-NEXT: tl.store(x + at_x, mul * mul)
kernel.func @no_nest_as_it_is_read_twice(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %h = kernel.const() {value = 0.5} : f32
  %m = kernel.mul(%v, %h) : !kernel.tile<Xxf32>
  %s = kernel.mul(%m, %m) : !kernel.tile<Xxf32>
  kernel.store(%x, %s, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A load stays in front of the store behind it.
// CHECK-LABEL: def no_move_of_a_load(x):
// CHECK: x_1 = tl.load(x + at_x)
// CHECK-NEXT: tl.store(x + at_x, tl.full([], 0.0, tl.float32))
// CHECK-NEXT: tl.store(x + (at_x + 128), x_1.to(tl.bfloat16).to(tl.float32))
kernel.func @no_move_of_a_load(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %z = kernel.const() {value = 0.0} : f32
  kernel.store(%x, %z, %l) {map = #loop.map<(d0) -> (d0)>}
  %h = kernel.cast(%v) : !kernel.tile<Xxbf16>
  %w = kernel.cast(%h) : !kernel.tile<Xxf32>
  kernel.store(%x, %w, %l) {map = #loop.map<(d0) -> (d0 + 128)>}
  kernel.return()
}
