// configuration: -p 'canonicalize,dce' --allow-unregistered-dialect
// RUN: lect-opt --run-reproducer %s | filecheck %s
// RUN: not lect-opt --run-reproducer %S/Inputs/unmet.mlir 2>&1 | filecheck %s --check-prefix NONE

// The flags are those of the configuration line.

// NONE: lect-opt: error: {{.*}}unmet.mlir' is no reproducer: it has no line '// configuration: ...'

// CHECK: %0 = "test.make"
// CHECK-NEXT: "test.use"(%0)
%0 = "test.make"() : () -> f32
%1 = builtin.unrealized_conversion_cast(%0) : f64
%2 = builtin.unrealized_conversion_cast(%1) : f32
"test.use"(%2) : (f32) -> ()
