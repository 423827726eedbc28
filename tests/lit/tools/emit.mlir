// RUN: lect-opt %s --emit=python | filecheck %s --check-prefix=PYTHON
// RUN: lect-opt %s --emit=llvm | filecheck %s --check-prefix=LLVM
// RUN: lect-opt %s -p 'dce, emit-python' | filecheck %s --check-prefix=PYTHON
// RUN: not lect-opt %s -p 'dce,emit-fortran' 2>&1 | filecheck %s --check-prefix=NO-PASS
// RUN: not lect-opt %s -p dce --emit=fortran 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: echo "" | not lect-opt --emit=python 2>&1 | filecheck %s --check-prefix=NOTHING

// UNKNOWN: argument --emit: invalid choice: 'fortran' (choose from 'python', 'native', 'llvm', 'torch', 'triton')
// NO-PASS: error: there is no pass 'emit-fortran'
// NOTHING: error: --emit=python prints 'host.func', and the module has none

// LLVM-LABEL: ; @nothing
// LLVM: define void @nothing(ptr %args, i64 %lo, i64 %hi)
kernel.func @nothing(%x: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  kernel.return()
}

// PYTHON-LABEL: # @f
// PYTHON-NEXT: def f(x):
// PYTHON-NEXT: launch(kernel_nothing, pointers1(x.data_ptr()), 1, 1)
// PYTHON-NEXT: return [x]
host.func @f(%x: !host.tensor<4xf32>) {
  %m = host.memory(%x) : !host.buffer<4xf32>
  host.launch(%m) {kernel = @nothing, grid = 1}
  host.return(%x)
}
