// RUN: lect-opt %s --split-input-file --verify-diagnostics
// RUN: not lect-opt %S/Inputs/unmet.mlir --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// Places may be given in five ways.

// expected-error @+1 {{unknown dialect 'a'}}
a.b()

// -----

a.b() // expected-error {{unknown dialect 'a'; known are builtin}}

// -----

a.b()
// expected-error @-1 {{unknown dialect 'a'}}

// -----

// expected-error @below {{unknown dialect 'a'}}
a.b()

// -----

a.b()
// expected-error @above {{unknown dialect 'a'}}

// -----

// expected-error @unknown {{'fx.return' must stand inside 'fx.graph'}}
fx.return() loc("elsewhere.py":3:1)

// CHECK: unmet.mlir:2:1: error: expected error 'something else' on line 3 did not appear
// CHECK: unmet.mlir:8:1: error: expected error 'unknown dialect' on line 8 did not appear
// CHECK: unmet.mlir:12:1: error: expected remark 'nothing' on line 13 did not appear
// CHECK: unmet.mlir:17:4: error: an expectation is written
