// RUN: lect-opt %s -p functional-split-joint --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: functional.func @hands_over_a_result(%x: !functional.tensor<8xf32>) {training = {results = 1}}
// CHECK-NEXT: %[[E:.*]] = functional.exp(%x) :
// CHECK-NEXT: functional.return(%[[E]])
// CHECK: functional.func @hands_over_a_result.backward(%[[K:.*]]: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>)
// CHECK-SAME: training = {kept = {{\[\[}}"result", 0]], tangents = [0], gradients = [0]}
// CHECK-NEXT: functional.mul(%tangent, %[[K]])
functional.func @hands_over_a_result(%x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = [["result", 0]]}} {
  %0 = functional.exp(%x) {keep = "read by functional.mul"} : !functional.tensor<8xf32>
  %1 = functional.mul(%tangent, %0) : !functional.tensor<8xf32>
  functional.return(%0, %1)
}

// -----

// What is not kept is computed again, from the input that autograd keeps too.
// CHECK-LABEL: functional.func @computes_again
// CHECK: functional.func @computes_again.backward(%x: {{.*}}, %tangent: {{.*}}) {training = {kept = {{\[\[}}"input", 0]]
// CHECK-NEXT: functional.exp(%x)
functional.func @computes_again(%x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = [["input", 0]]}} {
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
  %1 = functional.mul(%tangent, %0) : !functional.tensor<8xf32>
  %2 = functional.mul(%1, %x) : !functional.tensor<8xf32>
  functional.return(%0, %2)
}

// -----

// A value that the forward alone has is returned behind its results; the forward keeps what the backward alone reads.
// CHECK-LABEL: functional.func @returns_what_is_kept(%x
// CHECK: %[[T:.*]] = functional.tanh(%x)
// CHECK: %[[S:.*]] = functional.sin(%[[T]]) :
// CHECK: functional.return(%{{.*}}, %[[S]])
// CHECK: functional.func @returns_what_is_kept.backward(%[[K:.*]]: {{.*}}, %tangent: {{.*}}) {training = {kept = {{\[\[}}"kept", 0]]
functional.func @returns_what_is_kept(%x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = []}} {
  %0 = functional.tanh(%x) : !functional.tensor<8xf32>
  %1 = functional.exp(%0) : !functional.tensor<8xf32>
  %2 = functional.sin(%0) {keep = "read by functional.mul"} : !functional.tensor<8xf32>
  %3 = functional.mul(%tangent, %2) : !functional.tensor<8xf32>
  functional.return(%1, %3)
}

// -----

// The forward writes to the input, so the backward gets a copy of what was there.
// CHECK-LABEL: functional.func @no_reference_to_an_input_that_is_written
// CHECK: %[[C:.*]] = functional.copy(%x)
// CHECK: functional.write(%x, %{{.*}})
// CHECK: functional.return(%{{.*}}, %[[C]])
// CHECK: @no_reference_to_an_input_that_is_written.backward({{.*}}) {training = {kept = {{\[\[}}"kept", 0]]
functional.func @no_reference_to_an_input_that_is_written(%x: !functional.tensor<8xf32>, %w: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 2, results = 1, tangents = [0], gradients = [1], held = [["input", 0]]}} {
  %0 = functional.mul(%w, %x) : !functional.tensor<8xf32>
  %1 = functional.exp(%x) : !functional.tensor<8xf32>
  %2 = functional.mul(%tangent, %x) : !functional.tensor<8xf32>
  functional.write(%x, %1)
  functional.return(%0, %2)
}

// -----

// A gradient that is the tangent itself is that tensor, and so is the second of two that are one value.
// CHECK-LABEL: @no_copy_of_a_gradient.backward(%tangent
// CHECK: functional.return(%tangent, %tangent) {aliases = {{\[\[}}"input", 0, 0], ["input", 0, 0]]}
functional.func @no_copy_of_a_gradient(%x: !functional.tensor<8xf32>, %y: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 2, results = 1, tangents = [0], gradients = [0, 1], held = []}} {
  %0 = functional.add(%x, %y) : !functional.tensor<8xf32>
  functional.return(%0, %tangent, %tangent)
}

// -----

// Each value is computed again directly in front of the first that reads it.
// CHECK-LABEL: @computes_again_where_it_is_read.backward(%x
// CHECK-NEXT: functional.exp(%x)
// CHECK-NEXT: functional.mul(%tangent
// CHECK-NEXT: functional.sin(%x)
// CHECK-NEXT: functional.cos(%
// CHECK-NEXT: functional.mul(
functional.func @computes_again_where_it_is_read(%x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = [["input", 0]]}} {
  %0 = functional.sin(%x) : !functional.tensor<8xf32>
  %1 = functional.cos(%0) : !functional.tensor<8xf32>
  %2 = functional.exp(%x) : !functional.tensor<8xf32>
  %3 = functional.mul(%tangent, %2) : !functional.tensor<8xf32>
  %4 = functional.mul(%3, %1) : !functional.tensor<8xf32>
  functional.return(%2, %4)
}

// -----

functional.func @no_split_as_a_call_would_run_twice(%x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = []}} {
  // expected-error @+1 {{must not run again in the backward: what it gives has to be kept}}
  %0 = functional.opaque(%x) {target = @aten.bernoulli.default, args = [#functional.operand<0>]} : !functional.tensor<8xf32>
  %1 = functional.mul(%tangent, %0) : !functional.tensor<8xf32>
  functional.return(%0, %1)
}

// -----

// Each group of results has a backward, which is given what it needs alone; what both read is kept once.
// CHECK-LABEL: functional.func @a_backward_for_each_group(%x
// CHECK: %[[E:.*]] = functional.exp(%x)
// CHECK-NEXT: %[[S:.*]] = functional.sin(%y)
// CHECK: functional.return(%{{.*}}, %{{.*}}, %[[E]], %[[S]])
// CHECK: functional.func @a_backward_for_each_group.backward0(%[[K:.*]]: {{.*}}, %tangent: {{.*}}) {training = {kept = {{\[\[}}"kept", 0]], tangents = [0], gradients = [0]}}
// CHECK-NEXT: %[[G:.*]] = functional.mul(%tangent, %[[K]])
// CHECK-NEXT: functional.return(%[[G]])
// CHECK: functional.func @a_backward_for_each_group.backward1(%[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[T:.*]]: {{.*}}) {training = {kept = {{\[\[}}"kept", 0], ["kept", 1]], tangents = [1], gradients = [1, 0]}}
// CHECK-NEXT: functional.mul(%[[T]], %[[B]])
// CHECK-NEXT: functional.mul(%[[T]], %[[A]])
functional.func @a_backward_for_each_group(%x: !functional.tensor<8xf32>, %y: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>, %tangent_1: !functional.tensor<8xf32>) {training = {inputs = 2, results = 2, tangents = [0, 1], gradients = [0, 1, 0], held = [], tangent_groups = [0, 1], gradient_groups = [0, 1, 1]}} {
  %0 = functional.exp(%x) {keep = "read by functional.mul"} : !functional.tensor<8xf32>
  %1 = functional.sin(%y) {keep = "read by functional.mul"} : !functional.tensor<8xf32>
  %2 = functional.add(%0, %x) : !functional.tensor<8xf32>
  %3 = functional.add(%1, %x) : !functional.tensor<8xf32>
  %4 = functional.mul(%tangent, %0) : !functional.tensor<8xf32>
  %5 = functional.mul(%tangent_1, %1) : !functional.tensor<8xf32>
  %6 = functional.mul(%tangent_1, %0) : !functional.tensor<8xf32>
  functional.return(%2, %3, %4, %5, %6)
}

// -----

// expected-error @+1 {{a backward of one group of results reads the gradient of a result of another group}}
functional.func @no_split_of_groups_that_meet(%x: !functional.tensor<8xf32>, %tangent: !functional.tensor<8xf32>, %tangent_1: !functional.tensor<8xf32>) {training = {inputs = 1, results = 2, tangents = [0, 1], gradients = [0, 0], held = [], tangent_groups = [0, 1], gradient_groups = [0, 1]}} {
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
  %1 = functional.sin(%x) : !functional.tensor<8xf32>
  %2 = functional.add(%tangent, %tangent_1) : !functional.tensor<8xf32>
  functional.return(%0, %1, %2, %tangent_1)
}
