// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s

// CHECK-LABEL: host.func @everything(%x: !host.tensor<8x16xf32>, %w: !host.tensor<16x4xf32, strides [1, 16]>, %n: !host.tensor<i64>)
host.func @everything(%x: !host.tensor<8x16xf32>, %w: !host.tensor<16x4xf32, strides [1, 16]>, %n: !host.tensor<i64>) {
  // CHECK-NEXT: %[[XM:.*]] = host.memory(%x) : !host.buffer<128xf32>
  %xm = host.memory(%x) : !host.buffer<128xf32>
  // CHECK-NEXT: host.alloc() {slot = 0, reason = "kernel result"} : !host.buffer<256xf32>
  %b = host.alloc() {slot = 0, reason = "kernel result"} : !host.buffer<256xf32>
  // CHECK-NEXT: host.empty() : !host.tensor<2x2xbf16, "cuda:0">
  %e = host.empty() : !host.tensor<2x2xbf16, "cuda:0">
  // CHECK-NEXT: host.launch(%[[XM]], %b) {kernel = @n0, grid = 8, grain = 4}
  host.launch(%xm, %b) {kernel = @n0, grid = 8, grain = 4}
  // CHECK-NEXT: host.view(%b) {offset = 128} : !host.tensor<8x16xf32>
  %v = host.view(%b) {offset = 128} : !host.tensor<8x16xf32>
  // CHECK-NEXT: host.size(%x) {dim = 1} : index
  %s = host.size(%x) {dim = 1} : index
  // CHECK-NEXT: host.extern(%v, %w) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<8x4xf32>
  %r = host.extern(%v, %w) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<8x4xf32>
  // CHECK-NEXT: %p, %q = host.extern(%r) {callee = @aten.max.dim, args = [#host.operand<0>, 1], kwargs = {keepdim = true}} : (!host.tensor<8x1xf32>, !host.tensor<8x1xi64>)
  %p, %q = host.extern(%r) {callee = @aten.max.dim, args = [#host.operand<0>, 1], kwargs = {keepdim = true}} : (!host.tensor<8x1xf32>, !host.tensor<8x1xi64>)
  // CHECK-NEXT: host.write(%x, %v) {versions = 2}
  host.write(%x, %v) {versions = 2}
  // CHECK-NEXT: host.update(%x, %v) {callee = @aten.copy_.default, args = [#host.operand<0>, #host.operand<1>], kwargs = {non_blocking = false}}
  host.update(%x, %v) {callee = @aten.copy_.default, args = [#host.operand<0>, #host.operand<1>], kwargs = {non_blocking = false}}
  // CHECK-NEXT: host.written(%x)
  host.written(%x)
  // CHECK-NEXT: host.free(%b)
  host.free(%b)
  // CHECK-NEXT: host.return(%r, %p, %n)
  host.return(%r, %p, %n)
}
