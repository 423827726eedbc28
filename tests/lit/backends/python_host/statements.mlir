// RUN: lect-opt %s --emit=python | filecheck %s

// CHECK-LABEL: # @memory
// CHECK-NEXT: def memory(x):
// CHECK-NEXT: b = empty(64, dtype=f32){{ +}}# kernel result
// CHECK-NEXT: launch(kernel_n0, pointers2(x.data_ptr(), b.data_ptr()), 8, 4)
// CHECK-NEXT: v = b.as_strided((4, 8), (8, 1), 32)
// CHECK-NEXT: del b
// CHECK-NEXT: return [v]
host.func @memory(%x: !host.tensor<8x8xf32>) {
  %m = host.memory(%x) : !host.buffer<64xf32>
  %b = host.alloc() {reason = "kernel result"} : !host.buffer<64xf32>
  host.launch(%m, %b) {kernel = @n0, grid = 8, grain = 4}
  %v = host.view(%b) {offset = 32} : !host.tensor<4x8xf32>
  host.free(%b)
  host.return(%v)
}

// A part of a tensor's memory begins where the tensor begins, wherever that is in its storage.
// CHECK-LABEL: # @view_of_a_parameter
// CHECK: v = x.as_strided((8,), (1,), x.storage_offset() + 8)
host.func @view_of_a_parameter(%x: !host.tensor<8x8xf32>) {
  %m = host.memory(%x) : !host.buffer<64xf32>
  %v = host.view(%m) {offset = 8} : !host.tensor<8xf32>
  host.return(%v)
}

// What only reorders dims says so; sizes that agree but strides that do not are no reordering.
// CHECK-LABEL: # @reordered_parameters
// CHECK: a = x.t()
// CHECK-NEXT: b = y.permute((2, 0, 1))
// CHECK-NEXT: c = x
// CHECK-NEXT: d = x.as_strided((4, 8), (4, 1), x.storage_offset() + 0)
host.func @reordered_parameters(%x: !host.tensor<4x8xf32>, %y: !host.tensor<2x3x4xf32>) {
  %m = host.memory(%x) : !host.buffer<32xf32>
  %n = host.memory(%y) : !host.buffer<24xf32>
  %a = host.view(%m) : !host.tensor<8x4xf32, strides [1, 8]>
  %b = host.view(%n) : !host.tensor<4x2x3xf32, strides [1, 12, 4]>
  %c = host.view(%m) : !host.tensor<4x8xf32>
  %d = host.view(%m) : !host.tensor<4x8xf32, strides [4, 1]>
  host.return(%a, %b, %c, %d)
}

// Own tensors have the strides of their type.
// CHECK-LABEL: # @own_tensors
// CHECK: a = empty((2, 3), dtype=bf16)
// CHECK-NEXT: b = empty_strided((2, 3), (1, 2), dtype=i1)
// CHECK-NEXT: c = empty((), dtype=complex_f32)
host.func @own_tensors() {
  %a = host.empty() : !host.tensor<2x3xbf16>
  %b = host.empty() : !host.tensor<2x3xi1, strides [1, 2]>
  %c = host.empty() : !host.tensor<complex<f32>>
  host.return(%a, %b, %c)
}

// Library calls are written out, and their layout is checked.
// CHECK-LABEL: # @library_calls
// CHECK: r = aten_addmm_default(x, x, x, beta=0.5)
// CHECK-NEXT: if r.stride() != (4, 1): r = check('@aten.addmm.default', r, (4, 4), (4, 1), f32)
// CHECK-NEXT: p, q = tensors_of(aten_max_dim(r, -1, True), 2)
// CHECK: f = aten_full_default([2], float('-inf'), dtype=f64, device='cpu', pin_memory=None)
host.func @library_calls(%x: !host.tensor<4x4xf32>) {
  %r = host.extern(%x) {callee = @aten.addmm.default, args = [#host.operand<0>, #host.operand<0>, #host.operand<0>], kwargs = {beta = 0.5}} : !host.tensor<4x4xf32>
  %p, %q = host.extern(%r) {callee = @aten.max.dim, args = [#host.operand<0>, -1, true]} : (!host.tensor<4x1xf32>, !host.tensor<4x1xi64>)
  %f = host.extern() {callee = @aten.full.default, args = [[2], -inf], kwargs = {dtype = f64, device = "cpu", pin_memory = none}} : !host.tensor<2xf64>
  host.return(%p, %q, %f)
}

// CHECK-LABEL: # @no_launch_as_the_grid_is_empty
// CHECK-NOT: launch(
// CHECK: n = x.size(0)
host.func @no_launch_as_the_grid_is_empty(%x: !host.tensor<0xf32>) {
  %m = host.memory(%x) : !host.buffer<0xf32>
  host.launch(%m) {kernel = @n0, grid = 0}
  %n = host.size(%x) {dim = 0} : index
  host.return(%x)
}

// What has no literal names its constructor.
// CHECK-LABEL: # @constructed_arguments
// CHECK: a = aten_rand_default([3], device='cpu', layout=layout_strided)
// CHECK: c = aten_clone_default(x, memory_format=memory_format_channels_last)
// CHECK: d = aten_add_Scalar(a, complex(0.0, 1.0))
host.func @constructed_arguments(%x: !host.tensor<2x3x4x5xf32>) {
  %a = host.extern() {callee = @aten.rand.default, args = [[3]], kwargs = {device = {device = "cpu"}, layout = {layout = "strided"}}} : !host.tensor<3xf32>
  %c = host.extern(%x) {callee = @aten.clone.default, args = [#host.operand<0>], kwargs = {memory_format = {memory_format = "channels_last"}}} : !host.tensor<2x3x4x5xf32, strides [60, 1, 15, 3]>
  %d = host.extern(%a) {callee = @aten.add.Scalar, args = [#host.operand<0>, {complex = [0.0, 1.0]}]} : !host.tensor<3xcomplex<f32>>
  host.return(%a, %c, %d)
}

// Tensors of the caller are written at the end.
// CHECK-LABEL: # @writes
// CHECK: def writes(x, y, i):
// CHECK-NEXT: write(x, y, 1)
// CHECK-NEXT: write(y, x, 0)
// CHECK-NEXT: written(2, x)
// CHECK-NEXT: aten_index_add__default(x.data, 0, i, y)
// CHECK-NEXT: return []
host.func @writes(%x: !host.tensor<4xf32>, %y: !host.tensor<4xf32>, %i: !host.tensor<4xi64>) {
  host.write(%x, %y)
  host.write(%y, %x) {versions = 0}
  host.written(%x) {versions = 2}
  host.written(%y) {versions = 0}
  host.update(%x, %i, %y) {callee = @aten.index_add_.default, args = [#host.operand<0>, 0, #host.operand<1>, #host.operand<2>]}
  host.return()
}

// What takes parameters for itself takes one list, and empties it: a tuple of arguments would keep them alive.
// CHECK-LABEL: # @consumes
// CHECK-NEXT: def consumes(given_1):
// CHECK-NEXT: [x, given] = given_1
// CHECK-NEXT: given_1.clear()
// CHECK-NEXT: launch(kernel_n0, pointers2(x.data_ptr(), given.data_ptr()), 8, 4)
// CHECK-NEXT: del x
// CHECK-NEXT: return [given]
host.func @consumes(%x: !host.tensor<8xf32>, %given: !host.tensor<8xf32>) {consumed = [0]} {
  %m = host.memory(%x) : !host.buffer<8xf32>
  %n = host.memory(%given) : !host.buffer<8xf32>
  host.launch(%m, %n) {kernel = @n0, grid = 8, grain = 4}
  host.free(%x)
  host.return(%given)
}

// A size that a call finds is checked to be one that the program is for.
// CHECK-LABEL: # @found
// CHECK:      p = aten_nonzero_default(mask)
// CHECK-NEXT: s1 = found_size('@aten.nonzero.default', p.size(0), 2, 40)
// CHECK:      n = p.size(0)
// CHECK-NEXT: x = empty((n,), dtype=f32)
host.func @found(%mask: !host.tensor<9xi1>) {
  %p = host.extern(%mask) {callee = @aten.nonzero.default, args = [#host.operand<0>], finds = {s1 = [0, 0, 2, 40]}} : !host.tensor<s1x1xi64, strides [1, s1]>
  %n = host.size(%p) {dim = 0, symbol = 1} : index
  %x = host.empty() : !host.tensor<s1xf32>
  host.return(%x)
}
