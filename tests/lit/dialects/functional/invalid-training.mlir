// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'tangent_groups' of 'training' must name a group for each of 2 tangents}}
functional.func @a_tangent_of_no_group(%x: !functional.tensor<3xf32>, %t: !functional.tensor<3xf32>, %u: !functional.tensor<3xf32>) {training = {inputs = 1, results = 2, tangents = [0, 1], gradients = [], held = [], tangent_groups = [0], gradient_groups = []}} {
  functional.return(%x, %x)
}

// -----

// expected-error @+1 {{'training' has groups of tangents and gradients, or of none}}
functional.func @groups_of_tangents_alone(%x: !functional.tensor<3xf32>, %t: !functional.tensor<3xf32>) {training = {inputs = 1, results = 1, tangents = [0], gradients = [], held = [], tangent_groups = [0]}} {
  functional.return(%x)
}

// -----

// expected-error @+1 {{'training' is that of a joint graph, a forward or a backward, got the keys ['results', 'again']}}
functional.func @a_forward_that_runs_again(%x: !functional.tensor<3xf32>) {training = {results = 1, again = true}} {
  functional.return(%x)
}
