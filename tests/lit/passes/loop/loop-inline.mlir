// RUN: lect-opt %s -p loop-inline --split-input-file --verify-diagnostics | filecheck %s

// The reader walks the producer's elements in another shape: its point is found from the offset.
// CHECK-LABEL: @through_a_reshape
// CHECK-NEXT:    loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 6>, realize = ["graph output"], fused = [#loop.fuse<inline @n0, @n1 saves 192>]}
// CHECK:           %[[X:.*]] = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 6 + d1)>} : f32
// CHECK-NEXT:      %[[E:.*]] = loop.exp(%[[X]])
// CHECK-NEXT:      loop.neg(%[[E]])
// CHECK-NOT:     loop.nest
loop.func @through_a_reshape(%x: !loop.buffer<24xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 12>, realize = ["inline"]} : !loop.buffer<2x12xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 12 + d1)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 12 + d1)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 4, d1: 6>, realize = ["graph output"]} : !loop.buffer<4x6xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 6 + d1)>} : f32
    %5 = loop.neg(%4) : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0 * 6 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<4x6>]}
}

// -----

// Masks go to the loads, and the value is zero where they are false: exp(0) must not show.
// CHECK-LABEL: @masks_travel_to_the_loads
// CHECK:         %[[M:.*]] = loop.lt
// CHECK:         %[[X:.*]] = loop.load(%x; %[[M]]) {map = #loop.map<(d0) -> (d0)>} : f32
// CHECK-NEXT:    %[[E:.*]] = loop.exp(%[[X]])
// CHECK-NEXT:    %[[Z:.*]] = loop.const() {value = 0.0} : f32
// CHECK-NEXT:    loop.select(%[[M]], %[[E]], %[[Z]])
loop.func @masks_travel_to_the_loads(%x: !loop.buffer<4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>, realize = ["inline"]} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 8>, realize = ["graph output"]} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %4 = loop.index() {map = #loop.map<(d0) -> (d0)>} : i64
    %5 = loop.const() {value = 4} : i64
    %6 = loop.lt(%4, %5) : i1
    %7 = loop.load(%0; %6) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%7) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<8>]}
}

// -----

// CHECK-LABEL: @no_substitution_as_it_is_stored
// CHECK-COUNT-2: loop.nest
loop.func @no_substitution_as_it_is_stored(%x: !loop.buffer<4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>, realize = ["2 readers x 1 heavy operations"]} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 4>, realize = ["graph output"]} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%4) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<4>]}
}

// -----

// An edited decision that cannot be carried out is an error.
loop.func @no_substitution_as_the_caller_needs_it(%x: !loop.buffer<4xf32>) {
  // expected-error @+1 {{this buffer is marked inline but is read by something that is no nest}}
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>, realize = ["inline"]} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<4>]}
}

// -----

// The loaded index is brought into the dim of 50, so it is the dim of the producer; the row's number is read without it.
// CHECK-LABEL: loop.func @reads_at_a_loaded_index
// CHECK:         loop.nest @reader(%t, %x, %m)
// CHECK:           %[[I:.*]] = loop.minimum
// CHECK-NEXT:      %[[X:.*]] = loop.load(%x, %[[I]]) {map = #loop.map<(d0)[i0] -> (d0 * 50 + i0)>}
// CHECK-NEXT:      %[[M:.*]] = loop.load(%m) {map = #loop.map<(d0) -> (d0)>}
// CHECK-NEXT:      loop.sub(%[[X]], %[[M]])
loop.func @reads_at_a_loaded_index(%x: !loop.buffer<8x50xf32>, %m: !loop.buffer<8xf32>, %t: !loop.buffer<8xi64>) {
  %0 = loop.nest @shifted(%x, %m) {space = #loop.space<d0: 8, d1: 50>, realize = ["inline"]} : !loop.buffer<8x50xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 50 + d1)>} : f32
    %2 = loop.load(%m) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %3 = loop.sub(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 50 + d1)>}
  }
  %4 = loop.nest @reader(%t, %0) {space = #loop.space<d0: 8>, realize = ["graph output"]} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %5 = loop.load(%t) {map = #loop.map<(d0) -> (d0)>} : i64
    %6 = loop.const() {value = 0} : i64
    %7 = loop.maximum(%5, %6) : i64
    %8 = loop.const() {value = 49} : i64
    %9 = loop.minimum(%7, %8) : i64
    %10 = loop.load(%0, %9) {map = #loop.map<(d0)[i0] -> (d0 * 50 + i0)>} : f32
    loop.store(%10) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%4) {views = [#loop.view<8>]}
}
