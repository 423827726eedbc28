"""erf and erfc. erfc of f64 is the C library's, lane by lane.

erf is an odd polynomial up to about 1. Beyond, it is 1 - erfc: exp(q(|x|)) for f32, where q approximates log(erfc), and exp(-x^2) times a
polynomial for f64. erfc of f32 is computed in f64, where the square in exp(-x^2) is exact.
"""

from __future__ import annotations

from types import MappingProxyType

from .builder import F32, F64, Body, Value
from .exponential import exp_normal
from .hyperbolic import in_double, to_element

# erf(x) / x - 1 in powers of x^2 for |x| up to the limit; relative error of erf x: 2^-30 and 2^-56.
ERF_NEAR = MappingProxyType(
    {
        F32: (
            7.996651402208954e-05,
            -0.0008049769676290452,
            0.005192405078560114,
            -0.02685573138296604,
            0.11283625662326813,
            -0.3761262893676758,
            0.12837916612625122,
        ),
        F64: (
            -7.588965150456341e-10,
            1.360769271348211e-08,
            -1.6182164272510293e-07,
            1.644394553624015e-06,
            -1.4924451729358199e-05,
            0.00012055279911485544,
            -0.0008548325469964232,
            0.005223977596512827,
            -0.026866170641942296,
            0.11283791670936903,
            -0.37612638903183343,
            0.12837916709551256,
        ),
    }
)
ERF_POLYNOMIAL_LIMIT = MappingProxyType({F32: 0.925, F64: 1.0})
# From here on, erf rounds to 1.
ERF_SATURATION = MappingProxyType({F32: 4.0, F64: 6.0})
# f32: log(erfc x) / x + 1 for 0.92 <= x <= 4; relative error of erf x: 2^-32.
LOG_ERFC = (
    -4.937429366691504e-06,
    4.5572964154416695e-05,
    4.962748062098399e-05,
    -0.0029302712064236403,
    0.022674323990941048,
    -0.1052628755569458,
    -0.6356251835823059,
    -0.12855176627635956,
)
# f64: (x + 2) exp(x^2) erfc(x) in powers of t = (x - 2) / (x + 2) for 1 <= x <= 6; relative error of erf x: 2^-61.
ERFC_SCALED_FAR = (
    -3.516214026824579e-06,
    -1.647414766635644e-05,
    -2.1414818342942816e-05,
    3.427164649040784e-05,
    0.00014447394139344334,
    3.4364485728617916e-05,
    -0.0006630746208764854,
    -0.0008372959658968432,
    0.0030906120933113204,
    0.006479185068634237,
    -0.021510661889793295,
    -0.0364422315068967,
    0.2794720925560553,
    -0.6871606844138105,
    1.021582705242023,
)
ERFC_FAR_CENTRE = 2.0

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


def scaled_erfc(m: Body, x: Value, coefficients: tuple[float, ...], centre: float) -> Value:
    """exp(x^2) erfc(x) from a polynomial for (x + centre) times it, with one division."""
    inverse = 1.0 / (x + centre)
    return inverse * m.polynomial(m.fma(inverse, -2.0 * centre, 1.0), coefficients)


def erf(m: Body, x: Value) -> Value:
    element = x.element
    magnitude = m.absolute(x)
    near = m.fma(magnitude, m.polynomial(x * x, ERF_NEAR[element]), magnitude)
    saturation = ERF_SATURATION[element]
    a = m.select(magnitude > saturation, saturation, magnitude)
    if element is F32:
        complement = exp_normal(m, m.fma(a, m.polynomial(a, LOG_ERFC), -a))
    else:
        complement = exp_normal(m, -(a * a)) * scaled_erfc(m, a, ERFC_SCALED_FAR, ERFC_FAR_CENTRE)
    # This way round a NaN takes the polynomial, which keeps it.
    return m.copy_sign(m.select(magnitude >= ERF_POLYNOMIAL_LIMIT[element], 1.0 - complement, near), x)


def erfc(m: Body, x: Value) -> Value:
    """exp(-x^2) times a polynomial for x >= 0, and 2 - erfc(-x) for negative x."""
    if x.element is F64:
        return m.call_libm("erfc", x)
    wide = in_double(m, x)
    magnitude = m.absolute(wide)
    a = m.select(magnitude > ERFC_END, ERFC_END, magnitude)
    value = exp_normal(m, -(a * a), F32) * scaled_erfc(m, a, ERFC_SCALED, ERFC_CENTRE)
    return to_element(m, m.select(wide < 0.0, 2.0 - value, value), F32)
