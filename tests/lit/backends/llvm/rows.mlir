// RUN: lect-opt %s --emit llvm | filecheck %s

// A loop over full steps, the last step behind it at its own width, filled up with what changes nothing.  Only the final fold of lanes may be
// reordered.
// CHECK-LABEL: define void @sum
// CHECK: br label %[[LOOP:loop[0-9]+]]
// CHECK: [[LOOP]]:
// CHECK-NEXT: %[[AT:.*]] = phi i64 [ 0, %program ], [ %[[NEXT:.*]], %[[LOOP]] ]
// CHECK-NEXT: %[[ACC:.*]] = phi <16 x float> [ splat (float 0x0000000000000000), %program ], [ %[[SUM:.*]], %[[LOOP]] ]
// CHECK: load <16 x float>
// CHECK: %[[SUM]] = fadd <16 x float> %[[ACC]]
// CHECK: %[[NEXT]] = add nsw i64 %[[AT]], 16
// CHECK: icmp slt i64 %[[NEXT]], 48
// CHECK: load <2 x float>
// CHECK: %[[WIDE:.*]] = shufflevector <2 x float>
// CHECK: %[[TAIL:.*]] = select <16 x i1> %{{.*}}, <16 x float> %[[WIDE]], <16 x float> splat (float 0x0000000000000000)
// CHECK: %[[ALL:.*]] = fadd <16 x float> %[[SUM]], %[[TAIL]]
// CHECK: call reassoc float @llvm.vector.reduce.fadd.v16f32(float 0x8000000000000000, <16 x float> %[[ALL]])
kernel.func @sum(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 50 loop>, blocks = #kernel.blocks<R = 16>, vector = "R"} {
  %p = kernel.program_id() : index
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %s = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %in = kernel.bound(%r) {axis = "R"} : !kernel.tile<Rxi1>
    %v = kernel.load(%x, %p, %r; %in) {map = #loop.map<(d0, d1) -> (d0 * 50 + d1)>} : !kernel.tile<Rxf32>
    %none = kernel.const() {value = 0.0} : f32
    %m = kernel.select(%in, %v, %none) : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %m) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  %total = kernel.reduce(%s) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %total, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A maximum keeps NaN, lane by lane and in the fold.
// CHECK-LABEL: define void @greatest
// CHECK: call <16 x float> @lect.maximum.f32x16(<16 x float>
// CHECK: call float @llvm.vector.reduce.fmaximum.v16f32(<16 x float>
kernel.func @greatest(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 16>, vector = "R"} {
  %p = kernel.program_id() : index
  %low = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %s = kernel.for(%low) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
    %next = kernel.maximum(%acc, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  %top = kernel.reduce(%s) {kind = "max", axis = "R"} : f32
  kernel.store(%y, %top, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// Rows of a chunk are written out and folded in pairs; the last chunk has two rows.
// CHECK-LABEL: define void @columns
// CHECK: load <8 x float>
// CHECK: load <8 x float>
// CHECK: load <8 x float>
// CHECK: load <8 x float>
// CHECK: %[[A:.*]] = fadd <8 x float>
// CHECK-NEXT: %[[B:.*]] = fadd <8 x float>
// CHECK-NEXT: fadd <8 x float> %[[A]], %[[B]]
// CHECK: icmp slt i64 %{{.*}}, 8
// CHECK: load <8 x float>
// CHECK: load <8 x float>
// CHECK-NOT: load
// CHECK: store <8 x float>
kernel.func @columns(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [2], axes = #kernel.axes<R: 10 loop, X: 16 grid>, blocks = #kernel.blocks<R = 4, X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<1xXxindex>
  %zero = kernel.const() {value = 0.0} : !kernel.tile<1xXxf32>
  %s = kernel.for(%zero) {axis = "R"} : !kernel.tile<1xXxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<1xXxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rx1xindex>
    %in = kernel.bound(%r) {axis = "R"} : !kernel.tile<Rx1xi1>
    %v = kernel.load(%x, %r, %c; %in) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : !kernel.tile<RxXxf32>
    %none = kernel.const() {value = 0.0} : f32
    %m = kernel.select(%in, %v, %none) : !kernel.tile<RxXxf32>
    %f = kernel.reduce(%m) {kind = "sum", axis = "R"} : !kernel.tile<1xXxf32>
    %next = kernel.add(%acc, %f) : !kernel.tile<1xXxf32>
    kernel.yield(%next)
  }
  kernel.store(%y, %s, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// Chunks: the inner loop starts where the outer one stands.
// CHECK-LABEL: define void @chunks
// CHECK: %[[CHUNK:.*]] = phi i64 [ 0, %program ]
// CHECK: %[[END:.*]] = add i64 %[[CHUNK]], 64
// CHECK: %[[AT:.*]] = phi i64 [ %[[CHUNK]], %{{.*}} ], [ %[[NEXT:.*]], %{{.*}} ]
// CHECK: %[[NEXT]] = add nsw i64 %[[AT]], 16
// CHECK-NEXT: icmp slt i64 %[[NEXT]], %[[END]]
kernel.func @chunks(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 256 loop>, blocks = #kernel.blocks<R = 16>, vector = "R"} {
  kernel.for() {axis = "R", step = 64, span = 256} {
  ^bb0(%chunk: index):
    kernel.for(; %chunk) {axis = "R", span = 64} {
    ^bb0(%at: index):
      %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
      %one = kernel.const() {value = 1.0} : f32
      kernel.store(%x, %one, %r) {map = #loop.map<(d0) -> (d0)>}
      kernel.yield()
    }
    kernel.yield()
  }
  kernel.return()
}
