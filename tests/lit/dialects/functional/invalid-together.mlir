// RUN: lect-opt %s --split-input-file --verify-diagnostics

functional.func @one_alone(%x: !functional.tensor<8xf32>) {
  // expected-error @+1 {{'functional.together' needs several operands, got 1}}
  %0 = functional.together(%x) : !functional.tensor<8xf32>
  functional.return()
}
// -----
functional.func @together_in_two_shapes(%x: !functional.tensor<8xf32>, %y: !functional.tensor<4xf32>) {
  // expected-error @+1 {{the operands of 'functional.together' must have one shape, got [8] and [4]}}
  %0, %1 = functional.together(%x, %y) : (!functional.tensor<8xf32>, !functional.tensor<4xf32>)
  functional.return()
}
