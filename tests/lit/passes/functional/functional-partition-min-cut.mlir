// RUN: lect-opt %s -p functional-partition-min-cut | filecheck %s
// RUN: lect-opt %s -p functional-partition-min-cut{recompute=none} | filecheck %s --check-prefix=NONE
// RUN: lect-opt %s -p functional-partition-min-cut{recompute=all} | filecheck %s --check-prefix=ALL
// RUN: lect-opt %s -p functional-partition-min-cut{memory_budget=0.5} | filecheck %s --check-prefix=HALF
// RUN: lect-opt %s -p functional-partition-min-cut{stored=always} | filecheck %s --check-prefix=STORED
// RUN: lect-opt %s -p functional-partition-min-cut{memory_budget=0} | filecheck %s --check-prefix=NOTHING

// The product is as large as each value of the chain, and the chain is cheap: one of them is kept, the one nearest to its reader.
// CHECK-LABEL: functional.func @keeps_the_last_of_equals
// CHECK: functional.mm(%x, %w) : 
// CHECK: functional.tanh(%{{.*}}) : 
// CHECK: functional.exp(%{{.*}}) {keep = "read by functional.mul, and what it is computed from is no smaller"}
// ALL-LABEL: functional.func @keeps_the_last_of_equals
// ALL: functional.exp(%{{.*}}) {keep
functional.func @keeps_the_last_of_equals(%x: !functional.tensor<8x8xf32>, %w: !functional.tensor<8x8xf32>, %tangent: !functional.tensor<8x8xf32>) {training = {inputs = 2, results = 1, tangents = [0], gradients = [0], held = []}} {
  %0 = functional.mm(%x, %w) : !functional.tensor<8x8xf32>
  %1 = functional.tanh(%0) : !functional.tensor<8x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<8x8xf32>
  %3 = functional.mul(%tangent, %2) : !functional.tensor<8x8xf32>
  functional.return(%2, %3)
}

// Two readers of two values that come from one: that one is kept, and both are computed again.
// CHECK-LABEL: functional.func @keeps_the_source_of_two
// CHECK: functional.mm(%x, %w) {keep = "functional.mm is not computed twice"}
// CHECK: functional.exp(%{{.*}}) : 
// CHECK: functional.sin(%{{.*}}) : 
// NONE-LABEL: functional.func @keeps_the_source_of_two
// NONE: functional.mm(%x, %w) : 
// NONE: functional.exp(%{{.*}}) {keep = "functional.exp is not computed twice"}
// NONE: functional.sin(%{{.*}}) {keep = "functional.sin is not computed twice"}
functional.func @keeps_the_source_of_two(%x: !functional.tensor<8x8xf32>, %w: !functional.tensor<8x8xf32>, %tangent: !functional.tensor<8x8xf32>) {training = {inputs = 2, results = 1, tangents = [0], gradients = [0], held = []}} {
  %0 = functional.mm(%x, %w) : !functional.tensor<8x8xf32>
  %1 = functional.exp(%0) : !functional.tensor<8x8xf32>
  %2 = functional.sin(%0) : !functional.tensor<8x8xf32>
  %3 = functional.mul(%tangent, %1) : !functional.tensor<8x8xf32>
  %4 = functional.mul(%3, %2) : !functional.tensor<8x8xf32>
  functional.return(%0, %4)
}

// A mask of bools is a quarter as large as what it is computed from.
// CHECK-LABEL: functional.func @keeps_the_smaller
// CHECK: functional.mm(%x, %w) : 
// CHECK: functional.gt(%{{.*}}) {other = 0, keep = "the smallest of what the backward can be computed from"}
functional.func @keeps_the_smaller(%x: !functional.tensor<8x8xf32>, %w: !functional.tensor<8x8xf32>, %tangent: !functional.tensor<8x8xf32>) {training = {inputs = 2, results = 1, tangents = [0], gradients = [0], held = []}} {
  %0 = functional.mm(%x, %w) : !functional.tensor<8x8xf32>
  %1 = functional.gt(%0) {other = 0} : !functional.tensor<8x8xi1>
  %2 = functional.cast(%1) {to = f32} : !functional.tensor<8x8xf32>
  %3 = functional.mul(%tangent, %2) : !functional.tensor<8x8xf32>
  functional.return(%0, %3)
}

// CHECK-LABEL: functional.func @no_keep_as_autograd_keeps_the_input
// CHECK-NOT: keep =
// CHECK: functional.return
functional.func @no_keep_as_autograd_keeps_the_input(%x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = [["input", 0]]}} {
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
  %1 = functional.mul(%tangent, %0) : !functional.tensor<8xf32>
  %2 = functional.mul(%1, %x) : !functional.tensor<8xf32>
  functional.return(%0, %2)
}

// Autograd does not keep this input, so the program may write to it: a copy of it would cost as much as the result.
// CHECK-LABEL: functional.func @no_input_as_the_program_may_write_to_it
// CHECK: functional.exp(%x) {keep = "read by functional.mul, and what it is computed from is no smaller"}
functional.func @no_input_as_the_program_may_write_to_it(%x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = []}} {
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
  %1 = functional.mul(%tangent, %0) : !functional.tensor<8xf32>
  functional.return(%0, %1)
}

// Nothing of a checkpointed region is kept; its product runs again.
// CHECK-LABEL: functional.func @no_keep_inside_of_a_checkpoint
// CHECK: functional.mm(%x, %w) {recompute = true} : 
// CHECK: functional.exp(%{{.*}}) {recompute = true} : 
functional.func @no_keep_inside_of_a_checkpoint(%x: !functional.tensor<8x8xf32>, %w: !functional.tensor<8x8xf32>, %tangent: !functional.tensor<8x8xf32>) {training = {inputs = 2, results = 1, tangents = [0], gradients = [0, 1], held = []}} {
  %0 = functional.mm(%x, %w) {recompute = true} : !functional.tensor<8x8xf32>
  %1 = functional.exp(%0) {recompute = true} : !functional.tensor<8x8xf32>
  %2 = functional.mul(%tangent, %1) : !functional.tensor<8x8xf32>
  %3 = functional.mm(%2, %w) : !functional.tensor<8x8xf32>
  %4 = functional.mm(%x, %2) : !functional.tensor<8x8xf32>
  functional.return(%1, %3, %4)
}

// The statistics are two numbers a channel, and are kept; what is normalised with them is computed again.
// CHECK-LABEL: functional.func @keeps_the_statistics_of_a_batch
// CHECK: functional.batch_norm({{.*}}) {training = true, momentum = 0.1, eps = 1.0e-05, keep = [none, "functional.batch_norm is not computed twice", "functional.batch_norm is not computed twice", none, none]}
// CHECK-NOT: keep =
// CHECK: functional.return
functional.func @keeps_the_statistics_of_a_batch(%x: !functional.tensor<8x4xf32>, %m: !functional.tensor<4xf32>, %v: !functional.tensor<4xf32>, %tangent: !functional.tensor<8x4xf32>) {training = {inputs = 3, results = 1, tangents = [0], gradients = [0], held = [["input", 0]]}} {
  %0, %1, %2, %3, %4 = functional.batch_norm(%x, %m, %v) {training = true, momentum = 0.1, eps = 1.0e-05} : (!functional.tensor<8x4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  %5 = functional.mul(%x, %2) : !functional.tensor<8x4xf32>
  %6 = functional.add(%5, %1) : !functional.tensor<8x4xf32>
  %7 = functional.exp(%6) : !functional.tensor<8x4xf32>
  %8 = functional.mul(%tangent, %7) : !functional.tensor<8x4xf32>
  functional.return(%7, %8)
}

// The second product takes four times the work of the first for a byte of its result.
// CHECK-LABEL: functional.func @keeps_the_work
// CHECK-COUNT-2: functional.mm({{.*}}) {keep = "functional.mm is not computed twice"}
// HALF-LABEL: functional.func @keeps_the_work
// HALF: functional.mm(%x, %v) : 
// HALF: functional.mm(%y, %w) {keep = "functional.mm takes 4096 operations, and is not computed twice within 0.5 of the memory, 256 bytes"}
// NOTHING-LABEL: functional.func @keeps_the_work
// NOTHING-NOT: keep =
// NOTHING: functional.return
functional.func @keeps_the_work(%x: !functional.tensor<8x8xf32>, %v: !functional.tensor<8x8xf32>, %y: !functional.tensor<8x32xf32>, %w: !functional.tensor<32x8xf32>, %tangent: !functional.tensor<8x8xf32>) {training = {inputs = 4, results = 1, tangents = [0], gradients = [0], held = [["input", 0], ["input", 1], ["input", 2], ["input", 3]]}} {
  %0 = functional.mm(%x, %v) : !functional.tensor<8x8xf32>
  %1 = functional.mm(%y, %w) : !functional.tensor<8x8xf32>
  %2 = functional.mul(%0, %1) : !functional.tensor<8x8xf32>
  %3 = functional.mul(%tangent, %0) : !functional.tensor<8x8xf32>
  %4 = functional.mul(%3, %1) : !functional.tensor<8x8xf32>
  functional.return(%2, %4)
}

// NOTHING-LABEL: functional.func @keeps_random_numbers_whatever_the_budget
// NOTHING: functional.rand(%seed) {{{.*}}keep = "functional.rand is not computed twice"}
functional.func @keeps_random_numbers_whatever_the_budget(%seed: !functional.tensor<i64>, %x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 2, results = 1, tangents = [0], gradients = [1], held = []}} {
  %0 = functional.rand(%seed) {shape = [8], element = f32} : !functional.tensor<8xf32>
  %1 = functional.mul(%x, %0) : !functional.tensor<8xf32>
  %2 = functional.mul(%tangent, %0) : !functional.tensor<8xf32>
  functional.return(%1, %2)
}

// The input is not held by autograd and would be copied, which takes as many bytes as the wide values, but the backward reads half of them.
// CHECK-LABEL: functional.func @rather_copies_an_input_than_keeps_it_widened
// CHECK-NOT: keep =
// CHECK: functional.return
functional.func @rather_copies_an_input_than_keeps_it_widened(%x: !functional.tensor<8xbf16>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = []}} {
  %0 = functional.cast(%x) {to = f32} : !functional.tensor<8xf32>
  %1 = functional.mul(%0, %0) : !functional.tensor<8xf32>
  %2 = functional.mul(%tangent, %0) : !functional.tensor<8xf32>
  functional.return(%1, %2)
}

// What a product of the forward and one of the backward read lies in memory anyway; what it comes from is kept for another reader.
// CHECK-LABEL: functional.func @keeps_what_products_of_both_read
// CHECK: functional.sin(%{{.*}}) {keep = "read in memory by a product of the forward and by one of the backward"}
// ALL-LABEL: functional.func @keeps_what_products_of_both_read
// ALL: functional.sin(%{{.*}}) : 
functional.func @keeps_what_products_of_both_read(%x: !functional.tensor<8x8xf32, "cuda:0">, %w: !functional.tensor<8x8xf32, "cuda:0">, %v: !functional.tensor<8x8xf32, "cuda:0">, %tangent: !functional.tensor<8x8xf32, "cuda:0">) {training = {inputs = 3, results = 1, tangents = [0], gradients = [2], held = []}} {
  %0 = functional.mm(%x, %w) : !functional.tensor<8x8xf32, "cuda:0">
  %1 = functional.sin(%0) : !functional.tensor<8x8xf32, "cuda:0">
  %2 = functional.mm(%1, %v) : !functional.tensor<8x8xf32, "cuda:0">
  %3 = functional.permute(%1) {dims = [1, 0]} : !functional.tensor<8x8xf32, strides [1, 8], "cuda:0">
  %4 = functional.cos(%0) : !functional.tensor<8x8xf32, "cuda:0">
  %5 = functional.mul(%tangent, %4) : !functional.tensor<8x8xf32, "cuda:0">
  %6 = functional.mm(%3, %5) : !functional.tensor<8x8xf32, "cuda:0">
  functional.return(%2, %6)
}

// On a CPU memory is what is short.
// CHECK-LABEL: functional.func @no_keep_on_a_cpu
// CHECK: functional.sin(%{{.*}}) : 
// STORED-LABEL: functional.func @no_keep_on_a_cpu
// STORED: functional.sin(%{{.*}}) {keep = "read in memory by a product of the forward and by one of the backward"}
functional.func @no_keep_on_a_cpu(%x: !functional.tensor<8x8xf32>, %w: !functional.tensor<8x8xf32>, %v: !functional.tensor<8x8xf32>, %tangent: !functional.tensor<8x8xf32>) {training = {inputs = 3, results = 1, tangents = [0], gradients = [2], held = []}} {
  %0 = functional.mm(%x, %w) : !functional.tensor<8x8xf32>
  %1 = functional.sin(%0) : !functional.tensor<8x8xf32>
  %2 = functional.mm(%1, %v) : !functional.tensor<8x8xf32>
  %3 = functional.permute(%1) {dims = [1, 0]} : !functional.tensor<8x8xf32, strides [1, 8]>
  %4 = functional.cos(%0) : !functional.tensor<8x8xf32>
  %5 = functional.mul(%tangent, %4) : !functional.tensor<8x8xf32>
  %6 = functional.mm(%3, %5) : !functional.tensor<8x8xf32>
  functional.return(%2, %6)
}

// CHECK-LABEL: functional.func @no_keep_as_no_product_of_the_backward_reads_it
// CHECK: functional.sin(%{{.*}}) : 
functional.func @no_keep_as_no_product_of_the_backward_reads_it(%x: !functional.tensor<8x8xf32, "cuda:0">, %w: !functional.tensor<8x8xf32, "cuda:0">, %v: !functional.tensor<8x8xf32, "cuda:0">, %tangent: !functional.tensor<8x8xf32, "cuda:0">) {training = {inputs = 3, results = 1, tangents = [0], gradients = [2], held = []}} {
  %0 = functional.mm(%x, %w) : !functional.tensor<8x8xf32, "cuda:0">
  %1 = functional.sin(%0) : !functional.tensor<8x8xf32, "cuda:0">
  %2 = functional.mm(%1, %v) : !functional.tensor<8x8xf32, "cuda:0">
  %3 = functional.mul(%tangent, %1) : !functional.tensor<8x8xf32, "cuda:0">
  %4 = functional.cos(%0) : !functional.tensor<8x8xf32, "cuda:0">
  %5 = functional.mul(%3, %4) : !functional.tensor<8x8xf32, "cuda:0">
  functional.return(%2, %5)
}
