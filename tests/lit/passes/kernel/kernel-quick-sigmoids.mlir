// RUN: lect-opt %s -p kernel-quick-sigmoids | filecheck %s

// CHECK-LABEL: kernel.func @silu
// CHECK: %[[X:.*]] = kernel.load
// CHECK: %[[S:.*]] = kernel.sigmoid(%[[X]])
// CHECK: kernel.mul(%[[X]], %[[S]])
// CHECK-NOT: kernel.exp
// CHECK-NOT: kernel.div
kernel.func @silu(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %one = kernel.const() {value = 1.0} : f32
  %n = kernel.neg(%v) : !kernel.tile<Xxf32>
  %e = kernel.exp(%n) : !kernel.tile<Xxf32>
  %s = kernel.add(%one, %e) : !kernel.tile<Xxf32>
  %y = kernel.div(%v, %s) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @reciprocal
// CHECK: %[[X:.*]] = kernel.load
// CHECK: %[[N:.*]] = kernel.neg(%[[X]])
// CHECK: %[[S:.*]] = kernel.sigmoid(%[[N]])
// CHECK-NOT: kernel.reciprocal
// CHECK: kernel.store(%x, %[[S]]
kernel.func @reciprocal(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %one = kernel.const() {value = 1.0} : f32
  %e = kernel.exp(%v) : !kernel.tile<Xxf32>
  %s = kernel.add(%e, %one) : !kernel.tile<Xxf32>
  %y = kernel.reciprocal(%s) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_by_two_more
// CHECK: kernel.div
kernel.func @not_by_two_more(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %one = kernel.const() {value = 2.0} : f32
  %n = kernel.neg(%v) : !kernel.tile<Xxf32>
  %e = kernel.exp(%n) : !kernel.tile<Xxf32>
  %s = kernel.add(%one, %e) : !kernel.tile<Xxf32>
  %y = kernel.div(%v, %s) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_where_kernels_are_exact
// CHECK: kernel.exp
// CHECK: kernel.div
kernel.func @not_where_kernels_are_exact(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %one = kernel.const() {value = 1.0} : f32
  %n = kernel.neg(%v) : !kernel.tile<Xxf32>
  %e = kernel.exp(%n) : !kernel.tile<Xxf32>
  %s = kernel.add(%one, %e) : !kernel.tile<Xxf32>
  %y = kernel.div(%v, %s) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @what_is_read_again_stays
// CHECK: %[[E:.*]] = kernel.exp
// CHECK: %[[S:.*]] = kernel.sigmoid
// CHECK: kernel.mul(%[[S]], %[[E]])
kernel.func @what_is_read_again_stays(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda", approximate = "because"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %one = kernel.const() {value = 1.0} : f32
  %n = kernel.neg(%v) : !kernel.tile<Xxf32>
  %e = kernel.exp(%n) : !kernel.tile<Xxf32>
  %s = kernel.add(%one, %e) : !kernel.tile<Xxf32>
  %q = kernel.reciprocal(%s) : !kernel.tile<Xxf32>
  %y = kernel.mul(%q, %e) : !kernel.tile<Xxf32>
  kernel.store(%x, %y, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
