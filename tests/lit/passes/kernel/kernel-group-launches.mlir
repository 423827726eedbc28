// RUN: lect-opt %s -p 'kernel-group-launches{least=2}' --split-input-file | filecheck %s
// RUN: lect-opt %s -p kernel-group-launches --split-input-file | filecheck %s --check-prefix=FEW

// FEW-NOT: groups

// CHECK-LABEL: kernel.func @n0.group(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>)
// CHECK-SAME: groups = 2
// CHECK-NOT: kernel.func @n0(
// CHECK: host.func @step
// CHECK: %[[A:.*]] = host.memory(%a)
// CHECK: %[[B:.*]] = host.memory(%b)
// CHECK: %[[C:.*]] = host.memory(%c)
// CHECK: %[[D:.*]] = host.memory(%d)
// CHECK-NEXT: host.launch(%[[A]], %[[B]], %[[C]], %[[D]]) {kernel = @n0.group, grid = 8, target = "cuda"}
// CHECK-NEXT: host.return()
kernel.func @n0(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%y, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @step(%a: !host.tensor<64xf32>, %b: !host.tensor<64xf32>, %c: !host.tensor<64xf32>, %d: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  %1 = host.memory(%b) : !host.buffer<64xf32>
  host.launch(%0, %1) {kernel = @n0, grid = 4, target = "cuda"}
  %2 = host.memory(%c) : !host.buffer<64xf32>
  %3 = host.memory(%d) : !host.buffer<64xf32>
  host.launch(%2, %3) {kernel = @n0, grid = 4, target = "cuda"}
  host.return()
}

// -----

// CHECK-LABEL: host.func @not_where_one_reads_what_the_other_writes
// CHECK-COUNT-2: kernel = @n0, grid = 4
kernel.func @n0(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%y, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @not_where_one_reads_what_the_other_writes(%a: !host.tensor<64xf32>, %b: !host.tensor<64xf32>, %c: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  %1 = host.memory(%b) : !host.buffer<64xf32>
  host.launch(%0, %1) {kernel = @n0, grid = 4, target = "cuda"}
  %2 = host.memory(%c) : !host.buffer<64xf32>
  host.launch(%1, %2) {kernel = @n0, grid = 4, target = "cuda"}
  host.return()
}

// -----

// What is freed between two launches is freed behind both.
// CHECK-LABEL: host.func @frees_behind
// CHECK: host.launch(%{{.*}}) {kernel = @n0.group, grid = 8, target = "cuda"}
// CHECK-NEXT: host.free(%t)
// CHECK-NEXT: host.return()
kernel.func @n0(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%y, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @frees_behind(%b: !host.tensor<64xf32>, %c: !host.tensor<64xf32>, %d: !host.tensor<64xf32>) {
  %t = host.alloc() : !host.buffer<64xf32>
  %1 = host.memory(%b) : !host.buffer<64xf32>
  host.launch(%t, %1) {kernel = @n0, grid = 4, target = "cuda"}
  host.free(%t)
  %2 = host.memory(%c) : !host.buffer<64xf32>
  %3 = host.memory(%d) : !host.buffer<64xf32>
  host.launch(%2, %3) {kernel = @n0, grid = 4, target = "cuda"}
  host.return()
}

// -----

// What both groups use is freed behind both, whichever stands last.
// CHECK-LABEL: host.func @a_free_that_two_share
// CHECK: kernel = @n0.group
// CHECK-NOT: host.free
// CHECK: kernel = @n1.group
// CHECK-NEXT: host.free(%t)
// CHECK-NOT: host.free
kernel.func @n0(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %w = kernel.neg(%v) : !kernel.tile<Xxf32>
  kernel.store(%y, %w, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
kernel.func @n1(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %w = kernel.abs(%v) : !kernel.tile<Xxf32>
  kernel.store(%y, %w, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @a_free_that_two_share(%a: !host.tensor<64xf32>, %b: !host.tensor<64xf32>, %c: !host.tensor<64xf32>, %d: !host.tensor<64xf32>, %e: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  %1 = host.memory(%b) : !host.buffer<64xf32>
  %2 = host.memory(%c) : !host.buffer<64xf32>
  %3 = host.memory(%d) : !host.buffer<64xf32>
  %4 = host.memory(%e) : !host.buffer<64xf32>
  %t = host.alloc() : !host.buffer<64xf32>
  host.launch(%t, %1) {kernel = @n0, grid = 4, target = "cuda"}
  host.launch(%t, %2) {kernel = @n1, grid = 4, target = "cuda"}
  host.free(%t)
  host.launch(%0, %3) {kernel = @n0, grid = 4, target = "cuda"}
  host.launch(%0, %4) {kernel = @n1, grid = 4, target = "cuda"}
  host.return()
}

// -----

// What both groups use is freed behind both, whichever stands last.
// CHECK-LABEL: host.func @a_free_that_two_share_and_the_first_is_last
// CHECK: kernel = @n1.group
// CHECK-NOT: host.free
// CHECK: kernel = @n0.group
// CHECK-NEXT: host.free(%t)
// CHECK-NOT: host.free
kernel.func @n0(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %w = kernel.neg(%v) : !kernel.tile<Xxf32>
  kernel.store(%y, %w, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
kernel.func @n1(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %w = kernel.abs(%v) : !kernel.tile<Xxf32>
  kernel.store(%y, %w, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @a_free_that_two_share_and_the_first_is_last(%a: !host.tensor<64xf32>, %b: !host.tensor<64xf32>, %c: !host.tensor<64xf32>, %d: !host.tensor<64xf32>, %e: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  %1 = host.memory(%b) : !host.buffer<64xf32>
  %2 = host.memory(%c) : !host.buffer<64xf32>
  %3 = host.memory(%d) : !host.buffer<64xf32>
  %4 = host.memory(%e) : !host.buffer<64xf32>
  %t = host.alloc() : !host.buffer<64xf32>
  host.launch(%t, %1) {kernel = @n0, grid = 4, target = "cuda"}
  host.launch(%t, %2) {kernel = @n1, grid = 4, target = "cuda"}
  host.free(%t)
  host.launch(%0, %3) {kernel = @n1, grid = 4, target = "cuda"}
  host.launch(%0, %4) {kernel = @n0, grid = 4, target = "cuda"}
  host.return()
}
