// RUN: lect-opt %s -p loop-fuse-horizontal{min_bytes=64} --split-input-file | filecheck %s
!m = !loop.buffer<4x8xf32>

// One sweep gives both the exponentials and the row sums; the flat space of the first is refined.
// CHECK-LABEL: @reads_once_for_two_results
// CHECK-NEXT:    %[[E:.*]], %[[S:.*]] = loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 8>, fused = [#loop.fuse<horizontal @n0, @n1 saves 128>]}
// CHECK:           %[[X:.*]] = loop.load(%x)
// CHECK-NOT:       loop.load
// CHECK:         loop.return(%[[E]], %[[S]])
loop.func @reads_once_for_two_results(%x: !m) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 32>} : !m {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.exp(%1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [1]} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0, %3) {views = [#loop.view<4x8>, #loop.view<4>]}
}

// -----
!m = !loop.buffer<4x8xf32>

// CHECK-LABEL: @no_fuse_as_one_depends_on_the_other
// CHECK-COUNT-3: loop.nest
loop.func @no_fuse_as_one_depends_on_the_other(%x: !m) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%0) {map = #loop.map<(d0) -> (7 - d0)>} : f32
    loop.store(%4) {map = #loop.map<(d0) -> (d0)>}
  }
  %5 = loop.nest @n2(%x, %3) {space = #loop.space<d0: 4, d1: 8>} : !m {
  ^bb0(%d0: index, %d1: index):
    %6 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %7 = loop.load(%3) {map = #loop.map<(d0, d1) -> (d1)>} : f32
    %8 = loop.add(%6, %7) : f32
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%5) {views = [#loop.view<4x8>]}
}

// -----
!m = !loop.buffer<4x8xf32>

// Whether two reductions share a nest is decided by loop-fuse-reductions.
// CHECK-LABEL: @no_fuse_as_both_fold
// CHECK-COUNT-2: loop.nest
loop.func @no_fuse_as_both_fold(%x: !m) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [0]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  %3 = loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %5 = loop.reduce(%4) {kind = "sum", over = [1]} : f32
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0, %3) {views = [#loop.view<8>, #loop.view<4>]}
}

// -----
!m = !loop.buffer<4x8xf32>

// One reads rows, the other the same memory as columns: no element is read at one point.
// CHECK-LABEL: @no_fuse_as_they_read_different_elements
// CHECK-COUNT-2: loop.nest
loop.func @no_fuse_as_they_read_different_elements(%x: !m) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 32>} : !m {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%x) {space = #loop.space<d0: 32>} : !m {
  ^bb0(%d0: index):
    %3 = loop.load(%x) {map = #loop.map<(d0) -> (31 - d0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0, %2) {views = [#loop.view<4x8>, #loop.view<4x8>]}
}
