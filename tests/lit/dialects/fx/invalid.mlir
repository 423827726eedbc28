// RUN: lect-opt %s --split-input-file --verify-diagnostics

fx.graph @operand_is_not_used(%x: !fx.tensor<4xf32>, %y: !fx.tensor<4xf32>) {
  // expected-error @+1 {{arguments of 'fx.call' must use each of its 2 operands, found the numbers [0]}}
  %0 = fx.call(%x, %y) {target = @torch.add, args = [#fx.operand<0>, 1]} : !fx.tensor<4xf32>
  fx.return(%0)
}

// -----

fx.graph @operand_is_not_there(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{arguments of 'fx.call' must use each of its 1 operands, found the numbers [0, 1]}}
  %0 = fx.call(%x) {target = @torch.add, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4xf32>
  fx.return(%0)
}

// -----

fx.graph @structure_forgets_a_result(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{structure must name each of 2 results once, found [0]}}
  %0, %1 = fx.call(%x) {target = @torch.max, args = [#fx.operand<0>], structure = [#fx.result<0>, none]} : (!fx.tensor<4xf32>, !fx.tensor<4xi64>)
  fx.return(%0)
}

// -----

fx.graph @dictionary_is_no_constructor(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{a dictionary inside arguments is one of complex, dict, list, size, slice}}
  %0 = fx.call(%x) {target = @torch.sum, args = [#fx.operand<0>, {tuple = [0]}]} : !fx.tensor<f32>
  fx.return(%0)
}

// -----

fx.graph @target_is_missing(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'fx.call' needs the attribute 'target'}}
  %0 = fx.call(%x) {args = [#fx.operand<0>]} : !fx.tensor<4xf32>
  fx.return(%0)
}

// -----

// expected-error @+1 {{inputs of 'fx.graph' are tensors or numbers, got f32}}
fx.graph @input_is_no_tensor(%x: f32) {
  fx.return()
}

// -----

fx.graph @no_return(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{the block must end in a terminator, not in 'fx.call'}}
  %0 = fx.call(%x) {target = @torch.abs, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
}

// -----

builtin.module {
  // expected-error @+1 {{'fx.return' must stand inside 'fx.graph', found it in 'builtin.module'}}
  fx.return()
}

// -----

// expected-error @+1 {{in !fx.tensor: expected a size or an element type}}
fx.graph @type_without_element(%x: !fx.tensor<4x>) {
  fx.return()
}

// -----

// expected-error @+1 {{in !fx.tensor: expected 1 strides}}
fx.graph @more_strides_than_sizes(%x: !fx.tensor<4xf32, strides [1, 2]>) {
  fx.return()
}

// -----

fx.graph @leaves_what_it_did_not_enter(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'fx.leave_inference' without an 'fx.enter_inference' in front of it}}
  fx.leave_inference()
  fx.return(%x)
}

// -----

// expected-error @+1 {{a graph leaves each inference block that it enters, 1 stay open}}
fx.graph @does_not_leave(%x: !fx.tensor<4xf32>) {
  fx.enter_inference()
  fx.return(%x)
}

// -----

fx.graph @names_a_view_that_it_does_not_return(%x: !fx.tensor<4xf32, requires_grad>) {
  // expected-error @+1 {{several of 'fx.return' must be numbers of its 1 results, got [1]}}
  fx.return(%x) {several = [1]}
}
