// RUN: lect-opt %s --allow-unregistered-dialect --print-locations | filecheck %s
// RUN: lect-opt %s --allow-unregistered-dialect --print-locations | lect-opt --allow-unregistered-dialect --print-locations | filecheck %s
// RUN: lect-opt %s --allow-unregistered-dialect --print-locations --print-op-generic | lect-opt --allow-unregistered-dialect --print-locations | filecheck %s
// RUN: lect-opt %s --allow-unregistered-dialect | filecheck %s --check-prefix WITHOUT

// WITHOUT-NOT: loc(

// CHECK: "test.plain"() : () -> () loc("m.py":3:8)
"test.plain"() : () -> () loc("m.py":3:8)
// CHECK-NEXT: "test.named"() : () -> () loc("Net.forward"("m.py":3:8))
"test.named"() : () -> () loc("Net.forward"("m.py":3:8))
// CHECK-NEXT: "test.range"() : () -> () loc("m.py":3:8 to 4:2)
"test.range"() : () -> () loc("m.py":3:8 to 4:2)
// CHECK-NEXT: "test.odd"() : () -> () loc("a \"quoted\" file.py":1:0)
"test.odd"() : () -> () loc("a \"quoted\" file.py":1:0)
// CHECK-NEXT: "test.unknown"() : () -> () loc(unknown)
"test.unknown"() : () -> () loc(unknown)
// CHECK: builtin.module @m {
// CHECK-NEXT: } loc("m.py":1:0)
builtin.module @m {
} loc("m.py":1:0)
