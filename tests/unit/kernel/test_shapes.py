"""Native kernels against the reference on shapes that no block size divides."""

import pytest
import torch

from tests.unit.kernel.nests import check, check_many, contiguous, linear, nest_text, sample, sizes_text

ODD = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63, 64, 65, 127, 129, 257, 1000]


def dense(sizes):
    return linear(contiguous(sizes))


def pointwise(sizes, element="f32"):
    type = sizes_text(sizes, element)
    body = f"""
    %0 = loop.load(%x) MAP({dense(sizes)}) : {element}
    %1 = loop.load(%y) MAP({dense(sizes)}) : {element}
    %2 = loop.mul(%0, %1) : {element}
    %3 = loop.add(%2, %0) : {element}
    loop.store(%3) MAP({dense(sizes)})"""
    return nest_text(sizes, [("x", type), ("y", type)], [("z", type)], body)


def test_lengths():
    check_many([(pointwise([size]), [sample([size], "f32", 1, special=True), sample([size], "f32", 2)]) for size in ODD])


def test_ranks():
    shapes = [[], [1], [1, 1, 1], [0, 4], [4, 0], [3, 5], [2, 1, 9], [2, 3, 4, 5], [2, 2, 3, 2, 7], [40, 63]]
    check_many([(pointwise(sizes), [sample(sizes, "f32", 1), sample(sizes, "f32", 2)]) for sizes in shapes])


@pytest.mark.parametrize("element", ["f32", "f64", "bf16", "i1", "i8", "i64"])
def test_transposed_operand(element):
    shapes = [[3, 5], [8, 8], [9, 17], [33, 40], [64, 1], [1, 7], [16, 100], [100, 16], [65, 129]]
    check_many([(chosen_from_transposed(sizes, element), [sample(sizes[::-1], element, 1), sample(sizes, element, 2)]) for sizes in shapes])


def chosen_from_transposed(sizes, element):
    """The elements of x.t() that equal those of y, else those of y."""
    rows, columns = sizes
    type = sizes_text(sizes, element)
    turned, straight = linear(contiguous([columns, rows])[::-1]), linear(contiguous(sizes))
    equal = "%2 = loop.eq(%0, %1) : i1"
    if element == "bf16":
        equal = "%a = loop.cast(%0) : f32\n    %b = loop.cast(%1) : f32\n    %2 = loop.eq(%a, %b) : i1"
    body = f"""
    %0 = loop.load(%x) MAP({turned}) : {element}
    %1 = loop.load(%y) MAP({straight}) : {element}
    {equal}
    %3 = loop.select(%2, %0, %1) : {element}
    loop.store(%3) MAP({straight})"""
    return nest_text(sizes, [("x", type), ("y", type)], [("z", type)], body)


@pytest.mark.parametrize("sizes", [[5, 9], [40, 63], [17, 33, 5], [3, 130, 7]])
def test_transposed_result(sizes):
    """The store steps through memory in another order than the load."""
    strides = contiguous(sizes[::-1])[::-1]
    body = f"""
    %0 = loop.load(%x) MAP({dense(sizes)}) : f32
    %1 = loop.exp(%0) : f32
    loop.store(%1) MAP({linear(strides)})"""
    text = nest_text(sizes, [("x", sizes_text(sizes, "f32"))], [("z", sizes_text(sizes[::-1], "f32"))], body)
    check(text, [sample(sizes, "f32", 3)], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("sizes", "strides"), [([7, 33], [0, 1]), ([7, 33], [1, 0]), ([4, 9, 35], [0, 1, 9]), ([4, 9, 35], [2, 0, 16]), ([50], [3])])
def test_broadcast_and_strided_operand(sizes, strides):
    numel = 1 + sum((size - 1) * step for size, step in zip(sizes, strides))
    body = f"""
    %0 = loop.load(%x) MAP({dense(sizes)}) : f32
    %1 = loop.load(%y) MAP({linear(strides)}) : f32
    %2 = loop.sub(%0, %1) : f32
    loop.store(%2) MAP({dense(sizes)})"""
    type = sizes_text(sizes, "f32")
    text = nest_text(sizes, [("x", type), ("y", f"{numel}xf32")], [("z", type)], body)
    check(text, [sample(sizes, "f32", 1), sample([numel], "f32", 2)])


def test_slice_into_a_larger_buffer():
    body = """
    %0 = loop.load(%x) MAP(d0 * 7 + d1 + 3) : f32
    loop.store(%0) MAP(d1 * 5 + d0)"""
    check(nest_text([5, 4], [("x", "5x7xf32")], [("z", "4x5xf32")], body), [sample([5, 7], "f32")])


def test_division_in_a_map():
    """Repeating every element three times: the address of the load takes a quotient."""
    body = """
    %0 = loop.load(%x) MAP(d0 floordiv 3) : f32
    %1 = loop.index() MAP(d0 mod 3 - 1) : i64
    %2 = loop.cast(%1) : f32
    %3 = loop.add(%0, %2) : f32
    loop.store(%3) MAP(d0)"""
    check(nest_text([51], [("x", "17xf32")], [("z", "51xf32")], body), [sample([17], "f32")])


def test_one_graph_many_nests_share_a_kernel():
    from lect.dialects import make_context
    from lect.passes.manager import PassManager
    from tests.unit.kernel.nests import PIPELINE, parsed

    once = """  %{0} = loop.nest @{0}(%{1}) {{space = #loop.space<d0: 50>}} : !loop.buffer<50xf32> {{
  ^bb0(%d0: index):
    %0 = loop.load(%{1}) {{map = #loop.map<(d0) -> (d0)>}} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {{map = #loop.map<(d0) -> (d0)>}}
  }}
"""
    text = "loop.func @f(%x: !loop.buffer<50xf32>) {\n" + once.format("a", "x") + once.format("b", "a")
    text += "  loop.return(%b) {views = [#loop.view<50>]}\n}\n"
    ctx = make_context()
    module = parsed(text, ctx)
    PassManager.parse(PIPELINE).run(module, ctx)
    assert sum(op.name == "kernel.func" for op in module.body) == 1
    x = sample([50], "f32")
    check(text, [x])
    assert torch.equal(x, sample([50], "f32"))
