// RUN: lect-opt %s --target=cuda:sm_90 -p kernel-overlap-launches --split-input-file | filecheck %s
// RUN: lect-opt %s --target=cuda:sm_80 -p kernel-overlap-launches --split-input-file | filecheck %s --check-prefix=OLD
// RUN: lect-opt %s --target=cuda:sm_90 -p kernel-overlap-launches --split-input-file --emit triton | filecheck %s --check-prefix=SOURCE

// OLD: kernel.func @first
// OLD-NOT: early =

// The second waits before it does anything else; the first says when it may be there.
// CHECK-LABEL: kernel.func @first
// CHECK-SAME: target = "cuda", early = "next"}
// CHECK-LABEL: kernel.func @waits_in_its_programs
// CHECK-SAME: target = "cuda", early = "both"}
// SOURCE: from triton.language.extra.cuda import gdc
// SOURCE: def first(x):
// SOURCE-NEXT: gdc.gdc_launch_dependents()
// SOURCE-NEXT: p = tl.program_id(0)
// SOURCE: def waits_in_its_programs(x):
// SOURCE-NEXT: # programs may be here before the last kernel has ended
// SOURCE-NEXT: gdc.gdc_wait()
// SOURCE-NEXT: gdc.gdc_launch_dependents()
// SOURCE-NEXT: p = tl.program_id(0)
kernel.func @first(%x: !kernel.ptr<f32>) {grid = [4096], axes = #kernel.axes<X: 65536 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
kernel.func @waits_in_its_programs(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @in_a_row(%a: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  host.launch(%0) {kernel = @first, grid = 4096, target = "cuda"}
  %1 = host.alloc() : !host.buffer<64xf32>
  host.launch(%0) {kernel = @waits_in_its_programs, grid = 4, target = "cuda"}
  host.free(%1)
  host.return()
}

// -----

// CHECK-LABEL: kernel.func @before
// CHECK-NOT: early =
// CHECK-LABEL: kernel.func @not_of_more_warps_than_there_is_room_for
// CHECK-NOT: early =
kernel.func @before(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
kernel.func @not_of_more_warps_than_there_is_room_for(%x: !kernel.ptr<f32>) {grid = [133], axes = #kernel.axes<X: 2128 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @large(%a: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  host.launch(%0) {kernel = @before, grid = 4, target = "cuda"}
  host.launch(%0) {kernel = @not_of_more_warps_than_there_is_room_for, grid = 133, target = "cuda"}
  host.return()
}

// -----

// CHECK-LABEL: kernel.func @front
// CHECK-NOT: early =
// CHECK-LABEL: kernel.func @not_behind_a_call_of_the_library
// CHECK-NOT: early =
kernel.func @front(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
kernel.func @not_behind_a_call_of_the_library(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @library(%a: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  host.launch(%0) {kernel = @front, grid = 4, target = "cuda"}
  %v1 = host.view(%0) : !host.tensor<64xf32>
  %e1 = host.extern(%v1) {callee = @aten.relu.default, args = [#host.operand<0>]} : !host.tensor<64xf32>
  host.launch(%0) {kernel = @not_behind_a_call_of_the_library, grid = 4, target = "cuda"}
  host.return()
}

// -----

// Where most of its launches are behind others, all are started so.
// CHECK-LABEL: kernel.func @most_of_its_launches
// CHECK-SAME: early = "both"}
kernel.func @most_of_its_launches(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @most(%a: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  host.launch(%0) {kernel = @most_of_its_launches, grid = 4, target = "cuda"}
  host.launch(%0) {kernel = @most_of_its_launches, grid = 4, target = "cuda"}
  host.launch(%0) {kernel = @most_of_its_launches, grid = 4, target = "cuda"}
  %v1 = host.view(%0) : !host.tensor<64xf32>
  %e1 = host.extern(%v1) {callee = @aten.relu.default, args = [#host.operand<0>]} : !host.tensor<64xf32>
  host.launch(%0) {kernel = @most_of_its_launches, grid = 4, target = "cuda"}
  host.launch(%0) {kernel = @most_of_its_launches, grid = 4, target = "cuda"}
  host.return()
}

// -----

// CHECK-LABEL: kernel.func @half_of_its_launches
// CHECK-NOT: early =
kernel.func @half_of_its_launches(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @half(%a: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  host.launch(%0) {kernel = @half_of_its_launches, grid = 4, target = "cuda"}
  host.launch(%0) {kernel = @half_of_its_launches, grid = 4, target = "cuda"}
  host.return()
}

// -----

// What is in the table may have been copied right in front.
// CHECK-LABEL: kernel.func @ahead
// CHECK-LABEL: kernel.func @not_with_a_table_of_addresses
// CHECK-NOT: early =
kernel.func @ahead(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
kernel.func @not_with_a_table_of_addresses(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", target = "cuda", groups = 2} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%x, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
host.func @tables(%a: !host.tensor<64xf32>, %b: !host.tensor<64xf32>) {
  %0 = host.memory(%a) : !host.buffer<64xf32>
  %1 = host.memory(%b) : !host.buffer<64xf32>
  host.launch(%0) {kernel = @ahead, grid = 4, target = "cuda"}
  host.launch(%0, %1) {kernel = @not_with_a_table_of_addresses, grid = 8, target = "cuda"}
  host.return()
}
