// RUN: lect-opt %s | lect-opt | filecheck %s

// CHECK: tuning.record @measured() {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {tiles = #kernel.tiles<"rows", R: d1 by 8192 whole, vector R>, warps = 8}, measured = [
// CHECK-SAME: [{warps = 4}, 81.5]
tuning.record @measured {
  kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e",
  device = "NVIDIA H200",
  choices = {tiles = #kernel.tiles<"rows", R: d1 by 8192 whole, vector R>, warps = 8},
  measured = [
    [{tiles = #kernel.tiles<"rows", R: d1 by 8192 whole, vector R>, warps = 8}, 66.0],
    [{warps = 4}, 81.5]
  ]
}

// CHECK: tuning.record @by_hand() {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA A100", choices = {warps = 4, stages = 2}}
tuning.record @by_hand {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA A100", choices = {warps = 4, stages = 2}}

// CHECK: tuning.record @a_product() {{.*}} choices = {product = "library"}}
tuning.record @a_product {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "znver3, 2 threads", choices = {product = "library"}}
