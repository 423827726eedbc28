// RUN: lect-opt %s -p 'loop-split-reduction{threads=2 each=4}' --split-input-file | filecheck %s
// RUN: lect-opt %s --target=cuda:sm_90 -p loop-split-reduction --split-input-file | filecheck %s --check-prefix=GPU

// One program for two threads: eight parts, their sum, and what follows it.
// CHECK-LABEL: @gives_both_threads_work
// CHECK-NEXT:    %[[P:.*]] = loop.nest @n0.part(%x) {space = #loop.space<d0: 8, d1: 128>, realize = ["partial: 1 program for 2 threads"]} : !loop.buffer<8xf32>
// CHECK:           loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 128 + d1)>}
// CHECK:           loop.reduce({{.*}}) {kind = "sum", over = [1]}
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1) -> (d0)>}
// CHECK:         %[[T:.*]] = loop.nest @n0.total(%[[P]]) {space = #loop.space<d0: 8>, realize = ["totals for @n0"]} : !loop.buffer<f32>
// CHECK:           loop.reduce({{.*}}) {kind = "sum", over = [0]}
// CHECK:         loop.nest @n0(%[[T]]) {space = #loop.space<>} : !loop.buffer<f32>
// CHECK-NOT:       loop.reduce
// CHECK:           loop.div
loop.func @gives_both_threads_work(%x: !loop.buffer<1024xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 1024>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    %3 = loop.const() {value = 1024.0} : f32
    %4 = loop.div(%2, %3) : f32
    loop.store(%4) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%0) {views = [#loop.view<scalar>]}
}

// -----

// Of a position the parts give the value too.
// CHECK-LABEL: @keeps_values_beside_positions
// CHECK-NEXT:    %[[V:.*]], %[[P:.*]] = loop.nest @n0.part(%x)
// CHECK-SAME:      (!loop.buffer<8xf32>, !loop.buffer<8xi64>)
// CHECK:           loop.reduce_index({{.*}}) {kind = "max", over = [1]}
// CHECK:         loop.nest @n0.total(%[[V]], %[[P]])
// CHECK:           loop.reduce_index({{.*}}) {kind = "max", over = [0]}
loop.func @keeps_values_beside_positions(%x: !loop.buffer<1024xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 1024>} : !loop.buffer<i64> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.index() {map = #loop.map<(d0) -> (d0)>} : i64
    %3 = loop.reduce_index(%1, %2) {kind = "max", over = [0]} : i64
    loop.store(%3) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%0) {views = [#loop.view<scalar>]}
}

// -----

// The second reduction needs the first: both are split, one after the other.
// CHECK-LABEL: @splits_a_deviation_twice
// CHECK:         loop.nest @n0.part(%x)
// CHECK:         loop.nest @n0.total(
// CHECK:         loop.nest @n0.part2({{.*}}, %x)
// CHECK:         loop.nest @n0.total2(
// CHECK:         loop.nest @n0(
loop.func @splits_a_deviation_twice(%x: !loop.buffer<1024xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 1024>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    %3 = loop.sub(%1, %2) : f32
    %4 = loop.mul(%3, %3) : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [0]} : f32
    loop.store(%5) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%0) {views = [#loop.view<scalar>]}
}

// -----

// Two long rows: the maximum is taken first, then the rest of the softmax's reductions, and the last stage walks all points.
// CHECK-LABEL: @splits_long_rows
// CHECK:         loop.nest @n0.part(%x) {space = #loop.space<d0: 2, d1: 4, d2: 64>
// CHECK:         loop.nest @n0({{.*}}) {space = #loop.space<d0: 2, d1: 256>
// CHECK-NOT:       loop.reduce
loop.func @splits_long_rows(%x: !loop.buffer<2x256xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 256>} : !loop.buffer<2x256xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 256 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    %3 = loop.sub(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 256 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<2x256>]}
}

// -----

// The whole sum folds the rows first, as the producer does, so that the two can join.
// CHECK-LABEL: @folds_the_rows_of_the_producer_first
// CHECK:         loop.nest @n1.part(%{{.*}}) {space = #loop.space<d0: 8, d1: 64>, realize = ["partial: joins @n0, saves 2048 bytes"]} : !loop.buffer<8xf32>
// CHECK:           loop.reduce({{.*}}) {kind = "sum", over = [1]}
// CHECK:         loop.nest @n1.total({{.*}}) {space = #loop.space<d0: 8>
loop.func @folds_the_rows_of_the_producer_first(%x: !loop.buffer<8x64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 64>} : !loop.buffer<8x64xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    %3 = loop.sub(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  %4 = loop.nest @n1(%0) {space = #loop.space<d0: 8, d1: 64>} : !loop.buffer<f32> {
  ^bb0(%d0: index, %d1: index):
    %5 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %6 = loop.reduce(%5) {kind = "sum", over = [0, 1]} : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (0)>}
  }
  loop.return(%4) {views = [#loop.view<scalar>]}
}

// -----

// The producer folds the channels of each of four groups: the whole sum folds a group first, not all channels.
// CHECK-LABEL: @folds_the_channels_of_a_group_first
// CHECK:         loop.nest @n1.part(%{{.*}}) {space = #loop.space<d0: 2, d1: 4, d2: 3, d3: 64>, realize = ["partial: joins @n0, saves 6144 bytes"]} : !loop.buffer<2x4xf32>
// CHECK:           loop.reduce({{.*}}) {kind = "sum", over = [2, 3]}
// CHECK:         loop.nest @n1.total({{.*}}) {space = #loop.space<d0: 2, d1: 4>
loop.func @folds_the_channels_of_a_group_first(%x: !loop.buffer<2x12x64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 4, d2: 3, d3: 64>} : !loop.buffer<2x12x64xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index, %d3: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 768 + d1 * 192 + d2 * 64 + d3)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [2, 3]} : f32
    %3 = loop.sub(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1, d2, d3) -> (d0 * 768 + d1 * 192 + d2 * 64 + d3)>}
  }
  %4 = loop.nest @n1(%0) {space = #loop.space<d0: 2, d1: 12, d2: 64>} : !loop.buffer<f32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %5 = loop.load(%0) {map = #loop.map<(d0, d1, d2) -> (d0 * 768 + d1 * 64 + d2)>} : f32
    %6 = loop.reduce(%5) {kind = "sum", over = [0, 1, 2]} : f32
    loop.store(%6) {map = #loop.map<(d0, d1, d2) -> (0)>}
  }
  loop.return(%4) {views = [#loop.view<scalar>]}
}

// -----

// CHECK-LABEL: @no_split_as_rows_are_programs_enough
// CHECK-COUNT-1: loop.nest
// CHECK-NOT:     loop.nest
loop.func @no_split_as_rows_are_programs_enough(%x: !loop.buffer<16x64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16, d1: 64>} : !loop.buffer<16xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<16>]}
}

// -----

// CHECK-LABEL: @no_split_as_a_part_would_be_too_small
// CHECK-COUNT-1: loop.nest
// CHECK-NOT:     loop.nest
loop.func @no_split_as_a_part_would_be_too_small(%x: !loop.buffer<7xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 7>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%0) {views = [#loop.view<scalar>]}
}

// -----

// CHECK-LABEL: @no_split_as_nothing_divides_a_prime_number_of_points
// CHECK-COUNT-1: loop.nest
// CHECK-NOT:     loop.nest
loop.func @no_split_as_nothing_divides_a_prime_number_of_points(%x: !loop.buffer<1009xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 1009>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%0) {views = [#loop.view<scalar>]}
}

// -----

// Row maxima and the whole sum read the same matrix: the sum folds the rows first, so that one sweep gives both.
// CHECK-LABEL: @folds_the_rows_of_a_sibling_first
// CHECK:         loop.nest @n1.part(%x) {space = #loop.space<d0: 8, d1: 64>, realize = ["partial: joins @n0, saves 2048 bytes"]} : !loop.buffer<8xf32>
loop.func @folds_the_rows_of_a_sibling_first(%x: !loop.buffer<8x64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 64>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%x) {space = #loop.space<d0: 8, d1: 64>} : !loop.buffer<f32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [0, 1]} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (0)>}
  }
  loop.return(%0, %3) {views = [#loop.view<8>, #loop.view<scalar>]}
}

// -----

// CHECK-LABEL: @no_split_for_a_sibling_as_its_rows_are_short
// CHECK:         loop.nest @n0(
// CHECK:         loop.nest @n1(
// CHECK-NOT:     loop.nest
loop.func @no_split_for_a_sibling_as_its_rows_are_short(%x: !loop.buffer<8x2xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 2>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 2 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%x) {space = #loop.space<d0: 8, d1: 2>} : !loop.buffer<f32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 2 + d1)>} : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [0, 1]} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (0)>}
  }
  loop.return(%0, %3) {views = [#loop.view<8>, #loop.view<scalar>]}
}

// -----

// On a GPU a dim of unknown size is taken in parts of equal size, the last of which may reach behind the end.
// GPU-LABEL: @parts_of_a_dim_of_unknown_size
// GPU:         loop.nest @n0.part(%x) {space = #loop.space<d0: (s0 + 127) floordiv 128, d1: 128, d2: 32>
// GPU:         %[[PLACE:.*]] = loop.index() {map = #loop.map<(d0, d1, d2) -> (d0 * 128 + d1)>} : i64
// GPU:         %[[INSIDE:.*]] = loop.lt(%[[PLACE]],
// GPU:         %[[X:.*]] = loop.load(%x; %[[INSIDE]])
// GPU:         loop.select(%[[INSIDE]], %[[X]],
// GPU:         loop.nest @n0
// CHECK-LABEL: @parts_of_a_dim_of_unknown_size
// CHECK-NOT:     loop.nest @n0.part
loop.func @parts_of_a_dim_of_unknown_size(%x: !loop.buffer<s0x32xf32>) {symbols = {s0 = {hint = 4096, argument = 0, dim = 0}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: 32>} : !loop.buffer<32xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%0) {views = [#loop.view<32>]}
}

// -----

// GPU-LABEL: @no_parts_as_the_dim_is_short
// GPU-NOT:     loop.nest @n0.part
loop.func @no_parts_as_the_dim_is_short(%x: !loop.buffer<s0x32xf32>) {symbols = {s0 = {hint = 100, argument = 0, dim = 0}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: 32>} : !loop.buffer<32xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 32 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%0) {views = [#loop.view<32>]}
}

// -----

// Columns on a GPU are cut into as many parts as give each processor two programs: another stage folds the parts, which takes longer the more there are.
// GPU-LABEL: @few_parts_of_columns
// GPU:         loop.nest @n0.part(%x) {space = #loop.space<d0: 4, d1: 4096, d2: 4096>
loop.func @few_parts_of_columns(%x: !loop.buffer<16384x4096xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16384, d1: 4096>} : !loop.buffer<4096xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4096 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%0) {views = [#loop.view<4096>]}
}

// -----

// GPU-LABEL: @no_parts_of_columns_as_there_are_programs_for_all_processors
// GPU-NOT:     .part
// GPU:         loop.return
loop.func @no_parts_of_columns_as_there_are_programs_for_all_processors(%x: !loop.buffer<16384x16384xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16384, d1: 16384>} : !loop.buffer<16384xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 16384 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%0) {views = [#loop.view<16384>]}
}

// -----

// Where masks stand in the way of reading ahead, more programs have as much under way.
// GPU-LABEL: @more_parts_of_columns_under_masks
// GPU:         loop.nest @n0.part(%x) {space = #loop.space<d0: 8, d1: 2048, d2: 4096>
loop.func @more_parts_of_columns_under_masks(%x: !loop.buffer<16384x4096xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16384, d1: 4096>} : !loop.buffer<4096xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.index() {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %2 = loop.const() {value = 7} : i64
    %3 = loop.gt(%1, %2) : i1
    %4 = loop.load(%x; %3) {map = #loop.map<(d0, d1) -> (d0 * 4096 + d1)>} : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [0]} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%0) {views = [#loop.view<4096>]}
}
