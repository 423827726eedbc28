// RUN: lect-opt %s --split-input-file --verify-diagnostics

builtin.module {
  // expected-error @+1 {{'fx.yield' must stand inside}}
  fx.yield()
}

// -----

fx.graph @parameter_is_missing(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'fx.checkpoint' needs as many parameters as operands, got 0 and 1}}
  %0 = fx.checkpoint(%x) : !fx.tensor<4xf32> {
    fx.yield(%x)
  }
  fx.return(%0)
}

// -----

fx.graph @parameter_of_another_type(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{parameters 0 of 'fx.checkpoint' should be !fx.tensor<4xf32> as in operands, got !fx.tensor<8xf32>}}
  %0 = fx.checkpoint(%x) : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<8xf32>):
    fx.yield(%x)
  }
  fx.return(%0)
}

// -----

fx.graph @value_of_a_region_is_used_outside(%x: !fx.tensor<4xf32>) {
  %0 = fx.checkpoint(%x) : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<4xf32>):
    %1 = fx.call(%a) {target = @torch.sin, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
    fx.yield(%1)
  }
  // expected-error @+1 {{%1 is used but never defined}}
  fx.return(%1)
}

// -----

fx.graph @predicate_with_many_elements(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{the predicate of 'fx.cond' has one element, got !fx.tensor<4xf32>}}
  %0 = fx.cond(%x) : !fx.tensor<4xf32> {
    fx.yield(%x)
  }, {
    fx.yield(%x)
  }
  fx.return(%0)
}

// -----

fx.graph @branch_with_a_parameter(%x: !fx.tensor<4xf32>, %p: !fx.tensor<i1>) {
  // expected-error @+1 {{the regions of 'fx.cond' take no parameters}}
  %0 = fx.cond(%p) : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a)
  }, {
    fx.yield(%x)
  }
  fx.return(%0)
}

// -----

fx.graph @branches_differ(%x: !fx.tensor<4xf32>, %y: !fx.tensor<8xf32>, %p: !fx.tensor<i1>) {
  // expected-error @+1 {{yielded values 0 of 'fx.cond' should be !fx.tensor<4xf32> as in results, got !fx.tensor<8xf32>}}
  %0 = fx.cond(%p) : !fx.tensor<4xf32> {
    fx.yield(%x)
  }, {
    fx.yield(%y)
  }
  fx.return(%0)
}

// -----

fx.graph @condition_is_no_scalar(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{the condition of 'fx.while_loop' yields one tensor with one element}}
  %0 = fx.while_loop(%x) : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a)
  }, {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a)
  }
  fx.return(%0)
}

// -----

fx.graph @scan_over_nothing(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'fx.scan' needs a tensor to go over}}
  %0 = fx.scan(%x;) : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a)
  }
  fx.return(%0)
}

// -----

fx.graph @scan_over_two_lengths(%x: !fx.tensor<4xf32>, %y: !fx.tensor<3xf32>) {
  // expected-error @+1 {{'fx.scan' goes over tensors of one length, got ['3', '4']}}
  fx.scan(; %x, %y) {
  ^bb0(%a: !fx.tensor<f32>, %b: !fx.tensor<f32>):
    fx.yield()
  }
  fx.return()
}

// -----

fx.graph @unknown_transform(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'transform' of 'fx.transform'}}
  %0 = fx.transform(%x) {transform = "functionalize"} : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a)
  }
  fx.return(%0)
}

// -----

fx.graph @vmap_without_dims(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'in_dims' needs an entry for each of 1 operands, got 0}}
  %0 = fx.transform(%x) {transform = "vmap", out_dims = [0]} : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<f32>):
    fx.yield(%a)
  }
  fx.return(%0)
}

// -----

fx.graph @argnums_out_of_range(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'argnums' are numbers of operands, of which there are 1, got [1]}}
  %0, %1 = fx.transform(%x) {transform = "grad", argnums = [1]} : (!fx.tensor<4xf32>, !fx.tensor<f32>) {
  ^bb0(%a: !fx.tensor<4xf32>):
    %2 = fx.call(%a) {target = @torch.sum, args = [#fx.operand<0>]} : !fx.tensor<f32>
    fx.yield(%2)
  }
  fx.return(%0, %1)
}

// -----

fx.graph @jvp_without_a_tangent(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'jvp' needs a tangent for each point, got 1 operands}}
  %0, %1 = fx.transform(%x) {transform = "jvp"} : (!fx.tensor<4xf32>, !fx.tensor<4xf32>) {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a)
  }
  fx.return(%0, %1)
}

// -----

fx.graph @transform_with_too_few_results(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'jacrev' has 1 results, got 0}}
  fx.transform(%x) {transform = "jacrev", argnums = [0]} {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a)
  }
  fx.return()
}

// -----

fx.graph @gradients_forget_a_value(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'gradients' must use each of 1 yielded values once, got []}}
  %0 = fx.autograd_function(%x) {gradients = [none]} : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a)
  }, {
  ^bb0(%g: !fx.tensor<4xf32>):
    fx.yield(%g)
  }
  fx.return(%0)
}

// -----

fx.graph @backward_takes_too_little(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{the backward takes 1 saved values and 1 gradients, got 1 parameters}}
  %0 = fx.autograd_function(%x) {saved = 1, gradients = [0]} : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<4xf32>):
    fx.yield(%a, %a)
  }, {
  ^bb0(%g: !fx.tensor<4xf32>):
    fx.yield(%g)
  }
  fx.return(%0)
}
