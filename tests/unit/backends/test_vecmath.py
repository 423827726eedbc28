"""The vector mathematics of the CPU backend: values against a more precise oracle, every width, every target."""

import ctypes
import itertools
import math
import re
import zlib
from functools import cache

import numpy as np
import pytest
import torch

from lect.backends.llvm import jit, vecmath

FEATURES = vecmath.CpuFeatures.parse(jit.host_target().features)
FLOAT_FUNCTIONS = [key for key in vecmath.FUNCTIONS if key[1] in ("f32", "f64")]
WIDTHS = (1, 4, 8, 16, 64)
STORAGE = {"float": np.float32, "double": np.float64, "half": np.float16, "i16": np.int16, "i64": np.int64}
POINTS = 200_000
LIMIT = 2.0  # units in the last place
LIBM = {"sinf", "cosf", "tanf", "sin", "cos", "tan", "erfc", "pow"}

# Where each function is neither constant nor undefined; points are drawn from here besides random bit patterns.
RANGES = {
    "exp": (-750, 750),
    "exp2": (-1080, 1030),
    "expm1": (-40, 720),
    "sigmoid": (-750, 40),
    "sinh": (-711, 711),
    "cosh": (-711, 711),
    "tanh": (-20, 20),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atanh": (-1, 1),
    "erf": (-6, 6),
    "erfc": (-6, 27),
    "sin": (-200, 200),
    "cos": (-200, 200),
    "tan": (-200, 200),
}
F32_RANGES = {"exp": (-104, 89), "exp2": (-150, 129), "expm1": (-20, 89), "sigmoid": (-104, 20), "sinh": (-90, 90), "cosh": (-90, 90), "erfc": (-4, 10.1)}
SPECIALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 5e-324, -5e-324, 2.5, -2.5]
SPECIALS += [3e38, -3e38, 1e300, -1e300, 88.72283, 88.7229, -103.97, -104.5, 709.78, 709.79, -745.1, -746.0, 131072.0, 131073.0, 1e22, -1e22, 16777217.0]


class Compiled:
    """Every function of the library at one width, as functions over arrays."""

    def __init__(self, lanes, features):
        keys = sorted(vecmath.FUNCTIONS)
        loops = [vecmath.array_loop(*key, lanes, "_".join(key)) for key in keys]
        text = vecmath.functions(keys, {lanes}, features) + "\n".join(loops)
        self.code = jit.load_object(jit.compile_object(text, opt_level=2))
        self.lanes = lanes

    def __call__(self, op, element, *arrays):
        result, operands = vecmath.signature(op, element, 1)
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(operands) + 1), ctypes.c_int64)(self.code.address(f"{op}_{element}"))
        size = arrays[0].size
        padded = [np.resize(array, -(-size // self.lanes) * self.lanes) for array in arrays]
        out = np.empty(padded[0].size, STORAGE[result])
        function(*[array.ctypes.data for array in padded], out.ctypes.data, out.size)
        return out[:size]


@cache
def compiled(lanes, features=FEATURES):
    return Compiled(lanes, features)


def float_type(element):
    return {"f32": np.float32, "f64": np.float64}[element]


def random_bits(generator, element, count):
    unsigned = {"f32": np.uint32, "f64": np.uint64}[element]
    return generator.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True).view(float_type(element))


def specials(element):
    with np.errstate(over="ignore"):
        return np.array(SPECIALS).astype(float_type(element))


def points(op, element, arity):
    """Operands for `op`: a third random bit patterns, a third from its range, the rest near zero; and specials."""
    generator = np.random.default_rng(zlib.crc32(f"{op} {element}".encode()))
    low, high = (F32_RANGES.get(op) if element == "f32" else None) or RANGES.get(op, (-100, 100))
    third = POINTS // 3
    operands = []
    for _ in range(arity):
        near_zero = generator.uniform(-1, 1, third) * 2.0 ** generator.integers(-60, 6, third)
        parts = [random_bits(generator, element, third), generator.uniform(low, high, third), near_zero, specials(element)]
        operands.append(np.concatenate([part.astype(float_type(element)) for part in parts]))
    if op == "pow":
        moderate = slice(third, 2 * third)
        operands[0][moderate] = np.abs(operands[0][moderate]) ** generator.choice([1, 0.1, -1], third)
        operands[1][moderate] = generator.uniform(-12, 12, third)
        operands[1][moderate][::3] = np.round(operands[1][moderate][::3])
    elif arity == 2:
        for operand in operands:
            generator.shuffle(operand)
    return operands


def torch_reference(op, *operands):
    tensors = [torch.from_numpy(operand.astype(np.float64)) for operand in operands]
    if op == "sigmoid":  # torch.sigmoid goes to zero where exp(-x) overflows
        small = torch.exp(-tensors[0].abs())
        return (torch.where(tensors[0] < 0, small, torch.ones_like(small)) / (1 + small)).numpy()
    if op == "rsqrt":
        return (1 / torch.sqrt(tensors[0])).numpy()
    return getattr(torch, op)(*tensors).numpy()


def long_reference(op, *operands):
    """The function in the platform's long double, which has 11 bits or more beyond f64."""
    wide = [operand.astype(np.longdouble) for operand in operands]
    if op == "sigmoid":
        small = np.exp(-np.abs(wide[0]))
        return np.where(wide[0] < 0, small, 1) / (1 + small)
    if op == "rsqrt":
        return 1 / np.sqrt(wide[0])
    names = {
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "asinh": "arcsinh",
        "acosh": "arccosh",
        "atanh": "arctanh",
        "pow": "power",
        "atan2": "arctan2",
    }
    return getattr(np, names.get(op, op))(*wide)


def reference(op, element, *operands):
    with np.errstate(all="ignore"):
        if op in ("maximum", "minimum"):  # eager's loops and its remainders differ in which of two zeros they return
            a, b = operands
            return np.where(np.isnan(a), a, np.where(a > b if op == "maximum" else a < b, a, b))
        if element == "f32":
            return torch_reference(op, *operands)
        if op in ("erf", "erfc"):  # numpy has none; the C library's erf errs by less than a unit, and erfc of f64 is the C library's
            return np.vectorize(getattr(math, op), otypes=[np.float64])(*operands)
        return long_reference(op, *operands)


def errors_in_ulp(values, exact):
    """Distance from `exact` in units of the last place of the rounded exact value; infinite where NaN, an infinity or a zero's sign is wrong."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(values.dtype)
        distance = np.abs(values.astype(exact.dtype) - exact) / np.spacing(np.abs(rounded)).astype(exact.dtype)
    both_nan = np.isnan(values) & np.isnan(rounded)
    both_zero = (values == 0) & (rounded == 0)
    wrong_sign = both_zero & (np.signbit(values) != np.signbit(rounded))
    exact_kinds = ~np.isfinite(rounded) | ~np.isfinite(values)
    agree = both_nan | (values == rounded)
    return np.where(wrong_sign | (exact_kinds & ~agree), np.inf, np.where(exact_kinds, 0, distance)).astype(np.float64)


def assert_close(op, values, exact, operands):
    error = errors_in_ulp(values, exact)
    worst = int(np.argmax(error))
    at = ", ".join(repr(float(operand[worst])) for operand in operands)
    assert error[worst] <= LIMIT, f"{op}({at}) is {values[worst]!r}, expected {exact[worst]!r}: {error[worst]:.2f} ulp"


@pytest.mark.parametrize(("op", "element"), FLOAT_FUNCTIONS)
def test_values_are_within_two_ulp(op, element):
    if element == "f64" and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("this platform's long double is no wider than f64")
    _, types = vecmath.signature(op, element, 1)
    operands = points(op, element, len(types))
    assert_close(op, compiled(8)(op, element, *operands), reference(op, element, *operands), operands)


@pytest.mark.parametrize(("op", "element"), FLOAT_FUNCTIONS)
def test_special_values_are_those_of_eager(op, element):
    _, types = vecmath.signature(op, element, 1)
    values = specials(element)
    pairs = np.array(list(itertools.product(values, repeat=len(types)))).T.copy()
    operands = [row.copy() for row in pairs]
    assert_close(op, compiled(4)(op, element, *operands), reference(op, element, *operands), operands)


def with_one_nan(values):
    """Sign and payload of a NaN are not defined by LLVM."""
    return values if values.dtype.kind == "i" else np.where(np.isnan(values), np.array(np.nan, values.dtype), values)


@pytest.mark.parametrize(("op", "element"), sorted(vecmath.FUNCTIONS))
def test_every_width_gives_the_same_bits(op, element):
    _, types = vecmath.signature(op, element, 1)
    generator = np.random.default_rng(7)
    if element in ("f32", "f64"):
        operands = [np.concatenate([part[:4000] for part in np.array_split(operand, 4)]) for operand in points(op, element, len(types))]
    elif element == "i64":
        operands = list(generator.integers(-(2**63), 2**63 - 1, (len(types), 16_000)))
    else:
        bits = generator.integers(0, 2**32, 16_000, dtype=np.uint32)
        operands = [bits.view(np.float32) if types[0] == "float" else bits.astype(np.uint16).view(STORAGE[types[0]])]
    expected = with_one_nan(compiled(WIDTHS[0])(op, element, *operands))
    for lanes in WIDTHS[1:]:
        assert with_one_nan(compiled(lanes)(op, element, *operands)).tobytes() == expected.tobytes(), f"{lanes} lanes differ from one"


@pytest.mark.parametrize(("op", "element"), [key for key in FLOAT_FUNCTIONS if key[0] in ("exp", "exp2", "sinh", "cosh", "sigmoid", "tanh", "pow")])
def test_one_step_and_two_step_scaling_give_the_same_bits(op, element):
    _, types = vecmath.signature(op, element, 1)
    operands = [operand[:100_000] for operand in points(op, element, len(types))]
    one_step = with_one_nan(compiled(4, vecmath.CpuFeatures(vector_ldexp=True))(op, element, *operands))
    two_steps = with_one_nan(compiled(4, vecmath.CpuFeatures(vector_ldexp=False))(op, element, *operands))
    assert one_step.tobytes() == two_steps.tobytes()


@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_equal_operands_give_the_second_as_in_eager(op):
    # 64 elements, as eager's loop over a remainder takes the first operand
    a, b = np.tile(np.float32([0.0, -0.0, 0.0, -0.0]), 16), np.tile(np.float32([-0.0, 0.0, 0.0, -0.0]), 16)
    expected = getattr(torch, op)(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    assert compiled(4)(op, "f32", a, b).tobytes() == expected.tobytes()


# Half types


def test_bf16_widening_is_exact_for_every_number():
    stored = np.arange(2**16, dtype=np.uint16).view(np.int16)
    widened = compiled(16)("widen", "bf16", stored)
    assert np.array_equal(widened.view(np.uint32), stored.view(np.uint16).astype(np.uint32) << 16)


def half_points():
    generator = np.random.default_rng(3)
    ties = (generator.integers(0, 2**16, 40_000, dtype=np.uint32) << 16) + generator.choice([0, 0x7FFF, 0x8000, 0x8001, 0xFFFF], 40_000).astype(np.uint32)
    return np.concatenate([random_bits(generator, "f32", 80_000), ties.view(np.float32), specials("f32"), generator.normal(size=40_000).astype(np.float32)])


@pytest.mark.parametrize(("element", "dtype"), [("bf16", torch.bfloat16), ("f16", torch.float16)])
def test_narrowing_rounds_to_nearest_even_as_torch_does(element, dtype):
    values = half_points()
    expected = torch.from_numpy(values).to(dtype).view(torch.int16).numpy()
    narrowed = compiled(16)("narrow", element, values).view(np.int16)
    finite = ~np.isnan(values)
    assert np.array_equal(narrowed[finite], expected[finite])
    kept = torch.from_numpy(narrowed[~finite].copy()).view(dtype)
    assert kept.isnan().all()
    assert np.array_equal(narrowed[~finite] < 0, np.signbit(values[~finite])), "a NaN lost its sign"


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_rounding_is_narrowing_and_widening(element):
    values = half_points()
    run = compiled(16)
    assert run("round", element, values).tobytes() == run("widen", element, run("narrow", element, values)).tobytes()


# Text and targets


def called_functions(assembly):
    return {name.lstrip("*").split("@")[0] for name in re.findall(r"^\s+(?:callq?|bl)\s+(\S+)", assembly, re.M)}


def assembly_of(op, element, lanes, target):
    features = vecmath.CpuFeatures.parse(target.features)
    text = vecmath.functions({(op, element)}, {lanes}, features) + vecmath.array_loop(op, element, lanes, "run")
    return jit.emit_assembly(text, target, opt_level=1)


def unexpected_calls(assembly):
    return {name for name in called_functions(assembly) if name not in LIBM and "lect.each" not in name}


AVX2 = jit.Target("x86_64-unknown-linux-gnu", "x86-64-v3", "+avx2,+fma")
AVX512 = jit.Target("x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512f,+avx512vl,+avx512dq,+avx512bw")
AARCH64 = jit.Target("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon")


@pytest.mark.parametrize("target", [AVX2, AVX512, AARCH64], ids=["avx2", "avx512", "aarch64"])
@pytest.mark.parametrize(("op", "element"), sorted(set(vecmath.FUNCTIONS) - {("narrow", "f16"), ("widen", "f16"), ("round", "f16")}))
def test_no_function_is_taken_apart_into_library_calls(op, element, target):
    assert unexpected_calls(assembly_of(op, element, 16, target)) == set()


@pytest.mark.parametrize("op", ["widen", "narrow", "round"])
def test_f16_conversions_are_emitted_for_aarch64(op):
    assert unexpected_calls(assembly_of(op, "f16", 8, AARCH64)) == set()


def test_scaling_uses_the_instruction_where_there_is_one():
    assert "vscalef" in assembly_of("exp", "f32", 16, AVX512)
    keys = set(vecmath.FUNCTIONS)
    assert "ldexp" not in vecmath.functions(keys, {1, 16}, vecmath.CpuFeatures.parse(AVX2.features))
    assert "ldexp" not in vecmath.functions(keys, {1, 16}, vecmath.CpuFeatures.parse(AARCH64.features))


def test_products_of_random_words_are_one_instruction():
    """Two in each of ten rounds (but for what no result needs), as the high halves of the operands are not looked at."""
    assert 15 < assembly_of("philox_first", "i64", 4, AVX2).count("vpmuludq") <= 20
    assert 15 < assembly_of("philox_first", "i64", 8, AVX512).count("vpmuludq") <= 20


def test_the_last_mention_of_a_feature_counts():
    assert vecmath.CpuFeatures.parse("+avx2,+avx512f").vector_ldexp
    assert not vecmath.CpuFeatures.parse("+avx512f, -avx512f").vector_ldexp
    assert not vecmath.CpuFeatures.parse("").vector_ldexp


def test_each_function_is_written_once():
    keys = [("tan", "f32"), ("sin", "f32"), ("sin", "f32")]
    text = vecmath.functions(keys, [16, 8], FEATURES)
    defined = re.findall(r"define internal .* @(lect\S+)\(", text)
    expected = [f"lect.{name}.{shape}" for lanes in (8, 16) for name, shape in (("sin", f"f32x{lanes}"), ("tan", f"f32x{lanes}"))]
    expected += [f"lect.each.{symbol}.x{lanes}" for lanes in (8, 16) for symbol in ("sinf", "tanf")]
    assert sorted(defined) == sorted(expected)
    assert len(re.findall("^declare", text, re.M)) == 2
    assert text == vecmath.functions(set(keys), {8, 16}, FEATURES)


def test_names_tell_operation_type_and_width():
    assert vecmath.name("exp", "f32", 16) == "@lect.exp.f32x16"
    assert vecmath.name("exp", "f32", 1) == "@lect.exp.f32"


def test_unknown_function_and_odd_width_are_refused():
    with pytest.raises(KeyError, match="gamma"):
        vecmath.functions({("gamma", "f32")}, {8}, FEATURES)
    with pytest.raises(ValueError, match="power of two as the number of lanes, got 6"):
        vecmath.functions({("exp", "f32")}, {6}, FEATURES)


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op, element in FLOAT_FUNCTIONS if element == "f32" and len(vecmath.signature(op, element, 1)[1]) == 1])
def test_every_251st_bit_pattern_is_within_two_ulp(op):
    patterns = np.arange(0, 2**32, 251, dtype=np.uint64).astype(np.uint32)
    for part in np.array_split(patterns, 16):
        operand = part.view(np.float32)
        assert_close(op, compiled(16)(op, "f32", operand), reference(op, "f32", operand), [operand])
