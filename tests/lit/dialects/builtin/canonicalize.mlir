// RUN: lect-opt %s -p canonicalize --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: builtin.module @cast_to_the_same_type
// CHECK-NEXT: %[[X:.*]] = "test.make"
// CHECK-NEXT: "test.use"(%[[X]])
builtin.module @cast_to_the_same_type {
  %0 = "test.make"() : () -> f32
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  "test.use"(%1) : (f32) -> ()
}

// CHECK-LABEL: builtin.module @cast_there_and_back
// CHECK-NEXT: %[[X:.*]] = "test.make"
// CHECK-NEXT: "test.use"(%[[X]])
builtin.module @cast_there_and_back {
  %0 = "test.make"() : () -> f32
  %1 = builtin.unrealized_conversion_cast(%0) : index
  %2 = builtin.unrealized_conversion_cast(%1) : f32
  "test.use"(%2) : (f32) -> ()
}

// CHECK-LABEL: builtin.module @no_fold_as_it_never_comes_back
// CHECK: builtin.unrealized_conversion_cast({{.*}}) : index
builtin.module @no_fold_as_it_never_comes_back {
  %0 = "test.make"() : () -> f32
  %1 = builtin.unrealized_conversion_cast(%0) : index
  "test.use"(%1) : (index) -> ()
}
