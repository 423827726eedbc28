"""Conversions between f32 and the two half types.

A bf16 number travels as its 16 bits in an i16: LLVM's own `bfloat` type is expanded to narrow vectors on common processors. Rounding is to
nearest, ties to even; a NaN keeps its sign and stays a quiet NaN. f16 uses LLVM's `half` type, whose conversions are single instructions.

`widen` takes the stored form to f32, `narrow` rounds f32 to the stored form, and `round` does both, which is a value's rounding where
eager would have stored it in the half type.
"""

from __future__ import annotations

from .builder import F16, F32, I16, I32, Body, Value

QUIET_BIT = 0x00400000


def widen_bf16(m: Body, stored: Value) -> Value:
    return m.from_bits(m.cast("zext", stored, I32) << 16, F32)


def rounded_bf16_bits(m: Body, value: Value) -> Value:
    """The 32 bits of `value` with the bf16 result in the upper half; the lower half has no meaning."""
    bits = m.bits(value)
    last_kept_bit = m.shift_right(bits, 16, signed=False) & 1
    rounded = bits + 0x7FFF + last_kept_bit
    return m.select(m.is_nan(value), bits | QUIET_BIT, rounded)


def narrow_bf16(m: Body, value: Value) -> Value:
    return m.cast("trunc", m.shift_right(rounded_bf16_bits(m, value), 16, signed=False), I16)


def round_bf16(m: Body, value: Value) -> Value:
    return m.from_bits(rounded_bf16_bits(m, value) & -0x10000, F32)


def widen_f16(m: Body, stored: Value) -> Value:
    return m.cast("fpext", stored, F32)


def narrow_f16(m: Body, value: Value) -> Value:
    return m.cast("fptrunc", value, F16)


def round_f16(m: Body, value: Value) -> Value:
    return widen_f16(m, narrow_f16(m, value))
