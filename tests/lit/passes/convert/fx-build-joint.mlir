// RUN: lect-opt %s -p fx-build-joint,canonicalize,cse,dce --split-input-file | filecheck %s
// RUN: lect-opt %s -p fx-build-joint{tangents=1},canonicalize,cse,dce --split-input-file | filecheck %s --check-prefix=SECOND

// The engine's formulas stand behind the forward; what both need is computed once.
// CHECK-LABEL: functional.func @forward_and_gradients(%x: {{.*}}, %w: {{.*}}, %tangent: !functional.tensor<2x4xf32>)
// CHECK-SAME: training = {inputs = 2, results = 1, tangents = [0], gradients = [0, 1], held = {{\[\[}}"input", 0], ["input", 1], ["result", 0]]}
// CHECK: %[[H:.*]] = functional.mm(%x, %{{.*}})
// CHECK: %[[Y:.*]] = functional.tanh(%[[H]])
// CHECK: %[[G:.*]] = functional.tanh_backward(%tangent, %[[Y]])
// CHECK: %[[GW:.*]] = functional.mm(%{{.*}}, %x)
// CHECK: %[[GX:.*]] = functional.mm(%[[G]], %w)
// CHECK: functional.return(%[[Y]], %[[GX]], %[[GW]])
fx.graph @forward_and_gradients(%x: !fx.tensor<2x3xf32, requires_grad>, %w: !fx.tensor<4x3xf32, requires_grad>) {
  %0 = fx.call(%x, %w) {target = @torch.nn.functional.linear, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<2x4xf32, requires_grad>
  %1 = fx.call(%0) {target = @torch.tanh, args = [#fx.operand<0>]} : !fx.tensor<2x4xf32, requires_grad>
  fx.return(%1)
}

// -----

// CHECK-LABEL: fx.graph @no_joint_as_nothing_requires_a_gradient
// CHECK: fx.call
fx.graph @no_joint_as_nothing_requires_a_gradient(%x: !fx.tensor<2x3xf32>) {
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<2x3xf32>
  fx.return(%0)
}

// -----

// With the gradient of the second result alone, nothing flows through the first, and the input that only it hangs on gets none.
// CHECK-LABEL: functional.func @gradients_of_one_result
// CHECK-SAME: tangents = [0, 1], gradients = [0, 1]
// CHECK: functional.exp(%x)
// SECOND-LABEL: functional.func @gradients_of_one_result
// SECOND-SAME: tangents = [1], gradients = [1]
// SECOND: %[[G:.*]] = functional.mul(%tangent) {other = 3}
// SECOND: functional.return(%{{.*}}, %{{.*}}, %[[G]])
fx.graph @gradients_of_one_result(%x: !fx.tensor<3xf32, requires_grad>, %y: !fx.tensor<3xf32, requires_grad>) {
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<3xf32, requires_grad>
  %1 = fx.call(%y) {target = @operator.mul, args = [#fx.operand<0>, 3]} : !fx.tensor<3xf32, requires_grad>
  fx.return(%0, %1)
}

// -----

// CHECK-LABEL: functional.func @no_gradient_for_an_input_that_is_detached
// CHECK-SAME: gradients = [1]
fx.graph @no_gradient_for_an_input_that_is_detached(%x: !fx.tensor<3xf32, requires_grad>, %y: !fx.tensor<3xf32, requires_grad>) {
  %0 = fx.call(%x) {target = @torch.Tensor.detach, args = [#fx.operand<0>]} : !fx.tensor<3xf32>
  %1 = fx.call(%0, %y) {target = @operator.mul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<3xf32, requires_grad>
  fx.return(%1)
}

// -----

// CHECK-LABEL: functional.func @no_tangent_for_a_view_of_another_result
// CHECK-SAME: training = {inputs = 1, results = 2, tangents = [0], gradients = [0], held = {{\[\[}}"result", 0]]}
// CHECK: aliases = [none, ["result", 0, 0], none]
fx.graph @no_tangent_for_a_view_of_another_result(%x: !fx.tensor<2x3xf32, requires_grad>) {
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<2x3xf32, requires_grad>
  %1 = fx.call(%0) {target = @torch.Tensor.t, args = [#fx.operand<0>]} : !fx.tensor<3x2xf32, strides [1, 3], requires_grad>
  fx.return(%0, %1)
}

// -----

// Two losses that share nothing but a parameter are two groups: the parameter has a gradient from each, and the gradients are not added up here.
// CHECK-LABEL: functional.func @losses_that_share_a_parameter
// CHECK-SAME: tangents = [0, 1], gradients = [0, 2, 1, 2]
// CHECK-SAME: tangent_groups = [0, 1], gradient_groups = [0, 0, 1, 1]}
// CHECK-NOT: functional.add
// CHECK: functional.return
// SECOND-LABEL: functional.func @losses_that_share_a_parameter
// SECOND-NOT: groups
// SECOND: functional.return
fx.graph @losses_that_share_a_parameter(%x: !fx.tensor<3xf32, requires_grad>, %y: !fx.tensor<3xf32, requires_grad>, %w: !fx.tensor<3xf32, requires_grad>) {
  %0 = fx.call(%x, %w) {target = @operator.mul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<3xf32, requires_grad>
  %1 = fx.call(%y, %w) {target = @operator.mul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<3xf32, requires_grad>
  fx.return(%0, %1)
}

// -----

// CHECK-LABEL: functional.func @one_group_behind_what_is_kept
// CHECK-NOT: groups
// CHECK: functional.tanh_backward
// CHECK-NOT: functional.tanh_backward
// CHECK: functional.return
fx.graph @one_group_behind_what_is_kept(%x: !fx.tensor<3xf32, requires_grad>, %y: !fx.tensor<3xf32>) {
  %0 = fx.call(%x) {target = @torch.tanh, args = [#fx.operand<0>]} : !fx.tensor<3xf32, requires_grad>
  %1 = fx.call(%0, %y) {target = @operator.add, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<3xf32, requires_grad>
  %2 = fx.call(%0, %y) {target = @operator.mul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<3xf32, requires_grad>
  fx.return(%1, %2)
}

// -----

// Nothing is kept by a view in eager, so each loss goes through its own; and a sum keeps nothing either, whose backward may run again.
// CHECK-LABEL: functional.func @groups_behind_a_view
// CHECK-SAME: tangent_groups = [0, 1], gradient_groups = [0, 1], again = [0]}
fx.graph @groups_behind_a_view(%x: !fx.tensor<2x3xf32, requires_grad>) {
  %0 = fx.call(%x) {target = @torch.Tensor.t, args = [#fx.operand<0>]} : !fx.tensor<3x2xf32, strides [1, 3], requires_grad>
  %1 = fx.call(%0) {target = @torch.sum, args = [#fx.operand<0>]} : !fx.tensor<f32, requires_grad>
  %2 = fx.call(%0) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<3x2xf32, strides [1, 3], requires_grad>
  fx.return(%1, %2)
}

// -----

// CHECK-LABEL: functional.func @no_groups_behind_a_factor
// CHECK-NOT: groups
// CHECK: functional.return
fx.graph @no_groups_behind_a_factor(%x: !fx.tensor<2x3xf32, requires_grad>) {
  %0 = fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 2]} : !fx.tensor<2x3xf32, requires_grad>
  %1 = fx.call(%0) {target = @torch.sum, args = [#fx.operand<0>]} : !fx.tensor<f32, requires_grad>
  %2 = fx.call(%0) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<2x3xf32, requires_grad>
  fx.return(%1, %2)
}
