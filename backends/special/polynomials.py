"""Orthogonal polynomials by their recurrences, in the operations and their order that eager has: in the type of the result.

The degree is a float that is cut to an integer; below 0 the polynomial is 0.  Where the recurrences of Chebyshev's polynomials lose digits, inside of
the interval and for greater degrees, trigonometric functions give the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from lect.backends.special.arithmetic import Arithmetic, Value

Define = Callable[[Arithmetic, Value, Value], Value]


def _alternating(m: Arithmetic, n: Value, value: Value) -> Value:
    """`value` for even n, and its negative for odd n."""
    return m.select(m.equal(n & 1, 0), value, -value)


def _recur(m: Arithmetic, first: Value, second: Value, k: Value, more: Callable[[Value], Value], next: Callable[..., Value], step: int = 1) -> Value:
    """The last of p, q, next(k, p, q), ... as long as `more(k)` holds, or until one is NaN."""
    state = (k, first, second)
    _, _, value = m.loop(state, lambda k, p, q: more(k) & ~m.is_nan(q), lambda k, p, q: (k + step, q, next(k, p, q)))
    return value


def _of_degree(m: Arithmetic, n: Value, one: Value, second: Value, value: Value) -> Value:
    """The values for the degrees below 2 are known, and 0 for those below 0."""
    value = m.select(m.equal(n, 1), second, m.select(m.equal(n, 0), one, value))
    return m.select(n < 0, 0.0, value)


# ---- Chebyshev's -----------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """One of the four kinds: the value at the right end, and at the left one for even degrees, as multiples of n and a constant; P1 less 2 x (`None`: x)."""

    right: tuple[int, int]
    left: tuple[int, int]
    second: float | None
    wave: Callable[[Arithmetic, Value, Value], Value]


def _wave_t(m: Arithmetic, n: Value, angle: Value) -> Value:
    return m.call("cos", n * angle)


def _wave_u(m: Arithmetic, n: Value, angle: Value) -> Value:
    return m.call("sin", (n + 1.0) * angle) / m.call("sin", angle)


def _wave_v(m: Arithmetic, n: Value, angle: Value) -> Value:
    return m.call("cos", (n + 0.5) * angle) / m.call("cos", angle * 0.5)


def _wave_w(m: Arithmetic, n: Value, angle: Value) -> Value:
    return m.call("sin", (n + 0.5) * angle) / m.call("sin", angle * 0.5)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "t": Kind((0, 1), (0, 1), None, _wave_t),
        "u": Kind((1, 1), (1, 1), 0.0, _wave_u),
        "v": Kind((0, 1), (2, 1), -1.0, _wave_v),
        "w": Kind((2, 1), (0, 1), 1.0, _wave_w),
    }
)
RECURRENCE_UP_TO = MappingProxyType({("t", False): 6, ("t", True): 6, ("u", True): 6, ("v", True): 6, ("w", True): 4})
"""The degrees above which eager takes trigonometric functions; 8 for the others."""


def chebyshev(letter: str, shifted: bool) -> Define:
    """T, U, V or W; a shifted one at 2 x - 1."""
    kind, limit = KINDS[letter], RECURRENCE_UP_TO.get((letter, shifted), 8)

    def define(m: Arithmetic, x: Value, degree: Value) -> Value:
        n = m.to_integer(degree)
        y = x + x - 1.0 if shifted else x
        twice = y + y
        inside = m.absolute(y) < 1.0
        by_wave = inside & (n > limit)
        one = m.like(x, 1.0)
        second = y if kind.second is None else twice + kind.second if kind.second else twice
        value = _recur(m, one, second, n * 0 + 2, lambda k: (k <= n) & ~by_wave, lambda k, p, q: twice * q - p)
        wide = m.widen(y)
        value = m.needed(by_wave, value, lambda: m.narrow(kind.wave(m, m.to_float(n, wide), m.call("acos", wide))))
        value = _of_degree(m, n, one, second, value)
        ends = [m.to_float(n * factor + constant, x) for factor, constant in (kind.right, kind.left)]
        at_right, at_left = (m.equal(x, 1.0), m.equal(x, 0.0)) if shifted else (m.equal(x, 1.0), m.equal(x, -1.0))
        value = m.select(at_right, ends[0], m.select(at_left, _alternating(m, n, ends[1]), value))
        return m.select(n < 0, 0.0, value)

    return define


# ---- the others ------------------------------------------------------------------------------------------------------

HERMITE_LIMIT = MappingProxyType({False: 512, True: 128})
"""Above this degree (by whether the result is f32) eager gives NaN."""


def hermite_h(m: Arithmetic, x: Value, degree: Value) -> Value:
    """The physicists'; 0 also for degrees that are no numbers."""
    n = m.to_integer(degree)
    twice, one, limit = x + x, m.like(x, 1.0), HERMITE_LIMIT[m.single]
    value = _recur(m, one, twice, n * 0 + 2, lambda k: (k < n + n) & (n <= limit), lambda k, p, q: twice * q - m.to_float(k, x) * p, 2)
    return _of_degree(m, n, one, twice, m.select(n > limit, math.nan, value))


def hermite_he(m: Arithmetic, x: Value, degree: Value) -> Value:
    """The statisticians'."""
    n = m.to_integer(degree)
    one, limit = m.like(x, 1.0), HERMITE_LIMIT[m.single]
    value = _recur(m, one, x, n * 0 + 1, lambda k: (k < n) & (n <= limit), lambda k, p, q: x * q - m.to_float(k, x) * p)
    return _of_degree(m, n, one, x, m.select(n > limit, math.nan, value))


def laguerre_l(m: Arithmetic, x: Value, degree: Value) -> Value:
    """Laguerre's; 1 at zero."""
    n = m.to_integer(degree)
    one = m.like(x, 1.0)
    second = 1.0 - x

    def next(k: Value, p: Value, q: Value) -> Value:
        return ((m.to_float(k + k, x) + second) * q - m.to_float(k, x) * p) / m.to_float(k + 1, x)

    value = _of_degree(m, n, one, second, _recur(m, one, second, n * 0 + 1, lambda k: (k < n) & ~m.equal(x, 0.0), next))
    return m.select(m.equal(x, 0.0) & (n >= 0), 1.0, value)


def legendre_p(m: Arithmetic, x: Value, degree: Value) -> Value:
    """Legendre's; 1 or -1 at the ends."""
    n = m.to_integer(degree)
    one, at_end = m.like(x, 1.0), m.equal(m.absolute(x), 1.0)

    def next(k: Value, p: Value, q: Value) -> Value:
        return (m.to_float(k + k + 1, x) * x * q - m.to_float(k, x) * p) / m.to_float(k + 1, x)

    value = _of_degree(m, n, one, x, _recur(m, one, x, n * 0 + 1, lambda k: (k < n) & ~at_end, next))
    return m.select(at_end & (n >= 0), m.select(x > 0.0, one, _alternating(m, n, one)), value)
