"""The gamma function's logarithm and its derivatives, and the zeta function of Hurwitz."""

from __future__ import annotations

import math
import struct

from lect.backends.special import tables
from lect.backends.special.arithmetic import Arithmetic, Value, series

INFINITY, NAN = math.inf, math.nan
PI_OF_SINGLE: float = struct.unpack("<f", struct.pack("<f", math.pi))[0]
ENOUGH = 10.0
"""From here on the asymptotic series of digamma and trigamma are exact to a rounding."""


def stirling(m: Arithmetic, a: Value) -> Value:
    """log(gamma(a)) - (a - 1/2) log(a) + a - log(2 pi) / 2 for a >= 9."""
    inverse = 1.0 / a
    return m.polynomial(inverse * inverse, tables.STIRLING) * inverse


def lgamma_positive(m: Arithmetic, a: Value) -> Value:
    """For a >= 1/2: series around 1 and 2 times the distance from there, series up to 9, then Stirling's formula."""

    def below_nine() -> Value:
        two = a - 2.0
        value = m.select(a < 2.5, two * series(m, two, tables.LGAMMA_TWO), series(m, a, tables.LGAMMA_THREE))
        return m.needed(a > 4.5, value, lambda: series(m, a, tables.LGAMMA_SIX))

    def beyond() -> Value:
        return m.fma(a - 0.5, m.call("log", a) - 1.0, stirling(m, a) + (0.5 * math.log(2.0 * math.pi) - 0.5))

    one = a - 1.0
    value = m.needed(a > 1.5, one * series(m, one, tables.LGAMMA_ONE), below_nine)
    return m.needed(a > 9.0, value, beyond) + 0.0  # of the zeros 0 and -0.0 the former


def sine_of_turns(m: Arithmetic, x: Value) -> Value:
    """sin(pi x) up to its sign."""
    return m.call("sin", (x - m.nearest(x)) * math.pi)


def lgamma(m: Arithmetic, x: Value) -> Value:
    """Near zero by lgamma(1 + x), below -1/2 by the reflection; infinite at 0, -1, -2, ... and at the infinities."""
    magnitude = m.absolute(x)
    usual = lgamma_positive(m, magnitude)

    def near_zero() -> Value:
        return m.fma(x, series(m, x, tables.LGAMMA_ONE), -m.call("log", magnitude))

    def reflected() -> Value:
        return m.call("log", math.pi / (magnitude * m.absolute(sine_of_turns(m, x)))) - usual

    value = m.needed(magnitude < 0.5, m.needed(x <= -0.5, usual, reflected), near_zero)
    pole = ((x <= 0.0) & m.equal(x, m.nearest(x))) | m.equal(magnitude, INFINITY)
    return m.select(pole, INFINITY, value)


def digamma(m: Arithmetic, x: Value) -> Value:
    """psi(x + 1) - 1 / x until the asymptotic series holds; below zero the reflection."""
    below = x < 0.0
    start = m.select(below, 1.0 - x, x)
    y, total = m.loop((start, m.like(x, 0.0)), lambda y, total: y < ENOUGH, lambda y, total: (y + 1.0, total - 1.0 / y))
    inverse = 1.0 / y
    v = inverse * inverse
    value = total + (m.call("log", y) - inverse * 0.5 - v * m.polynomial(v, tables.DIGAMMA_TAIL))

    def reflected() -> Value:
        angle = (x - m.truncate(x)) * math.pi
        return value - math.pi * m.call("cos", angle) / m.call("sin", angle)

    value = m.needed(below, value, reflected)
    value = m.select(below & m.equal(x, m.truncate(x)), NAN, value)
    return m.select(m.equal(x, 0.0), m.copy_sign(m.like(x, INFINITY), -x), value)


def trigamma(m: Arithmetic, x: Value) -> Value:
    """The derivative of digamma; below 1/2 the reflection with the sine of pi x, both rounded to the result's type as eager has them."""
    below = x < 0.5
    start = m.select(below, 1.0 - x, x)
    y, total = m.loop((start, m.like(x, 0.0)), lambda y, total: y < ENOUGH, lambda y, total: (y + 1.0, total + 1.0 / (y * y)))
    inverse = 1.0 / y
    v = inverse * inverse
    value = total + (inverse + v * 0.5 + v * inverse * m.polynomial(v, tables.TRIGAMMA_TAIL))

    def reflected() -> Value:
        angle = m.widen(m.narrow(x * PI_OF_SINGLE)) if m.single else x * math.pi
        sine = m.call("sin", angle)
        return (math.pi * math.pi) / (sine * sine) - value

    return m.needed(below, value, reflected)


# ---- zeta ------------------------------------------------------------------------------------------------------------

FARTHEST = 30.0
"""As many terms below zero are added one by one."""


def _tail(m: Arithmetic, x: Value, a: Value, last: Value) -> Value:
    """The sum of (a + k)^-x over k > 0, for a above x / 6 or so, by Euler's and Maclaurin's formula; `last` is a^-x."""
    result = last * a / (x - 1.0) - last * 0.5
    inverse = 1.0 / a
    term = last * (x * inverse)
    for number, factor in enumerate(tables.ZETA_TAIL):
        if number:
            term = term * ((x + (2.0 * number - 1.0)) * inverse) * ((x + 2.0 * number) * inverse)
        result = m.fma(term, factor, result)
    return result


def zeta(m: Arithmetic, x: Value, q: Value) -> Value:
    """The sum of (q + k)^-x over k >= 0: some terms, then the tail.  Far below zero most terms are two tails' difference."""
    skipped_terms = m.select(q < -FARTHEST, -m.truncate(q) - (FARTHEST - 10.0), 0.0)
    first = q + skipped_terms

    def power(a: Value) -> Value:
        return m.call("pow", a, -x)

    def skipped() -> Value:
        near, far = -first, -q
        total = _tail(m, x, near, power(near)) - _tail(m, x, far, power(far))
        odd = ~m.equal(x * 0.5, m.truncate(x * 0.5))
        return m.select(x > 60.0, 0.0, m.select(odd, -total, total))

    def more(count: Value, a: Value, term: Value, total: Value) -> Value:
        negligible = m.absolute(term) < total * 2.0**-53
        return ((count < 9.0) | (a <= 9.0)) & ~(negligible & (count > 0.0))  # ends for NaN, too

    def step(count: Value, a: Value, term: Value, total: Value) -> tuple[Value, ...]:
        term = power(a + 1.0)
        return count + 1.0, a + 1.0, term, total + term

    zero = m.like(x, 0.0)
    start = m.needed(q < -FARTHEST, zero, skipped)
    _, a, last, total = m.loop((zero, first, zero, start + power(first)), more, step)
    result = m.select(m.absolute(last) < total * 2.0**-53, total, total + _tail(m, x, a, last))
    unreal = (q <= 0.0) & ~m.equal(x, m.truncate(x))
    result = m.select((x < 1.0) | unreal, NAN, result)
    whole = (q <= 0.0) & m.equal(q, m.truncate(q))
    return m.select(m.equal(x, 1.0) | (whole & ~(x < 1.0)), INFINITY, result)
