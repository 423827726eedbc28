"""Logarithms: log, log2, log10 and log1p.

x is split into 2^e (1 + z) with 1 + z between sqrt(1/2) and sqrt(2). `logarithm_parts` gives e, z and a small t with
log(x) = e ln 2 + z + t; keeping z apart from t lets each function add the parts from small to large with one rounding that counts.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from .builder import ELEMENTS, F32, F64, Body, Element, Value
from .exponential import LN2

# The bits of sqrt(1/2), rounded down: subtracting them moves the interval of the mantissa to [sqrt(1/2), sqrt(2)).
SQRT_HALF_BITS = MappingProxyType({F32: 0x3F3504F3, F64: 0x3FE6A09E667F3BCC})

# log10(2), and the reciprocals of ln 2 and ln 10, each as a sum of two numbers of the element type.
LOG10_2 = MappingProxyType({F32: (0.3010300099849701, -1.432098883924482e-08), F64: (0.3010299956639812, -2.8037281277851704e-18)})
INVERSE_LN2 = MappingProxyType({F32: (1.4426950216293335, 1.925963033500011e-08), F64: (1.4426950408889634, 2.0355273740931033e-17)})
INVERSE_LN10 = MappingProxyType({F32: (0.4342944920063019, -1.0103049952192578e-08), F64: (0.4342944819032518, 1.098319650216765e-17)})

# f32: (log(1 + z) - z + z^2/2) / z^3 on [sqrt(1/2) - 1, sqrt(2) - 1]; relative error of log(1 + z): 2^-29.
CUBIC_TAIL = (
    0.06621379405260086,
    -0.11612150818109512,
    0.11906681954860687,
    -0.12418888509273529,
    0.14219936728477478,
    -0.16667313873767853,
    0.20002031326293945,
    -0.25000014901161194,
    0.3333331346511841,
)
# f64: (2 atanh(s) - 2 s) / s^3 in powers of s^2 for |s| <= 0.1717, where s = z / (2 + z). Error of log(1 + z) relative to z: 2^-59 for f64;
# 2^-37 for f64 values that will be rounded to f32.
ATANH_TAIL = MappingProxyType(
    {
        F32: (0.23583528104389972, 0.2853724038989127, 0.40000336188037716, 0.6666665564142306),
        F64: (
            0.14798267703963244,
            0.15313831444098341,
            0.18183572377203933,
            0.22222198428650614,
            0.28571428743688737,
            0.39999999999409347,
            0.6666666666666735,
        ),
    }
)


class LogarithmParts(NamedTuple):
    """log = exponent * ln 2 + z + t."""

    exponent: Value
    z: Value
    t: Value


def tail(m: Body, z: Value, precision: Element) -> Value:
    """log(1 + z) - z for 1 + z in [sqrt(1/2), sqrt(2)), with the polynomial for `precision`."""
    if z.element is F32:
        square = z * z
        return m.fma(square, -0.5, square * z * m.polynomial(z, CUBIC_TAIL))
    # With s = z / (2 + z) and h = z^2/2: log(1 + z) = 2 s + s^3 p = z - h + s (h + s^2 p), as 2 s = z - s z = z - h + s h.
    s = z / (z + 2.0)
    square = s * s
    half = z * z * 0.5
    return m.fma(s, m.fma(square, m.polynomial(square, ATANH_TAIL[precision]), half), -half)


def split(m: Body, bits: Value, element: Element) -> tuple[Value, Value]:
    """The integer e, and z, of the positive normal number with these bits."""
    exponent = m.shift_right(bits - SQRT_HALF_BITS[element], element.mantissa, signed=True)
    return exponent, m.from_bits(bits - (exponent << element.mantissa), element) - 1.0


def logarithm_parts(m: Body, x: Value) -> LogarithmParts:
    """The parts of log(x) for positive finite x; for any other x they have no meaning (and `with_specials` replaces the result)."""
    element = x.element
    smallest_normal = 2.0 ** (1 - element.bias)
    tiny = x < smallest_normal
    shift = element.mantissa + 1
    exponent, z = split(m, m.bits(m.select(tiny, x * 2.0**shift, x)), element)
    exponent = exponent + m.select(tiny, m.constant(ELEMENTS[element.integer], -shift), 0)
    return LogarithmParts(integer_to_float(m, exponent, element), z, tail(m, z, element))


def integer_to_float(m: Body, value: Value, element: Element) -> Value:
    """A small integer as a float."""
    if element is F64:
        value = m.cast("trunc", value, ELEMENTS["i32"])
    return m.cast("sitofp", value, element)


def with_specials(m: Body, x: Value, result: Value) -> Value:
    """`result`, but -inf for zeros, NaN for negative numbers and NaN, +inf for +inf."""
    result = m.select(m.compare("oeq", x, float("inf")), x, result)
    result = m.select(m.compare("oeq", x, 0.0), float("-inf"), result)
    return m.select(m.compare("ult", x, 0.0), float("nan"), result)


def log(m: Body, x: Value) -> Value:
    high, low = LN2[x.element]
    exponent, z, t = logarithm_parts(m, x)
    return with_specials(m, x, m.fma(exponent, high, z + m.fma(exponent, low, t)))


def times_inverse(m: Body, z: Value, t: Value, inverse: tuple[float, float]) -> tuple[Value, Value]:
    """(z + t) times a two-part constant, as a large and a small part."""
    high, low = inverse
    product = z * high
    error = m.fma(z, high, -product)
    return product, m.fma(t, high, m.fma(z, low, error))


def log2(m: Body, x: Value) -> Value:
    exponent, z, t = logarithm_parts(m, x)
    large, small = times_inverse(m, z, t, INVERSE_LN2[x.element])
    return with_specials(m, x, exponent + (large + small))


def log10(m: Body, x: Value) -> Value:
    high, low = LOG10_2[x.element]
    exponent, z, t = logarithm_parts(m, x)
    large, small = times_inverse(m, z, t, INVERSE_LN10[x.element])
    return with_specials(m, x, m.fma(exponent, high, large + m.fma(exponent, low, small)))


def log2_of_single(m: Body, x: Value) -> Value:
    """log2 of an f64 value that was widened from f32 and is not negative or NaN, to the accuracy of f32."""
    exponent, z = split(m, m.bits(x), F64)
    high, _ = INVERSE_LN2[F64]
    result = m.fma(z + tail(m, z, F32), high, integer_to_float(m, exponent, F64))
    result = m.select(m.compare("oeq", x, float("inf")), x, result)
    return m.select(m.compare("oeq", x, 0.0), float("-inf"), result)


def log1p(m: Body, x: Value) -> Value:
    return log1p_to(m, x, x.element)


def log1p_to(m: Body, x: Value, precision: Element) -> Value:
    """log(1 + x) with the polynomial for `precision`.

    The exponent e comes from the rounded 1 + x; then z = x 2^-e + (2^-e - 1), whose error is a rounding of z, not of 1 + x.
    """
    element = x.element
    high, low = LN2[element]
    integer = ELEMENTS[element.integer]
    mask = m.constant(integer, -(1 << element.mantissa))
    # e at the place of the exponent in the bits; x near 0 has e = 0 and so z = x.
    in_place = (m.bits(x + 1.0) - SQRT_HALF_BITS[element]) & mask
    # 2^-e itself may be below the normal range, four times it is not.
    four = m.from_bits(m.bits(m.constant(element, 4.0)) - in_place, element)
    scaled_x = m.from_bits(m.bits(x) - in_place, element)
    z = scaled_x + m.fma(four, 0.25, -1.0)
    exponent = integer_to_float(m, m.shift_right(in_place, element.mantissa, signed=True), element)
    result = m.fma(exponent, high, z + m.fma(exponent, low, tail(m, z, precision)))
    result = m.select(m.compare("oeq", x, float("inf")), x, result)
    result = m.select(m.compare("oeq", x, -1.0), float("-inf"), result)
    result = m.select(m.compare("ult", x, -1.0), float("nan"), result)
    return m.select(m.compare("oeq", x, 0.0), x, result)
