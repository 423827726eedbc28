// RUN: lect-opt %s -p kernel-approximate-halves | filecheck %s

// CHECK-LABEL: kernel.func @ends_in_bf16
// CHECK-SAME: approximate = "every float result is rounded to 16 bits"
kernel.func @ends_in_bf16(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxbf16>
  %w = kernel.cast(%v) : !kernel.tile<Xxf32>
  %e = kernel.exp(%w) : !kernel.tile<Xxf32>
  %r = kernel.cast(%e) : !kernel.tile<Xxbf16>
  kernel.store(%y, %r, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_where_an_f32_is_stored
// CHECK-NOT: approximate
kernel.func @not_where_an_f32_is_stored(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %e = kernel.exp(%v) : !kernel.tile<Xxf32>
  kernel.store(%y, %e, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_where_a_condition_is_stored
// CHECK-NOT: approximate
kernel.func @not_where_a_condition_is_stored(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<i1>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxbf16>
  %c = kernel.isnan(%v) : !kernel.tile<Xxi1>
  kernel.store(%y, %c, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_on_a_cpu
// CHECK-NOT: approximate
kernel.func @not_on_a_cpu(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {grid = [1], axes = #kernel.axes<X: 32 grid>, blocks = #kernel.blocks<X = 32>, vector = "X"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxbf16>
  kernel.store(%y, %v, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_where_an_f32_is_rounded_to_an_integer
// CHECK-NOT: approximate
kernel.func @not_where_an_f32_is_rounded_to_an_integer(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxbf16>
  %w = kernel.cast(%v) : !kernel.tile<Xxf32>
  %e = kernel.exp(%w) : !kernel.tile<Xxf32>
  %f = kernel.floor(%e) : !kernel.tile<Xxf32>
  %r = kernel.cast(%f) : !kernel.tile<Xxbf16>
  kernel.store(%y, %r, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @a_rounded_number_may_be_compared
// CHECK-SAME: approximate
kernel.func @a_rounded_number_may_be_compared(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {grid = [1], axes = #kernel.axes<X: 128 grid>, blocks = #kernel.blocks<X = 128>, vector = "X", target = "cuda"} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxbf16>
  %w = kernel.cast(%v) : !kernel.tile<Xxf32>
  %z = kernel.const() {value = 0.0} : f32
  %c = kernel.lt(%w, %z) : !kernel.tile<Xxi1>
  %s = kernel.select(%c, %z, %w) : !kernel.tile<Xxf32>
  %r = kernel.cast(%s) : !kernel.tile<Xxbf16>
  kernel.store(%y, %r, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// What is stored in f32 is a sum of numbers that were rounded before.
// CHECK-LABEL: kernel.func @beside_a_sum_of_rounded_numbers
// CHECK-SAME: approximate
kernel.func @beside_a_sum_of_rounded_numbers(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>, %s: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 128 whole>, blocks = #kernel.blocks<R = 128>, vector = "R", target = "cuda"} {
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxbf16>
  %w = kernel.cast(%v) : !kernel.tile<Rxf32>
  %e = kernel.exp(%w) : !kernel.tile<Rxf32>
  %r = kernel.cast(%e) : !kernel.tile<Rxbf16>
  %f = kernel.cast(%r) : !kernel.tile<Rxf32>
  %t = kernel.reduce(%f) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %r, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.store(%s, %t) {map = #loop.map<() -> (0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @not_beside_a_sum_of_exponentials
// CHECK-NOT: approximate
kernel.func @not_beside_a_sum_of_exponentials(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>, %s: !kernel.ptr<f32>) {grid = [1], axes = #kernel.axes<R: 128 whole>, blocks = #kernel.blocks<R = 128>, vector = "R", target = "cuda"} {
  %l = kernel.lanes() {axis = "R"} : !kernel.tile<Rxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Rxbf16>
  %w = kernel.cast(%v) : !kernel.tile<Rxf32>
  %e = kernel.exp(%w) : !kernel.tile<Rxf32>
  %r = kernel.cast(%e) : !kernel.tile<Rxbf16>
  %t = kernel.reduce(%e) {kind = "sum", axis = "R"} : f32
  kernel.store(%y, %r, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.store(%s, %t) {map = #loop.map<() -> (0)>}
  kernel.return()
}
