// RUN: lect-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: lect-opt %s --allow-unregistered-dialect | lect-opt --allow-unregistered-dialect | filecheck %s

// Names of values: a name from the text is kept, numbers are counted anew in each isolated operation.

// CHECK: builtin.module @numbers {
// CHECK-NEXT:   %0 = "test.make"() : () -> f32
// CHECK-NEXT:   %kept = "test.make"() : () -> f32
// CHECK-NEXT:   %1 = "test.make"() : () -> f32
// CHECK-NEXT:   "test.use"(%0, %kept, %1)
// CHECK-NEXT:   builtin.module @inner {
// CHECK-NEXT:     %0 = "test.make"() : () -> f32
// CHECK-NEXT:     %kept = "test.make"() : () -> f32
builtin.module @numbers {
  %17 = "test.make"() : () -> f32
  %kept = "test.make"() : () -> f32
  %3 = "test.make"() : () -> f32
  "test.use"(%17, %kept, %3) : (f32, f32, f32) -> ()
  builtin.module @inner {
    %5 = "test.make"() : () -> f32
    %kept = "test.make"() : () -> f32
  }
}

// A name in a region that is not isolated must differ from those around it when both are visible, and may repeat when they are not.
// CHECK: builtin.module @regions {
// CHECK: "test.loop"() ({
// CHECK-NEXT: ^bb0(%i: index):
// CHECK-NEXT:   %v = "test.make"(%i)
// CHECK: "test.loop"() ({
// CHECK-NEXT: ^bb0(%[[I:i.*]]: index):
// CHECK-NEXT:   %{{v.*}} = "test.make"(%[[I]])
builtin.module @regions {
  "test.loop"() ({
  ^bb0(%i: index):
    %v = "test.make"(%i) : (index) -> f32
  }) : () -> ()
  "test.loop"() ({
  ^bb0(%i: index):
    %v = "test.make"(%i) : (index) -> f32
  }) : () -> ()
}

// CHECK: builtin.module @several_results {
// CHECK-NEXT: %a, %b = "test.pair"() : () -> (f32, f64)
// CHECK-NEXT: "test.use"(%b, %a) : (f64, f32) -> ()
builtin.module @several_results {
  %a, %b = "test.pair"() : () -> (f32, f64)
  "test.use"(%b, %a) : (f64, f32) -> ()
}

// CHECK: builtin.module @defined_later {
// CHECK: ^bb1:
// CHECK-NEXT: "test.use"(%later)
// CHECK: ^bb2:
// CHECK-NEXT: %later = "test.make"()
builtin.module @defined_later {
  "test.function"() ({
    "test.jump"()[^bb2] : () -> ()
  ^bb1:
    "test.use"(%later) : (f32) -> ()
    "test.end"() : () -> ()
  ^bb2:
    %later = "test.make"() : () -> f32
    "test.jump"()[^bb1] : () -> ()
  }) : () -> ()
}

// CHECK: ^entry_of_loop(%x: f32):
// CHECK-NEXT: "test.jump"(%x)[^entry_of_loop]
builtin.module @labels {
  "test.function"() ({
  ^bb0(%y: f32):
    "test.jump"(%y)[^entry_of_loop] : (f32) -> ()
  ^entry_of_loop(%x: f32):
    "test.jump"(%x)[^entry_of_loop] : (f32) -> ()
  }) : () -> ()
}
