// RUN: lect-opt %s --emit=torch | filecheck %s

// A value is deleted behind its last use; what nobody uses is not named.
// CHECK-LABEL: # @calls
// CHECK-NEXT: def calls(x, w):
// CHECK-NEXT:     t2 = F_linear(x, w)
// CHECK-NEXT:     del w
// CHECK-NEXT:     t3 = Tensor_relu_(t2)
// CHECK-NEXT:     del t2
// CHECK-NEXT:     torch_sum(t3)
// CHECK-NEXT:     t4 = torch_softmax(t3, dim=-1, dtype=f32)
// CHECK-NEXT:     del t3
// CHECK-NEXT:     return [t4, x]
fx.graph @calls(%x: !fx.tensor<4x8xf32>, %w: !fx.tensor<8x8xf32, requires_grad>) {
  %0 = fx.call(%x, %w) {target = @torch.nn.functional.linear, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32, requires_grad>
  %1 = fx.call(%0) {target = @torch.Tensor.relu_, args = [#fx.operand<0>]} : !fx.tensor<4x8xf32, requires_grad>
  %2 = fx.call(%1) {target = @torch.sum, args = [#fx.operand<0>]} : !fx.tensor<f32, requires_grad>
  %3 = fx.call(%1) {target = @torch.softmax, args = [#fx.operand<0>], kwargs = {dim = -1, dtype = f32}} : !fx.tensor<4x8xf32, requires_grad>
  fx.return(%3, %x)
}

// Functions of `operator` are operators, with negative numbers in parentheses; attributes are attributes.
// CHECK-LABEL: # @operators
// CHECK: a = x[0, ..., 1:, ::2, None]
// CHECK-NEXT: b = (-2.0) ** a
// CHECK-NEXT: del a
// CHECK-NEXT: c = -b
// CHECK-NEXT: del b
// CHECK-NEXT: d = c.mT
// CHECK-NEXT: del c
// CHECK-NEXT: x[[2]] = 0
// CHECK-NEXT: del x
// CHECK-NEXT: e = iadd(d, float('inf'))
fx.graph @operators(%x: !fx.tensor<2x4x5x6xf32>) {
  %a = fx.call(%x) {target = @operator.getitem, args = [#fx.operand<0>, [0, #fx.ellipsis, {slice = [1, none, none]}, {slice = [none, none, 2]}, none]]} : !fx.tensor<4x4x3x1xf32>
  %b = fx.call(%a) {target = @operator.pow, args = [-2.0, #fx.operand<0>]} : !fx.tensor<4x4x3x1xf32>
  %c = fx.call(%b) {target = @operator.neg, args = [#fx.operand<0>]} : !fx.tensor<4x4x3x1xf32>
  %d = fx.call(%c) {target = @builtins.getattr, args = [#fx.operand<0>, "mT"]} : !fx.tensor<4x4x1x3xf32>
  fx.call(%x) {target = @operator.setitem, args = [#fx.operand<0>, {list = [2]}, 0]}
  %e = fx.call(%d) {target = @operator.iadd, args = [#fx.operand<0>, inf]} : !fx.tensor<4x4x1x3xf32>
  fx.return(%e)
}

// Results stand in the shape of what the call returns.
// CHECK-LABEL: # @structures
// CHECK-NEXT: def structures(x):
// CHECK-NEXT: t1, t2 = torch_max(x, 0)
// CHECK-NEXT: (t3, (t4, _)) = F_adaptive_max_pool2d_with_indices(x, (1, None))
// CHECK-NEXT: del t3
// CHECK-NEXT: (t5,) = Tensor_split(x, 4)
// CHECK-NEXT: Tensor_to(x, device('cpu'), complex_f32, memory_format=channels_last, size=Size([2, 3]), z=complex(1.0, -0.0))
// CHECK-NEXT: return [t2, t4, t5, t1, x]
fx.graph @structures(%x: !fx.tensor<4x8xf32>) {
  %0, %1 = fx.call(%x) {target = @torch.max, args = [#fx.operand<0>, 0]} : (!fx.tensor<8xf32>, !fx.tensor<8xi64>)
  %2, %3 = fx.call(%x) {target = @torch.nn.functional.adaptive_max_pool2d_with_indices, args = [#fx.operand<0>, [1, none]], structure = [#fx.result<0>, [#fx.result<1>, none]]} : (!fx.tensor<1x8xf32>, !fx.tensor<1x8xi64>)
  %4 = fx.call(%x) {target = @torch.Tensor.split, args = [#fx.operand<0>, 4], structure = [#fx.result<0>]} : !fx.tensor<4x8xf32>
  %5 = fx.call(%x) {target = @torch.Tensor.to, args = [#fx.operand<0>, #fx.device<"cpu">, complex<f32>], kwargs = {memory_format = #fx.constant<"torch.channels_last">, size = {size = [2, 3]}, z = {complex = [1.0, -0.0]}}} : !fx.tensor<4x8xcomplex<f32>>
  fx.return(%1, %3, %4, %0, %x)
}

// Gradients are switched back when a call raises between the switches.
// CHECK-LABEL: # @switches
// CHECK-NEXT: def switches(x):
// CHECK-NEXT: before = gradients_enabled()
// CHECK-NEXT: try:
// CHECK-NEXT: switch_gradients(False)
// CHECK-NEXT: t1 = x * 2
// CHECK-NEXT: del x
// CHECK-NEXT: switch_gradients(True)
// CHECK-NEXT: return [t1]
// CHECK-NEXT: finally:
// CHECK-NEXT: switch_gradients(before)
fx.graph @switches(%x: !fx.tensor<4xf32, requires_grad>) {
  fx.call() {target = @torch.set_grad_enabled, args = [false]}
  %0 = fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 2]} : !fx.tensor<4xf32>
  fx.call() {target = @torch.set_grad_enabled, args = [true]}
  fx.return(%0)
}

// So is autocast.
// CHECK-LABEL: # @casts
// CHECK-NEXT: def casts(x):
// CHECK-NEXT: with kept_modes():
// CHECK-NEXT: set_autocast_enabled('cpu', True)
// CHECK-NEXT: switch_gradients(False)
// CHECK-NEXT: t1 = x @ x
// CHECK-NEXT: del x
// CHECK-NEXT: return [t1]
fx.graph @casts(%x: !fx.tensor<4x4xf32>) {
  fx.call() {target = @torch.set_autocast_enabled, args = ["cpu", true]}
  fx.call() {target = @torch.set_grad_enabled, args = [false]}
  %0 = fx.call(%x) {target = @operator.matmul, args = [#fx.operand<0>, #fx.operand<0>]} : !fx.tensor<4x4xbf16>
  fx.return(%0)
}

// Names in the file are no Python: they become identifiers, each for one thing.
// CHECK-LABEL: # @names; import os
// CHECK-NEXT: def names__import_os(lambda_, F_linear):
// CHECK-NEXT: F_linear_1_1 = F_linear_1(lambda_, F_linear)
fx.graph @"names; import os"(%lambda: !fx.tensor<4x8xf32>, %F_linear: !fx.tensor<8x8xf32>) {
  %F_linear_1 = fx.call(%lambda, %F_linear) {target = @torch.nn.functional.linear, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32>
  fx.return(%F_linear_1)
}

// CHECK-LABEL: # @inference
// CHECK-NEXT: def inference(x):
// CHECK-NEXT: with inference_mode(True):
// CHECK-NEXT: t1 = x * 2
// CHECK-NEXT: with inference_mode(False):
// CHECK-NEXT: pass
// CHECK-NEXT: t2 = t1 + x
fx.graph @inference(%x: !fx.tensor<4xf32>) {
  fx.enter_inference()
  %0 = fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 2]} : !fx.tensor<4xf32>
  fx.enter_inference() {enabled = false}
  fx.leave_inference()
  fx.leave_inference()
  %1 = fx.call(%0, %x) {target = @operator.add, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4xf32>
  fx.return(%1)
}
