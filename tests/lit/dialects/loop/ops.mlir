// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s

// Every scalar operation that is not of the shared table, library calls, views, and the decisions of passes.
// CHECK-LABEL: loop.func @everything(%x: !loop.buffer<4x8xbf16>, %w: !loop.buffer<29xf32>, %i: !loop.buffer<4xi64>, %s: !loop.buffer<f32>)
// CHECK-SAME:    {arguments = [#loop.view<4x8>, #loop.view<4x3, strides [8, 2]>, #loop.view<4>, #loop.view<scalar>], slot_bytes = [64, 128], peak_bytes = 192}
loop.func @everything(%x: !loop.buffer<4x8xbf16>, %w: !loop.buffer<29xf32>, %i: !loop.buffer<4xi64>, %s: !loop.buffer<f32>) {arguments = [#loop.view<4x8>, #loop.view<4x3, strides [8, 2]>, #loop.view<4>, #loop.view<scalar>], slot_bytes = [64, 128], peak_bytes = 192} {
  // CHECK-NEXT: %a, %b = loop.nest @n0(%x, %w, %i, %s) {space = #loop.space<d0: 4, d1: 8>, realize = ["graph output", "2 readers x 1 heavy operations"],
  // CHECK-SAME:   fused = [#loop.fuse<vertical @n4, @n0 saves 4096>], blocked = [#loop.blocked<@n7 by "%x: it is read at two points">], slots = [none, 1], in_place = {{\[\[}}1, 0{{\]\]}}}
  // CHECK-SAME:   : (!loop.buffer<4xf32>, !loop.buffer<4x8xbf16>) {
  %a, %b = loop.nest @n0(%x, %w, %i, %s) {space = #loop.space<d0: 4, d1: 8>, realize = ["graph output", "2 readers x 1 heavy operations"], fused = [#loop.fuse<vertical @n4, @n0 saves 4096>], blocked = [#loop.blocked<@n7 by "%x: it is read at two points">], slots = [none, 1], in_place = [[1, 0]]} : (!loop.buffer<4xf32>, !loop.buffer<4x8xbf16>) {
  // CHECK-NEXT: ^bb0(%d0: index, %d1: index):
  ^bb0(%d0: index, %d1: index):
    // CHECK-NEXT: %[[X:.*]] = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : bf16
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : bf16
    // CHECK-NEXT: %[[W:.*]] = loop.cast(%[[X]]) : f32
    %1 = loop.cast(%0) : f32
    // CHECK-NEXT: %[[I:.*]] = loop.load(%i) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    %2 = loop.load(%i) {map = #loop.map<(d0, d1) -> (d0)>} : i64
    // CHECK-NEXT: %[[P:.*]] = loop.index() {map = #loop.map<(d0, d1) -> (d1 - 3)>} : i64
    %3 = loop.index() {map = #loop.map<(d0, d1) -> (d1 - 3)>} : i64
    // CHECK-NEXT: loop.philox32(%[[I]], %[[I]], %[[P]]) : i64
    %w32 = loop.philox32(%2, %2, %3) : i64
    // CHECK-NEXT: loop.philox64(%[[I]], %[[I]], %[[P]]) : i64
    %w64 = loop.philox64(%2, %2, %3) : i64
    // CHECK-NEXT: %[[N:.*]] = loop.const() {value = 2} : i64
    %4 = loop.const() {value = 2} : i64
    // CHECK-NEXT: %[[M:.*]] = loop.lt(%[[P]], %[[N]]) : i1
    %5 = loop.lt(%3, %4) : i1
    // CHECK-NEXT: %[[G:.*]] = loop.load(%w, %[[I]]; %[[M]]) {map = #loop.map<(d0, d1)[i0] -> (i0 * 8 + d1 * 2)>} : f32
    %6 = loop.load(%w, %2; %5) {map = #loop.map<(d0, d1)[i0] -> (i0 * 8 + d1 * 2)>} : f32
    // CHECK-NEXT: %[[S:.*]] = loop.load(%s) {map = #loop.map<(d0, d1) -> (0)>} : f32
    %7 = loop.load(%s) {map = #loop.map<(d0, d1) -> (0)>} : f32
    // CHECK-NEXT: %[[C:.*]] = loop.select(%[[M]], %[[G]], %[[S]]) : f32
    %8 = loop.select(%5, %6, %7) : f32
    // CHECK-NEXT: %[[F:.*]] = loop.fma(%[[C]], %[[W]], %[[S]]) : f32
    %9 = loop.fma(%8, %1, %7) : f32
    // CHECK-NEXT: %[[R:.*]] = loop.reduce(%[[F]]) {kind = "max", over = [1]} : f32
    %10 = loop.reduce(%9) {kind = "max", over = [1]} : f32
    // CHECK-NEXT: %[[K:.*]] = loop.reduce_index(%[[F]], %[[P]]) {kind = "max", over = [1]} : i64
    %11 = loop.reduce_index(%9, %3) {kind = "max", over = [1]} : i64
    // CHECK-NEXT: %[[KF:.*]] = loop.cast(%[[K]]) : f32
    %12 = loop.cast(%11) : f32
    // CHECK-NEXT: %[[A:.*]] = loop.add(%[[R]], %[[KF]]) : f32
    %13 = loop.add(%10, %12) : f32
    // CHECK-NEXT: loop.store(%[[A]]) {map = #loop.map<(d0, d1) -> (d0)>}
    loop.store(%13) {map = #loop.map<(d0, d1) -> (d0)>}
    // CHECK-NEXT: loop.store(%[[X]]) {to = 1, map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
    loop.store(%0) {to = 1, map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  // CHECK: %[[SC:.*]] = loop.nest @n1(%a) {space = #loop.space<d0: 4>}
  %14 = loop.nest @n1(%a) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %15 = loop.load(%a) {map = #loop.map<(d0) -> (d0)>} : f32
    // CHECK: loop.scan({{.*}}) {kind = "sum", over = 0} : f32
    %16 = loop.scan(%15) {kind = "sum", over = 0} : f32
    loop.store(%16) {map = #loop.map<(d0) -> (d0)>}
  }
  // CHECK: %[[L:.*]] = loop.extern @e0(%[[SC]]) {callee = @aten.sum.dim_IntList, views = [#loop.view<2x2, strides [1, 2]>], args = [#loop.operand<0>, [1]],
  // CHECK-SAME: kwargs = {dtype = f64}, result_views = [#loop.view<2>]} : !loop.buffer<2xf64>
  %17 = loop.extern @e0(%14) {callee = @aten.sum.dim_IntList, views = [#loop.view<2x2, strides [1, 2]>], args = [#loop.operand<0>, [1]], kwargs = {dtype = f64}, result_views = [#loop.view<2>]} : !loop.buffer<2xf64>
  // CHECK-NEXT: loop.return(%a, %b, %[[L]], %x) {views = [#loop.view<4>, #loop.view<8x4, strides [1, 8]>, #loop.view<2>, #loop.view<2, strides [8], offset 3>]}
  loop.return(%a, %b, %17, %x) {views = [#loop.view<4>, #loop.view<8x4, strides [1, 8]>, #loop.view<2>, #loop.view<2, strides [8], offset 3>]}
}

// Sizes may be symbols; what is known of them is checked, what is not is not.
// CHECK-LABEL: loop.func @symbolic_sizes(%x: !loop.buffer<s0x8xf32>)
loop.func @symbolic_sizes(%x: !loop.buffer<s0x8xf32>) {
  // CHECK-NEXT: loop.nest @n0(%x) {space = #loop.space<d0: s0 * 2, d1: 4>} : !loop.buffer<(s0 * 2)x4xf32>
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: s0 * 2, d1: 4>} : !loop.buffer<(s0 * 2)x4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 4 + d1)>}
  }
  // CHECK: loop.return({{.*}}) {views = [#loop.view<(s0 * 2)x4>]}
  loop.return(%0) {views = [#loop.view<(s0 * 2)x4>]}
}

// Parameters are written by the last operations.
// CHECK-LABEL: loop.func @writes(%x: !loop.buffer<4x8xf32>, %y: !loop.buffer<8xf32>)
loop.func @writes(%x: !loop.buffer<4x8xf32>, %y: !loop.buffer<8xf32>) {
  // CHECK-NEXT: loop.write(%x, %y) {place = #loop.view<8, offset 16>, view = #loop.view<8>}
  loop.write(%x, %y) {place = #loop.view<8, offset 16>, view = #loop.view<8>}
  // CHECK-NEXT: loop.write(%y, %x) {place = #loop.view<4, strides [2]>, view = #loop.view<4, strides [8]>, versions = 0}
  loop.write(%y, %x) {place = #loop.view<4, strides [2]>, view = #loop.view<4, strides [8]>, versions = 0}
  loop.return(%x) {views = [#loop.view<4x8>]}
}

// An update begins with the elements of another nest's result; its groups of operands are the number, the indices and the masks.
// CHECK-LABEL: loop.func @updates(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>, %m: !loop.buffer<9xi1>)
loop.func @updates(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>, %m: !loop.buffer<9xi1>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%i, %m, %0) {space = #loop.space<d0: 9>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.load(%m) {map = #loop.map<(d0) -> (d0)>} : i1
    %5 = loop.const() {value = 1.0} : f32
    // CHECK: loop.update(%{{.*}}, %{{.*}}, %{{.*}}; %{{.*}}) {kind = "sum", order = [0], map = #loop.map<(d0)[i0] -> (i0)>}
    loop.update(%5, %0, %3; %4) {kind = "sum", order = [0], map = #loop.map<(d0)[i0] -> (i0)>}
  }
  loop.return(%2) {views = [#loop.view<4>]}
}

// A tensor with gaps: what lies between its rows is neither written nor read.
// CHECK-LABEL: @gaps_that_nobody_reads
// CHECK:         loop.store(%{{.*}}) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
loop.func @gaps_that_nobody_reads(%x: !loop.buffer<4x6xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 6>} : !loop.buffer<30xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 6 + d1)>} : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0, %0) {views = [#loop.view<4x6, strides [8, 1]>, #loop.view<3x2, strides [8, 3], offset 9>]}
}
