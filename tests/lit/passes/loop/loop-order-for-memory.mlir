// RUN: lect-opt %s -p 'loop-order-for-memory{least=0}' --split-input-file | filecheck %s
!v = !loop.buffer<64xf32>

// Each vector is summed before the next is made.
// CHECK-LABEL: loop.func @sums_before_it_goes_on({{.*}}) {order = "peak 264, not 516 bytes"}
// CHECK:         loop.nest @n0
// CHECK:         loop.nest @n2
// CHECK:         loop.nest @n1
// CHECK:         loop.nest @n3
loop.func @sums_before_it_goes_on(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 64>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%x) {space = #loop.space<d0: 64>} : !v {
  ^bb0(%d0: index):
    %3 = loop.load(%x) {map = #loop.map<(d0) -> (63 - d0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  %4 = loop.nest @n2(%0) {space = #loop.space<d0: 64>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %5 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %6 = loop.reduce(%5) {kind = "sum", over = [0]} : f32
    loop.store(%6) {map = #loop.map<(d0) -> (0)>}
  }
  %7 = loop.nest @n3(%2) {space = #loop.space<d0: 64>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %8 = loop.load(%2) {map = #loop.map<(d0) -> (d0)>} : f32
    %9 = loop.reduce(%8) {kind = "sum", over = [0]} : f32
    loop.store(%9) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%4, %7) {views = [#loop.view<scalar>, #loop.view<scalar>]}
}

// -----
!v = !loop.buffer<64xf32>

// The first of two errors is eager's.
// CHECK-LABEL: @no_other_order_of_calls_that_may_raise
// CHECK:         loop.extern @e0
// CHECK:         loop.extern @e1
// CHECK:         loop.nest @n0
loop.func @no_other_order_of_calls_that_may_raise(%x: !v) {
  %0 = loop.extern @e0(%x) {callee = @aten.special.default, views = [#loop.view<64>], args = [#loop.operand<0>], result_views = [#loop.view<64>]} : !v
  %1 = loop.extern @e1(%x) {callee = @aten.special.default, views = [#loop.view<64>], args = [#loop.operand<0>], result_views = [#loop.view<scalar>]} : !loop.buffer<f32>
  %2 = loop.nest @n0(%0) {space = #loop.space<d0: 64>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %3 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %4 = loop.reduce(%3) {kind = "sum", over = [0]} : f32
    loop.store(%4) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%1, %2) {views = [#loop.view<scalar>, #loop.view<scalar>]}
}

// -----
!v = !loop.buffer<64xf32>

// CHECK-LABEL: loop.func @no_other_order_as_it_would_save_nothing(%x: !loop.buffer<64xf32>) {
// CHECK-NEXT:    loop.nest @n0
// CHECK:         loop.nest @n1
loop.func @no_other_order_as_it_would_save_nothing(%x: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 64>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%x) {space = #loop.space<d0: 64>} : !loop.buffer<f32> {
  ^bb0(%d0: index):
    %3 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %4 = loop.reduce(%3) {kind = "sum", over = [0]} : f32
    loop.store(%4) {map = #loop.map<(d0) -> (0)>}
  }
  loop.return(%0, %2) {views = [#loop.view<64>, #loop.view<scalar>]}
}

// -----
!v = !loop.buffer<64xf32>

// What is handed over counts until it was used last, so what reads it goes first.
// CHECK-LABEL: loop.func @uses_up_what_it_is_handed_over({{.*}}) {consumed = [1, 2], order = "peak 768, not 1024 bytes"}
// CHECK:         loop.nest @n1
// CHECK:         loop.nest @n0
loop.func @uses_up_what_it_is_handed_over(%x: !v, %k: !v, %l: !v) {consumed = [1, 2]} {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 64>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%k, %l) {space = #loop.space<d0: 64>} : !v {
  ^bb0(%d0: index):
    %3 = loop.load(%k) {map = #loop.map<(d0) -> (d0)>} : f32
    %4 = loop.load(%l) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.add(%3, %4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0, %2) {views = [#loop.view<64>, #loop.view<64>]}
}

// -----
!v = !loop.buffer<64xf32>

// CHECK-LABEL: loop.func @no_other_order_as_the_caller_has_the_parameters({{.*}}) {
// CHECK-NOT:     order =
// CHECK:         loop.nest @n0
// CHECK:         loop.nest @n1
loop.func @no_other_order_as_the_caller_has_the_parameters(%x: !v, %k: !v, %l: !v) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 64>} : !v {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%k, %l) {space = #loop.space<d0: 64>} : !v {
  ^bb0(%d0: index):
    %3 = loop.load(%k) {map = #loop.map<(d0) -> (d0)>} : f32
    %4 = loop.load(%l) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.add(%3, %4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0, %2) {views = [#loop.view<64>, #loop.view<64>]}
}
