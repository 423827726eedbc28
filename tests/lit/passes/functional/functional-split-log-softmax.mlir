// RUN: lect-opt %s -p functional-split-log-softmax | filecheck %s

// CHECK-LABEL: functional.func @steps_of_a_loss
// CHECK-NEXT: %[[MAX:.*]] = functional.amax(%x) {dims = [1], keepdim = true} : !functional.tensor<8x1x3xf32>
// CHECK-NEXT: %[[SHIFTED:.*]] = functional.sub(%x, %[[MAX]]) : !functional.tensor<8x50x3xf32>
// CHECK-NEXT: %[[EXP:.*]] = functional.exp(%[[SHIFTED]])
// CHECK-NEXT: %[[SUM:.*]] = functional.sum(%[[EXP]]) {dims = [1], keepdim = true}
// CHECK-NEXT: %[[LOG:.*]] = functional.log(%[[SUM]])
// CHECK-NEXT: %[[RESULT:.*]] = functional.sub(%[[SHIFTED]], %[[LOG]]) : !functional.tensor<8x50x3xf32>
// CHECK-NEXT: functional.nll(%[[RESULT]], %t)
functional.func @steps_of_a_loss(%x: !functional.tensor<8x50x3xf32>, %t: !functional.tensor<8x3xi64>) {
  %0 = functional.log_softmax(%x) {dim = 1} : !functional.tensor<8x50x3xf32>
  %1, %2 = functional.nll(%0, %t) : (!functional.tensor<f32>, !functional.tensor<f32>)
  functional.return(%1)
}

// CHECK-LABEL: functional.func @halves_on_a_gpu_are_rounded_once
// CHECK-NEXT: %[[WIDE:.*]] = functional.cast(%x) {to = f32}
// CHECK: %[[LOG:.*]] = functional.log
// CHECK-NEXT: %[[RESULT:.*]] = functional.sub(%{{.*}}, %[[LOG]]) : !functional.tensor<8x50xf32, "cuda:0">
// CHECK-NEXT: %[[LAST:.*]] = functional.cast(%[[RESULT]]) {to = bf16}
// CHECK-NEXT: functional.nll(%[[LAST]], %t)
functional.func @halves_on_a_gpu_are_rounded_once(%x: !functional.tensor<8x50xbf16, "cuda:0">, %t: !functional.tensor<8xi64, "cuda:0">) {
  %0 = functional.log_softmax(%x) {dim = 1} : !functional.tensor<8x50xbf16, "cuda:0">
  %1, %2 = functional.nll(%0, %t) : (!functional.tensor<bf16, "cuda:0">, !functional.tensor<bf16, "cuda:0">)
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_split_as_eager_rounds_the_sum_of_halves_on_a_cpu
// CHECK-NEXT: functional.log_softmax
functional.func @no_split_as_eager_rounds_the_sum_of_halves_on_a_cpu(%x: !functional.tensor<8x50xbf16>, %t: !functional.tensor<8xi64>) {
  %0 = functional.log_softmax(%x) {dim = 1} : !functional.tensor<8x50xbf16>
  %1, %2 = functional.nll(%0, %t) : (!functional.tensor<bf16>, !functional.tensor<bf16>)
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_split_as_it_is_a_result
// CHECK-NEXT: functional.log_softmax
functional.func @no_split_as_it_is_a_result(%x: !functional.tensor<8x50xf32>, %t: !functional.tensor<8xi64>) {
  %0 = functional.log_softmax(%x) {dim = 1} : !functional.tensor<8x50xf32>
  %1, %2 = functional.nll(%0, %t) : (!functional.tensor<f32>, !functional.tensor<f32>)
  functional.return(%0, %1)
}

// The loss of a picture reads its classes in another shape.
// CHECK-LABEL: functional.func @behind_a_reshape
// CHECK-NOT: functional.log_softmax
// CHECK: functional.nll
functional.func @behind_a_reshape(%x: !functional.tensor<6x9x5xf32>, %t: !functional.tensor<6x1x5xi64>) {
  %0 = functional.log_softmax(%x) {dim = 1} : !functional.tensor<6x9x5xf32>
  %1 = functional.reshape(%0) {shape = [6, 9, 1, 5]} : !functional.tensor<6x9x1x5xf32>
  %2, %3 = functional.nll(%1, %t) : (!functional.tensor<f32>, !functional.tensor<f32>)
  functional.return(%2)
}
