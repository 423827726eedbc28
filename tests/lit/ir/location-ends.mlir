// RUN: lect-opt %s --print-locations | filecheck %s
// RUN: lect-opt %s --print-op-generic --print-locations | lect-opt --print-locations | filecheck %s
// RUN: lect-opt %s | filecheck %s --check-prefix=HIDDEN

// A location may say where the piece of source ends; only then are its columns those of a traceback.
// HIDDEN-NOT: loc(
// CHECK: pyframe.func @f
pyframe.func @f() {code_name = "f"} {
  // CHECK-NEXT: loc("m.py":3:4 to 3:9)
  %0 = pyframe.load_const() {value = 1} : !pyframe.object loc("m.py":3:4 to 3:9)
  // CHECK-NEXT: loc("Net.f"("m.py":4:0 to 6:1))
  %1 = pyframe.load_const() {value = 2} : !pyframe.object loc("Net.f"("m.py":4:0 to 6:1))
  // CHECK-NEXT: loc("m.py":7:0)
  %2 = pyframe.load_const() {value = 3} : !pyframe.object loc("m.py":7:0)
  // CHECK-NEXT: loc(unknown)
  pyframe.return(%0) loc(unknown)
}
