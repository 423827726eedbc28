// RUN: lect-opt %s -p loop-fuse-epilogue --split-input-file | filecheck %s

// The library would copy the row into every row of its result and read the copy again.
// CHECK-LABEL: @moves_the_bias_into_the_nest
// CHECK-NEXT:    %[[P:.*]] = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8x16>], chosen = "the nests behind it add"}
// CHECK-NEXT:    loop.nest @n0(%[[P]], %b) {space = #loop.space<d0: 2, d1: 4, d2: 16>, fused = [#loop.fuse<epilogue @e0, @n0 saves 1024>]}
// CHECK:           %[[L:.*]] = loop.load(%[[P]])
// CHECK:           %[[B:.*]] = loop.load(%b) {map = #loop.map<(d0, d1, d2) -> (d2)>}
// CHECK:           %[[S:.*]] = loop.add(%[[L]], %[[B]])
// CHECK:           loop.tanh(%[[S]])
loop.func @moves_the_bias_into_the_nest(%b: !loop.buffer<16xf32>, %x: !loop.buffer<8x4xf32>, %w: !loop.buffer<4x16xf32>) {
  %0 = loop.extern @e0(%b, %x, %w) {callee = @aten.addmm.default, views = [#loop.view<16>, #loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 2, d1: 4, d2: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1 * 16 + d2)>} : f32
    %3 = loop.tanh(%2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1 * 16 + d2)>}
  }
  loop.return(%1) {views = [#loop.view<8x16>]}
}

// -----

// A nest that only adds is a launch too many; it may see the product in other dims.
// CHECK-LABEL: @moves_a_sum_into_the_call
// CHECK-NEXT:    %[[S:.*]] = loop.extern @e0(%r, %x, %w) {callee = @aten.addmm.default, views = [#loop.view<8x16>, #loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<8x16>], chosen = "adds what @n0 added, which saves a launch"}
// CHECK-NEXT:    loop.extern @e1(%[[S]])
loop.func @moves_a_sum_into_the_call(%r: !loop.buffer<8x16xf32>, %x: !loop.buffer<8x4xf32>, %w: !loop.buffer<4x16xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  %1 = loop.nest @n0(%0, %r) {space = #loop.space<d0: 2, d1: 4, d2: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1 * 16 + d2)>} : f32
    %3 = loop.load(%r) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1 * 16 + d2)>} : f32
    %4 = loop.add(%2, %3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1 * 16 + d2)>}
  }
  %5 = loop.extern @e1(%1) {callee = @aten.cumsum.default, views = [#loop.view<8x16>], args = [#loop.operand<0>, 1], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  loop.return(%5) {views = [#loop.view<8x16>]}
}

// -----

// CHECK-LABEL: @no_move_as_the_sum_is_returned_too
// CHECK-NEXT:    loop.extern @e0({{.*}}) {callee = @aten.addmm.default
// CHECK:         loop.nest @n0({{.*}}blocked = [#loop.blocked<@e0 by "%{{.*}}: not only nests read the sum">]
loop.func @no_move_as_the_sum_is_returned_too(%b: !loop.buffer<16xf32>, %x: !loop.buffer<8x4xf32>, %w: !loop.buffer<4x16xf32>) {
  %0 = loop.extern @e0(%b, %x, %w) {callee = @aten.addmm.default, views = [#loop.view<16>, #loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 128>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index):
    %2 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %3 = loop.tanh(%2) : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0, %1) {views = [#loop.view<8x16>, #loop.view<8x16>]}
}

// -----

// CHECK-LABEL: @no_move_as_rows_and_columns_are_one_dim
// CHECK:         loop.nest @n0({{.*}}blocked = [#loop.blocked<@e0 by "%{{.*}}: its rows and columns are not dims of the nest">]
loop.func @no_move_as_rows_and_columns_are_one_dim(%b: !loop.buffer<16xf32>, %x: !loop.buffer<8x4xf32>, %w: !loop.buffer<4x16xf32>) {
  %0 = loop.extern @e0(%b, %x, %w) {callee = @aten.addmm.default, views = [#loop.view<16>, #loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 128>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index):
    %2 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %3 = loop.tanh(%2) : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%1) {views = [#loop.view<8x16>]}
}

// -----

// CHECK-LABEL: @no_move_as_two_nests_would_read_the_matrix
// CHECK:         loop.nest @n0({{.*}}blocked = [#loop.blocked<@e0 by "%{{.*}}: 2 nests would read what is added">]
loop.func @no_move_as_two_nests_would_read_the_matrix(%b: !loop.buffer<8x16xf32>, %x: !loop.buffer<8x4xf32>, %w: !loop.buffer<4x16xf32>) {
  %0 = loop.extern @e0(%b, %x, %w) {callee = @aten.addmm.default, views = [#loop.view<8x16>, #loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : f32
    %3 = loop.tanh(%2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  %4 = loop.nest @n1(%0) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %5 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : f32
    %6 = loop.reduce(%5) {kind = "max", over = [1]} : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%1, %4) {views = [#loop.view<8x16>, #loop.view<8>]}
}

// -----

// CHECK-LABEL: @no_move_as_the_nest_does_more_than_add
// CHECK-NEXT:    loop.extern @e0({{.*}}) {callee = @aten.mm.default
// CHECK:         loop.nest @n0({{.*}}blocked = [#loop.blocked<@e0 by "%{{.*}}: the nest does more than add to it">]
loop.func @no_move_as_the_nest_does_more_than_add(%r: !loop.buffer<8x16xf32>, %x: !loop.buffer<8x4xf32>, %w: !loop.buffer<4x16xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  %1 = loop.nest @n0(%0, %r) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : f32
    %3 = loop.load(%r) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : f32
    %4 = loop.add(%2, %3) : f32
    %5 = loop.tanh(%4) : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  loop.return(%1) {views = [#loop.view<8x16>]}
}

// -----

// What has no fixed distance from row to row the library cannot add.
// CHECK-LABEL: @no_move_as_the_addend_has_no_strides
// CHECK:         loop.nest @n0({{.*}}blocked = [#loop.blocked<@e0 by "%{{.*}}: what it adds has no strides">]
loop.func @no_move_as_the_addend_has_no_strides(%r: !loop.buffer<2x16x4xf32>, %x: !loop.buffer<8x4xf32>, %w: !loop.buffer<4x16xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<8x4>, #loop.view<4x16>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  %1 = loop.nest @n0(%0, %r) {space = #loop.space<d0: 2, d1: 4, d2: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1 * 16 + d2)>} : f32
    %3 = loop.load(%r) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d2 * 4 + d1)>} : f32
    %4 = loop.add(%2, %3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1 * 16 + d2)>}
  }
  %5 = loop.extern @e1(%1) {callee = @aten.cumsum.default, views = [#loop.view<8x16>], args = [#loop.operand<0>, 1], result_views = [#loop.view<8x16>]} : !loop.buffer<8x16xf32>
  loop.return(%5) {views = [#loop.view<8x16>]}
}
