// RUN: lect-opt %s --emit=native | filecheck %s

// Inputs lie in the first slots, 32 bytes each, behind a head of as many.
// Kernels and products have the names of the events that a profiler sees.
// CHECK-LABEL: # @kernels
// CHECK-NEXT: empty 64 2 [8 8] [8 1] 6
// CHECK-NEXT: launch launcher @n0 8 4 1 lect::n0 2 32 64
// CHECK-NEXT: empty 96 1 [64] [1] 7
// CHECK-NEXT: launch launcher @n1 1 4 0 lect::n1 2 64 96
// CHECK-NEXT: free 64
// CHECK-NEXT: launch launcher @n2 1 1 0 lect::n2 2 96 32
// CHECK-NEXT: free 96
// CHECK-NEXT: return 1 32
host.func @kernels(%x: !host.tensor<8x8xf32>) {
  %m = host.memory(%x) : !host.buffer<64xf32>
  %t = host.empty() : !host.tensor<8x8xf32>
  %n = host.memory(%t) : !host.buffer<64xf32>
  host.launch(%m, %n) {kernel = @n0, grid = 8, grain = 4}
  %b = host.alloc() : !host.buffer<64xf64>
  host.launch(%n, %b) {kernel = @n1, grid = 1, grain = 4}
  host.free(%t)
  host.launch(%b, %m) {kernel = @n2, grid = 1}
  host.launch(%b, %m) {kernel = @never, grid = 0}
  host.free(%b)
  host.return(%x)
}

// Matrix products write into memory of their own; a view that only they look at is made without Python.
// CHECK-LABEL: # @products
// CHECK-NEXT: view 128 32 2 [8 4] [1 8] 0
// CHECK-NEXT: empty 160 2 [8 8] [8 1] 6
// CHECK-NEXT: product aoti_torch_cpu_mm_out 160 128 32 aten::mm
// CHECK-NEXT: empty 192 2 [8 8] [8 1] 6
// CHECK-NEXT: sum aoti_torch_cpu_addmm_out 192 96 128 32 4611686018427387904 4607182418800017408 aten::addmm
// CHECK-NEXT: return 2 160 192
host.func @products(%x: !host.tensor<4x8xf32>, %y: !host.tensor<8x8xf32>, %z: !host.tensor<8x8xf32>) {
  %m = host.memory(%x) : !host.buffer<32xf32>
  %t = host.view(%m) : !host.tensor<8x4xf32, strides [1, 8]>
  %p = host.extern(%t, %x) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<8x8xf32>
  %s = host.extern(%z, %t, %x) {callee = @aten.addmm.default, args = [#host.operand<0>, #host.operand<1>, #host.operand<2>], kwargs = {beta = 2}} : !host.tensor<8x8xf32>
  host.return(%p, %s)
}

// What has no row is Python, several operations as one function.
// CHECK-LABEL: # @others
// CHECK-NEXT: python step_0 1 2 32 64 96
// CHECK-NEXT: free 64
// CHECK-NEXT: return 1 96
// CHECK: def step_0(x):
// CHECK-NEXT: s = aten_sin_default(x)
// CHECK-NEXT: if s.stride() != (8, 1) or s.shape
// CHECK-NEXT: c = aten_cumsum_default(s, 0)
// CHECK: return (s, c, )
host.func @others(%x: !host.tensor<4x8xf32>) {
  %s = host.extern(%x) {callee = @aten.sin.default, args = [#host.operand<0>]} : !host.tensor<4x8xf32>
  %c = host.extern(%s) {callee = @aten.cumsum.default, args = [#host.operand<0>, 0]} : !host.tensor<4x8xf32>
  host.free(%s)
  host.return(%c)
}

// Integers, other layouts of the result and other arguments are left to Python.
// CHECK-LABEL: # @no_product_as_integers
// CHECK-NEXT: python step_0 1 1 32 64
// CHECK-NEXT: return 1 64
host.func @no_product_as_integers(%x: !host.tensor<8x8xi64>) {
  %p = host.extern(%x) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<0>]} : !host.tensor<8x8xi64>
  host.return(%p)
}

// A view that is returned is a view for autograd too.
// CHECK-LABEL: # @returned_views
// CHECK-NEXT: python step_0 1 1 32 64
// CHECK-NEXT: return 1 64
// CHECK: t = x.t()
host.func @returned_views(%x: !host.tensor<4x8xf32>) {
  %m = host.memory(%x) : !host.buffer<32xf32>
  %t = host.view(%m) : !host.tensor<8x4xf32, strides [1, 8]>
  host.return(%t)
}

// A kernel of a GPU has what is known of it, the slot of the stream, and its memory; a function of Python starts it where that does not do. The memory stands
// behind the function's name twice: for the kernel, as often as it is given, and for the function, once.
// CHECK-LABEL: # @kernels_of_a_gpu
// CHECK-NEXT: empty 64 1 [8] [1] 6
// CHECK-NEXT: start @n0 step_0 96 3 2 32 64 32 32 64
// CHECK-NEXT: return 1 64
// CHECK: def step_0(t0, t1):
// CHECK-NEXT: stream = current_stream(0)
// CHECK-NEXT: kernel_n0(stream, t0.data_ptr(), t1.data_ptr(), t0.data_ptr())
host.func @kernels_of_a_gpu(%x: !host.tensor<8xf32>) {
  %m = host.memory(%x) : !host.buffer<8xf32>
  %t = host.empty() : !host.tensor<8xf32>
  %n = host.memory(%t) : !host.buffer<8xf32>
  host.launch(%m, %n, %m) {kernel = @n0, grid = 2, target = "cuda"}
  host.return(%t)
}
