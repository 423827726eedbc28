// RUN: lect-opt %s -p loop-plan-buffers --split-input-file --verify-diagnostics | filecheck %s
!m = !loop.buffer<4x4xf32>

// The first buffer is dead once the library has read it; the third takes its slot. What the graph returns has memory of its own.
// CHECK-LABEL: loop.func @a_dead_buffer_lends_its_slot(%x: !loop.buffer<4x4xf32>) {slot_bytes = [64], peak_bytes = 192}
// CHECK:         loop.nest @n0(%x) {space = #loop.space<d0: 16>, slots = [0]}
// CHECK:         loop.nest @n1({{.*}}) {space = #loop.space<d0: 16>, slots = [0]}
// CHECK:         loop.nest @n2({{.*}}) {space = #loop.space<d0: 16>} : (!loop.buffer<4x4xf32>, !loop.buffer<4x4xf32>)
loop.func @a_dead_buffer_lends_its_slot(%x: !m) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.extern @e0(%0) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  %3 = loop.nest @n1(%2) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %4 = loop.load(%2) {map = #loop.map<(d0) -> (15 - d0)>} : f32
    loop.store(%4) {map = #loop.map<(d0) -> (d0)>}
  }
  %5, %6 = loop.nest @n2(%3) {space = #loop.space<d0: 16>} : (!m, !m) {
  ^bb0(%d0: index):
    %7 = loop.load(%3) {map = #loop.map<(d0) -> (d0)>} : f32
    %8 = loop.neg(%7) : f32
    loop.store(%7) {map = #loop.map<(d0) -> (d0)>}
    loop.store(%8) {to = 1, map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%5, %6) {views = [#loop.view<4x4>, #loop.view<4x4>]}
}

// -----
!v = !loop.buffer<16xf32>

// CHECK-LABEL: @in_place_where_each_point_reads_what_it_writes
// CHECK:         loop.nest @n0({{.*}}) {{.*}}slots = [0]}
// CHECK:         loop.nest @n1({{.*}}) {{.*}}slots = [0], in_place = {{\[\[}}0, 0{{\]\]}}}
loop.func @in_place_where_each_point_reads_what_it_writes(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%0) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %3 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  %4 = loop.nest @n2(%2) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %5 = loop.load(%2) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%4) {views = [#loop.view<16>]}
}

// -----
!v = !loop.buffer<16xf32>

// A reversed read would see elements that were written already.
// CHECK-LABEL: @not_in_place_as_other_points_are_read
// CHECK-SAME:    slot_bytes = [64, 64]
// CHECK:         loop.nest @n1({{.*}}) {{.*}}slots = [1]}
loop.func @not_in_place_as_other_points_are_read(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%0) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %3 = loop.load(%0) {map = #loop.map<(d0) -> (15 - d0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  %4 = loop.nest @n2(%2) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %5 = loop.load(%2) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%4) {views = [#loop.view<16>]}
}

// -----
!v = !loop.buffer<16xf32>

// The parameter belongs to the caller.
// CHECK-LABEL: @no_slot_of_a_parameter
// CHECK-SAME:    {slot_bytes = [64], peak_bytes = 128}
// CHECK:         loop.nest @n0({{.*}}) {{.*}}slots = [0]} : !loop.buffer<16xf32>
loop.func @no_slot_of_a_parameter(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%0) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %3 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%2) {views = [#loop.view<16>]}
}

// -----

// Buffers of one size share a slot, whatever that size is when the program runs.
// CHECK-LABEL: @slots_of_sizes_that_are_known_at_run_time
// CHECK-SAME:    {symbols = {s0 = {hint = 10}}, slot_bytes = [#lect.size<s0 * 16>], peak_bytes = 320}
// CHECK:         loop.nest @n0({{.*}}) {{.*}}slots = [0]}
// CHECK:         loop.nest @n2({{.*}}) {{.*}}slots = [0]}
loop.func @slots_of_sizes_that_are_known_at_run_time(%x: !loop.buffer<s0x4xf32>) {symbols = {s0 = {hint = 10}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: 4>} : !loop.buffer<s0x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  %2 = loop.extern @e1(%0) {callee = @aten.sin.default, views = [#loop.view<s0x4>], args = [#loop.operand<0>], result_views = [#loop.view<s0x4>]} : !loop.buffer<s0x4xf32>
  %3 = loop.nest @n2(%x) {space = #loop.space<d0: s0, d1: 4>} : !loop.buffer<s0x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  %5 = loop.extern @e3(%3) {callee = @aten.sin.default, views = [#loop.view<s0x4>], args = [#loop.operand<0>], result_views = [#loop.view<s0x4>]} : !loop.buffer<s0x4xf32>
  loop.return(%5) {views = [#loop.view<s0x4>]}
}

// -----

// CHECK-LABEL: @no_common_slot_as_the_sizes_may_differ
// CHECK-SAME:    slot_bytes = [#lect.size<s0 * 16>, #lect.size<s1 * 16>]
loop.func @no_common_slot_as_the_sizes_may_differ(%x: !loop.buffer<s0x4xf32>, %y: !loop.buffer<s1x4xf32>) {symbols = {s0 = {hint = 10}, s1 = {hint = 10}}} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0, d1: 4>} : !loop.buffer<s0x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  %2 = loop.extern @e1(%0) {callee = @aten.sin.default, views = [#loop.view<s0x4>], args = [#loop.operand<0>], result_views = [#loop.view<s0x4>]} : !loop.buffer<s0x4xf32>
  %3 = loop.nest @n2(%y) {space = #loop.space<d0: s1, d1: 4>} : !loop.buffer<s1x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%y) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  %5 = loop.extern @e3(%3) {callee = @aten.sin.default, views = [#loop.view<s1x4>], args = [#loop.operand<0>], result_views = [#loop.view<s1x4>]} : !loop.buffer<s1x4xf32>
  loop.return(%2, %5) {views = [#loop.view<s0x4>, #loop.view<s1x4>]}
}

// -----
!v = !loop.buffer<16xf32>

// What is written to a parameter as a whole is stored there at once.
// CHECK-LABEL: loop.func @in_place_in_a_parameter(%x: !loop.buffer<16xf32>, %y: !loop.buffer<16xf32>) {
// CHECK-NEXT:    loop.nest @n0(%x, %y) {space = #loop.space<d0: 16>, in_place = {{\[\[}}0, 0{{\]\]}}}
loop.func @in_place_in_a_parameter(%x: !v, %y: !v) {
  %0 = loop.nest @n0(%x, %y) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.load(%y) {map = #loop.map<(d0) -> (d0)>} : f32
    %3 = loop.add(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.write(%x, %0) {place = #loop.view<4x4>, view = #loop.view<4x4>}
  loop.return(%x) {views = [#loop.view<16>]}
}

// -----
!v = !loop.buffer<16xf32>

// CHECK-LABEL: @not_in_a_parameter_that_is_read_later
// CHECK-NEXT:    loop.nest @n0(%x) {space = #loop.space<d0: 16>, slots = [0]}
loop.func @not_in_a_parameter_that_is_read_later(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %4 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%4) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.write(%x, %0) {place = #loop.view<16>, view = #loop.view<16>}
  loop.return(%3) {views = [#loop.view<16>]}
}

// -----
!v = !loop.buffer<16xf32>

// CHECK-LABEL: @not_in_a_parameter_of_which_a_part_is_written
// CHECK-NEXT:    loop.nest @n0(%x) {space = #loop.space<d0: 16>, slots = [0]}
loop.func @not_in_a_parameter_of_which_a_part_is_written(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.write(%x, %0) {place = #loop.view<8>, view = #loop.view<8>}
  loop.return()
}

// -----
!v = !loop.buffer<16xf32>
!i = !loop.buffer<4xi64>

// CHECK-LABEL: @not_in_a_parameter_as_a_call_behind_may_raise
// CHECK-NOT: in_place
loop.func @not_in_a_parameter_as_a_call_behind_may_raise(%x: !v, %y: !v, %i: !i) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.neg(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.extern @e0(%y, %i) {callee = @aten.index_select.default, args = [#loop.operand<0>, 0, #loop.operand<1>], views = [#loop.view<16>, #loop.view<4>], result_views = [#loop.view<4>]} : !loop.buffer<4xf32>
  loop.write(%x, %0) {place = #loop.view<16>, view = #loop.view<16>}
  loop.return(%3) {views = [#loop.view<4>]}
}

// -----
!v = !loop.buffer<16xf32>

// CHECK-LABEL: @not_in_a_parameter_that_is_turned_around
// CHECK-NEXT:    loop.nest @n0(%x) {space = #loop.space<d0: 16>, slots = [0]}
loop.func @not_in_a_parameter_that_is_turned_around(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (15 - d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.write(%x, %0) {place = #loop.view<16>, view = #loop.view<16>}
  loop.return()
}

// -----
!v = !loop.buffer<16xf32>

// CHECK-LABEL: @not_in_a_parameter_as_the_result_has_an_owner
// CHECK-NEXT:    loop.nest @n0(%x) {space = #loop.space<d0: 16>}
// CHECK-NOT:     in_place
loop.func @not_in_a_parameter_as_the_result_has_an_owner(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 16>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.write(%x, %0) {place = #loop.view<16>, view = #loop.view<16>}
  loop.return(%0) {views = [#loop.view<16>]}
}

// -----
!m = !loop.buffer<4x4xf32>
!r = !loop.buffer<1x4xf32>
!i = !loop.buffer<1xi64>

// Two calls change a parameter one after the other, and what reads all of it comes behind them.
// CHECK-LABEL: loop.func @a_parameter_is_updated_in_place(%x: !loop.buffer<4x4xf32>, %r: !loop.buffer<1x4xf32>, %i: !loop.buffer<1xi64>) {peak_bytes = 64}
// CHECK: loop.extern @e0({{.*}}in_place = {{\[\[}}0, 0{{\]\]}}}
// CHECK: loop.extern @e1({{.*}}in_place = {{\[\[}}0, 0{{\]\]}}}
loop.func @a_parameter_is_updated_in_place(%x: !m, %r: !r, %i: !i) {
  %0 = loop.extern @e0(%x, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>]} : !m
  %1 = loop.extern @e1(%0, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>]} : !m
  %2 = loop.extern @e2(%1) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  loop.write(%x, %1) {place = #loop.view<4x4>, view = #loop.view<4x4>}
  loop.return(%2) {views = [#loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>
!r = !loop.buffer<1x4xf32>
!i = !loop.buffer<1xi64>

// CHECK-LABEL: loop.func @no_update_in_place_as_the_old_elements_are_read_later
// CHECK-NOT: in_place
// CHECK: loop.return
loop.func @no_update_in_place_as_the_old_elements_are_read_later(%x: !m, %r: !r, %i: !i) {
  %0 = loop.extern @e0(%x, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>]} : !m
  %2 = loop.extern @e2(%x) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  loop.write(%x, %0) {place = #loop.view<4x4>, view = #loop.view<4x4>}
  loop.return(%2) {views = [#loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>
!r = !loop.buffer<1x4xf32>
!i = !loop.buffer<1xi64>

// CHECK-LABEL: loop.func @no_update_in_place_as_a_result_between_is_read_later
// CHECK-NOT: in_place
// CHECK: loop.return
loop.func @no_update_in_place_as_a_result_between_is_read_later(%x: !m, %r: !r, %i: !i) {
  %0 = loop.extern @e0(%x, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>]} : !m
  %1 = loop.extern @e1(%0, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>]} : !m
  %2 = loop.extern @e2(%0) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  loop.write(%x, %1) {place = #loop.view<4x4>, view = #loop.view<4x4>}
  loop.return(%2) {views = [#loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>
!r = !loop.buffer<1x4xf32>
!i = !loop.buffer<1xi64>

// CHECK-LABEL: loop.func @no_update_in_place_as_the_result_is_returned
// CHECK-NOT: in_place
// CHECK: loop.return
loop.func @no_update_in_place_as_the_result_is_returned(%x: !m, %r: !r, %i: !i) {
  %0 = loop.extern @e0(%x, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>]} : !m
  loop.write(%x, %0) {place = #loop.view<4x4>, view = #loop.view<4x4>}
  loop.return(%0) {views = [#loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>
!r = !loop.buffer<1x4xf32>
!i = !loop.buffer<1xi64>

// CHECK-LABEL: loop.func @no_update_in_place_of_another_parameter
// CHECK-NOT: in_place
// CHECK: loop.return
loop.func @no_update_in_place_of_another_parameter(%x: !m, %y: !m, %r: !r, %i: !i) {
  %0 = loop.extern @e0(%y, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>]} : !m
  loop.write(%x, %0) {place = #loop.view<4x4>, view = #loop.view<4x4>}
  loop.return()
}

// -----
!m = !loop.buffer<4x4xf32>
!r = !loop.buffer<1x4xf32>
!i = !loop.buffer<1xi64>

// CHECK-LABEL: loop.func @no_update_in_place_as_a_view_of_the_library_is_read_later
// CHECK-NOT: in_place
// CHECK: loop.return
loop.func @no_update_in_place_as_a_view_of_the_library_is_read_later(%x: !m, %r: !r, %i: !i) {
  %0 = loop.extern @e0(%x) {callee = @aten.view.dtype, views = [#loop.view<4x4>], args = [#loop.operand<0>, i32], result_views = [#loop.view<4x4>]} : !loop.buffer<4x4xi32>
  %1 = loop.extern @e1(%x, %i, %r) {callee = @aten.index_copy.default, views = [#loop.view<4x4>, #loop.view<1>, #loop.view<1x4>], args = [#loop.operand<0>, 0, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x4>]} : !m
  %2 = loop.extern @e2(%0) {callee = @aten.neg.default, views = [#loop.view<4x4>], args = [#loop.operand<0>], result_views = [#loop.view<4x4>]} : !loop.buffer<4x4xi32>
  loop.write(%x, %1) {place = #loop.view<4x4>, view = #loop.view<4x4>}
  loop.return(%2) {views = [#loop.view<4x4>]}
}

// -----

// A result that is updated lives where it began: it takes no memory of its own, and what it began with is returned with it.
// CHECK-LABEL: loop.func @updated_and_returned
// CHECK-SAME: peak_bytes = 128
// CHECK: loop.nest @base
// CHECK-NOT: slots
// CHECK: loop.return
loop.func @updated_and_returned(%x: !loop.buffer<4x8xf32>, %i: !loop.buffer<9xi64>, %v: !loop.buffer<9x8xf32>) {
  %0 = loop.nest @base(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %2 = loop.nest @rows(%i, %v, %0) {space = #loop.space<d0: 9, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %3 = loop.load(%i) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %4 = loop.load(%v) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.update(%4, %0, %3;) {kind = "sum", order = [0], map = #loop.map<(d0, d1)[i0] -> (i0 * 8 + d1)>}
  }
  loop.return(%2) {views = [#loop.view<4x8>]}
}

// -----

// What reads the updated elements point by point may take their memory over.
// CHECK-LABEL: loop.func @updated_and_read
// CHECK-SAME: slot_bytes = [128]
// CHECK: loop.nest @last({{.*}}) {{.*}}in_place = [
loop.func @updated_and_read(%x: !loop.buffer<4x8xf32>, %i: !loop.buffer<9xi64>, %v: !loop.buffer<9x8xf32>) {
  %0 = loop.nest @base(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %2 = loop.nest @rows(%i, %v, %0) {space = #loop.space<d0: 9, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %3 = loop.load(%i) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %4 = loop.load(%v) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    loop.update(%4, %0, %3;) {kind = "sum", order = [0], map = #loop.map<(d0, d1)[i0] -> (i0 * 8 + d1)>}
  }
  %5 = loop.nest @last(%2) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %6 = loop.load(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %7 = loop.neg(%6) : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %8 = loop.extern @e0(%5) {callee = @aten.sum.default, views = [#loop.view<4x8>], args = [#loop.operand<0>], result_views = [#loop.view<scalar>]} : !loop.buffer<f32>
  loop.return(%8) {views = [#loop.view<scalar>]}
}

// -----
!m = !loop.buffer<4x4xf32>

// The product is nobody else's: what follows it element by element is written over it, and so is what the graph returns.
// CHECK-LABEL: loop.func @in_place_in_what_a_library_function_made(%x: !loop.buffer<4x4xf32>) {peak_bytes = 64}
// CHECK:         loop.nest @n1({{.*}}) {space = #loop.space<d0: 16>, in_place = {{\[\[}}0, 0{{\]\]}}}
// CHECK:         loop.nest @n2({{.*}}) {space = #loop.space<d0: 16>, in_place = {{\[\[}}0, 0{{\]\]}}}
loop.func @in_place_in_what_a_library_function_made(%x: !m) {
  %0 = loop.extern @e0(%x) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  %a = loop.nest @n1(%0) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %a0 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %a1 = loop.exp(%a0) : f32
    loop.store(%a1) {map = #loop.map<(d0) -> (d0)>}
  }
  %b = loop.nest @n2(%a) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %b0 = loop.load(%a) {map = #loop.map<(d0) -> (d0)>} : f32
    %b1 = loop.exp(%b0) : f32
    loop.store(%b1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%b) {views = [#loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>

// CHECK-LABEL: @not_in_place_as_what_is_returned_lies_otherwise
// CHECK:         loop.nest @n1
// CHECK-NOT:       in_place
loop.func @not_in_place_as_what_is_returned_lies_otherwise(%x: !m) {
  %0 = loop.extern @e0(%x) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  %a = loop.nest @n1(%0) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %a0 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %a1 = loop.exp(%a0) : f32
    loop.store(%a1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%a) {views = [#loop.view<16>]}
}

// -----
!m = !loop.buffer<4x4xf32>

// CHECK-LABEL: @not_in_place_as_the_product_is_read_later
// CHECK:         loop.nest @n1
// CHECK-NOT:       in_place
// CHECK:         loop.nest @n2
loop.func @not_in_place_as_the_product_is_read_later(%x: !m) {
  %0 = loop.extern @e0(%x) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  %a = loop.nest @n1(%0) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %a0 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %a1 = loop.exp(%a0) : f32
    loop.store(%a1) {map = #loop.map<(d0) -> (d0)>}
  }
  %b = loop.nest @n2(%0) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %b0 = loop.load(%0) {map = #loop.map<(d0) -> (15 - d0)>} : f32
    %b1 = loop.exp(%b0) : f32
    loop.store(%b1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%a, %b) {views = [#loop.view<4x4>, #loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>

// CHECK-LABEL: @not_in_place_as_a_view_of_the_library_is_read_behind
// CHECK:         loop.nest @n1
// CHECK-NOT:       in_place
// CHECK:         loop.nest @n2
loop.func @not_in_place_as_a_view_of_the_library_is_read_behind(%x: !m) {
  %0 = loop.extern @e0(%x) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  %v = loop.extern @e1(%0) {callee = @aten.t.default, views = [#loop.view<4x4>], args = [#loop.operand<0>], result_views = [#loop.view<4x4, strides [1, 4]>]} : !m
  %a = loop.nest @n1(%0) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %a0 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %a1 = loop.exp(%a0) : f32
    loop.store(%a1) {map = #loop.map<(d0) -> (d0)>}
  }
  %b = loop.nest @n2(%v) {space = #loop.space<d0: 16>} : !m {
  ^bb0(%d0: index):
    %b0 = loop.load(%v) {map = #loop.map<(d0) -> (15 - d0)>} : f32
    %b1 = loop.exp(%b0) : f32
    loop.store(%b1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%a, %b) {views = [#loop.view<4x4>, #loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>

// CHECK-LABEL: @in_place_in_the_last_sweep_over_a_row
// CHECK:         loop.nest @n1({{.*}}) {{.*}}in_place = {{\[\[}}0, 0{{\]\]}}}
loop.func @in_place_in_the_last_sweep_over_a_row(%x: !m) {
  %0 = loop.extern @e0(%x) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  %a = loop.nest @n1(%0) {space = #loop.space<d0: 4, d1: 4>} : !m {
  ^bb0(%d0: index, %d1: index):
    %a0 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    %a1 = loop.reduce(%a0) {kind = "sum", over = [1]} : f32
    %a2 = loop.div(%a0, %a1) : f32
    loop.store(%a2) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  loop.return(%a) {views = [#loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>

// Every program reads what the others write.
// CHECK-LABEL: @not_in_place_as_a_row_is_written_for_each_column
// CHECK:         loop.nest @n1
// CHECK-NOT:       in_place
loop.func @not_in_place_as_a_row_is_written_for_each_column(%x: !m) {
  %0 = loop.extern @e0(%x) {callee = @aten.mm.default, views = [#loop.view<4x4>], args = [#loop.operand<0>, #loop.operand<0>], result_views = [#loop.view<4x4>]} : !m
  %a = loop.nest @n1(%0) {space = #loop.space<d0: 4, d1: 4>} : !m {
  ^bb0(%d0: index, %d1: index):
    %a0 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    %a3 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d1 * 4 + d0)>} : f32
    %a1 = loop.reduce(%a3) {kind = "sum", over = [1]} : f32
    %a2 = loop.div(%a0, %a1) : f32
    loop.store(%a2) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  loop.return(%a) {views = [#loop.view<4x4>]}
}

// -----
!m = !loop.buffer<4x4xf32>

// Both parameters are there at first, one dies in the nest, and its memory is not taken over: others may see it as long as they have it.
// CHECK-LABEL: loop.func @counts_what_it_is_handed_over({{.*}}) {consumed = [0, 1], slot_bytes = [64], peak_bytes = 192}
// CHECK-NOT:     in_place
loop.func @counts_what_it_is_handed_over(%x: !m, %y: !m) {consumed = [0, 1]} {
  %0 = loop.nest @n0(%x, %y) {space = #loop.space<d0: 4, d1: 4>} : !m {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    %2 = loop.load(%y) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    %3 = loop.add(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  %4 = loop.nest @n1(%0) {space = #loop.space<d0: 4, d1: 4>} : !m {
  ^bb0(%d0: index, %d1: index):
    %5 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d1 * 4 + d0)>} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  loop.return(%4) {views = [#loop.view<4x4>]}
}

// -----

// What is made with a size that a call finds stands behind the call.
// CHECK-LABEL: loop.func @behind_what_finds_the_size
// CHECK-NEXT:    loop.extern @e0
// CHECK-NEXT:    loop.nest @n0
loop.func @behind_what_finds_the_size(%mask: !loop.buffer<s0xi1>) {symbols = {s0 = {hint = 9, min = 2, argument = 0, dim = 0}, s1 = {hint = 64, min = 2}}} {
  %0 = loop.nest @n0 {space = #loop.space<d0: s1>} : !loop.buffer<s1xf32> {
  ^bb0(%d0: index):
    %1 = loop.const() {value = 0.0} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.extern @e0(%mask) {callee = @aten.nonzero.default, views = [#loop.view<s0>], args = [#loop.operand<0>], result_views = [#loop.view<s1x1, strides [1, s1]>]} : !loop.buffer<1xs1xi64>
  loop.return(%0) {views = [#loop.view<s1>]}
}

// -----

// A size that is needed for what finds it.
loop.func @needed_before_it_is_found(%mask: !loop.buffer<s0xi1>) {symbols = {s0 = {hint = 9, min = 2, argument = 0, dim = 0}, s1 = {hint = 64, min = 2}}} {
  // expected-error @+1 {{a size is needed for what finds it}}
  %0 = loop.nest @n0 {space = #loop.space<d0: s1>} : !loop.buffer<s1xi1> {
  ^bb0(%d0: index):
    %1 = loop.const() {value = true} : i1
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.extern @e0(%0) {callee = @aten.nonzero.default, views = [#loop.view<s1>], args = [#loop.operand<0>], result_views = [#loop.view<s1x1, strides [1, s1]>]} : !loop.buffer<1xs1xi64>
  loop.return(%0) {views = [#loop.view<s1>]}
}
