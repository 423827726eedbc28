// RUN: lect-opt %s -p functional-remove-casts | filecheck %s

// CHECK-LABEL: functional.func @takes_a_cast_back_across_a_view
// CHECK-NEXT: %[[P:.*]] = functional.permute(%x) {dims = [1, 0]} : !functional.tensor<8x4xbf16, strides [1, 8]>
// CHECK-NEXT: functional.return(%[[P]])
functional.func @takes_a_cast_back_across_a_view(%x: !functional.tensor<4x8xbf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<4x8xf32>
  %1 = functional.permute(%0) {dims = [1, 0]} : !functional.tensor<8x4xf32, strides [1, 8]>
  %2 = functional.cast(%1) {to = bf16} : !functional.tensor<8x4xbf16, strides [1, 8]>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @takes_casts_back_across_a_choice
// CHECK-NEXT: %[[M:.*]] = functional.maximum(%x, %y) : !functional.tensor<4xi32>
// CHECK-NEXT: %[[W:.*]] = functional.where(%c, %[[M]], %y) : !functional.tensor<4xi32>
// CHECK-NEXT: functional.return(%[[W]])
functional.func @takes_casts_back_across_a_choice(%c: !functional.tensor<4xi1>, %x: !functional.tensor<4xi32>, %y: !functional.tensor<4xi32>) {
  %0 = functional.cast(%x) {to = f64} : !functional.tensor<4xf64>
  %1 = functional.cast(%y) {to = f64} : !functional.tensor<4xf64>
  %2 = functional.maximum(%0, %1) : !functional.tensor<4xf64>
  %3 = functional.cast(%2) {to = i32} : !functional.tensor<4xi32>
  %4 = functional.cast(%3) {to = f64} : !functional.tensor<4xf64>
  %5 = functional.where(%c, %4, %1) : !functional.tensor<4xf64>
  %6 = functional.cast(%5) {to = i32} : !functional.tensor<4xi32>
  functional.return(%6)
}

// CHECK-LABEL: functional.func @compares_before_the_cast
// CHECK-NEXT: %[[L:.*]] = functional.lt(%x, %y)
// CHECK-NEXT: %[[G:.*]] = functional.gt(%x) {other = 0}
// CHECK-NEXT: %[[N:.*]] = functional.isnan(%x)
// CHECK-NEXT: functional.return(%[[L]], %[[G]], %[[N]])
functional.func @compares_before_the_cast(%x: !functional.tensor<4xf16>, %y: !functional.tensor<4xf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<4xf32>
  %1 = functional.cast(%y) {to = f32} : !functional.tensor<4xf32>
  %2 = functional.lt(%0, %1) : !functional.tensor<4xi1>
  %3 = functional.gt(%0) {other = 0} : !functional.tensor<4xi1>
  %4 = functional.isnan(%0) : !functional.tensor<4xi1>
  functional.return(%2, %3, %4)
}

// CHECK-LABEL: functional.func @converts_what_is_read
// CHECK-NEXT: %[[S:.*]] = functional.index(%table, %i) {dims = [0]} : !functional.tensor<3x8xf32>
// CHECK-NEXT: %[[C:.*]] = functional.cast(%[[S]]) {to = bf16} : !functional.tensor<3x8xbf16>
// CHECK-NEXT: functional.return(%[[C]])
functional.func @converts_what_is_read(%table: !functional.tensor<100x8xf32>, %i: !functional.tensor<3xi64>) {
  %0 = functional.cast(%table) {to = bf16} : !functional.tensor<100x8xbf16>
  %1 = functional.index(%0, %i) {dims = [0]} : !functional.tensor<3x8xbf16>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @returns_what_was_computed
// CHECK-NEXT: %[[M:.*]] = functional.mm(%x, %x)
// CHECK-NEXT: functional.return(%[[M]])
functional.func @returns_what_was_computed(%x: !functional.tensor<4x4xf32>) {
  %0 = functional.mm(%x, %x) : !functional.tensor<4x4xf32>
  %1 = functional.copy(%0) : !functional.tensor<4x4xf32>
  functional.return(%1)
}

// i64 has numbers that f32 has not, and bf16 is no part of f16.
// CHECK-LABEL: functional.func @no_removal_as_the_cast_loses_numbers
// CHECK-COUNT-4: functional.cast
functional.func @no_removal_as_the_cast_loses_numbers(%x: !functional.tensor<4x8xi64>, %y: !functional.tensor<4x8xbf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<4x8xf32>
  %1 = functional.permute(%0) {dims = [1, 0]} : !functional.tensor<8x4xf32, strides [1, 8]>
  %2 = functional.cast(%1) {to = i64} : !functional.tensor<8x4xi64, strides [1, 8]>
  %3 = functional.cast(%y) {to = f16} : !functional.tensor<4x8xf16>
  %4 = functional.permute(%3) {dims = [1, 0]} : !functional.tensor<8x4xf16, strides [1, 8]>
  %5 = functional.cast(%4) {to = bf16} : !functional.tensor<8x4xbf16, strides [1, 8]>
  functional.return(%2, %5)
}

// CHECK-LABEL: functional.func @no_removal_as_the_operation_rounds
// CHECK-COUNT-2: functional.cast
functional.func @no_removal_as_the_operation_rounds(%x: !functional.tensor<4xbf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<4xf32>
  %1 = functional.exp(%0) : !functional.tensor<4xf32>
  %2 = functional.cast(%1) {to = bf16} : !functional.tensor<4xbf16>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_removal_as_the_value_is_used_wide
// CHECK-COUNT-2: functional.cast
functional.func @no_removal_as_the_value_is_used_wide(%x: !functional.tensor<4xbf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<4xf32>
  %1 = functional.relu(%0) : !functional.tensor<4xf32>
  %2 = functional.cast(%1) {to = bf16} : !functional.tensor<4xbf16>
  functional.return(%1, %2)
}

// The number 0.1 is none of f16, and a float may lie between two integers.
// CHECK-LABEL: functional.func @no_comparison_with_a_number_of_the_wide_type
// CHECK-COUNT-2: functional.cast
functional.func @no_comparison_with_a_number_of_the_wide_type(%x: !functional.tensor<4xf16>, %i: !functional.tensor<4xi32>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<4xf32>
  %1 = functional.lt(%0) {other = 0.1} : !functional.tensor<4xi1>
  %2 = functional.cast(%i) {to = f64} : !functional.tensor<4xf64>
  %3 = functional.lt(%2) {other = 0.5} : !functional.tensor<4xi1>
  functional.return(%1, %3)
}

// CHECK-LABEL: functional.func @no_comparison_of_two_types
// CHECK-COUNT-2: functional.cast
functional.func @no_comparison_of_two_types(%x: !functional.tensor<4xf16>, %y: !functional.tensor<4xbf16>) {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<4xf32>
  %1 = functional.cast(%y) {to = f32} : !functional.tensor<4xf32>
  %2 = functional.lt(%0, %1) : !functional.tensor<4xi1>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_later_cast_as_the_value_is_used_whole
// CHECK: functional.cast
// CHECK-NEXT: functional.slice
functional.func @no_later_cast_as_the_value_is_used_whole(%x: !functional.tensor<8xf32>) {
  %0 = functional.cast(%x) {to = f16} : !functional.tensor<8xf16>
  %1 = functional.slice(%0) {dim = 0, start = 0, end = 2} : !functional.tensor<2xf16>
  functional.return(%0, %1)
}

// CHECK-LABEL: functional.func @no_removal_of_a_copy_of_an_opaque_result
// CHECK: functional.copy
functional.func @no_removal_of_a_copy_of_an_opaque_result(%x: !functional.tensor<8xf32>) {
  %0 = functional.opaque(%x) {target = @aten.view.dtype, args = [#functional.operand<0>, i32]} : !functional.tensor<8xi32>
  %1 = functional.copy(%0) : !functional.tensor<8xi32>
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_removal_of_a_copy_of_an_input_a_view_or_another_result
// CHECK-COUNT-3: functional.copy
functional.func @no_removal_of_a_copy_of_an_input_a_view_or_another_result(%x: !functional.tensor<8xf32>) {
  %0 = functional.copy(%x) : !functional.tensor<8xf32>
  %1 = functional.exp(%x) : !functional.tensor<8xf32>
  %2 = functional.slice(%1) {dim = 0, start = 0, end = 2} : !functional.tensor<2xf32>
  %3 = functional.copy(%2) : !functional.tensor<2xf32>
  %4 = functional.sin(%x) : !functional.tensor<8xf32>
  %5 = functional.copy(%4) : !functional.tensor<8xf32>
  functional.return(%0, %3, %4, %5)
}
