// RUN: lect-opt %s -p functional-to-loop --split-input-file --verify-diagnostics | filecheck %s

// Permute and reshape only change index maps; the result keeps the strides of its type, and its nest walks memory in order.
// CHECK-LABEL: loop.func @views_vanish(%x: !loop.buffer<8x16xf32>)
// CHECK:         loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>}
// CHECK:           loop.exp
// CHECK:         %[[R:.*]] = loop.nest @n1({{.*}}) {space = #loop.space<d0: 8, d1: 4, d2: 4>} : !loop.buffer<8x4x4xf32>
// CHECK:           loop.load({{.*}}) {map = #loop.map<(d0, d1, d2) -> (d0 * 16 + d1 * 4 + d2)>} : f32
// CHECK:         loop.return(%[[R]]) {views = [#loop.view<4x4x8, strides [4, 1, 16]>]}
functional.func @views_vanish(%x: !functional.tensor<8x16xf32>) {
  %0 = functional.exp(%x) : !functional.tensor<8x16xf32>
  %1 = functional.permute(%0) {dims = [1, 0]} : !functional.tensor<16x8xf32, strides [1, 16]>
  %2 = functional.reshape(%1) {shape = [4, 4, 8]} : !functional.tensor<4x4x8xf32, strides [4, 1, 16]>
  %3 = functional.neg(%2) : !functional.tensor<4x4x8xf32, strides [4, 1, 16]>
  functional.return(%3)
}

// -----

// A formula on halves computes in f32 and rounds once, by the cast in front of the store.
// CHECK-LABEL: @halves_round_once
// CHECK:         %[[X:.*]] = loop.load(%x) {{.*}} : bf16
// CHECK-NEXT:    %[[W:.*]] = loop.cast(%[[X]]) : f32
// CHECK-NEXT:    loop.neg(%[[W]]) : f32
// CHECK:         %[[Q:.*]] = loop.div(%[[W]], {{.*}}) : f32
// CHECK-NEXT:    %[[H:.*]] = loop.cast(%[[Q]]) : bf16
// CHECK-NEXT:    loop.store(%[[H]])
// CHECK-NOT:     loop.cast
functional.func @halves_round_once(%x: !functional.tensor<32xbf16>) {
  %0 = functional.silu(%x) : !functional.tensor<32xbf16>
  functional.return(%0)
}

// -----

// CHECK-LABEL: @softmax_is_one_block
// CHECK-COUNT-1: loop.nest
// CHECK:         %[[X:.*]] = loop.load
// CHECK-NEXT:    %[[M:.*]] = loop.reduce(%[[X]]) {kind = "max", over = [1]} : f32
// CHECK-NEXT:    %[[D:.*]] = loop.sub(%[[X]], %[[M]]) : f32
// CHECK-NEXT:    %[[E:.*]] = loop.exp(%[[D]]) : f32
// CHECK-NEXT:    %[[S:.*]] = loop.reduce(%[[E]]) {kind = "sum", over = [1]} : f32
// CHECK-NEXT:    loop.div(%[[E]], %[[S]]) : f32
functional.func @softmax_is_one_block(%x: !functional.tensor<4x32xf32>) {
  %0 = functional.softmax(%x) {dim = 1} : !functional.tensor<4x32xf32>
  functional.return(%0)
}

// -----

// A library call sees its operands as strided views; the transposed weight needs no copy.
// CHECK-LABEL: @library_call
// CHECK-NEXT:    loop.extern @e0(%b, %x, %w) {callee = @aten.addmm.default, views = [#loop.view<8>, #loop.view<4x16>, #loop.view<16x8, strides [1, 16]>],
// CHECK-SAME:      args = [#loop.operand<0>, #loop.operand<1>, #loop.operand<2>], result_views = [#loop.view<4x8>]} : !loop.buffer<4x8xf32>
functional.func @library_call(%b: !functional.tensor<8xf32>, %x: !functional.tensor<4x16xf32>, %w: !functional.tensor<8x16xf32>) {
  %0 = functional.permute(%w) {dims = [1, 0]} : !functional.tensor<16x8xf32, strides [1, 16]>
  %1 = functional.addmm(%b, %x, %0) : !functional.tensor<4x8xf32>
  functional.return(%1)
}

// -----

// Where eager's reshape copies, the library gets a copy as well: no view has that order.
// CHECK-LABEL: @no_view_for_the_library_where_eager_copies
// CHECK:         %[[C:.*]] = loop.nest @n0(%x) {space = #loop.space<d0: 32, d1: 4>}
// CHECK:           loop.load(%x) {map = #loop.map<(d0, d1) -> ((d0 mod 2) * 64 + d1 * 16 + d0 floordiv 2)>}
// CHECK:         loop.extern @e1(%[[C]], %w)
functional.func @no_view_for_the_library_where_eager_copies(%x: !functional.tensor<8x16xf32>, %w: !functional.tensor<4x4xf32>) {
  %0 = functional.permute(%x) {dims = [1, 0]} : !functional.tensor<16x8xf32, strides [1, 16]>
  %1 = functional.reshape(%0) {shape = [32, 4]} : !functional.tensor<32x4xf32>
  %2 = functional.mm(%1, %w) : !functional.tensor<32x4xf32>
  functional.return(%2)
}

// -----

// A result shares memory with an input only where eager's does.
// CHECK-LABEL: @no_shared_memory_without_an_alias
// CHECK:         %[[C:.*]] = loop.nest @n0(%x)
// CHECK:         loop.return(%[[C]], %x) {views = [#loop.view<128>, #loop.view<64, offset 64>]}
functional.func @no_shared_memory_without_an_alias(%x: !functional.tensor<8x16xf32>) {
  %0 = functional.reshape(%x) {shape = [128]} : !functional.tensor<128xf32>
  %1 = functional.slice(%0) {dim = 0, start = 64, end = 128} : !functional.tensor<64xf32>
  functional.return(%0, %1) {aliases = [none, ["input", 0, 64]]}
}

// -----

// A zero divisor raises: one i1 says whether there is none.
// CHECK-LABEL: @zero_divisors_are_looked_for
// CHECK:         loop.ne
// CHECK:         loop.reduce({{.*}}) {kind = "all", over = [0]} : i1
// CHECK:         loop.extern @e1({{.*}}) {callee = @aten._assert_async.msg, {{.*}} "ZeroDivisionError"
// CHECK:         loop.floor_div
functional.func @zero_divisors_are_looked_for(%x: !functional.tensor<8xi64>, %y: !functional.tensor<8xi64>) {
  %0 = functional.div(%x, %y) {mode = "floor"} : !functional.tensor<8xi64>
  functional.return(%0)
}

// -----

// Pieces of a cat are read where the index falls into them, and nowhere else.
// CHECK-LABEL: @cat_is_one_nest
// CHECK:         %[[I:.*]] = loop.index() {map = #loop.map<(d0) -> (d0)>} : i64
// CHECK:         %[[IN:.*]] = loop.ge(%[[I]], {{.*}}) : i1
// CHECK:         loop.load(%y; %[[IN]]) {map = #loop.map<(d0) -> (d0 - 4)>} : f32
// CHECK:         loop.select
functional.func @cat_is_one_nest(%x: !functional.tensor<4xf32>, %y: !functional.tensor<6xf32>) {
  %0 = functional.cat(%x, %y) {dim = 0} : !functional.tensor<10xf32>
  functional.return(%0)
}

// -----

// A parameter with gaps is the memory from its first to its last element.
// CHECK-LABEL: loop.func @strided_argument(%x: !loop.buffer<29xf32>) {arguments = [#loop.view<4x3, strides [8, 2]>]}
// CHECK:         loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 8 + d1 * 2)>} : f32
functional.func @strided_argument(%x: !functional.tensor<4x3xf32, strides [8, 2]>) {
  %0 = functional.sum(%x) {dims = [0, 1]} : !functional.tensor<f32>
  functional.return(%0)
}

// -----

// A sum of one element is that element added to zero, which -0.0 is not.
// CHECK-LABEL: @sum_of_one_element
// CHECK:         %[[X:.*]] = loop.load(%x)
// CHECK-NEXT:    %[[Z:.*]] = loop.const() {value = 0.0} : f32
// CHECK-NEXT:    %[[S:.*]] = loop.add(%[[X]], %[[Z]]) : f32
// CHECK-NEXT:    loop.store(%[[S]])
functional.func @sum_of_one_element(%x: !functional.tensor<4x1xf32>) {
  %0 = functional.sum(%x) {dims = [1]} : !functional.tensor<4xf32>
  functional.return(%0)
}

// -----

// A write copies a view into a view; a result in the written memory is that memory.
// CHECK-LABEL: loop.func @write_to_a_part(%x: !loop.buffer<3x4xf32>, %y: !loop.buffer<3xf32>)
// CHECK:         %[[N:.*]] = loop.nest @n0(%y)
// CHECK:         loop.write(%x, %[[N]]) {place = #loop.view<3, strides [4], offset 2>, view = #loop.view<3>}
// CHECK-NEXT:    loop.return(%x) {views = [#loop.view<3, strides [4], offset 2>]}
functional.func @write_to_a_part(%x: !functional.tensor<3x4xf32>, %y: !functional.tensor<3xf32>) {
  %0 = functional.neg(%y) {strides = [4]} : !functional.tensor<3xf32, strides [4]>
  functional.write(%x, %0) {offset = 2}
  functional.return(%0) {aliases = [["input", 0, 2]]}
}

// -----

// What is read from a written parameter for another is copied before; what is read from one that stays is not.
// CHECK-LABEL: loop.func @writes_that_swap
// CHECK:         %[[A:.*]] = loop.nest @n0(%y)
// CHECK:         %[[B:.*]] = loop.nest @n1(%x)
// CHECK:         loop.write(%x, %[[A]])
// CHECK-NEXT:    loop.write(%y, %[[B]])
// CHECK-NEXT:    loop.write(%z, %w)
functional.func @writes_that_swap(%x: !functional.tensor<8xf32>, %y: !functional.tensor<8xf32>, %z: !functional.tensor<8xf32>, %w: !functional.tensor<8xf32>) {
  functional.write(%x, %y)
  functional.write(%y, %x)
  functional.write(%z, %w)
  functional.return()
}

// -----

// The scattered part is read where the index falls into it, and nowhere else.
// CHECK-LABEL: @slice_scatter_is_one_nest
// CHECK:         %[[I:.*]] = loop.index() {map = #loop.map<(d0) -> (d0)>} : i64
// CHECK:         loop.load(%y; {{.*}}) {map = #loop.map<(d0) -> (d0 - 2)>} : f32
// CHECK:         loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
// CHECK:         loop.select
functional.func @slice_scatter_is_one_nest(%x: !functional.tensor<8xf32>, %y: !functional.tensor<3xf32>) {
  %0 = functional.slice_scatter(%x, %y) {dim = 0, start = 2, end = 5} : !functional.tensor<8xf32>
  functional.return(%0)
}

// -----

// The number of an element is its place in row-major order, wherever it is stored.
// CHECK-LABEL: loop.func @uniform_numbers
// CHECK:         %[[N:.*]] = loop.index() {map = #loop.map<(d0, d1) -> (d1 * 4 + d0)>} : i64
// CHECK-NEXT:    %[[K:.*]] = loop.load(%seed) {map = #loop.map<(d0, d1) -> (0)>} : i64
// CHECK-NEXT:    %[[S:.*]] = loop.const() {value = 7} : i64
// CHECK-NEXT:    %[[W:.*]] = loop.philox32(%[[K]], %[[S]], %[[N]]) : i64
// CHECK-NEXT:    %[[C:.*]] = loop.const() {value = 8} : i64
// CHECK-NEXT:    %[[B:.*]] = loop.shr(%[[W]], %[[C]]) : i64
// CHECK-NEXT:    %[[I:.*]] = loop.cast(%[[B]]) : i32
// CHECK-NEXT:    %[[F:.*]] = loop.cast(%[[I]]) : f32
// CHECK-NEXT:    %[[D:.*]] = loop.const() {value = 5.960464477539063e-08} : f32
// CHECK-NEXT:    %[[U:.*]] = loop.mul(%[[F]], %[[D]]) : f32
// CHECK-NEXT:    loop.store(%[[U]]) {map = #loop.map<(d0, d1) -> (d0 * 3 + d1)>}
functional.func @uniform_numbers(%seed: !functional.tensor<i64>) {
  %0 = functional.rand(%seed) {shape = [3, 4], element = f32, offset = 7, strides = [1, 3]} : !functional.tensor<3x4xf32, strides [1, 3]>
  functional.return(%0)
}

// -----

// CHECK-LABEL: loop.func @normal_numbers
// CHECK:         loop.philox64
// CHECK:         loop.log
// CHECK:         loop.sqrt
// CHECK:         loop.cos
// CHECK:         loop.cast({{.*}}) : bf16
functional.func @normal_numbers(%seed: !functional.tensor<i64>) {
  %0 = functional.randn(%seed) {shape = [8], element = bf16} : !functional.tensor<8xbf16>
  functional.return(%0)
}

// -----

// CHECK-LABEL: loop.func @integers
// CHECK:         loop.philox64
// CHECK-NOT:     loop.remainder
// CHECK:         loop.add
functional.func @integers(%seed: !functional.tensor<i64>) {
  %0 = functional.randint(%seed) {shape = [8], element = i64, high = 10, low = -3} : !functional.tensor<8xi64>
  functional.return(%0)
}

// -----

// A read at loaded places: every index is brought into its dim, and one i1 says whether all of them were in it.
// CHECK-LABEL: @index_reads_inside_of_its_dim
// CHECK:         %[[F:.*]] = loop.nest @n0(%i) {space = #loop.space<d0: 3>} : !loop.buffer<i1>
// CHECK:           loop.reduce({{.*}}) {kind = "all", over = [0]} : i1
// CHECK:         loop.extern @e1(%[[F]]) {callee = @aten._assert_async.msg
// CHECK:         loop.nest @n2(%i, %x) {space = #loop.space<d0: 3, d1: 4>}
// CHECK:           %[[I:.*]] = loop.load(%i) {map = #loop.map<(d0, d1) -> (d0)>} : i64
// CHECK:           %[[L:.*]] = loop.maximum(%[[I]], {{.*}}) : i64
// CHECK-NEXT:      %[[C:.*]] = loop.const() {value = 6} : i64
// CHECK-NEXT:      %[[H:.*]] = loop.minimum(%[[L]], %[[C]]) : i64
// CHECK-NEXT:      loop.load(%x, %[[H]]) {map = #loop.map<(d0, d1)[i0] -> (i0 * 4 + d1)>} : f32
functional.func @index_reads_inside_of_its_dim(%x: !functional.tensor<7x4xf32>, %i: !functional.tensor<3xi64>) {
  %0 = functional.index(%x, %i) {dims = [0], negative = false} : !functional.tensor<3x4xf32>
  functional.return(%0)
}

// -----

// Sums of halves at computed places are taken in f32 and rounded in the end; the dim of the index has an order.
// CHECK-LABEL: @scatter_updates_a_copy
// CHECK:         %[[B:.*]] = loop.nest @n2(%x) {space = #loop.space<d0: 4, d1: 9>} : !loop.buffer<4x9xf32>
// CHECK:         %[[U:.*]] = loop.nest @n3({{.*}}, %[[B]]) {space = #loop.space<d0: 4, d1: 3>} : !loop.buffer<4x9xf32>
// CHECK:           loop.update({{.*}}, %[[B]], {{.*}}) {kind = "sum", order = [1], map = #loop.map<(d0, d1)[i0] -> (d0 * 9 + i0)>}
// CHECK:         loop.nest @n4(%[[U]]) {{.*}} : !loop.buffer<4x9xbf16>
functional.func @scatter_updates_a_copy(%x: !functional.tensor<4x9xbf16>, %i: !functional.tensor<4x3xi64>, %s: !functional.tensor<4x3xbf16>) {
  %0 = functional.scatter(%x, %i, %s) {dim = 1, mode = "add"} : !functional.tensor<4x9xbf16>
  functional.return(%0)
}

// -----

// A slice with steps is chosen where it lies, as one without is.
// CHECK-LABEL: @slice_with_steps_is_one_nest
// CHECK-COUNT-1: loop.nest
// CHECK:         loop.fmod
// CHECK-NOT:     loop.nest
functional.func @slice_with_steps_is_one_nest(%x: !functional.tensor<8xf32>, %y: !functional.tensor<3xf32>) {
  %0 = functional.slice_scatter(%x, %y) {dim = 0, start = 2, end = 8, step = 2} : !functional.tensor<8xf32>
  functional.return(%0)
}

// -----

// What is put into an input of the graph stays a library call, which has a form in place.
// CHECK-LABEL: @no_nest_as_an_input_is_written
// CHECK:         loop.extern @e0({{.*}}) {callee = @aten.scatter.src
functional.func @no_nest_as_an_input_is_written(%x: !functional.tensor<4x9xf32>, %i: !functional.tensor<4x3xi64>, %s: !functional.tensor<4x3xf32>) {
  %0 = functional.scatter(%x, %i, %s) {dim = 1} : !functional.tensor<4x9xf32>
  functional.write(%x, %0)
  functional.return()
}

// -----

// A short row is sorted by two folds over pairs of places: how many elements come in front of each, and which one stands at a place.
// CHECK-LABEL: loop.func @sorts_a_short_row
// CHECK: loop.nest {{.*}}space = #loop.space<d0: 3, d1: 5, d2: 5>
// CHECK: loop.reduce({{.*}}kind = "sum"{{.*}}over = [2]
// CHECK: loop.nest {{.*}}space = #loop.space<d0: 3, d1: 5, d2: 5>
// CHECK-NOT: loop.extern
functional.func @sorts_a_short_row(%x: !functional.tensor<3x5xf32>) {
  %0, %1 = functional.sort(%x) {dim = 1, stable = true} : (!functional.tensor<3x5xf32>, !functional.tensor<3x5xi64>)
  functional.return(%0, %1)
}

// -----

// The order of equal elements is the library's where it is not stable.
// CHECK-LABEL: loop.func @no_nests_as_equal_elements_have_the_order_of_the_library
// CHECK: loop.extern{{.*}}aten.sort.stable
functional.func @no_nests_as_equal_elements_have_the_order_of_the_library(%x: !functional.tensor<3x20xf32>) {
  %0, %1 = functional.sort(%x) {dim = 1} : (!functional.tensor<3x20xf32>, !functional.tensor<3x20xi64>)
  functional.return(%0, %1)
}

// -----

// Special functions are scalar operations: one each, or a formula of some.
// CHECK-LABEL: loop.func @computes_special_functions
// CHECK: loop.modified_bessel_k1
// CHECK: loop.hermite_polynomial_h
// CHECK: %[[Z:.*]] = loop.zeta
// CHECK: loop.mul({{.*}}%[[Z]])
// CHECK: loop.frexp_mantissa
// CHECK: loop.frexp_exponent
// CHECK-NOT: loop.extern
functional.func @computes_special_functions(%x: !functional.tensor<9xf32>) {
  %0 = functional.bessel(%x) {kind = "modified_k1"} : !functional.tensor<9xf32>
  %1 = functional.orthopoly(%x) {kind = "hermite_h", other = 3.0} : !functional.tensor<9xf32>
  %2 = functional.polygamma(%x) {n = 3} : !functional.tensor<9xf32>
  %3, %4 = functional.frexp(%x) : (!functional.tensor<9xf32>, !functional.tensor<9xi32>)
  functional.return(%0, %1, %2, %3, %4)
}

// -----

// CHECK-LABEL: loop.func @no_nest_as_f16_has_no_neighbours_in_eager
// CHECK: loop.extern{{.*}}aten.nextafter
functional.func @no_nest_as_f16_has_no_neighbours_in_eager(%x: !functional.tensor<9xf16>, %y: !functional.tensor<9xf16>) {
  %0 = functional.nextafter(%x, %y) : !functional.tensor<9xf16>
  functional.return(%0)
}

// -----
// An index that is made of bounded numbers is not checked: no fold of it, no library call.
// CHECK-LABEL: loop.func @no_check_as_the_index_is_inside
// CHECK-NOT: loop.reduce
// CHECK-NOT: loop.extern
// CHECK: loop.return
functional.func @no_check_as_the_index_is_inside(%x: !functional.tensor<12xf32>, %i: !functional.tensor<4xi64>) {
  %0 = functional.clamp(%i) {max = 2, min = 0} : !functional.tensor<4xi64>
  %1 = functional.mul(%0) {other = 4} : !functional.tensor<4xi64>
  %2 = functional.iota() {size = 4} : !functional.tensor<4xi64>
  %3 = functional.add(%1, %2) : !functional.tensor<4xi64>
  %4 = functional.index(%x, %3) {dims = [0], negative = false} : !functional.tensor<4xf32>
  functional.return(%4)
}

// -----
// One number too far: the index is checked.
// CHECK-LABEL: loop.func @checked_as_the_index_may_be_outside
// CHECK: loop.reduce
// CHECK: loop.extern {{.*}}_assert_async
functional.func @checked_as_the_index_may_be_outside(%x: !functional.tensor<12xf32>, %i: !functional.tensor<4xi64>) {
  %0 = functional.clamp(%i) {max = 12, min = 0} : !functional.tensor<4xi64>
  %1 = functional.index(%x, %0) {dims = [0], negative = false} : !functional.tensor<4xf32>
  functional.return(%1)
}

// -----
// What is computed together is one nest with several results, which no reader computes again.
// CHECK-LABEL: loop.func @one_nest_for_several_tensors
// CHECK: %{{.*}}, %{{.*}} = loop.nest @n{{[0-9]+}}
// CHECK: loop.return
functional.func @one_nest_for_several_tensors(%x: !functional.tensor<8xf32>, %y: !functional.tensor<8xf32>) {
  %0 = functional.exp(%x) : !functional.tensor<8xf32>
  %1 = functional.sin(%y) : !functional.tensor<8xf32>
  %2, %3 = functional.together(%0, %1) : (!functional.tensor<8xf32>, !functional.tensor<8xf32>)
  %4 = functional.add(%2, %3) : !functional.tensor<8xf32>
  functional.return(%4)
}

// -----
// The gradient of the operand is one block with two folds along a row, those of the parameters one with two folds across the rows.
// CHECK-LABEL: loop.func @layer_norm_gradients
// CHECK: loop.nest @n0
// CHECK-COUNT-2: loop.reduce({{.*}}) {kind = "sum", over = [1]}
// CHECK: loop.nest @n1
// CHECK-COUNT-2: loop.reduce({{.*}}) {kind = "sum", over = [0]}
// CHECK-NOT: loop.extern
functional.func @layer_norm_gradients(%g: !functional.tensor<8x16xf32>, %x: !functional.tensor<8x16xf32>, %m: !functional.tensor<8x1xf32>, %r: !functional.tensor<8x1xf32>, %w: !functional.tensor<16xf32>) {
  %0, %1, %2 = functional.layer_norm_backward(%g, %x, %m, %r, %w) {normalized = [16]} : (!functional.tensor<8x16xf32>, !functional.tensor<16xf32>, !functional.tensor<16xf32>)
  functional.return(%0, %1, %2)
}

// -----
// CHECK-LABEL: loop.func @no_own_gradients_as_the_library_is_faster
// CHECK: loop.extern {{.*}}native_layer_norm_backward
functional.func @no_own_gradients_as_the_library_is_faster(%g: !functional.tensor<2048x768xf32>, %x: !functional.tensor<2048x768xf32>, %m: !functional.tensor<2048x1xf32>, %r: !functional.tensor<2048x1xf32>, %w: !functional.tensor<768xf32>) {
  %0, %1, %2 = functional.layer_norm_backward(%g, %x, %m, %r, %w) {normalized = [768]} : (!functional.tensor<2048x768xf32>, !functional.tensor<768xf32>, !functional.tensor<768xf32>)
  functional.return(%0, %1, %2)
}

// -----

// Sizes stay expressions; a number that is made of them is an index expression.
// CHECK-LABEL: loop.func @sizes_that_are_known_at_run_time
// CHECK-SAME:  s1 = {hint = 7, min = 2, argument = 0, dim = 1, divisor = 3}, s2 = {hint = 3, min = 2, argument = 1}}
// CHECK:       space = #loop.space<d0: s0, d1: 3, d2: s1>}
// CHECK:       {map = #loop.map<(d0, d1, d2) -> (d0 * s1 * 3 + d1 * s1 + d2)>}
// CHECK:       %[[COUNT:.*]] = loop.index() {map = #loop.map<(d0, d1, d2) -> (s1)>} : i64
// CHECK:       loop.cast(%[[COUNT]]) : f32
// CHECK:       loop.return({{.*}}) {views = [#loop.view<s2x3>]}
functional.func @sizes_that_are_known_at_run_time(%x: !functional.tensor<s0x(s1 * 3)xf32>, %n: !functional.tensor<i64>) {symbols = {s0 = {hint = 5, min = 2}, s1 = {hint = 7, min = 2}, s2 = {hint = 3, min = 2, argument = 1}}} {
  %0 = functional.reshape(%x) {shape = [#lect.size<s0>, 3, #lect.size<s1>]} : !functional.tensor<s0x3xs1xf32>
  %1 = functional.mean(%0) {dims = [2]} : !functional.tensor<s0x3xf32>
  %2 = functional.slice(%1) {dim = 0, start = 0, end = #lect.size<s2>} : !functional.tensor<s2x3xf32>
  functional.return(%2)
}

// -----

// A size that is the value of an element is an index expression.
// CHECK-LABEL: loop.func @size_as_a_number(
// CHECK:         %[[S:.*]] = loop.index() {map = #loop.map<() -> (s0 * 8)>} : i64
// CHECK-NEXT:    loop.store(%[[S]])
functional.func @size_as_a_number(%x: !functional.tensor<s0x8xf32>) {symbols = {s0 = {hint = 5, min = 2}}} {
  %0 = functional.full() {shape = [], value = #lect.size<s0 * 8>, element = i64} : !functional.tensor<i64>
  %1 = functional.cast(%0) {to = f32} : !functional.tensor<f32>
  %2 = functional.div(%x, %1) : !functional.tensor<s0x8xf32>
  functional.return(%2)
}

// -----

functional.func @no_form_of_a_resampling_of_such_sizes(%x: !functional.tensor<1x2xs0x8xf32>) {symbols = {s0 = {hint = 5, min = 2}}} {
  // expected-error @+1 {{the size s0 is known only at run time, and here it is reckoned with as a number}}
  %0 = functional.upsample(%x) {size = [#lect.size<s0 * 3>, 8], kind = "linear"} : !functional.tensor<1x2x(s0 * 3)x8xf32>
  functional.return(%0)
}

// -----
!t = !functional.tensor<4xf32>

// What the forward keeps for nothing but this is consumed; its arguments and results are somebody's.
// CHECK-LABEL: loop.func @f.backward({{.*}}) {consumed = [1]}
functional.func @f.backward(%x: !t, %k: !t, %r: !t, %tangent: !t) {training = {kept = [["input", 0], ["kept", 0], ["result", 0]], tangents = [0], gradients = [0]}} {
  %0 = functional.mul(%tangent, %k) : !t
  %1 = functional.mul(%0, %x) : !t
  %2 = functional.mul(%1, %r) : !t
  functional.return(%2)
}

// A number on the CPU joins the device of what it is computed with.
// CHECK-LABEL: loop.func @number_beside_a_gpu(
// CHECK-SAME: device = "cuda:0"
functional.func @number_beside_a_gpu(%x: !functional.tensor<8xi32, "cuda:0">) {
  %0 = functional.full() {shape = [], value = 1, element = i32} : !functional.tensor<i32>
  %1 = functional.maximum(%x, %0) : !functional.tensor<8xi32, "cuda:0">
  functional.return(%1)
}

// -----

// A copy that gives dims of size 1 other strides and nothing else, as a `select` does, is the memory it reads.
// CHECK-LABEL: @copy_of_dims_of_one
// CHECK-NOT:     loop.nest
// CHECK:         loop.extern @e0(%w) {{.*}}views = [#loop.view<1x2x16x8, strides [768, 8, 48, 1], offset 16>]
functional.func @copy_of_dims_of_one(%w: !functional.tensor<16x6x8xf32>) {
  %0 = functional.permute(%w) {dims = [1, 0, 2]} : !functional.tensor<6x16x8xf32, strides [8, 48, 1]>
  %1 = functional.slice(%0) {dim = 0, start = 2, end = 4} : !functional.tensor<2x16x8xf32, strides [8, 48, 1]>
  %2 = functional.reshape(%1) {shape = [1, 2, 16, 8]} : !functional.tensor<1x2x16x8xf32, strides [16, 8, 48, 1]>
  %3 = functional.copy(%2) {strides = [768, 8, 48, 1]} : !functional.tensor<1x2x16x8xf32, strides [768, 8, 48, 1]>
  %4, %5 = functional.attention(%3, %3, %3) {is_causal = true} : (!functional.tensor<1x2x16x8xf32, strides [256, 8, 16, 1]>, !functional.tensor<1x2x16xf32, strides [32, 1, 2]>)
  functional.return(%4)
}

// -----

// Not when a view of the copy is a result, which has memory of its own.
// CHECK-LABEL: @copy_that_is_shown_outside
// CHECK:         %[[C:.*]] = loop.nest @n0(%w)
// CHECK:         loop.extern @e1(%[[C]], %[[C]])
functional.func @copy_that_is_shown_outside(%w: !functional.tensor<1x16x8xf32>) {
  %0 = functional.copy(%w) {strides = [900, 8, 1]} : !functional.tensor<1x16x8xf32, strides [900, 8, 1]>
  %1 = functional.reshape(%0) {shape = [16, 8]} : !functional.tensor<16x8xf32>
  %2 = functional.permute(%1) {dims = [1, 0]} : !functional.tensor<8x16xf32, strides [1, 8]>
  %3 = functional.mm(%1, %2) : !functional.tensor<16x16xf32>
  functional.return(%1, %3)
}

// -----

// Nor when what it copies is written to.
// CHECK-LABEL: @copy_of_a_written_input
// CHECK:         %[[C:.*]] = loop.nest @n1(%w)
// CHECK:         loop.extern @e2(%[[C]])
functional.func @copy_of_a_written_input(%w: !functional.tensor<1x8x8xf32>) {
  %0 = functional.exp(%w) : !functional.tensor<1x8x8xf32>
  %1 = functional.copy(%w) {strides = [900, 8, 1]} : !functional.tensor<1x8x8xf32, strides [900, 8, 1]>
  %2 = functional.reshape(%1) {shape = [8, 8]} : !functional.tensor<8x8xf32>
  %3 = functional.mm(%2, %2) : !functional.tensor<8x8xf32>
  functional.write(%w, %0)
  functional.return(%3)
}
