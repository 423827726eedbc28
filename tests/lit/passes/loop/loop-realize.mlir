// RUN: lect-opt %s -p loop-realize --split-input-file | filecheck %s
!v = !loop.buffer<8xf32>

// One reader: nothing is gained by storing. The last one leaves the graph.
// CHECK-LABEL: @inline_for_one_reader
// CHECK:         loop.nest @n0(%x) {{.*}}realize = ["inline"]
// CHECK:         loop.nest @n1({{.*}}) {{.*}}realize = ["graph output"]
loop.func @inline_for_one_reader(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %4 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.neg(%4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<8>]}
}

// -----
!v = !loop.buffer<8xf32>

// CHECK-LABEL: @stored_as_two_readers_would_repeat_heavy_work
// CHECK:         loop.nest @n0(%x) {{.*}}realize = ["2 readers x 1 heavy operations"]
loop.func @stored_as_two_readers_would_repeat_heavy_work(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %4 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.neg(%4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  %6 = loop.nest @n2(%0) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %7 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %8 = loop.abs(%7) : f32
    loop.store(%8) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3, %6) {views = [#loop.view<8>, #loop.view<8>]}
}

// -----

// CHECK-LABEL: @stored_as_a_library_reads_it
// CHECK:         loop.nest @n0(%x) {{.*}}realize = ["operand of aten.mm.default"]
// CHECK:         loop.nest @n1({{.*}}) {{.*}}realize = ["folded from many values"]
// CHECK:         loop.nest @n2({{.*}}) {{.*}}realize = ["graph output"]
loop.func @stored_as_a_library_reads_it(%x: !loop.buffer<4x4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !loop.buffer<4x4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.extern @e0(%0) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !loop.buffer<4x4xf32>
  %4 = loop.nest @n1(%3) {space = #loop.space<d0: 4, d1: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %5 = loop.load(%3) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    %6 = loop.reduce(%5) {kind = "sum", over = [1]} : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %7 = loop.nest @n2(%4) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %8 = loop.load(%4) {map = #loop.map<(d0) -> (d0)>} : f32
    %9 = loop.neg(%8) : f32
    loop.store(%9) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%7) {views = [#loop.view<4>]}
}

// -----
!v = !loop.buffer<8xf32>

// What nothing reads goes: a whole nest, and one of two results with all that only it needed.
// CHECK-LABEL: @dropped_as_nothing_reads_it
// CHECK-NEXT:    %[[R:.*]] = loop.nest @n1(%x) {{.*}} : !loop.buffer<8xf32>
// CHECK-NOT:     loop.exp
// CHECK:         loop.neg
// CHECK-NOT:     loop.exp
// CHECK:         loop.return(%[[R]])
loop.func @dropped_as_nothing_reads_it(%x: !v, %y: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2, %3 = loop.nest @n1(%x, %y) {space = #loop.space<d0: 8>} : (!v, !v) {
  ^bb0(%d0: index):
    %4 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.load(%y) {map = #loop.map<(d0) -> (d0)>} : f32
    %6 = loop.exp(%5) : f32
    %7 = loop.neg(%4) : f32
    loop.store(%6) {map = #loop.map<(d0) -> (d0)>}
    loop.store(%7) {to = 1, map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<8>]}
}

// -----
!v = !loop.buffer<2x4xf32>

// The point of the first nest cannot be found without division where the second one reads with an offset under a mask.
// CHECK-LABEL: @stored_as_it_is_read_under_a_mask
// CHECK:         loop.nest @n0(%x) {{.*}}realize = ["read under a mask"]
loop.func @stored_as_it_is_read_under_a_mask(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 2, d1: 4>} : !v {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 2, d1: 6>} : !loop.buffer<2x6xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.index() {map = #loop.map<(d0, d1) -> (d1 - 2)>} : i64
    %5 = loop.const() {value = 0} : i64
    %6 = loop.ge(%4, %5) : i1
    %7 = loop.load(%0; %6) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1 - 2)>} : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0 * 6 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<2x6>]}
}

// -----
!v = !loop.buffer<8xf32>

// A chain is cut before its block grows without bound: here after two nests of three operations.
// RUN: lect-opt %s -p loop-realize{max_body=6} --split-input-file | filecheck %s --check-prefix SHORT
// CHECK-LABEL: @stored_as_the_block_grows_too_long
// CHECK:         loop.nest @n2({{.*}}) {{.*}}realize = ["inline"]
// SHORT-LABEL: @stored_as_the_block_grows_too_long
// SHORT:         loop.nest @n0(%x) {{.*}}realize = ["inline"]
// SHORT:         loop.nest @n1({{.*}}) {{.*}}realize = ["inline"]
// SHORT:         loop.nest @n2({{.*}}) {{.*}}realize = ["9 operations"]
// SHORT:         loop.nest @n3({{.*}}) {{.*}}realize = ["graph output"]
loop.func @stored_as_the_block_grows_too_long(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %4 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.neg(%4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  %6 = loop.nest @n2(%3) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %7 = loop.load(%3) {map = #loop.map<(d0) -> (d0)>} : f32
    %8 = loop.neg(%7) : f32
    loop.store(%8) {map = #loop.map<(d0) -> (d0)>}
  }
  %9 = loop.nest @n3(%6) {space = #loop.space<d0: 8>} : !v {
  ^bb0(%d0: index):
    %10 = loop.load(%6) {map = #loop.map<(d0) -> (d0)>} : f32
    %11 = loop.neg(%10) : f32
    loop.store(%11) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%9) {views = [#loop.view<8>]}
}

// -----

// CHECK-LABEL: @stored_as_a_parameter_is_written
// CHECK: loop.nest @n0(%x) {{.*}}realize = ["written to an input"]
loop.func @stored_as_a_parameter_is_written(%x: !loop.buffer<8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.write(%x, %0) {place = #loop.view<8>, view = #loop.view<8>}
  loop.return()
}

// -----

// One square root serves a row of 64: two readers may compute it again, the product costs no more than a read.
// CHECK-LABEL: @inline_as_the_root_is_taken_once_a_row
// CHECK:         loop.nest @n0({{.*}}realize = ["inline"]
loop.func @inline_as_the_root_is_taken_once_a_row(%x: !loop.buffer<64x64xf32>, %s: !loop.buffer<64xf32>) {
  %0 = loop.nest @n0(%x, %s) {space = #loop.space<d0: 64, d1: 64>} : !loop.buffer<64x64xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %2 = loop.load(%s) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %3 = loop.sqrt(%2) : f32
    %4 = loop.mul(%1, %3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  %5 = loop.nest @n1(%0) {space = #loop.space<d0: 64, d1: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index, %d1: index):
    %6 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %7 = loop.reduce(%6) {kind = "sum", over = [0]} : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  %8 = loop.nest @n2(%0) {space = #loop.space<d0: 64, d1: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index, %d1: index):
    %9 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %10 = loop.reduce(%9) {kind = "sum", over = [1]} : f32
    loop.store(%10) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%5, %8) {views = [#loop.view<64>, #loop.view<64>]}
}

// -----

// CHECK-LABEL: @no_inline_as_a_root_is_taken_for_each_element
// CHECK:         loop.nest @n0({{.*}}realize = ["2 readers x 1 heavy operations"]
loop.func @no_inline_as_a_root_is_taken_for_each_element(%x: !loop.buffer<64x64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 64, d1: 64>} : !loop.buffer<64x64xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %2 = loop.sqrt(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 64, d1: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [0]} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  %6 = loop.nest @n2(%0) {space = #loop.space<d0: 64, d1: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index, %d1: index):
    %7 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %8 = loop.reduce(%7) {kind = "sum", over = [1]} : f32
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%3, %6) {views = [#loop.view<64>, #loop.view<64>]}
}

// -----
!t = !loop.buffer<4x8xf32>

// Of 32 elements four are read, each inside of its row: they are computed where they are read.
// CHECK-LABEL: @inline_at_loaded_indices
// CHECK:         loop.nest @n0(%x) {{.*}}realize = ["inline"]
loop.func @inline_at_loaded_indices(%x: !t, %i: !loop.buffer<4xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !t {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %3 = loop.nest @n1(%0, %i) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %5 = loop.const() {value = 0} : i64
    %6 = loop.maximum(%4, %5) : i64
    %7 = loop.const() {value = 7} : i64
    %8 = loop.minimum(%6, %7) : i64
    %9 = loop.load(%0, %8) {map = #loop.map<(d0)[i0] -> (d0 * 8 + i0)>} : f32
    loop.store(%9) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<4>]}
}

// -----
!t = !loop.buffer<4x8xf32>

// CHECK-LABEL: @stored_as_the_loaded_index_may_leave_its_row
// CHECK:         loop.nest @n0(%x) {{.*}}realize = ["read at loaded indices"]
loop.func @stored_as_the_loaded_index_may_leave_its_row(%x: !t, %i: !loop.buffer<4xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !t {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %3 = loop.nest @n1(%0, %i) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %5 = loop.const() {value = 0} : i64
    %6 = loop.maximum(%4, %5) : i64
    %7 = loop.const() {value = 31} : i64
    %8 = loop.minimum(%6, %7) : i64
    %9 = loop.load(%0, %8) {map = #loop.map<(d0)[i0] -> (i0)>} : f32
    loop.store(%9) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<4>]}
}

// -----

// CHECK-LABEL: @stored_as_more_is_read_than_there_is
// CHECK:         loop.nest @n0(%x) {{.*}}realize = ["read at loaded indices"]
loop.func @stored_as_more_is_read_than_there_is(%x: !loop.buffer<8xf32>, %i: !loop.buffer<64xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0, %i) {space = #loop.space<d0: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %5 = loop.const() {value = 0} : i64
    %6 = loop.maximum(%4, %5) : i64
    %7 = loop.const() {value = 7} : i64
    %8 = loop.minimum(%6, %7) : i64
    %9 = loop.load(%0, %8) {map = #loop.map<(d0)[i0] -> (i0)>} : f32
    loop.store(%9) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<64>]}
}

// -----

// CHECK-LABEL: @stored_as_it_asks_where_it_is
// CHECK:         loop.nest @n0 {{.*}}realize = ["read at loaded indices"]
loop.func @stored_as_it_asks_where_it_is(%i: !loop.buffer<4xi64>) {
  %0 = loop.nest @n0() {space = #loop.space<d0: 8>} : !loop.buffer<8xi64> {
  ^bb0(%d0: index):
    %1 = loop.index() {map = #loop.map<(d0) -> (d0 * 3)>} : i64
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0, %i) {space = #loop.space<d0: 4>} : !loop.buffer<4xi64> {
  ^bb0(%d0: index):
    %4 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %5 = loop.const() {value = 0} : i64
    %6 = loop.maximum(%4, %5) : i64
    %7 = loop.const() {value = 7} : i64
    %8 = loop.minimum(%6, %7) : i64
    %9 = loop.load(%0, %8) {map = #loop.map<(d0)[i0] -> (i0)>} : i64
    loop.store(%9) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<4>]}
}
