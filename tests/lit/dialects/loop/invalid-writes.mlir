// RUN: lect-opt %s --split-input-file --verify-diagnostics

loop.func @write_to_a_result(%x: !loop.buffer<8xf32>) {
  %0 = loop.extern @e0(%x) {callee = @aten.exp.default, views = [#loop.view<8>], args = [#loop.operand<0>], result_views = [#loop.view<8>]} : !loop.buffer<8xf32>
  // expected-error @+1 {{only parameters are written}}
  loop.write(%0, %x) {place = #loop.view<8>, view = #loop.view<8>}
  loop.return()
}

// -----

loop.func @write_of_other_sizes(%x: !loop.buffer<8xf32>) {
  // expected-error @+1 {{a write copies equal sizes, got [4] and [2, 2]}}
  loop.write(%x, %x) {place = #loop.view<2x2>, view = #loop.view<4>}
  loop.return()
}

// -----

loop.func @write_of_another_type(%x: !loop.buffer<8xf32>, %y: !loop.buffer<8xi64>) {
  // expected-error @+1 {{a write keeps the element type f32}}
  loop.write(%x, %y) {place = #loop.view<8>, view = #loop.view<8>}
  loop.return()
}

// -----

loop.func @write_counts_backwards(%x: !loop.buffer<8xf32>) {
  // expected-error @+1 {{'versions' counts writes, got -2}}
  loop.write(%x, %x) {place = #loop.view<8>, view = #loop.view<8>, versions = -2}
  loop.return()
}

// -----

loop.func @call_behind_a_write(%x: !loop.buffer<8xf32>) {
  loop.write(%x, %x) {place = #loop.view<8>, view = #loop.view<8>}
  // expected-error @+1 {{'loop.extern' stands behind a write to a parameter}}
  %0 = loop.extern @e0(%x) {callee = @aten.exp.default, views = [#loop.view<8>], args = [#loop.operand<0>], result_views = [#loop.view<8>]} : !loop.buffer<8xf32>
  loop.return(%0) {views = [#loop.view<8>]}
}
