// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s

// Arguments may hold operands at any depth; what is contiguous, on the CPU and without gradient is not spelled out.
// CHECK-LABEL: fx.graph @calls(%x: !fx.tensor<4x8xf32>, %w: !fx.tensor<8x8xf32, strides [1, 8], requires_grad>)
// CHECK-NEXT: %0 = fx.call(%x, %w) {target = @operator.matmul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32, requires_grad>
// CHECK-NEXT: %1 = fx.call(%0) {target = @torch.nn.functional.gelu, args = [#fx.operand<0>], kwargs = {approximate = "tanh"}} : !fx.tensor<4x8xf32, requires_grad>
// CHECK-NEXT: %2 = fx.call(%0, %1) {target = @torch.cat, args = [{list = [#fx.operand<0>, #fx.operand<1>]}], kwargs = {dim = -1}} : !fx.tensor<4x16xf32, requires_grad>
// CHECK-NEXT: %3 = fx.call(%2) {target = @operator.getitem, args = [#fx.operand<0>, [{slice = [none, 2, none]}, #fx.ellipsis]]} : !fx.tensor<2x16xf32, requires_grad>
// CHECK-NEXT: fx.return(%3)
fx.graph @calls(%x: !fx.tensor<4x8xf32>, %w: !fx.tensor<8x8xf32, strides [1, 8], "cpu", requires_grad>) {
  %0 = fx.call(%x, %w) {target = @operator.matmul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32, strides [8, 1], requires_grad>
  %1 = fx.call(%0) {target = @torch.nn.functional.gelu, args = [#fx.operand<0>], kwargs = {approximate = "tanh"}} : !fx.tensor<4x8xf32, requires_grad>
  %2 = fx.call(%0, %1) {target = @torch.cat, args = [{list = [#fx.operand<0>, #fx.operand<1>]}], kwargs = {dim = -1}} : !fx.tensor<4x16xf32, requires_grad>
  %3 = fx.call(%2) {target = @operator.getitem, args = [#fx.operand<0>, [{slice = [none, 2, none]}, #fx.ellipsis]]} : !fx.tensor<2x16xf32, requires_grad>
  fx.return(%3)
}

// A call may return several tensors, and `structure` says where they stand among other things.
// CHECK-LABEL: fx.graph @several
// CHECK-NEXT: %0, %1 = fx.call(%x) {target = @torch.max, args = [#fx.operand<0>, -1]} : (!fx.tensor<2xbf16, "cuda:0">, !fx.tensor<2xi64, "cuda:0">)
// CHECK-NEXT: %2 = fx.call(%0) {target = @f, args = [#fx.operand<0>], structure = [#fx.result<0>, none]} : !fx.tensor<2xbf16, "cuda:0">
// CHECK-NEXT: fx.return(%2, %1)
fx.graph @several(%x: !fx.tensor<2x3xbf16, "cuda:0">) {
  %0, %1 = fx.call(%x) {target = @torch.max, args = [#fx.operand<0>, -1]} : (!fx.tensor<2xbf16, "cuda:0">, !fx.tensor<2xi64, "cuda:0">)
  %2 = fx.call(%0) {target = @f, args = [#fx.operand<0>], structure = [#fx.result<0>, none]} : !fx.tensor<2xbf16, "cuda:0">
  fx.return(%2, %1)
}

// CHECK-LABEL: fx.graph @literals(%n: !fx.number<f64>, %z: !fx.tensor<complex<f32>>)
// CHECK-NEXT: %0 = fx.call(%n, %z) {target = @torch.full, args = [{size = [2, 0]}, #fx.operand<0>], kwargs = {dtype = f64, device = #fx.device<"cuda:1">, memory_format = #fx.constant<"torch.channels_last">, out = #fx.operand<1>, extra = {dict = [["a", {complex = [0.0, -0.0]}]]}}} : !fx.tensor<2x0xf64>
fx.graph @literals(%n: !fx.number<f64>, %z: !fx.tensor<complex<f32>>) {
  %0 = fx.call(%n, %z) {target = @torch.full, args = [{size = [2, 0]}, #fx.operand<0>], kwargs = {dtype = f64, device = #fx.device<"cuda:1">, memory_format = #fx.constant<"torch.channels_last">, out = #fx.operand<1>, extra = {dict = [["a", {complex = [0.0, -0.0]}]]}}} : !fx.tensor<2x0xf64>
  fx.return(%0)
}

// Symbolic sizes have no known row-major strides, so all strides are spelled out.
// CHECK-LABEL: fx.graph @symbolic(%x: !fx.tensor<s0x512xf32>)
fx.graph @symbolic(%x: !fx.tensor<s0x512xf32>) {
  fx.return(%x)
}

// CHECK-LABEL: fx.graph @inference
// CHECK-NEXT: fx.enter_inference()
// CHECK-NEXT: fx.enter_inference() {enabled = false}
// CHECK-NEXT: fx.leave_inference()
// CHECK-NEXT: fx.leave_inference()
fx.graph @inference(%x: !fx.tensor<4xf32>) {
  fx.enter_inference()
  fx.enter_inference() {enabled = false}
  fx.leave_inference()
  fx.leave_inference()
  fx.return(%x)
}

// CHECK-LABEL: fx.graph @views_of_several
// CHECK: fx.return(%0, %x) {several = [0]}
fx.graph @views_of_several(%x: !fx.tensor<4xf32, requires_grad>) {
  %0, %1 = fx.call(%x) {target = @torch.Tensor.chunk, args = [#fx.operand<0>, 2]} : (!fx.tensor<2xf32, requires_grad>, !fx.tensor<2xf32, requires_grad>)
  fx.return(%0, %x) {several = [0]}
}
