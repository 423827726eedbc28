// RUN: lect-opt %s -o %t && filecheck %s --input-file %t
// RUN: cat %s | lect-opt | filecheck %s
// RUN: cat %s | lect-opt - | filecheck %s
// RUN: lect-opt -p cse -p dce %s | filecheck %s
// RUN: lect-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

// CHECK: fx.graph @f(%x: !fx.tensor<2xf32>) {
// CHECK-NEXT: fx.return(%x)
// GENERIC: "fx.graph"() ({
fx.graph @f(%x: !fx.tensor<2xf32>) {
  fx.return(%x)
}

// RUN: not lect-opt %t-nowhere 2>&1 | filecheck %s --check-prefix MISSING
// MISSING: lect-opt: error: cannot read '{{.*}}nowhere': No such file or directory

// RUN: not lect-opt %s -o %t-nowhere/x.mlir 2>&1 | filecheck %s --check-prefix UNWRITABLE
// UNWRITABLE: lect-opt: error: cannot write '{{.*}}x.mlir': No such file or directory

// RUN: not lect-opt %S/Inputs/not-utf8.txt 2>&1 | filecheck %s --check-prefix NOT-UTF8
// NOT-UTF8: lect-opt: error: '{{.*}}not-utf8.txt' is not UTF-8 text: byte 3: invalid start byte
