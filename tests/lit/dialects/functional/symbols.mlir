// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s

// Sizes are expressions over symbols, and each symbol is declared.
// CHECK-LABEL: functional.func @sizes(
// CHECK-SAME: %x: !functional.tensor<s0x(s1 * 4)x8xf32>, %n: !functional.tensor<i64>
// CHECK-SAME: symbols = {s0 = {hint = 17, min = 2, max = 1024}, s1 = {hint = 6, min = 2}, s2 = {hint = 30, min = 2, argument = 1}}
functional.func @sizes(%x: !functional.tensor<s0x(s1 * 4)x8xf32>, %n: !functional.tensor<i64>, %b: !functional.tensor<8xf32>) {symbols = {s0 = {hint = 17, min = 2, max = 1024}, s1 = {hint = 6, min = 2}, s2 = {hint = 30, min = 2, argument = 1}}} {
  // CHECK-NEXT: functional.reshape(%x) {shape = [#lect.size<s0 * s1 * 4>, 8]} : !functional.tensor<(s0 * s1 * 4)x8xf32>
  %0 = functional.reshape(%x) {shape = [#lect.size<s0 * s1 * 4>, 8]} : !functional.tensor<(s0 * s1 * 4)x8xf32>
  // CHECK-NEXT: functional.expand(%b) {shape = [#lect.size<s0>, 8]} : !functional.tensor<s0x8xf32, strides [0, 1]>
  %1 = functional.expand(%b) {shape = [#lect.size<s0>, 8]} : !functional.tensor<s0x8xf32, strides [0, 1]>
  // CHECK-NEXT: functional.slice(%x) {dim = 1, start = 1, end = #lect.size<s1 * 4>} : !functional.tensor<s0x(s1 * 4 - 1)x8xf32, strides [s1 * 32, 8, 1]>
  %2 = functional.slice(%x) {dim = 1, start = 1, end = #lect.size<s1 * 4>} : !functional.tensor<s0x(s1 * 4 - 1)x8xf32, strides [s1 * 32, 8, 1]>
  // CHECK-NEXT: functional.full() {shape = [#lect.size<s0>], value = 0, element = f32} : !functional.tensor<s0xf32>
  %3 = functional.full() {shape = [#lect.size<s0>], value = 0, element = f32} : !functional.tensor<s0xf32>
  // CHECK-NEXT: functional.full() {shape = [], value = #lect.size<s0 * s1>, element = i64} : !functional.tensor<i64>
  %count = functional.full() {shape = [], value = #lect.size<s0 * s1>, element = i64} : !functional.tensor<i64>
  // CHECK-NEXT: functional.iota() {size = #lect.size<s2>} : !functional.tensor<s2xi64>
  %4 = functional.iota() {size = #lect.size<s2>} : !functional.tensor<s2xi64>
  // CHECK-NEXT: functional.add(%x, %b) : !functional.tensor<s0x(s1 * 4)x8xf32>
  %5 = functional.add(%x, %b) : !functional.tensor<s0x(s1 * 4)x8xf32>
  // CHECK-NEXT: functional.sum(%x) {dims = [0]} : !functional.tensor<(s1 * 4)x8xf32>
  %6 = functional.sum(%x) {dims = [0]} : !functional.tensor<(s1 * 4)x8xf32>
  // CHECK-NEXT: functional.permute(%x) {dims = [1, 0, 2]} : !functional.tensor<(s1 * 4)xs0x8xf32, strides [8, s1 * 32, 1]>
  %7 = functional.permute(%x) {dims = [1, 0, 2]} : !functional.tensor<(s1 * 4)xs0x8xf32, strides [8, s1 * 32, 1]>
  // CHECK-NEXT: functional.cat(%x, %x) {dim = 1} : !functional.tensor<s0x(s1 * 8)x8xf32>
  %8 = functional.cat(%x, %x) {dim = 1} : !functional.tensor<s0x(s1 * 8)x8xf32>
  // CHECK-NEXT: functional.pad(%b) {pads = {{\[\[}}0, #lect.size<s0>]]} : !functional.tensor<(s0 + 8)xf32>
  %9 = functional.pad(%b) {pads = [[0, #lect.size<s0>]]} : !functional.tensor<(s0 + 8)xf32>
  functional.return(%0)
}

// A symbol that no argument tells is found by an opaque call in front of what it occurs in.
// CHECK-LABEL: functional.func @found(
// CHECK-NEXT: functional.opaque(%mask) {target = @aten.nonzero.default, args = [#functional.operand<0>]} : !functional.tensor<s1x1xi64, strides [1, s1]>
// CHECK-NEXT: functional.full() {shape = [#lect.size<s1>], value = 0, element = f32} : !functional.tensor<s1xf32>
functional.func @found(%mask: !functional.tensor<s0xi1>) {symbols = {s0 = {hint = 9, min = 2}, s1 = {hint = 64, min = 3}}} {
  %0 = functional.opaque(%mask) {target = @aten.nonzero.default, args = [#functional.operand<0>]} : !functional.tensor<s1x1xi64, strides [1, s1]>
  %1 = functional.full() {shape = [#lect.size<s1>], value = 0, element = f32} : !functional.tensor<s1xf32>
  functional.return(%1)
}
