"""erf and erfc. The f64 forms are the C library's, lane by lane.

erf of f32 is an odd polynomial up to 0.92 and 1 - exp(q(|x|)) beyond, where q approximates log(erfc). erfc of f32 is computed in f64, where
the square in exp(-x^2) is exact.
"""

from __future__ import annotations

from .builder import F32, F64, Body, Value
from .exponential import exp_normal
from .hyperbolic import in_double, to_element

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

# (x + 3) exp(x^2) erfc(x) in powers of t = (x - 3) / (x + 3) for 0 <= x <= 10.1; relative error 2^-29. erfc of f32 is 0 from 10.06 on.
ERFC_SCALED = (
    7.007652124481638e-06,
    -0.00031403529558262077,
    -0.00048512411072009994,
    0.003071255707841534,
    -0.0012272139933096947,
    -0.026837266435183107,
    0.1195293296919888,
    -0.3104662905186721,
    0.5902282833359517,
    -0.8833944778608385,
    1.0740069078267673,
)
ERFC_CENTRE = 3.0
ERFC_END = 10.1


def erf(m: Body, x: Value) -> Value:
    if x.element is F64:
        return m.call_libm("erf", x)
    magnitude = m.absolute(x)
    near = m.fma(magnitude, m.polynomial(x * x, ERF_NEAR), magnitude)
    a = m.select(magnitude > ERF_SATURATION, ERF_SATURATION, magnitude)
    far = 1.0 - exp_normal(m, m.fma(a, m.polynomial(a, ERF_FAR), -a))
    # This way round a NaN takes the polynomial, which keeps it.
    return m.copy_sign(m.select(magnitude >= ERF_POLYNOMIAL_LIMIT, far, near), x)


def erfc(m: Body, x: Value) -> Value:
    """exp(-x^2) times a polynomial for x >= 0, and 2 - erfc(-x) for negative x."""
    if x.element is F64:
        return m.call_libm("erfc", x)
    wide = in_double(m, x)
    magnitude = m.absolute(wide)
    a = m.select(magnitude > ERFC_END, ERFC_END, magnitude)
    inverse = 1.0 / (a + ERFC_CENTRE)
    scaled = inverse * m.polynomial(m.fma(inverse, -2.0 * ERFC_CENTRE, 1.0), ERFC_SCALED)
    value = exp_normal(m, -(a * a), F32) * scaled
    return to_element(m, m.select(wide < 0.0, 2.0 - value, value), F32)
