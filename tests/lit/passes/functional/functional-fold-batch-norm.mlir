// RUN: lect-opt %s -p 'functional-fold-batch-norm{numerics=fused}' | filecheck %s
// RUN: lect-opt %s -p functional-fold-batch-norm | filecheck %s --check-prefix=EAGER
// EAGER-NOT: functional.rsqrt

!x = !functional.tensor<1x2x8x8xf32>
!w = !functional.tensor<4x2x3x3xf32>
!c = !functional.tensor<4xf32>
!y = !functional.tensor<1x4x8x8xf32>
!n = !functional.tensor<0xf32>

// CHECK-LABEL: functional.func @folds_in_front_of_the_end
// CHECK-NEXT: %[[E:.*]] = functional.add(%var) {other = 1.0e-05}
// CHECK-NEXT: %[[R:.*]] = functional.rsqrt(%[[E]])
// CHECK-NEXT: %[[S:.*]] = functional.mul(%[[R]], %g)
// CHECK-NEXT: %[[C:.*]] = functional.reshape(%[[S]]) {shape = [4, 1, 1, 1]}
// CHECK-NEXT: %[[W:.*]] = functional.mul(%w, %[[C]]) : !functional.tensor<4x2x3x3xf32>
// CHECK-NEXT: %[[M:.*]] = functional.sub(%mean, %c)
// CHECK-NEXT: %[[P:.*]] = functional.mul(%[[M]], %[[S]])
// CHECK-NEXT: %[[B:.*]] = functional.sub(%b, %[[P]])
// CHECK-NEXT: %[[Y:.*]] = functional.convolution(%x, %[[W]], %[[B]])
// CHECK-NEXT: functional.return(%[[Y]])
functional.func @folds_in_front_of_the_end(%x: !x, %w: !w, %c: !c, %mean: !c, %var: !c, %g: !c, %b: !c) {
  %0 = functional.convolution(%x, %w, %c) {stride = [1, 1], padding = [1, 1], dilation = [1, 1]} : !y
  %1, %2, %3, %4, %5 = functional.batch_norm(%0, %mean, %var, %g; %b) {training = false, momentum = 0.1, eps = 1e-05} : (!y, !n, !n, !c, !c)
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_a_kernel_takes_it_in
// CHECK-NOT: functional.rsqrt
// CHECK: functional.return
functional.func @no_fold_as_a_kernel_takes_it_in(%x: !x, %w: !w, %c: !c, %mean: !c, %var: !c, %g: !c, %b: !c) {
  %0 = functional.convolution(%x, %w, %c) {stride = [1, 1], padding = [1, 1], dilation = [1, 1]} : !y
  %1, %2, %3, %4, %5 = functional.batch_norm(%0, %mean, %var, %g; %b) {training = false, momentum = 0.1, eps = 1e-05} : (!y, !n, !n, !c, !c)
  %6 = functional.relu(%1) : !y
  functional.return(%6)
}

// CHECK-LABEL: functional.func @no_fold_in_training
// CHECK-NOT: functional.rsqrt
// CHECK: functional.return
functional.func @no_fold_in_training(%x: !x, %w: !w, %c: !c, %mean: !c, %var: !c, %g: !c, %b: !c) {
  %0 = functional.convolution(%x, %w, %c) {stride = [1, 1], padding = [1, 1], dilation = [1, 1]} : !y
  %1, %2, %3, %4, %5 = functional.batch_norm(%0, %mean, %var, %g; %b) {training = true, momentum = 0.1, eps = 1e-05} : (!y, !c, !c, !c, !c)
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_the_filters_are_as_large_as_the_result
// CHECK-NOT: functional.rsqrt
// CHECK: functional.return
functional.func @no_fold_as_the_filters_are_as_large_as_the_result(%x: !functional.tensor<1x2x4x4xf32>, %w: !w, %c: !c, %mean: !c, %var: !c, %g: !c, %b: !c) {
  %0 = functional.convolution(%x, %w, %c) {stride = [1, 1], padding = [1, 1], dilation = [1, 1]} : !functional.tensor<1x4x4x4xf32>
  %1, %2, %3, %4, %5 = functional.batch_norm(%0, %mean, %var, %g; %b) {training = false, momentum = 0.1, eps = 1e-05} : (!functional.tensor<1x4x4x4xf32>, !n, !n, !c, !c)
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_fold_as_the_convolution_is_read_elsewhere
// CHECK-NOT: functional.rsqrt
// CHECK: functional.return
functional.func @no_fold_as_the_convolution_is_read_elsewhere(%x: !x, %w: !w, %c: !c, %mean: !c, %var: !c, %g: !c, %b: !c) {
  %0 = functional.convolution(%x, %w, %c) {stride = [1, 1], padding = [1, 1], dilation = [1, 1]} : !y
  %1, %2, %3, %4, %5 = functional.batch_norm(%0, %mean, %var, %g; %b) {training = false, momentum = 0.1, eps = 1e-05} : (!y, !n, !n, !c, !c)
  functional.return(%1, %0)
}
