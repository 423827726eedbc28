"""Bessel functions of order 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from lect.backends.special import tables
from lect.backends.special.arithmetic import Arithmetic, Value, series

INFINITY, NAN = math.inf, math.nan
LARGEST_EXPONENT_OF_SINGLE = 88.72283905206835

# ---- modified ones ---------------------------------------------------------------------------------------------------


def growth(m: Arithmetic, magnitude: Value) -> Value:
    """exp, infinite from where it is so in the type of the result."""
    power = m.call("exp", magnitude)
    return m.select(magnitude > LARGEST_EXPONENT_OF_SINGLE, INFINITY, power) if m.single else power


def modified_i(order: int, scaled: bool) -> Callable[[Arithmetic, Value], Value]:
    """I0 or I1, or exp(-|x|) times it.

    In powers of x^2 up to 2; then exp(-|x|) times it by x, and from 8 on by 1 / x.  Eager's I at the infinities is NaN, that of inf * 0.
    """
    small, middle, far = ((tables.I0_SMALL, tables.I0E_NEAR, tables.I0E_FAR), (tables.I1_SMALL, tables.I1E_NEAR, tables.I1E_FAR))[order]

    def define(m: Arithmetic, x: Value) -> Value:
        magnitude = m.absolute(x)

        def beyond() -> Value:
            near = series(m, magnitude, middle)
            near = magnitude * near if order else near
            value = m.needed(magnitude > 8.0, near, lambda: series(m, 1.0 / magnitude, far) / m.square_root(magnitude))
            return value if scaled else value * growth(m, magnitude)

        z = x * x
        value = magnitude * series(m, z, small) if order else m.fma(z, series(m, z, small), 1.0)
        value = value * m.call("exp", -magnitude) if scaled else value
        value = m.needed(magnitude > 2.0, value, beyond)
        return m.select(x < 0.0, -value, value) if order else value

    return define


def _k_by_logarithm(m: Arithmetic, x: Value, order: int) -> Value:
    """K for 0 <= x <= 2."""
    z = x * x
    if not order:
        i0 = m.fma(z, series(m, z, tables.I0_SMALL), 1.0)
        return m.fma(-m.call("log", x * 0.5), i0, series(m, z, tables.K0_SMALL))
    logarithm = m.call("log", m.select(x > 1e-300, x, 1e-300) * 0.5)  # of no weight for smaller ones, but must not be infinite
    return series(m, z, tables.K1_SMALL) / x + logarithm * x * series(m, z, tables.I1_SMALL)


def modified_k(order: int, scaled: bool) -> Callable[[Arithmetic, Value], Value]:
    """K0 or K1, or exp(x) times it."""
    far = (tables.K0E_FAR, tables.K1E_FAR)[order]

    def define(m: Arithmetic, x: Value) -> Value:
        def large() -> Value:
            value = series(m, 1.0 / x, far) / m.square_root(x)
            return value if scaled else value * m.call("exp", -x)

        small = _k_by_logarithm(m, x, order)
        value = m.needed(x > 2.0, small * m.call("exp", x) if scaled else small, large)
        return m.select(m.equal(x, 0.0), INFINITY, m.select(x < 0.0, NAN, value))

    return define


# ---- oscillating ones ------------------------------------------------------------------------------------------------


def _j_small(m: Arithmetic, x: Value, order: int) -> Value:
    """J for |x| <= 5: the factors of its least zero times a series in x^2."""
    magnitude, (high, low) = m.absolute(x), (tables.J0_ZERO, tables.J1_ZERO)[order]
    z = x * x
    factors = ((magnitude - high) - low) * (magnitude + high)
    if order:
        return x * (factors * series(m, z, tables.J1_SMALL))
    return m.select(magnitude < 1e-5, m.fma(z, -0.25, 1.0), factors * series(m, z, tables.J0_SMALL))


def _waves(m: Arithmetic, magnitude: Value, order: int) -> tuple[Value, Value]:
    """J and Y for x >= 5: P and Q times the sine and cosine of x less an odd multiple of pi / 4, by those of x itself."""
    inverse = 1.0 / magnitude
    v = inverse * inverse
    p = series(m, v, (tables.P0_FAR, tables.P1_FAR)[order])
    q = series(m, v, (tables.Q0_FAR, tables.Q1_FAR)[order]) * inverse
    sine, cosine = m.call("sin", magnitude), m.call("cos", magnitude)
    total, difference = sine + cosine, sine - cosine
    scale = math.sqrt(1.0 / math.pi) / m.square_root(magnitude)
    if order:
        return (p * difference + q * total) * scale, (q * difference - p * total) * scale
    return (p * total - q * difference) * scale, (p * difference + q * total) * scale


def bessel_j(order: int) -> Callable[[Arithmetic, Value], Value]:
    """J0 or J1."""

    def define(m: Arithmetic, x: Value) -> Value:
        magnitude = m.absolute(x)

        def far() -> Value:
            value, _ = _waves(m, magnitude, order)
            return m.select(x < 0.0, -value, value) if order else value

        return m.needed(magnitude > 5.0, _j_small(m, x, order), far)

    return define


def bessel_y(order: int) -> Callable[[Arithmetic, Value], Value]:
    """Y0 or Y1: NaN below zero."""

    def define(m: Arithmetic, x: Value) -> Value:
        logarithm, j = m.call("log", x), _j_small(m, x, order)
        if order:
            near = x * series(m, x * x, tables.Y1_SMALL) + (logarithm * j - 1.0 / x) * (2.0 / math.pi)
        else:
            near = series(m, x * x, tables.Y0_SMALL) + logarithm * j * (2.0 / math.pi)
        value = m.needed(x > 5.0, near, lambda: _waves(m, x, order)[1])
        return m.select(m.equal(x, 0.0), -INFINITY, m.select(x < 0.0, NAN, value))

    return define


def spherical_j0(m: Arithmetic, x: Value) -> Value:
    """sin(x) / x, 1 at 0 and 0 at the infinities."""
    value = m.select(m.equal(x, 0.0), 1.0, m.call("sin", x) / x)
    return m.select(m.equal(m.absolute(x), INFINITY), 0.0, value)


# ---- the Airy function -----------------------------------------------------------------------------------------------


def _airy_phase(m: Arithmetic, magnitude: Value, root: Value) -> tuple[Value, Value]:
    """zeta = 2/3 x^(3/2) as a number and what it lacks, for the exponential and the waves magnify its error."""
    rest_of_root = m.fma(-root, root, magnitude) / (root + root)
    power = magnitude * root
    rest = m.fma(magnitude, root, -power) + magnitude * rest_of_root
    zeta = power * TWO_THIRDS
    return zeta, m.fma(power, TWO_THIRDS, -zeta) + (power * REST_OF_TWO_THIRDS + rest * TWO_THIRDS)


TWO_THIRDS = 2.0 / 3.0
REST_OF_TWO_THIRDS = float(Fraction(2, 3) - Fraction(TWO_THIRDS))


def airy_ai(m: Arithmetic, x: Value) -> Value:
    """Series in x in the middle; waves below -3, and exp(-zeta) times a series in 1 / zeta above 2."""
    magnitude = m.absolute(x)
    root = m.square_root(magnitude)
    zeta, rest = _airy_phase(m, magnitude, root)
    middle = m.select(x < 0.0, series(m, x, tables.AIRY_NEGATIVE), series(m, x, tables.AIRY_POSITIVE))

    def decay() -> Value:
        power = m.call("exp", -zeta) * (1.0 - rest)
        value = series(m, 1.0 / zeta, tables.AIRY_FAR) * power / (m.square_root(root) * (2.0 * math.sqrt(math.pi)))
        return m.select(x > 103.892, 0.0, value)

    def waves() -> Value:
        inverse = 1.0 / zeta
        v = inverse * inverse
        sine, cosine = m.call("sin", zeta), m.call("cos", zeta)
        sine, cosine = m.fma(rest, cosine, sine), m.fma(-rest, sine, cosine)
        p, q = series(m, v, tables.AIRY_SINE), series(m, v, tables.AIRY_COSINE) * inverse
        return (p * (sine + cosine) - q * (cosine - sine)) * math.sqrt(0.5 / math.pi) / m.square_root(root)

    value = m.needed(x < -3.0, m.needed(x > 2.0, middle, decay), waves)
    return m.select(m.equal(magnitude, INFINITY), NAN, value)
