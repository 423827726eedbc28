// RUN: lect-opt %s -p kernel-choose-warps | filecheck %s

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
