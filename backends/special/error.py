"""Relatives of the error function: erfinv, erfcx, the normal distribution's inverse and the logarithm of its integral."""

from __future__ import annotations

import math

from lect.backends.special.arithmetic import Arithmetic, Value, series
from lect.backends.special.tables import ERFCX, ERFCX_CENTRE, ERFINV_END, ERFINV_FAR, ERFINV_NEAR, NDTRI_END, NDTRI_FAR, NDTRI_NEAR

INFINITY, NAN = math.inf, math.nan


def erfinv(m: Arithmetic, x: Value) -> Value:
    """x times a function of -log(1 - x^2), and of its root where that is large."""
    magnitude = m.absolute(x)
    w = -m.call("log", (1.0 - magnitude) * (1.0 + magnitude))

    def far() -> Value:
        root = m.square_root(w)
        return m.select(root < 4.0, series(m, root, ERFINV_FAR), series(m, root, ERFINV_END))

    result = x * m.needed(w > 6.25, series(m, w, ERFINV_NEAR), far)
    result = m.select(m.equal(magnitude, 1.0), m.copy_sign(m.like(x, INFINITY), x), result)
    return m.select(magnitude > 1.0, NAN, result)


NEAR = 0.375
"""Below this the error function itself gives the best value."""


def scaled_complement(m: Arithmetic, a: Value) -> Value:
    """exp(a^2) erfc(a) for a >= 0."""
    inverse = 1.0 / (a + ERFCX_CENTRE)
    return inverse * series(m, inverse, ERFCX)


def exp_of_square(m: Arithmetic, x: Value, factor: float) -> Value:
    """exp(factor * x^2), where what the square loses by rounding counts as well.  |x| is limited to 50: a factor is at least 1/2 in size."""
    x = m.select(x > 50.0, 50.0, x)
    high = x * x
    low = m.fma(x, x, -high)
    power = m.call("exp", high * factor)
    return power * m.fma(low, factor, 1.0)


def erfcx(m: Arithmetic, x: Value) -> Value:
    """For negative x 2 exp(x^2) less the value for -x."""
    magnitude = m.absolute(x)
    value = scaled_complement(m, magnitude)

    def reflected() -> Value:
        limited = m.select(magnitude > 26.7, 26.7, magnitude)
        result = exp_of_square(m, limited, 1.0) * 2.0 - value
        return m.select(magnitude > 26.7, INFINITY, result)

    value = m.needed(x < 0.0, value, reflected)
    return m.needed(magnitude < NEAR, value, lambda: m.call("exp", x * x) * (1.0 - m.call("erf", x)))


def log_ndtr(m: Arithmetic, x: Value) -> Value:
    """Below -1 the logarithm of erfcx, less x^2 / 2; above that of 1 - erfc / 2."""
    magnitude = m.absolute(x)
    scaled = scaled_complement(m, magnitude * math.sqrt(0.5))
    tail = exp_of_square(m, magnitude, -0.5) * scaled
    complement = m.select(x < 0.0, 2.0 - tail, tail)
    complement = m.needed(magnitude < NEAR, complement, lambda: 1.0 - m.call("erf", x * math.sqrt(0.5)))
    usual = m.call("log1p", complement * -0.5)
    return m.needed(x < -1.0, usual, lambda: m.fma(x * -0.5, x, m.call("log", scaled * 0.5)))


def ndtri(m: Arithmetic, p: Value) -> Value:
    """sqrt(2) erfinv(2 p - 1) in the middle; in the tails a function of s = sqrt(-2 log q), times s."""
    upper, complement = p > 0.5, 1.0 - p
    centred = m.fma(p, 2.0, -1.0)
    middle = centred * math.sqrt(2.0) * series(m, -m.call("log", p * complement * 4.0), ERFINV_NEAR)

    def tail() -> Value:
        s = m.square_root(m.call("log", m.select(upper, complement, p)) * -2.0)
        far = m.needed(s > 13.0, series(m, s, NDTRI_FAR), lambda: series(m, s, NDTRI_END))
        size = s * m.select(s < 4.5, series(m, s, NDTRI_NEAR), far)
        return m.select(upper, size, -size)

    result = m.needed(m.absolute(p - 0.5) > 0.375, middle, tail)
    result = m.select(m.equal(p, 0.0), -INFINITY, m.select(m.equal(p, 1.0), INFINITY, result))
    return m.select((p < 0.0) | (p > 1.0), NAN, result)
