// RUN: lect-opt %s -p loop-layout --split-input-file | filecheck %s
// RUN: lect-opt %s -p loop-layout --target=cuda:sm_90 --split-input-file | filecheck %s --check-prefix=GPU

// Both accesses go along d0 then, and the library reads the matrix by columns.
// CHECK-LABEL: @a_factor_lies_as_it_is_made
// CHECK-NEXT:    %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>, layout = "result 0 as 16x8: 512 of 512 crossed bytes lie so"} : !loop.buffer<16x8xf32>
// CHECK:           loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>}
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>}
// CHECK:         loop.extern @e0(%0, %w) {callee = @aten.mm.default, views = [#loop.view<8x16, strides [1, 8]>, #loop.view<16x4>]
loop.func @a_factor_lies_as_it_is_made(%x: !loop.buffer<16x8xf32>, %w: !loop.buffer<16x4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  %3 = loop.extern @e0(%0, %w) {callee = @aten.mm.default, views = [#loop.view<8x16>, #loop.view<16x4>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8x4>]} : !loop.buffer<8x4xf32>
  loop.return(%3) {views = [#loop.view<8x4>]}
}

// -----

// The reader sees the rows in two dims, 16 as 2 x 8, and the buffer in another order than it is stored.
// CHECK-LABEL: @a_reader_in_other_dims_follows
// CHECK-NEXT:    %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>, layout = "result 0 as 16x8: 512 of 512 crossed bytes lie so"} : !loop.buffer<16x8xf32>
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>}
// CHECK:         loop.nest @n1(%0)
// CHECK:           loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1 * 8 + d2)>}
loop.func @a_reader_in_other_dims_follows(%x: !loop.buffer<16x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    %2 = loop.scan(%1) {kind = "sum", over = 1} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 2, d1: 8, d2: 8>} : !loop.buffer<2x8xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %4 = loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 8 + d1 + d2 * 16)>} : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [2]} : f32
    loop.store(%5) {map = #loop.map<(d0, d1, d2) -> (d0 * 8 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<2x8>]}
}

// -----

// Of three dims the middle one goes inside; each matrix of the batch still lies by rows or by columns.
// CHECK-LABEL: @batches_of_matrices
// CHECK-NEXT:    %0 = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 8, d2: 16>, layout = "result 0 as {{.*}}x8: 1024 of 1024 crossed bytes lie so"}
// CHECK:         loop.extern @e0(%0, %w) {callee = @aten.bmm.default, views = [#loop.view<2x8x16, strides [128, 1, 8]>, #loop.view<2x16x4>]
loop.func @batches_of_matrices(%x: !loop.buffer<2x16x8xf32>, %w: !loop.buffer<2x16x4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 8, d2: 16>} : !loop.buffer<2x8x16xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 128 + d1 + d2 * 8)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1, d2) -> (d0 * 128 + d1 * 16 + d2)>}
  }
  %3 = loop.extern @e0(%0, %w) {callee = @aten.bmm.default, views = [#loop.view<2x8x16>, #loop.view<2x16x4>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<2x8x4>]} : !loop.buffer<2x8x4xf32>
  loop.return(%3) {views = [#loop.view<2x8x4>]}
}

// -----

// CHECK-LABEL: @sizes_may_be_symbols
// CHECK:         layout = "result 0 as 16xs0: {{[0-9]+}} of {{[0-9]+}} crossed bytes lie so"
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1) -> (d1 * s0 + d0)>}
// CHECK:         views = [#loop.view<s0x16, strides [1, s0]>, #loop.view<16x4>]
loop.func @sizes_may_be_symbols(%x: !loop.buffer<16xs0xf32>, %w: !loop.buffer<16x4xf32>) {symbols = {s0 = {hint = 8, min = 2, max = 4096}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: 16>} : !loop.buffer<s0x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 + d1 * s0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  %3 = loop.extern @e0(%0, %w) {callee = @aten.mm.default, views = [#loop.view<s0x16>, #loop.view<16x4>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<s0x4>]} : !loop.buffer<s0x4xf32>
  loop.return(%3) {views = [#loop.view<s0x4>]}
}

// -----

// CHECK-LABEL: @no_other_layout_as_the_caller_sees_it
// CHECK-NOT:     layout =
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
loop.func @no_other_layout_as_the_caller_sees_it(%x: !loop.buffer<16x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<8x16>]}
}

// -----

// CHECK-LABEL: @no_other_layout_for_a_function_that_wants_its_own
// CHECK-NOT:     layout =
// CHECK:         views = [#loop.view<8x16>]
loop.func @no_other_layout_for_a_function_that_wants_its_own(%x: !loop.buffer<16x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  %3 = loop.extern @e0(%0) {callee = @aten.linalg_inv_ex.default, views = [#loop.view<8x16>], args = [#loop.operand<0>], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  loop.return(%3) {views = [#loop.view<8x16>]}
}

// -----

// CHECK-LABEL: @no_other_layout_where_places_depend_on_data
// CHECK-NOT:     layout =
loop.func @no_other_layout_where_places_depend_on_data(%x: !loop.buffer<16x8xf32>, %rows: !loop.buffer<4xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  %3 = loop.nest @n1(%0, %rows) {space = #loop.space<d0: 4, d1: 16>} : !loop.buffer<4x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%rows) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %5 = loop.load(%0, %4) {map = #loop.map<(d0, d1)[i0] -> (i0 * 16 + d1)>} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<4x16>]}
}

// -----

// What the writer would gain, the reader would lose.
// CHECK-LABEL: @no_other_layout_as_as_many_bytes_are_crossed
// CHECK-NOT:     layout =
loop.func @no_other_layout_as_as_many_bytes_are_crossed(%x: !loop.buffer<16x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : f32
    %5 = loop.exp(%4) : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<8x16>]}
}

// -----

// The reader walks the 128 elements as they lie in memory: in another order it would have to divide.
// CHECK-LABEL: @no_other_layout_that_needs_a_division
// CHECK-NOT:     layout =
loop.func @no_other_layout_that_needs_a_division(%x: !loop.buffer<16x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 128>} : !loop.buffer<128xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.scan(%4) {kind = "sum", over = 0} : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<128>]}
}

// -----

// CHECK-LABEL: @no_other_layout_of_what_is_written_to_a_parameter
// CHECK-NOT:     layout =
loop.func @no_other_layout_of_what_is_written_to_a_parameter(%x: !loop.buffer<16x8xf32>, %y: !loop.buffer<8x16xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  loop.write(%y, %0) {view = #loop.view<8x16>, place = #loop.view<8x16>}
  loop.return() {views = []}
}

// -----

// The first image is copied, what stands between the convolutions stores and reads it with the channels together.  A CPU's library takes either.
// CHECK-LABEL: @images_of_halves_have_their_channels_together
// CHECK-NOT:     layout =
// GPU-LABEL: @images_of_halves_have_their_channels_together
// GPU-NEXT:    %0 = loop.nest @e0.image(%x) {space = #loop.space<d0: 2, d1: 4, d2: 4, d3: 3>, realize = ["operand of aten.convolution.default"], layout = "result 0 as 2x4x4x3: for @e0"} : !loop.buffer<2x4x4x3xbf16>
// GPU:           loop.load(%x) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 48 + d3 * 16 + d1 * 4 + d2)>}
// GPU:         loop.extern @e0(%0, %w) {callee = @aten.convolution.default, views = [#loop.view<2x3x4x4, strides [48, 1, 12, 3]>, #loop.view<8x3x3x3>], {{.*}}result_views = [#loop.view<2x8x4x4, strides [128, 1, 32, 8]>], chosen = "images with their channels together, as a GPU multiplies halves"} : !loop.buffer<2x4x4x8xbf16>
// GPU:         loop.nest @n1({{.*}}) {space = #loop.space<d0: 2, d1: 4, d2: 4, d3: 8>, layout = "result 0 as 2x4x4x8: for @e4", order = "d0, d2, d3, d1: {{.*}}"} : !loop.buffer<2x4x4x8xbf16>
// GPU:           loop.load({{.*}}) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2 * 8 + d3)>}
// GPU:           loop.store({{.*}}) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2 * 8 + d3)>}
// GPU:         loop.extern @e4({{.*}}) {callee = @aten.convolution.default, views = [#loop.view<2x8x4x4, strides [128, 1, 32, 8]>
// GPU:           loop.reduce({{.*}}) {kind = "max", over = [1, 2]}
loop.func @images_of_halves_have_their_channels_together(%x: !loop.buffer<2x3x4x4xbf16>, %w: !loop.buffer<8x3x3x3xbf16>, %v: !loop.buffer<8x8x3x3xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.convolution.default, views = [#loop.view<2x3x4x4>, #loop.view<8x3x3x3>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1], result_views = [#loop.view<2x8x4x4>]} : !loop.buffer<2x8x4x4xbf16>
  %1 = loop.nest @n1(%0) {space = #loop.space<d0: 2, d1: 8, d2: 4, d3: 4>} : !loop.buffer<2x8x4x4xbf16> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>} : bf16
    loop.store(%2) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>}
  }
  %4 = loop.extern @e4(%1, %v) {callee = @aten.convolution.default, views = [#loop.view<2x8x4x4>, #loop.view<8x8x3x3>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1], result_views = [#loop.view<2x8x4x4>]} : !loop.buffer<2x8x4x4xbf16>
  %5 = loop.nest @n5(%4) {space = #loop.space<d0: 2, d1: 8, d2: 4, d3: 4>} : !loop.buffer<2x8xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %6 = loop.load(%4) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>} : bf16
    %7 = loop.cast(%6) : f32
    %8 = loop.reduce(%7) {kind = "max", over = [2, 3]} : f32
    loop.store(%8) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 8 + d1)>}
  }
  loop.return(%5) {views = [#loop.view<2x8>]}
}

// -----

// CHECK-LABEL: @no_channels_together_for_f32
// GPU-LABEL: @no_channels_together_for_f32
// GPU-NOT:     strides
loop.func @no_channels_together_for_f32(%x: !loop.buffer<2x3x4x4xf32>, %w: !loop.buffer<8x3x3x3xf32>, %v: !loop.buffer<8x8x3x3xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.convolution.default, views = [#loop.view<2x3x4x4>, #loop.view<8x3x3x3>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1], result_views = [#loop.view<2x8x4x4>]} : !loop.buffer<2x8x4x4xf32>
  %1 = loop.nest @n1(%0) {space = #loop.space<d0: 2, d1: 8, d2: 4, d3: 4>} : !loop.buffer<2x8x4x4xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>} : f32
    loop.store(%2) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>}
  }
  %4 = loop.extern @e4(%1, %v) {callee = @aten.convolution.default, views = [#loop.view<2x8x4x4>, #loop.view<8x8x3x3>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1], result_views = [#loop.view<2x8x4x4>]} : !loop.buffer<2x8x4x4xf32>
  %5 = loop.nest @n5(%4) {space = #loop.space<d0: 2, d1: 8, d2: 4, d3: 4>} : !loop.buffer<2x8xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %6 = loop.load(%4) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>} : f32
    %7 = loop.reduce(%6) {kind = "max", over = [2, 3]} : f32
    loop.store(%7) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 8 + d1)>}
  }
  loop.return(%5) {views = [#loop.view<2x8>]}
}

// -----

// The first convolution's image is read by one that goes channel by channel, through a nest that may store it as that one wants.
// CHECK-LABEL: @no_channels_together_for_a_convolution_by_channel
// GPU-LABEL: @no_channels_together_for_a_convolution_by_channel
// GPU:         loop.nest @n1(
// GPU:         loop.extern @e4({{.*}}) {callee = @aten.convolution.default, views = [#loop.view<2x8x4x4>, #loop.view<8x1x3x3>]
loop.func @no_channels_together_for_a_convolution_by_channel(%x: !loop.buffer<2x3x4x4xf16>, %w: !loop.buffer<8x3x3x3xf16>, %v: !loop.buffer<8x1x3x3xf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.convolution.default, views = [#loop.view<2x3x4x4>, #loop.view<8x3x3x3>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1], result_views = [#loop.view<2x8x4x4>]} : !loop.buffer<2x8x4x4xf16>
  %1 = loop.nest @n1(%0) {space = #loop.space<d0: 2, d1: 8, d2: 4, d3: 4>} : !loop.buffer<2x8x4x4xf16> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>} : f16
    loop.store(%2) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>}
  }
  %4 = loop.extern @e4(%1, %v) {callee = @aten.convolution.default, views = [#loop.view<2x8x4x4>, #loop.view<8x1x3x3>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 8], result_views = [#loop.view<2x8x4x4>]} : !loop.buffer<2x8x4x4xf16>
  %5 = loop.nest @n5(%4) {space = #loop.space<d0: 2, d1: 8, d2: 4, d3: 4>} : !loop.buffer<2x8xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %6 = loop.load(%4) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>} : f16
    %7 = loop.cast(%6) : f32
    %8 = loop.reduce(%7) {kind = "max", over = [2, 3]} : f32
    loop.store(%8) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 8 + d1)>}
  }
  loop.return(%5) {views = [#loop.view<2x8>]}
}

// -----

// CHECK-LABEL: @no_channels_together_where_the_caller_sees_the_image
// GPU-LABEL: @no_channels_together_where_the_caller_sees_the_image
// GPU-NOT:     strides
loop.func @no_channels_together_where_the_caller_sees_the_image(%x: !loop.buffer<2x3x4x4xbf16>, %w: !loop.buffer<8x3x3x3xbf16>, %v: !loop.buffer<8x8x3x3xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.convolution.default, views = [#loop.view<2x3x4x4>, #loop.view<8x3x3x3>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1], result_views = [#loop.view<2x8x4x4>]} : !loop.buffer<2x8x4x4xbf16>
  %1 = loop.nest @n1(%0) {space = #loop.space<d0: 2, d1: 8, d2: 4, d3: 4>} : !loop.buffer<2x8x4x4xbf16> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>} : bf16
    loop.store(%2) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 16 + d2 * 4 + d3)>}
  }
  %4 = loop.extern @e4(%1, %v) {callee = @aten.convolution.default, views = [#loop.view<2x8x4x4>, #loop.view<8x8x3x3>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1], result_views = [#loop.view<2x8x4x4>]} : !loop.buffer<2x8x4x4xbf16>
  loop.return(%0, %4) {views = [#loop.view<2x8x4x4>, #loop.view<2x8x4x4>]}
}
