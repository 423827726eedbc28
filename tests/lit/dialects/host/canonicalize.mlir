// RUN: lect-opt %s -p canonicalize | filecheck %s

// A buffer that is seen as one whole tensor is allocated as that tensor.
// CHECK-LABEL: @allocates_the_only_view
// CHECK-NEXT: %v = host.empty() {slot = 3, reason = "graph output"} : !host.tensor<8x16xf32>
// CHECK-NEXT: %[[M:.*]] = host.memory(%v) : !host.buffer<128xf32>
// CHECK-NEXT: host.launch(%[[M]])
// CHECK-NEXT: host.return(%v)
host.func @allocates_the_only_view() {
  %b = host.alloc() {slot = 3, reason = "graph output"} : !host.buffer<128xf32>
  host.launch(%b) {kernel = @n0, grid = 1}
  %v = host.view(%b) : !host.tensor<8x16xf32>
  host.return(%v)
}

// CHECK-LABEL: @transposed_view_is_an_own_tensor_too
// CHECK: host.empty() : !host.tensor<8x16xf32, strides [1, 8]>
host.func @transposed_view_is_an_own_tensor_too() {
  %b = host.alloc() : !host.buffer<128xf32>
  host.launch(%b) {kernel = @n0, grid = 1}
  %v = host.view(%b) : !host.tensor<8x16xf32, strides [1, 8]>
  host.return(%v)
}

// The name of the buffer dies before the view's last use, so the memory must live on.
// CHECK-LABEL: @free_of_the_buffer_before_the_last_use_of_the_view_is_dropped
// CHECK: host.empty()
// CHECK-NOT: host.free
host.func @free_of_the_buffer_before_the_last_use_of_the_view_is_dropped() {
  %b = host.alloc() : !host.buffer<4xf32>
  host.launch(%b) {kernel = @n0, grid = 1}
  %v = host.view(%b) : !host.tensor<4xf32>
  host.free(%b)
  %r = host.extern(%v) {callee = @aten.neg.default, args = [#host.operand<0>]} : !host.tensor<4xf32>
  host.return(%r)
}

// CHECK-LABEL: @free_after_the_last_use_frees_the_tensor
// CHECK: %v = host.empty()
// CHECK: host.extern(%v)
// CHECK-NEXT: host.free(%v)
host.func @free_after_the_last_use_frees_the_tensor() {
  %b = host.alloc() : !host.buffer<4xf32>
  host.launch(%b) {kernel = @n0, grid = 1}
  %v = host.view(%b) : !host.tensor<4xf32>
  %r = host.extern(%v) {callee = @aten.neg.default, args = [#host.operand<0>]} : !host.tensor<4xf32>
  host.free(%b)
  host.return(%r)
}

// CHECK-LABEL: @no_own_tensor_as_there_are_two_views
// CHECK: host.alloc
host.func @no_own_tensor_as_there_are_two_views() {
  %b = host.alloc() : !host.buffer<16xf32>
  %v = host.view(%b) : !host.tensor<4x4xf32>
  %w = host.view(%b) : !host.tensor<16xf32>
  host.return(%v, %w)
}

// CHECK-LABEL: @no_own_tensor_as_the_view_is_a_part
// CHECK: host.alloc
host.func @no_own_tensor_as_the_view_is_a_part() {
  %b = host.alloc() : !host.buffer<16xf32>
  %v = host.view(%b) {offset = 8} : !host.tensor<8xf32>
  host.return(%v)
}

// CHECK-LABEL: @no_own_tensor_as_elements_overlap
// CHECK: host.alloc
host.func @no_own_tensor_as_elements_overlap() {
  %b = host.alloc() : !host.buffer<16xf32>
  %v = host.view(%b) : !host.tensor<4x4xf32, strides [0, 5]>
  host.return(%v)
}
