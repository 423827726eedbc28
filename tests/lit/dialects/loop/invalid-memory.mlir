// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'peak_bytes' is a number of bytes, got -1}}
loop.func @negative_peak() {peak_bytes = -1} {
  loop.return()
}

// -----

// expected-error @+1 {{'slot_bytes' are sizes in bytes, got -64}}
loop.func @negative_slot() {slot_bytes = [-64]} {
  loop.return()
}

// -----

loop.func @slot_that_is_not_there(%x: !loop.buffer<4xf32>) {slot_bytes = [16]} {
  // expected-error @+1 {{there is no slot 1, 'slot_bytes' has 1}}
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>, slots = [1]} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return()
}

// -----

loop.func @slot_too_small(%x: !loop.buffer<4xf32>) {slot_bytes = [12]} {
  // expected-error @+1 {{slot 0 has 12 bytes, a result in it needs 16}}
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>, slots = [0]} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return()
}

// -----

loop.func @space_shorter_than_the_result(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 3, d1: 8>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{the map leaves elements of the 32 unwritten that 'loop.return' reads}}
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}

// -----

loop.func @rows_shorter_than_those_that_a_nest_reads(%x: !loop.buffer<4x8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 7>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index, %d1: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>} : f32
    // expected-error @+1 {{the map leaves elements of the 32 unwritten that 'loop.load' reads}}
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1)>}
  }
  %2 = loop.nest @n1(%0) {space = #loop.space<d0: 32>} : !loop.buffer<32xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%2) {views = [#loop.view<32>]}
}

// -----

loop.func @too_few_points_of_a_map_that_divides(%x: !loop.buffer<32xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 24>} : !loop.buffer<4x8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    // expected-error @+1 {{24 points write a buffer of 32 elements}}
    loop.store(%1) {map = #loop.map<(d0) -> ((d0 + 1) mod 8 + d0 floordiv 8 * 8)>}
  }
  loop.return(%0) {views = [#loop.view<4x8>]}
}
