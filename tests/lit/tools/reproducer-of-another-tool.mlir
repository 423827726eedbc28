// A file that names a command of lect-run says so.
// RUN: not lect-opt --run-reproducer %s 2>&1 | filecheck %s
// configuration: --random-inputs --compare-levels -p cse

// CHECK: asks for another tool: unrecognized arguments: --random-inputs
// CHECK: hint: lect-run --run-reproducer
functional.func @f(%x: !functional.tensor<8xf32>) {
  functional.return(%x)
}
