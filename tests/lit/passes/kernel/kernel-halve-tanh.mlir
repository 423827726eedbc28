// RUN: lect-opt %s -p kernel-halve-tanh | filecheck %s

// CHECK-LABEL: kernel.func @gelu
// CHECK: %[[X:.*]] = kernel.load
// CHECK-NOT: kernel.tanh
// CHECK: %[[M:.*]] = kernel.const() {value = -2.0} : f32
// CHECK: %[[ONE:.*]] = kernel.const() {value = 1.0} : f32
// CHECK: %[[U:.*]] = kernel.mul(%[[X]], %[[M]])
// CHECK: %[[E:.*]] = kernel.exp(%[[U]])
// CHECK: %[[S:.*]] = kernel.add(%[[E]], %[[ONE]])
// CHECK: %[[Q:.*]] = kernel.div(%[[X]], %[[S]])
// CHECK: kernel.store(%x, %[[Q]]
kernel.func @gelu(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %half = kernel.const() {value = 0.5} : f32
  %one = kernel.const() {value = 1.0} : f32
  %h = kernel.mul(%v, %half) : !kernel.tile<Xxf32>
  %t = kernel.tanh(%v) : !kernel.tile<Xxf32>
  %s = kernel.add(%one, %t) : !kernel.tile<Xxf32>
  %y = kernel.mul(%h, %s) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_where_kernels_are_exact
// CHECK: kernel.tanh
kernel.func @not_where_kernels_are_exact(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %half = kernel.const() {value = 0.5} : f32
  %one = kernel.const() {value = 1.0} : f32
  %h = kernel.mul(%v, %half) : !kernel.tile<Xxf32>
  %t = kernel.tanh(%v) : !kernel.tile<Xxf32>
  %s = kernel.add(%one, %t) : !kernel.tile<Xxf32>
  %y = kernel.mul(%h, %s) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_where_the_tangent_is_used_again
// CHECK: kernel.tanh
kernel.func @not_where_the_tangent_is_used_again(%x: !kernel.ptr<f32>, %z: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %half = kernel.const() {value = 0.5} : f32
  %one = kernel.const() {value = 1.0} : f32
  %h = kernel.mul(%v, %half) : !kernel.tile<Xxf32>
  %t = kernel.tanh(%v) : !kernel.tile<Xxf32>
  kernel.store(%z, %t, %l) {map = #loop.map<(d0) -> (d0)>}
  %s = kernel.add(%one, %t) : !kernel.tile<Xxf32>
  %y = kernel.mul(%h, %s) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
