// Passes may be flags, as mlir-opt takes them, and stand between others behind `-p` in their order.
// RUN: lect-opt %s --cse --dce | filecheck %s
// RUN: lect-opt %s -p cse --dce | filecheck %s
// RUN: lect-opt %s "--pass-pipeline=builtin.module(cse,dce)" --verify-roundtrip | filecheck %s
// RUN: lect-opt %s -cse | filecheck %s --check-prefix=CSE
// RUN: lect-opt %s --loop --timing 2>&1 | filecheck %s --check-prefix=LOOP
// RUN: lect-opt %s --functional-to-loop "--loop-fuse-vertical={max_body=7 seed_bug=fusion}" --print-ir-after=loop-fuse-vertical 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not lect-opt %s --no-such-pass 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not lect-opt %s --cse=width=3 2>&1 | filecheck %s --check-prefix=WRONG

// CHECK: functional.sin
// CHECK-NEXT: functional.mul
// CHECK-NEXT: functional.return
// CSE-COUNT-1: functional.sin
// CSE: functional.exp
// LOOP: loop-fuse-vertical
// OPTION: IR after loop-fuse-vertical (2 of 2)
// NONE: unrecognized arguments: --no-such-pass
// WRONG: width
functional.func @f(%x: !functional.tensor<8xf32>) {
  %0 = functional.sin(%x) : !functional.tensor<8xf32>
  %1 = functional.sin(%x) : !functional.tensor<8xf32>
  %2 = functional.mul(%0, %1) : !functional.tensor<8xf32>
  %3 = functional.exp(%x) : !functional.tensor<8xf32>
  functional.return(%2)
}
