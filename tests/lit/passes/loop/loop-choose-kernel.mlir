// RUN: lect-opt %s -p loop-choose-kernel --target fma=1,vector_bytes=32,l1_bytes=32768,l2_bytes=524288 --split-input-file | filecheck %s
// RUN: lect-opt %s -p loop-choose-kernel --target=cuda:sm_90 --split-input-file | filecheck %s --check-prefix=GPU
// RUN: lect-opt %s -p loop-choose-kernel --target fma=1,vector_bytes=32,l1_bytes=32768,l2_bytes=524288 --split-input-file --tuning=%S/Inputs/products.tuning | filecheck %s --check-prefix=RECORD
// RUN: lect-opt %s -p loop-choose-kernel --target=cuda:sm_90 --split-input-file --tuning=%S/Inputs/products.tuning | filecheck %s --check-prefix=GPU-RECORD

// A record decides where a nest would do; a sum that is too long for a nest stays with the library.
// RECORD-LABEL: @takes_a_small_product_with_work_behind_it
// RECORD: loop.extern {{.*}}chosen = "library: as a record of tuning says"
// RECORD-LABEL: @no_nest_as_sums_are_long
// RECORD: loop.extern {{.*}}chosen = "library: sums of
// GPU-RECORD-LABEL: @takes_a_short_sum_by_tiles
// GPU-RECORD: loop.extern {{.*}}chosen = "library: as a record of tuning says"
// GPU-RECORD-LABEL: @leaves_a_long_sum_to_the_library_on_a_gpu
// GPU-RECORD: loop.nest {{.*}}chosen = "own tiles: as a record of tuning says"

// The call and the second reading of its result cost more than a nest that the pointwise work joins.
// CHECK-LABEL: @takes_a_small_product_with_work_behind_it
// CHECK-NEXT:    %0 = loop.nest @e0(%x, %w) {space = #loop.space<d0: 1, d1: 64, d2: 1, d3: 64, d4: 64>, realize = ["a product"], chosen = "own: 7.5 us against 10.7 us of the library"}
// CHECK:           loop.load(%x) {map = #loop.map<(d0, d1, d2, d3, d4) -> (d1 * 64 + d4)>}
// CHECK:           loop.load(%w) {map = #loop.map<(d0, d1, d2, d3, d4) -> (d4 * 64 + d3)>}
// CHECK:           loop.mul
// CHECK:           loop.reduce({{.*}}) {kind = "sum", over = [4], contract = true}
// CHECK:           loop.store({{.*}}) {map = #loop.map<(d0, d1, d2, d3, d4) -> (d1 * 64 + d3)>}
loop.func @takes_a_small_product_with_work_behind_it(%x: !loop.buffer<64x64xf32>, %w: !loop.buffer<64x64xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<64x64>, #loop.view<64x64>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<64x64>]} : !loop.buffer<64x64xf32>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 64, d1: 64>} : !loop.buffer<64x64xf32> {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %3 = loop.tanh(%2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  loop.return(%1) {views = [#loop.view<64x64>]}
}

// -----

// The library pays for each matrix.
// CHECK-LABEL: @takes_a_batch_of_tiny_products
// CHECK-NEXT:    loop.nest @e0(%x, %w) {space = #loop.space<d0: 256, d1: 8, d2: 1, d3: 8, d4: 8>, realize = ["graph output"], chosen = "own: {{.*}} against {{.*}} of the library"}
// CHECK:         loop.return
loop.func @takes_a_batch_of_tiny_products(%x: !loop.buffer<256x8x8xf32>, %w: !loop.buffer<256x8x8xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.bmm.default, views = [#loop.view<256x8x8>, #loop.view<256x8x8>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<256x8x8>]} : !loop.buffer<256x8x8xf32>
  loop.return(%0) {views = [#loop.view<256x8x8>]}
}

// -----

// A weight that lies row by row is turned into panels first; what the call adds is added behind the sum.
// CHECK-LABEL: @turns_the_second_matrix_into_panels
// CHECK-NEXT:    %[[P:.*]] = loop.nest @e0_panels(%w) {space = #loop.space<d0: 1, d1: 4, d2: 16, d3: 16>, realize = ["panels of 16 columns for @e0"]} : !loop.buffer<1x4x16x16xf32>
// CHECK:           loop.load(%w) {map = #loop.map<(d0, d1, d2, d3) -> (d1 * 256 + d3 * 16 + d2)>}
// CHECK:         loop.nest @e0(%x, %[[P]], %b) {space = #loop.space<d0: 1, d1: 4096, d2: 4, d3: 16, d4: 16>
// CHECK:           loop.load(%[[P]]) {map = #loop.map<(d0, d1, d2, d3, d4) -> (d2 * 256 + d4 * 16 + d3)>}
// CHECK:           %[[S:.*]] = loop.reduce({{.*}}) {kind = "sum", over = [4], contract = true}
// CHECK:           %[[B:.*]] = loop.load(%b) {map = #loop.map<(d0, d1, d2, d3, d4) -> (d2 * 16 + d3)>}
// CHECK:           loop.add(%[[S]], %[[B]])
loop.func @turns_the_second_matrix_into_panels(%b: !loop.buffer<64xf32>, %x: !loop.buffer<4096x16xf32>, %w: !loop.buffer<64x16xf32>) {
  %0 = loop.extern @e0(%b, %x, %w) {callee = @aten.addmm.default, views = [#loop.view<64>, #loop.view<4096x16>, #loop.view<16x64, strides [1, 16]>], args = [#loop.operand<0>, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4096x64>]} : !loop.buffer<4096x64xf32>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 4096, d1: 64>} : !loop.buffer<4096x64xf32> {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>} : f32
    %3 = loop.neg(%2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 64 + d1)>}
  }
  loop.return(%1) {views = [#loop.view<4096x64>]}
}

// -----

// CHECK-LABEL: @no_nest_as_the_library_is_faster
// CHECK-NEXT:    loop.extern @e0(%x, %w) {callee = @aten.mm.default, {{.*}}chosen = "library: {{.*}} against {{.*}} of a nest"}
loop.func @no_nest_as_the_library_is_faster(%x: !loop.buffer<256x256xf32>, %w: !loop.buffer<256x256xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<256x256>, #loop.view<256x256>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<256x256>]} : !loop.buffer<256x256xf32>
  loop.return(%0) {views = [#loop.view<256x256>]}
}

// -----

// CHECK-LABEL: @no_nest_as_sums_are_long
// CHECK-NEXT:    loop.extern @e0{{.*}}chosen = "library: sums of 1024 products are longer than 512"
loop.func @no_nest_as_sums_are_long(%x: !loop.buffer<8x1024xf32>, %w: !loop.buffer<1024x8xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<8x1024>, #loop.view<1024x8>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8x8>]} : !loop.buffer<8x8xf32>
  loop.return(%0) {views = [#loop.view<8x8>]}
}

// -----

// CHECK-LABEL: @no_nest_as_no_vector_is_filled
// CHECK-NEXT:    loop.extern @e0{{.*}}chosen = "library: 4 columns do not fill a vector register"
loop.func @no_nest_as_no_vector_is_filled(%x: !loop.buffer<8x8xf32>, %w: !loop.buffer<8x4xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<8x8>, #loop.view<8x4>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8x4>]} : !loop.buffer<8x4xf32>
  loop.return(%0) {views = [#loop.view<8x4>]}
}

// -----

// CHECK-LABEL: @no_nest_as_the_columns_are_no_whole_panels
// CHECK-NEXT:    loop.extern @e0{{.*}}chosen = "library: 20 columns are no whole panels of 16"
loop.func @no_nest_as_the_columns_are_no_whole_panels(%x: !loop.buffer<64x64xf32>, %w: !loop.buffer<20x64xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<64x64>, #loop.view<64x20, strides [1, 64]>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<64x20>]} : !loop.buffer<64x20xf32>
  loop.return(%0) {views = [#loop.view<64x20>]}
}

// -----

// Sums of halves are the library's.
// CHECK-LABEL: @no_choice_for_halves
// CHECK-NEXT:    loop.extern @e0
// CHECK-NOT:     chosen
// CHECK-LABEL: @no_choice_as_the_sum_has_a_factor
// CHECK-NEXT:    loop.extern @e0
// CHECK-NOT:     chosen
loop.func @no_choice_for_halves(%x: !loop.buffer<16x16xbf16>, %w: !loop.buffer<16x16xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<16x16>, #loop.view<16x16>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<16x16>]} : !loop.buffer<16x16xbf16>
  loop.return(%0) {views = [#loop.view<16x16>]}
}

loop.func @no_choice_as_the_sum_has_a_factor(%b: !loop.buffer<16xf32>, %x: !loop.buffer<16x16xf32>, %w: !loop.buffer<16x16xf32>) {
  %0 = loop.extern @e0(%b, %x, %w) {callee = @aten.addmm.default, views = [#loop.view<16>, #loop.view<16x16>, #loop.view<16x16>], args = [#loop.operand<0>, #loop.operand<1>, #loop.operand<2>], kwargs = {alpha = 2}, result_views = [#loop.view<16x16>]} : !loop.buffer<16x16xf32>
  loop.return(%0) {views = [#loop.view<16x16>]}
}

// -----

// A sum of 64 products waits for memory: on a GPU one kernel of tiles spares the second reading.
// GPU-LABEL: @takes_a_short_sum_by_tiles
// GPU-NEXT:    loop.nest @e0(%x, %w) {space = #loop.space<d0: 1, d1: 65536, d2: 256, d3: 64>, realize = ["a product"], chosen = "own tiles: {{.*}} us against {{.*}} us of the library and a kernel behind it"}
// GPU:           %[[A:.*]] = loop.load(%x) {map = #loop.map<(d0, d1, d2, d3) -> (d1 * 64 + d3)>} : bf16
// GPU:           loop.reduce({{.*}}) {kind = "sum", over = [3], contract = true} : f32
// GPU:           loop.cast({{.*}}) : bf16
loop.func @takes_a_short_sum_by_tiles(%x: !loop.buffer<65536x64xbf16>, %w: !loop.buffer<64x256xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<65536x64>, #loop.view<64x256>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<65536x256>]} : !loop.buffer<65536x256xbf16>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 65536, d1: 256>} : !loop.buffer<65536x256xbf16> {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 256 + d1)>} : bf16
    loop.store(%2) {map = #loop.map<(d0, d1) -> (d0 * 256 + d1)>}
  }
  loop.return(%1) {views = [#loop.view<65536x256>]}
}

// -----

// GPU-LABEL: @leaves_a_long_sum_to_the_library_on_a_gpu
// GPU-NEXT:    loop.extern @e0({{.*}}chosen = "library: {{.*}} us with a kernel behind it, against {{.*}} us of tiles"
loop.func @leaves_a_long_sum_to_the_library_on_a_gpu(%x: !loop.buffer<8192x8192xbf16>, %w: !loop.buffer<8192x8192xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<8192x8192>, #loop.view<8192x8192>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8192x8192>]} : !loop.buffer<8192x8192xbf16>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 67108864>} : !loop.buffer<67108864xbf16> {
  ^bb0(%d0: index):
    %2 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : bf16
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%1) {views = [#loop.view<67108864>]}
}

// -----

// The channels lie next to each other, so points of the image are rows.
// GPU-LABEL: @takes_a_convolution_of_points
// GPU-NEXT:    loop.nest @e0(%x, %w) {space = #loop.space<d0: 1, d1: 200704, d2: 256, d3: 64>, realize = ["a product"], chosen = "own tiles
// GPU:           loop.load(%x) {map = #loop.map<(d0, d1, d2, d3) -> (d1 * 64 + d3)>} : f16
// GPU:           loop.load(%w) {map = #loop.map<(d0, d1, d2, d3) -> (d2 * 64 + d3)>} : f16
loop.func @takes_a_convolution_of_points(%x: !loop.buffer<64x64x56x56xf16>, %w: !loop.buffer<256x64x1x1xf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.convolution.default, views = [#loop.view<64x64x56x56, strides [200704, 1, 3584, 64]>, #loop.view<256x64x1x1>], args = [#loop.operand<0>, #loop.operand<1>, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1], result_views = [#loop.view<64x256x56x56, strides [802816, 1, 14336, 256]>]} : !loop.buffer<64x256x56x56xf16>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 51380224>} : !loop.buffer<51380224xf16> {
  ^bb0(%d0: index):
    %2 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f16
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%1) {views = [#loop.view<51380224>]}
}

// -----

// GPU-LABEL: @takes_one_of_two_products_of_one_sum
// GPU-NEXT:    loop.nest @e0{{.*}}chosen = "own tiles
// GPU:         loop.extern @e1({{.*}}chosen = "library: another product joins the kernel behind it, and two have no room in registers"
loop.func @takes_one_of_two_products_of_one_sum(%x: !loop.buffer<65536x64xbf16>, %w: !loop.buffer<64x256xbf16>, %v: !loop.buffer<64x256xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<65536x64>, #loop.view<64x256>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<65536x256>]} : !loop.buffer<65536x256xbf16>
  %1 = loop.extern @e1(%x, %v) {callee = @aten.mm.default, views = [#loop.view<65536x64>, #loop.view<64x256>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<65536x256>]} : !loop.buffer<65536x256xbf16>
  %2 = loop.nest @n0(%0, %1) {space = #loop.space<d0: 65536, d1: 256>} : !loop.buffer<65536x256xbf16> {
  ^bb0(%d0: index, %d1: index):
    %3 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 256 + d1)>} : bf16
    %4 = loop.load(%1) {map = #loop.map<(d0, d1) -> (d0 * 256 + d1)>} : bf16
    %5 = loop.cast(%3) : f32
    %6 = loop.cast(%4) : f32
    %7 = loop.add(%5, %6) : f32
    %8 = loop.cast(%7) : bf16
    loop.store(%8) {map = #loop.map<(d0, d1) -> (d0 * 256 + d1)>}
  }
  loop.return(%2) {views = [#loop.view<65536x256>]}
}

// -----

// A small product takes no longer than a launch, so it is worth one with what stands behind it, in f32 too.
// CHECK-LABEL: @takes_a_small_product_of_floats
// GPU-LABEL: @takes_a_small_product_of_floats
// GPU-NEXT:    loop.nest @e0(%x, %w) {space = #loop.space<d0: 1, d1: 64, d2: 64, d3: 64>, realize = ["a product"], chosen = "own tiles
// GPU-NOT:       loop.cast
// GPU:           loop.reduce({{.*}}) {kind = "sum", over = [3], contract = true} : f32
loop.func @takes_a_small_product_of_floats(%x: !loop.buffer<64x64xf32>, %w: !loop.buffer<64x64xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<64x64>, #loop.view<64x64>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<64x64>]} : !loop.buffer<64x64xf32>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 4096>} : !loop.buffer<4096xf32> {
  ^bb0(%d0: index):
    %2 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%1) {views = [#loop.view<4096>]}
}

// -----

// Larger ones of f32 are the library's, which may shorten factors.
// GPU-LABEL: @leaves_large_products_of_floats_to_the_library
// GPU-NEXT:    loop.extern @e0({{.*}}chosen = "library: {{.*}} us with a kernel behind it, against {{.*}} us of tiles"
loop.func @leaves_large_products_of_floats_to_the_library(%x: !loop.buffer<4096x256xf32>, %w: !loop.buffer<256x256xf32>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<4096x256>, #loop.view<256x256>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<4096x256>]} : !loop.buffer<4096x256xf32>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 1048576>} : !loop.buffer<1048576xf32> {
  ^bb0(%d0: index):
    %2 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%1) {views = [#loop.view<1048576>]}
}

// -----

// What takes hardly longer than its start needs nothing behind it.
// GPU-LABEL: @takes_a_small_product_that_no_kernel_is_behind
// GPU-NEXT:    loop.nest @e0(%x, %w) {space = #loop.space<d0: 1, d1: 64, d2: 2304, d3: 768>, realize = ["a product"], chosen = "own tiles: 3.7 us against 4.0 us of the library"}
loop.func @takes_a_small_product_that_no_kernel_is_behind(%x: !loop.buffer<64x768xbf16>, %w: !loop.buffer<768x2304xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<64x768>, #loop.view<768x2304>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<64x2304>]} : !loop.buffer<64x2304xbf16>
  loop.return(%0) {views = [#loop.view<64x2304>]}
}

// -----

// GPU-LABEL: @leaves_a_larger_one_that_no_kernel_is_behind
// GPU-NEXT:    loop.extern @e0({{.*}}chosen = "library: no kernel behind it could take the product in"
loop.func @leaves_a_larger_one_that_no_kernel_is_behind(%x: !loop.buffer<64x768xbf16>, %w: !loop.buffer<768x50304xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<64x768>, #loop.view<768x50304>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<64x50304>]} : !loop.buffer<64x50304xbf16>
  loop.return(%0) {views = [#loop.view<64x50304>]}
}

// -----

// Few programs that add up long sums leave most processors idle: programs of their own add up parts, and what reads the product adds these, here a fold of rows.
// GPU-LABEL: @adds_up_long_sums_of_few_rows_in_parts
// GPU-NEXT:    %[[PARTS:.*]] = loop.nest @e0.part(%x, %w) {space = #loop.space<d0: 1, d1: [[COUNT:[248]]], d2: 64, d3: 768, d4: {{[0-9]+}}>, realize = ["sums of parts"], chosen = "own tiles: {{.*}} us in [[COUNT]] parts against 6.5 us of the library"} : !loop.buffer<1x[[COUNT]]x64x768xf32>
// GPU:         loop.nest @e0(%[[PARTS]]) {space = #loop.space<d0: 1, d1: 64, d2: 768>
// GPU-NOT:       loop.reduce
// GPU:         loop.nest @n0
loop.func @adds_up_long_sums_of_few_rows_in_parts(%x: !loop.buffer<64x3072xbf16>, %w: !loop.buffer<3072x768xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<64x3072>, #loop.view<3072x768>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<64x768>]} : !loop.buffer<64x768xbf16>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 64, d1: 768>} : !loop.buffer<64xbf16> {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 768 + d1)>} : bf16
    %3 = loop.cast(%2) : f32
    %4 = loop.reduce(%3) {kind = "sum", over = [1]} : f32
    %5 = loop.cast(%4) : bf16
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%1) {views = [#loop.view<64>]}
}

// -----

// GPU-LABEL: @not_in_parts_where_there_are_programs_enough
// GPU-NEXT:    loop.extern @e0
loop.func @not_in_parts_where_there_are_programs_enough(%x: !loop.buffer<8192x3072xbf16>, %w: !loop.buffer<3072x768xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<8192x3072>, #loop.view<3072x768>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<8192x768>]} : !loop.buffer<8192x768xbf16>
  %1 = loop.nest @n0(%0) {space = #loop.space<d0: 8192, d1: 768>} : !loop.buffer<8192xbf16> {
  ^bb0(%d0: index, %d1: index):
    %2 = loop.load(%0) {map = #loop.map<(d0, d1) -> (d0 * 768 + d1)>} : bf16
    %3 = loop.cast(%2) : f32
    %4 = loop.reduce(%3) {kind = "sum", over = [1]} : f32
    %5 = loop.cast(%4) : bf16
    loop.store(%5) {map = #loop.map<(d0, d1) -> (d0)>}
  }
  loop.return(%1) {views = [#loop.view<8192>]}
}

// -----

// GPU-LABEL: @not_in_parts_where_no_nest_adds_them
// GPU-NEXT:    {{.*}}@e0(
// GPU-NEXT:    loop.return
loop.func @not_in_parts_where_no_nest_adds_them(%x: !loop.buffer<64x3072xbf16>, %w: !loop.buffer<3072x768xbf16>) {
  %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, views = [#loop.view<64x3072>, #loop.view<3072x768>], args = [#loop.operand<0>, #loop.operand<1>], result_views = [#loop.view<64x768>]} : !loop.buffer<64x768xbf16>
  loop.return(%0) {views = [#loop.view<64x768>]}
}
