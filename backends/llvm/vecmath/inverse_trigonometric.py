"""asin, acos, atan and atan2.

asin is x + x^3 p(x^2) up to one half and uses asin x = pi/2 - 2 asin sqrt((1 - x)/2) above; acos shares its parts. atan is
x + x^3 p(x^2) up to one and pi/2 - atan(1/x) above; atan2 divides the smaller operand by the larger.
"""

from __future__ import annotations

from types import MappingProxyType

from .builder import F32, F64, Body, Value
from .trigonometric import HALF_PI

# (asin x - x) / x^3 in powers of x^2 for x^2 <= 1/4; relative error of asin x: 2^-31 and 2^-59.
ASIN_TAIL = MappingProxyType(
    {
        F32: (0.03770212084054947, 0.01431217323988676, 0.0318395234644413, 0.04451335221529007, 0.07500521838665009, 0.16666659712791443),
        F64: (
            0.032626830496685806,
            -0.02099600741065188,
            0.02170513717491356,
            0.0037074297484458183,
            0.010779960294839283,
            0.011398969118071261,
            0.013980812893406856,
            0.017351612725719303,
            0.022372214942617704,
            0.030381942709646937,
            0.04464285717456482,
            0.07499999999970863,
            0.1666666666666676,
        ),
    }
)
# (atan x - x) / x^3 in powers of x^2 for x^2 <= 1; relative error of atan x: 2^-27 and 2^-57.
ATAN_TAIL = MappingProxyType(
    {
        F32: (
            -0.00179639074485749,
            0.010922230780124664,
            -0.031178561970591545,
            0.05794188380241394,
            -0.08401568233966827,
            0.1095128059387207,
            -0.14264042675495148,
            0.1999852955341339,
            -0.33333298563957214,
        ),
        F64: (
            1.322979524767636e-05,
            -0.00015220906241289906,
            0.0008315498653213688,
            -0.002885581613376705,
            0.007197829923566369,
            -0.01390249591316642,
            0.021986984380540305,
            -0.029905664629563077,
            0.036643103031958724,
            -0.042192405408970735,
            0.04722347111865015,
            -0.05253526386953074,
            0.058805297140853786,
            -0.06666404406708776,
            0.07692279886790988,
            -0.090909070076115,
            0.11111111007331416,
            -0.14285714282587753,
            0.19999999999951745,
            -0.3333333333333307,
        ),
    }
)


def odd_tail(m: Body, x: Value, square: Value, coefficients: tuple[float, ...]) -> Value:
    """x^3 p(x^2): what an odd function of this form adds to x."""
    return square * x * m.polynomial(square, coefficients)


def asin_parts(m: Body, x: Value) -> tuple[Value, Value, Value]:
    """Whether |x| is above one half, and s and t with asin(s) = s + t: s is |x|, or sqrt((1 - |x|)/2) above one half."""
    magnitude = m.absolute(x)
    above = magnitude > 0.5
    complement = m.fma(magnitude, -0.5, 0.5)
    square = m.select(above, complement, magnitude * magnitude)
    s = m.select(above, m.square_root(complement), magnitude)
    return above, s, odd_tail(m, s, square, ASIN_TAIL[x.element])


def asin(m: Body, x: Value) -> Value:
    high, low, _ = HALF_PI[x.element]
    above, s, t = asin_parts(m, x)
    # pi/2 - 2 s - 2 t, where 1 - 2 s is exact for s >= 1/4.
    complement = m.fma(s, -2.0, 1.0) + (m.fma(t, -2.0, low) + (high - 1.0))
    return m.copy_sign(m.select(above, complement, s + t), x)


def acos(m: Body, x: Value) -> Value:
    """pi/2 - asin x up to one half; above, twice the arc sine of s, or pi less that for negative x."""
    high, low, _ = HALF_PI[x.element]
    above, s, t = asin_parts(m, x)
    negative = x < 0.0
    twice = (s + t) * 2.0
    below_minus_half = m.fma(s, -2.0, 2.0 * high) + m.fma(t, -2.0, 2.0 * low)
    far = m.select(negative, below_minus_half, twice)
    signed_s, signed_t = m.copy_sign(s, x), m.copy_sign(t, x)
    near = (high - signed_s) + (low - signed_t)
    return m.select(above, far, near)


def atan_up_to_one(m: Body, x: Value) -> Value:
    square = x * x
    return x + odd_tail(m, x, square, ATAN_TAIL[x.element])


def atan(m: Body, x: Value) -> Value:
    high, low, _ = HALF_PI[x.element]
    magnitude = m.absolute(x)
    above = magnitude > 1.0
    angle = atan_up_to_one(m, m.select(above, 1.0 / magnitude, magnitude))
    return m.copy_sign(m.select(above, high - (angle - low), angle), x)


def atan2(m: Body, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), with C's values for zeros and infinities of either sign."""
    high, low, _ = HALF_PI[x.element]
    across, along = m.absolute(y), m.absolute(x)
    steep = across > along
    larger, smaller = m.select(steep, across, along), m.select(steep, along, across)
    ratio = smaller / larger
    # Equal operands have ratio 1, infinities included; but 0/0 counts as 0, the direction of the x axis.
    ratio = m.select(m.compare("oeq", smaller, larger), 1.0, ratio)
    ratio = m.select(m.compare("oeq", larger, 0.0), 0.0, ratio)
    angle = atan_up_to_one(m, ratio)
    angle = m.select(steep, high - (angle - low), angle)
    backwards = m.compare("slt", m.bits(x), 0)
    angle = m.select(backwards, 2.0 * high - (angle - 2.0 * low), angle)
    angle = m.select(m.compare("uno", y, x), float("nan"), angle)
    return m.copy_sign(angle, y)
