// RUN: lect-opt %s -p strip-loc --print-locations --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: builtin.module @locations
// CHECK-NEXT: "test.inner"() ({
// CHECK-NEXT:   "test.op"() : () -> () loc(unknown)
// CHECK-NEXT: }) : () -> () loc(unknown)
// CHECK-NEXT: } loc(unknown)
builtin.module @locations {
  "test.inner"() ({
    "test.op"() : () -> () loc("model.py":3:8)
  }) : () -> () loc("Net.forward"("model.py":2:4))
}
