"""Every scalar operation as native code against the reference, with the values that break careless code."""

import pytest
import torch

from lect.dialects.scalars import SPECIAL, TABLE
from lect.ir.types import f32, f64, i1, i8, i16, i32, i64, ui8
from tests.unit.kernel.nests import check, compare, nest_text, run_many, run_native, run_reference, sample, sizes_text

SIZE = 77
SPELLED = {type.spelling: type for type in (f32, f64, i1, i8, i16, i32, i64, ui8)}
KINDS = {"f32": "float", "f64": "float", "i1": "bool", "i8": "signed", "i16": "signed", "i32": "signed", "i64": "signed", "ui8": "unsigned"}
APPROXIMATE = {"fma", "pow", "atan2", "hypot", "rsqrt", "erfc", "sigmoid"}


def operation(name, element):
    row = TABLE[name]
    loads = "\n".join([f"    %{letter} = loop.load(%{letter.upper()}) MAP(d0) : {element}" for letter in "abc"[: row.arity]])
    operands = ", ".join([f"%{letter}" for letter in "abc"[: row.arity]])
    result = "i1" if row.predicate else element
    body = f"{loads}\n    %r = loop.{name}({operands}) : {result}\n    loop.store(%r) MAP(d0)"
    inputs = [(letter, f"{SIZE}x{element}") for letter in "ABC"[: row.arity]]
    return nest_text([SIZE], inputs, [("z", f"{SIZE}x{result}")], body)


def operands(name, element):
    found = [sample([SIZE], element, seed, special=True) for seed in range(TABLE[name].arity)]
    if not TABLE[name].predicate and KINDS[element] in ("signed", "unsigned") and name in ("floor_div", "trunc_div", "remainder", "fmod"):
        found[1][found[1] == 0] = 3
    if name in ("shl", "shr"):
        found[1] = (found[1].to(torch.int64) % torch.iinfo(found[1].dtype).bits).to(found[1].dtype)
    if name in ("remainder", "floor_div", "fmod") and KINDS[element] == "float":
        found = [torch.where(value.isfinite() & (value.abs() < 1e9) & (value.abs() > 1e-9), value, 2.5) for value in found]
    return found


@pytest.mark.parametrize("element", KINDS)
def test_operations(element):
    """All operations on one element type, as one graph of many nests.  tests/unit/backends/test_special.py compares special functions with 40 digits."""
    left_out = SPECIAL if KINDS[element] == "float" else ()
    names = [name for name, row in TABLE.items() if row.takes(SPELLED[element]) and name not in left_out]
    texts = [operation(name, element) for name in names]
    inputs = [operands(name, element) for name in names]
    found = run_many(texts, inputs)
    for name, text, values, have in zip(names, texts, inputs, found):
        loose = KINDS[element] == "float" and (name in APPROXIMATE or not TABLE[name].predicate and TABLE[name].arity == 1)
        tolerance = {"f32": 3e-6, "f64": 1e-13}.get(element, 0.0) if loose else 0.0
        compare(run_reference(text, values), have, tolerance, tolerance * 1e-2, name)


@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
@pytest.mark.parametrize("name", ["floor_div", "trunc_div", "remainder", "fmod"])
def test_division_never_traps(name, element):
    a, b = operands(name, element)
    b[::3] = 0
    a[1::3], b[1::3] = torch.iinfo(a.dtype).min, -1
    found = run_native(operation(name, element), [a, b])[0]
    if "div" in name:
        assert (found[1::3] == torch.iinfo(a.dtype).min).all()
    else:
        assert (found[1::3] == 0).all()


@pytest.mark.parametrize("element", ["i8", "i32", "i64", "ui8"])
def test_shift_by_too_much(element):
    x = sample([SIZE], element, 1)
    amount = torch.full_like(x, torch.iinfo(x.dtype).bits)
    assert (run_native(operation("shl", element), [x, amount])[0] == 0).all()
    expected = torch.where(x < 0, -1, 0).to(x.dtype)
    assert torch.equal(run_native(operation("shr", element), [x, amount])[0], expected)


ELEMENTS = ["f32", "f64", "bf16", "f16", "i1", "i8", "ui8", "i16", "i32", "i64"]


@pytest.mark.parametrize("source", ELEMENTS)
def test_casts(source):
    floats = ("f32", "f64", "bf16", "f16")
    targets = [element for element in ELEMENTS if element != source]
    texts, inputs = [], []
    for target in targets:
        body = f"    %0 = loop.load(%x) MAP(d0) : {source}\n    %1 = loop.cast(%0) : {target}\n    loop.store(%1) MAP(d0)"
        x = sample([SIZE], source, 1, special=source in floats and target in (*floats, "i1"))
        x = x.abs() if source in floats and target == "ui8" else x
        inputs.append([x if source == "i1" else x * 3])
        texts.append(nest_text([SIZE], [("x", f"{SIZE}x{source}")], [("z", f"{SIZE}x{target}")], body))
    for text, values, have, target in zip(texts, inputs, run_many(texts, inputs), targets):
        compare(run_reference(text, values), have, what=target)


def test_rounding_to_a_half_and_back_is_one_rounding():
    body = """
    %0 = loop.load(%x) MAP(d0) : bf16
    %1 = loop.cast(%0) : f32
    %2 = loop.mul(%1, %1) : f32
    %3 = loop.cast(%2) : bf16
    %4 = loop.cast(%3) : f32
    %5 = loop.add(%4, %1) : f32
    %6 = loop.cast(%5) : bf16
    loop.store(%6) MAP(d0)"""
    x = sample([1000], "bf16", 1, special=True)
    found = run_native(nest_text([1000], [("x", "1000xbf16")], [("z", "1000xbf16")], body), [x])[0]
    torch.testing.assert_close(found, x * x + x, rtol=0, atol=0, equal_nan=True)


def test_products_and_sums_are_not_contracted():
    body = """
    %0 = loop.load(%x) MAP(d0) : f32
    %1 = loop.mul(%0, %0) : f32
    %2 = loop.sub(%1, %0) : f32
    loop.store(%2) MAP(d0)"""
    x = sample([4096], "f32", 1)
    found = run_native(nest_text([4096], [("x", "4096xf32")], [("z", "4096xf32")], body), [x])[0]
    assert torch.equal(found, x * x - x)


def test_gather_with_mask():
    """Rows picked by loaded numbers; where the number is out of range the load gives zero and touches nothing."""
    body = """
    %i = loop.load(%at) MAP(d0) : i64
    %low = loop.const() {value = 0} : i64
    %high = loop.const() {value = 11} : i64
    %a = loop.ge(%i, %low) : i1
    %b = loop.lt(%i, %high) : i1
    %ok = loop.and(%a, %b) : i1
    %0 = loop.load(%x, %i; %ok) MAP(i0 * 37 + d1) : f32
    loop.store(%0) MAP(d0 * 37 + d1)"""
    at = torch.tensor([0, 10, 3, -1, 11, 4, 1 << 40])
    check(nest_text([7, 37], [("at", "7xi64"), ("x", "11x37xf32")], [("z", "7x37xf32")], body), [at, sample([11, 37], "f32")])


@pytest.mark.parametrize("element", ["f32", "bf16", "i1", "i8", "i64"])
def test_gather_along_the_vectors(element):
    body = f"""
    %i = loop.load(%at) MAP(d0 * 37 + d1) : i64
    %0 = loop.load(%x, %i) MAP(d0 * 50 + i0) : {element}
    loop.store(%0) MAP(d0 * 37 + d1)"""
    at = torch.randint(0, 50, (5, 37), generator=torch.Generator().manual_seed(1))
    text = nest_text([5, 37], [("at", "5x37xi64"), ("x", f"5x50x{element}")], [("z", f"5x37x{element}")], body)
    check(text, [at, sample([5, 50], element)])


@pytest.mark.parametrize("element", ["f32", "bf16", "i1", "i8", "i64"])
def test_masked_load_of_a_padded_row(element):
    body = f"""
    %p = loop.index() MAP(d1) : i64
    %n = loop.const() {{value = 19}} : i64
    %in = loop.lt(%p, %n) : i1
    %0 = loop.load(%x; %in) MAP(d0 * 19 + d1) : {element}
    loop.store(%0) MAP(d0 * 37 + d1)"""
    text = nest_text([5, 37], [("x", f"5x19x{element}")], [("z", f"5x37x{element}")], body)
    check(text, [sample([5, 19], element)])


@pytest.mark.parametrize("sizes", [(5, 6), (3, 11), (7, 30)])
def test_padding_at_both_ends(sizes):
    """The last lanes of a row are beyond the operand, and so is the end of the row's only block."""
    rows, columns = sizes
    body = f"""
    %r = loop.index() MAP(d0 - 3) : i64
    %c = loop.index() MAP(d1 - 1) : i64
    %zero = loop.const() {{value = 0}} : i64
    %rows = loop.const() {{value = {rows}}} : i64
    %columns = loop.const() {{value = {columns}}} : i64
    %0 = loop.ge(%r, %zero) : i1
    %1 = loop.lt(%r, %rows) : i1
    %2 = loop.ge(%c, %zero) : i1
    %3 = loop.lt(%c, %columns) : i1
    %v = loop.load(%x; %0, %1, %2, %3) MAP(d0 * {columns} + d1 - {3 * columns + 1}) : f32
    %one = loop.const() {{value = 1.0}} : f32
    %w = loop.add(%v, %one) : f32
    loop.store(%w) MAP(d0 * {columns + 3} + d1)"""
    text = nest_text([rows + 7, columns + 3], [("x", sizes_text(sizes, "f32"))], [("z", sizes_text((rows + 7, columns + 3), "f32"))], body)
    check(text, [sample(sizes, "f32")])


@pytest.mark.parametrize("features", ["+avx2,+fma", ""])
def test_text_for_other_processors_gives_the_same(features):
    """Code without AVX-512 text, and without any vector feature, runs here too."""
    x = sample([SIZE], "f32", 1, special=True)
    body = "    %0 = loop.load(%x) MAP(d0) : f32\n    %1 = loop.exp(%0) : f32\n    loop.store(%1) MAP(d0)"
    text = nest_text([SIZE], [("x", f"{SIZE}xf32")], [("z", f"{SIZE}xf32")], body)
    here = run_native(text, [x])[0]
    there = run_native(text, [x], cpu_features=features, vector_bytes=16)[0]
    torch.testing.assert_close(here, there, rtol=0, atol=0, equal_nan=True)
