// RUN: lect-opt %s -p 'functional-match-attention{numerics=fused},dce' | filecheck %s
// RUN: lect-opt %s -p functional-match-attention | filecheck %s --check-prefix=EAGER
// EAGER-NOT: functional.attention

// CHECK-LABEL: functional.func @matches_scale_and_mask
// CHECK-NEXT: %[[O:.*]], %{{.*}} = functional.attention(%q, %k, %v, %mask) {scale = 0.5}
// CHECK-NEXT: functional.return(%[[O]])
functional.func @matches_scale_and_mask(%q: !functional.tensor<2x3x8x4xf32>, %k: !functional.tensor<2x3x8x4xf32>, %v: !functional.tensor<2x3x8x4xf32>, %mask: !functional.tensor<2x1x8x8xf32>) {
  %0 = functional.permute(%k) {dims = [0, 1, 3, 2]} : !functional.tensor<2x3x4x8xf32, strides [96, 32, 1, 4]>
  %1 = functional.reshape(%q) {shape = [6, 8, 4]} : !functional.tensor<6x8x4xf32>
  %2 = functional.reshape(%0) {shape = [6, 4, 8]} : !functional.tensor<6x4x8xf32, strides [32, 1, 4]>
  %3 = functional.bmm(%1, %2) : !functional.tensor<6x8x8xf32>
  %4 = functional.reshape(%3) {shape = [2, 3, 8, 8]} : !functional.tensor<2x3x8x8xf32>
  %5 = functional.mul(%4) {other = 0.5} : !functional.tensor<2x3x8x8xf32>
  %6 = functional.add(%5, %mask) : !functional.tensor<2x3x8x8xf32>
  %7 = functional.softmax(%6) {dim = 3} : !functional.tensor<2x3x8x8xf32>
  %8 = functional.reshape(%7) {shape = [6, 8, 8]} : !functional.tensor<6x8x8xf32>
  %9 = functional.reshape(%v) {shape = [6, 8, 4]} : !functional.tensor<6x8x4xf32>
  %10 = functional.bmm(%8, %9) : !functional.tensor<6x8x4xf32>
  %11 = functional.reshape(%10) {shape = [2, 3, 8, 4]} : !functional.tensor<2x3x8x4xf32>
  functional.return(%11)
}

// Products of three dims are one batch of heads; weights computed in f32 are f16 again before the second product.
// CHECK-LABEL: functional.func @matches_three_dims_and_wide_weights
// CHECK: functional.attention(%{{.*}}, %{{.*}}, %{{.*}}) {scale = 0.25}
// CHECK-NOT: functional.bmm
functional.func @matches_three_dims_and_wide_weights(%q: !functional.tensor<6x8x4xf16>, %kt: !functional.tensor<6x4x8xf16>, %v: !functional.tensor<6x8x4xf16>) {
  %0 = functional.bmm(%q, %kt) : !functional.tensor<6x8x8xf16>
  %1 = functional.div(%0) {other = 4.0} : !functional.tensor<6x8x8xf16>
  %2 = functional.softmax(%1) {dim = 2, element = f32} : !functional.tensor<6x8x8xf32>
  %3 = functional.cast(%2) {to = f16} : !functional.tensor<6x8x8xf16>
  %4 = functional.bmm(%3, %v) : !functional.tensor<6x8x4xf16>
  functional.return(%4)
}

// CHECK-LABEL: functional.func @matches_the_lower_triangle
// CHECK: functional.attention(%{{.*}}, %{{.*}}, %{{.*}}) {is_causal = true, scale = 1.0}
functional.func @matches_the_lower_triangle(%q: !functional.tensor<6x8x4xf32>, %kt: !functional.tensor<6x4x8xf32>, %v: !functional.tensor<6x8x4xf32>) {
  %0 = functional.iota() {size = 8} : !functional.tensor<8xi64>
  %1 = functional.reshape(%0) {shape = [8, 1]} : !functional.tensor<8x1xi64>
  %2 = functional.le(%0, %1) : !functional.tensor<8x8xi1>
  %3 = functional.full() {shape = [], value = -inf, element = f32} : !functional.tensor<f32>
  %4 = functional.bmm(%q, %kt) : !functional.tensor<6x8x8xf32>
  %5 = functional.where(%2, %4, %3) : !functional.tensor<6x8x8xf32>
  %6 = functional.softmax(%5) {dim = 2} : !functional.tensor<6x8x8xf32>
  %7 = functional.bmm(%6, %v) : !functional.tensor<6x8x4xf32>
  functional.return(%7)
}

// CHECK-LABEL: functional.func @matches_what_masked_fill_hides
// CHECK: %[[W:.*]] = functional.where(%m, %{{.*}}, %{{.*}}) : !functional.tensor<8x8xf32>
// CHECK: %[[R:.*]] = functional.reshape(%[[W]]) {shape = [1, 1, 8, 8]}
// CHECK: functional.attention(%{{.*}}, %{{.*}}, %{{.*}}, %[[R]])
functional.func @matches_what_masked_fill_hides(%q: !functional.tensor<6x8x4xf32>, %kt: !functional.tensor<6x4x8xf32>, %v: !functional.tensor<6x8x4xf32>, %m: !functional.tensor<8x8xi1>) {
  %0 = functional.bmm(%q, %kt) : !functional.tensor<6x8x8xf32>
  %1 = functional.masked_fill(%0, %m) {other = -inf} : !functional.tensor<6x8x8xf32>
  %2 = functional.softmax(%1) {dim = 2} : !functional.tensor<6x8x8xf32>
  %3 = functional.bmm(%2, %v) : !functional.tensor<6x8x4xf32>
  functional.return(%3)
}

// CHECK-LABEL: functional.func @no_match_as_the_weights_are_returned
// CHECK-NOT: functional.attention
// CHECK: functional.return
functional.func @no_match_as_the_weights_are_returned(%q: !functional.tensor<6x8x4xf32>, %kt: !functional.tensor<6x4x8xf32>, %v: !functional.tensor<6x8x4xf32>) {
  %0 = functional.bmm(%q, %kt) : !functional.tensor<6x8x8xf32>
  %1 = functional.softmax(%0) {dim = 2} : !functional.tensor<6x8x8xf32>
  %2 = functional.bmm(%1, %v) : !functional.tensor<6x8x4xf32>
  functional.return(%2, %1)
}

// CHECK-LABEL: functional.func @no_match_as_softmax_is_over_the_rows
// CHECK-NOT: functional.attention
// CHECK: functional.return
functional.func @no_match_as_softmax_is_over_the_rows(%q: !functional.tensor<6x8x4xf32>, %kt: !functional.tensor<6x4x8xf32>, %v: !functional.tensor<6x8x4xf32>) {
  %0 = functional.bmm(%q, %kt) : !functional.tensor<6x8x8xf32>
  %1 = functional.softmax(%0) {dim = 1} : !functional.tensor<6x8x8xf32>
  %2 = functional.bmm(%1, %v) : !functional.tensor<6x8x4xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_match_as_the_number_hides_nothing
// CHECK-NOT: functional.attention
// CHECK: functional.return
functional.func @no_match_as_the_number_hides_nothing(%q: !functional.tensor<6x8x4xf32>, %kt: !functional.tensor<6x4x8xf32>, %v: !functional.tensor<6x8x4xf32>, %m: !functional.tensor<8x8xi1>) {
  %0 = functional.bmm(%q, %kt) : !functional.tensor<6x8x8xf32>
  %1 = functional.masked_fill(%0, %m) {other = -1.0} : !functional.tensor<6x8x8xf32>
  %2 = functional.softmax(%1) {dim = 2} : !functional.tensor<6x8x8xf32>
  %3 = functional.bmm(%2, %v) : !functional.tensor<6x8x4xf32>
  functional.return(%3)
}

// CHECK-LABEL: functional.func @no_match_as_values_are_wider_than_keys
// CHECK-NOT: functional.attention
// CHECK: functional.return
functional.func @no_match_as_values_are_wider_than_keys(%q: !functional.tensor<6x8x4xf32>, %kt: !functional.tensor<6x4x8xf32>, %v: !functional.tensor<6x8x5xf32>) {
  %0 = functional.bmm(%q, %kt) : !functional.tensor<6x8x8xf32>
  %1 = functional.softmax(%0) {dim = 2} : !functional.tensor<6x8x8xf32>
  %2 = functional.bmm(%1, %v) : !functional.tensor<6x8x5xf32>
  functional.return(%2)
}

// The mask is scaled too.
// CHECK-LABEL: functional.func @no_match_as_the_scale_is_behind_the_mask
// CHECK-NOT: functional.attention
// CHECK: functional.return
functional.func @no_match_as_the_scale_is_behind_the_mask(%q: !functional.tensor<6x8x4xf32>, %kt: !functional.tensor<6x4x8xf32>, %v: !functional.tensor<6x8x4xf32>, %m: !functional.tensor<8x8xf32>) {
  %0 = functional.bmm(%q, %kt) : !functional.tensor<6x8x8xf32>
  %1 = functional.add(%0, %m) : !functional.tensor<6x8x8xf32>
  %2 = functional.mul(%1) {other = 0.5} : !functional.tensor<6x8x8xf32>
  %3 = functional.softmax(%2) {dim = 2} : !functional.tensor<6x8x8xf32>
  %4 = functional.bmm(%3, %v) : !functional.tensor<6x8x4xf32>
  functional.return(%4)
}
