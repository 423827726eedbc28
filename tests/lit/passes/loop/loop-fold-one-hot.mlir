// RUN: lect-opt %s -p loop-fold-one-hot --split-input-file | filecheck %s

// The row has the element %v at %t, if %c says so.
// CHECK-LABEL: loop.func @sum_of_one_element
// CHECK:         %[[V:.*]] = loop.load(%v)
// CHECK:         %[[GE:.*]] = loop.ge(%[[T:.*]], %{{.*}}) : i1
// CHECK:         %[[LT:.*]] = loop.lt(%[[T]], %{{.*}}) : i1
// CHECK:         %[[IN:.*]] = loop.and(%[[GE]], %[[LT]]) : i1
// CHECK:         %[[BOTH:.*]] = loop.and(%[[IN]], %{{.*}}) : i1
// CHECK:         %[[ONE:.*]] = loop.select(%[[BOTH]], %[[V]], %[[ZERO:.*]]) : f32
// CHECK:         %[[SUM:.*]] = loop.add(%[[ONE]], %[[ZERO]]) : f32
// CHECK-NOT:     loop.reduce
// CHECK:         loop.store(%[[SUM]])
loop.func @sum_of_one_element(%t: !loop.buffer<8xi64>, %v: !loop.buffer<8xf32>, %c: !loop.buffer<8xi1>) {
  %0 = loop.nest @n0(%t, %v, %c) {space = #loop.space<d0: 8, d1: 50>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %i = loop.index() {map = #loop.map<(d0, d1) -> (d1)>} : i64
    %1 = loop.load(%t) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %2 = loop.eq(%i, %1) : i1
    %3 = loop.load(%c) {map = #loop.map<(d0, d1) -> (d0)>} : i1
    %4 = loop.and(%2, %3) : i1
    %5 = loop.load(%v) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %6 = loop.const() {value = 0.0} : f32
    %7 = loop.select(%4, %5, %6) : f32
    %8 = loop.reduce(%7) {kind = "sum", over = [1]} : f32
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}

// -----

// CHECK-LABEL: loop.func @no_fold_as_the_value_varies_along_the_row
// CHECK:         loop.reduce
loop.func @no_fold_as_the_value_varies_along_the_row(%t: !loop.buffer<8xi64>, %v: !loop.buffer<8x50xf32>) {
  %0 = loop.nest @n0(%t, %v) {space = #loop.space<d0: 8, d1: 50>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %i = loop.index() {map = #loop.map<(d0, d1) -> (d1)>} : i64
    %1 = loop.load(%t) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %2 = loop.eq(%i, %1) : i1
    %5 = loop.load(%v) {map = #loop.map<(d0, d1) -> (d0 * 50 + d1)>} : f32
    %6 = loop.const() {value = 0.0} : f32
    %7 = loop.select(%2, %5, %6) : f32
    %8 = loop.reduce(%7) {kind = "sum", over = [1]} : f32
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}

// -----

// CHECK-LABEL: loop.func @no_fold_as_other_elements_are_not_zero
// CHECK:         loop.reduce
loop.func @no_fold_as_other_elements_are_not_zero(%t: !loop.buffer<8xi64>, %v: !loop.buffer<8xf32>) {
  %0 = loop.nest @n0(%t, %v) {space = #loop.space<d0: 8, d1: 50>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %i = loop.index() {map = #loop.map<(d0, d1) -> (d1)>} : i64
    %1 = loop.load(%t) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %2 = loop.eq(%i, %1) : i1
    %5 = loop.load(%v) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %6 = loop.const() {value = 1.0} : f32
    %7 = loop.select(%2, %5, %6) : f32
    %8 = loop.reduce(%7) {kind = "sum", over = [1]} : f32
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}
