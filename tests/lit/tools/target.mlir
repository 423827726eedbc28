// RUN: lect-opt %s -p kernel-choose-tiles --target vector_bytes=64,threads=4 | filecheck %s --check-prefix WIDE
// RUN: lect-opt %s -p kernel-choose-tiles --target vector_bytes=16 | filecheck %s --check-prefix NARROW
// RUN: not lect-opt %s -p kernel-choose-tiles --target vector_bytes 2>&1 | filecheck %s --check-prefix WRONG

// Passes decide for the machine that the flag describes.

// WRONG: lect-opt: error: --target takes KEY=VALUE,... or one of cuda:sm_80, cuda:sm_90, got 'vector_bytes'

// WIDE: tiles = #kernel.tiles<"flat", X: d0 by 64 grid, vector X>
// NARROW: tiles = #kernel.tiles<"flat", X: d0 by 16 grid, vector X>
loop.func @f(%x: !loop.buffer<4096xf32>) {
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 4096>} : !loop.buffer<4096xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<4096>]}
}
