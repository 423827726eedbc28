// RUN: lect-opt %s -p kernel-choose-warps | filecheck %s
// RUN: lect-opt %s -p kernel-choose-warps --emit triton | filecheck %s --check-prefix=SOURCE
// RUN: lect-opt %s -p 'kernel-choose-warps{steps=200}' | filecheck %s --check-prefix=PLAIN

// CHECK-LABEL: kernel.func @a_tile_of_2048
// CHECK-SAME: warps = 4}
kernel.func @a_tile_of_2048(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 8192 grid>, blocks = #kernel.blocks<X = 2048>, vector = "X", target = "cuda"} {
  kernel.return()
}

// CHECK-LABEL: kernel.func @a_long_row
// CHECK-SAME: warps = 16}
kernel.func @a_long_row(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<R: 8192 whole>, blocks = #kernel.blocks<R = 8192>, vector = "R", target = "cuda"} {
  kernel.return()
}

// CHECK-LABEL: kernel.func @a_small_tile
// CHECK-SAME: warps = 1}
kernel.func @a_small_tile(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 8192 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  kernel.return()
}

// CHECK-LABEL: kernel.func @keeps_a_decision
// CHECK-SAME: warps = 2}
kernel.func @keeps_a_decision(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 8192 grid>, blocks = #kernel.blocks<X = 2048>, vector = "X", target = "cuda", warps = 2} {
  kernel.return()
}

// CHECK-LABEL: kernel.func @none_on_a_cpu
// CHECK-NOT: warps
kernel.func @none_on_a_cpu(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 32>, vector = "X"} {
  kernel.return()
}

// CHECK-LABEL: kernel.func @a_row_has_as_many_as_other_tiles
// CHECK-SAME: warps = 4}
kernel.func @a_row_has_as_many_as_other_tiles(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<R: 2048 whole>, blocks = #kernel.blocks<R = 2048>, vector = "R", target = "cuda"} {
  kernel.return()
}

// CHECK-LABEL: kernel.func @keeps_the_steps_that_a_record_says
// CHECK-SAME: stages = 2, warps = 4}
kernel.func @keeps_the_steps_that_a_record_says(%x: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 8192 grid>, blocks = #kernel.blocks<X = 2048>, vector = "X", target = "cuda", stages = 2} {
  kernel.return()
}

// SOURCE-LABEL: def columns_are_read_ahead
// SOURCE: in tl.range(0, 2048, 16, num_stages=3):
// SOURCE-LABEL: def none_ahead_in_a_loop_of_three_steps
// SOURCE: in range(0, 48, 16):
// PLAIN-LABEL: kernel.func @columns_are_read_ahead
// PLAIN-NOT: stages

// CHECK-LABEL: kernel.func @columns_are_read_ahead
// CHECK-SAME: stages = 3, warps = 4}
kernel.func @columns_are_read_ahead(%x0: !kernel.ptr<f32>, %o: !kernel.ptr<f32>) {grid = [64], axes = #kernel.axes<R: 2048 loop, X: 8192 grid>, blocks = #kernel.blocks<R = 16, X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<1xXxindex>
  %zero = kernel.const() {value = 0.0} : !kernel.tile<RxXxf32>
  %sums = kernel.for(%zero) {axis = "R"} : !kernel.tile<RxXxf32> {
  ^bb0(%r: index, %acc0: !kernel.tile<RxXxf32>):
    %at = kernel.lanes(%r) {axis = "R"} : !kernel.tile<Rx1xindex>
    %v0 = kernel.load(%x0, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc1 = kernel.add(%acc0, %v0) : !kernel.tile<RxXxf32>
    kernel.yield(%acc1)
  }
  %sum = kernel.reduce(%sums) {kind = "sum", axis = "R"} : !kernel.tile<1xXxf32>
  kernel.store(%o, %sum, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @fewer_steps_ahead_of_several_places
// CHECK-SAME: stages = 2, warps = 4}
kernel.func @fewer_steps_ahead_of_several_places(%x0: !kernel.ptr<f32>, %x1: !kernel.ptr<f32>, %x2: !kernel.ptr<f32>, %x3: !kernel.ptr<f32>, %o: !kernel.ptr<f32>) {grid = [64], axes = #kernel.axes<R: 2048 loop, X: 8192 grid>, blocks = #kernel.blocks<R = 16, X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<1xXxindex>
  %zero = kernel.const() {value = 0.0} : !kernel.tile<RxXxf32>
  %sums = kernel.for(%zero) {axis = "R"} : !kernel.tile<RxXxf32> {
  ^bb0(%r: index, %acc0: !kernel.tile<RxXxf32>):
    %at = kernel.lanes(%r) {axis = "R"} : !kernel.tile<Rx1xindex>
    %v0 = kernel.load(%x0, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc1 = kernel.add(%acc0, %v0) : !kernel.tile<RxXxf32>
    %v1 = kernel.load(%x1, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc2 = kernel.add(%acc1, %v1) : !kernel.tile<RxXxf32>
    %v2 = kernel.load(%x2, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc3 = kernel.add(%acc2, %v2) : !kernel.tile<RxXxf32>
    %v3 = kernel.load(%x3, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc4 = kernel.add(%acc3, %v3) : !kernel.tile<RxXxf32>
    kernel.yield(%acc4)
  }
  %sum = kernel.reduce(%sums) {kind = "sum", axis = "R"} : !kernel.tile<1xXxf32>
  kernel.store(%o, %sum, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @none_ahead_in_a_loop_of_three_steps
// CHECK-NOT: stages
// CHECK-SAME: warps = 4}
kernel.func @none_ahead_in_a_loop_of_three_steps(%x0: !kernel.ptr<f32>, %o: !kernel.ptr<f32>) {grid = [64], axes = #kernel.axes<R: 48 loop, X: 8192 grid>, blocks = #kernel.blocks<R = 16, X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<1xXxindex>
  %zero = kernel.const() {value = 0.0} : !kernel.tile<RxXxf32>
  %sums = kernel.for(%zero) {axis = "R"} : !kernel.tile<RxXxf32> {
  ^bb0(%r: index, %acc0: !kernel.tile<RxXxf32>):
    %at = kernel.lanes(%r) {axis = "R"} : !kernel.tile<Rx1xindex>
    %v0 = kernel.load(%x0, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc1 = kernel.add(%acc0, %v0) : !kernel.tile<RxXxf32>
    kernel.yield(%acc1)
  }
  %sum = kernel.reduce(%sums) {kind = "sum", axis = "R"} : !kernel.tile<1xXxf32>
  kernel.store(%o, %sum, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @none_ahead_of_so_many_places_that_shared_memory_is_short
// CHECK-NOT: stages
// CHECK-SAME: warps = 4}
kernel.func @none_ahead_of_so_many_places_that_shared_memory_is_short(%x0: !kernel.ptr<f32>, %x1: !kernel.ptr<f32>, %x2: !kernel.ptr<f32>, %x3: !kernel.ptr<f32>, %x4: !kernel.ptr<f32>, %o: !kernel.ptr<f32>) {grid = [64], axes = #kernel.axes<R: 2048 loop, X: 8192 grid>, blocks = #kernel.blocks<R = 16, X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<1xXxindex>
  %zero = kernel.const() {value = 0.0} : !kernel.tile<RxXxf32>
  %sums = kernel.for(%zero) {axis = "R"} : !kernel.tile<RxXxf32> {
  ^bb0(%r: index, %acc0: !kernel.tile<RxXxf32>):
    %at = kernel.lanes(%r) {axis = "R"} : !kernel.tile<Rx1xindex>
    %v0 = kernel.load(%x0, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc1 = kernel.add(%acc0, %v0) : !kernel.tile<RxXxf32>
    %v1 = kernel.load(%x1, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc2 = kernel.add(%acc1, %v1) : !kernel.tile<RxXxf32>
    %v2 = kernel.load(%x2, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc3 = kernel.add(%acc2, %v2) : !kernel.tile<RxXxf32>
    %v3 = kernel.load(%x3, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc4 = kernel.add(%acc3, %v3) : !kernel.tile<RxXxf32>
    %v4 = kernel.load(%x4, %at, %l) {map = #loop.map<(d0, d1) -> (d0 * 8192 + d1)>} : !kernel.tile<RxXxf32>
    %acc5 = kernel.add(%acc4, %v4) : !kernel.tile<RxXxf32>
    kernel.yield(%acc5)
  }
  %sum = kernel.reduce(%sums) {kind = "sum", axis = "R"} : !kernel.tile<1xXxf32>
  kernel.store(%o, %sum, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A row of halves that is folded has one warp: no other waits for it.
// CHECK-LABEL: kernel.func @a_row_of_halves_has_one
// CHECK-SAME: warps = 1}
kernel.func @a_row_of_halves_has_one(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<f32>) {grid = [64], axes = #kernel.axes<R: 768 whole>, blocks = #kernel.blocks<R = 1024>, vector = "R", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %m = kernel.bound(%l) {axis = "R"} : !kernel.tile<Rxi1>
  %v = kernel.load(%x, %p, %l; %m) {map = #loop.map<(d0, d1) -> (d0 * 768 + d1)>} : !kernel.tile<Rxbf16>
  %f = kernel.cast(%v) : !kernel.tile<Rxf32>
  %s = kernel.reduce(%f) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %s, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_a_row_of_floats
// CHECK-SAME: warps = 4}
kernel.func @not_a_row_of_floats(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [64], axes = #kernel.axes<R: 768 whole>, blocks = #kernel.blocks<R = 1024>, vector = "R", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %m = kernel.bound(%l) {axis = "R"} : !kernel.tile<Rxi1>
  %v = kernel.load(%x, %p, %l; %m) {map = #loop.map<(d0, d1) -> (d0 * 768 + d1)>} : !kernel.tile<Rxf32>
  %s = kernel.reduce(%v) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %s, %p) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
