// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{s0 is not declared by 'functional.func', or is no size of an argument}}
functional.func @symbol_that_is_not_declared(%x: !functional.tensor<s0x8xf32>) {
  functional.return(%x)
}
// -----
// expected-error @+1 {{s0 is not declared by 'functional.func', or is no size of an argument}}
functional.func @symbol_that_is_nowhere_alone(%x: !functional.tensor<(s0 + 1)x8xf32>) {symbols = {s0 = {hint = 3, min = 2}}} {
  functional.return(%x)
}
// -----
// expected-error @+1 {{'symbols' names size symbols as s0, got 'n'}}
functional.func @symbol_with_another_name(%x: !functional.tensor<8xf32>) {symbols = {n = {hint = 3, min = 2}}} {
  functional.return(%x)
}
// -----
// expected-error @+1 {{s0 is at least 2, not 1}}
functional.func @symbol_that_may_be_one(%x: !functional.tensor<s0x8xf32>) {symbols = {s0 = {hint = 3, min = 1}}} {
  functional.return(%x)
}
// -----
// expected-error @+1 {{s0 is the element of argument 0, which is no 0-d tensor of i64}}
functional.func @symbol_of_a_narrow_number(%n: !functional.tensor<i32>) {symbols = {s0 = {hint = 3, min = 2, argument = 0}}} {
  functional.return(%n)
}
// -----
functional.func @reshape_of_other_symbols(%x: !functional.tensor<s0x8xf32>) {symbols = {s0 = {hint = 3, min = 2}}} {
  // expected-error @+1 {{'functional.reshape' cannot give s0 * 8 elements the shape [s0, 4]}}
  %0 = functional.reshape(%x) {shape = [#lect.size<s0>, 4]} : !functional.tensor<s0x4xf32>
  functional.return(%0)
}
// -----
functional.func @slice_that_ends_too_late(%x: !functional.tensor<s0x8xf32>) {symbols = {s0 = {hint = 3, min = 2}}} {
  // expected-error @+1 {{'functional.slice' needs 0 <= start <= end <= s0, got 0 and s0 + 1}}
  %0 = functional.slice(%x) {dim = 0, start = 0, end = #lect.size<s0 + 1>} : !functional.tensor<(s0 + 1)x8xf32>
  functional.return(%0)
}
// -----
functional.func @size_as_a_float(%x: !functional.tensor<s0x8xf32>) {symbols = {s0 = {hint = 3, min = 2}}} {
  // expected-error @+1 {{a size as the 'value' of 'functional.full' must be of i64, got f32}}
  %0 = functional.full() {shape = [], value = #lect.size<s0>, element = f32} : !functional.tensor<f32>
  functional.return(%0)
}
// -----
functional.func @size_in_front_of_what_finds_it(%mask: !functional.tensor<s0xi1>) {symbols = {s0 = {hint = 9, min = 2}, s1 = {hint = 64, min = 2}}} {
  // expected-error @+1 {{s1 is not declared by 'functional.func', or is no size of an argument and of no operation in front}}
  %0 = functional.full() {shape = [#lect.size<s1>], value = 0, element = f32} : !functional.tensor<s1xf32>
  %1 = functional.opaque(%mask) {target = @aten.nonzero.default, args = [#functional.operand<0>]} : !functional.tensor<s1x1xi64, strides [1, s1]>
  functional.return(%0)
}
