// RUN: lect-opt %s -p kernel-share-reciprocals | filecheck %s

// CHECK-LABEL: kernel.func @softmax
// CHECK: %[[S:.*]] = kernel.reduce(%[[E:.*]]) {kind = "sum", axis = "R"} : f32
// CHECK-NEXT: %[[R:.*]] = kernel.reciprocal(%[[S]]) : f32
// CHECK-NEXT: kernel.mul(%[[E]], %[[R]]) : !kernel.tile<Rxf32>
// CHECK-NOT: kernel.div
kernel.func @softmax(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 128 whole>, blocks = #kernel.blocks<R = 128>, vector = "R", target = "cuda", approximate = "because"} {
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
  %m = kernel.reduce(%v) {kind = "max", axis = "R"} : f32
  %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
  %e = kernel.exp(%d) : !kernel.tile<Rxf32>
  %s = kernel.reduce(%e) {kind = "sum", axis = "R"} : f32
  %y = kernel.div(%e, %s) : !kernel.tile<Rxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_by_any_sum
// CHECK: kernel.div
kernel.func @not_by_any_sum(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 128 whole>, blocks = #kernel.blocks<R = 128>, vector = "R", target = "cuda", approximate = "because"} {
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
  %s = kernel.reduce(%v) {kind = "sum", axis = "R"} : f32
  %y = kernel.div(%v, %s) : !kernel.tile<Rxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_where_kernels_are_exact
// CHECK: kernel.div
kernel.func @not_where_kernels_are_exact(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 128 whole>, blocks = #kernel.blocks<R = 128>, vector = "R", target = "cuda"} {
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
  %m = kernel.reduce(%v) {kind = "max", axis = "R"} : f32
  %d = kernel.sub(%v, %m) : !kernel.tile<Rxf32>
  %e = kernel.exp(%d) : !kernel.tile<Rxf32>
  %s = kernel.reduce(%e) {kind = "sum", axis = "R"} : f32
  %y = kernel.div(%e, %s) : !kernel.tile<Rxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
