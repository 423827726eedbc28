"""erf and erfc. The f64 forms are the C library's, lane by lane.

erf of f32 is an odd polynomial up to 0.92 and 1 - exp(q(|x|)) beyond, where q approximates log(erfc). erfc of f32 is computed in f64, where
the square in exp(-x^2) is exact.
"""

from __future__ import annotations

from .builder import F64, Body, Value
from .hyperbolic import in_double, in_single

# erf(x) / x - 1 in powers of x^2 for |x| <= 0.93; relative error of erf x: 2^-30.
ERF_NEAR = (
    7.996651402208954e-05,
    -0.0008049769676290452,
    0.005192405078560114,
    -0.02685573138296604,
    0.11283625662326813,
    -0.3761262893676758,
    0.12837916612625122,
)
# log(erfc x) / x + 1 for 0.92 <= x <= 4; relative error of erf x: 2^-32. From 4 on, erf rounds to 1.
ERF_FAR = (
    -4.937429366691504e-06,
    4.5572964154416695e-05,
    4.962748062098399e-05,
    -0.0029302712064236403,
    0.022674323990941048,
    -0.1052628755569458,
    -0.6356251835823059,
    -0.12855176627635956,
)
ERF_POLYNOMIAL_LIMIT = 0.925
ERF_SATURATION = 4.0

# (1 + 2x) exp(x^2) erfc(x) in powers of t = (x - 3) / (x + 3) for 0 <= x <= 10.1; relative error 2^-30. erfc of f32 is 0 from 10.06 on.
ERFC_SCALED = (
    3.457016101287485e-05,
    -0.00018492837393651907,
    -0.0007431178783514172,
    0.0019508284303513595,
    0.0025307985735333834,
    -0.023787586470643204,
    0.06830575618449844,
    -0.11927167057129928,
    0.1296454274127907,
    -0.047562381021176346,
    -0.13562111292984821,
    1.253008058917446,
)
ERFC_CENTRE = 3.0
ERFC_END = 10.1


def erf(m: Body, x: Value) -> Value:
    if x.element is F64:
        return m.call_libm("erf", x)
    magnitude = m.absolute(x)
    near = m.fma(magnitude, m.polynomial(x * x, ERF_NEAR), magnitude)
    a = m.select(magnitude > ERF_SATURATION, ERF_SATURATION, magnitude)
    far = 1.0 - m.call("exp", m.fma(a, m.polynomial(a, ERF_FAR), -a))
    return m.copy_sign(m.select(magnitude < ERF_POLYNOMIAL_LIMIT, near, far), x)


def erfc(m: Body, x: Value) -> Value:
    """exp(-x^2) times a polynomial for x >= 0, and 2 - erfc(-x) for negative x."""
    if x.element is F64:
        return m.call_libm("erfc", x)
    wide = in_double(m, x)
    magnitude = m.absolute(wide)
    a = m.select(magnitude > ERFC_END, ERFC_END, magnitude)
    t = (a - ERFC_CENTRE) / (a + ERFC_CENTRE)
    scaled = m.polynomial(t, ERFC_SCALED) / m.fma(a, 2.0, 1.0)
    value = m.call("exp", -(a * a)) * scaled
    return in_single(m, m.select(wide < 0.0, 2.0 - value, value))
