// RUN: lect-opt %s -p functional-recompute-masks | filecheck %s
// RUN: lect-opt %s -p functional-recompute-masks{where=always} | filecheck %s --check-prefix=ALWAYS

// What normalises reads %x, and two numbers a channel; the mask needs no more.
// CHECK-LABEL: functional.func @masks_by_the_operand
// CHECK: %n = functional.mul(
// CHECK: functional.threshold_backward(%tangent, %n) {threshold = 0}
functional.func @masks_by_the_operand(%x: !functional.tensor<8x4x6x6xf32, "cuda:0">, %mean: !functional.tensor<4xf32, "cuda:0">, %rstd: !functional.tensor<4xf32, "cuda:0">, %other: !functional.tensor<8x4x6x6xf32, "cuda:0">, %tangent: !functional.tensor<8x4x6x6xf32, "cuda:0">) {training = {inputs = 4, results = 1, tangents = [0], gradients = [0], held = []}} {
  %m = functional.reshape(%mean) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32, "cuda:0">
  %r = functional.reshape(%rstd) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32, "cuda:0">
  %s = functional.sub(%x, %m) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %n = functional.mul(%s, %r) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %y = functional.relu(%n) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %g = functional.threshold_backward(%tangent, %y) {threshold = 0} : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %d, %dw, %db = functional.batch_norm_backward(%g, %x, %mean, %rstd) {training = true, eps = 1.0e-05} : (!functional.tensor<8x4x6x6xf32, "cuda:0">, !functional.tensor<4xf32, "cuda:0">, !functional.tensor<4xf32, "cuda:0">)
  functional.return(%y, %d)
}

// CHECK-LABEL: functional.func @no_mask_on_a_cpu
// CHECK: functional.threshold_backward(%tangent, %y) {threshold = 0}
// ALWAYS-LABEL: functional.func @no_mask_on_a_cpu
// ALWAYS: functional.threshold_backward(%tangent, %n) {threshold = 0}
functional.func @no_mask_on_a_cpu(%x: !functional.tensor<8x4x6x6xf32>, %mean: !functional.tensor<4xf32>, %rstd: !functional.tensor<4xf32>, %other: !functional.tensor<8x4x6x6xf32>, %tangent: !functional.tensor<8x4x6x6xf32>) {training = {inputs = 4, results = 1, tangents = [0], gradients = [0], held = []}} {
  %m = functional.reshape(%mean) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32>
  %r = functional.reshape(%rstd) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32>
  %s = functional.sub(%x, %m) : !functional.tensor<8x4x6x6xf32>
  %n = functional.mul(%s, %r) : !functional.tensor<8x4x6x6xf32>
  %y = functional.relu(%n) : !functional.tensor<8x4x6x6xf32>
  %g = functional.threshold_backward(%tangent, %y) {threshold = 0} : !functional.tensor<8x4x6x6xf32>
  %d, %dw, %db = functional.batch_norm_backward(%g, %x, %mean, %rstd) {training = true, eps = 1.0e-05} : (!functional.tensor<8x4x6x6xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  functional.return(%y, %d)
}

// CHECK-LABEL: functional.func @no_mask_as_a_shortcut_would_be_read
// CHECK: functional.threshold_backward(%tangent, %y) {threshold = 0}
functional.func @no_mask_as_a_shortcut_would_be_read(%x: !functional.tensor<8x4x6x6xf32, "cuda:0">, %mean: !functional.tensor<4xf32, "cuda:0">, %rstd: !functional.tensor<4xf32, "cuda:0">, %other: !functional.tensor<8x4x6x6xf32, "cuda:0">, %tangent: !functional.tensor<8x4x6x6xf32, "cuda:0">) {training = {inputs = 4, results = 1, tangents = [0], gradients = [0], held = []}} {
  %m = functional.reshape(%mean) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32, "cuda:0">
  %r = functional.reshape(%rstd) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32, "cuda:0">
  %s = functional.sub(%x, %m) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %n = functional.mul(%s, %r) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %a = functional.add(%n, %other) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %y = functional.relu(%a) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %g = functional.threshold_backward(%tangent, %y) {threshold = 0} : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %d, %dw, %db = functional.batch_norm_backward(%g, %x, %mean, %rstd) {training = true, eps = 1.0e-05} : (!functional.tensor<8x4x6x6xf32, "cuda:0">, !functional.tensor<4xf32, "cuda:0">, !functional.tensor<4xf32, "cuda:0">)
  functional.return(%y, %d)
}

// CHECK-LABEL: functional.func @no_mask_of_another_threshold
// CHECK: functional.threshold_backward(%tangent, %y) {threshold = 1}
functional.func @no_mask_of_another_threshold(%x: !functional.tensor<8x4x6x6xf32, "cuda:0">, %mean: !functional.tensor<4xf32, "cuda:0">, %rstd: !functional.tensor<4xf32, "cuda:0">, %other: !functional.tensor<8x4x6x6xf32, "cuda:0">, %tangent: !functional.tensor<8x4x6x6xf32, "cuda:0">) {training = {inputs = 4, results = 1, tangents = [0], gradients = [0], held = []}} {
  %m = functional.reshape(%mean) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32, "cuda:0">
  %r = functional.reshape(%rstd) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32, "cuda:0">
  %s = functional.sub(%x, %m) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %n = functional.mul(%s, %r) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %y = functional.relu(%n) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %g = functional.threshold_backward(%tangent, %y) {threshold = 1} : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %d, %dw, %db = functional.batch_norm_backward(%g, %x, %mean, %rstd) {training = true, eps = 1.0e-05} : (!functional.tensor<8x4x6x6xf32, "cuda:0">, !functional.tensor<4xf32, "cuda:0">, !functional.tensor<4xf32, "cuda:0">)
  functional.return(%y, %d)
}

// CHECK-LABEL: functional.func @no_mask_as_the_reader_does_not_read_the_operand
// CHECK: functional.threshold_backward(%tangent, %y) {threshold = 0}
functional.func @no_mask_as_the_reader_does_not_read_the_operand(%x: !functional.tensor<8x4x6x6xf32, "cuda:0">, %mean: !functional.tensor<4xf32, "cuda:0">, %rstd: !functional.tensor<4xf32, "cuda:0">, %other: !functional.tensor<8x4x6x6xf32, "cuda:0">, %tangent: !functional.tensor<8x4x6x6xf32, "cuda:0">) {training = {inputs = 4, results = 1, tangents = [0], gradients = [0], held = []}} {
  %m = functional.reshape(%mean) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32, "cuda:0">
  %r = functional.reshape(%rstd) {shape = [4, 1, 1]} : !functional.tensor<4x1x1xf32, "cuda:0">
  %s = functional.sub(%x, %m) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %n = functional.mul(%s, %r) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %y = functional.relu(%n) : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %g = functional.threshold_backward(%tangent, %y) {threshold = 0} : !functional.tensor<8x4x6x6xf32, "cuda:0">
  %d = functional.sum(%g) {dims = [0, 2, 3]} : !functional.tensor<4xf32, "cuda:0">
  functional.return(%y, %d)
}
