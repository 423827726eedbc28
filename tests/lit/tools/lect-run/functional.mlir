// RUN: lect-run %s --function rows --random-inputs --compare-levels | filecheck %s --check-prefix=LEVELS
// RUN: not lect-run %s --random-inputs 2>&1 | filecheck %s --check-prefix=SEVERAL
// RUN: not lect-run %s --function columns --random-inputs 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: lect-run %s --function rows --random-inputs --outputs %t.1.safetensors
// RUN: lect-run %s --function again --inputs %t.1.safetensors | filecheck %s --check-prefix=STORED
// RUN: not lect-run %s --function integers --inputs %t.1.safetensors 2>&1 | filecheck %s --check-prefix=DTYPE
// RUN: not lect-run %s --function rows --inputs %s 2>&1 | filecheck %s --check-prefix=FORMAT
// RUN: not lect-run %s --function rows --inputs %t.none 2>&1 | filecheck %s --check-prefix=FILE

// SEVERAL: error: several programs at one level; it has functional.func @rows, functional.func @again, functional.func @integers
// MISSING: error: the module has no program @columns
// STORED: output 0: (4, 8) float32 strides (8, 1)
// DTYPE: error: tensor 'i' is (4, 8) torch.float32, the program takes (4, 8) torch.int64
// FORMAT: functional.mlir is no safetensors file
// FILE: No such file

// LEVELS: as given functional.func 1 outputs
// LEVELS: after functional-to-loop loop.func equal
// LEVELS: after loop-to-kernel host.func equal
functional.func @rows(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.softmax(%x) {dim = 1} : !functional.tensor<4x8xf32>
  functional.return(%0)
}

functional.func @again(%first: !functional.tensor<4x8xf32>) {
  %1 = functional.exp(%first) : !functional.tensor<4x8xf32>
  functional.return(%1)
}

functional.func @integers(%i: !functional.tensor<4x8xi64>) {
  functional.return(%i)
}
