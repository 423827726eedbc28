// RUN: lect-opt %s --emit llvm | filecheck %s

// Sixteen lanes take their words from four blocks, which are dealt out.
// CHECK-LABEL: define void @shared
// CHECK: %[[B:.*]] = lshr i64 %{{.*}}, 2
// CHECK: %[[N:.*]] = add <4 x i64> %{{.*}}, <i64 0, i64 1, i64 2, i64 3>
// CHECK: %[[F:.*]] = call <4 x i64> @lect.philox_first.i64x4(<4 x i64> %{{.*}}, <4 x i64> %{{.*}}, <4 x i64> %[[N]])
// CHECK: %[[S:.*]] = call <4 x i64> @lect.philox_second.i64x4(
// CHECK: %[[P:.*]] = shufflevector <4 x i64> %[[F]], <4 x i64> %[[S]], <8 x i32> <i32 0, i32 4, i32 1, i32 5, i32 2, i32 6, i32 3, i32 7>
// CHECK: %[[W:.*]] = bitcast <8 x i64> %[[P]] to <16 x i32>
// CHECK: zext <16 x i32> %[[W]] to <16 x i64>
kernel.func @shared(%key: !kernel.ptr<i64>, %x: !kernel.ptr<i64>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %k = kernel.load(%key) {map = #loop.map<() -> (0)>} : i64
  %i = kernel.index(%c) {map = #loop.map<(d0) -> (d0 + 8)>} : !kernel.tile<Xxindex>
  %n = kernel.cast(%i) : !kernel.tile<Xxi64>
  %w = kernel.philox32(%k, %k, %n) : !kernel.tile<Xxi64>
  kernel.store(%x, %w, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A block is two words of 64 bits.
// CHECK-LABEL: define void @shared_by_two
// CHECK: call <8 x i64> @lect.philox_first.i64x8
// CHECK: call <8 x i64> @lect.philox_second.i64x8
kernel.func @shared_by_two(%key: !kernel.ptr<i64>, %x: !kernel.ptr<i64>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %k = kernel.load(%key) {map = #loop.map<() -> (0)>} : i64
  %i = kernel.index(%c) {map = #loop.map<(d0) -> (d0 + 6)>} : !kernel.tile<Xxindex>
  %n = kernel.cast(%i) : !kernel.tile<Xxi64>
  %w = kernel.philox64(%k, %k, %n) : !kernel.tile<Xxi64>
  kernel.store(%x, %w, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: define void @no_shared_blocks_as_the_first_lane_begins_none
// CHECK: call <16 x i64> @lect.philox32.i64x16
kernel.func @no_shared_blocks_as_the_first_lane_begins_none(%key: !kernel.ptr<i64>, %x: !kernel.ptr<i64>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %k = kernel.load(%key) {map = #loop.map<() -> (0)>} : i64
  %i = kernel.index(%c) {map = #loop.map<(d0) -> (d0 + 2)>} : !kernel.tile<Xxindex>
  %n = kernel.cast(%i) : !kernel.tile<Xxi64>
  %w = kernel.philox32(%k, %k, %n) : !kernel.tile<Xxi64>
  kernel.store(%x, %w, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
