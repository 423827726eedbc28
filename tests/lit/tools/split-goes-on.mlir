// RUN: not lect-opt %s --split-input-file 2>&1 | filecheck %s

// A wrong part does not keep the others from being handled, and lines are those of the file.

// CHECK: fx.graph @first
// CHECK: fx.graph @last
// CHECK: split-goes-on.mlir:16:1: error: unknown operation 'fx.grap'; did you mean 'fx.graph'?
// CHECK-NOT: error
fx.graph @first(%x: !fx.tensor<2xf32>) {
  fx.return(%x)
}

// -----


fx.grap @wrong(%x: !fx.tensor<2xf32>) {
  fx.return(%x)
}

// -----

fx.graph @last(%x: !fx.tensor<2xf32>) {
  fx.return(%x)
}
