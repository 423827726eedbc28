// RUN: not lect-opt %s --emit llvm 2>&1 | filecheck %s

// CHECK: refused.mlir:10:8: error: 'kernel.dot' has no CPU code; matrix products are library calls
kernel.func @product(%a: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<M: 4 whole, K: 4 whole>, blocks = #kernel.blocks<M = 4, K = 4>, vector = "K"} {
  %m = kernel.lanes() {axis = "M"} : !kernel.tile<Mx1xindex>
  %k = kernel.lanes() {axis = "K"} : !kernel.tile<1xKxindex>
  %0 = kernel.load(%a, %m, %k) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : !kernel.tile<MxKxf32>
  %1 = kernel.load(%a, %k) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<1xKxf32>
  %2 = kernel.const() {value = 0.0} : !kernel.tile<Mx1xf32>
  %3 = kernel.dot(%0, %1, %2) {axis = "K"} : !kernel.tile<Mx1xf32>
  kernel.return()
}
