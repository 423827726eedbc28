// RUN: lect-opt %s --emit llvm | filecheck %s

// The number of elements is known only at run time: full blocks have a loop without branches all the same, and what is left is taken behind it.
// CHECK-LABEL: define void @flat
// CHECK: begin:
// CHECK: %[[WHOLE:.*]] = udiv i64 %{{.*}}, 16
// CHECK: programs:
// CHECK-NEXT: %[[BELOW:.*]] = icmp slt i64 %hi, %[[WHOLE]]
// CHECK-NEXT: %[[END:.*]] = select i1 %[[BELOW]], i64 %hi, i64 %[[WHOLE]]
// CHECK: phi i64 [ %lo, %programs ],
// CHECK-NOT: br
// CHECK: store <16 x float>
// CHECK-NEXT: br label %next
// CHECK: icmp slt i64 %{{.*}}, %[[END]]
// CHECK: icmp sgt i64 %hi, %[[WHOLE]]
// CHECK-NEXT: br i1 %{{.*}}, label %[[LAST:last.*]], label %end
// CHECK: phi i64 [ 0, %[[LAST]] ]
kernel.func @flat(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %s0: index, %s1: index) {grid = [#lect.size<(s0 * s1 + 15) floordiv 16>], axes = #kernel.axes<X: s0 * s1 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", symbols = {s0 = {hint = 512}, s1 = {hint = 768}}} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %b = kernel.bound(%l) {axis = "X"} : !kernel.tile<Xxi1>
  %v = kernel.load(%x, %l; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %m = kernel.mul(%v, %v) : !kernel.tile<Xxf32>
  kernel.store(%y, %m, %l; %b) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// Blocks that divide the axis need no second text.
// CHECK-LABEL: define void @whole_blocks
// CHECK-NOT: programs:
// CHECK: %pid = phi i64 [ %lo, %begin ], [ %pid.next, %next ]
// CHECK-NOT: masked
kernel.func @whole_blocks(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %s0: index) {grid = [#lect.size<s0>], axes = #kernel.axes<X: s0 * 16 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", symbols = {s0 = {hint = 512}}} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%y, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A grid of several dims is walked row by row: numbers are divided out once, the last one is counted along a row and the others from row to row.  The
// first and the last row may be parts of rows.
// CHECK-LABEL: define void @counted
// CHECK: begin:
// CHECK-NEXT: %[[REST:.*]] = urem i64 %lo, 5
// CHECK-NEXT: %[[UP:.*]] = udiv i64 %lo, 5
// CHECK-NEXT: %[[MIDDLE:.*]] = urem i64 %[[UP]], %s1
// CHECK-NEXT: %[[FIRST:.*]] = udiv i64 %[[UP]], %s1
// CHECK: row:
// CHECK-NEXT: %pid = phi i64 [ %lo, %begin ], [ %pid.next, %row.next ]
// CHECK-NEXT: %number0 = phi i64 [ %[[FIRST]], %begin ], [ %number0.next, %row.next ]
// CHECK-NEXT: %number1 = phi i64 [ %[[MIDDLE]], %begin ], [ %number1.next, %row.next ]
// CHECK-NEXT: %begin.row = phi i64 [ %[[REST]], %begin ], [ 0, %row.next ]
// CHECK-NEXT: %left = sub nsw i64 %hi, %pid
// CHECK-NEXT: %[[STOP:.*]] = add nsw i64 %begin.row, %left
// CHECK-NEXT: %[[SHORT:.*]] = icmp slt i64 %[[STOP]], 5
// CHECK-NEXT: %[[END:.*]] = select i1 %[[SHORT]], i64 %[[STOP]], i64 5
// CHECK-NOT: div
// CHECK: phi i64 [ %begin.row, %row ]
// CHECK: row.next:
// CHECK-NEXT: %[[DONE:.*]] = sub nsw i64 %[[END]], %begin.row
// CHECK-NEXT: %pid.next = add nsw i64 %pid, %[[DONE]]
// CHECK-NEXT: %[[B:.*]] = add nsw i64 %number1, 1
// CHECK-NEXT: %[[FULL:.*]] = icmp eq i64 %[[B]], %s1
// CHECK-NEXT: %number1.next = select i1 %[[FULL]], i64 0, i64 %[[B]]
// CHECK-NEXT: %[[CARRY:.*]] = zext i1 %[[FULL]] to i64
// CHECK-NEXT: %number0.next = add nsw i64 %number0, %[[CARRY]]
// CHECK-NEXT: %more = icmp slt i64 %pid.next, %hi
kernel.func @counted(%x: !kernel.ptr<i64>, %s0: index) {grid = [3, #lect.size<s0>, 5], axes = #kernel.axes<>, blocks = #kernel.blocks<>, symbols = {s0 = {hint = 4}}} {
  %p = kernel.program_id() : index
  %q = kernel.program_id() {dim = 1} : index
  %r = kernel.program_id() {dim = 2} : index
  %s = kernel.index(%p, %q, %r) {map = #loop.map<(d0, d1, d2) -> (d0 * 100 + d1 * 10 + d2)>} : index
  %v = kernel.cast(%s) : i64
  kernel.store(%x, %v, %p, %q, %r) {map = #loop.map<(d0, d1, d2) -> (d0 * s0 * 5 + d1 * 5 + d2)>}
  kernel.return()
}

// A transposition has a loop over full blocks of a row, and inside of none is a branch; blocks that are turned are reached by one step after another.
// CHECK-LABEL: define void @turned
// CHECK: row:
// CHECK: br i1 %{{.*}}, label %[[FULL:full.*]], label %{{last.*}}
// CHECK: [[FULL]]:
// CHECK: phi i64 [ %begin.row, %[[FULL]] ]
// CHECK-NOT: br
// CHECK: %[[A:.*]] = getelementptr float, ptr %p0, i64 %{{.*}}
// CHECK-NEXT: %{{.*}} = load <8 x float>, ptr %[[A]], align 4
// CHECK-NEXT: %[[B:.*]] = getelementptr float, ptr %[[A]], i64 %s2
// CHECK-NOT: br
// CHECK: store <8 x float>
kernel.func @turned(%x: !kernel.ptr<f32>, %0: !kernel.ptr<f32>, %s0: index, %s1: index) {grid = [#lect.size<(s0 + 7) floordiv 8>, #lect.size<(s1 + 7) floordiv 8>], axes = #kernel.axes<Y: s0 grid, X: s1 grid>, blocks = #kernel.blocks<Y = 8, X = 8>, vector = "X", symbols = {s0 = {hint = 512}, s1 = {hint = 768}}} {
  %p = kernel.program_id() : index
  %y = kernel.lanes(%p) {axis = "Y"} : !kernel.tile<Yx1xindex>
  %q = kernel.program_id() {dim = 1} : index
  %l = kernel.lanes(%q) {axis = "X"} : !kernel.tile<1xXxindex>
  %b = kernel.bound(%y) {axis = "Y"} : !kernel.tile<Yx1xi1>
  %c = kernel.bound(%l) {axis = "X"} : !kernel.tile<1xXxi1>
  %v = kernel.load(%x, %y, %l; %b, %c) {map = #loop.map<(d0, d1) -> (d0 + d1 * s0)>} : !kernel.tile<YxXxf32>
  kernel.store(%0, %v, %y, %l; %b, %c) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>}
  kernel.return()
}

// Neighbouring indices are compared with one number in i32: what is left of it behind the first lane.  The number may be data and lie at the end of i64.
// CHECK-LABEL: define void @border
// CHECK: %[[LEFT:.*]] = call i64 @llvm.ssub.sat.i64(i64 %s2, i64 %{{.*}})
// CHECK-NEXT: %[[LOW:.*]] = call i64 @llvm.smax.i64(i64 %[[LEFT]], i64 -1)
// CHECK-NEXT: %[[BOTH:.*]] = call i64 @llvm.smin.i64(i64 %[[LOW]], i64 4)
// CHECK-NEXT: %[[NARROW:.*]] = trunc i64 %[[BOTH]] to i32
// CHECK: icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>,
// CHECK: icmp sle <4 x i32> <i32 0, i32 1, i32 2, i32 3>,
// Of other indices and of products of them all of i64 is compared.
// CHECK: icmp slt <4 x i64>
kernel.func @border(%x: !kernel.ptr<i1>, %s0: index, %s1: index) {grid = [#lect.size<s0>], axes = #kernel.axes<X: s0 * 4 grid>, blocks = #kernel.blocks<X = 4>, vector = "X", symbols = {s0 = {hint = 512}, s1 = {hint = 768}}} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %k = kernel.cast(%l) : !kernel.tile<Xxi64>
  %n = kernel.index() {map = #loop.map<() -> (s1)>} : index
  %c = kernel.cast(%n) : i64
  %a = kernel.lt(%k, %c) : !kernel.tile<Xxi1>
  kernel.store(%x, %a, %l) {map = #loop.map<(d0) -> (d0)>}
  %b = kernel.ge(%c, %k) : !kernel.tile<Xxi1>
  kernel.store(%x, %b, %l) {map = #loop.map<(d0) -> (d0 + s0 * 4)>}
  %m = kernel.mul(%k, %k) : !kernel.tile<Xxi64>
  %d = kernel.lt(%m, %c) : !kernel.tile<Xxi1>
  kernel.store(%x, %d, %l) {map = #loop.map<(d0) -> (d0 + s0 * 8)>}
  kernel.return()
}
