// RUN: lect-opt %s -p kernel-note-nans | filecheck %s

// CHECK-LABEL: kernel.func @a_note_beside_a_maximum
// CHECK:         %[[M:.*]], %[[B:.*]] = kernel.for(%{{.*}}, %{{.*}}) {axis = "R"} : (!kernel.tile<Rxf32>, !kernel.tile<Rxi32>)
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %[[A:.*]]: !kernel.tile<Rxf32>, %[[N:.*]]: !kernel.tile<Rxi32>):
// CHECK:         %[[V:.*]] = kernel.load
// CHECK:         %[[G:.*]] = kernel.gt(%[[A]], %[[V]])
// CHECK:         %[[X:.*]] = kernel.select(%[[G]], %[[A]], %[[V]])
// CHECK:         %[[U:.*]] = kernel.isnan(%[[V]])
// CHECK:         %[[S:.*]] = kernel.select(%[[U]], %{{.*}}, %{{.*}}) : !kernel.tile<Rxi32>
// CHECK:         %[[O:.*]] = kernel.or(%[[N]], %[[S]])
// CHECK:         kernel.yield(%[[X]], %[[O]])
// CHECK:         %[[L:.*]] = kernel.lt(%[[B]], %{{.*}})
// CHECK:         %[[R:.*]] = kernel.select(%[[L]], %{{.*}}, %[[M]])
// CHECK:         kernel.reduce(%[[R]]) {kind = "max", axis = "R"}
kernel.func @a_note_beside_a_maximum(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 1024 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %0 = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %1 = kernel.for(%0) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%2: index, %3: !kernel.tile<Rxf32>):
    %4 = kernel.lanes(%2) {axis = "R"} : !kernel.tile<Rxindex>
    %5 = kernel.load(%x, %4) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %6 = kernel.maximum(%3, %5) : !kernel.tile<Rxf32>
    kernel.yield(%6)
  }
  %7 = kernel.reduce(%1) {kind = "max", axis = "R"} : f32
  kernel.store(%y, %7) {map = #loop.map<() -> (0)>}
  kernel.return()
}

// Two extrema and a sum of four registers each leave none for notes: the minimum takes over what the maximum says of NaN.
// CHECK-LABEL: kernel.func @the_second_extremum_asks_the_first
// CHECK:         %[[M:.*]], %{{.*}}, %{{.*}} = kernel.for
// CHECK:         kernel.maximum
// CHECK-NOT:     kernel.minimum
// CHECK:         kernel.lt
// CHECK:         kernel.yield
// CHECK:         %[[U:.*]] = kernel.isnan
// CHECK:         kernel.select(%[[U]]
kernel.func @the_second_extremum_asks_the_first(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 1024 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %0 = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %1 = kernel.const() {value = inf} : !kernel.tile<Rxf32>
  %2 = kernel.const() {value = 0.0} : !kernel.tile<Rxf32>
  %3, %4, %5 = kernel.for(%0, %1, %2) {axis = "R"} : (!kernel.tile<Rxf32>, !kernel.tile<Rxf32>, !kernel.tile<Rxf32>) {
  ^bb0(%6: index, %7: !kernel.tile<Rxf32>, %8: !kernel.tile<Rxf32>, %9: !kernel.tile<Rxf32>):
    %10 = kernel.lanes(%6) {axis = "R"} : !kernel.tile<Rxindex>
    %11 = kernel.load(%x, %10) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %12 = kernel.maximum(%7, %11) : !kernel.tile<Rxf32>
    %13 = kernel.minimum(%8, %11) : !kernel.tile<Rxf32>
    %14 = kernel.add(%9, %11) : !kernel.tile<Rxf32>
    kernel.yield(%12, %13, %14)
  }
  %15 = kernel.reduce(%3) {kind = "max", axis = "R"} : f32
  %16 = kernel.reduce(%4) {kind = "min", axis = "R"} : f32
  %17 = kernel.reduce(%5) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %15) {map = #loop.map<() -> (0)>}
  kernel.store(%y, %16) {map = #loop.map<() -> (1)>}
  kernel.store(%y, %17) {map = #loop.map<() -> (2)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_note_in_a_loop_of_few_steps
// CHECK:         kernel.maximum
// CHECK-NOT:     kernel.isnan
kernel.func @no_note_in_a_loop_of_few_steps(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 128 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %0 = kernel.const() {value = -inf} : !kernel.tile<Rxf32>
  %1 = kernel.for(%0) {axis = "R"} : !kernel.tile<Rxf32> {
  ^bb0(%2: index, %3: !kernel.tile<Rxf32>):
    %4 = kernel.lanes(%2) {axis = "R"} : !kernel.tile<Rxindex>
    %5 = kernel.load(%x, %4) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
    %6 = kernel.maximum(%3, %5) : !kernel.tile<Rxf32>
    kernel.yield(%6)
  }
  %7 = kernel.reduce(%1) {kind = "max", axis = "R"} : f32
  kernel.store(%y, %7) {map = #loop.map<() -> (0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_note_for_integers
// CHECK:         kernel.maximum
// CHECK-NOT:     kernel.isnan
kernel.func @no_note_for_integers(%x: !kernel.ptr<i32>, %y: !kernel.ptr<i32>) {grid = [1], axes = #kernel.axes<R: 1024 loop>, blocks = #kernel.blocks<R = 32>, vector = "R"} {
  %0 = kernel.const() {value = -2147483648} : !kernel.tile<Rxi32>
  %1 = kernel.for(%0) {axis = "R"} : !kernel.tile<Rxi32> {
  ^bb0(%2: index, %3: !kernel.tile<Rxi32>):
    %4 = kernel.lanes(%2) {axis = "R"} : !kernel.tile<Rxindex>
    %5 = kernel.load(%x, %4) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxi32>
    %6 = kernel.maximum(%3, %5) : !kernel.tile<Rxi32>
    kernel.yield(%6)
  }
  %7 = kernel.reduce(%1) {kind = "max", axis = "R"} : i32
  kernel.store(%y, %7) {map = #loop.map<() -> (0)>}
  kernel.return()
}
