// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{parameters of 'host.func' are !host.tensor, got f32}}
host.func @parameter_is_no_tensor(%x: f32) {
  host.return()
}

// -----

host.func @no_return(%x: !host.tensor<4xf32>) {
  // expected-error @+1 {{the block must end in a terminator, not in 'host.memory'}}
  %m = host.memory(%x) : !host.buffer<4xf32>
}

// -----

host.func @frees_a_parameter(%x: !host.tensor<4xf32>) {
  // expected-error @+1 {{a parameter that is not 'consumed' belongs to the caller and is not freed here}}
  host.free(%x)
  host.return()
}

// -----

// expected-error @+1 {{'consumed' are numbers of parameters, each once, got (1,)}}
host.func @consumes_a_parameter_that_it_does_not_have(%x: !host.tensor<4xf32>) {consumed = [1]} {
  host.return()
}

// -----

// expected-error @+1 {{'consumed' are numbers of parameters, each once, got (0, 0)}}
host.func @consumes_a_parameter_twice(%x: !host.tensor<4xf32>) {consumed = [0, 0]} {
  host.return()
}

// -----

host.func @use_after_free_of_a_parameter(%x: !host.tensor<4xf32>) {consumed = [0]} {
  host.free(%x)
  // expected-error @+1 {{'host.return' uses a value after 'host.free'}}
  host.return(%x)
}

// -----

host.func @use_after_free() {
  %e = host.empty() : !host.tensor<4xf32>
  host.free(%e)
  // expected-error @+1 {{'host.return' uses a value after 'host.free'}}
  host.return(%e)
}

// -----

host.func @own_tensor_with_gaps() {
  // expected-error @+1 {{an own tensor has no gaps and no overlaps}}
  %e = host.empty() : !host.tensor<4x4xf32, strides [8, 1]>
  host.return(%e)
}

// -----

host.func @own_tensor_with_overlaps() {
  // expected-error @+1 {{an own tensor has no gaps and no overlaps}}
  %e = host.empty() : !host.tensor<4x4xf32, strides [0, 5]>
  host.return(%e)
}

// -----

host.func @memory_of_the_wrong_size(%x: !host.tensor<4x4xf32, strides [8, 1]>) {
  // expected-error @+1 {{result of 'host.memory' must be !host.buffer<28xf32>, got !host.buffer<16xf32>}}
  %m = host.memory(%x) : !host.buffer<16xf32>
  host.return()
}

// -----

host.func @view_beyond_the_end() {
  %b = host.alloc() : !host.buffer<16xf32>
  // expected-error @+1 {{the view reaches beyond the 16 elements of its buffer}}
  %v = host.view(%b) {offset = 1} : !host.tensor<4x4xf32>
  host.return(%v)
}

// -----

host.func @view_changes_the_element_type() {
  %b = host.alloc() : !host.buffer<16xf32>
  // expected-error @+1 {{a view keeps the element type f32, got i32}}
  %v = host.view(%b) : !host.tensor<4x4xi32>
  host.return(%v)
}

// -----

host.func @view_changes_the_device() {
  %b = host.alloc() : !host.buffer<16xf32>
  // expected-error @+1 {{a view stays on the device cpu, got cuda:0}}
  %v = host.view(%b) : !host.tensor<4x4xf32, "cuda:0">
  host.return(%v)
}

// -----

host.func @no_such_dim(%x: !host.tensor<4xf32>) {
  // expected-error @+1 {{dim 1 is out of range for !host.tensor<4xf32>}}
  %s = host.size(%x) {dim = 1} : index
  host.return()
}

// -----

host.func @negative_grid() {
  // expected-error @+1 {{the grid must not be negative, got -1}}
  host.launch() {kernel = @n0, grid = -1}
  host.return()
}

// -----

host.func @grain_of_nothing() {
  // expected-error @+1 {{a thread runs at least one program, got a grain of 0}}
  host.launch() {kernel = @n0, grid = 1, grain = 0}
  host.return()
}

// -----

host.func @call_names_a_missing_operand(%x: !host.tensor<4xf32>) {
  // expected-error @+1 {{there is no operand 1, the call has 1}}
  %r = host.extern(%x) {callee = @aten.add.Tensor, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<4xf32>
  host.return(%r)
}

// -----

host.func @tensor_type_without_sizes() {
  // expected-error @+1 {{!host.tensor cannot have the body}}
  %e = host.empty() : !host.tensor<4xf32, strides [1, 1]>
  host.return(%e)
}

// -----

builtin.module {
  // expected-error @+1 {{'host.return' must stand inside 'host.func', found it in 'builtin.module'}}
  host.return()
}

// -----

host.func @write_of_other_sizes(%x: !host.tensor<4xf32>, %y: !host.tensor<2x2xf32>) {
  // expected-error @+1 {{a write keeps sizes and element type}}
  host.write(%x, %y)
  host.return()
}

// -----

host.func @write_counts_backwards(%x: !host.tensor<4xf32>, %y: !host.tensor<4xf32>) {
  // expected-error @+1 {{'versions' counts writes, got -1}}
  host.write(%x, %y) {versions = -1}
  host.return()
}

// -----

host.func @written_counts_backwards(%x: !host.tensor<4xf32>) {
  // expected-error @+1 {{'versions' counts writes, got -1}}
  host.written(%x) {versions = -1}
  host.return()
}

// -----

host.func @update_without_an_operand_to_write(%x: !host.tensor<4xf32>) {
  // expected-error @+1 {{the first argument of 'host.update' is the operand that it writes}}
  host.update(%x) {callee = @aten.copy_.default, args = [1.0, #host.operand<0>]}
  host.return()
}

// -----

host.func @update_with_too_few_operands(%x: !host.tensor<4xf32>) {
  // expected-error @+1 {{there is no operand 1, the call has 1}}
  host.update(%x) {callee = @aten.copy_.default, args = [#host.operand<0>, #host.operand<1>]}
  host.return()
}
