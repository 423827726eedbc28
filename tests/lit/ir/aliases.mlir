// RUN: lect-opt %s --allow-unregistered-dialect --split-input-file | filecheck %s

// Aliases of types and attributes are resolved while parsing; they hold within one part of a file.

!t = !fx.tensor<2x3xf32>
#places = [1, 2]
#name = "x"

// CHECK: %0 = "test.make"() {at = [1 : i64, 2 : i64], name = "x"} : () -> !fx.tensor<2x3xf32>
%0 = "test.make"() {at = #places, name = #name} : () -> !t
// CHECK-NEXT: "test.use"(%0) {type = !fx.tensor<2x3xf32>} : (!fx.tensor<2x3xf32>) -> ()
"test.use"(%0) {type = !t} : (!t) -> ()

// -----

!t = f32
// CHECK: %0 = "test.make"() : () -> f32
%0 = "test.make"() : () -> !t
