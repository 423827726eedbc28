// RUN: lect-opt %s -p kernel-cascade-sums | filecheck %s

// CHECK-LABEL: kernel.func @a_long_sum_is_cut
// CHECK: %[[Z:.*]] = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
// CHECK: %[[OUT:.*]] = kernel.for(%[[Z]]) {axis = "R", step = 512, span = 3072} : !kernel.tile<Rxf32> {
// CHECK-NEXT: ^bb0(%[[CHUNK:.*]]: index, %[[SO_FAR:.*]]: !kernel.tile<Rxf32>):
// CHECK-NEXT: %[[PART:.*]] = kernel.for(%[[Z]]; %[[CHUNK]]) {axis = "R", span = 512} : !kernel.tile<Rxf32> {
// CHECK: kernel.yield
// CHECK: %[[NEXT:.*]] = kernel.add(%[[SO_FAR]], %[[PART]]) : !kernel.tile<Rxf32>
// CHECK-NEXT: kernel.yield(%[[NEXT]])
// CHECK: %[[REST:.*]] = kernel.for(%[[Z]]) {axis = "R", begin = 3072} : !kernel.tile<Rxf32> {
// CHECK: %[[ALL:.*]] = kernel.add(%[[OUT]], %[[REST]]) : !kernel.tile<Rxf32>
// CHECK-NEXT: kernel.reduce(%[[ALL]]) {kind = "sum", axis = "R"} : f32
kernel.func @a_long_sum_is_cut(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 3300 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %p = kernel.program_id() : index
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %in = kernel.bound(%r) {axis = "R"} : !kernel.tile<Rxi1>
    %v = kernel.load(%x, %p, %r; %in) {map = #loop.map<(d0, d1) -> (d0 * 3300 + d1)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  %total = kernel.reduce(%sum) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %total, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// Chunks of chunks: 16 steps, 16 times 16 steps, and what is left over is cut by the smaller chunk and then not at all.
// CHECK-LABEL: kernel.func @a_longer_sum_is_cut_twice
// CHECK: kernel.for(%{{.*}}) {axis = "R", step = 8192, span = 24576}
// CHECK: kernel.for(%{{.*}}; %{{.*}}) {axis = "R", step = 512, span = 8192}
// CHECK: kernel.for(%{{.*}}; %{{.*}}) {axis = "R", span = 512}
// CHECK: kernel.for(%{{.*}}) {axis = "R", begin = 24576, step = 512, span = 1024}
// CHECK: kernel.for(%{{.*}}; %{{.*}}) {axis = "R", span = 512}
// CHECK: kernel.for(%{{.*}}) {axis = "R", begin = 25600}
kernel.func @a_longer_sum_is_cut_twice(%x: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 25700 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %in = kernel.bound(%r) {axis = "R"} : !kernel.tile<Rxi1>
    %v = kernel.load(%x, %r; %in) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @a_maximum_passes_through_both_loops
// CHECK: %[[A:.*]], %[[B:.*]] = kernel.for(%[[Z:.*]], %[[LOW:.*]]) {axis = "R", step = 512, span = 4096}
// CHECK-NEXT: ^bb0(%[[CHUNK:.*]]: index, %[[SUM:.*]]: !kernel.tile<Rxf32>, %[[MAX:.*]]: !kernel.tile<Rxf32>):
// CHECK-NEXT: %[[S:.*]], %[[M:.*]] = kernel.for(%[[Z]], %[[MAX]]; %[[CHUNK]]) {axis = "R", span = 512}
// CHECK: %[[NEXT:.*]] = kernel.add(%[[SUM]], %[[S]]) : !kernel.tile<Rxf32>
// CHECK-NEXT: kernel.yield(%[[NEXT]], %[[M]])
kernel.func @a_maximum_passes_through_both_loops(%x: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 4096 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %low = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %sum, %max = kernel.for(%zero, %low) {axis = "R"} : (!kernel.tile<Rxf32>, !kernel.tile<Rxf32>) {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>, %best: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %r) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    %top = kernel.maximum(%best, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next, %top)
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_cut_as_the_row_is_short
// CHECK: kernel.for(%{{.*}}) {axis = "R"} : !kernel.tile<Rxf32> {
kernel.func @no_cut_as_the_row_is_short(%x: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 1024 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %r) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_cut_as_sums_of_integers_are_exact
// CHECK: kernel.for(%{{.*}}) {axis = "R"} : !kernel.tile<Rxi64> {
kernel.func @no_cut_as_sums_of_integers_are_exact(%x: !kernel.ptr<i64>) {grid = [8], axes = #kernel.axes<R: 4096 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %zero = kernel.const() {value = 0} : !kernel.tile<Rxi64>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxi64> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxi64>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %r) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxi64>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxi64>
    kernel.yield(%next)
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_cut_as_the_sum_so_far_is_read
// CHECK: kernel.for(%{{.*}}) {axis = "R"} : !kernel.tile<Rxf32> {
kernel.func @no_cut_as_the_sum_so_far_is_read(%x: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 4096 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %r) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    kernel.store(%x, %next, %r) {map = #loop.map<(d0) -> (d0)>}
    kernel.yield(%next)
  }
  kernel.return()
}

// The inner sum is one of its own, cut into chunks, and the outer loop adds the rows.
// CHECK-LABEL: kernel.func @cuts_the_inner_loop
// CHECK:         kernel.for(%{{.*}}) {axis = "S"}
// CHECK:           %[[Z:.*]] = kernel.const() {value = 0.0} : !kernel.tile<Rx1xf32>
// CHECK:           %[[ROW:.*]] = kernel.for(%[[Z]]) {axis = "R", step = 512, span = 4096}
// CHECK:           kernel.add(%[[ACC:.*]], %[[ROW]])
kernel.func @cuts_the_inner_loop(%x: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<R: 4096 loop, S: 8 loop>, blocks = #kernel.blocks<R = 32, S = 1>, vector = "R"} {
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rx1xf32>
  %all = kernel.for(%zero) {axis = "S"} : !kernel.tile<Rx1xf32> {
  ^bb0(%row: index, %rows: !kernel.tile<Rx1xf32>):
    %sum = kernel.for(%rows) {axis = "R"} : !kernel.tile<Rx1xf32> {
    ^bb0(%at: index, %acc: !kernel.tile<Rx1xf32>):
      %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rx1xindex>
      %v = kernel.load(%x, %row, %r) {map = #loop.map<(d0, d1) -> (d0 * 4096 + d1)>} : !kernel.tile<Rx1xf32>
      %next = kernel.add(%acc, %v) : !kernel.tile<Rx1xf32>
      kernel.yield(%next)
    }
    kernel.yield(%sum)
  }
  kernel.return()
}

// A length that is known only at run time: chunks to the end of the axis, of which the last may be shorter.
// CHECK-LABEL: kernel.func @cuts_a_length_of_run_time
// CHECK:         %[[S:.*]] = kernel.for(%[[Z:.*]]) {axis = "R", step = 2048} : !kernel.tile<Rxf32> {
// CHECK:         ^bb0(%[[AT:.*]]: index, %[[ACC:.*]]: !kernel.tile<Rxf32>):
// CHECK:           %[[T:.*]] = kernel.for(%[[Z]]; %[[AT]]) {axis = "R", span = 2048} : !kernel.tile<Rxf32> {
// CHECK:           kernel.add(%[[ACC]], %[[T]])
// CHECK-NOT:     kernel.for
// CHECK:         kernel.return
kernel.func @cuts_a_length_of_run_time(%x: !kernel.ptr<f32>, %s0: index) {grid = [8], axes = #kernel.axes<R: s0 loop>, blocks = #kernel.blocks<R = 32>, vector = "R", symbols = {s0 = {hint = 64}}} {
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %in = kernel.bound(%r) {axis = "R"} : !kernel.tile<Rxi1>
    %v = kernel.load(%x, %r; %in) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_cut_as_the_length_of_run_time_is_surely_short
// CHECK: kernel.for(%{{.*}}) {axis = "R"} : !kernel.tile<Rxf32> {
kernel.func @no_cut_as_the_length_of_run_time_is_surely_short(%x: !kernel.ptr<f32>, %s0: index) {grid = [8], axes = #kernel.axes<R: s0 loop>, blocks = #kernel.blocks<R = 32>, vector = "R", symbols = {s0 = {hint = 64, max = 512}}} {
  %zero = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %sum = kernel.for(%zero) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%at: index, %acc: !kernel.tile<Rxf32>):
    %r = kernel.lanes(%at) {axis = "R"} : !kernel.tile<Rxindex>
    %v = kernel.load(%x, %r) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %next = kernel.add(%acc, %v) : !kernel.tile<Rxf32>
    kernel.yield(%next)
  }
  kernel.return()
}
