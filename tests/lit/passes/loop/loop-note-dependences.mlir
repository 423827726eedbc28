// RUN: lect-opt %s -p loop-note-dependences | filecheck %s
!m = !loop.buffer<8x64xf32>

// CHECK-LABEL: @where_everything_is_read
// A nest that reads parameters alone depends on nothing.
// CHECK:         loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 64>} :
// CHECK:         loop.nest @own({{.*}}) {{.*}}depends = [#loop.depends<@n0 by "result 0 at its own point, which folds [d1]">, #loop.depends<@n0 by "result 1 at its own point, which folds [d1]">]
// CHECK:         loop.nest @turned({{.*}}) {{.*}}depends = [#loop.depends<@own by "result 0 at (d0, 63 - d1)">, #loop.depends<@own by "result 0 at its own point">]
// CHECK:         loop.nest @flat({{.*}}) {{.*}}depends = [#loop.depends<@turned by "result 0 at (d0 floordiv 64, d0 mod 64)">]
// CHECK:         loop.nest @library({{.*}}) {{.*}}depends = [#loop.depends<@e0 by "result 0 of a library call">]
// CHECK:         loop.nest @loaded({{.*}}) {{.*}}depends = [#loop.depends<@library by "result 0 at loaded indices">]
loop.func @where_everything_is_read(%x: !m, %i: !loop.buffer<4xi64>) {
  %0, %1 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 64>} : (!m, !loop.buffer<8xf32>) {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %3 = loop.reduce(%2) {kind = "sum", over = [1]} : f32
    %4 = loop.sub(%2, %3) : f32
    loop.store(%4) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0)>, to = 1}
  }
  %5 = loop.nest @own(%0, %1) {space = #loop.space<d0: 8, d1: 64>} : !m {
  ^bb0(%d0: index, %d1: index):
    %6 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %7 = loop.load(%1) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %8 = loop.add(%6, %7) : f32
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  %9 = loop.nest @turned(%5) {space = #loop.space<d0: 8, d1: 64>} : !m {
  ^bb0(%d0: index, %d1: index):
    %10 = loop.load(%5) {map = #loop.map<(d0, d1) -> (d0 * 64 - d1 + 63)>} : f32
    %11 = loop.load(%5) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %12 = loop.add(%10, %11) : f32
    loop.store(%12) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  %13 = loop.nest @flat(%9) {space = #loop.space<d0: 512>} : !m {
  ^bb0(%d0: index):
    %14 = loop.load(%9) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%14) {map = #loop.map<(d0) -> (d0)>}
  }
  %15 = loop.extern @e0(%13) {callee = @aten.neg.default, views = [#loop.view<8x64>], args = [#loop.operand<0>], result_views = [#loop.view<8x64>]} : !m
  %16 = loop.nest @library(%15) {space = #loop.space<d0: 512>} : !m {
  ^bb0(%d0: index):
    %17 = loop.load(%15) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%17) {map = #loop.map<(d0) -> (d0)>}
  }
  %18 = loop.nest @loaded(%i, %16) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %19 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %20 = loop.load(%16, %19) {map = #loop.map<(d0)[i0] -> (i0)>} : f32
    loop.store(%20) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%18) {views = [#loop.view<4>]}
}

// CHECK-LABEL: @no_point_as_memory_is_not_written_in_order
// CHECK:         loop.nest @n1({{.*}}) {{.*}}depends = [#loop.depends<@n0 by "result 0 at (d0) of memory that is not written in order">]
loop.func @no_point_as_memory_is_not_written_in_order(%x: !loop.buffer<64xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (63 - d0)>}
  }
  %2 = loop.nest @n1(%0) {space = #loop.space<d0: 64>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%2) {views = [#loop.view<64>]}
}
