// RUN: lect-opt %s --emit llvm --split-input-file | filecheck %s

// A special function is called out of line and written once for each number of lanes; one of f32 computes in f64.
// CHECK-LABEL: define void @tails
// CHECK: call <8 x float> @lect.erfinv.f32x8(<8 x float> %{{.*}})
// CHECK: call <8 x float> @lect.erfinv.f32x8(<8 x float> %{{.*}})
// CHECK-LABEL: define internal <8 x float> @lect.erfinv.f32x8(<8 x float> %x0) noinline
// CHECK: fpext <8 x float> %x0 to <8 x double>
// CHECK: call <8 x double> @lect.log.f64x8
// CHECK: br i1
// CHECK: fptrunc <8 x double> %{{.*}} to <8 x float>
// CHECK-NOT: define internal <8 x float> @lect.erfinv
// CHECK-LABEL: define internal <8 x double> @lect.log.f64x8
kernel.func @tails(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [2], axes = #kernel.axes<X: 16 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %c) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %a = kernel.erfinv(%v) : !kernel.tile<Xxf32>
  %b = kernel.erfinv(%a) : !kernel.tile<Xxf32>
  kernel.store(%y, %b, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// -----

// Each lane of a loop goes on for itself: the loop ends when none does, and those that are done keep their values. Narrow integers are widened.
// CHECK-LABEL: define void @divisors
// CHECK: sext <8 x i16> %{{.*}} to <8 x i64>
// CHECK: call <8 x i64> @lect.gcd.i64x8
// CHECK: trunc <8 x i64> %{{.*}} to <8 x i16>
// CHECK-LABEL: define internal <8 x i64> @lect.gcd.i64x8
// CHECK: [[HEAD:head.*]]:
// CHECK: phi <8 x i64>
// CHECK: call i1 @llvm.vector.reduce.or.v8i1
// CHECK: srem <8 x i64>
// CHECK: select <8 x i1>
// CHECK: br label %[[HEAD]]
kernel.func @divisors(%x: !kernel.ptr<i16>, %y: !kernel.ptr<i16>) {grid = [2], axes = #kernel.axes<X: 16 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %c) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi16>
  %w = kernel.load(%y, %c) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi16>
  %a = kernel.gcd(%v, %w) : !kernel.tile<Xxi16>
  kernel.store(%y, %a, %c) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
