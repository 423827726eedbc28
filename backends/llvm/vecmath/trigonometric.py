"""sin, cos and tan.

x = n pi/2 + r with |r| at most about pi/4; n modulo 4 says which of sin r and cos r is taken and with which sign. pi/2 is the sum of three
numbers, subtracted in three fused steps, of which the first is exact as long as r stays below 1. For arguments beyond `REDUCTION_LIMIT`
(and infinities) the C library computes the lanes concerned, in a block that runs only when there is one. It also computes tan of f64.
"""

from __future__ import annotations

from types import MappingProxyType

from .builder import F32, F64, Body, Element, Value
from .exponential import nearest_integer

TWO_OVER_PI = 0.63661977236758134308

# pi/2 as a sum of three numbers of the element type.
HALF_PI = MappingProxyType(
    {
        F32: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
        F64: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    }
)

# Up to here n has few enough bits: rounding x * 2/pi moves |r| at most 0.01 beyond pi/4, and the missing parts of pi/2 do not count.
REDUCTION_LIMIT = MappingProxyType({F32: 2.0**17, F64: 2.0**30})

# (sin r - r) / r^3 in powers of r^2 for |r| <= 0.789; relative error of sin r: 2^-32 and 2^-63.
SIN_TAIL = MappingProxyType(
    {
        F32: (2.831717893059249e-06, -0.00019853025150950998, 0.008333379402756691, -0.1666666716337204),
        F64: (
            -7.396580732501876e-13,
            1.6054438632134277e-10,
            -2.5052071773981574e-08,
            2.7557319076610207e-06,
            -0.0001984126984096611,
            0.008333333333333044,
            -0.16666666666666666,
        ),
    }
)
# (cos r - 1 + r^2/2) / r^4 in powers of r^2; relative error of cos r: 2^-37 and 2^-63.
COS_TAIL = MappingProxyType(
    {
        F32: (-2.8823839670621965e-07, 2.482149466231931e-05, -0.0013888978864997625, 0.0416666679084301),
        F64: (
            -1.1357336167821888e-11,
            2.0875678076706044e-09,
            -2.7557314015083627e-07,
            2.480158728829533e-05,
            -0.0013888888888872186,
            0.04166666666666659,
        ),
    }
)


def reduce_by_half_pi(m: Body, x: Value) -> tuple[Value, Value]:
    """n as an integer, and r, for |x| up to the limit."""
    first, second, third = HALF_PI[x.element]
    n, integer = nearest_integer(m, x, TWO_OVER_PI)
    return integer, m.fma(n, -third, m.fma(n, -second, m.fma(n, -first, x)))


def sin_reduced(m: Body, r: Value, square: Value, precision: Element) -> Value:
    """sin r with the polynomial for `precision`."""
    return m.fma(square * r, m.polynomial(square, SIN_TAIL[precision]), r)


def cos_reduced(m: Body, square: Value, precision: Element) -> Value:
    return m.polynomial(square, (*COS_TAIL[precision], -0.5, 1.0))


def flip_sign(m: Body, value: Value, deciding: Value) -> Value:
    """-value where the highest bit of the integer `deciding` is set."""
    sign = deciding & -(1 << (value.element.bits - 1))
    return m.from_bits(m.bits(value) ^ sign, value.element)


def half_turn(m: Body, integer: Value) -> Value:
    """The second lowest bit, which tells whether the quadrant is in the negative half, as the highest."""
    return integer << (integer.element.bits - 2)


def is_odd(m: Body, integer: Value) -> Value:
    return m.compare("ne", integer & 1, 0)


def with_far_arguments(m: Body, name: str, x: Value, near: Value) -> Value:
    """`near`, but the C library's value where |x| is beyond the limit; NaN is not beyond it."""
    far = m.absolute(x) > REDUCTION_LIMIT[x.element]
    return m.rarely(far, near, lambda: m.call_libm(libm_symbol(name, x.element), x))


def libm_symbol(name: str, element: Element) -> str:
    """The C name of a function for this element type: `sinf` for f32, `sin` for f64."""
    return name + ("f" if element is F32 else "")


def sin(m: Body, x: Value) -> Value:
    """The sign of x is put back at the end, which keeps that of -0."""
    integer, r = reduce_by_half_pi(m, m.absolute(x))
    square = r * r
    chosen = m.select(is_odd(m, integer), cos_reduced(m, square, x.element), sin_reduced(m, r, square, x.element))
    return with_far_arguments(m, "sin", x, flip_sign(m, chosen, half_turn(m, integer) ^ m.bits(x)))


def cos(m: Body, x: Value) -> Value:
    """sin(x + pi/2)."""
    integer, r = reduce_by_half_pi(m, x)
    square = r * r
    chosen = m.select(is_odd(m, integer), sin_reduced(m, r, square, x.element), cos_reduced(m, square, x.element))
    return with_far_arguments(m, "cos", x, flip_sign(m, chosen, half_turn(m, integer + 1)))


def tan(m: Body, x: Value) -> Value:
    """sin r / cos r, or -cos r / sin r in odd quadrants, with the sign of x put back at the end.

    The quotient has the errors of both, so f32 works in f64, where even the polynomials of f32 are near enough.
    """
    if x.element is F64:
        return m.call_libm("tan", x)
    integer, r = reduce_by_half_pi(m, m.cast("fpext", m.absolute(x), F64))
    square = r * r
    sine, cosine = sin_reduced(m, r, square, F32), cos_reduced(m, square, F32)
    odd = is_odd(m, integer)
    quotient = m.select(odd, -cosine, sine) / m.select(odd, sine, cosine)
    return with_far_arguments(m, "tan", x, flip_sign(m, m.cast("fptrunc", quotient, F32), m.bits(x)))
