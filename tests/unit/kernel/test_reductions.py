"""Native reductions against the reference: first, middle and last dims, every kind, values that must propagate."""

import pytest
import torch

from tests.unit.kernel.nests import check, check_many, contiguous, linear, nest_text, run_many, run_native, sample, sizes_text

ROWS = [1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 127, 200, 257, 1000]


def reduction(sizes, over, kind, element="f32"):
    kept = [size for k, size in enumerate(sizes) if k not in over]
    strides = iter(contiguous(kept))
    out = linear([0 if k in over else next(strides) for k in range(len(sizes))])
    body = f"""
    %0 = loop.load(%x) MAP({linear(contiguous(sizes))}) : {element}
    %1 = loop.reduce(%0) {{kind = "{kind}", over = {list(over)}}} : {element}
    loop.store(%1) MAP({out})"""
    return nest_text(sizes, [("x", sizes_text(sizes, element))], [("z", sizes_text(kept, element))], body)


SHAPES = [
    ([7, 33], [1]), ([7, 33], [0]), ([33, 7], [0]), ([4, 9, 35], [1]), ([4, 9, 35], [0, 2]), ([4, 9, 35], [0, 1]), ([4, 9, 35], [0, 1, 2]), ([300], [0]),
    ([2, 3, 4, 5, 6], [1, 3]), ([5, 1], [1]), ([1, 5], [0]), ([0, 5], [0]), ([5, 0], [1]), ([0, 5], [1]), ([65, 130], [0]), ([3, 100, 2], [1]),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_axes(kind):
    cases = [(reduction(sizes, over, kind), [sample(sizes, "f32", 1)]) for sizes, over in SHAPES]
    check_many(cases, rtol=1e-6 if kind == "sum" else 0.0, atol=1e-5 if kind == "sum" else 0.0)


@pytest.mark.parametrize("rows", [1, 3])
def test_row_lengths(rows):
    check_many([(reduction([rows, size], [1], "sum"), [sample([rows, size], "f32", size)]) for size in ROWS], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("over", [[0], [1]])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_nan_wins(over, kind):
    x = sample([37, 41], "f32", 5, special=True)
    check(reduction([37, 41], over, kind), [x])


@pytest.mark.parametrize("kind", ["max", "min"])
def test_nan_wins_wherever_it_stands_in_long_rows(kind):
    rows = torch.randn(5, 1103)
    for row, place in enumerate((0, 1102, 600, 1091)):  # the last row has none
        rows[row, place] = float("nan")
    planes = rows.repeat(2, 3, 1)
    planes[0] = torch.randn(15, 1103)
    cases = [(reduction([5, 1103], [1], kind), [rows]), (reduction([1103, 5], [0], kind), [rows.t().contiguous()])]
    check_many([*cases, (reduction([2, 15, 1103], [0, 2], kind), [planes]), (reduction([2, 15, 1103], [1, 2], kind), [planes])])


@pytest.mark.parametrize(
    ("kind", "element"),
    [("sum", "i64"), ("sum", "i32"), ("prod", "i64"), ("prod", "f64"), ("max", "i8"), ("min", "ui8"), ("max", "i64"), ("any", "i1"), ("all", "i1")]
    + [("xor", "i32"), ("sum", "f64"), ("min", "f64")],
)
def test_kinds(kind, element):
    x = sample([13, 37], element, 3)
    if kind == "prod" and element == "f64":
        x = x * 0.1 + 1
    tolerance = 1e-12 if element == "f64" else 0.0
    check_many([(reduction([13, 37], over, kind, element), [x]) for over in ([0], [1], [0, 1])], rtol=tolerance, atol=tolerance)


def softmax(rows, size, element="f32"):
    widen = "%0 = loop.cast(%h) : f32" if element != "f32" else ""
    narrow = f"%6 = loop.cast(%5) : {element}" if element != "f32" else ""
    body = f"""
    %{"h" if widen else "0"} = loop.load(%x) MAP({linear(contiguous([rows, size]))}) : {element}
    {widen}
    %1 = loop.reduce(%0) {{kind = "max", over = [1]}} : f32
    %2 = loop.sub(%0, %1) : f32
    %3 = loop.exp(%2) : f32
    %4 = loop.reduce(%3) {{kind = "sum", over = [1]}} : f32
    %5 = loop.div(%3, %4) : f32
    {narrow}
    loop.store(%{"6" if narrow else "5"}) MAP({linear(contiguous([rows, size]))})"""
    type = sizes_text([rows, size], element)
    return nest_text([rows, size], [("x", type)], [("z", type)], body)


def test_softmax():
    check_many([(softmax(5, size), [sample([5, size], "f32", size)]) for size in ROWS], rtol=1e-5, atol=1e-7)


def test_softmax_of_special_rows():
    x = sample([6, 50], "f32", 1)
    x[0, 3] = float("nan")
    x[1, 4] = float("inf")
    x[2, :] = float("-inf")
    x[3, 7] = float("-inf")
    check(softmax(6, 50), [x], rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(run_native(softmax(6, 50), [x])[0], torch.softmax(x, 1), rtol=1e-5, atol=1e-7, equal_nan=True)


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_softmax_of_halves(element):
    x = sample([7, 77], element, 4)
    torch.testing.assert_close(run_native(softmax(7, 77, element), [x])[0], torch.softmax(x, 1))


def layer_norm(rows, size):
    at, last = linear(contiguous([rows, size])), "d1" if size > 1 else "0"
    body = f"""
    %0 = loop.load(%x) MAP({at}) : f32
    %1 = loop.reduce(%0) {{kind = "sum", over = [1]}} : f32
    %n = loop.const() {{value = {float(size)}}} : f32
    %2 = loop.div(%1, %n) : f32
    %3 = loop.sub(%0, %2) : f32
    %4 = loop.mul(%3, %3) : f32
    %5 = loop.reduce(%4) {{kind = "sum", over = [1]}} : f32
    %6 = loop.div(%5, %n) : f32
    %e = loop.const() {{value = 1e-05}} : f32
    %7 = loop.add(%6, %e) : f32
    %8 = loop.rsqrt(%7) : f32
    %9 = loop.mul(%3, %8) : f32
    %w = loop.load(%g) MAP({last}) : f32
    %10 = loop.mul(%9, %w) : f32
    loop.store(%10) MAP({at})"""
    type = sizes_text([rows, size], "f32")
    return nest_text([rows, size], [("x", type), ("g", f"{size}xf32")], [("z", type)], body)


@pytest.mark.parametrize("size", [1, 7, 16, 63, 100, 768])
def test_layer_norm(size):
    x, w = sample([9, size], "f32", 1), sample([size], "f32", 2)
    found = run_native(layer_norm(9, size), [x, w])[0]
    torch.testing.assert_close(found, torch.nn.functional.layer_norm(x, [size], w), rtol=1e-5, atol=1e-5)


def argument(sizes, over, kind, element="f32"):
    """argmax or argmin along one dim."""
    kept = [size for k, size in enumerate(sizes) if k != over]
    strides = iter(contiguous(kept))
    out = linear([0 if k == over else next(strides) for k in range(len(sizes))])
    position = f"d{over}" if sizes[over] > 1 else "0"
    body = f"""
    %0 = loop.load(%x) MAP({linear(contiguous(sizes))}) : {element}
    %1 = loop.index() MAP({position}) : i64
    %2 = loop.reduce_index(%0, %1) {{kind = "{kind}", over = [{over}]}} : i64
    loop.store(%2) MAP({out})"""
    return nest_text(sizes, [("x", sizes_text(sizes, element))], [("z", sizes_text(kept, "i64"))], body)


EXTREMES = [([5, 70], 1), ([70, 5], 0), ([3, 40, 9], 1), ([100], 0), ([4, 1], 1), ([33, 33], 0)]


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("case", ["plain", "special", "ties", "infinite"])
def test_position_of_the_extreme(kind, case):
    inputs = []
    for sizes, _ in EXTREMES:
        x = sample(sizes, "f32", 2, special=case == "special")
        if case == "ties":
            x = x.round()
        if case == "infinite":
            x = torch.full(sizes, float("-inf") if kind == "max" else float("inf"))
        inputs.append(x)
    found = run_many([argument(sizes, over, kind) for sizes, over in EXTREMES], [[x] for x in inputs])
    for x, (_, over), have in zip(inputs, EXTREMES, found):
        assert torch.equal(have[0], x.argmax(over) if kind == "max" else x.argmin(over))


def test_position_of_integers():
    """Where a value is the least of its type, and along two dims at once, where positions are compared."""
    x = torch.full((4, 50), -128, dtype=torch.int8)
    x[1, 7] = x[1, 9] = 3
    assert run_native(argument([4, 50], 1, "max", "i8"), [x])[0].tolist() == [0, 7, 0, 0]
    body = """
    %0 = loop.load(%x) MAP(d0 * 50 + d1) : i8
    %1 = loop.index() MAP(d0 * 50 + d1) : i64
    %2 = loop.reduce_index(%0, %1) {kind = "max", over = [0, 1]} : i64
    loop.store(%2) MAP(0)"""
    check(nest_text([4, 50], [("x", "4x50xi8")], [("z", "i64")], body), [x])


def test_a_constant_enters_a_sum_once_for_each_point():
    body = """
    %0 = loop.load(%x) MAP(d0) : f32
    %1 = loop.reduce(%0) {kind = "sum", over = [1]} : f32
    loop.store(%1) MAP(d0)"""
    check(nest_text([33, 21], [("x", "33xf32")], [("z", "33xf32")], body), [sample([33], "f32")], rtol=1e-6)


def test_middle_sum_and_what_depends_on_it():
    """A value that varies over the folded dim again behind the reduction, with the vectors along another dim."""
    body = f"""
    %0 = loop.load(%x) MAP({linear([19 * 40, 40, 1])}) : f32
    %1 = loop.reduce(%0) {{kind = "sum", over = [1]}} : f32
    %2 = loop.div(%0, %1) : f32
    loop.store(%2) MAP({linear([19 * 40, 40, 1])})"""
    x = sample([3, 19, 40], "f32").abs() + 0.1
    check(nest_text([3, 19, 40], [("x", "3x19x40xf32")], [("z", "3x19x40xf32")], body), [x], rtol=1e-5)


@pytest.mark.parametrize(("sizes", "over"), [([6, 50], 1), ([50, 6], 0), ([2, 33, 17], 1), ([100], 0), ([3, 1], 1), ([19, 23], 1), ([9, 3, 5], 1)])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_scan(sizes, over, kind):
    at = linear(contiguous(sizes))
    body = f"""
    %0 = loop.load(%x) MAP({at}) : f64
    %1 = loop.scan(%0) {{kind = "{kind}", over = {over}}} : f64
    loop.store(%1) MAP({at})"""
    type = sizes_text(sizes, "f64")
    check(nest_text(sizes, [("x", type)], [("z", type)], body), [sample(sizes, "f64")], rtol=1e-12, atol=1e-12)
