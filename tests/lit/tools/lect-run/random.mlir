// RUN: lect-run %s --random-inputs --compare-levels | filecheck %s
// RUN: lect-run %s --random-inputs --seed 3 --compare-levels | filecheck %s

// A program that draws a seed draws the same one at every level.
// CHECK: as given functional.func 2 outputs
// CHECK-NEXT: after functional-to-loop loop.func equal
// CHECK-NOT: differ
// CHECK: after kernel-cascade-sums host.func equal
functional.func @dropout(%x: !functional.tensor<5x77xf32>) {
  %seed = functional.opaque() {target = @aten.randint.low, args = [-9223372036854775808, 9223372036854775807, []], kwargs = {dtype = i64}} : !functional.tensor<i64>
  %0 = functional.rand(%seed) {shape = [5, 77], element = f32} : !functional.tensor<5x77xf32>
  %1 = functional.lt(%0) {other = 0.7} : !functional.tensor<5x77xi1>
  %2 = functional.cast(%1) {to = f32} : !functional.tensor<5x77xf32>
  %3 = functional.mul(%x, %2) : !functional.tensor<5x77xf32>
  %4 = functional.randint(%seed) {shape = [9], element = i64, high = 100, offset = 1} : !functional.tensor<9xi64>
  functional.return(%3, %4)
}
