"""Hyperbolic functions and their inverses.

tanh and sinh are odd polynomials near zero, where the exponential formula would cancel, and use exp beyond. The inverses reduce to log1p of
a sum whose terms have one sign; those of f32 are computed in f64, where a product cannot overflow and a rounding does not count.
"""

from __future__ import annotations

from types import MappingProxyType

from .builder import F32, F64, Body, Element, Value
from .exponential import EXP_RANGE, LN2, exp_normal, exp_scaled
from .inverse_trigonometric import odd_tail
from .logarithm import log1p_to

# (tanh x - x) / x^3 in powers of x^2 for |x| <= 0.625; relative error of tanh x: 2^-32 and 2^-61.
TANH_TAIL = MappingProxyType(
    {
        F32: (
            0.0021526841446757317,
            -0.008190013468265533,
            0.021706894040107727,
            -0.05394817888736725,
            0.13333220779895782,
            -0.3333333134651184,
        ),
        F64: (
            6.0501586498514734e-06,
            -3.020588128313134e-05,
            9.157831054421588e-05,
            -0.0002370239850163416,
            0.0005894566165045192,
            -0.0014557272091021856,
            0.0035921142223161507,
            -0.008863234338742457,
            0.021869488470698653,
            -0.05396825396614944,
            0.1333333333332996,
            -0.33333333333333315,
        ),
    }
)
TANH_POLYNOMIAL_LIMIT = 0.625
# From here on tanh rounds to 1, which 1 - 2 / (exp(2 x) + 1) does too.
TANH_SATURATION = MappingProxyType({F32: 9.5, F64: 20.0})

# (sinh x - x) / x^3 in powers of x^2 for |x| <= 1; relative error of sinh x: 2^-31 and 2^-61.
SINH_TAIL = MappingProxyType(
    {
        F32: (2.7822120500786696e-06, 0.00019842895562760532, 0.00833331048488617, 0.1666666716337204),
        F64: (
            7.776600416706015e-13,
            1.6056659158714598e-10,
            2.5052130998813605e-08,
            2.755731910675638e-06,
            0.0001984126984159341,
            0.008333333333332912,
            0.16666666666666669,
        ),
    }
)


# Beyond this, x + sqrt(x^2 +- 1) is 2 x and 1 + x is x, to the last place of f64.
SQUARE_LIMIT = 2.0**60


def tanh(m: Body, x: Value) -> Value:
    """1 - 2 / (exp(2 |x|) + 1) away from zero."""
    magnitude = m.absolute(x)
    saturation = TANH_SATURATION[x.element]
    a = m.select(magnitude > saturation, saturation, magnitude)
    near = x + odd_tail(m, x, x * x, TANH_TAIL[x.element])
    far = 1.0 - 2.0 / (exp_normal(m, a + a) + 1.0)
    # This way round a NaN takes the polynomial, which keeps it.
    return m.copy_sign(m.select(magnitude >= TANH_POLYNOMIAL_LIMIT, far, near), x)


def half_exp(m: Body, x: Value) -> tuple[Value, Value]:
    """exp(|x|)/2 and exp(-|x|)/2; the former is finite for every x whose cosh is."""
    _, high = EXP_RANGE[x.element]
    magnitude = m.absolute(x)
    half = exp_scaled(m, m.select(magnitude > high, high, magnitude), -1)
    return half, 0.25 / half


def sinh(m: Body, x: Value) -> Value:
    magnitude = m.absolute(x)
    near = magnitude + odd_tail(m, magnitude, x * x, SINH_TAIL[x.element])
    growing, shrinking = half_exp(m, x)
    return m.copy_sign(m.select(magnitude < 1.0, near, growing - shrinking), x)


def cosh(m: Body, x: Value) -> Value:
    growing, shrinking = half_exp(m, x)
    return growing + shrinking


def in_double(m: Body, x: Value) -> Value:
    """x as f64."""
    return x if x.element is F64 else m.cast("fpext", x, F64)


def to_element(m: Body, value: Value, element: Element) -> Value:
    """An f64 value rounded to `element`."""
    return value if element is F64 else m.cast("fptrunc", value, element)


def log_of_twice(m: Body, x: Value, log1p_argument: Value, precision: Element) -> Value:
    """log1p(log1p_argument), but log(2 x) where x is so large that its square might overflow."""
    large = x > SQUARE_LIMIT
    result = log1p_to(m, m.select(large, x, log1p_argument), precision)
    return result + m.select(large, m.constant(F64, LN2[F64][0]), 0.0)


def asinh(m: Body, x: Value) -> Value:
    """log(|x| + sqrt(x^2 + 1)) as log1p of |x| + x^2 / (1 + sqrt(1 + x^2)), where nothing cancels."""
    wide = m.absolute(in_double(m, x))
    square = wide * wide
    quotient = square / (m.square_root(square + 1.0) + 1.0)
    result = log_of_twice(m, wide, wide + quotient, x.element)
    return m.copy_sign(to_element(m, result, x.element), x)


def acosh(m: Body, x: Value) -> Value:
    """log1p(t + sqrt(2 t + t^2)) with t = x - 1, which is exact where it matters; NaN below 1."""
    wide = in_double(m, x)
    t = wide - 1.0
    result = log_of_twice(m, wide, t + m.square_root(m.fma(t, t, t + t)), x.element)
    return to_element(m, m.select(t < 0.0, float("nan"), result), x.element)


def atanh(m: Body, x: Value) -> Value:
    """log1p(2 a + 2 a^2 / (1 - a)) / 2 with a = |x|; infinite at 1 and NaN beyond."""
    magnitude = m.absolute(in_double(m, x))
    twice = magnitude + magnitude
    result = log1p_to(m, twice + twice * magnitude / (1.0 - magnitude), x.element) * 0.5
    result = m.select(magnitude > 1.0, float("nan"), result)
    return m.copy_sign(to_element(m, result, x.element), x)
