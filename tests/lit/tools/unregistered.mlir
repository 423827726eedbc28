// RUN: lect-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: not lect-opt %s 2>&1 | filecheck %s --check-prefix REFUSED

// CHECK: "test.op"() {a = 1 : i64} : () -> ()
// REFUSED: unregistered.mlir:6:1: error: unknown dialect 'test'; known are builtin
"test.op"() {a = 1} : () -> ()
