// RUN: lect-opt %s --emit llvm | filecheck %s

// Full blocks have a loop without branches, the last one stands behind it: the tail touches exactly four elements, and no mask is left.  A product and a
// sum stay two roundings.
// CHECK-LABEL: define void @flat(ptr %args, i64 %lo, i64 %hi)
// CHECK: icmp slt i64 %hi, 3
// CHECK: phi i64 [ %lo, %programs ],
// CHECK-NOT: br
// CHECK: load <32 x float>, ptr %{{.*}}, align 4
// CHECK-NEXT: ; {{.*}}flat.mlir
// CHECK-NEXT: %[[M:.*]] = fmul <32 x float>
// CHECK-NEXT: ; {{.*}}flat.mlir
// CHECK-NEXT: fadd <32 x float> %[[M]],
// CHECK: store <32 x float> %{{.*}}, ptr %{{.*}}, align 4
// CHECK-NEXT: br label %next
// CHECK: icmp sgt i64 %hi, 3
// CHECK-NEXT: br i1 %{{.*}}, label %{{last.*}}, label %done
// CHECK: load <4 x float>, ptr %{{.*}}, align 4
// CHECK: store <4 x float> %{{.*}}, ptr %{{.*}}, align 4
// CHECK-NOT: masked
// CHECK-NOT: contract
// CHECK: ret void
kernel.func @flat(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 100 grid>, blocks = #kernel.blocks<X = 32>, vector = "X"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %b = kernel.bound(%l) {axis = "X"} : !kernel.tile<Xxi1>
  %v = kernel.load(%x, %l; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %m = kernel.mul(%v, %v) : !kernel.tile<Xxf32>
  %s = kernel.add(%m, %v) : !kernel.tile<Xxf32>
  kernel.store(%y, %s, %l; %b) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A tail that is no power of two: three elements are read, the fourth lane is zero; a bool is a byte.
// CHECK-LABEL: define void @bools
// CHECK: %[[B:.*]] = load <3 x i8>, ptr %{{.*}}, align 1
// CHECK-NEXT: %[[W:.*]] = shufflevector <3 x i8> %[[B]], <3 x i8> zeroinitializer, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
// CHECK-NEXT: icmp ne <4 x i8> %[[W]], zeroinitializer
// CHECK: zext <4 x i1> %{{.*}} to <4 x i8>
// CHECK-NEXT: %[[T:.*]] = shufflevector <4 x i8> %{{.*}}, <4 x i8> poison, <3 x i32> <i32 0, i32 1, i32 2>
// CHECK-NEXT: store <3 x i8> %[[T]], ptr %{{.*}}, align 1
kernel.func @bools(%x: !kernel.ptr<i1>, %y: !kernel.ptr<i1>) {grid = [1], axes = #kernel.axes<X: 3 grid>, blocks = #kernel.blocks<X = 4>, vector = "X"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %b = kernel.bound(%l) {axis = "X"} : !kernel.tile<Xxi1>
  %v = kernel.load(%x, %l; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi1>
  %n = kernel.not(%v) : !kernel.tile<Xxi1>
  kernel.store(%y, %n, %l; %b) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A grid of two dims is taken apart by constants, the last dim fastest.
// CHECK-LABEL: define void @grid
// CHECK: urem i64 %pid, 5
// CHECK-NEXT: udiv i64 %pid, 5
kernel.func @grid(%x: !kernel.ptr<i64>) {grid = [3, 5], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  %p = kernel.program_id() : index
  %q = kernel.program_id() {dim = 1} : index
  %s = kernel.index(%p, %q) {map = #loop.map<(d0, d1) -> (d0 * 100 + d1)>} : index
  %v = kernel.cast(%s) : i64
  kernel.store(%x, %v, %p, %q) {map = #loop.map<(d0, d1) -> (d0 * 5 + d1)>}
  kernel.return()
}
