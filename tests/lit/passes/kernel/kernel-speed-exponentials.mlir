// RUN: lect-opt %s -p kernel-speed-exponentials | filecheck %s

// Below the maximum of the row the sum does not see how the exponential was rounded.
// CHECK-LABEL: kernel.func @sum_below_the_maximum
// CHECK:         %[[D:.*]] = kernel.sub
// CHECK-NEXT:    %[[F:.*]] = kernel.const() {value = 1.4426950408889634} : f32
// CHECK-NEXT:    %[[M:.*]] = kernel.mul(%[[D]], %[[F]])
// CHECK-NEXT:    kernel.exp2(%[[M]])
// CHECK-NOT:     kernel.exp(
kernel.func @sum_below_the_maximum(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 64 whole>, blocks = #kernel.blocks<R = 64>, vector = "R", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
  %m = kernel.reduce(%v) {kind = "max", axis = "R"} : f32
  %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
  %e = kernel.exp(%d) : !kernel.tile<Rxf32>
  %s = kernel.reduce(%e) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %s, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// The sum is carried by a loop, and terms are left out.
// CHECK-LABEL: kernel.func @sum_of_a_loop
// CHECK:         kernel.exp2
// CHECK-NOT:     kernel.exp(
kernel.func @sum_of_a_loop(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 68 loop>, blocks = #kernel.blocks<R = 8>, vector = "R", target = "cuda"} {
  %p = kernel.program_id() : index
  %least = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %none = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %lanes = kernel.for(%least) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%i: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 68 + d1)>} : !kernel.tile<Rxf32>
    %b = kernel.maximum(%a, %v) : !kernel.tile<Rxf32>
    kernel.yield(%b)
  }
  %m = kernel.reduce(%lanes) {kind = "max", axis = "R"} : f32
  %sums = kernel.for(%none) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%i: index, %a: !kernel.tile<Rxf32>):
    %l = kernel.lanes(%i) {axis = "R"} : !kernel.tile<Rxindex>
    %in = kernel.bound(%l) {axis = "R"} : !kernel.tile<Rxi1>
    %v = kernel.load(%x, %p, %l; %in) {map = #loop.map<(d0, d1) -> (d0 * 68 + d1)>} : !kernel.tile<Rxf32>
    %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
    %e = kernel.exp(%d) : !kernel.tile<Rxf32>
    %c = kernel.select(%in, %e, %none) : !kernel.tile<Rxf32>
    %b = kernel.add(%a, %c) : !kernel.tile<Rxf32>
    kernel.yield(%b)
  }
  %s = kernel.reduce(%sums) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %s, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_rewrite_as_the_exponentials_are_stored_too
// CHECK:         kernel.exp(
kernel.func @no_rewrite_as_the_exponentials_are_stored_too(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 64 whole>, blocks = #kernel.blocks<R = 64>, vector = "R", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
  %m = kernel.reduce(%v) {kind = "max", axis = "R"} : f32
  %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
  %e = kernel.exp(%d) : !kernel.tile<Rxf32>
  %s = kernel.reduce(%e) {kind = "sum", axis = "R"} : f32
  %q = kernel.div(%e, %s) : !kernel.tile<Rxf32>
  kernel.store(%y, %q, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_rewrite_as_no_maximum_is_taken_off
// CHECK:         kernel.exp(
kernel.func @no_rewrite_as_no_maximum_is_taken_off(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 64 whole>, blocks = #kernel.blocks<R = 64>, vector = "R", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %p, %l) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
  %e = kernel.exp(%v) : !kernel.tile<Rxf32>
  %s = kernel.reduce(%e) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %s, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
