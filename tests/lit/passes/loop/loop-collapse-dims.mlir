// RUN: lect-opt %s -p loop-collapse-dims | filecheck %s

// CHECK-LABEL: loop.func @contiguous_dims_become_one
loop.func @contiguous_dims_become_one(%x: !loop.buffer<2x3x4xf32>) {
  // CHECK: space = #loop.space<d0: 24>
  // CHECK: ^bb0(%d0: index):
  // CHECK-NEXT: loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
  // CHECK-NEXT: loop.store({{.*}}) {map = #loop.map<(d0) -> (d0)>}
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 3, d2: 4>} : !loop.buffer<2x3x4xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 12 + d1 * 4 + d2)>} : f32
    loop.store(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 12 + d1 * 4 + d2)>}
  }
  loop.return(%y) {views = [#loop.view<2x3x4>]}
}

// CHECK-LABEL: loop.func @a_bias_keeps_its_dim
loop.func @a_bias_keeps_its_dim(%x: !loop.buffer<2x3x4xf32>, %b: !loop.buffer<4xf32>) {
  // CHECK: space = #loop.space<d0: 6, d1: 4>
  // CHECK: loop.load(%b) {map = #loop.map<(d0, d1) -> (d1)>} : f32
  %y = loop.nest @n0(%x, %b) {space = #loop.space<d0: 2, d1: 3, d2: 4>} : !loop.buffer<2x3x4xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 12 + d1 * 4 + d2)>} : f32
    %1 = loop.load(%b) {map = #loop.map<(d0, d1, d2) -> (d2)>} : f32
    %2 = loop.add(%0, %1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1, d2) -> (d0 * 12 + d1 * 4 + d2)>}
  }
  loop.return(%y) {views = [#loop.view<2x3x4>]}
}

// CHECK-LABEL: loop.func @folded_dims_merge_among_themselves
loop.func @folded_dims_merge_among_themselves(%x: !loop.buffer<2x3x4x5xf32>) {
  // CHECK: space = #loop.space<d0: 6, d1: 20>
  // CHECK: loop.reduce({{.*}}) {kind = "sum", over = [1]} : f32
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 3, d2: 4, d3: 5>} : !loop.buffer<2x3xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 60 + d1 * 20 + d2 * 5 + d3)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [2, 3]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 3 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<2x3>]}
}

// CHECK-LABEL: loop.func @dims_of_size_one_go
loop.func @dims_of_size_one_go(%x: !loop.buffer<4xf32>) {
  // CHECK: space = #loop.space<d0: 4>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 1, d1: 4, d2: 1>} : !loop.buffer<1x4x1xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d1)>} : f32
    loop.store(%0) {map = #loop.map<(d0, d1, d2) -> (d1)>}
  }
  loop.return(%y) {views = [#loop.view<1x4x1>]}
}

// CHECK-LABEL: loop.func @no_merge_as_a_transposed_operand_walks_them_apart
loop.func @no_merge_as_a_transposed_operand_walks_them_apart(%x: !loop.buffer<4x3xf32>) {
  // CHECK: space = #loop.space<d0: 3, d1: 4>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 3, d1: 4>} : !loop.buffer<3x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 3 + d0)>} : f32
    loop.store(%0) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<3x4>]}
}

// CHECK-LABEL: loop.func @no_merge_as_only_one_is_folded
loop.func @no_merge_as_only_one_is_folded(%x: !loop.buffer<3x4xf32>) {
  // CHECK: space = #loop.space<d0: 3, d1: 4>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 3, d1: 4>} : !loop.buffer<3xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<3>]}
}

// CHECK-LABEL: loop.func @no_merge_of_an_empty_space
loop.func @no_merge_of_an_empty_space(%x: !loop.buffer<0x4xf32>) {
  // CHECK: space = #loop.space<d0: 0, d1: 4>
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 0, d1: 4>} : !loop.buffer<0x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    loop.store(%0) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  loop.return(%y) {views = [#loop.view<0x4>]}
}

// CHECK-LABEL: loop.func @no_merge_as_points_have_an_order
loop.func @no_merge_as_points_have_an_order(%v: !loop.buffer<3x1x4xf32>) {
  %0 = loop.nest @n0 {space = #loop.space<d0: 12>} : !loop.buffer<12xf32> {
  ^bb0(%d0: index):
    %1 = loop.const() {value = 0.0} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  // CHECK: loop.nest @n1({{.*}}) {space = #loop.space<d0: 3, d1: 4>}
  // CHECK: loop.update({{.*}}) {kind = "set", order = [1], map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  %2 = loop.nest @n1(%v, %0) {space = #loop.space<d0: 3, d1: 1, d2: 4>} : !loop.buffer<12xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %3 = loop.load(%v) {map = #loop.map<(d0, d1, d2) -> (d0 * 4 + d2)>} : f32
    loop.update(%3, %0;) {kind = "set", order = [2], map = #loop.map<(d0, d1, d2) -> (d0 * 4 + d2)>}
  }
  loop.return(%2) {views = [#loop.view<12>]}
}

// Sizes that are known only at run time, where one dim steps over the whole of the other.
// CHECK-LABEL: @merges_dims_whose_sizes_are_known_at_run_time
// CHECK:       space = #loop.space<d0: s0 * s1, d1: 4>
// CHECK:       loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
loop.func @merges_dims_whose_sizes_are_known_at_run_time(%x: !loop.buffer<s0xs1x4xf32>, %y: !loop.buffer<4xf32>) {symbols = {s0 = {hint = 3}, s1 = {hint = 5}}} {
  %0 = loop.nest @n0(%x, %y) {space = #loop.space<d0: s0, d1: s1, d2: 4>} : !loop.buffer<s0xs1x4xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * s1 * 4 + d1 * 4 + d2)>} : f32
    %2 = loop.load(%y) {map = #loop.map<(d0, d1, d2) -> (d2)>} : f32
    %3 = loop.add(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1, d2) -> (d0 * s1 * 4 + d1 * 4 + d2)>}
  }
  loop.return(%0) {views = [#loop.view<s0xs1x4>]}
}

// CHECK-LABEL: @no_merge_as_the_step_is_another_size
// CHECK:       space = #loop.space<d0: s0, d1: s0>
loop.func @no_merge_as_the_step_is_another_size(%x: !loop.buffer<s0xs1xf32>) {symbols = {s0 = {hint = 3}, s1 = {hint = 5}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: s0>} : !loop.buffer<s0xs0xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * s0 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<s0xs0>]}
}
