// RUN: lect-opt %s -p functional-seed-random --split-input-file | filecheck %s
// RUN: lect-opt %s -p functional-seed-random{rng=eager} --split-input-file | filecheck %s --check-prefix EAGER

// A dropout of F.dropout; the seed is drawn first, and the operand whose elements do not matter is not read.
// CHECK-LABEL: functional.func @dropout
// CHECK-NEXT: %seed = functional.opaque() {target = @aten.randint.low, args = [-9223372036854775808, 9223372036854775807, []], kwargs = {dtype = i64}} : !functional.tensor<i64>
// CHECK-NEXT: functional.exp
// CHECK-NEXT: functional.undefined
// CHECK-NEXT: %[[U:.*]] = functional.rand(%seed) {shape = [4, 8], element = f32} : !functional.tensor<4x8xf32>
// CHECK-NEXT: %[[M:.*]] = functional.lt(%[[U]]) {other = 0.7} : !functional.tensor<4x8xi1>
// CHECK-NEXT: %[[N:.*]] = functional.cast(%[[M]]) {to = bf16} : !functional.tensor<4x8xbf16>
// CHECK-NEXT: functional.div(%[[N]]) {other = 0.7} : !functional.tensor<4x8xbf16>
functional.func @dropout(%x: !functional.tensor<4x8xbf16>) {
  %0 = functional.exp(%x) : !functional.tensor<4x8xbf16>
  %1 = functional.undefined() {shape = [4, 8], element = bf16} : !functional.tensor<4x8xbf16>
  %2 = functional.opaque(%1) {target = @aten.bernoulli.p, args = [#functional.operand<0>, 0.7]} : !functional.tensor<4x8xbf16>
  %3 = functional.div(%2) {other = 0.7} : !functional.tensor<4x8xbf16>
  %4 = functional.mul(%0, %3) : !functional.tensor<4x8xbf16>
  functional.return(%4)
}

// -----
// Every operator has a stream of its own; layouts stay.
// CHECK-LABEL: functional.func @streams
// CHECK: functional.rand(%seed) {shape = [2, 3], element = f64} : !functional.tensor<2x3xf64>
// CHECK-NEXT: functional.rand(%seed) {shape = [2, 3], element = f32, offset = 1, strides = [1, 2]} : !functional.tensor<2x3xf32, strides [1, 2]>
// CHECK-NEXT: functional.randn(%seed) {shape = [2, 3], element = f32, offset = 2} : !functional.tensor<2x3xf32>
// CHECK-NEXT: functional.randint(%seed) {shape = [5], element = i64, high = 9, low = -3, offset = 3} : !functional.tensor<5xi64>
// CHECK-NEXT: functional.randint(%seed) {shape = [5], element = f16, high = 9, offset = 4} : !functional.tensor<5xf16>
// With eager's numbers nothing changes.
// EAGER-LABEL: functional.func @streams
// EAGER-NOT: functional.rand
// EAGER: functional.return
functional.func @streams(%x: !functional.tensor<2x3xf32, strides [1, 2]>, %y: !functional.tensor<5xf16>) {
  %0 = functional.opaque() {target = @aten.rand.default, args = [[2, 3]], kwargs = {dtype = f64, device = {device = "cpu"}, pin_memory = false}} : !functional.tensor<2x3xf64>
  %1 = functional.opaque(%x) {target = @aten.rand_like.default, args = [#functional.operand<0>], kwargs = {pin_memory = false}} : !functional.tensor<2x3xf32, strides [1, 2]>
  %2 = functional.opaque() {target = @aten.randn.default, args = [[2, 3]], kwargs = {pin_memory = false}} : !functional.tensor<2x3xf32>
  %3 = functional.opaque() {target = @aten.randint.low, args = [-3, 9, [5]], kwargs = {pin_memory = false}} : !functional.tensor<5xi64>
  %4 = functional.opaque(%y) {target = @aten.randint_like.default, args = [#functional.operand<0>, 9]} : !functional.tensor<5xf16>
  functional.return(%0, %1, %2, %3, %4)
}

// -----
// What the in-place operators fill a tensor with; halves are computed in f32.
// CHECK-LABEL: functional.func @filled
// CHECK: %[[U:.*]] = functional.rand(%seed) {shape = [4], element = f32} : !functional.tensor<4xf32>
// CHECK-NEXT: %[[S:.*]] = functional.mul(%[[U]]) {other = 5.0} : !functional.tensor<4xf32>
// CHECK-NEXT: functional.add(%[[S]]) {other = -2.0} : !functional.tensor<4xf32>
// CHECK-NEXT: %[[N:.*]] = functional.randn(%seed) {shape = [4], element = f32, offset = 1} : !functional.tensor<4xf32>
// CHECK-NEXT: %[[T:.*]] = functional.mul(%[[N]]) {other = 3.0} : !functional.tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = functional.add(%[[T]]) {other = 1.0} : !functional.tensor<4xf32>
// CHECK-NEXT: functional.cast(%[[A]]) {to = bf16} : !functional.tensor<4xbf16>
// CHECK-NEXT: %[[V:.*]] = functional.rand(%seed) {shape = [4], element = f32, offset = 2} : !functional.tensor<4xf32>
// CHECK-NEXT: %[[P:.*]] = functional.clamp(%[[V]]) {min = 2.9802322387695312e-08} : !functional.tensor<4xf32>
// CHECK-NEXT: %[[L:.*]] = functional.log(%[[P]]) : !functional.tensor<4xf32>
// CHECK-NEXT: functional.mul(%[[L]]) {other = -0.5} : !functional.tensor<4xf32>
functional.func @filled(%x: !functional.tensor<4xf32>, %y: !functional.tensor<4xbf16>) {
  %0 = functional.opaque(%x) {target = @aten.uniform.default, args = [#functional.operand<0>, -2.0, 3.0]} : !functional.tensor<4xf32>
  %1 = functional.opaque(%y) {target = @aten.normal_functional.default, args = [#functional.operand<0>, 1.0, 3.0]} : !functional.tensor<4xbf16>
  %2 = functional.opaque(%x) {target = @aten.exponential.default, args = [#functional.operand<0>, 2.0]} : !functional.tensor<4xf32>
  functional.return(%0, %1, %2)
}

// -----
// CHECK-LABEL: functional.func @further_samplers
// CHECK: %[[A:.*]] = functional.randn(%seed) {shape = [4], element = f32} : !functional.tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = functional.mul(%[[A]]) {other = 2.0} : !functional.tensor<4xf32>
// CHECK-NEXT: functional.add(%[[B]], %x) : !functional.tensor<4xf32>
// CHECK: functional.exp({{.*}}) : !functional.tensor<4xf32>
// CHECK: %[[T:.*]] = functional.tan({{.*}}) : !functional.tensor<4xf32>
// CHECK-NEXT: functional.mul(%[[T]]) {other = 3.0} : !functional.tensor<4xf32>
// CHECK: %[[U:.*]] = functional.rand(%seed) {shape = [4], element = f64, offset = 3} : !functional.tensor<4xf64>
// CHECK-NEXT: %[[V:.*]] = functional.clamp(%[[U]]) {min = 5.551115123125783e-17} : !functional.tensor<4xf64>
// CHECK-NEXT: %[[L:.*]] = functional.log(%[[V]]) : !functional.tensor<4xf64>
// CHECK-NEXT: %[[M:.*]] = functional.mul(%[[L]]) {other = -1.4426950408889634} : !functional.tensor<4xf64>
// CHECK-NEXT: %[[C:.*]] = functional.ceil(%[[M]]) : !functional.tensor<4xf64>
// CHECK-NEXT: functional.cast(%[[C]]) {to = i64} : !functional.tensor<4xi64>
// CHECK-NEXT: functional.randint(%seed) {shape = [4], element = f32, high = 16777217, offset = 4} : !functional.tensor<4xf32>
// CHECK-NEXT: functional.randint(%seed) {shape = [4], element = i64, high = 9223372036854775808, offset = 5} : !functional.tensor<4xi64>
functional.func @further_samplers(%x: !functional.tensor<4xf32>, %y: !functional.tensor<4xi64>) {
  %0 = functional.opaque(%x) {target = @aten.normal.Tensor_float, args = [#functional.operand<0>, 2.0]} : !functional.tensor<4xf32>
  %1 = functional.opaque(%x) {target = @aten.log_normal.default, args = [#functional.operand<0>, 1.0, 2.0]} : !functional.tensor<4xf32>
  %2 = functional.opaque(%x) {target = @aten.cauchy.default, args = [#functional.operand<0>, 0.0, 3.0]} : !functional.tensor<4xf32>
  %3 = functional.opaque(%y) {target = @aten.geometric.default, args = [#functional.operand<0>, 0.5]} : !functional.tensor<4xi64>
  %4 = functional.opaque(%x) {target = @aten.random.default, args = [#functional.operand<0>]} : !functional.tensor<4xf32>
  %5 = functional.opaque(%y) {target = @aten.random.default, args = [#functional.operand<0>]} : !functional.tensor<4xi64>
  functional.return(%0, %1, %2, %3, %4, %5)
}

// -----
// A probability near 0 is compared with finer numbers.
// CHECK-LABEL: functional.func @rare
// CHECK: %[[U:.*]] = functional.rand(%seed) {shape = [4], element = f64} : !functional.tensor<4xf64>
// CHECK-NEXT: functional.lt(%[[U]]) {other = 1.0e-05} : !functional.tensor<4xi1>
functional.func @rare(%x: !functional.tensor<4xi1>) {
  %0 = functional.opaque(%x) {target = @aten.bernoulli.p, args = [#functional.operand<0>, 1e-05]} : !functional.tensor<4xi1>
  functional.return(%0)
}

// -----
// CHECK-LABEL: functional.func @dropout_with_its_mask
// CHECK: %[[U:.*]] = functional.rand
// CHECK-NEXT: %[[M:.*]] = functional.lt(%[[U]]) {other = 0.75} : !functional.tensor<8xi1>
// CHECK-NEXT: %[[N:.*]] = functional.cast(%[[M]]) {to = f32} : !functional.tensor<8xf32>
// CHECK-NEXT: %[[P:.*]] = functional.mul(%x, %[[N]]) : !functional.tensor<8xf32>
// CHECK-NEXT: %[[R:.*]] = functional.mul(%[[P]]) {other = 1.3333333333333333} : !functional.tensor<8xf32>
// CHECK-NEXT: functional.return(%[[R]], %[[M]])
functional.func @dropout_with_its_mask(%x: !functional.tensor<8xf32>) {
  %0, %1 = functional.opaque(%x) {target = @aten.native_dropout.default, args = [#functional.operand<0>, 0.25, true]} : (!functional.tensor<8xf32>, !functional.tensor<8xi1>)
  functional.return(%0, %1)
}

// -----
// CHECK-LABEL: functional.func @slopes_of_rrelu
// CHECK: %[[U:.*]] = functional.rand
// CHECK: %[[S:.*]] = functional.add
// CHECK-NEXT: %[[B:.*]] = functional.le(%x) {other = 0.0} : !functional.tensor<8xi1>
// CHECK-NEXT: %[[P:.*]] = functional.mul(%x, %[[S]]) : !functional.tensor<8xf32>
// CHECK-NEXT: %[[ONE:.*]] = functional.full() {shape = [], value = 1.0, element = f32} : !functional.tensor<f32>
// CHECK-NEXT: %[[R:.*]] = functional.where(%[[B]], %[[P]], %x) : !functional.tensor<8xf32>
// CHECK-NEXT: %[[N:.*]] = functional.where(%[[B]], %[[S]], %[[ONE]]) : !functional.tensor<8xf32>
functional.func @slopes_of_rrelu(%x: !functional.tensor<8xf32>) {
  %0 = functional.undefined() {shape = [8], element = f32} : !functional.tensor<8xf32>
  %1, %2 = functional.opaque(%x, %0) {target = @aten.rrelu_with_noise_functional.default, args = [#functional.operand<0>, #functional.operand<1>, 0.1, 0.3, true, none]} : (!functional.tensor<8xf32>, !functional.tensor<8xf32>)
  functional.return(%1, %2)
}

// -----
// Eager takes the memory of such an operand for rows.
// CHECK-LABEL: functional.func @no_slopes_for_what_is_not_contiguous
// CHECK: functional.opaque(%x, %0) {target = @aten.rrelu_with_noise_functional.default
functional.func @no_slopes_for_what_is_not_contiguous(%x: !functional.tensor<2x4xf32, strides [1, 2]>) {
  %0 = functional.undefined() {shape = [2, 4], element = f32} : !functional.tensor<2x4xf32>
  %1, %2 = functional.opaque(%x, %0) {target = @aten.rrelu_with_noise_functional.default, args = [#functional.operand<0>, #functional.operand<1>, 0.1, 0.3, true, none]} : (!functional.tensor<2x4xf32>, !functional.tensor<2x4xf32>)
  functional.return(%1, %2)
}

// -----
// CHECK-LABEL: functional.func @no_seed_as_nothing_is_random
// CHECK-NEXT: functional.exp
functional.func @no_seed_as_nothing_is_random(%x: !functional.tensor<8xf32>) {
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
  functional.return(%0)
}

// -----
// CHECK-LABEL: functional.func @no_seed_as_an_element_may_raise
// CHECK-NEXT: functional.opaque(%x) {target = @aten.poisson.default
// CHECK-NEXT: functional.return
functional.func @no_seed_as_an_element_may_raise(%x: !functional.tensor<8xf32>) {
  %0 = functional.opaque(%x) {target = @aten.poisson.default, args = [#functional.operand<0>]} : !functional.tensor<8xf32>
  functional.return(%0)
}

// -----
// Places are drawn with weights: once each by quotients of weights and exponential numbers, again and again by a search in the running sums.
// CHECK-LABEL: functional.func @places_by_weight
// CHECK:      functional.within(%x) {min = 0.0, {{.*}}message = "probability tensor contains
// CHECK:      functional.rand(%seed) {shape = [8], element = f32}
// CHECK:      functional.within({{.*}}) {max = 0.0, message = "invalid multinomial distribution (sum of probabilities <= 0)"}
// CHECK:      functional.sort({{.*}}) {dim = 0, descending = true}
// CHECK:      functional.argmax
// CHECK:      functional.topk
// CHECK:      functional.cumsum(
// CHECK:      functional.rand(%seed) {shape = [3], element = f32, offset = 3}
// CHECK:      functional.searchsorted
// CHECK-NOT:  functional.opaque
functional.func @places_by_weight(%x: !functional.tensor<8xf32>, %y: !functional.tensor<100xf32>) {
  %0 = functional.opaque(%x) {target = @aten.multinomial.default, args = [#functional.operand<0>, 2]} : !functional.tensor<2xi64>
  %1 = functional.opaque(%x) {target = @aten.multinomial.default, args = [#functional.operand<0>, 1, true]} : !functional.tensor<1xi64>
  %2 = functional.opaque(%y) {target = @aten.multinomial.default, args = [#functional.operand<0>, 2]} : !functional.tensor<2xi64>
  %3 = functional.opaque(%x) {target = @aten.multinomial.default, args = [#functional.operand<0>, 3, true]} : !functional.tensor<3xi64>
  functional.return(%0, %1, %2, %3)
}

// -----
// Probabilities and deviations that are elements are checked, with eager's words.
// CHECK-LABEL: functional.func @elements_are_checked
// CHECK:      %[[P:.*]] = functional.within(%x) {min = 0.0, max = 1.0, message = "Expected p_in >= 0
// CHECK:      functional.lt(%{{.*}}, %{{.*}})
// CHECK:      functional.within(%s) {min = 0.0, message = "normal expects all elements of std >= 0.0"}
// CHECK:      functional.randn(%seed) {shape = [8], element = f32, offset = 1}
// CHECK-NOT:  functional.opaque
functional.func @elements_are_checked(%x: !functional.tensor<8xf32>, %s: !functional.tensor<8xf32>) {
  %0 = functional.opaque(%x) {target = @aten.bernoulli.default, args = [#functional.operand<0>]} : !functional.tensor<8xf32>
  %1 = functional.opaque(%x, %s) {target = @aten.normal.Tensor_Tensor, args = [#functional.operand<0>, #functional.operand<1>]} : !functional.tensor<8xf32>
  functional.return(%0, %1)
}

// -----
// Eager raises for these numbers, and so does the operator that stays.
// CHECK-LABEL: functional.func @no_seed_as_the_numbers_are_wrong
// CHECK-NEXT: functional.opaque(%x) {target = @aten.bernoulli.p
// CHECK-NEXT: functional.opaque(%x) {target = @aten.uniform.default
// CHECK-NEXT: functional.opaque(%x) {target = @aten.uniform.default
// CHECK-NEXT: functional.opaque(%x) {target = @aten.normal_functional.default
// CHECK-NEXT: functional.opaque(%x) {target = @aten.exponential.default
// CHECK-NEXT: functional.opaque() {target = @aten.randint.default
// CHECK-NEXT: functional.opaque() {target = @aten.randint.low
functional.func @no_seed_as_the_numbers_are_wrong(%x: !functional.tensor<8xf16>) {
  %0 = functional.opaque(%x) {target = @aten.bernoulli.p, args = [#functional.operand<0>, 1.5]} : !functional.tensor<8xf16>
  %1 = functional.opaque(%x) {target = @aten.uniform.default, args = [#functional.operand<0>, 3.0, 2.0]} : !functional.tensor<8xf16>
  %2 = functional.opaque(%x) {target = @aten.uniform.default, args = [#functional.operand<0>, 0.0, 70000.0]} : !functional.tensor<8xf16>
  %3 = functional.opaque(%x) {target = @aten.normal_functional.default, args = [#functional.operand<0>, 0.0, -1.0]} : !functional.tensor<8xf16>
  %4 = functional.opaque(%x) {target = @aten.exponential.default, args = [#functional.operand<0>, 0.0]} : !functional.tensor<8xf16>
  %5 = functional.opaque() {target = @aten.randint.default, args = [300, [4]], kwargs = {dtype = ui8}} : !functional.tensor<4xui8>
  %6 = functional.opaque() {target = @aten.randint.low, args = [3, 3, [4]]} : !functional.tensor<4xi64>
  functional.return(%0, %1, %2, %3, %4, %5, %6)
}

// -----
// CHECK-LABEL: functional.func @no_seed_as_it_is_complex_or_in_no_training
// CHECK-NEXT: functional.opaque() {target = @aten.randn.default
// CHECK-NEXT: functional.opaque(%x) {target = @aten.native_dropout.default
functional.func @no_seed_as_it_is_complex_or_in_no_training(%x: !functional.tensor<8xf32>) {
  %0 = functional.opaque() {target = @aten.randn.default, args = [[4]]} : !functional.tensor<4xcomplex<f32>>
  %1, %2 = functional.opaque(%x) {target = @aten.native_dropout.default, args = [#functional.operand<0>, 0.25, false]} : (!functional.tensor<8xf32>, !functional.tensor<8xi1>)
  functional.return(%0, %1, %2)
}

// -----
// CHECK-LABEL: functional.func @no_seed_as_the_operator_takes_other_arguments
// CHECK-NEXT: functional.opaque() {target = @aten.randint.low} :
// CHECK-NEXT: functional.opaque() {target = @aten.randint.default, args = [300]} :
// CHECK-NEXT: functional.opaque() {target = @aten.normal.Tensor_float, args = [1.0, 2.0]} :
// CHECK-NEXT: functional.opaque(%x) {target = @aten.native_dropout.default, {{.*}}} : !functional.tensor<8xf32>
// CHECK-NEXT: functional.opaque() {target = @aten.native_dropout.default, args = [1.0, 0.5, true]} :
// CHECK-NEXT: functional.opaque(%x) {target = @aten.rrelu_with_noise_functional.default, args = [#functional.operand<0>, 1.0, 0.1, 0.3, true]} :
// CHECK-NEXT: functional.return
functional.func @no_seed_as_the_operator_takes_other_arguments(%x: !functional.tensor<8xf32>) {
  %0 = functional.opaque() {target = @aten.randint.low} : !functional.tensor<4xi64>
  %1 = functional.opaque() {target = @aten.randint.default, args = [300]} : !functional.tensor<4xi64>
  %2 = functional.opaque() {target = @aten.normal.Tensor_float, args = [1.0, 2.0]} : !functional.tensor<8xf32>
  %3 = functional.opaque(%x) {target = @aten.native_dropout.default, args = [#functional.operand<0>, 0.25, true]} : !functional.tensor<8xf32>
  %4, %5 = functional.opaque() {target = @aten.native_dropout.default, args = [1.0, 0.5, true]} : (!functional.tensor<8xf32>, !functional.tensor<8xi1>)
  %6, %7 = functional.opaque(%x) {target = @aten.rrelu_with_noise_functional.default, args = [#functional.operand<0>, 1.0, 0.1, 0.3, true]} : (!functional.tensor<8xf32>, !functional.tensor<8xf32>)
  functional.return(%0, %1, %2, %3, %4, %5, %6, %7)
}
