// RUN: lect-opt %s -p canonicalize --split-input-file | filecheck %s

// A cast to the same type and a choice between equals go; a rounding cast to a half stays.
// CHECK-LABEL: @folds
// CHECK:         %[[X:.*]] = loop.load(%x)
// CHECK-NEXT:    %[[H:.*]] = loop.cast(%[[X]]) : bf16
// CHECK-NEXT:    %[[W:.*]] = loop.cast(%[[H]]) : f32
// CHECK-NEXT:    loop.store(%[[W]])
loop.func @folds(%x: !loop.buffer<4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.cast(%1) : f32
    %3 = loop.isnan(%2) : i1
    %4 = loop.select(%3, %2, %1) : f32
    %5 = loop.cast(%4) : bf16
    %6 = loop.cast(%5) : f32
    loop.store(%6) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<4>]}
}

// -----

// CHECK-LABEL: @chooses_by_a_constant
// CHECK:         %[[X:.*]] = loop.load(%x)
// CHECK-NEXT:    loop.store(%[[X]])
loop.func @chooses_by_a_constant(%x: !loop.buffer<4xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.neg(%1) : f32
    %3 = loop.const() {value = true} : i1
    %4 = loop.select(%3, %1, %2) : f32
    loop.store(%4) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<4>]}
}
