// RUN: lect-opt %s --emit llvm | filecheck %s

// bf16 travels as 16 bits; a rounding to it and back stays in f32.
// CHECK-LABEL: define void @halves
// CHECK: %[[B:.*]] = load <8 x i16>, ptr %{{.*}}, align 2
// CHECK: %[[W:.*]] = call <8 x float> @lect.widen.bf16x8(<8 x i16> %[[B]])
// CHECK: %[[M:.*]] = fmul <8 x float> %[[W]], %[[W]]
// CHECK: %[[R:.*]] = call <8 x float> @lect.round.bf16x8(<8 x float> %[[M]])
// CHECK: %[[A:.*]] = fadd <8 x float> %[[R]], %[[W]]
// CHECK: call <8 x i16> @lect.narrow.bf16x8(<8 x float> %[[A]])
kernel.func @halves(%x: !kernel.ptr<bf16>) {grid = [2], axes = #kernel.axes<X: 16 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %b = kernel.load(%x, %c) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxbf16>
  %v = kernel.cast(%b) : !kernel.tile<Xxf32>
  %m = kernel.mul(%v, %v) : !kernel.tile<Xxf32>
  %h = kernel.cast(%m) : !kernel.tile<Xxbf16>
  %r = kernel.cast(%h) : !kernel.tile<Xxf32>
  %a = kernel.add(%r, %v) : !kernel.tile<Xxf32>
  %o = kernel.cast(%a) : !kernel.tile<Xxbf16>
  kernel.store(%x, %o, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// Contracted only where the program says so.
// CHECK-LABEL: define void @contracted
// CHECK: call <8 x float> @llvm.fma.v8f32(<8 x float>
kernel.func @contracted(%x: !kernel.ptr<f32>) {grid = [2], axes = #kernel.axes<X: 16 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %c) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %m = kernel.fma(%v, %v, %v) : !kernel.tile<Xxf32>
  kernel.store(%x, %m, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A divisor of zero, and the quotient that does not fit, cannot trap; floats go to integers without undefined behaviour.
// CHECK-LABEL: define void @integers
// CHECK: %[[V:.*]] = load <8 x i32>
// CHECK: %[[N:.*]] = icmp eq <8 x i32> %[[V]], splat (i32 -1)
// CHECK: %[[Z:.*]] = icmp eq <8 x i32> %[[V]], splat (i32 0)
// CHECK: %[[H:.*]] = or <8 x i1> %[[N]], %[[Z]]
// CHECK: %[[D:.*]] = select <8 x i1> %[[H]], <8 x i32> splat (i32 1), <8 x i32> %[[V]]
// CHECK: sdiv <8 x i32> %[[V]], %[[D]]
// CHECK: fptosi <8 x float> %{{.*}} to <8 x i32>
// CHECK-NEXT: freeze <8 x i32>
kernel.func @integers(%x: !kernel.ptr<i32>) {grid = [2], axes = #kernel.axes<X: 16 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %c) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi32>
  %q = kernel.trunc_div(%v, %v) : !kernel.tile<Xxi32>
  %f = kernel.cast(%q) : !kernel.tile<Xxf32>
  %i = kernel.cast(%f) : !kernel.tile<Xxi32>
  kernel.store(%x, %i, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
