// RUN: lect-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: lect-opt %s --allow-unregistered-dialect | lect-opt --allow-unregistered-dialect | filecheck %s
// RUN: lect-opt %s --allow-unregistered-dialect --print-op-generic | lect-opt --allow-unregistered-dialect | filecheck %s

// CHECK: builtin.module @outer {lect.version = "1"} {
// CHECK-NEXT: %[[X:.*]] = "test.make"() : () -> !fx.tensor<2xf32>
// CHECK-NEXT: %{{.*}} = builtin.unrealized_conversion_cast(%[[X]]) : f32
// CHECK-NEXT: builtin.module @inner {
// CHECK-NEXT: }
// CHECK-NEXT: }
builtin.module @outer {lect.version = "1"} {
  %0 = "test.make"() : () -> !fx.tensor<2xf32>
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  builtin.module @inner {
  }
}
