"""Hyperbolic functions and their inverses.

tanh and sinh are odd polynomials near zero, where the exponential formula would cancel, and use exp beyond. The inverses reduce to log1p;
for f32 they are computed in f64, which makes the cancellations harmless, and for f64 the C library computes them.
"""

from __future__ import annotations

from types import MappingProxyType

from .builder import F32, F64, Body, Value
from .exponential import EXP_RANGE, exp_normal, exp_scaled
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
    return m.cast("fpext", x, F64)


def in_single(m: Body, x: Value) -> Value:
    return m.cast("fptrunc", x, F32)


def asinh(m: Body, x: Value) -> Value:
    """log(|x| + sqrt(x^2 + 1)) as log1p of |x| + x^2 / (1 + sqrt(1 + x^2)), where nothing cancels."""
    if x.element is F64:
        return m.call_libm("asinh", x)
    wide = m.absolute(in_double(m, x))
    square = wide * wide
    quotient = square / (m.square_root(square + 1.0) + 1.0)
    result = log1p_to(m, wide + quotient, F32)
    result = m.select(m.compare("oeq", wide, float("inf")), wide, result)
    return m.copy_sign(in_single(m, result), x)


def acosh(m: Body, x: Value) -> Value:
    """log1p(t + sqrt(2 t + t^2)) with t = x - 1, which is exact in f64; NaN below 1."""
    if x.element is F64:
        return m.call_libm("acosh", x)
    t = in_double(m, x) - 1.0
    result = log1p_to(m, t + m.square_root(m.fma(t, t, t + t)), F32)
    return in_single(m, m.select(t < 0.0, float("nan"), result))


def atanh(m: Body, x: Value) -> Value:
    """log1p(2 a / (1 - a)) / 2 with a = |x|; infinite at 1 and NaN beyond, where the quotient is below -1."""
    if x.element is F64:
        return m.call_libm("atanh", x)
    magnitude = m.absolute(in_double(m, x))
    result = log1p_to(m, (magnitude + magnitude) / (1.0 - magnitude), F32) * 0.5
    return m.copy_sign(in_single(m, result), x)
