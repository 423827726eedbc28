// RUN: lect-opt %s -p loop-fuse-vertical --split-input-file | filecheck %s
// RUN: lect-opt %s -p loop-fuse-vertical --split-input-file --tuning=%S/Inputs/fusions.tuning | filecheck %s --check-prefix=RECORD

// Row sums and what divides by them: the spaces are different views of one, the folded dim becomes two.
// CHECK-LABEL: @fuses_a_reduction_with_its_reader
// CHECK-NEXT:    loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 2, d2: 4>, fused = [#loop.fuse<vertical @n0, @n1 saves 32>]}
// CHECK:           %[[X:.*]] = loop.load(%x)
// CHECK-NEXT:      %[[S:.*]] = loop.reduce(%[[X]]) {kind = "sum", over = [1, 2]} : f32
// CHECK-NEXT:      loop.div(%[[X]], %[[S]]) : f32
// CHECK-NOT:     loop.nest
loop.func @fuses_a_reduction_with_its_reader(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%x, %0) {space = #loop.space<d0: 4, d1: 2, d2: 4>} : !loop.buffer<4x2x4xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 8 + d1 * 4 + d2)>} : f32
    %5 = loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0)>} : f32
    %6 = loop.div(%4, %5) : f32
    loop.store(%6) {map = #loop.map<(d0, d1, d2) -> (d0 * 8 + d1 * 4 + d2)>}
  }
  loop.return(%3) {views = [#loop.view<4x2x4>]}
}

// -----
!m = !loop.buffer<4x8xf32>

// The first result is returned, so the joint nest stores it as well; the second nest reads it from a register.
// CHECK-LABEL: @keeps_what_somebody_else_reads
// CHECK-NEXT:    %[[R:.*]], %[[S:.*]] = loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 8>, fused = [#loop.fuse<vertical @n0, @n1 saves 128>], realize = ["graph output", "graph output"]}
// CHECK:           %[[E:.*]] = loop.exp
// CHECK:           loop.store(%[[E]]) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
// CHECK:           loop.reduce(%[[E]])
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1) -> (d0)>, to = 1}
// CHECK:         loop.return(%[[R]], %[[S]])
loop.func @keeps_what_somebody_else_reads(%x: !m) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 32>, realize = ["graph output"]} : !m {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 4, d1: 8>, realize = ["graph output"]} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [1]} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0, %3) {views = [#loop.view<4x8>, #loop.view<4>]}
}

// -----
!m = !loop.buffer<4x4xf32>

// CHECK-LABEL: @no_fuse_as_a_library_call_lies_between
// CHECK:         loop.nest @n0
// CHECK:         loop.extern @e0
// CHECK:         loop.nest @n1({{.*}}) {{.*}}blocked = [#loop.blocked<@n0 by "%h: cycle through @e0">]
loop.func @no_fuse_as_a_library_call_lies_between(%x: !m) {
  %h = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.extern @e0(%h) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  %4 = loop.nest @n1(%h, %3) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %5 = loop.load(%h) {map = #loop.map<(d0) -> (d0)>} : f32
    %6 = loop.load(%3) {map = #loop.map<(d0) -> (d0)>} : f32
    %7 = loop.add(%5, %6) : f32
    loop.store(%7) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%4) {views = [#loop.view<4x4>]}
}

// -----

// Whether two reductions share a nest is decided by loop-fuse-reductions.
// CHECK-LABEL: @no_fuse_as_both_fold
// CHECK-COUNT-2: loop.nest
// CHECK-NOT:     blocked
loop.func @no_fuse_as_both_fold(%x: !loop.buffer<4x8xf32>) {
  %h = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    %3 = loop.sub(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %4 = loop.nest @n1(%h) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %5 = loop.load(%h) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %6 = loop.reduce(%5) {kind = "sum", over = [0]} : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%4) {views = [#loop.view<8>]}
}

// -----

// CHECK-LABEL: @no_fuse_as_it_is_read_at_another_point
// CHECK-COUNT-2: loop.nest
// CHECK:         blocked = [#loop.blocked<@n0 by "%h: it is read at another point than it is written">]
loop.func @no_fuse_as_it_is_read_at_another_point(%x: !loop.buffer<8xf32>) {
  %h = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%h) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%h) {map = #loop.map<(d0) -> (d0 * 2)>} : f32
    loop.store(%4) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<4>]}
}

// -----

// CHECK-LABEL: @no_fuse_as_it_would_be_computed_in_every_row
// CHECK-COUNT-2: loop.nest
// CHECK:         blocked = [#loop.blocked<@n0 by "%h: it would be computed 100 times">]
loop.func @no_fuse_as_it_would_be_computed_in_every_row(%x: !loop.buffer<100x8xf32>, %w: !loop.buffer<8xf32>) {
  %h = loop.nest @n0(%w) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%w) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%x, %h) {space = #loop.space<d0: 100, d1: 8>} : !loop.buffer<100x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %5 = loop.load(%h) {map = #loop.map<(d0, d1) -> (d1)>} : f32
    %6 = loop.mul(%4, %5) : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<100x8>]}
}

// -----

// A whole tensor is folded: what is done with every element afterwards runs on all threads, the fold does not.
// CHECK-LABEL: @no_fuse_as_few_rows_would_run_side_by_side
// CHECK-COUNT-2: loop.nest
// CHECK:         blocked = [#loop.blocked<@n0 by "%s: only 1 rows would run side by side">]
loop.func @no_fuse_as_few_rows_would_run_side_by_side(%x: !loop.buffer<100000xf32>) {
  %s = loop.nest @n0(%x) {space = #loop.space<d0: 100000>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0) -> (0)>}
  }
  %3 = loop.nest @n1(%x, %s) {space = #loop.space<d0: 100000>} : !loop.buffer<100000xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.load(%s) {map = #loop.map<(d0) -> (0)>} : f32
    %6 = loop.div(%4, %5) : f32
    loop.store(%6) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<100000>]}
}

// -----

// The producer stores every element of the rows that it folds; the consumer sees the rows in two dims.
// CHECK-LABEL: @joins_rows_that_are_seen_in_more_dims
// CHECK:         loop.nest @n1(%x) {space = #loop.space<d0: 2, d1: 4, d2: 64>
// CHECK:           loop.reduce(%{{.*}}) {kind = "max", over = [2]}
// CHECK:           loop.exp
// CHECK-NOT:     loop.nest
loop.func @joins_rows_that_are_seen_in_more_dims(%x: !loop.buffer<8x64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 64>} : !loop.buffer<8x64xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    %3 = loop.sub(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  %4 = loop.nest @n1(%0) {space = #loop.space<d0: 2, d1: 4, d2: 64>} : !loop.buffer<2x4x64xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %5 = loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 256 + d1 * 64 + d2)>} : f32
    %6 = loop.exp(%5) : f32
    loop.store(%6) {map = #loop.map<(d0, d1, d2) -> (d0 * 256 + d1 * 64 + d2)>}
  }
  loop.return(%4) {views = [#loop.view<2x4x64>]}
}

// -----

// Half a row of the producer is a row of the consumer: no dim of the second stands for the folded one alone.
// CHECK-LABEL: @no_fuse_as_rows_are_seen_in_halves
// CHECK:         loop.nest @n0(
// CHECK:         loop.nest @n1({{.*}}) {{.*}}blocked
loop.func @no_fuse_as_rows_are_seen_in_halves(%x: !loop.buffer<8x64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 64>} : !loop.buffer<8x64xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    %3 = loop.sub(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  %4 = loop.nest @n1(%0) {space = #loop.space<d0: 16, d1: 32>} : !loop.buffer<16x32xf32> {
  ^bb0(%d0: index, %d1: index):
    %5 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %6 = loop.exp(%5) : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>}
  }
  loop.return(%4) {views = [#loop.view<16x32>]}
}

// -----

// What stands behind a product joins it; what makes its factors would be computed for each column of the result.
// CHECK-LABEL: @fuses_behind_a_product_and_not_in_front
// CHECK-NEXT:    %[[A:.*]] = loop.nest @n0(%x)
// CHECK:         loop.nest @n2(%[[A]], %w) {space = #loop.space<d0: 8, d1: 16, d2: 4>, fused = [#loop.fuse<vertical @n1, @n2 saves 1024>], blocked = [#loop.blocked<@n0 by "%{{.*}}: each element of it is a factor of many products">], chosen = "own"}
// CHECK:           loop.reduce({{.*}}) {kind = "sum", over = [2], contract = true}
// CHECK:           loop.tanh
loop.func @fuses_behind_a_product_and_not_in_front(%x: !loop.buffer<8x4xf32>, %w: !loop.buffer<4x16xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 4>} : !loop.buffer<8x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  %3 = loop.nest @n1(%0, %w) {space = #loop.space<d0: 8, d1: 16, d2: 4>, chosen = "own"} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %4 = loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 4 + d2)>} : f32
    %5 = loop.load(%w) {map = #loop.map<(d0, d1, d2) -> (d2 * 16 + d1)>} : f32
    %6 = loop.mul(%4, %5) : f32
    %7 = loop.reduce(%6) {kind = "sum", over = [2], contract = true} : f32
    loop.store(%7) {map = #loop.map<(d0, d1, d2) -> (d0 * 16 + d1)>}
  }
  %8 = loop.nest @n2(%3) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
  ^bb0(%d0: index, %d1: index):
    %9 = loop.load(%3) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : f32
    %10 = loop.tanh(%9) : f32
    loop.store(%10) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
  }
  loop.return(%8) {views = [#loop.view<8x16>]}
}

// -----

// Sizes that are known only at run time are equal where they are written alike; savings are those of the captured call.
// CHECK-LABEL: @joins_spaces_of_equal_sizes
// CHECK-COUNT-1: fused = [#loop.fuse<vertical @n0, @n1 saves 240>]
// CHECK-NOT:   loop.nest
loop.func @joins_spaces_of_equal_sizes(%x: !loop.buffer<s0xs1xf32>) {symbols = {s0 = {hint = 30}, s1 = {hint = 5}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: s1>} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%x, %0) {space = #loop.space<d0: s0, d1: s1>} : !loop.buffer<s0xs1xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : f32
    %5 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %6 = loop.div(%4, %5) : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<s0xs1>]}
}

// -----

// CHECK-LABEL: @no_join_as_the_sizes_may_differ
// CHECK:       blocked = [#loop.blocked<@n0 by "%result 0: reduction spaces differ: s2 against s1">]
loop.func @no_join_as_the_sizes_may_differ(%x: !loop.buffer<s0xs1xf32>, %y: !loop.buffer<s0xs2xf32>) {symbols = {s0 = {hint = 30}, s1 = {hint = 5}, s2 = {hint = 5}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: s1>} : !loop.buffer<s0xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%y, %0) {space = #loop.space<d0: s0, d1: s2>} : !loop.buffer<s0xs2xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%y) {map = #loop.map<(d0, d1) -> (d0 * s2 + d1)>} : f32
    %5 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %6 = loop.div(%4, %5) : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d0 * s2 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<s0xs2>]}
}

// -----
!v = !loop.buffer<8xf32>

// The first call waits for the joint nest, and the second one, which does not, for the first: both draw from one generator.
// CHECK-LABEL: @calls_that_draw_numbers_keep_their_order
// CHECK:         loop.nest @n1({{.*}}) {{.*}}fused = [#loop.fuse<vertical @n0, @n1
// CHECK-NOT:     loop.extern @e1
// CHECK:         loop.extern @e0
// CHECK-NEXT:    loop.extern @e1
loop.func @calls_that_draw_numbers_keep_their_order(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>, realize = ["operand of aten.bernoulli.default"]} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.abs(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.extern @e0(%0) {callee = @aten.bernoulli.default, views = [#loop.view<8>], args = [#loop.operand<0>], result_views = [#loop.view<8>]} : !v
  %4 = loop.extern @e1(%x) {callee = @aten.bernoulli.p, views = [#loop.view<8>], args = [#loop.operand<0>, 0.5], result_views = [#loop.view<8>]} : !v
  %5 = loop.nest @n1(%0) {space = #loop.space<d0: 8>, realize = ["graph output"]} : !v {
  ^bb0(%d0: index):
    %6 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %7 = loop.neg(%6) : f32
    loop.store(%7) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3, %4, %5) {views = [#loop.view<8>, #loop.view<8>, #loop.view<8>]}
}

// -----
!v = !loop.buffer<8xf32>

// CHECK-LABEL: @no_fuse_across_two_calls_that_keep_their_order
// CHECK:         loop.nest @n0
// CHECK:         loop.extern @e0
// CHECK:         loop.extern @e1
// CHECK:         loop.nest @n1({{.*}}) {{.*}}blocked = [#loop.blocked<@n0 by "%{{.*}}: cycle through @e1">]
loop.func @no_fuse_across_two_calls_that_keep_their_order(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>, realize = ["operand of aten.bernoulli.default"]} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.abs(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.extern @e0(%0) {callee = @aten.bernoulli.default, views = [#loop.view<8>], args = [#loop.operand<0>], result_views = [#loop.view<8>]} : !v
  %4 = loop.extern @e1(%x) {callee = @aten.bernoulli.p, views = [#loop.view<8>], args = [#loop.operand<0>, 0.5], result_views = [#loop.view<8>]} : !v
  %5 = loop.nest @n1(%0, %4) {space = #loop.space<d0: 8>, realize = ["graph output"]} : !v {
  ^bb0(%d0: index):
    %6 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %7 = loop.load(%4) {map = #loop.map<(d0) -> (d0)>} : f32
    %8 = loop.mul(%6, %7) : f32
    loop.store(%8) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3, %5) {views = [#loop.view<8>, #loop.view<8>]}
}

// -----

// One nest would save 4,800 of 7.2 million bytes: a record of tuning may say that two are faster.
// CHECK-LABEL: @stays_two
// CHECK-NEXT:    loop.nest @n1(%x, %y) {{.*}}fused = [#loop.fuse<vertical @n0, @n1 saves 4800>]
// RECORD-LABEL: @stays_two
// RECORD-NEXT:    loop.nest @n0(%x)
// RECORD:         loop.nest @n1(%y, %{{.*}}) {{.*}}blocked = [#loop.blocked<@n0 by "%result 0: a record of tuning says that two are faster">]
loop.func @stays_two(%x: !loop.buffer<600x1000xf32>, %y: !loop.buffer<600x1000xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 600, d1: 1000>} : !loop.buffer<600xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1000 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%y, %0) {space = #loop.space<d0: 600, d1: 1000>} : !loop.buffer<600x1000xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%y) {map = #loop.map<(d0, d1) -> (d0 * 1000 + d1)>} : f32
    %5 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %6 = loop.mul(%4, %5) : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d0 * 1000 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<600x1000>]}
}
