// RUN: lect-opt %s -p functional-split-batch-norm | filecheck %s

// CHECK-LABEL: functional.func @normalises_by_operations_of_its_own
// CHECK-NEXT: %[[OLD:.*]], %[[MEAN:.*]], %[[RSTD:.*]], %[[M:.*]], %[[V:.*]] = functional.batch_norm(%x, %m, %v, %w; %b) {training = true
// CHECK-NEXT: %[[SCALE:.*]] = functional.mul(%[[RSTD]], %w) : !functional.tensor<4xf32>
// CHECK-NEXT: %[[SHIFT:.*]] = functional.mul(%[[MEAN]], %[[SCALE]]) : !functional.tensor<4xf32>
// CHECK-NEXT: %[[COLUMN:.*]] = functional.reshape(%[[SCALE]]) {shape = [4, 1, 1]}
// CHECK-NEXT: %[[PRODUCT:.*]] = functional.mul(%x, %[[COLUMN]]) : !functional.tensor<8x4x6x6xf32>
// CHECK-NEXT: %[[REST:.*]] = functional.sub(%b, %[[SHIFT]]) : !functional.tensor<4xf32>
// CHECK-NEXT: %[[LAST:.*]] = functional.reshape(%[[REST]]) {shape = [4, 1, 1]}
// CHECK-NEXT: %[[NEW:.*]] = functional.add(%[[PRODUCT]], %[[LAST]]) : !functional.tensor<8x4x6x6xf32>
// CHECK-NEXT: functional.return(%[[NEW]], %[[M]], %[[V]])
functional.func @normalises_by_operations_of_its_own(%x: !functional.tensor<8x4x6x6xf32>, %m: !functional.tensor<4xf32>, %v: !functional.tensor<4xf32>, %w: !functional.tensor<4xf32>, %b: !functional.tensor<4xf32>) {
  %0, %1, %2, %3, %4 = functional.batch_norm(%x, %m, %v, %w; %b) {training = true, momentum = 0.1, eps = 1.0e-05} : (!functional.tensor<8x4x6x6xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  functional.return(%0, %3, %4)
}

// CHECK-LABEL: functional.func @keeps_the_layout_without_parameters
// CHECK: %[[SHIFT:.*]] = functional.mul(%{{.*}}, %{{.*}}) : !functional.tensor<4xf64>
// CHECK: %[[PRODUCT:.*]] = functional.mul(%x, %{{.*}}) : !functional.tensor<8x4x6xf64, strides [24, 1, 4]>
// CHECK-NEXT: %[[LAST:.*]] = functional.reshape(%[[SHIFT]]) {shape = [4, 1]}
// CHECK-NEXT: %[[NEW:.*]] = functional.sub(%[[PRODUCT]], %[[LAST]]) : !functional.tensor<8x4x6xf64, strides [24, 1, 4]>
// CHECK-NEXT: functional.return(%[[NEW]])
functional.func @keeps_the_layout_without_parameters(%x: !functional.tensor<8x4x6xf64, strides [24, 1, 4]>, %m: !functional.tensor<4xf64>, %v: !functional.tensor<4xf64>) {
  %0, %1, %2, %3, %4 = functional.batch_norm(%x, %m, %v) {training = true, momentum = 0.1, eps = 1.0e-05, strides = [[24, 1, 4], [1], [1], [1], [1]]} : (!functional.tensor<8x4x6xf64, strides [24, 1, 4]>, !functional.tensor<4xf64>, !functional.tensor<4xf64>, !functional.tensor<4xf64>, !functional.tensor<4xf64>)
  functional.return(%0)
}

// CHECK-LABEL: functional.func @no_split_as_halves_are_rounded_elsewhere
// CHECK-NOT: functional.mul
// CHECK: functional.return
functional.func @no_split_as_halves_are_rounded_elsewhere(%x: !functional.tensor<8x4xbf16>, %m: !functional.tensor<4xf32>, %v: !functional.tensor<4xf32>) {
  %0, %1, %2, %3, %4 = functional.batch_norm(%x, %m, %v) {training = true, momentum = 0.1, eps = 1.0e-05} : (!functional.tensor<8x4xbf16>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  functional.return(%0)
}

// CHECK-LABEL: functional.func @no_split_as_the_statistics_are_those_of_the_past
// CHECK-NOT: functional.mul
// CHECK: functional.return
functional.func @no_split_as_the_statistics_are_those_of_the_past(%x: !functional.tensor<8x4xf32>, %m: !functional.tensor<4xf32>, %v: !functional.tensor<4xf32>) {
  %0, %1, %2, %3, %4 = functional.batch_norm(%x, %m, %v) {training = false, momentum = 0.1, eps = 1.0e-05} : (!functional.tensor<8x4xf32>, !functional.tensor<0xf32>, !functional.tensor<0xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  functional.return(%0)
}

// CHECK-LABEL: functional.func @no_split_as_nobody_reads_the_result
// CHECK-NOT: functional.mul
// CHECK: functional.return
functional.func @no_split_as_nobody_reads_the_result(%x: !functional.tensor<8x4xf32>, %m: !functional.tensor<4xf32>, %v: !functional.tensor<4xf32>) {
  %0, %1, %2, %3, %4 = functional.batch_norm(%x, %m, %v) {training = true, momentum = 0.1, eps = 1.0e-05} : (!functional.tensor<8x4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  functional.return(%3)
}
