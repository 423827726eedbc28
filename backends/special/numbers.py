"""Functions of the representation of numbers: neighbours, mantissas and exponents, and divisors of integers."""

from __future__ import annotations

import math

from lect.backends.special.arithmetic import Arithmetic, Value


def nextafter(m: Arithmetic, x: Value, y: Value) -> Value:
    """One unit of the bits towards y; from zero to the least number of y's sign."""
    return _next(m, x, y, 1)


def nextafter_bf16(m: Arithmetic, x: Value, y: Value) -> Value:
    """Of f32 that hold bf16: those have the upper half of the bits."""
    return _next(m, x, y, 1 << 16)


def _next(m: Arithmetic, x: Value, y: Value, unit: int) -> Value:
    bits = m.bits(x)
    away = ((x < y) & (x > 0.0)) | ((x > y) & (x < 0.0))
    moved = m.from_bits(m.select(away, bits + unit, bits - unit), x)
    least = m.copy_sign(m.from_bits(bits * 0 + unit, x), y)
    moved = m.select(m.equal(x, 0.0), least, moved)
    return m.select(m.equal(x, y), y, m.select(m.is_nan(x) | m.is_nan(y), x + y, moved))


EXPONENT_FIELD = 0x7FF << 52
HALF = 1022 << 52


def _parts(m: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """The bits of x, or of 2^54 x for numbers without full precision; its biased exponent; whether it is finite and not zero."""
    magnitude = m.absolute(x)
    scaled = m.select(magnitude < 2.0**-1022, x * 2.0**54, x)
    bits = m.bits(scaled)
    return bits, m.shift_right(bits & EXPONENT_FIELD, 52, signed=False), (magnitude > 0.0) & (magnitude < math.inf)


def frexp_mantissa(m: Arithmetic, x: Value) -> Value:
    """The mantissa, 0.5 or more and below 1 in size; zeros, infinities and NaN as they are."""
    bits, _, usual = _parts(m, x)
    return m.select(usual, m.from_bits((bits & ~EXPONENT_FIELD) | HALF, x), x)


def frexp_exponent(m: Arithmetic, x: Value) -> Value:
    """The exponent as a float; 0 for zeros, infinities and NaN."""
    _, field, usual = _parts(m, x)
    unscaled = m.select(m.absolute(x) < 2.0**-1022, field - (1022 + 54), field - 1022)
    return m.select(usual, m.to_float(unscaled, x), 0.0)


def gcd(m: Arithmetic, x: Value, y: Value) -> Value:
    """Euclid's algorithm; of the least integer the size wraps."""

    def size(value: Value) -> Value:
        return m.select(value < 0, -value, value)

    _, result = m.loop((size(x), size(y)), lambda a, b: ~m.equal(a, 0), lambda a, b: (m.divide_integers(b, a)[1], a))
    return result
