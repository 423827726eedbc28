// RUN: lect-opt %s -p loop-split-dims --split-input-file | filecheck %s

// Heads of an attention layer: 768 channels read as 12 x 64.
// CHECK-LABEL: @split_where_a_map_divides
// CHECK:         loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 12, d2: 64>}
// CHECK:           loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d1 * 256 + d0 * 64 + d2)>} : f32
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1, d2) -> (d0 * 768 + d1 * 64 + d2)>}
loop.func @split_where_a_map_divides(%x: !loop.buffer<12x4x64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 768>} : !loop.buffer<4x768xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> ((d1 floordiv 64) * 256 + d0 * 64 + d1 mod 64)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 768 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x768>]}
}

// -----

// A folded dim stays folded in all its parts.
// CHECK-LABEL: @parts_of_a_folded_dim_are_folded
// CHECK:         space = #loop.space<d0: 2, d1: 3, d2: 4>
// CHECK:         loop.reduce({{.*}}) {kind = "sum", over = [1, 2]}
loop.func @parts_of_a_folded_dim_are_folded(%x: !loop.buffer<3x2x4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 12>} : !loop.buffer<2xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> ((d1 floordiv 4) * 8 + d0 * 4 + d1 mod 4)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<2>]}
}

// -----

// CHECK-LABEL: @no_split_as_the_map_is_affine
// CHECK:         space = #loop.space<d0: 24>
loop.func @no_split_as_the_map_is_affine(%x: !loop.buffer<24xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 24>} : !loop.buffer<24xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (23 - d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<24>]}
}

// -----

// 10 elements do not divide into pieces of 4.
// CHECK-LABEL: @no_split_as_the_size_does_not_divide
// CHECK:         space = #loop.space<d0: 10>
// CHECK:         d0 floordiv 4
loop.func @no_split_as_the_size_does_not_divide(%x: !loop.buffer<3xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 10>} : !loop.buffer<10xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0 floordiv 4)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<10>]}
}

// -----

// A size that is known only at run time divides the dim, whatever it is.
// CHECK-LABEL: @splits_at_a_size_that_is_known_at_run_time
// CHECK:       space = #loop.space<d0: s0, d1: s1, d2: 4>
// CHECK:       (d1 * s0 * 4 + d0 * 4 + d2)
loop.func @splits_at_a_size_that_is_known_at_run_time(%x: !loop.buffer<s0xs1x4xf32>) {symbols = {s0 = {hint = 3}, s1 = {hint = 5}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0 * s1, d1: 4>} : !loop.buffer<(s0 * s1)x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> ((d0 mod s1) * s0 * 4 + (d0 floordiv s1) * 4 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<(s0 * s1)x4>]}
}

// -----

// CHECK-LABEL: @no_split_as_the_size_may_not_divide
// CHECK:       space = #loop.space<d0: s0, d1: 4>
// CHECK:       ((d0 floordiv 2) * 4 + d1)
loop.func @no_split_as_the_size_may_not_divide(%x: !loop.buffer<s0x4xf32>) {symbols = {s0 = {hint = 3}, s1 = {hint = 5}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: 4>} : !loop.buffer<s0x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> ((d0 floordiv 2) * 8 + (d0 mod 2) * 4 + d1)>} : f32
    %2 = loop.load(%x) {map = #loop.map<(d0, d1) -> ((d0 floordiv 2) * 4 + d1)>} : f32
    %3 = loop.add(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<s0x4>]}
}
