// RUN: lect-opt %s -p functional-reinplace | filecheck %s

!cache = !functional.tensor<2x4x8xf32>
!row = !functional.tensor<2x1x8xf32>
!laid = !functional.tensor<2x1x8xf32, strides [32, 8, 1]>

// CHECK-LABEL: functional.func @writes_before_the_product_reads
// CHECK-NEXT: %[[S:.*]] = functional.slice_scatter(%cache, %k) {dim = 1, start = 2, end = 3, in_place = true}
// CHECK-NEXT: %[[P:.*]] = functional.permute(%[[S]])
// CHECK-NEXT: %[[B:.*]] = functional.bmm(%q, %[[P]])
// CHECK-NEXT: functional.write(%cache, %[[S]])
// CHECK-NEXT: functional.return(%[[B]])
functional.func @writes_before_the_product_reads(%cache: !cache, %q: !row, %k: !row) {
  %0 = functional.copy(%k) {strides = [32, 8, 1]} : !laid
  %1 = functional.slice_scatter(%cache, %0) {dim = 1, start = 2, end = 3} : !cache
  %2 = functional.permute(%1) {dims = [0, 2, 1]} : !functional.tensor<2x8x4xf32, strides [32, 1, 8]>
  %3 = functional.bmm(%q, %2) : !functional.tensor<2x1x4xf32>
  functional.write(%cache, %0) {offset = 16}
  functional.return(%3)
}

// CHECK-LABEL: functional.func @writes_two_slices
// CHECK-COUNT-2: in_place = true
// CHECK: functional.write(%cache, %{{.*}}) {versions = 2}
// CHECK-NEXT: functional.return
functional.func @writes_two_slices(%cache: !cache, %q: !row, %k: !laid, %v: !laid) {
  %0 = functional.slice_scatter(%cache, %k) {dim = 1, start = 2, end = 3} : !cache
  %1 = functional.slice_scatter(%0, %v) {dim = 1, start = 0, end = 1} : !cache
  %2 = functional.permute(%1) {dims = [0, 2, 1]} : !functional.tensor<2x8x4xf32, strides [32, 1, 8]>
  %3 = functional.bmm(%q, %2) : !functional.tensor<2x1x4xf32>
  functional.write(%cache, %k) {offset = 16, versions = 0}
  functional.write(%cache, %v) {versions = 2}
  functional.return(%3)
}

// CHECK-LABEL: functional.func @no_write_at_once_as_the_old_elements_are_read
// CHECK-NOT: in_place
// CHECK: functional.return
functional.func @no_write_at_once_as_the_old_elements_are_read(%cache: !cache, %q: !row, %k: !laid) {
  %0 = functional.slice_scatter(%cache, %k) {dim = 1, start = 2, end = 3} : !cache
  %1 = functional.permute(%0) {dims = [0, 2, 1]} : !functional.tensor<2x8x4xf32, strides [32, 1, 8]>
  %2 = functional.bmm(%q, %1) : !functional.tensor<2x1x4xf32>
  %3 = functional.sum(%cache) {dims = [0, 1, 2]} : !functional.tensor<f32>
  functional.write(%cache, %k) {offset = 16}
  functional.return(%2, %3)
}

// CHECK-LABEL: functional.func @no_write_at_once_as_the_readers_choose_elements
// CHECK-NOT: in_place
// CHECK: functional.return
functional.func @no_write_at_once_as_the_readers_choose_elements(%cache: !cache, %k: !laid) {
  %0 = functional.slice_scatter(%cache, %k) {dim = 1, start = 2, end = 3} : !cache
  %1 = functional.exp(%0) : !cache
  functional.write(%cache, %k) {offset = 16}
  functional.return(%1)
}

// CHECK-LABEL: functional.func @no_write_at_once_as_the_result_is_returned
// CHECK-NOT: in_place
// CHECK: functional.return
functional.func @no_write_at_once_as_the_result_is_returned(%cache: !cache, %q: !row, %k: !laid) {
  %0 = functional.slice_scatter(%cache, %k) {dim = 1, start = 2, end = 3} : !cache
  %1 = functional.permute(%0) {dims = [0, 2, 1]} : !functional.tensor<2x8x4xf32, strides [32, 1, 8]>
  %2 = functional.bmm(%q, %1) : !functional.tensor<2x1x4xf32>
  functional.write(%cache, %k) {offset = 16}
  functional.return(%2, %0)
}

// CHECK-LABEL: functional.func @no_write_at_once_as_another_place_is_written
// CHECK-NOT: in_place
// CHECK: functional.return
functional.func @no_write_at_once_as_another_place_is_written(%cache: !cache, %q: !row, %k: !laid) {
  %0 = functional.slice_scatter(%cache, %k) {dim = 1, start = 2, end = 3} : !cache
  %1 = functional.permute(%0) {dims = [0, 2, 1]} : !functional.tensor<2x8x4xf32, strides [32, 1, 8]>
  %2 = functional.bmm(%q, %1) : !functional.tensor<2x1x4xf32>
  functional.write(%cache, %k) {offset = 8}
  functional.return(%2)
}

// CHECK-LABEL: functional.func @no_write_at_once_of_part_of_a_result
// CHECK-NOT: in_place
// CHECK: functional.return
functional.func @no_write_at_once_of_part_of_a_result(%cache: !cache, %q: !row, %k: !laid) {
  %0 = functional.slice_scatter(%cache, %k) {dim = 1, start = 2, end = 3} : !cache
  %1 = functional.permute(%0) {dims = [0, 2, 1]} : !functional.tensor<2x8x4xf32, strides [32, 1, 8]>
  %2 = functional.bmm(%q, %1) : !functional.tensor<2x1x4xf32>
  functional.return(%2)
}
