"""sqrt, reciprocal square root, pow, and the larger and smaller of two numbers.

pow of f32 is exp2(y log2 |x|) in f64 and C's rules for signs and special values; pow of f64 is the C library's.
"""

from __future__ import annotations

from .builder import F32, F64, Body, Value
from .exponential import clamp, exp2_normal
from .hyperbolic import in_double, to_element
from .logarithm import log2_of_single


def sqrt(m: Body, x: Value) -> Value:
    return m.square_root(x)


def rsqrt(m: Body, x: Value) -> Value:
    """1 / sqrt(x) with both roundings, as eager computes it."""
    return 1.0 / m.square_root(x)


# 2^160 and its inverse are infinity and zero for f32 and normal numbers of f64.
POW_EXPONENT_RANGE = (-160.0, 160.0)


def pow(m: Body, x: Value, y: Value) -> Value:
    if x.element is F64:
        return m.call_libm("pow", x, y)
    base, exponent = in_double(m, x), in_double(m, y)
    magnitude = exp2_normal(m, clamp(m, exponent * log2_of_single(m, m.absolute(base)), POW_EXPONENT_RANGE), F32)
    whole = m.truncate(exponent)
    half = exponent * 0.5
    odd = m.compare("oeq", whole, exponent) & m.compare("one", m.truncate(half), half)
    magnitude = m.copy_sign(magnitude, m.select(odd, base, 1.0))
    # No real power of a finite negative number with a fraction in the exponent; and NaN stays NaN.
    undefined = (base < 0.0) & (base > float("-inf")) & m.compare("one", whole, exponent)
    result = m.select(undefined | m.compare("uno", base, exponent), float("nan"), magnitude)
    # But pow(x, 0) and pow(1, y) are 1 even for NaN; so is pow(-1, +-inf).
    one = m.compare("oeq", exponent, 0.0) | m.compare("oeq", base, 1.0)
    one = one | (m.compare("oeq", base, -1.0) & m.compare("oeq", m.absolute(exponent), float("inf")))
    return to_element(m, m.select(one, 1.0, result), F32)


def maximum(m: Body, a: Value, b: Value) -> Value:
    """The larger operand, NaN if either is NaN, and b where they are equal (zeros of different sign): torch.maximum's rules."""
    larger = m.select(a > b, a, b)
    return m.select(m.is_nan(a), a, larger)


def minimum(m: Body, a: Value, b: Value) -> Value:
    """The smaller operand, NaN if either is NaN, and b where they are equal."""
    smaller = m.select(a < b, a, b)
    return m.select(m.is_nan(a), a, smaller)
