// RUN: lect-opt %s -p kernel-prefetch-rows | filecheck %s
// RUN: lect-opt %s -p 'kernel-prefetch-rows{most=2048}' | filecheck %s --check-prefix=SHORT

// CHECK-LABEL: kernel.func @the_next_row_is_asked_for
// CHECK-NEXT: %[[P:.*]] = kernel.program_id() : index
// CHECK-NEXT: %[[N:.*]] = kernel.index(%[[P]]) {map = #loop.map<(d0) -> (d0 + 1)>} : index
// CHECK: kernel.for(
// CHECK-NOT: kernel.prefetch
// CHECK: kernel.for()
// CHECK: %[[R:.*]] = kernel.lanes
// CHECK-NEXT: kernel.prefetch(%x, %[[N]], %[[R]]) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>}
// SHORT-NOT: kernel.prefetch
kernel.func @the_next_row_is_asked_for(%x: !kernel.ptr<f32>, %w: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 1024 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %p = kernel.program_id() : index
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  %total = kernel.reduce(%sum) {kind = "sum", axis = "R"} : f32
  kernel.for() {axis = "R"} {
  ^bb0(%at: index):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : !kernel.tile<Rxf32>
    %g = kernel.load(%w, %r) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %d = kernel.mul(%v, %total) : !kernel.tile<Rxf32>
    %s = kernel.mul(%d, %g) : !kernel.tile<Rxf32>
    kernel.store(%y, %s, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>}
    kernel.yield()
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_prefetch_as_there_is_one_sweep
// CHECK-NOT: kernel.prefetch
kernel.func @no_prefetch_as_there_is_one_sweep(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 1024 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %p = kernel.program_id() : index
  kernel.for() {axis = "R"} {
  ^bb0(%at: index):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : !kernel.tile<Rxf32>
    kernel.store(%y, %v, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>}
    kernel.yield()
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_prefetch_as_there_is_one_row
// CHECK-NOT: kernel.prefetch
kernel.func @no_prefetch_as_there_is_one_row(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 1024 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %p = kernel.program_id() : index
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %p, %r) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  kernel.for() {axis = "R"} {
  ^bb0(%at: index):
    kernel.yield()
  }
  kernel.return()
}
