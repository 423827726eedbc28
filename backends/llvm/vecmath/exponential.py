"""Exponential functions: exp, exp2, expm1 and the logistic sigmoid.

All of them write x = n ln 2 + r (or n + r for exp2) with |r| at most half a step, evaluate a polynomial in r and scale by 2^n. n is taken
by adding 1.5 * 2^(mantissa bits), which leaves it both as a float and in the low bits of the sum, so no conversion to an integer is
needed: that of a NaN would be undefined. The product n * ln2 is subtracted in two fused steps of which the first is exact.
"""

from __future__ import annotations

from types import MappingProxyType

from .builder import ELEMENTS, F32, F64, Body, Element, Value

LOG2_E = 1.4426950408889634074

# ln 2 as a sum of two numbers of the element type.
LN2 = MappingProxyType({F32: (0.693147182464599609375, -1.904654323148236e-09), F64: (0.69314718055994530942, 2.3190468138462996e-17)})

# (exp(r) - 1 - r) / r^2 for |r| <= 0.3501; highest power first. Error relative to r in expm1(r): 2^-30 and 2^-59.
EXPM1_TAIL = MappingProxyType(
    {
        F32: (0.00019931324641220272, 0.0013934116577729583, 0.00833322387188673, 0.041666485369205475, 0.1666666716337204, 0.5),
        F64: (
            2.094298469472785e-09,
            2.5109358479673582e-08,
            2.7557155233145214e-07,
            2.7557243520525486e-06,
            2.4801587493025465e-05,
            0.0001984126988654459,
            0.0013888888888797472,
            0.008333333333321544,
            0.04166666666666676,
            0.16666666666666677,
            0.5,
        ),
    }
)

# (2^r - 1) / r for |r| <= 0.503; relative error of 2^r: 2^-32 and 2^-56.
EXP2_TAIL = MappingProxyType(
    {
        F32: (
            1.433301076758653e-05,
            0.00015464529860764742,
            0.0013337781419977546,
            0.009618058800697327,
            0.055504053831100464,
            0.24022650718688965,
            0.6931471824645996,
        ),
        F64: (
            4.4406455174651423e-10,
            7.0736183849008686e-09,
            1.017814246436819e-07,
            1.321543674554756e-06,
            1.5252733682686472e-05,
            0.0001540353045280384,
            0.0013333558146502052,
            0.009618129107599124,
            0.05550410866482183,
            0.24022650695910114,
            0.6931471805599453,
        ),
    }
)

# Arguments beyond which exp, and half of it, are infinite or zero; clamping there keeps n in range for `scale`.
EXP_RANGE = MappingProxyType({F32: (-104.0, 91.0), F64: (-746.0, 712.0)})
EXP2_RANGE = MappingProxyType({F32: (-151.0, 129.0), F64: (-1076.0, 1025.0)})
# Below the first bound expm1 rounds to -1; above the second it overflows.
EXPM1_RANGE = MappingProxyType({F32: (-18.0, 88.7228317260742), F64: (-38.0, 709.782712893383973096)})


def clamp(m: Body, x: Value, bounds: tuple[float, float]) -> Value:
    """x limited to `bounds`; NaN stays NaN."""
    low, high = bounds
    x = m.select(x > high, high, x)
    return m.select(x < low, low, x)


def nearest_integer(m: Body, x: Value, factor: float, bias: int = 0) -> tuple[Value, Value]:
    """n = x * factor rounded to an integer, as a float; and an integer whose low bits (as many as an exponent has, and more) are n + bias.

    |x * factor| must be below 2^(mantissa bits - 2), or x be NaN.
    """
    magic = 1.5 * 2.0**x.element.mantissa + bias
    shifted = m.fma(x, factor, magic)
    return shifted - magic, m.bits(shifted)


def power_of_two(m: Body, biased_exponent: Value, element: Element) -> Value:
    """The number whose exponent field is the low bits of `biased_exponent`: for e + bias, 2^e."""
    return m.from_bits(biased_exponent << element.mantissa, element)


def scale(m: Body, y: Value, twice_biased: Value) -> Value:
    """y * 2^e, rounded once, where the low bits of `twice_biased` are e + 2 * bias, so that half of it is the field of an exponent.

    y is near 1 and |e| at most about 1.2 times the type's largest exponent. One instruction where the target has it. Elsewhere two
    multiplications, of which the first is exact.
    """
    if m.vector_ldexp:
        return ldexp(m, y, twice_biased - twice_bias_bits(m, y.element))
    half = m.shift_right(twice_biased, 1, signed=False)
    return y * power_of_two(m, half, y.element) * power_of_two(m, twice_biased - half, y.element)


def twice_bias_bits(m: Body, element: Element) -> Value:
    """What `nearest_integer` with twice the bias gives for n = 0."""
    return m.bits(m.constant(element, 1.5 * 2.0**element.mantissa + 2 * element.bias))


def ldexp(m: Body, y: Value, exponent: Value) -> Value:
    """The `llvm.ldexp` intrinsic, whose exponent is always i32."""
    i32 = ELEMENTS["i32"]
    if exponent.element is not i32:
        exponent = m.cast("trunc", exponent, i32)
    result = m.type_of(y.element)
    function = f"@llvm.ldexp.{m.suffix(y.element)}.{m.suffix(i32)}"
    return m.instruction(f"call {result} {function}({m.typed(y)}, {m.typed(exponent)})", y.element)


def reduce_by_ln2(m: Body, x: Value, bias: int) -> tuple[Value, Value]:
    """An integer whose low bits are n + bias, and r, with x = n ln 2 + r."""
    high, low = LN2[x.element]
    n, integer = nearest_integer(m, x, LOG2_E, bias)
    return integer, m.fma(n, -low, m.fma(n, -high, x))


def expm1_reduced(m: Body, r: Value, precision: Element) -> Value:
    """exp(r) - 1 for |r| <= 0.35, with the polynomial for `precision`."""
    return m.fma(r * r, m.polynomial(r, EXPM1_TAIL[precision]), r)


def exp_scaled(m: Body, x: Value, shift: int = 0) -> Value:
    """exp(x) * 2^shift without overflow before the final scaling, for x within `EXP_RANGE` or NaN."""
    exponent, r = reduce_by_ln2(m, x, 2 * x.element.bias)
    return scale(m, expm1_reduced(m, r, x.element) + 1.0, exponent + shift if shift else exponent)


def exp_normal(m: Body, x: Value, precision: Element | None = None) -> Value:
    """exp(x) where the result is known to be a normal number (or x is NaN): 2^n is added to the exponent in the bits."""
    element = x.element
    exponent, r = reduce_by_ln2(m, x, 0)
    y = expm1_reduced(m, r, precision or element) + 1.0
    return m.from_bits(m.bits(y) + (exponent << element.mantissa), element)


def exp2_normal(m: Body, x: Value, precision: Element) -> Value:
    """2^x where the result is known to be a normal number (or x is NaN), with the polynomial for `precision`."""
    n, exponent = nearest_integer(m, x, 1.0)
    r = x - n
    y = m.fma(r, m.polynomial(r, EXP2_TAIL[precision]), 1.0)
    return m.from_bits(m.bits(y) + (exponent << x.element.mantissa), x.element)


def exp(m: Body, x: Value) -> Value:
    return exp_scaled(m, clamp(m, x, EXP_RANGE[x.element]))


def exp2(m: Body, x: Value) -> Value:
    x = clamp(m, x, EXP2_RANGE[x.element])
    n, exponent = nearest_integer(m, x, 1.0, 2 * x.element.bias)
    r = x - n
    return scale(m, m.fma(r, m.polynomial(r, EXP2_TAIL[x.element]), 1.0), exponent)


def expm1(m: Body, x: Value) -> Value:
    """2^n expm1(r) + (2^n - 1), with halves of both so that n may be one more than the type's largest exponent."""
    element = x.element
    low, high = EXPM1_RANGE[element]
    exponent, r = reduce_by_ln2(m, clamp(m, x, (low, high)), element.bias - 1)
    half = power_of_two(m, exponent, element)
    sum_of_halves = m.fma(expm1_reduced(m, r, element), half, half - 0.5)
    result = sum_of_halves + sum_of_halves
    result = m.select(x > high, float("inf"), result)
    # Halving would lose a bit of a denormal number, and the sign of -0.
    return m.select(m.absolute(x) < 2.0 ** -(element.mantissa + 2), x, result)


def sigmoid(m: Body, x: Value) -> Value:
    """With t = exp(-|x|), which cannot overflow: 1 / (1 + t), and for negative x t - t q with q = t / (1 + t).

    The latter equals q, but the roundings of 1 + t and of the quotient count only in proportion to t.
    """
    low, _ = EXP_RANGE[x.element]
    exponent = -m.absolute(x)
    t = exp_scaled(m, m.select(exponent < low, low, exponent))
    negative = x < 0.0
    quotient = m.select(negative, t, 1.0) / (t + 1.0)
    return m.select(negative, m.fma(-t, quotient, t), quotient)
