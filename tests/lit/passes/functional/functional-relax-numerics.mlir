// RUN: lect-opt %s -p 'functional-relax-numerics{numerics=fused},cse' | filecheck %s
// RUN: lect-opt %s -p functional-relax-numerics | filecheck %s --check-prefix=EAGER

!h = !functional.tensor<4x8xbf16>

// EAGER-LABEL: functional.func @rounds_once_at_the_end
// EAGER-NOT: functional.cast
// EAGER: functional.return
// CHECK-LABEL: functional.func @rounds_once_at_the_end
// CHECK-NEXT: %[[X:.*]] = functional.cast(%x) {to = f32}
// CHECK-NEXT: %[[Y:.*]] = functional.cast(%y) {to = f32}
// CHECK-NEXT: %[[M:.*]] = functional.mul(%[[X]], %[[Y]]) : !functional.tensor<4x8xf32>
// CHECK-NEXT: %[[P:.*]] = functional.permute(%[[M]]) {dims = [1, 0]} : !functional.tensor<8x4xf32, strides [1, 8]>
// CHECK-NEXT: %[[S:.*]] = functional.softmax(%[[P]]) {dim = 1} : !functional.tensor<8x4xf32>
// CHECK-NEXT: %[[R:.*]] = functional.cast(%[[S]]) {to = bf16} : !functional.tensor<8x4xbf16>
// CHECK-NEXT: functional.return(%[[R]])
functional.func @rounds_once_at_the_end(%x: !h, %y: !h) {
  %0 = functional.mul(%x, %y) : !h
  %1 = functional.permute(%0) {dims = [1, 0]} : !functional.tensor<8x4xbf16, strides [1, 8]>
  %2 = functional.softmax(%1) {dim = 1} : !functional.tensor<8x4xbf16>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @cheap_values_may_have_several_readers
// CHECK: functional.add(%{{.*}}, %{{.*}}) : !functional.tensor<4x8xf32>
// CHECK: functional.exp(%{{.*}}) : !functional.tensor<4x8xf32>
// CHECK: functional.sum(%{{.*}}) {dims = [1]} : !functional.tensor<4xf32>
functional.func @cheap_values_may_have_several_readers(%x: !h, %y: !h) {
  %0 = functional.add(%x, %y) : !h
  %1 = functional.exp(%0) : !h
  %2 = functional.sum(%0) {dims = [1]} : !functional.tensor<4xbf16>
  functional.return(%1, %2)
}

// CHECK-LABEL: functional.func @no_change_as_a_costly_value_has_two_readers
// CHECK-NOT: functional.cast
// CHECK: functional.return
functional.func @no_change_as_a_costly_value_has_two_readers(%x: !h) {
  %0 = functional.exp(%x) : !h
  %1 = functional.neg(%0) : !h
  %2 = functional.sum(%0) {dims = [1]} : !functional.tensor<4xbf16>
  functional.return(%1, %2)
}

// CHECK-LABEL: functional.func @no_change_as_a_library_reads_it
// CHECK-NOT: functional.cast
// CHECK: functional.return
functional.func @no_change_as_a_library_reads_it(%x: !h, %w: !functional.tensor<8x8xbf16>) {
  %0 = functional.exp(%x) : !h
  %1 = functional.mm(%0, %w) : !h
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_change_as_it_is_returned
// CHECK-NOT: functional.cast
// CHECK: functional.return
functional.func @no_change_as_it_is_returned(%x: !h) {
  %0 = functional.mul(%x) {other = 3} : !h
  %1 = functional.exp(%0) : !h
  functional.return(%0, %1)
}

// A cast that the program asks for rounds.
// CHECK-LABEL: functional.func @no_change_of_a_cast_of_the_program
// CHECK-NEXT: functional.cast(%x) {to = bf16}
// CHECK-NEXT: functional.cast(%{{.*}}) {to = f32}
// CHECK-NEXT: functional.exp
functional.func @no_change_of_a_cast_of_the_program(%x: !functional.tensor<4x8xf32>) {
  %0 = functional.cast(%x) {to = bf16} : !h
  %1 = functional.cast(%0) {to = f32} : !functional.tensor<4x8xf32>
  %2 = functional.exp(%1) : !functional.tensor<4x8xf32>
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_change_as_the_meaning_hangs_on_the_type
// CHECK-NOT: functional.cast
// CHECK: functional.return
functional.func @no_change_as_the_meaning_hangs_on_the_type(%x: !h, %y: !h) {
  %0 = functional.add(%x, %y) : !h
  %1 = functional.nextafter(%0, %y) : !h
  %2 = functional.mul(%x, %y) : !h
  %3 = functional.lt(%2, %y) : !functional.tensor<4x8xi1>
  functional.return(%1, %3)
}
