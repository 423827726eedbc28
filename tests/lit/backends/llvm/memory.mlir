// RUN: lect-opt %s --emit llvm | filecheck %s

// Where the rows lie next to each other and the lanes do not, a block is read row by row and turned in registers.
// CHECK-LABEL: define void @turned
// CHECK-COUNT-4: load <4 x float>, ptr %{{.*}}, align 4
// CHECK: shufflevector <4 x float> %{{.*}}, <4 x float> %{{.*}}, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
// CHECK-COUNT-4: store <4 x float> %{{.*}}, ptr %{{.*}}, align 4
// CHECK-NOT: masked.gather
// CHECK: ret void
kernel.func @turned(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [2, 2], axes = #kernel.axes<Y: 8 grid, X: 8 grid>, blocks = #kernel.blocks<Y = 4, X = 4>, vector = "X"} {
  %p = kernel.program_id() : index
  %q = kernel.program_id() {dim = 1} : index
  %r = kernel.lanes(%p) {axis = "Y"} : !kernel.tile<Yx1xindex>
  %c = kernel.lanes(%q) {axis = "X"} : !kernel.tile<1xXxindex>
  %v = kernel.load(%x, %r, %c) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : !kernel.tile<YxXxf32>
  kernel.store(%y, %v, %r, %c) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  kernel.return()
}

// Lanes far apart are loaded one by one, and so are loaded positions; one element for all lanes is one scalar.
// CHECK-LABEL: define void @gathered
// CHECK: %[[FIRST:.*]] = insertelement <8 x float> zeroinitializer, float %{{.*}}, i64 0
// CHECK: add i64 %{{.*}}, 3
// CHECK: insertelement <8 x float> %[[FIRST]], float %{{.*}}, i64 1
// CHECK: %[[I:.*]] = load <8 x i64>
// CHECK: %[[O:.*]] = extractelement <8 x i64> %[[I]], i64 0
// CHECK-NEXT: getelementptr float, ptr %p1, i64 %[[O]]
// CHECK: insertelement <8 x float> %{{.*}}, float %{{.*}}, i64 7
// CHECK: load float, ptr %{{.*}}, align 4
// CHECK-NOT: insertelement <8 x float> %{{.*}}, float %{{.*}}, i64 7
kernel.func @gathered(%n: !kernel.ptr<i64>, %x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [2], axes = #kernel.axes<X: 16 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %far = kernel.load(%x, %c) {map = #loop.map<(d0) -> (d0 * 3)>} : !kernel.tile<Xxf32>
  %i = kernel.load(%n, %c) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi64>
  %picked = kernel.load(%x, %i) {map = #loop.map<()[i0] -> (i0)>} : !kernel.tile<Xxf32>
  %same = kernel.load(%x) {map = #loop.map<() -> (7)>} : f32
  %a = kernel.add(%far, %picked) : !kernel.tile<Xxf32>
  %b = kernel.add(%a, %same) : !kernel.tile<Xxf32>
  kernel.store(%y, %b, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A mask that is known at run time only: a function looks at it, all lanes at once where it is true everywhere.
// CHECK-LABEL: define void @masked
// CHECK: %[[M:.*]] = icmp slt <8 x i32>
// CHECK: %[[V:.*]] = call <8 x float> @lect.masked.load.floatx8.8(ptr %{{.*}}, <8 x i1> %[[M]])
// CHECK: call void @lect.masked.store.floatx8.8(ptr %{{.*}}, <8 x i1> %[[M]], <8 x float> %[[V]])
// CHECK: define internal <8 x float> @lect.masked.load.floatx8.8(ptr %p, <8 x i1> %given) nounwind {
kernel.func @masked(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [2], axes = #kernel.axes<X: 16 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %i = kernel.cast(%c) : !kernel.tile<Xxi64>
  %five = kernel.const() {value = 5} : i64
  %m = kernel.lt(%i, %five) : !kernel.tile<Xxi1>
  %v = kernel.load(%x, %c; %m) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%y, %v, %c; %m) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// Scratch is on the stack, prefetches go line by line, sums of several programs into one element are atomic.
// CHECK-LABEL: define void @other
// CHECK: alloca [96 x float], align 64
// CHECK: call void @llvm.prefetch.p0(ptr %[[L:.*]], i32 0, i32 3, i32 1)
// CHECK-NEXT: getelementptr i8, ptr %[[L]], i64 64
// CHECK: store <32 x float> %{{.*}}, ptr %{{.*}}, align 4
// CHECK: atomicrmw fadd ptr %{{.*}}, float 0x0000000000000000 monotonic, align 4
kernel.func @other(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 96 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %s = kernel.scratch() : !kernel.scratch<96xf32>
  %zero = kernel.const() {value = 0.0} : f32
  kernel.for() {axis = "R"} {
  ^bb0(%at: index):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    kernel.prefetch(%x, %r) {map = #loop.map<(d0) -> (d0 + 96)>}
    %v = kernel.load(%x, %r) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    kernel.scratch_store(%s, %v, %r)
    kernel.yield()
  }
  kernel.atomic_add(%x, %zero) {map = #loop.map<() -> (0)>}
  kernel.return()
}
