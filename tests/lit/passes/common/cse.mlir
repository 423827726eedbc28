// RUN: lect-opt %s -p cse --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: builtin.module @merges_equal_casts
// CHECK: %[[A:.*]] = builtin.unrealized_conversion_cast
// CHECK-NEXT: "test.use"(%[[A]], %[[A]])
builtin.module @merges_equal_casts {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  %2 = builtin.unrealized_conversion_cast(%0) : f32
  "test.use"(%1, %2) : (f32, f32) -> ()
}

// CHECK-LABEL: builtin.module @merges_what_becomes_equal
// CHECK: %[[A:.*]] = builtin.unrealized_conversion_cast(%{{.*}}) : f32
// CHECK-NEXT: %[[B:.*]] = builtin.unrealized_conversion_cast(%[[A]]) : f16
// CHECK-NEXT: "test.use"(%[[B]], %[[B]])
builtin.module @merges_what_becomes_equal {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  %2 = builtin.unrealized_conversion_cast(%0) : f32
  %3 = builtin.unrealized_conversion_cast(%1) : f16
  %4 = builtin.unrealized_conversion_cast(%2) : f16
  "test.use"(%3, %4) : (f16, f16) -> ()
}

// CHECK-LABEL: builtin.module @merges_into_nested_region
// CHECK: %[[A:.*]] = builtin.unrealized_conversion_cast
// CHECK: "test.loop"() ({
// CHECK-NEXT: "test.use"(%[[A]])
builtin.module @merges_into_nested_region {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  "test.use"(%1) : (f32) -> ()
  "test.loop"() ({
    %2 = builtin.unrealized_conversion_cast(%0) : f32
    "test.use"(%2) : (f32) -> ()
  }) : () -> ()
}

// CHECK-LABEL: builtin.module @no_merge_out_of_nested_region
// CHECK: "test.loop"() ({
// CHECK-NEXT: builtin.unrealized_conversion_cast
// CHECK: })
// CHECK-NEXT: builtin.unrealized_conversion_cast
builtin.module @no_merge_out_of_nested_region {
  %0 = "test.make"() : () -> f64
  "test.loop"() ({
    %1 = builtin.unrealized_conversion_cast(%0) : f32
    "test.use"(%1) : (f32) -> ()
  }) : () -> ()
  %2 = builtin.unrealized_conversion_cast(%0) : f32
  "test.use"(%2) : (f32) -> ()
}

// CHECK-LABEL: builtin.module @no_merge_as_result_types_differ
// CHECK: builtin.unrealized_conversion_cast({{.*}}) : f32
// CHECK-NEXT: builtin.unrealized_conversion_cast({{.*}}) : f16
builtin.module @no_merge_as_result_types_differ {
  %0 = "test.make"() : () -> f64
  %1 = builtin.unrealized_conversion_cast(%0) : f32
  %2 = builtin.unrealized_conversion_cast(%0) : f16
  "test.use"(%1, %2) : (f32, f16) -> ()
}

// CHECK-LABEL: builtin.module @no_merge_as_the_effect_is_unknown
// CHECK-COUNT-2: "test.make"
builtin.module @no_merge_as_the_effect_is_unknown {
  %0 = "test.make"() : () -> f64
  %1 = "test.make"() : () -> f64
}

// CHECK-LABEL: builtin.module @merges_where_the_first_block_dominates
// CHECK: ^bb0(%[[C:.*]]: i1, %[[X:.*]]: f64):
// CHECK-NEXT: %[[A:.*]] = builtin.unrealized_conversion_cast(%[[X]]) : f32
// CHECK-NEXT: "test.branch"
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: "test.use"(%[[A]])
builtin.module @merges_where_the_first_block_dominates {
  "test.function"() ({
  ^bb0(%condition: i1, %x: f64):
    %1 = builtin.unrealized_conversion_cast(%x) : f32
    "test.branch"(%condition, %1)[^bb1, ^bb2] : (i1, f32) -> ()
  ^bb1:
    %2 = builtin.unrealized_conversion_cast(%x) : f32
    "test.use"(%2) : (f32) -> ()
    "test.jump"()[^bb2] : () -> ()
  ^bb2:
    "test.end"() : () -> ()
  }) : () -> ()
}

// CHECK-LABEL: builtin.module @no_merge_between_sibling_blocks
// CHECK: ^bb1:
// CHECK-NEXT: builtin.unrealized_conversion_cast
// CHECK: ^bb2:
// CHECK-NEXT: builtin.unrealized_conversion_cast
builtin.module @no_merge_between_sibling_blocks {
  "test.function"() ({
  ^bb0(%condition: i1, %x: f64):
    "test.branch"(%condition)[^bb1, ^bb2] : (i1) -> ()
  ^bb1:
    %1 = builtin.unrealized_conversion_cast(%x) : f32
    "test.end"(%1) : (f32) -> ()
  ^bb2:
    %2 = builtin.unrealized_conversion_cast(%x) : f32
    "test.end"(%2) : (f32) -> ()
  }) : () -> ()
}

// Random numbers of one seed and one stream are the same numbers; another stream or another seed has others.
// CHECK-LABEL: functional.func @equal_streams(%s: !functional.tensor<i64>, %t: !functional.tensor<i64>) {
// CHECK-NEXT: %[[A:.*]] = functional.rand(%s) {shape = [8], element = f32, offset = 1} : !functional.tensor<8xf32>
// CHECK-NEXT: %[[B:.*]] = functional.rand(%s) {shape = [8], element = f32, offset = 2} : !functional.tensor<8xf32>
// CHECK-NEXT: %[[C:.*]] = functional.rand(%t) {shape = [8], element = f32, offset = 1} : !functional.tensor<8xf32>
// CHECK-NEXT: functional.return(%[[A]], %[[A]], %[[B]], %[[C]])
functional.func @equal_streams(%s: !functional.tensor<i64>, %t: !functional.tensor<i64>) {
  %0 = functional.rand(%s) {shape = [8], element = f32, offset = 1} : !functional.tensor<8xf32>
  %1 = functional.rand(%s) {shape = [8], element = f32, offset = 1} : !functional.tensor<8xf32>
  %2 = functional.rand(%s) {shape = [8], element = f32, offset = 2} : !functional.tensor<8xf32>
  %3 = functional.rand(%t) {shape = [8], element = f32, offset = 1} : !functional.tensor<8xf32>
  functional.return(%0, %1, %2, %3)
}

// Each call draws from the generator.
// CHECK-LABEL: functional.func @no_merge_of_draws
// CHECK-COUNT-2: functional.opaque() {target = @aten.rand.default
functional.func @no_merge_of_draws() {
  %0 = functional.opaque() {target = @aten.rand.default, args = [[8]]} : !functional.tensor<8xf32>
  %1 = functional.opaque() {target = @aten.rand.default, args = [[8]]} : !functional.tensor<8xf32>
  functional.return(%0, %1)
}
