// RUN: lect-opt %s --split-input-file | filecheck %s
// RUN: lect-opt %s --split-input-file | lect-opt --split-input-file | filecheck %s
// RUN: not lect-opt %s -o %t 2>&1 | filecheck %s --check-prefix WHOLE

// Without the flag the parts are one file, in which the alias is defined twice.
// WHOLE: split-input-file.mlir:14:1: error: alias !t is defined twice

// CHECK: %x: !fx.tensor<2xf32>
// CHECK: // -----
// CHECK: %x: !fx.tensor<3xf32>
!t = !fx.tensor<2xf32>
fx.graph @a(%x: !t) { fx.return(%x) }
// -----
!t = !fx.tensor<3xf32>
fx.graph @b(%x: !t) { fx.return(%x) }
