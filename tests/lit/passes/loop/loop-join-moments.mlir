// RUN: lect-opt %s -p loop-join-moments{longest_row=4096} --split-input-file | filecheck %s
// RUN: lect-opt %s --target=fma=1 -p loop-join-moments{longest_row=4096} --split-input-file | filecheck %s --check-prefix=FMA

// Where a processor multiplies and adds in one operation, a square enters its sum before it is rounded.
// FMA-LABEL: @one_sweep_for_a_long_row
// FMA: %[[DD:.*]] = loop.mul(%[[D:.*]], %[[D]]) : f64
// FMA-NEXT: loop.reduce(%[[DD]]) {kind = "sum", over = [1], contract = true} : f64

// A row of 4096 bytes: the squares are those around its first element, less what that is too much.
// CHECK-LABEL: @one_sweep_for_a_long_row
// CHECK: fused = [#loop.fuse<reductions @n0, @n0 saves 32768>]
// CHECK: %[[X:.*]] = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : f32
// CHECK: %[[FIRST:.*]] = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1024)>} : f32
// CHECK-NEXT: %[[K:.*]] = loop.cast(%[[FIRST]]) : f64
// CHECK-NEXT: %[[WIDE:.*]] = loop.cast(%[[X]]) : f64
// CHECK-NEXT: %[[D:.*]] = loop.sub(%[[WIDE]], %[[K]]) : f64
// CHECK-NEXT: %[[S:.*]] = loop.reduce(%[[D]]) {kind = "sum", over = [1]} : f64
// CHECK-NEXT: %[[N:.*]] = loop.const() {value = 1024.0} : f64
// CHECK-NEXT: %[[M:.*]] = loop.div(%[[S]], %[[N]]) : f64
// CHECK-NEXT: %[[DD:.*]] = loop.mul(%[[D]], %[[D]]) : f64
// CHECK-NEXT: %[[Q:.*]] = loop.reduce(%[[DD]]) {kind = "sum", over = [1]} : f64
// CHECK-NEXT: %[[MS:.*]] = loop.mul(%[[M]], %[[S]]) : f64
// CHECK-NEXT: %[[R:.*]] = loop.sub(%[[Q]], %[[MS]]) : f64
// CHECK: %[[V:.*]] = loop.maximum(%[[R]], %{{.*}}) : f64
// CHECK-NEXT: %[[F:.*]] = loop.cast(%[[V]]) : f32
// CHECK-NEXT: loop.store(%[[F]])
loop.func @one_sweep_for_a_long_row(%x: !loop.buffer<8x1024xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 1024>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    %3 = loop.const() {value = 1024.0} : f32
    %4 = loop.div(%2, %3) : f32
    %5 = loop.sub(%1, %4) : f32
    %6 = loop.mul(%5, %5) : f32
    %7 = loop.reduce(%6) {kind = "sum", over = [1]} : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}

// -----

// Folded in f64 in any case.
// CHECK-LABEL: @one_sweep_for_wide_sums
// CHECK: loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 16)>} : f32
// CHECK: loop.maximum(
loop.func @one_sweep_for_wide_sums(%x: !loop.buffer<8x16xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8xf64> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : f32
    %2 = loop.cast(%1) : f64
    %3 = loop.reduce(%2) {kind = "sum", over = [1]} : f64
    %4 = loop.const() {value = 16.0} : f64
    %5 = loop.div(%3, %4) : f64
    %6 = loop.sub(%2, %5) : f64
    %7 = loop.mul(%6, %6) : f64
    %8 = loop.reduce(%7) {kind = "sum", over = [1]} : f64
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}

// -----

// CHECK-LABEL: @no_join_as_the_row_stays_in_a_cache
// CHECK-NOT: loop.maximum
loop.func @no_join_as_the_row_stays_in_a_cache(%x: !loop.buffer<8x1000xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 1000>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1000 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    %3 = loop.const() {value = 1000.0} : f32
    %4 = loop.div(%2, %3) : f32
    %5 = loop.sub(%1, %4) : f32
    %6 = loop.mul(%5, %5) : f32
    %7 = loop.reduce(%6) {kind = "sum", over = [1]} : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}

// -----

// CHECK-LABEL: @no_join_as_there_is_nothing_wider
// CHECK-NOT: loop.maximum
loop.func @no_join_as_there_is_nothing_wider(%x: !loop.buffer<8x1024xf64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 1024>} : !loop.buffer<8xf64> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : f64
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f64
    %3 = loop.const() {value = 1024.0} : f64
    %4 = loop.div(%2, %3) : f64
    %5 = loop.sub(%1, %4) : f64
    %6 = loop.mul(%5, %5) : f64
    %7 = loop.reduce(%6) {kind = "sum", over = [1]} : f64
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}

// -----

// CHECK-LABEL: @no_join_as_the_squares_are_around_another_number
// CHECK-NOT: loop.maximum
loop.func @no_join_as_the_squares_are_around_another_number(%x: !loop.buffer<8x1024xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 1024>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    %3 = loop.const() {value = 512.0} : f32
    %4 = loop.div(%2, %3) : f32
    %5 = loop.sub(%1, %4) : f32
    %6 = loop.mul(%5, %5) : f32
    %7 = loop.reduce(%6) {kind = "sum", over = [1]} : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}

// -----

// Its first element would be the zero in front of the row.
// CHECK-LABEL: @no_join_as_the_first_element_may_not_be_there
// CHECK-NOT: loop.maximum
loop.func @no_join_as_the_first_element_may_not_be_there(%x: !loop.buffer<8x1024xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 1024>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %i = loop.index() {map = #loop.map<(d0, d1) -> (d1)>} : i64
    %one = loop.const() {value = 1} : i64
    %m = loop.ge(%i, %one) : i1
    %1 = loop.load(%x; %m) {map = #loop.map<(d0, d1) -> (d0 * 1024 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    %3 = loop.const() {value = 1024.0} : f32
    %4 = loop.div(%2, %3) : f32
    %5 = loop.sub(%1, %4) : f32
    %6 = loop.mul(%5, %5) : f32
    %7 = loop.reduce(%6) {kind = "sum", over = [1]} : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}
