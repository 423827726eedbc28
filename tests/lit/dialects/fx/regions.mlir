// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s

// A region uses values from around it; what it makes is known inside of it alone.
// CHECK-LABEL: fx.graph @checkpoint
// CHECK-NEXT: %0 = fx.checkpoint(%x) {preserve_rng_state = false} : !fx.tensor<4x8xf32, requires_grad> {
// CHECK-NEXT: ^bb0(%a: !fx.tensor<4x8xf32>):
// CHECK-NEXT: %1 = fx.call(%a, %w) {target = @torch.nn.functional.linear, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32, requires_grad>
// CHECK-NEXT: fx.yield(%1)
// CHECK-NEXT: }
// CHECK-NEXT: fx.return(%0)
fx.graph @checkpoint(%x: !fx.tensor<4x8xf32>, %w: !fx.tensor<8x8xf32, requires_grad>) {
  %0 = fx.checkpoint(%x) {preserve_rng_state = false} : !fx.tensor<4x8xf32, requires_grad> {
  ^bb0(%a: !fx.tensor<4x8xf32>):
    %1 = fx.call(%a, %w) {target = @torch.nn.functional.linear, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32, requires_grad>
    fx.yield(%1)
  }
  fx.return(%0)
}

// CHECK-LABEL: fx.graph @branches
// CHECK-NEXT: %0 = fx.cond(%p) : !fx.tensor<4xf32> {
// CHECK-NEXT: %1 = fx.call(%x) {target = @torch.sin, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
// CHECK-NEXT: fx.yield(%1)
// CHECK-NEXT: }, {
// CHECK-NEXT: fx.yield(%x)
// CHECK-NEXT: }
fx.graph @branches(%x: !fx.tensor<4xf32>, %p: !fx.tensor<i1>) {
  %0 = fx.cond(%p) : !fx.tensor<4xf32> {
    %1 = fx.call(%x) {target = @torch.sin, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
    fx.yield(%1)
  }, {
    fx.yield(%x)
  }
  fx.return(%0)
}

// CHECK-LABEL: fx.graph @loop
// CHECK-NEXT: %0, %1 = fx.while_loop(%n, %x) : (!fx.tensor<i64>, !fx.tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%i: !fx.tensor<i64>, %a: !fx.tensor<4xf32>):
fx.graph @loop(%n: !fx.tensor<i64>, %x: !fx.tensor<4xf32>) {
  %0, %1 = fx.while_loop(%n, %x) : (!fx.tensor<i64>, !fx.tensor<4xf32>) {
  ^bb0(%i: !fx.tensor<i64>, %a: !fx.tensor<4xf32>):
    %2 = fx.call(%i) {target = @operator.lt, args = [#fx.operand<0>, 3]} : !fx.tensor<i1>
    fx.yield(%2)
  }, {
  ^bb0(%i: !fx.tensor<i64>, %a: !fx.tensor<4xf32>):
    %2 = fx.call(%i) {target = @operator.add, args = [#fx.operand<0>, 1]} : !fx.tensor<i64>
    %3 = fx.call(%a) {target = @operator.mul, args = [#fx.operand<0>, 2]} : !fx.tensor<4xf32>
    fx.yield(%2, %3)
  }
  fx.return(%0, %1)
}

// CHECK-LABEL: fx.graph @scan
// CHECK-NEXT: %0, %1 = fx.scan(%c; %x) {reverse = true} : (!fx.tensor<2xf32>, !fx.tensor<4x2xf32>) {
fx.graph @scan(%c: !fx.tensor<2xf32>, %x: !fx.tensor<4x2xf32>) {
  %0, %1 = fx.scan(%c; %x) {reverse = true} : (!fx.tensor<2xf32>, !fx.tensor<4x2xf32>) {
  ^bb0(%a: !fx.tensor<2xf32>, %b: !fx.tensor<2xf32>):
    %2 = fx.call(%a, %b) {target = @operator.add, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<2xf32>
    fx.yield(%2, %2)
  }
  fx.return(%0, %1)
}

// Inside of a transform, types are those of its function's parameters.
// CHECK-LABEL: fx.graph @transforms
// CHECK-NEXT: %0 = fx.transform(%x) {transform = "vmap", in_dims = [1], out_dims = [0], randomness = "different"} : !fx.tensor<8x4xf32> {
// CHECK-NEXT: ^bb0(%a: !fx.tensor<4xf32, strides [8]>):
// CHECK-NEXT: %1, %2 = fx.transform(%a) {transform = "grad", argnums = [0]} : (!fx.tensor<4xf32>, !fx.tensor<f32>) {
fx.graph @transforms(%x: !fx.tensor<4x8xf32>) {
  %0 = fx.transform(%x) {transform = "vmap", in_dims = [1], out_dims = [0], randomness = "different"} : !fx.tensor<8x4xf32> {
  ^bb0(%a: !fx.tensor<4xf32, strides [8]>):
    %1, %2 = fx.transform(%a) {transform = "grad", argnums = [0]} : (!fx.tensor<4xf32>, !fx.tensor<f32>) {
    ^bb0(%b: !fx.tensor<4xf32, strides [8], requires_grad>):
      %3 = fx.call(%b) {target = @torch.sum, args = [#fx.operand<0>]} : !fx.tensor<f32, requires_grad>
      fx.yield(%3)
    }
    fx.yield(%1)
  }
  fx.return(%0)
}

// CHECK-LABEL: fx.graph @autograd_function
// CHECK-NEXT: %0 = fx.autograd_function(%x) {saved = 1, gradients = [0]} : !fx.tensor<4xf32, requires_grad> {
fx.graph @autograd_function(%x: !fx.tensor<4xf32, requires_grad>) {
  %0 = fx.autograd_function(%x) {saved = 1, gradients = [0]} : !fx.tensor<4xf32, requires_grad> {
  ^bb0(%a: !fx.tensor<4xf32, requires_grad>):
    %1 = fx.call(%a) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
    fx.yield(%1, %1)
  }, {
  ^bb0(%kept: !fx.tensor<4xf32>, %g: !fx.tensor<4xf32>):
    %1 = fx.call(%g, %kept) {target = @operator.mul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4xf32>
    fx.yield(%1)
  }
  fx.return(%0)
}
