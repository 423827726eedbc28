"""The regularised incomplete gamma functions: P(a, x) and Q(a, x) = 1 - P.

Where a is large and x near it, Temme's uniform expansion gives the lesser of the two; elsewhere a series gives P, a continued fraction Q, and for small
x another series Q without cancellation.  All have the factor x^a exp(-x) / gamma(a + 1), whose exponent is computed by the distance of x from a.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from lect.backends.special import tables
from lect.backends.special.arithmetic import Arithmetic, Value, series
from lect.backends.special.error import scaled_complement
from lect.backends.special.gamma import lgamma_positive, stirling

INFINITY, NAN = math.inf, math.nan
EPSILON = 2.0**-54
MOST_STEPS = 2000.0
LARGE = 200.0
NEAR = 0.3
"""From `LARGE` on Temme's expansion holds where |x - a| is below `NEAR` times a."""


def decline(m: Arithmetic, a: Value, x: Value) -> Value:
    """log(a / x) + x / a - 1, which is not negative and about half of the square of the relative distance where that is small."""
    distance = (x - a) / a
    far = distance - m.call("log", x / a)
    return m.select(m.absolute(distance) < NEAR, -(distance * distance) * series(m, distance, tables.LOG_REST), far)


def factor(m: Arithmetic, a: Value, x: Value) -> Value:
    """x^a exp(-x) / gamma(a + 1)."""
    small = m.call("exp", m.fma(a, m.call("log", x), -x) - lgamma_positive(m, a + 1.0))

    def by_stirling() -> Value:
        exponent = m.fma(-a, decline(m, a, x), -stirling(m, a))
        return m.call("exp", exponent) / m.square_root(a * (2.0 * math.pi))

    return m.needed(a >= 9.0, small, by_stirling)


def lower_series(m: Arithmetic, a: Value, x: Value) -> Value:
    """P over the factor: 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..."""

    def step(count: Value, divisor: Value, term: Value, total: Value) -> tuple[Value, ...]:
        divisor = divisor + 1.0
        term = term * (x / divisor)
        return count + 1.0, divisor, term, total + term

    one = m.like(x, 1.0)
    start = (m.like(x, 0.0), a, one, one)
    return m.loop(start, lambda count, divisor, term, total: (term > total * EPSILON) & (count < MOST_STEPS), step)[3]


def upper_fraction(m: Arithmetic, a: Value, x: Value) -> Value:
    """Q over a times the factor, for x > a: 1 / (x + 1 - a - (1 - a) / (x + 3 - a - 2 (2 - a) / ...)), from its front (Lentz's way)."""

    def step(count: Value, odd: Value, above: Value, below: Value, value: Value, change: Value) -> tuple[Value, ...]:
        count = count + 1.0
        numerator = count * (a - count)
        odd = odd + 2.0
        below = 1.0 / m.fma(numerator, below, odd)
        above = odd + numerator / above
        change = above * below
        return count, odd, above, below, value * change, change

    first = x + (1.0 - a)
    inverse = 1.0 / first
    start = (m.like(x, 0.0), first, m.like(x, 1e300), inverse, inverse, m.like(x, 2.0))

    def more(count: Value, odd: Value, above: Value, below: Value, value: Value, change: Value) -> Value:
        return (m.absolute(change - 1.0) > EPSILON) & (count < MOST_STEPS)

    return m.loop(start, more, step)[4]


def upper_series(m: Arithmetic, a: Value, x: Value) -> Value:
    """Q for small x: 1 - x^a / gamma(a + 1), less that power times a (x / (a + 1) - x^2 / (2 (a + 2)) + ...) with the other sign."""

    def step(count: Value, power: Value, term: Value, total: Value) -> tuple[Value, ...]:
        count = count + 1.0
        power = power * (-x / count)
        term = power / (a + count)
        return count, power, term, total + term

    one, zero = m.like(x, 1.0), m.like(x, 0.0)

    def more(count: Value, power: Value, term: Value, total: Value) -> Value:
        return (m.absolute(term) > m.absolute(total) * EPSILON) & (count < MOST_STEPS)

    total = m.loop((zero, one, one, zero), more, step)[3]
    logarithm = m.fma(a, m.call("log", x), -_lgamma_of_one_more(m, a))
    return -m.call("expm1", logarithm) - m.call("exp", logarithm) * a * total


def _lgamma_of_one_more(m: Arithmetic, a: Value) -> Value:
    """lgamma(1 + a), exact in proportion for small a."""
    return m.select(a < 0.5, a * series(m, a, tables.LGAMMA_ONE), lgamma_positive(m, a + 1.0))


def lesser_by_temme(m: Arithmetic, a: Value, x: Value) -> Value:
    """P for x < a, else Q: half of erfc(|eta| sqrt(a / 2)) and a correction, where eta^2 / 2 is the decline and eta has the sign of x - a."""
    square = decline(m, a, x)
    size = m.square_root(square * 2.0)
    eta = m.select(x < a, -size, size)
    power = m.call("exp", -a * square)
    inverse = 1.0 / a
    correction: Value = 0.0
    for row in reversed(tables.TEMME):
        correction = m.polynomial(eta, row) + inverse * correction
    correction = correction / m.square_root(a * (2.0 * math.pi))
    half = scaled_complement(m, m.square_root(a * square)) * 0.5
    return power * (half + m.select(x < a, -correction, correction))


def regularised(upper: bool) -> Callable[[Arithmetic, Value, Value], Value]:
    """Q when `upper`, else P."""

    def pick(m: Arithmetic, value: Value, is_upper: Value) -> Value:
        """The wanted one of the two, of which `value` is one."""
        return m.select(is_upper if not upper else ~is_upper, 1.0 - value, value)

    def define(m: Arithmetic, a: Value, x: Value) -> Value:
        common = factor(m, a, x)
        beyond = (x > 1.1) & (x >= a)
        limit = m.select(x <= 0.5, -0.4 / m.call("log", x), x * 1.1)
        small = (x <= 1.1) & (a <= limit)
        always = m.equal(x, x)

        def elsewhere() -> Value:
            return pick(m, common * lower_series(m, a, x), ~always)

        value = m.needed(~(beyond | small), m.like(x, 0.0), elsewhere)
        value = m.needed(beyond, value, lambda: pick(m, common * a * upper_fraction(m, a, x), always))
        if upper:
            value = m.needed(small, value, lambda: upper_series(m, a, x))
        else:
            value = m.needed(small, value, lambda: common * lower_series(m, a, x))
        uniform = (a > LARGE) & (m.absolute(x - a) < a * NEAR)
        value = m.needed(uniform, value, lambda: pick(m, lesser_by_temme(m, a, x), x >= a))
        return edges(m, a, x, value)

    def edges(m: Arithmetic, a: Value, x: Value, value: Value) -> Value:
        """Eager's at zeros and infinities, the first that holds."""
        nothing, everything = (1.0, 0.0) if upper else (0.0, 1.0)
        endless_a, endless_x = m.equal(a, INFINITY), m.equal(x, INFINITY)
        value = m.select(endless_x, everything, value)
        value = m.select(endless_a, m.select(endless_x, m.like(x, NAN), nothing), value)
        value = m.select(m.equal(x, 0.0), nothing, value)
        value = m.select(m.equal(a, 0.0), m.select(x > 0.0, m.like(x, everything), NAN), value)
        return m.select((x < 0.0) | (a < 0.0), NAN, value)

    return define
