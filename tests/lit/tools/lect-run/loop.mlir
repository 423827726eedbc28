// RUN: lect-run %s --random-inputs | filecheck %s
// RUN: lect-run %s --random-inputs --reference | filecheck %s
// RUN: lect-run %s --random-inputs --seed 1 | filecheck %s --check-prefix=OTHER
// RUN: lect-run %s --random-inputs -p kernel --print-host | filecheck %s --check-prefix=HOST
// RUN: lect-run %s --random-inputs --special --compare-levels --reference | filecheck %s --check-prefix=LEVELS
// RUN: lect-run %s --random-inputs --special --compare-levels | filecheck %s --check-prefix=LEVELS
// RUN: lect-run %s --random-inputs --outputs %t.safetensors | filecheck %s
// RUN: sed 's/value = 2.0/value = 3.0/' %s > %t.edited.mlir
// RUN: not lect-run %t.edited.mlir --random-inputs --compare %s | filecheck %s --check-prefix=EDITED
// RUN: lect-run %s --random-inputs --compare %s | filecheck %s --check-prefix=SAME

// An edit of the text shows in the numbers, native and interpreted alike.
// CHECK: output 0: (4, 8) float32 strides (8, 1) [{{.*}}, ...] sum [[SUM:.*]]
// OTHER: output 0: (4, 8) float32
// HOST: def twice(x):
// HOST-NEXT: = empty((4, 8), dtype=f32)
// HOST-NEXT: launch(kernel_n0,
// LEVELS: as given loop.func 1 outputs
// LEVELS: after loop-to-kernel host.func equal
// EDITED: compared with {{.*}}loop.mlir: output 0: values differ by up to
// SAME: loop.mlir: equal
loop.func @twice(%x: !loop.buffer<4x8xf32>) {
  %b = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    %1 = loop.const() {value = 2.0} : f32
    %2 = loop.mul(%0, %1) : f32
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%b) {views = [#loop.view<4x8>]}
}
