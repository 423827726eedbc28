// RUN: lect-opt %s --emit llvm | filecheck %s

// The number of elements is known only at run time: full blocks have a loop without branches all the same, and what is left is taken behind it.
// CHECK-LABEL: define void @flat
// CHECK: begin:
// CHECK: %[[WHOLE:.*]] = udiv i64 %{{.*}}, 16
// CHECK: blocks:
// CHECK-NEXT: %[[BELOW:.*]] = icmp slt i64 %hi, %[[WHOLE]]
// CHECK-NEXT: %[[END:.*]] = select i1 %[[BELOW]], i64 %hi, i64 %[[WHOLE]]
// CHECK: %pid = phi i64 [ %lo, %blocks ], [ %pid.next, %next ]
// CHECK-NOT: br
// CHECK: store <16 x float>
// CHECK-NEXT: br label %next
// CHECK: %more = icmp slt i64 %pid.next, %[[END]]
// CHECK: icmp sgt i64 %hi, %[[WHOLE]]
// CHECK-NEXT: br i1 %{{.*}}, label %last, label %end
// CHECK: phi i64 [ 0, %last ]
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
// CHECK-NOT: blocks:
// CHECK: %pid = phi i64 [ %lo, %begin ], [ %pid.next, %next ]
// CHECK-NOT: masked
// CHECK-LABEL: define void @counted
kernel.func @whole_blocks(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %s0: index) {grid = [#lect.size<s0>], axes = #kernel.axes<X: s0 * 16 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", symbols = {s0 = {hint = 512}}} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%y, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// Numbers along the dims of a grid are divided out once and counted up from program to program, where a size is known only at run time.
// CHECK: begin:
// CHECK-NEXT: %[[REST:.*]] = urem i64 %lo, 5
// CHECK-NEXT: %[[UP:.*]] = udiv i64 %lo, 5
// CHECK-NEXT: %[[MIDDLE:.*]] = urem i64 %[[UP]], %s1
// CHECK-NEXT: %[[FIRST:.*]] = udiv i64 %[[UP]], %s1
// CHECK: program:
// CHECK: %number0 = phi i64 [ %[[FIRST]], %begin ], [ %number0.next, %next ]
// CHECK: %number1 = phi i64 [ %[[MIDDLE]], %begin ], [ %number1.next, %next ]
// CHECK: %number2 = phi i64 [ %[[REST]], %begin ], [ %number2.next, %next ]
// CHECK-NOT: div
// CHECK: next:
// CHECK: %[[A:.*]] = add nsw i64 %number2, 1
// CHECK-NEXT: %[[FULL:.*]] = icmp eq i64 %[[A]], 5
// CHECK-NEXT: %number2.next = select i1 %[[FULL]], i64 0, i64 %[[A]]
// CHECK-NEXT: %[[CARRY:.*]] = zext i1 %[[FULL]] to i64
// CHECK-NEXT: %[[B:.*]] = add nsw i64 %number1, %[[CARRY]]
// CHECK-NEXT: %[[FULL1:.*]] = icmp eq i64 %[[B]], %s1
// CHECK-NEXT: %number1.next = select i1 %[[FULL1]], i64 0, i64 %[[B]]
kernel.func @counted(%x: !kernel.ptr<i64>, %s0: index) {grid = [3, #lect.size<s0>, 5], axes = #kernel.axes<>, blocks = #kernel.blocks<>, symbols = {s0 = {hint = 4}}} {
  %p = kernel.program_id() : index
  %q = kernel.program_id() {dim = 1} : index
  %r = kernel.program_id() {dim = 2} : index
  %s = kernel.index(%p, %q, %r) {map = #loop.map<(d0, d1, d2) -> (d0 * 100 + d1 * 10 + d2)>} : index
  %v = kernel.cast(%s) : i64
  kernel.store(%x, %v, %p, %q, %r) {map = #loop.map<(d0, d1, d2) -> (d0 * s0 * 5 + d1 * 5 + d2)>}
  kernel.return()
}
