// RUN: lect-opt %s -p loop-layout --split-input-file | filecheck %s

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
