// RUN: lect-opt %s -p loop-fuse-reductions{min_bytes=64} --split-input-file | filecheck %s

// The sum needs the maximum of its row: one nest, the maximum stays in a register.
// CHECK-LABEL: @joins_a_sum_with_the_maximum_it_needs
// CHECK-NEXT:    loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 8>, fused = [#loop.fuse<reductions @n0, @n1 saves 32>]}
// CHECK:           %[[X:.*]] = loop.load(%x)
// CHECK-NEXT:      %[[M:.*]] = loop.reduce(%[[X]]) {kind = "max", over = [1]} : f32
// CHECK-NEXT:      %[[D:.*]] = loop.sub(%[[X]], %[[M]]) : f32
// CHECK-NEXT:      loop.reduce(%[[D]]) {kind = "sum", over = [1]} : f32
// CHECK-NOT:     loop.nest
loop.func @joins_a_sum_with_the_maximum_it_needs(%x: !loop.buffer<4x8xf32>) {
  %m = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%x, %m) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %5 = loop.load(%m) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %6 = loop.sub(%4, %5) : f32
    %7 = loop.reduce(%6) {kind = "sum", over = [1]} : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<4>]}
}

// -----
!m = !loop.buffer<4x8xf32>

// Neither needs the other: the row is read once for both.
// CHECK-LABEL: @reads_a_row_once_for_two_sums
// CHECK-NEXT:    loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 8>, fused = [#loop.fuse<reductions @n0, @n1 saves 128>]}
// CHECK:           loop.load
// CHECK-NOT:       loop.load
// CHECK-NOT:     loop.nest
loop.func @reads_a_row_once_for_two_sums(%x: !m) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %5 = loop.mul(%4, %4) : f32
    %6 = loop.reduce(%5) {kind = "sum", over = [1]} : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%0, %3) {views = [#loop.view<4>, #loop.view<4>]}
}

// -----

// @n2 needs both results, and @n1 stood between it and @n0.
// CHECK-LABEL: @offers_the_joint_nest_to_what_reads_both
// CHECK:         loop.nest @n2(%x) {{.*}}fused = [#loop.fuse<reductions @n0, @n1 saves 16>, #loop.fuse<reductions @n1, @n2 saves {{[0-9]+}}>]
// CHECK-NOT:     loop.nest
loop.func @offers_the_joint_nest_to_what_reads_both(%x: !loop.buffer<4x8xf32>) {
  %m = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%x, %m) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %5 = loop.load(%m) {map = #loop.map<(d0, d1) -> (d0)>} : f32
    %6 = loop.sub(%4, %5) : f32
    %7 = loop.reduce(%6) {kind = "sum", over = [1]} : f32
    loop.store(%7) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %8 = loop.nest @n2(%m, %3) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %9 = loop.load(%m) {map = #loop.map<(d0) -> (d0)>} : f32
    %10 = loop.load(%3) {map = #loop.map<(d0) -> (d0)>} : f32
    %11 = loop.add(%9, %10) : f32
    loop.store(%11) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%8) {views = [#loop.view<4>]}
}

// -----

// CHECK-LABEL: @no_fuse_as_they_fold_different_dims
// CHECK-COUNT-2: loop.nest
// CHECK:         blocked = [#loop.blocked<@n0 by "%h: reduces over [d1] and over [d0]">]
loop.func @no_fuse_as_they_fold_different_dims(%x: !loop.buffer<4x8xf32>) {
  %h = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "max", over = [1]} : f32
    %3 = loop.sub(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %4 = loop.nest @n1(%h) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index, %d1: index):
    %5 = loop.load(%h) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %6 = loop.reduce(%5) {kind = "sum", over = [0]} : f32
    loop.store(%6) {map = #loop.map<(d0, d1) -> (d1)>}
  }
  loop.return(%4) {views = [#loop.view<8>]}
}

// -----

// A reduction and its reader that does not fold are the business of loop-fuse-vertical.
// CHECK-LABEL: @no_fuse_as_only_one_folds
// CHECK-COUNT-2: loop.nest
loop.func @no_fuse_as_only_one_folds(%x: !loop.buffer<4x8xf32>) {
  %s = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%s) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%s) {map = #loop.map<(d0) -> (d0)>} : f32
    %5 = loop.neg(%4) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<4>]}
}

// -----

// Sums of rows, and a product by the tiles of a GPU that reads them beside its first factor: its kernel folds nothing else.
// CHECK-LABEL: @no_fuse_as_the_product_is_by_tiles
// CHECK-COUNT-2: loop.nest
// CHECK-SAME: blocked = [#loop.blocked<@n0 by "%s: a product by tiles folds nothing else">]
loop.func @no_fuse_as_the_product_is_by_tiles(%x: !loop.buffer<64x128xbf16>, %w: !loop.buffer<128x32xbf16>) {
  %s = loop.nest @n0(%x) {space = #loop.space<d0: 64, d1: 128>} : !loop.buffer<64xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 128 + d1)>} : bf16
    %1 = loop.cast(%0) : f32
    %2 = loop.reduce(%1) {kind = "sum", over = [1]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  %3 = loop.nest @n1(%x, %s, %w) {space = #loop.space<d0: 64, d1: 32, d2: 128>, chosen = "own tiles: by hand"} : !loop.buffer<64x32xbf16> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %4 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 128 + d2)>} : bf16
    %5 = loop.cast(%4) : f32
    %6 = loop.load(%s) {map = #loop.map<(d0, d1, d2) -> (d0)>} : f32
    %7 = loop.sub(%5, %6) : f32
    %8 = loop.load(%w) {map = #loop.map<(d0, d1, d2) -> (d2 * 32 + d1)>} : bf16
    %9 = loop.cast(%8) : f32
    %10 = loop.mul(%7, %9) : f32
    %11 = loop.reduce(%10) {kind = "sum", over = [2], contract = true} : f32
    %12 = loop.cast(%11) : bf16
    loop.store(%12) {map = #loop.map<(d0, d1, d2) -> (d0 * 32 + d1)>}
  }
  loop.return(%3) {views = [#loop.view<64x32>]}
}
