// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{the role of an axis is grid, loop, whole, not 'row'}}
kernel.func @role() {grid = [1], axes = #kernel.axes<Y: 4 row>, blocks = #kernel.blocks<Y = 4>} {
  kernel.return()
}

// -----

// expected-error @+1 {{an axis is named twice}}
kernel.func @twice() {grid = [1], axes = #kernel.axes<Y: 4 grid, Y: 4 loop>, blocks = #kernel.blocks<Y = 4>} {
  kernel.return()
}

// -----

// expected-error @+1 {{axis Y has a negative extent}}
kernel.func @negative() {grid = [1], axes = #kernel.axes<Y: -4 grid>, blocks = #kernel.blocks<Y = 4>} {
  kernel.return()
}

// -----

// expected-error @+1 {{the block of axis Y must be a power of two, got 3}}
kernel.func @block() {grid = [1], axes = #kernel.axes<Y: 4 grid>, blocks = #kernel.blocks<Y = 3>} {
  kernel.return()
}

// -----

// expected-error @+1 {{expected the name of an axis, a capital letter as in R, found "rows: 4 grid"}}
kernel.func @name() {grid = [1], axes = #kernel.axes<rows: 4 grid>, blocks = #kernel.blocks<>} {
  kernel.return()
}

// -----

// expected-error @+1 {{a tile must vary over an axis; write its element type instead}}
kernel.func @tile(%x: !kernel.tile<1x1xf32>) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  kernel.return()
}

// -----

// expected-error @+1 {{expected an element type before the end, 'float' is none, found the end}}
kernel.func @element(%x: !kernel.ptr<float>) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  kernel.return()
}

// -----

// expected-error @+1 {{axes and element type are missing}}
kernel.func @nothing(%x: !kernel.tile) {grid = [1], axes = #kernel.axes<>, blocks = #kernel.blocks<>} {
  kernel.return()
}

// -----

// expected-error @+1 {{'vector' names no axis: X}}
builtin.module {kernel.tiles = #kernel.tiles<"row", R: d1 by 32 loop, vector X>} {
}

// -----

// expected-error @+1 {{an axis or a dim is named twice}}
builtin.module {kernel.tiles = #kernel.tiles<"row", R: d1 by 32 loop, X: d1 by 4 grid>} {
}
