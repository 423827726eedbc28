// RUN: lect-run %s --random-inputs --compare-levels | filecheck %s

// Every level runs for the sizes of the captured call, in numbers or with sizes as they are known at run time.
// CHECK:     as given {{ *}}functional.func
// CHECK:     after functional-to-loop {{ *}}loop.func {{ *}}equal
// CHECK:     after loop-collapse-dims {{ *}}loop.func {{ *}}equal
// CHECK:     after loop-to-kernel {{ *}}host.func {{ *}}equal
// CHECK:     after kernel-cascade-sums {{ *}}host.func {{ *}}equal
// CHECK-NOT: differs

functional.func @f(%x: !functional.tensor<s0x(s1 * 3)xf32>, %b: !functional.tensor<(s1 * 3)xf32>, %n: !functional.tensor<i64>)
    {symbols = {s0 = {hint = 5, min = 2}, s1 = {hint = 7, min = 2}, s2 = {hint = 3, min = 2, argument = 2}}} {
  %0 = functional.add(%x, %b) : !functional.tensor<s0x(s1 * 3)xf32>
  %1 = functional.softmax(%0) {dim = 1} : !functional.tensor<s0x(s1 * 3)xf32>
  %2 = functional.reshape(%1) {shape = [#lect.size<s0>, 3, #lect.size<s1>]} : !functional.tensor<s0x3xs1xf32>
  %3 = functional.mean(%2) {dims = [2]} : !functional.tensor<s0x3xf32>
  %4 = functional.slice(%3) {dim = 0, start = 0, end = #lect.size<s2>} : !functional.tensor<s2x3xf32>
  functional.return(%1, %4)
}
