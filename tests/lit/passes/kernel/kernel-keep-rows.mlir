// RUN: lect-opt %s -p kernel-keep-rows | filecheck %s
// RUN: lect-opt %s -p 'kernel-keep-rows{limit=400}' | filecheck %s --check-prefix=SMALL

// CHECK-LABEL: kernel.func @an_exponential_is_kept
// CHECK-NEXT: %[[S:.*]] = kernel.scratch() : !kernel.scratch<1000xf32>
// CHECK: %[[E:.*]] = kernel.exp
// CHECK-NEXT: kernel.scratch_store(%[[S]], %[[E]], %{{.*}}, %{{.*}})
// CHECK: kernel.for()
// CHECK-NOT: kernel.exp
// CHECK: %[[K:.*]] = kernel.scratch_load(%[[S]], %{{.*}}, %{{.*}}) : !kernel.tile<Rxf32>
// CHECK-NEXT: kernel.div(%[[K]], %{{.*}})
// SMALL-LABEL: kernel.func @an_exponential_is_kept
// SMALL-NOT: kernel.scratch
kernel.func @an_exponential_is_kept(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 1000 loop>, blocks = #kernel.blocks<R = 16>, vector = "R"} {
  %p = kernel.program_id() : index
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %in = kernel.bound(%r) {axis = "R"} : !kernel.tile<Rxi1>
    %v = kernel.load(%x, %p, %r; %in) {map = #loop.map<(d0, d1) -> (d0 * 1000 + d1)>} : !kernel.tile<Rxf32>
    %e = kernel.exp(%v) : !kernel.tile<Rxf32>
    %none = kernel.const() {value = 0.0} : f32
    %m = kernel.select(%in, %e, %none) : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %m) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  %total = kernel.reduce(%sum) {kind = "sum", axis = "R"} : f32
  kernel.for() {axis = "R"} {
  ^bb0(%at: index):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %in = kernel.bound(%r) {axis = "R"} : !kernel.tile<Rxi1>
    %v = kernel.load(%x, %p, %r; %in) {map = #loop.map<(d0, d1) -> (d0 * 1000 + d1)>} : !kernel.tile<Rxf32>
    %e = kernel.exp(%v) : !kernel.tile<Rxf32>
    %d = kernel.div(%e, %total) : !kernel.tile<Rxf32>
    kernel.store(%y, %d, %p, %r; %in) {map = #loop.map<(d0, d1) -> (d0 * 1000 + d1)>}
    kernel.yield()
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_keep_as_a_square_is_cheap
// CHECK-NOT: kernel.scratch
// SMALL-LABEL: kernel.func @no_keep_as_a_square_is_cheap
kernel.func @no_keep_as_a_square_is_cheap(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 16>, vector = "R"} {
  %p = kernel.program_id() : index
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
    %e = kernel.mul(%v, %v) : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %e) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  %total = kernel.reduce(%sum) {kind = "sum", axis = "R"} : f32
  kernel.for() {axis = "R"} {
  ^bb0(%at: index):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
    %e = kernel.mul(%v, %v) : !kernel.tile<Rxf32>
    %d = kernel.div(%e, %total) : !kernel.tile<Rxf32>
    kernel.store(%y, %d, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
    kernel.yield()
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_keep_as_the_kernel_writes_what_it_reads
// CHECK-NOT: kernel.scratch
// SMALL-LABEL: kernel.func @no_keep_as_the_kernel_writes_what_it_reads
kernel.func @no_keep_as_the_kernel_writes_what_it_reads(%x: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 16>, vector = "R"} {
  %p = kernel.program_id() : index
  kernel.for() {axis = "R"} {
  ^bb0(%at: index):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
    %e = kernel.exp(%v) : !kernel.tile<Rxf32>
    kernel.store(%x, %e, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
    kernel.yield()
  }
  kernel.for() {axis = "R"} {
  ^bb0(%at: index):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : !kernel.tile<Rxf32>
    %e = kernel.exp(%v) : !kernel.tile<Rxf32>
    kernel.store(%x, %e, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
    kernel.yield()
  }
  kernel.return()
}
