// RUN: lect-opt %s -p fx-to-functional --verify-diagnostics --split-input-file --print-locations | filecheck %s

// CHECK-LABEL: functional.func @softmax_of_double(%x: !functional.tensor<2x3xbf16>)
// CHECK-NEXT: %[[D:.*]] = functional.mul(%x) {other = 2}
// CHECK-NEXT: %[[S:.*]] = functional.softmax(%[[D]]) {dim = 1} : !functional.tensor<2x3xbf16>
// CHECK-NEXT: functional.return(%[[S]])
fx.graph @softmax_of_double(%x: !fx.tensor<2x3xbf16>) {
  %0 = fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 2]} : !fx.tensor<2x3xbf16>
  %1 = fx.call(%0) {target = @torch.softmax, args = [#fx.operand<0>, -1]} : !fx.tensor<2x3xbf16>
  fx.return(%1)
}

// CHECK-LABEL: functional.func @linear_with_layer_norm
// CHECK: functional.reshape
// CHECK-SAME: shape = [6, 8]
// CHECK: functional.permute
// CHECK-SAME: !functional.tensor<8x4xf32, strides [1, 8]>
// CHECK: functional.addmm
// CHECK: functional.layer_norm
// CHECK-SAME: normalized = [4], eps = 1.0e-05
// CHECK: functional.gelu
// CHECK-SAME: approximate = "tanh"
fx.graph @linear_with_layer_norm(%x: !fx.tensor<2x3x8xf32>, %w: !fx.tensor<4x8xf32>, %b: !fx.tensor<4xf32>) {
  %0 = fx.call(%x, %w, %b) {target = @torch.nn.functional.linear, args = [#fx.operand<0>, #fx.operand<1>, #fx.operand<2>]} : !fx.tensor<2x3x4xf32>
  %1 = fx.call(%0) {target = @torch.nn.functional.layer_norm, args = [#fx.operand<0>, {list = [4]}]} : !fx.tensor<2x3x4xf32>
  %2 = fx.call(%1) {target = @torch.nn.functional.gelu, args = [#fx.operand<0>], kwargs = {approximate = "tanh"}} : !fx.tensor<2x3x4xf32>
  fx.return(%2)
}

// Casts that eager makes silently become operations, and so does the rounding of a number that is added to halves.
// CHECK-LABEL: functional.func @casts_are_explicit
// CHECK-NEXT: %[[C:.*]] = functional.cast(%i) {to = bf16}
// CHECK-NEXT: %[[S:.*]] = functional.add(%x, %[[C]])
// CHECK-NEXT: functional.add(%[[S]]) {other = 0.10009765625}
fx.graph @casts_are_explicit(%x: !fx.tensor<4xbf16>, %i: !fx.tensor<4xi64>) {
  %0 = fx.call(%x, %i) {target = @torch.add, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4xbf16>
  %1 = fx.call(%0) {target = @torch.add, args = [#fx.operand<0>, 0.1]} : !fx.tensor<4xbf16>
  fx.return(%1)
}

// A product with a number is computed in f32, so eager does not round the number.
// CHECK-LABEL: functional.func @factors_are_not_rounded
// CHECK-NEXT: functional.mul(%x) {other = 0.1}
fx.graph @factors_are_not_rounded(%x: !fx.tensor<4xbf16>) {
  %0 = fx.call(%x) {target = @torch.mul, args = [#fx.operand<0>, 0.1]} : !fx.tensor<4xbf16>
  fx.return(%0)
}

// A write to a tensor of the graph's own is its pure form.
// CHECK-LABEL: functional.func @relu_in_place
// CHECK-NEXT: %[[E:.*]] = functional.exp(%x)
// CHECK-NEXT: %[[R:.*]] = functional.relu(%[[E]])
// CHECK-NEXT: functional.return(%[[R]])
fx.graph @relu_in_place(%x: !fx.tensor<4xf32>) {
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
  %1 = fx.call(%0) {target = @torch.relu_, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
  fx.return(%0)
}

// What has no functional operation stays a call, laid out as eager lays it out.
// CHECK-LABEL: functional.func @inverse_is_opaque
// CHECK-NEXT: functional.opaque(%x) {target = @aten.linalg_inv_ex.default, args = [#functional.operand<0>]}
// CHECK-SAME: !functional.tensor<3x3xf32, strides [1, 3]>
fx.graph @inverse_is_opaque(%x: !fx.tensor<3x3xf32>) {
  %0 = fx.call(%x) {target = @torch.inverse, args = [#fx.operand<0>]} : !fx.tensor<3x3xf32, strides [1, 3]>
  fx.return(%0)
}

// The result is the input's memory seen otherwise.
// CHECK-LABEL: functional.func @view_of_input
// CHECK: functional.return(%{{.*}}) {aliases = [["input", 0, 4]]}
fx.graph @view_of_input(%x: !fx.tensor<3x4xf32>) {
  %0 = fx.call(%x) {target = @operator.getitem, args = [#fx.operand<0>, 1]} : !fx.tensor<4xf32>
  fx.return(%0)
}

// A view that is read behind a write through another is shown again.
// CHECK-LABEL: functional.func @write_through_a_view
// CHECK-NEXT: %[[E:.*]] = functional.exp(%x)
// CHECK-NEXT: %[[V:.*]] = functional.slice(%[[E]]) {dim = 0, start = 0, end = 2}
// CHECK-NEXT: %[[R:.*]] = functional.relu(%[[V]])
// CHECK-NEXT: %[[N:.*]] = functional.slice_scatter(%[[E]], %[[R]]) {dim = 0, start = 0, end = 2}
// CHECK-NEXT: functional.neg(%[[N]])
fx.graph @write_through_a_view(%x: !fx.tensor<4xf32>) {
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
  %1 = fx.call(%0) {target = @operator.getitem, args = [#fx.operand<0>, {slice = [none, 2, none]}]} : !fx.tensor<2xf32>
  %2 = fx.call(%1) {target = @torch.relu_, args = [#fx.operand<0>]} : !fx.tensor<2xf32>
  %3 = fx.call(%0) {target = @torch.neg, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
  fx.return(%3)
}

// Writes to inputs happen at the end, once for each place; a result in the input's memory shows them.
// CHECK-LABEL: functional.func @input_is_written
// CHECK-NEXT: %[[R:.*]] = functional.relu(%x)
// CHECK-NEXT: %[[T:.*]] = functional.mul(%[[R]]) {other = 2}
// CHECK-NEXT: functional.write(%x, %[[T]]) {versions = 2}
// CHECK-NEXT: functional.return(%[[T]]) {aliases = {{\[\[}}"input", 0, 0]]}
fx.graph @input_is_written(%x: !fx.tensor<4xf32>) {
  %0 = fx.call(%x) {target = @torch.relu_, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
  %1 = fx.call(%x) {target = @torch.Tensor.mul_, args = [#fx.operand<0>, 2]} : !fx.tensor<4xf32>
  fx.return(%1)
}

// Only what was written is copied, and nothing is scattered that nobody reads.
// CHECK-LABEL: functional.func @part_of_an_input_is_written
// CHECK-NOT: scatter
// CHECK: functional.write(%x, %{{.*}}) {offset = 2} loc
// CHECK-NEXT: functional.return()
fx.graph @part_of_an_input_is_written(%x: !fx.tensor<3x4xf32>, %y: !fx.tensor<3xf32>) {
  fx.call(%x, %y) {target = @operator.setitem, args = [#fx.operand<0>, [{slice = [none, none, none]}, 2], #fx.operand<1>]}
  fx.return()
}

// An operation on lists is taken apart.
// CHECK-LABEL: functional.func @lists
// CHECK-NEXT: %[[X:.*]] = functional.mul(%x) {other = 2}
// CHECK-NEXT: %[[Y:.*]] = functional.mul(%y) {other = 2}
// CHECK-NEXT: functional.write(%x, %[[X]]) loc
// CHECK-NEXT: functional.write(%y, %[[Y]]) loc
fx.graph @lists(%x: !fx.tensor<4xf32>, %y: !fx.tensor<3xf32>) {
  fx.call(%x, %y) {target = @torch._foreach_mul_, args = [{list = [#fx.operand<0>, #fx.operand<1>]}, 2]}
  fx.return()
}

// Where a tensor is given for the result, it is written.
// CHECK-LABEL: functional.func @out
// CHECK-NEXT: %[[S:.*]] = functional.add(%x) {other = 1}
// CHECK-NEXT: functional.write(%y, %[[S]]) loc
// CHECK-NEXT: functional.return(%[[S]]) {aliases = {{\[\[}}"input", 1, 0]]}
fx.graph @out(%x: !fx.tensor<4xf32>, %y: !fx.tensor<4xf32>) {
  %0 = fx.call(%x, %y) {target = @torch.add, args = [#fx.operand<0>, 1], kwargs = {out = #fx.operand<1>}} : !fx.tensor<4xf32>
  fx.return(%0)
}

// Batch normalisation updates its statistics without counting that as a write.
// CHECK-LABEL: functional.func @statistics
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}}, %[[M:.*]], %[[V:.*]] = functional.batch_norm(%x, %m, %v) {training = true, momentum = 0.1, eps = 1.0e-05}
// CHECK-NEXT: functional.write(%m, %[[M]]) {versions = 0}
// CHECK-NEXT: functional.write(%v, %[[V]]) {versions = 0}
// CHECK-NEXT: functional.return(%[[Y]])
fx.graph @statistics(%x: !fx.tensor<6x4xf32>, %m: !fx.tensor<4xf32>, %v: !fx.tensor<4xf32>) {
  %0 = fx.call(%x, %m, %v) {target = @torch.nn.functional.batch_norm, args = [#fx.operand<0>, #fx.operand<1>, #fx.operand<2>], kwargs = {training = true}} : !fx.tensor<6x4xf32>
  fx.return(%0)
}

// CHECK-LABEL: functional.func @locations_are_kept
// CHECK-NEXT: functional.exp(%x) : !functional.tensor<4xf32> loc("m.py":3:8)
fx.graph @locations_are_kept(%x: !fx.tensor<4xf32>) {
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<4xf32> loc("m.py":3:8)
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_sizes_of_an_input_change(%x: !fx.tensor<2x3xf32>) {
  // expected-error @+1 {{this changes the sizes of an input of the graph}}
  %0 = fx.call(%x) {target = @torch.Tensor.t_, args = [#fx.operand<0>]} : !fx.tensor<3x2xf32, strides [1, 3]>
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_the_written_input_repeats_elements(%x: !fx.tensor<3x4xf32, strides [0, 1]>) {
  // expected-error @+1 {{aten.relu_.default writes to a tensor that repeats its elements}}
  %0 = fx.call(%x) {target = @torch.relu_, args = [#fx.operand<0>]} : !fx.tensor<3x4xf32, strides [0, 1]>
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_a_write_reads_a_part_of_its_memory(%x: !fx.tensor<4x4xf32>) {
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<4x4xf32>
  %1 = fx.call(%0) {target = @torch.t, args = [#fx.operand<0>]} : !fx.tensor<4x4xf32, strides [1, 4]>
  // expected-error @+1 {{aten.add_.Tensor reads a part of the memory that it writes to}}
  %2 = fx.call(%0, %1) {target = @torch.Tensor.add_, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x4xf32>
  fx.return(%2)
}

// -----

fx.graph @no_lowering_as_a_result_is_conjugated_lazily(%x: !fx.tensor<4xcomplex<f32>>) {
  %0 = fx.call(%x) {target = @torch.conj, args = [#fx.operand<0>]} : !fx.tensor<4xcomplex<f32>>
  // expected-error @+1 {{a result is conjugated or negated lazily}}
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_the_written_view_is_not_known(%x: !fx.tensor<4xf32>) {
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
  %1 = fx.call(%0) {target = @torch.Tensor.view, args = [#fx.operand<0>, i32]} : !fx.tensor<4xi32>
  %2 = fx.call(%1) {target = @torch.Tensor.add_, args = [#fx.operand<0>, 1]} : !fx.tensor<4xi32>
  // expected-error @+1 {{this reads a tensor whose memory another view of it has changed}}
  %3 = fx.call(%0) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
  fx.return(%3)
}

// -----

fx.graph @no_lowering_as_the_data_is_asked_for(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{needs the elements of a traced tensor}}
  %0 = fx.call(%x) {target = @torch.nonzero, args = [#fx.operand<0>]} : !fx.tensor<4x1xi64>
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_shapes_do_not_fit(%x: !fx.tensor<4xf32>, %y: !fx.tensor<3xf32>) {
  // expected-error @+1 {{torch.add raises RuntimeError}}
  %0 = fx.call(%x, %y) {target = @torch.add, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4xf32>
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_the_graph_has_another_type(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{torch.exp gives [4] of float32 with strides [1] on cpu, but the graph says [5]}}
  %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<5xf32>
  fx.return(%0)
}

// -----

// A checkpoint keeps nothing where there is no backward: its region stands in its place.
// CHECK-LABEL: functional.func @region_of_a_checkpoint_is_inlined(%x: !functional.tensor<4xf32>, %w: !functional.tensor<4xf32>)
// CHECK-NEXT: %[[S:.*]] = functional.sin(%x)
// CHECK-NEXT: %[[M:.*]] = functional.mul(%[[S]], %w)
// CHECK-NEXT: functional.return(%[[M]])
fx.graph @region_of_a_checkpoint_is_inlined(%x: !fx.tensor<4xf32>, %w: !fx.tensor<4xf32>) {
  %0 = fx.checkpoint(%x) : !fx.tensor<4xf32> {
  ^bb0(%a: !fx.tensor<4xf32>):
    %1 = fx.call(%a) {target = @torch.sin, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
    %2 = fx.call(%1, %w) {target = @operator.mul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4xf32>
    fx.yield(%2)
  }
  fx.return(%0)
}

// -----

// A transform runs as torch.func does, on tensors without elements: what is left are the operations of its batching and gradient rules.
// CHECK-LABEL: functional.func @gradient_of_each_row(%x: !functional.tensor<2x3xf32>)
// CHECK: functional.cos(%x)
// CHECK-NOT: functional.opaque
// CHECK: functional.return
fx.graph @gradient_of_each_row(%x: !fx.tensor<2x3xf32>) {
  %0 = fx.transform(%x) {transform = "vmap", in_dims = [0], out_dims = [0]} : !fx.tensor<2x3xf32> {
  ^bb0(%a: !fx.tensor<3xf32>):
    %1, %2 = fx.transform(%a) {transform = "grad", argnums = [0]} : (!fx.tensor<3xf32>, !fx.tensor<f32>) {
    ^bb0(%b: !fx.tensor<3xf32, requires_grad>):
      %3 = fx.call(%b) {target = @torch.sin, args = [#fx.operand<0>]} : !fx.tensor<3xf32, requires_grad>
      %4 = fx.call(%3) {target = @torch.sum, args = [#fx.operand<0>]} : !fx.tensor<f32, requires_grad>
      fx.yield(%4)
    }
    fx.yield(%1)
  }
  fx.return(%0)
}

// -----

// CHECK-LABEL: functional.func @gradient_by_the_engine(%x: !functional.tensor<4xf32>)
// CHECK: functional.cos(%x)
// CHECK: functional.return
fx.graph @gradient_by_the_engine(%x: !fx.tensor<4xf32, requires_grad>) {
  %0 = fx.call(%x) {target = @torch.sin, args = [#fx.operand<0>]} : !fx.tensor<4xf32, requires_grad>
  %1 = fx.call(%0) {target = @torch.sum, args = [#fx.operand<0>]} : !fx.tensor<f32, requires_grad>
  %2 = fx.call(%1, %x) {target = @torch.autograd.grad, args = [#fx.operand<0>, #fx.operand<1>], structure = [#fx.result<0>]} : !fx.tensor<4xf32>
  fx.return(%2)
}

// -----

// Casts of autocast become casts; the switches are gone.
// CHECK-LABEL: functional.func @autocast(%x: !functional.tensor<4x4xf32>)
// CHECK-NEXT: %[[C:.*]] = functional.cast(%x) {to = bf16}
// CHECK-NEXT: %[[D:.*]] = functional.cast(%x) {to = bf16}
// CHECK-NEXT: %[[M:.*]] = functional.mm(%[[D]], %[[C]])
// CHECK-NEXT: functional.return(%[[M]])
fx.graph @autocast(%x: !fx.tensor<4x4xf32>) {
  fx.call() {target = @torch.set_autocast_dtype, args = ["cpu", bf16]}
  fx.call() {target = @torch.set_autocast_enabled, args = ["cpu", true]}
  %0 = fx.call(%x) {target = @operator.matmul, args = [#fx.operand<0>, #fx.operand<0>]} : !fx.tensor<4x4xbf16>
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_the_branch_is_known_at_run_time(%x: !fx.tensor<4xf32>, %p: !fx.tensor<i1>) {
  // expected-error @+1 {{'fx.cond' cannot be lowered to functional operations}}
  %0 = fx.cond(%p) : !fx.tensor<4xf32> {
    fx.yield(%x)
  }, {
    fx.yield(%x)
  }
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_the_transform_fails(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{'fx.transform' raises RuntimeError}}
  %0, %1 = fx.transform(%x) {transform = "grad", argnums = [0]} : (!fx.tensor<4xf32>, !fx.tensor<4xf32>) {
  ^bb0(%a: !fx.tensor<4xf32, requires_grad>):
    %2 = fx.call(%a) {target = @torch.sin, args = [#fx.operand<0>]} : !fx.tensor<4xf32, requires_grad>
    fx.yield(%2)
  }
  fx.return(%0)
}

// -----

fx.graph @no_lowering_as_the_generator_is_seeded(%x: !fx.tensor<4xf32>) {
  // expected-error @+1 {{torch.manual_seed has no functional form}}
  fx.call() {target = @torch.manual_seed, args = [3]}
  fx.return(%x)
}
