// RUN: lect-opt %s -p 'kernel-join-sweeps{chunk=32 row_bytes=256}' --remarks --split-input-file | filecheck %s
// RUN: lect-opt %s -p 'kernel-join-sweeps{chunk=32}' --target l2_bytes=256,l3_bytes=1024,threads=4 --split-input-file | filecheck %s
// RUN: lect-opt %s -p 'kernel-join-sweeps{chunk=32}' --target l2_bytes=256,l3_bytes=4096,threads=4 --split-input-file | filecheck %s --check-prefix=HELD
// RUN: lect-opt %s -p 'kernel-join-sweeps' --target=cuda:sm_90 --split-input-file | filecheck %s --check-prefix=GPU

// Two chunks of 32 and what they leave over; the last sweep stays.
// CHECK-LABEL: @maximum_and_sum_in_one_sweep
// CHECK:         %[[LANES:.*]], %[[SUM:.*]], %[[MAX:.*]] = kernel.for({{.*}}) {axis = "R", step = 32, span = 64} : (!kernel.tile<Rxf32>, !kernel.tile<Rxf32>, f32) {
// CHECK-NEXT:    ^bb0(%[[AT:.*]]: index, %[[L:.*]]: !kernel.tile<Rxf32>, %[[S:.*]]: !kernel.tile<Rxf32>, %[[M:.*]]: f32):
// CHECK-NEXT:      %[[L2:.*]] = kernel.for(%[[L]]; %[[AT]]) {axis = "R", span = 32}
// CHECK:             kernel.maximum
// CHECK:           %[[M2:.*]] = kernel.reduce(%[[L2]]) {kind = "max", axis = "R"} : f32
// CHECK:           %[[SHIFT:.*]] = kernel.select(%{{.*}}, %{{.*}}, %[[M2]]) : f32
// CHECK:           %[[D:.*]] = kernel.sub(%[[M]], %[[SHIFT]]) : f32
// CHECK:           %[[F:.*]] = kernel.exp(%[[D]]) : f32
// CHECK:           %[[SCALED:.*]] = kernel.mul(%[[S]], %[[F]])
// CHECK:           %[[PART:.*]] = kernel.for({{.*}}) {axis = "R", span = 32}
// CHECK:             kernel.sub(%{{.*}}, %[[SHIFT]])
// CHECK:           kernel.add(%[[SCALED]], %[[PART]])
// CHECK:         kernel.for(%[[LANES]]) {axis = "R", begin = 64}
// CHECK:         kernel.for() {axis = "R"}
// GPU-LABEL: @maximum_and_sum_in_one_sweep
// GPU:           kernel.for({{.*}}) {axis = "R", step = 8, span = 72}
// HELD-LABEL: @maximum_and_sum_in_one_sweep
// HELD-NOT:      step = 32
kernel.func @maximum_and_sum_in_one_sweep(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 72 loop>, blocks = #kernel.blocks<R = 8>, vector = "R"} {
  %p = kernel.program_id() : index
  %least = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %lanes = kernel.for(%least) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%i: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 72 + d1)>} : !kernel.tile<Rxf32>
    %b = kernel.maximum(%a, %v) : !kernel.tile<Rxf32>
    kernel.yield(%b)
  }
  %m = kernel.reduce(%lanes) {kind = "max", axis = "R"} : f32
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sums = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%i: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 72 + d1)>} : !kernel.tile<Rxf32>
    %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
    %e = kernel.exp(%d) : !kernel.tile<Rxf32>
    %b = kernel.add(%a, %e) : !kernel.tile<Rxf32>
    kernel.yield(%b)
  }
  %s = kernel.reduce(%sums) {kind = "sum", axis = "R"} : f32
  kernel.for() {axis = "R"} {
  ^bb0(%i: index):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 72 + d1)>} : !kernel.tile<Rxf32>
    %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
    %e = kernel.exp(%d) : !kernel.tile<Rxf32>
    %q = kernel.div(%e, %s) : !kernel.tile<Rxf32>
    kernel.store(%y, %q, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 72 + d1)>}
    kernel.yield()
  }
  kernel.return()
}

// -----

// The maximum is of x and the exponentials are of y: a part of a sum may overflow before its maximum is known.
// CHECK-LABEL: @no_join_as_the_maximum_is_of_something_else
// CHECK-NOT:     step = 32
kernel.func @no_join_as_the_maximum_is_of_something_else(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %z: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 72 loop>, blocks = #kernel.blocks<R = 8>, vector = "R"} {
  %p = kernel.program_id() : index
  %least = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %lanes = kernel.for(%least) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%i: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 72 + d1)>} : !kernel.tile<Rxf32>
    %b = kernel.maximum(%a, %v) : !kernel.tile<Rxf32>
    kernel.yield(%b)
  }
  %m = kernel.reduce(%lanes) {kind = "max", axis = "R"} : f32
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sums = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%i: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%y, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 72 + d1)>} : !kernel.tile<Rxf32>
    %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
    %e = kernel.exp(%d) : !kernel.tile<Rxf32>
    %b = kernel.add(%a, %e) : !kernel.tile<Rxf32>
    kernel.yield(%b)
  }
  %s = kernel.reduce(%sums) {kind = "sum", axis = "R"} : f32
  kernel.store(%z, %s, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// -----

// A row of 24 elements is no two chunks.
// CHECK-LABEL: @no_join_as_rows_are_short
// CHECK-NOT:     step = 32
kernel.func @no_join_as_rows_are_short(%x: !kernel.ptr<f32>, %z: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 24 loop>, blocks = #kernel.blocks<R = 8>, vector = "R"} {
  %p = kernel.program_id() : index
  %least = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %lanes = kernel.for(%least) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%i: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 24 + d1)>} : !kernel.tile<Rxf32>
    %b = kernel.maximum(%a, %v) : !kernel.tile<Rxf32>
    kernel.yield(%b)
  }
  %m = kernel.reduce(%lanes) {kind = "max", axis = "R"} : f32
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sums = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%i: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 24 + d1)>} : !kernel.tile<Rxf32>
    %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
    %e = kernel.exp(%d) : !kernel.tile<Rxf32>
    %b = kernel.add(%a, %e) : !kernel.tile<Rxf32>
    kernel.yield(%b)
  }
  %s = kernel.reduce(%sums) {kind = "sum", axis = "R"} : f32
  kernel.store(%z, %s, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
