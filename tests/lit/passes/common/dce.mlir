// RUN: lect-opt %s -p dce --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: builtin.module @removes_unused_chain
// CHECK-NEXT: %{{.*}} = "test.make"
// CHECK-NEXT: }
builtin.module @removes_unused_chain {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  %2 = builtin.unrealized_conversion_cast(%1) : f16
}

// CHECK-LABEL: builtin.module @removes_inside_of_regions
// CHECK: "test.loop"() ({
// CHECK-NEXT:   "test.end"()
builtin.module @removes_inside_of_regions {
  %0 = "test.make"() : () -> f64
  "test.loop"() ({
    %1 = builtin.unrealized_conversion_cast(%0) : f32
    "test.end"() : () -> ()
  }) : () -> ()
}

// CHECK-LABEL: builtin.module @removes_unreachable_blocks
// CHECK-NOT: test.lost
// CHECK: "test.end"
// CHECK-NOT: test.lost
builtin.module @removes_unreachable_blocks {
  "test.function"() ({
    "test.jump"()[^end] : () -> ()
  ^lost(%x: f64):
    %0 = "test.lost"(%x) : (f64) -> f64
    "test.jump"(%0)[^lost_too] : (f64) -> ()
  ^lost_too:
    "test.lost"(%0) : (f64) -> ()
    "test.jump"(%0)[^lost] : (f64) -> ()
  ^end:
    "test.end"() : () -> ()
  }) : () -> ()
}

// CHECK-LABEL: builtin.module @no_removal_as_the_nested_region_uses_it
// CHECK: builtin.unrealized_conversion_cast
builtin.module @no_removal_as_the_nested_region_uses_it {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  "test.loop"() ({
    "test.use"(%1) : (f32) -> ()
  }) : () -> ()
}

// CHECK-LABEL: builtin.module @no_removal_as_the_effect_is_unknown
// CHECK-NEXT: %{{.*}} = "test.make"
builtin.module @no_removal_as_the_effect_is_unknown {
  %0 = "test.make"() : () -> f64
}

// CHECK-LABEL: builtin.module @no_removal_of_arguments_as_the_branch_is_unknown
// CHECK: ^{{.*}}(%{{.*}}: f64):
builtin.module @no_removal_of_arguments_as_the_branch_is_unknown {
  "test.function"() ({
  ^bb0(%x: f64):
    "test.jump"(%x)[^end] : (f64) -> ()
  ^end(%unused: f64):
    "test.end"() : () -> ()
  }) : () -> ()
}
