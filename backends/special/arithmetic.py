"""What a routine is written against: numbers with Python's operators, and a few operations that have no operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

Value = Any
"""A number of a routine, in as many lanes as the printer likes: it has + - * /, the four order comparisons, and for masks and integers & | ^ ~."""


class Arithmetic(Protocol):
    """Operations that a printer supplies.  Python numbers may stand for operands where another operand is a value.

    `single` says that the result of the routine is f32: it then need not be more exact, though it is computed in f64.
    """

    single: bool

    def like(self, value: Value, number: float) -> Value:
        """A constant of the type of `value`."""

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c, rounded once."""

    def equal(self, a: Value, b: Value) -> Value:
        """A mask; false for NaN."""

    def is_nan(self, value: Value) -> Value:
        """A mask."""

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """`yes` where the mask holds."""

    def absolute(self, value: Value) -> Value:
        """Without its sign; floats only."""

    def copy_sign(self, magnitude: Value, sign: Value) -> Value:
        """With the sign of another."""

    def square_root(self, value: Value) -> Value:
        """Rounded exactly."""

    def truncate(self, value: Value) -> Value:
        """Rounded towards zero to an integral float."""

    def nearest(self, value: Value) -> Value:
        """Rounded to the nearest integral float, ties to even."""

    def polynomial(self, x: Value, coefficients: tuple[float, ...]) -> Value:
        """By Horner's rule; the coefficient of the highest power comes first."""

    def call(self, name: str, *operands: Value) -> Value:
        """Another function of the scalar table, such as `exp`, in the type of the operands."""

    def widen(self, value: Value) -> Value:
        """A float as f64."""

    def narrow(self, value: Value) -> Value:
        """An f64 rounded to the type of the result."""

    def to_integer(self, value: Value) -> Value:
        """A float as an i64 towards zero; the least i64 for NaN and what does not fit."""

    def to_float(self, value: Value, like: Value) -> Value:
        """An i64 rounded to the type of `like`."""

    def divide_integers(self, value: Value, divisor: Value) -> tuple[Value, Value]:
        """Quotient towards zero and remainder of i64; a divisor of 0 gives some value, and what does not fit wraps."""

    def bits(self, value: Value) -> Value:
        """The bits of a float as an integer of its width."""

    def from_bits(self, bits: Value, like: Value) -> Value:
        """The float of the type of `like` with these bits."""

    def shift_right(self, value: Value, count: int, *, signed: bool) -> Value:
        """An integer shifted right."""

    def needed(self, condition: Value, usual: Value, replacement: Callable[[], Value]) -> Value:
        """`usual`, and `replacement()` where the mask holds; the latter is computed only if some lane needs it."""

    def loop(self, start: Sequence[Value], more: Callable[..., Value], step: Callable[..., Sequence[Value]]) -> tuple[Value, ...]:
        """`state = step(*state)` in each lane as long as `more(*state)` holds there.  The loop must end for any operands."""


class Series(NamedTuple):
    """A function on an interval as a Chebyshev series, the constant first.

    It is computed as a polynomial of the distance from the interval's middle, or with `from_low` of that from its lower end.  The latter is exact there,
    and good where the powers of that distance have factors of one sign.
    """

    low: float
    high: float
    coefficients: tuple[float, ...]
    from_low: bool = False

    @property
    def centre(self) -> Fraction:
        """Where the powers are powers of zero."""
        return Fraction(self.low) if self.from_low else (Fraction(self.low) + Fraction(self.high)) / 2


@lru_cache(maxsize=256)
def powers(of: Series, single: bool) -> tuple[float, ...]:
    """Factors of the powers of x less the centre, the highest first; for f32 those of the series up to where the rest is 2^-34 of its constant.

    They are computed exactly and rounded once.  As the terms of a series fall faster than those of 1 / 2.4^k, the powers lose nothing against it.
    """
    kept = list(map(Fraction, of.coefficients))
    rest = Fraction(0)
    while single and rest + abs(kept[-1]) < abs(kept[0]) / 2**34:
        rest += abs(kept.pop())
    # Chebyshev's polynomials of t = slope * (x - centre) + shift.
    slope = 2 / (Fraction(of.high) - Fraction(of.low))
    shift = Fraction(-1) if of.from_low else Fraction(0)
    before, current = [Fraction(1)], [shift, slope]
    total = [Fraction(0)] * max(2, len(kept))
    for coefficient in kept:
        total = [value + coefficient * (before[k] if k < len(before) else 0) for k, value in enumerate(total)]
        moved = [2 * shift * value for value in current] + [Fraction(0)]
        raised = [Fraction(0)] + [2 * slope * value for value in current]
        next = [a + b - (before[k] if k < len(before) else 0) for k, (a, b) in enumerate(zip(moved, raised))]
        before, current = current, next
    return tuple([float(value) for value in reversed(total)])


def series(m: Arithmetic, x: Value, of: Series) -> Value:
    """The series at x; outside of its interval any number."""
    centre = float(of.centre)
    return m.polynomial(x - centre if centre else x, powers(of, m.single))
