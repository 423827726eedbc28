// RUN: lect-run %s --function good --random-inputs | filecheck %s --check-prefix=GOOD
// RUN: not lect-run %s --function many_programs --random-inputs 2>&1 | filecheck %s --check-prefix=GRID
// RUN: not lect-run %s --function few_buffers --random-inputs 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not lect-run %s --function other_elements --random-inputs 2>&1 | filecheck %s --check-prefix=ELEMENT
// RUN: not lect-run %s --function no_kernel --random-inputs 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not lect-run %s --function store_beyond --random-inputs 2>&1 | filecheck %s --check-prefix=STORE
// RUN: not lect-run %s --function scratch_beyond --random-inputs 2>&1 | filecheck %s --check-prefix=SCRATCH

// A launch that does not fit its kernel, or an access beyond its memory, is an error before anything runs.

// GOOD: output 0: (64,) float32
// GRID: wrong-launches.mlir:39:3: error: the kernel @twice is a grid of 4 programs, got 6400
// COUNT: error: the kernel @twice takes 2 buffers, got 1
// ELEMENT: error: buffer 1 of the kernel @twice holds f32, got f64
// NAME: error: the module has no kernel @thrice
// STORE: error: the map reaches from 2 to 63000002, the buffer has 64 elements
// SCRATCH: error: the lanes reach index 63, the scratch has 3 elements
kernel.func @twice(%x: !kernel.ptr<f32>, %out: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X"} {
  %0 = kernel.program_id() : index
  %1 = kernel.lanes(%0) {axis = "X"} : !kernel.tile<Xxindex>
  %2 = kernel.load(%x, %1) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %3 = kernel.add(%2, %2) : !kernel.tile<Xxf32>
  kernel.store(%out, %3, %1) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

host.func @good(%x: !host.tensor<64xf32>) {
  %0 = host.empty() : !host.tensor<64xf32>
  %1 = host.memory(%x) : !host.buffer<64xf32>
  %2 = host.memory(%0) : !host.buffer<64xf32>
  host.launch(%1, %2) {kernel = @twice, grid = 4}
  host.return(%0)
}

host.func @many_programs(%x: !host.tensor<64xf32>) {
  %0 = host.empty() : !host.tensor<64xf32>
  %1 = host.memory(%x) : !host.buffer<64xf32>
  %2 = host.memory(%0) : !host.buffer<64xf32>
  host.launch(%1, %2) {kernel = @twice, grid = 6400}
  host.return(%0)
}

host.func @few_buffers(%x: !host.tensor<64xf32>) {
  %1 = host.memory(%x) : !host.buffer<64xf32>
  host.launch(%1) {kernel = @twice, grid = 4}
  host.return(%x)
}

host.func @other_elements(%x: !host.tensor<64xf32>) {
  %0 = host.empty() : !host.tensor<64xf64>
  %1 = host.memory(%x) : !host.buffer<64xf32>
  %2 = host.memory(%0) : !host.buffer<64xf64>
  host.launch(%1, %2) {kernel = @twice, grid = 4}
  host.return(%0)
}

host.func @no_kernel(%x: !host.tensor<64xf32>) {
  %1 = host.memory(%x) : !host.buffer<64xf32>
  host.launch(%1) {kernel = @thrice, grid = 4}
  host.return(%x)
}

kernel.func @beyond(%x: !kernel.ptr<f32>, %out: !kernel.ptr<f32>) {grid = [4], axes = #kernel.axes<X: 64 grid>, blocks = #kernel.blocks<X = 16>, vector = "X"} {
  %0 = kernel.program_id() : index
  %1 = kernel.lanes(%0) {axis = "X"} : !kernel.tile<Xxindex>
  %2 = kernel.load(%x, %1) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  kernel.store(%out, %2, %1) {map = #loop.map<(d0) -> (d0 * 1000000 + 2)>}
  kernel.return()
}

kernel.func @short_scratch(%x: !kernel.ptr<f32>, %out: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 64 loop>, blocks = #kernel.blocks<X = 16>, vector = "X"} {
  %0 = kernel.scratch() : !kernel.scratch<3xf32>
  kernel.for() {axis = "X"} {
  ^bb0(%1: index):
    %2 = kernel.lanes(%1) {axis = "X"} : !kernel.tile<Xxindex>
    %3 = kernel.load(%x, %2) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
    kernel.scratch_store(%0, %3, %2)
    kernel.yield()
  }
  kernel.return()
}

host.func @store_beyond(%x: !host.tensor<64xf32>) {
  %0 = host.empty() : !host.tensor<64xf32>
  %1 = host.memory(%x) : !host.buffer<64xf32>
  %2 = host.memory(%0) : !host.buffer<64xf32>
  host.launch(%1, %2) {kernel = @beyond, grid = 4}
  host.return(%0)
}

host.func @scratch_beyond(%x: !host.tensor<64xf32>) {
  %0 = host.empty() : !host.tensor<64xf32>
  %1 = host.memory(%x) : !host.buffer<64xf32>
  %2 = host.memory(%0) : !host.buffer<64xf32>
  host.launch(%1, %2) {kernel = @short_scratch, grid = 1}
  host.return(%0)
}
