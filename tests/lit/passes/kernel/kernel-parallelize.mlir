// RUN: lect-opt %s -p kernel-parallelize | filecheck %s
// RUN: lect-opt %s -p 'kernel-parallelize{work=3200}' | filecheck %s --check-prefix=LESS

// Two accesses to memory of 8 operations each and a negation, of 32 elements: 544 operations a program, and 500,000 are worth a thread.
kernel.func @light(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4096], axes = #kernel.axes<X: 131072 grid>, blocks = #kernel.blocks<X = 32>, vector = "X"} {
  %0 = kernel.program_id() : index
  %1 = kernel.lanes(%0) {axis = "X"} : !kernel.tile<Xxindex>
  %2 = kernel.load(%x, %1) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %3 = kernel.neg(%2) : !kernel.tile<Xxf32>
  kernel.store(%y, %3, %1) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A heavy operation counts for ten: 832 operations.
kernel.func @heavy(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [4096], axes = #kernel.axes<X: 131072 grid>, blocks = #kernel.blocks<X = 32>, vector = "X"} {
  %0 = kernel.program_id() : index
  %1 = kernel.lanes(%0) {axis = "X"} : !kernel.tile<Xxindex>
  %2 = kernel.load(%x, %1) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %3 = kernel.exp(%2) : !kernel.tile<Xxf32>
  kernel.store(%y, %3, %1) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// A loop counts once for each step, of a row whose length is known at run time those of the captured call: 100 x 8 x 9 operations, 8 + 8 behind it.
kernel.func @row(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %s0: index) {grid = [2048], axes = #kernel.axes<Y: 2048 grid, R: s0 loop>, blocks = #kernel.blocks<Y = 1, R = 8>, vector = "R", symbols = {s0 = {hint = 800, divisor = 8}}} {
  %0 = kernel.program_id() : index
  %1 = kernel.const() {value = 0.0} : !kernel.tile<1xRxf32>
  %2 = kernel.for(%1) {axis = "R"} : !kernel.tile<1xRxf32> {
  ^bb0(%r: index, %carried: !kernel.tile<1xRxf32>):
    %3 = kernel.lanes(%r) {axis = "R"} : !kernel.tile<1xRxindex>
    %4 = kernel.load(%x, %0, %3) {map = #loop.map<(d0, d1) -> (d0 * s0 + d1)>} : !kernel.tile<1xRxf32>
    %5 = kernel.add(%carried, %4) : !kernel.tile<1xRxf32>
    kernel.yield(%5)
  }
  %6 = kernel.reduce(%2) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %6, %0) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: host.func @launches
// LESS-LABEL:  host.func @launches
host.func @launches(%x: !host.tensor<131072xf32>, %y: !host.tensor<131072xf32>) {
  %a = host.memory(%x) : !host.buffer<131072xf32>
  %b = host.memory(%y) : !host.buffer<131072xf32>
  // CHECK: {kernel = @light, grid = 4096, grain = 920}
  // LESS:  {kernel = @light, grid = 4096, grain = 6}
  host.launch(%a, %b) {kernel = @light, grid = 4096}
  // CHECK: {kernel = @heavy, grid = 4096, grain = 601}
  // LESS:  {kernel = @heavy, grid = 4096, grain = 4}
  host.launch(%a, %b) {kernel = @heavy, grid = 4096}
  host.return()
}

// CHECK-LABEL: host.func @rows_of_a_size_of_run_time
// LESS-LABEL:  host.func @rows_of_a_size_of_run_time
host.func @rows_of_a_size_of_run_time(%x: !host.tensor<2048xs0xf32>, %y: !host.tensor<2048xf32>) {
  %s0 = host.size(%x) {dim = 1, symbol = 0} : index
  %a = host.memory(%x) : !host.buffer<(s0 * 2048)xf32>
  %b = host.memory(%y) : !host.buffer<2048xf32>
  // CHECK: {kernel = @row, grid = 2048, sizes = [#lect.size<s0>], grain = 70}
  // LESS:  {kernel = @row, grid = 2048, sizes = [#lect.size<s0>]}
  host.launch(%a, %b) {kernel = @row, grid = 2048, sizes = [#lect.size<s0>]}
  host.return()
}

// Programs on a GPU are shared out by the device.
kernel.func @elsewhere(%x: !kernel.ptr<f32>) {grid = [128], axes = #kernel.axes<X: 131072 grid>, blocks = #kernel.blocks<X = 1024>, vector = "X", target = "cuda", warps = 4} {
  %0 = kernel.program_id() : index
  %1 = kernel.lanes(%0) {axis = "X"} : !kernel.tile<Xxindex>
  %2 = kernel.const() {value = 0.0} : f32
  kernel.store(%x, %2, %1) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: host.func @no_grain_on_a_device
host.func @no_grain_on_a_device(%x: !host.tensor<131072xf32, "cuda">) {
  %a = host.memory(%x) : !host.buffer<131072xf32, "cuda">
  // CHECK: {kernel = @elsewhere, grid = 128, target = "cuda"}
  host.launch(%a) {kernel = @elsewhere, grid = 128, target = "cuda"}
  host.return()
}

// CHECK-LABEL: host.func @no_grain_for_a_kernel_that_is_elsewhere
host.func @no_grain_for_a_kernel_that_is_elsewhere(%x: !host.tensor<8xf32>) {
  %a = host.memory(%x) : !host.buffer<8xf32>
  // CHECK: {kernel = @another_module, grid = 8, grain = 4}
  host.launch(%a) {kernel = @another_module, grid = 8, grain = 4}
  host.return()
}
