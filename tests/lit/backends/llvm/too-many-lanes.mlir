// RUN: not lect-opt %s --emit=llvm 2>&1 | filecheck %s

// A block size that a hand has set too high is an error, not an hour of compiling.
// CHECK: error: a tile of 1048576 lanes is more than the 8192 that CPU code is made of
kernel.func @wide(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 1048576 grid>, blocks = #kernel.blocks<R = 1048576>, vector = "R"} {
  %0 = kernel.program_id() : index
  %1 = kernel.lanes(%0) {axis = "R"} : !kernel.tile<Rxindex>
  %2 = kernel.load(%x, %1) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxf32>
  kernel.store(%y, %2, %1) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
