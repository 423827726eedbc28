// RUN: not lect-opt %s --emit triton 2>&1 | filecheck %s

// CHECK: refused.mlir:5:8: error: 'kernel.scratch' has no GPU code
kernel.func @scratch() {grid = [1], axes = #kernel.axes<R: 64 loop>, blocks = #kernel.blocks<R = 16>, target = "cuda"} {
  %s = kernel.scratch() : !kernel.scratch<64xf32>
  kernel.return()
}
