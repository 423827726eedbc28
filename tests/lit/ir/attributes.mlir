// RUN: lect-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: lect-opt %s --allow-unregistered-dialect --print-op-generic | lect-opt --allow-unregistered-dialect --print-op-generic | lect-opt --allow-unregistered-dialect | filecheck %s
// RUN: lect-opt %s --allow-unregistered-dialect --print-op-generic | filecheck %s --check-prefix GENERIC

// Every kind of attribute value, in both forms.

// GENERIC: "test.integers"() {a = 0 : i64, b = -7 : i64, c = 9223372036854775807 : i64, d = #lect.int<"9223372036854775808">} : () -> ()
// CHECK: "test.integers"() {a = 0 : i64, b = -7 : i64, c = 9223372036854775807 : i64, d = #lect.int<"9223372036854775808">}
"test.integers"() {a = 0, b = -7, c = 9223372036854775807, d = 9223372036854775808} : () -> ()

// CHECK-NEXT: "test.hexadecimal"() {a = 255 : i64}
"test.hexadecimal"() {a = 0xFF} : () -> ()

// GENERIC: "test.floats"() {a = 1.0 : f64, b = -0.0 : f64, c = 1.0e+100 : f64, d = 0x7FF0000000000000 : f64, e = 0xFFF0000000000000 : f64, f = 0x7FF8000000000000 : f64}
// CHECK-NEXT: "test.floats"() {a = 1.0 : f64, b = -0.0 : f64, c = 1.0e+100 : f64, d = 0x7FF0000000000000 : f64, e = 0xFFF0000000000000 : f64, f = 0x7FF8000000000000 : f64}
"test.floats"() {a = 1.0, b = -0.0, c = 1.0e100, d = inf, e = -inf, f = nan} : () -> ()

// CHECK-NEXT: "test.words"() {a = true, b = false, c = none, d = f32, e = index}
"test.words"() {a = true, b = false, c = none, d = f32, e = index} : () -> ()

// CHECK-NEXT: "test.unit"() {a = true}
"test.unit"() {a} : () -> ()

// CHECK-NEXT: "test.strings"() {a = "", b = "q\"uo\\te", c = "line\nbreak\ttab", d = "\00\7F", e = "grüße"}
"test.strings"() {a = "", b = "q\"uo\\te", c = "line\nbreak\ttab", d = "\00\7f", e = "grüße"} : () -> ()

// CHECK-NEXT: "test.nested"() {a = [], b = [1 : i64, [2.0 : f64, "x"]], c = {}, d = {k = {"odd name" = [true]}}}
"test.nested"() {a = [], b = [1, [2.0, "x"]], c = {}, d = {k = {"odd name" = [true]}}} : () -> ()

// CHECK-NEXT: "test.symbols"() {a = @f, b = @outer::@inner, c = @"odd name"}
"test.symbols"() {a = @f, b = @outer::@inner, c = @"odd name"} : () -> ()

// CHECK-NEXT: "test.types"() {a = !fx.tensor<2x3xf32>, b = complex<f32>}
"test.types"() {a = !fx.tensor<2x3xf32>, b = complex<f32>} : () -> ()

// CHECK-NEXT: "test.sizes"() {a = #lect.size<s0 * 2 + 1>, b = [#lect.size<s1 floordiv 4>, 3 : i64], c = 7 : i64}
"test.sizes"() {a = #lect.size<1 + s0 * 2>, b = [#lect.size<s1 floordiv 4>, 3], c = #lect.size<3 + 4>} : () -> ()

// CHECK-NEXT: "test.keywords"() {loc = 1 : i64, to = 2 : i64, "1x" = 3 : i64, with.dot = 4 : i64}
"test.keywords"() {loc = 1, to = 2, "1x" = 3, with.dot = 4} : () -> ()

// In the pretty form numbers stand without types.
// CHECK: fx.graph @pretty() {a = 1, b = 1.0, c = -0.0, d = inf, e = -inf, f = nan, g = 9223372036854775808, h = [1, -2.5], i = true, "operand segments" = none} {
fx.graph @pretty() {a = 1, b = 1.0, c = -0.0, d = inf, e = -inf, f = nan, g = 9223372036854775808, h = [1, -2.5], i, "operand segments" = none} {
  fx.return()
}
