// RUN: lect-opt %s --split-input-file --verify-diagnostics

loop.func @update_of_no_result(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%i, %0) {space = #loop.space<d0: 9>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.const() {value = 1.0} : f32
    // expected-error @+1 {{the nest has 1 results, there is no number 1}}
    loop.update(%4, %0, %3;) {kind = "sum", order = [0], to = 1, map = #loop.map<(d0)[i0] -> (i0)>}
  }
  loop.return(%2) {views = [#loop.view<4>]}
}

// -----

loop.func @update_in_an_order_of_no_dims(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%i, %0) {space = #loop.space<d0: 9>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.const() {value = 1.0} : f32
    // expected-error @+1 {{'order' lists dims of the space, each once; the space has 1, got [1]}}
    loop.update(%4, %0, %3;) {kind = "sum", order = [1], map = #loop.map<(d0)[i0] -> (i0)>}
  }
  loop.return(%2) {views = [#loop.view<4>]}
}

// -----

loop.func @update_by_another_type(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%i, %0) {space = #loop.space<d0: 9>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.const() {value = 1.0} : f32
    // expected-error @+1 {{result 0 takes f32, got i64}}
    loop.update(%3, %0, %3;) {kind = "sum", order = [0], map = #loop.map<(d0)[i0] -> (i0)>}
  }
  loop.return(%2) {views = [#loop.view<4>]}
}

// -----

loop.func @update_of_another_size(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%i, %0) {space = #loop.space<d0: 9>} : !loop.buffer<5xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.const() {value = 1.0} : f32
    // expected-error @+1 {{result 0 of type !loop.buffer<5xf32> cannot begin with !loop.buffer<4xf32>}}
    loop.update(%4, %0, %3;) {kind = "sum", order = [0], map = #loop.map<(d0)[i0] -> (i0)>}
  }
  loop.return(%2) {views = [#loop.view<5>]}
}

// -----

loop.func @update_out_of_bounds(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%i, %0) {space = #loop.space<d0: 9>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.const() {value = 1.0} : f32
    // expected-error @+1 {{the map reaches from 0 to 8, the buffer has 4 elements}}
    loop.update(%4, %0;) {kind = "set", order = [], map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%2) {views = [#loop.view<4>]}
}

// -----

loop.func @update_of_a_parameter(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>) {
  %2 = loop.nest @n1(%i, %x) {space = #loop.space<d0: 9>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.const() {value = 1.0} : f32
    // expected-error @+1 {{a result begins with the result of a nest, whose memory it takes over}}
    loop.update(%4, %x, %3;) {kind = "sum", order = [0], map = #loop.map<(d0)[i0] -> (i0)>}
  }
  loop.return(%2) {views = [#loop.view<4>]}
}

// -----

loop.func @update_of_what_is_read(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%i, %0) {space = #loop.space<d0: 9>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.const() {value = 1.0} : f32
    // expected-error @+1 {{the result takes over the memory of a buffer that something else reads}}
    loop.update(%4, %0, %3;) {kind = "sum", order = [0], map = #loop.map<(d0)[i0] -> (i0)>}
  }
  loop.return(%2, %0) {views = [#loop.view<4>, #loop.view<4>]}
}

// -----

loop.func @update_of_what_is_no_input(%x: !loop.buffer<4xf32>, %i: !loop.buffer<9xi64>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 4>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %2 = loop.nest @n1(%i) {space = #loop.space<d0: 9>} : !loop.buffer<4xf32> {
  ^bb0(%d0: index):
    %3 = loop.load(%i) {map = #loop.map<(d0) -> (d0)>} : i64
    %4 = loop.const() {value = 1.0} : f32
    // expected-error @+1 {{what the result begins with is no input of its nest}}
    loop.update(%4, %0, %3;) {kind = "sum", order = [0], map = #loop.map<(d0)[i0] -> (i0)>}
  }
  loop.return(%2) {views = [#loop.view<4>]}
}
