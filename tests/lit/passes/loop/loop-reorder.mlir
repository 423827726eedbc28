// RUN: lect-opt %s -p loop-reorder --target l2_bytes=65536 --split-input-file | filecheck %s

// Both large accesses take longer steps along d1, so it goes outside.
// CHECK-LABEL: @the_longer_steps_go_outside
// CHECK-NEXT:    loop.nest @n0(%x, %y) {space = #loop.space<d0: 8, d1: 4, d2: 2>, order = "d1, d0, d2: 544 of 544 bytes lie so"}
// CHECK:           loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 8 + d1 * 2 + d2)>}
// CHECK:           loop.load(%y) {map = #loop.map<(d0, d1, d2) -> (d0)>}
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1, d2) -> (d0 * 8 + d1 * 2 + d2)>}
loop.func @the_longer_steps_go_outside(%x: !loop.buffer<8x4x2xf32>, %y: !loop.buffer<8xf32>) {
  %0 = loop.nest @n0(%x, %y) {space = #loop.space<d0: 4, d1: 8, d2: 2>} : !loop.buffer<8x4x2xf32> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d1 * 8 + d0 * 2 + d2)>} : f32
    %2 = loop.load(%y) {map = #loop.map<(d0, d1, d2) -> (d1)>} : f32
    %3 = loop.add(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1, d2) -> (d1 * 8 + d0 * 2 + d2)>}
  }
  loop.return(%0) {views = [#loop.view<8x4x2>]}
}

// -----

// Dims that are folded are renamed in the folds.
// CHECK-LABEL: @folds_follow_their_dims
// CHECK-NEXT:    loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 4>, order = "d1, d0: 128 of 160 bytes lie so"}
// CHECK:           %[[I:.*]] = loop.index() {map = #loop.map<(d0, d1) -> (d0)>}
// CHECK:           loop.reduce_index({{.*}}, %[[I]]) {kind = "max", over = [0]}
loop.func @folds_follow_their_dims(%x: !loop.buffer<8x4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xi64> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 4 + d0)>} : f32
    %2 = loop.index() {map = #loop.map<(d0, d1) -> (d1)>} : i64
    %3 = loop.reduce_index(%1, %2) {kind = "max", over = [1]} : i64
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<4>]}
}

// -----

// CHECK-LABEL: @no_new_order_as_the_votes_are_equal
// CHECK-NEXT:    loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 8>} :
loop.func @no_new_order_as_the_votes_are_equal(%x: !loop.buffer<8x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 8>} : !loop.buffer<8x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 8 + d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<8x8>]}
}

// -----

// CHECK-LABEL: @no_new_order_as_a_scan_walks_in_one
// CHECK-NEXT:    loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} :
loop.func @no_new_order_as_a_scan_walks_in_one(%x: !loop.buffer<8x4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<8x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d1 * 4 + d0)>} : f32
    %2 = loop.scan(%1) {kind = "sum", over = 1} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d1 * 4 + d0)>}
  }
  loop.return(%0) {views = [#loop.view<8x4>]}
}

// -----

// The second reader of x does not wait until something else has been read.
// CHECK-LABEL: loop.func @a_nest_follows_what_it_shares
// CHECK-SAME:    order = "1 nests follow what they share 256 bytes more with"
// CHECK-NEXT:    loop.nest @n0(%x)
// CHECK:         loop.nest @n2(%x)
// CHECK:         loop.nest @n1(%y)
loop.func @a_nest_follows_what_it_shares(%x: !loop.buffer<64xf32>, %y: !loop.buffer<64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%y) {space = #loop.space<d0: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%y) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.exp(%4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  %6 = loop.nest @n2(%x) {space = #loop.space<d0: 32>} : !loop.buffer<32xf32> {
  ^bb0(%d0: index):
    %7 = loop.load(%x) {map = #loop.map<(d0) -> (d0 * 2)>} : f32
    %8 = loop.neg(%7) : f32
    loop.store(%8) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0, %3, %6) {views = [#loop.view<64>, #loop.view<64>, #loop.view<32>]}
}

// -----

// What n2 needs is made by n1, so it cannot come first.
// CHECK-LABEL: loop.func @no_move_in_front_of_what_is_needed
// CHECK-NOT:     order =
// CHECK:         loop.nest @n0(
// CHECK:         loop.nest @n1(
// CHECK:         loop.nest @n2(
loop.func @no_move_in_front_of_what_is_needed(%x: !loop.buffer<64xf32>, %y: !loop.buffer<64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%y) {space = #loop.space<d0: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%y) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.exp(%4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  %6 = loop.nest @n2(%x, %3) {space = #loop.space<d0: 32>} : !loop.buffer<32xf32> {
  ^bb0(%d0: index):
    %7 = loop.load(%x) {map = #loop.map<(d0) -> (d0 * 2)>} : f32
    %8 = loop.load(%3) {map = #loop.map<(d0) -> (d0 * 2)>} : f32
    %9 = loop.add(%7, %8) : f32
    loop.store(%9) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0, %3, %6) {views = [#loop.view<64>, #loop.view<64>, #loop.view<32>]}
}
