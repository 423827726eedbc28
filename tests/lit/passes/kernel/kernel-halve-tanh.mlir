// RUN: lect-opt %s -p kernel-halve-tanh | filecheck %s

// CHECK-LABEL: kernel.func @gelu
// CHECK: %[[X:.*]] = kernel.load
// CHECK-NOT: kernel.tanh
// CHECK: %[[TWO:.*]] = kernel.const() {value = 2.0} : f32
// CHECK: %[[U:.*]] = kernel.mul(%[[X]], %[[TWO]])
// CHECK: %[[S:.*]] = kernel.sigmoid(%[[U]])
// CHECK: %[[Q:.*]] = kernel.mul(%[[X]], %[[S]])
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

// CHECK-LABEL: kernel.func @cubic_of_gelu
// CHECK: %[[X:.*]] = kernel.load
// CHECK-DAG: %[[A:.*]] = kernel.const() {value = 3.0} : f32
// CHECK-DAG: %[[B:.*]] = kernel.const() {value = 1.5} : f32
// CHECK-DAG: %[[XX:.*]] = kernel.mul(%[[X]], %[[X]])
// CHECK: %[[F:.*]] = kernel.fma(%[[XX]], %[[A]], %[[B]])
// CHECK: %[[U:.*]] = kernel.mul(%[[X]], %[[F]])
// CHECK: %[[S:.*]] = kernel.sigmoid(%[[U]])
// CHECK: kernel.mul(%[[X]], %[[S]])
// CHECK-NOT: kernel.mul
kernel.func @cubic_of_gelu(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %half = kernel.const() {value = 0.5} : f32
  %one = kernel.const() {value = 1.0} : f32
  %a = kernel.const() {value = 2.0} : f32
  %b = kernel.const() {value = 0.75} : f32
  %square = kernel.mul(%v, %v) : !kernel.tile<Xxf32>
  %cube = kernel.mul(%square, %v) : !kernel.tile<Xxf32>
  %scaled = kernel.mul(%cube, %a) : !kernel.tile<Xxf32>
  %sum = kernel.add(%v, %scaled) : !kernel.tile<Xxf32>
  %u = kernel.mul(%sum, %b) : !kernel.tile<Xxf32>
  %h = kernel.mul(%v, %half) : !kernel.tile<Xxf32>
  %t = kernel.tanh(%u) : !kernel.tile<Xxf32>
  %s = kernel.add(%one, %t) : !kernel.tile<Xxf32>
  %y = kernel.mul(%h, %s) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_where_the_cube_is_of_something_else
// CHECK-NOT: kernel.fma
// CHECK: kernel.sigmoid
kernel.func @not_where_the_cube_is_of_something_else(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %half = kernel.const() {value = 0.5} : f32
  %one = kernel.const() {value = 1.0} : f32
  %a = kernel.const() {value = 2.0} : f32
  %b = kernel.const() {value = 0.75} : f32
  %square = kernel.mul(%v, %v) : !kernel.tile<Xxf32>
  %cube = kernel.mul(%square, %square) : !kernel.tile<Xxf32>
  %scaled = kernel.mul(%cube, %a) : !kernel.tile<Xxf32>
  %sum = kernel.add(%v, %scaled) : !kernel.tile<Xxf32>
  %u = kernel.mul(%sum, %b) : !kernel.tile<Xxf32>
  %h = kernel.mul(%v, %half) : !kernel.tile<Xxf32>
  %t = kernel.tanh(%u) : !kernel.tile<Xxf32>
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
