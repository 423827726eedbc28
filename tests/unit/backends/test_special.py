"""The special functions of the CPU backend: values against 40 digits, edges against eager, every width."""

import ctypes
import math
import zlib
from functools import cache

import numpy as np
import pytest
import torch
from mpmath import mp, mpf

from lect.backends.llvm import jit, vecmath
from lect.backends.special import ROUTINES
from lect.dialects.scalars import SPECIAL

FEATURES = vecmath.CpuFeatures.parse(jit.host_target().features)
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64}
FAST, SLOW = 16, 120
DIGITS = 40


@cache
def compiled(name, element, lanes=8):
    """One routine as a function over arrays."""
    text = vecmath.functions({(name, element)}, {lanes}, FEATURES) + vecmath.array_loop(name, element, lanes, "run")
    code = jit.load_object(jit.compile_object(text, opt_level=2))
    arity = ROUTINES[name].arity

    def run(*arrays, code=code):
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)(code.address("run"))
        size = arrays[0].size
        padded = [np.resize(np.asarray(array, DTYPES[element]), -(-size // lanes) * lanes) for array in arrays]
        out = np.empty(padded[0].size, DTYPES[element])
        function(*[array.ctypes.data for array in padded], out.ctypes.data, out.size)
        return out[:size]

    return run


# ---- the exact values ------------------------------------------------------------------------------------------------


def ndtri(p):
    """By Newton's method on the logarithm of the lesser share."""
    upper, z = p > 0.5, mpf(1)
    share = 1 - p if upper else p
    s = mp.sqrt(-2 * mp.log(share))
    z = mp.sqrt(s * s - mp.log(2 * mp.pi) - 2 * mp.log(s)) if s > 3 else mpf(1)
    for _ in range(80):
        tail = mp.erfc(z / mp.sqrt(2)) / 2
        step = (mp.log(tail) - mp.log(share)) * tail / (mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi))
        z += step
        if abs(step) < mpf(10) ** -35:
            break
    return z if upper else -z


def log_ndtr(x):
    """By the greater of the two shares where that is near 1."""
    tail = mp.erfc(abs(x) / mp.sqrt(2)) / 2
    return mp.log(tail) if x < 0 else mp.log1p(-tail)


EXACT = {
    "erfinv": mp.erfinv,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "ndtri": ndtri,
    "log_ndtr": log_ndtr,
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
    "digamma": mp.digamma,
    "trigamma": lambda x: mp.polygamma(1, x),
    "i0": lambda x: mp.besseli(0, x),
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
    "i1": lambda x: mp.besseli(1, x),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
    "bessel_j0": lambda x: mp.besselj(0, x),
    "bessel_j1": lambda x: mp.besselj(1, x),
    "bessel_y0": lambda x: mp.bessely(0, x),
    "bessel_y1": lambda x: mp.bessely(1, x),
    "modified_bessel_k0": lambda x: mp.besselk(0, x),
    "modified_bessel_k1": lambda x: mp.besselk(1, x),
    "scaled_modified_bessel_k0": lambda x: mp.besselk(0, x) * mp.exp(x),
    "scaled_modified_bessel_k1": lambda x: mp.besselk(1, x) * mp.exp(x),
    "spherical_bessel_j0": lambda x: mp.sin(x) / x,
    "airy_ai": mp.airyai,
}
RANGES = {
    "erfinv": (-1, 1), "erfcx": (-26, 60), "ndtri": (0, 1), "log_ndtr": (-60, 30), "lgamma": (-12, 60), "digamma": (-12, 60), "trigamma": (0.1, 60),
    "airy_ai": (-40, 60),
    **dict.fromkeys(("i0", "i0e", "i1", "i1e"), (-80, 80)),
    **dict.fromkeys(("bessel_j0", "bessel_j1", "spherical_bessel_j0"), (-60, 60)),
    **{name: (0, 60) for name in EXACT if "_k" in name or "_y" in name},
}  # fmt: skip
# Units in the last place of f64; where a function oscillates or has a zero, of the amplitude nearby (see `scale`).
LIMITS = {
    "lgamma": 4.0,
    "airy_ai": 6.0,
    "digamma": 12.0,
    "modified_bessel_k0": 7.0,
    "scaled_modified_bessel_k0": 7.0,
    "erfcx": 6.0,
    "log_ndtr": 6.0,
    "ndtri": 4.0,
}


def scale(name, x, exact):
    """What an error is measured against: the value, but not less than the amplitude of waves and of sums that cancel."""
    amplitude = 0.0
    if name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1") and abs(x) > 0.5:
        amplitude = 0.8 / math.sqrt(abs(x))
    elif name == "airy_ai" and x < -1:
        amplitude = 0.56 / abs(x) ** 0.25
    elif name in ("lgamma", "digamma"):
        amplitude = 1.0 if x > 0 else 4.0 + math.pi / max(abs(math.sin(math.pi * x)), 1e-3) if name == "digamma" else 4.0
    return max(abs(float(exact)), amplitude)


# trigamma is eager's with the sine of a rounded angle; erfcx of f32 overflows early.
RANGES_OF_SINGLE = {"trigamma": (0.5, 60), "erfcx": (-9, 60)}


def points(name, element, count):
    """Numbers from the function's range, near zero, and near the ends of probabilities."""
    generator = np.random.default_rng(zlib.crc32(f"{name} {element}".encode()))
    low, high = (RANGES_OF_SINGLE.get(name) if element == "f32" else None) or RANGES[name]
    parts = [generator.uniform(low, high, count), generator.uniform(max(low, -3), min(high, 3), count)]
    parts.append(2.0 ** generator.uniform(-30, 2, count // 2) * generator.choice([-1, 1], count // 2))
    if high == 1:
        parts.append(1 - 2.0 ** -generator.uniform(1, 23 if element == "f32" else 51, count))
    if name == "ndtri":
        parts.append(2.0 ** -generator.uniform(1, 120 if element == "f32" else 1000, count))
    x = np.concatenate(parts).astype(DTYPES[element])
    x = np.abs(x) if low >= 0 else x
    return x[(x > low) & (x < high) & (x != 0)]


def check_exact(name, element, count):
    x = points(name, element, count)
    found = compiled(name, element)(x)
    mp.dps = DIGITS
    exact = [EXACT[name](mpf(float(number))) for number in x]
    limit = LIMITS.get(name, 3.0) * 2.0**-52 + (0.51 * 2.0**-23 if element == "f32" else 0.0)
    for number, value, true in zip(x, found, exact):
        least = float(np.finfo(DTYPES[element]).tiny)
        error = float(abs(mpf(float(value)) - true)) / max(scale(name, float(number), true), least)
        assert error <= limit, f"{name}({number!r}) is {value!r}, expected {float(true)!r}: {error * 2.0**52:.1f} units of f64"


def test_every_special_operation_has_a_routine():
    assert set(ROUTINES) == set(SPECIAL)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(EXACT))
def test_values(name, element):
    check_exact(name, element, FAST)


@pytest.mark.slow
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(EXACT))
def test_many_values(name, element):
    check_exact(name, element, SLOW)


def eager(name, *arrays):
    """torch's function of that name."""
    own = {
        "trigamma": lambda x: torch.polygamma(1, x),
        "frexp_mantissa": lambda x: torch.frexp(x)[0],
        "frexp_exponent": lambda x: torch.frexp(x)[1].to(x.dtype),
    }
    function = own.get(name) or getattr(torch, name, None) or getattr(torch.special, name)
    return function(*[torch.from_numpy(array) for array in arrays]).numpy()


EDGES = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    1.0,
    -1.0,
    2.0,
    -2.0,
    -0.5,
    1e308,
    -1e308,
    800.0,
    -800.0,
    88.6,
    88.8,
    103.9,
    -26.65,
    -26.75,
    -9.4,
    8.0,
    5.0,
    0.375,
]


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(EXACT))
def test_edges_are_those_of_eager(name, element):
    """NaN, infinities and zeros where eager has them, with its signs; elsewhere eager's own error is allowed for."""
    with np.errstate(over="ignore"):
        x = np.array(EDGES).astype(DTYPES[element])
    if name.startswith(("bessel", "airy")):
        x = x[~((np.abs(x) > 20) & np.isfinite(x))]  # eager's waves lose their digits out there
    found, wanted = compiled(name, element, 4)(x), eager(name, x)
    for number, value, want in zip(x, found, wanted):
        same = (value == want and np.signbit(value) == np.signbit(want)) or (np.isnan(value) and np.isnan(want))
        underflow = max(abs(value), abs(want)) < 1.2e-38 and element == "f32"  # eager's exp rounds to zero before it is divided
        close = np.isfinite(value) and np.isfinite(want) and abs(value - want) <= 3e-5 * abs(want) and want != 0
        assert same or close or underflow, f"{name}({number!r}) is {value!r}, eager's {want!r}"


# ---- zeta and polynomials --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_zeta(element):
    generator = np.random.default_rng(1)
    x = np.concatenate([generator.uniform(1.01, 40, 60), np.arange(2.0, 32.0), [2.0, 3.0, 5.0, 61.0, 2.0, 62.0]])
    q = np.concatenate([generator.uniform(0.01, 60, 60), generator.uniform(-25, 60, 30), [-1000.5, -45.25, -31.75, -300.0625, 1e10, -40.5]])
    x, q = x.astype(DTYPES[element]), q.astype(DTYPES[element])
    found = compiled("zeta", element)(x, q)
    mp.dps = 3 * DIGITS
    for a, b, value in zip(x, q, found):
        true = zeta(mpf(float(a)), mpf(float(b)))
        if not np.finfo(DTYPES[element]).tiny < abs(true) < np.finfo(DTYPES[element]).max:
            continue
        error = abs(mpf(float(value)) - true) / abs(true)
        assert error < (30 * 2.0**-52 if element == "f64" else 0.51 * 2.0**-23), f"zeta({a!r}, {b!r}) is {value!r}, expected {float(true)!r}"


def zeta(x, q):
    """mpmath's, after steps up from below zero."""
    total = mpf(0)
    while q < 0:
        total += q ** -int(x) if x == int(x) else mp.nan
        q += 1
    return total + mp.zeta(x, q)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_zeta_edges(element):
    edges = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, 2.5, -2.0, -2.5, -0.5, 30.0, math.inf, -math.inf, math.nan])
    x, q = [grid.ravel().astype(DTYPES[element]) for grid in np.meshgrid(edges, edges)]
    np.testing.assert_allclose(compiled("zeta", element)(x, q), eager("zeta", x, q), rtol=1e-6 if element == "f32" else 1e-12, atol=1e-44)


# ---- incomplete gamma functions --------------------------------------------------------------------------------------


def gamma_operands(count):
    """Both sides of x = a, near it for large a, and small numbers."""
    generator = np.random.default_rng(4)
    a = 10 ** generator.uniform(-3, 3, 2 * count)
    x = a * 10 ** generator.uniform(-1.5, 0.7, 2 * count)
    large = 10 ** generator.uniform(1, 5, count)
    near = large * (1 + 2 * generator.normal(size=count) / np.sqrt(large))
    small = 10 ** generator.uniform(-6, 0.4, (2, count))
    return np.concatenate([a, large, small[0]]), np.abs(np.concatenate([x, near, small[1]]))


def check_gamma(name, element, count):
    a, x = [operand.astype(DTYPES[element]) for operand in gamma_operands(count)]
    found = compiled(name, element)(a, x)
    mp.dps = 2 * DIGITS
    for first, second, value in zip(a, x, found):
        bounds = (0, mpf(float(second))) if name == "igamma" else (mpf(float(second)), mp.inf)
        true = mp.gammainc(mpf(float(first)), *bounds, regularized=True)
        if true < np.finfo(DTYPES[element]).tiny:
            assert value < 2 * np.finfo(DTYPES[element]).tiny
            continue
        error = abs(mpf(float(value)) - true) / true
        assert error < (4e-13 if element == "f64" else 0.51 * 2.0**-23), f"{name}({first!r}, {second!r}) is {value!r}, expected {float(true)!r}"


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma(name, element):
    check_gamma(name, element, 20)


@pytest.mark.slow
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_many_values_of_incomplete_gamma(name, element):
    check_gamma(name, element, 120)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_edges(name, element):
    edges = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 30.0, 300.0, math.inf, -math.inf, math.nan, 1.1])
    a, x = [grid.ravel().astype(DTYPES[element]) for grid in np.meshgrid(edges, edges)]
    np.testing.assert_allclose(compiled(name, element)(a, x), eager(name, a, x), rtol=1e-5 if element == "f32" else 1e-9, atol=1e-37)


POLYNOMIALS = sorted(name for name in SPECIAL if "polynomial" in name)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_are_eager_s(name, element):
    generator = np.random.default_rng(2)
    x = np.concatenate(
        [generator.uniform(-3, 3, 200), generator.uniform(-1, 1, 200), np.tile([0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 0.5, 2.0, -3.0], 14)]
    )
    n = np.concatenate(
        [
            generator.integers(-2, 14, 200),
            generator.uniform(-2, 40, 200),
            np.repeat([-1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 9.0, 20.0, 2.7, -0.5, -math.inf, math.nan, 41.0], 10),
        ]
    )
    x, n = x.astype(DTYPES[element]), n.astype(DTYPES[element])
    found, wanted = compiled(name, element)(x, n), eager(name, x, n)
    # Rounding differs where products and sums are contracted, and in the trigonometric functions, by units of the greatest term.
    size = np.where(np.isfinite(wanted), np.maximum(1, np.abs(wanted)), 1)
    rough = 2e-4 if element == "f32" else 1e-12
    wanted = np.where(np.isnan(x) & (n >= 2), math.nan, wanted)  # eager returns what happened to be in a register
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | (np.abs(found - wanted) <= rough * size)
    worst = np.argmin(same)
    assert same.all(), f"{name}({x[worst]!r}, {n[worst]!r}) is {found[worst]!r}, eager's {wanted[worst]!r}"


def test_hermite_s_limit():
    x, n = np.array([0.1, 0.1, 0.1]), np.array([128.0, 129.0, math.inf])
    for name in ("hermite_polynomial_h", "hermite_polynomial_he"):
        np.testing.assert_allclose(compiled(name, "f32")(x, n), eager(name, x.astype(np.float32), n.astype(np.float32)), rtol=1e-3)


# ---- representation --------------------------------------------------------------------------------------------------


def bit_patterns(element, count=4000, seed=0):
    unsigned = {"f32": np.uint32, "f64": np.uint64}[element]
    bits = np.random.default_rng(seed).integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True)
    edges = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 1e-40, 1.0, -1.0]).astype(DTYPES[element])
    return np.concatenate([bits.view(DTYPES[element]), edges])


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", ["frexp_mantissa", "frexp_exponent"])
def test_frexp_of_bit_patterns(name, element):
    x = bit_patterns(element)
    np.testing.assert_array_equal(compiled(name, element)(x), eager(name, x))


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_nextafter_of_bit_patterns(element):
    x, y = bit_patterns(element), bit_patterns(element, seed=1)
    edges = [grid.ravel() for grid in np.meshgrid(x[-10:], x[-10:])]
    x, y = np.concatenate([x, x, edges[0]]), np.concatenate([y, x, edges[1]])
    found, wanted = compiled("nextafter", element)(x, y), eager("nextafter", x, y)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


def test_nextafter_of_every_bf16():
    x = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    for y in (x.roll(1), x.flip(0), torch.full_like(x, math.inf), torch.zeros_like(x)):
        wanted = torch.nextafter(x, y).float().numpy()
        found = compiled("nextafter_bf16", "f32")(x.float().numpy(), y.float().numpy())
        np.testing.assert_array_equal(found, wanted)
        finite = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(wanted[finite]))


def test_gcd():
    generator = np.random.default_rng(3)
    x, y = generator.integers(-(10**6), 10**6, (2, 5000))
    edges = np.array([0, 1, -1, 2**63 - 1, -(2**63), -(2**63) + 1, 6, -4])
    more = [grid.ravel() for grid in np.meshgrid(edges, edges)]
    more = [values[~((more[0] == -(2**63)) | (more[1] == -(2**63)))] for values in more]  # there eager divides by what it should not
    x, y = np.concatenate([x, more[0]]), np.concatenate([y, more[1]])
    np.testing.assert_array_equal(compiled("gcd", "i64")(x, y), eager("gcd", x, y))


def test_gcd_of_the_least_integer_ends():
    least = np.array([-(2**63)])
    assert compiled("gcd", "i64")(least, np.array([6]))[0] in (2, -2)
    assert compiled("gcd", "i64")(least, np.array([0]))[0] == -(2**63)


# ---- every width -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ROUTINES))
def test_every_width_gives_the_same_bits(name):
    routine = ROUTINES[name]
    element = routine.elements[0]
    if element == "i64":
        operands = list(np.random.default_rng(5).integers(-1000, 1000, (2, 64)))
    else:
        generator = np.random.default_rng(5)
        operands = [np.concatenate([generator.uniform(-3, 12, 57), [0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 0.25]]) for _ in range(routine.arity)]
    expected = compiled(name, element, 1)(*operands)
    for lanes in (8,):
        np.testing.assert_array_equal(compiled(name, element, lanes)(*operands), expected)


def test_series_for_f32_are_shorter():
    lines = [vecmath.functions({("airy_ai", element)}, {8}, FEATURES).count("\n") for element in ("f32", "f64")]
    assert lines[0] < 0.9 * lines[1]
