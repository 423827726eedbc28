// RUN: lect-opt %s -p kernel-quick-erf | filecheck %s

// CHECK-LABEL: kernel.func @one_more_than_an_error_function
// CHECK-NOT:     kernel.erf
// CHECK:         %[[T:.*]] = kernel.div(%{{.*}}, %{{.*}}) {quick =
// CHECK-COUNT-4: kernel.fma
// CHECK:         %[[E:.*]] = kernel.exp(%{{.*}}) {quick =
// CHECK:         %[[P:.*]] = kernel.mul(%{{.*}}, %[[E]])
// CHECK:         %[[N:.*]] = kernel.lt(%[[U:.*]], %{{.*}})
// CHECK:         %[[R:.*]] = kernel.sub(%{{.*}}, %[[P]])
// CHECK:         kernel.select(%[[N]], %[[P]], %[[R]])
kernel.func @one_more_than_an_error_function(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {grid = [8], axes = #kernel.axes<X: 64 whole>, blocks = #kernel.blocks<X = 64>, vector = "X", target = "cuda", approximate = "by hand"} {
  %l = kernel.lanes() {axis = "X"} : !kernel.tile<Xxindex>
  %v = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxbf16>
  %u = kernel.cast(%v) : !kernel.tile<Xxf32>
  %e = kernel.erf(%u) : !kernel.tile<Xxf32>
  %one = kernel.const() {value = 1.0} : f32
  %s = kernel.add(%one, %e) : !kernel.tile<Xxf32>
  %h = kernel.cast(%s) : !kernel.tile<Xxbf16>
  kernel.store(%y, %h, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}

// CHECK-LABEL: kernel.func @no_rewrite_as_the_kernel_is_exact
// CHECK:         kernel.erf
kernel.func @no_rewrite_as_the_kernel_is_exact(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], axes = #kernel.axes<X: 64 whole>, blocks = #kernel.blocks<X = 64>, vector = "X", target = "cuda"} {
  %l = kernel.lanes() {axis = "X"} : !kernel.tile<Xxindex>
  %u = kernel.load(%x, %l) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %e = kernel.erf(%u) : !kernel.tile<Xxf32>
  %one = kernel.const() {value = 1.0} : f32
  %s = kernel.add(%one, %e) : !kernel.tile<Xxf32>
  kernel.store(%y, %s, %l) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
