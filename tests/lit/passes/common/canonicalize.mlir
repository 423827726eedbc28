// RUN: lect-opt %s -p canonicalize --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: builtin.module @folds_cast_back_to_its_own_type
// CHECK: %[[X:.*]] = "test.make"
// CHECK-NEXT: "test.use"(%[[X]])
// CHECK-NEXT: }
builtin.module @folds_cast_back_to_its_own_type {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  %2 = builtin.unrealized_conversion_cast(%1) : f64
  "test.use"(%2) : (f64) -> ()
}

// CHECK-LABEL: builtin.module @folds_through_a_chain
// CHECK: %[[X:.*]] = "test.make"
// CHECK-NEXT: "test.use"(%[[X]])
// CHECK-NEXT: }
builtin.module @folds_through_a_chain {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  %2 = builtin.unrealized_conversion_cast(%1) : f16
  %3 = builtin.unrealized_conversion_cast(%2) : f64
  "test.use"(%3) : (f64) -> ()
}

// CHECK-LABEL: builtin.module @folds_inside_of_regions
// CHECK: %[[X:.*]] = "test.make"
// CHECK-NEXT: "test.loop"() ({
// CHECK-NEXT:   "test.use"(%[[X]])
// CHECK-NEXT: })
builtin.module @folds_inside_of_regions {
  %0 = "test.make"() : () -> f64
  "test.loop"() ({
    %1 = builtin.unrealized_conversion_cast(%0) : f64
    "test.use"(%1) : (f64) -> ()
  }) : () -> ()
}

// CHECK-LABEL: builtin.module @removes_dead_chain
// CHECK-NEXT: %{{.*}} = "test.make"
// CHECK-NEXT: }
builtin.module @removes_dead_chain {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  %2 = builtin.unrealized_conversion_cast(%1) : f16
}

// CHECK-LABEL: builtin.module @no_fold_as_the_type_differs
// CHECK: %[[X:.*]] = "test.make"
// CHECK-NEXT: %[[Y:.*]] = builtin.unrealized_conversion_cast(%[[X]]) : f32
// CHECK-NEXT: "test.use"(%[[Y]])
builtin.module @no_fold_as_the_type_differs {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  "test.use"(%1) : (f32) -> ()
}

// CHECK-LABEL: builtin.module @no_removal_as_the_effect_is_unknown
// CHECK-NEXT: %{{.*}} = "test.make"
builtin.module @no_removal_as_the_effect_is_unknown {
  %0 = "test.make"() : () -> f64
}
