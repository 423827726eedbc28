"""The special functions as functions of the Triton source: the routines of `backends.special`, written for tiles of any shape.

    @triton.jit
    def spherical_bessel_j0_f32(x):
        x_1 = x.to(tl.float64)
        equal = x_1 == 0.0
        ...

A routine that is `wide` computes f32 in f64, as on a CPU.  Branches are taken, and loops go on, as long as one element of the tile needs it; what stands in
a branch loops for the elements alone that need the branch.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from types import MappingProxyType

from lect.backends.special import ROUTINES
from lect.backends.triton.arithmetic import NAMES, TABLE
from lect.ir import ScalarType
from lect.ir.types import f32, f64, i1, i32, i64

BY_SPELLING: Mapping[str, ScalarType] = MappingProxyType({element.spelling: element for element in (f32, f64, i64)})
OF_WIDTH: Mapping[ScalarType, ScalarType] = MappingProxyType({f32: i32, f64: i64})
UNSIGNED: Mapping[ScalarType, str] = MappingProxyType({i32: "tl.uint32", i64: "tl.uint64"})
WIDTH = 120
HELPERS: Mapping[str, str] = MappingProxyType(
    {
        "constant": """
def constant(x, VALUE: tl.constexpr):
    # in the type and shape of x
    return tl.full(x.shape, VALUE, x.dtype)
""",
        "horner": """
def horner(x, FACTORS: tl.constexpr):
    # a polynomial; the factor of the highest power comes first
    value = tl.full(x.shape, FACTORS[0], x.dtype)
    for k in tl.static_range(1, len(FACTORS)):
        value = tl.fma(value, x, tl.full(x.shape, FACTORS[k], x.dtype))
    return value
""",
        "any_of": """
def any_of(mask):
    # whether it holds anywhere in the tile
    if len(mask.shape) == 0:
        found = mask
    else:
        found = tl.max(mask.to(tl.int32), None) != 0
    return found
""",
        "to_integer": """
def to_integer(x):
    # towards zero; the least integer for NaN and what does not fit
    fits = tl.abs(x) < 9223372036854775808.0
    return tl.where(fits, tl.where(fits, x, tl.zeros_like(x)).to(tl.int64), tl.full(x.shape, -9223372036854775808, tl.int64))
""",
    }
)
"""Functions of the prelude that the routines call."""


class Number:
    """A variable of the function that is written, with Python's operators; each writes one statement."""

    __slots__ = ("body", "element", "name")

    def __init__(self, body: Body, name: str, element: ScalarType) -> None:
        self.body = body
        self.name = name
        self.element = element

    def __add__(self, other: Operand) -> Number:
        return self.body.infix("sum", self, "+", other)

    def __radd__(self, other: Operand) -> Number:
        return self.body.infix("sum", other, "+", self)

    def __sub__(self, other: Operand) -> Number:
        return self.body.infix("difference", self, "-", other)

    def __rsub__(self, other: Operand) -> Number:
        return self.body.infix("difference", other, "-", self)

    def __mul__(self, other: Operand) -> Number:
        return self.body.infix("product", self, "*", other)

    def __rmul__(self, other: Operand) -> Number:
        return self.body.infix("product", other, "*", self)

    def __truediv__(self, other: Operand) -> Number:
        return self.body.quotient(self, other)

    def __rtruediv__(self, other: Operand) -> Number:
        return self.body.quotient(other, self)

    def __and__(self, other: Operand) -> Number:
        return self.body.infix("both", self, "&", other)

    def __or__(self, other: Operand) -> Number:
        return self.body.infix("either", self, "|", other)

    def __xor__(self, other: Operand) -> Number:
        return self.body.infix("differ", self, "^", other)

    def __neg__(self) -> Number:
        return self * -1.0 if self.element.is_float else 0 - self

    def __invert__(self) -> Number:
        return self.body.assign("other", f"{self.name} == 0" if self.element is i1 else f"~{self.name}", self.element)

    def __lt__(self, other: Operand) -> Number:
        return self.body.compare("less", self, "<", other)

    def __le__(self, other: Operand) -> Number:
        return self.body.compare("less", self, "<=", other)

    def __gt__(self, other: Operand) -> Number:
        return self.body.compare("more", self, ">", other)

    def __ge__(self, other: Operand) -> Number:
        return self.body.compare("more", self, ">=", other)


Operand = Number | float | int


class Body:
    """`backends.special.Arithmetic` as statements of a Triton function.  `single` says that the result is f32, `calls` what it needs of the prelude."""

    def __init__(self, single: bool) -> None:
        self.single = single
        self.calls: set[str] = set()
        self.lines: list[str] = []
        self.masks: list[Number] = []
        self._depth = 1
        self._names: dict[str, int] = {}

    # ---- writing -----------------------------------------------------------------------------------------------------

    def fresh(self, base: str) -> str:
        """A variable that nothing has."""
        count = self._names[base] = self._names.get(base, -1) + 1
        return f"{base}_{count}" if count else base

    def line(self, text: str) -> None:
        """Add a statement."""
        self.lines.append("    " * self._depth + text)

    def assign(self, base: str, text: str, element: ScalarType) -> Number:
        """`variable = text`."""
        name = self.fresh(base)
        self.line(f"{name} = {text}")
        return Number(self, name, element)

    def helper(self, name: str, *operands: str) -> str:
        """A call of a function of the prelude."""
        self.calls.add(name)
        return f"{name}({', '.join(operands)})"

    def typed(self, value: Operand, like: Number) -> str:
        """An operand that must have a type of its own."""
        return value.name if isinstance(value, Number) else self.helper("constant", like.name, written(value, like.element))

    def infix(self, base: str, left: Operand, symbol: str, right: Operand, element: ScalarType | None = None) -> Number:
        """An operator, from which a Python number takes the type of the other operand."""
        own = left if isinstance(left, Number) else right
        assert isinstance(own, Number)
        texts = [value.name if isinstance(value, Number) else written(value, own.element) for value in (left, right)]
        return self.assign(base, f"{texts[0]} {symbol} {texts[1]}", element or own.element)

    def compare(self, base: str, left: Number, symbol: str, right: Operand) -> Number:
        """A mask."""
        return self.infix(base, left, symbol, right, i1)

    def quotient(self, left: Operand, right: Operand) -> Number:
        """A division of floats, rounded to nearest."""
        own = left if isinstance(left, Number) else right
        assert isinstance(own, Number)
        return self._scalar("quotient", "div", own.element, [self.typed(left, own), self.typed(right, own)])

    def _scalar(self, base: str, name: str, element: ScalarType, operands: Sequence[str]) -> Number:
        """An operation of the scalar table."""
        found = TABLE[name](element, False, operands)
        self.calls.update(found.calls)
        return self.assign(base, found.text, element)

    # ---- what has no operator ----------------------------------------------------------------------------------------

    def like(self, value: Number, number: float) -> Number:
        """A constant of the type of `value`."""
        return self.assign("full", self.typed(number, value), value.element)

    def fma(self, a: Number, b: Operand, c: Operand) -> Number:
        """a * b + c, rounded once."""
        return self.assign("fma", f"tl.fma({a.name}, {self.typed(b, a)}, {self.typed(c, a)})", a.element)

    def equal(self, a: Number, b: Operand) -> Number:
        """A mask; false for NaN."""
        return self.compare("equal", a, "==", b)

    def is_nan(self, value: Number) -> Number:
        """A mask."""
        return self.compare("nan", value, "!=", value)

    def select(self, condition: Number, yes: Operand, no: Operand) -> Number:
        """`yes` where the mask holds."""
        own = yes if isinstance(yes, Number) else no
        assert isinstance(own, Number)
        return self.assign("select", f"tl.where({condition.name}, {self.typed(yes, own)}, {self.typed(no, own)})", own.element)

    def absolute(self, value: Number) -> Number:
        """Without its sign."""
        return self._scalar("size", "abs", value.element, [value.name])

    def copy_sign(self, magnitude: Number, sign: Number) -> Number:
        """With the sign of another."""
        return self._scalar("signed", "copysign", magnitude.element, [magnitude.name, sign.name])

    def square_root(self, value: Number) -> Number:
        """Rounded exactly."""
        return self._scalar("root", "sqrt", value.element, [value.name])

    def truncate(self, value: Number) -> Number:
        """Rounded towards zero to an integral float."""
        return self._scalar("whole", "trunc", value.element, [value.name])

    def nearest(self, value: Number) -> Number:
        """Rounded to the nearest integral float, ties to even."""
        return self._scalar("nearest", "round", value.element, [value.name])

    def polynomial(self, x: Number, coefficients: tuple[float, ...]) -> Number:
        """By Horner's rule; the coefficient of the highest power comes first."""
        factors = ", ".join([written(factor, x.element) for factor in coefficients])
        call = self.helper("horner", x.name, f"({factors}{',' if len(coefficients) == 1 else ''})")
        name, margin = self.fresh("series"), "    " * self._depth
        first, *rest = textwrap.wrap(f"{margin}{name} = {call}", WIDTH, subsequent_indent=margin + "    ", break_long_words=False, break_on_hyphens=False)
        self.lines += [first, *rest]
        return Number(self, name, x.element)

    def call(self, name: str, *operands: Number) -> Number:
        """Another function of the scalar table, in the type of the operands."""
        return self._scalar(name, name, operands[0].element, [each.name for each in operands])

    # ---- types -------------------------------------------------------------------------------------------------------

    def widen(self, value: Number) -> Number:
        """A float as f64."""
        return value if value.element is f64 else self._cast("wide", value, f64)

    def narrow(self, value: Number) -> Number:
        """An f64 rounded to the type of the result."""
        return self._cast("narrow", value, f32) if self.single else value

    def _cast(self, base: str, value: Number, element: ScalarType) -> Number:
        return self.assign(base, f"{value.name}.to({NAMES[element.spelling]})", element)

    def to_integer(self, value: Number) -> Number:
        """A float as an i64 towards zero; the least i64 for NaN and what does not fit."""
        return self.assign("integer", self.helper("to_integer", value.name), i64)

    def to_float(self, value: Number, like: Number) -> Number:
        """An i64 rounded to the type of `like`."""
        return self._cast("number", value, like.element)

    def divide_integers(self, value: Number, divisor: Number) -> tuple[Number, Number]:
        """Quotient towards zero and remainder of i64."""
        return self.infix("quotient", value, "//", divisor), self.infix("rest", value, "%", divisor)

    def bits(self, value: Number) -> Number:
        """The bits of a float as an integer of its width."""
        element = OF_WIDTH[value.element]
        return self.assign("bits", f"{value.name}.to({NAMES[element.spelling]}, bitcast=True)", element)

    def from_bits(self, bits: Number, like: Number) -> Number:
        """The float of the type of `like` with these bits."""
        return self.assign("float_of", f"{bits.name}.to({NAMES[like.element.spelling]}, bitcast=True)", like.element)

    def shift_right(self, value: Number, count: int, *, signed: bool) -> Number:
        """An integer shifted right."""
        if signed:
            return self.infix("shifted", value, ">>", count)
        text = f"({value.name}.to({UNSIGNED[value.element]}, bitcast=True) >> {count}).to({NAMES[value.element.spelling]}, bitcast=True)"
        return self.assign("shifted", text, value.element)

    # ---- branches and loops ------------------------------------------------------------------------------------------

    def needed(self, condition: Number, usual: Number, replacement: Callable[[], Number]) -> Number:
        """`usual`, and `replacement()` where the mask holds."""
        result = self.assign("value", usual.name, usual.element)
        wanted = condition & self.masks[-1] if self.masks else condition
        self.line(f"if {self.helper('any_of', wanted.name)}:")
        self.masks.append(wanted)
        self._depth += 1
        found = replacement()
        self.line(f"{result.name} = tl.where({wanted.name}, {found.name}, {result.name})")
        self._depth -= 1
        self.masks.pop()
        return result

    def loop(self, start: Sequence[Number], more: Callable[..., Number], step: Callable[..., Sequence[Number]]) -> tuple[Number, ...]:
        """`state = step(*state)` in each element as long as `more(*state)` holds there."""
        state = tuple([self.assign("state", value.name, value.element) for value in start])
        running = self.assign("running", self._running(more(*state)).name, i1)
        self.line(f"while {self.helper('any_of', running.name)}:")
        self._depth += 1
        following = step(*state)
        names = [self.assign("next", f"tl.where({running.name}, {new.name}, {old.name})", old.element).name for new, old in zip(following, state)]
        self.line(f"{', '.join([each.name for each in state])} = {', '.join(names)}")
        self.line(f"{running.name} = {self._running(more(*state)).name}")
        self._depth -= 1
        return state

    def _running(self, more: Number) -> Number:
        return more & self.masks[-1] if self.masks else more


def written(value: float, element: ScalarType) -> str:
    """A Python number that stands for one of `element`."""
    if element.is_float:
        return repr(float(value)) if isfinite(value) else f'float("{float(value)}")'
    return repr(int(value))


def function_name(name: str, element: ScalarType) -> str:
    """What a special function is called in the source."""
    return f"{name}_{element.spelling}"


SPECIAL: Mapping[str, tuple[str, str]] = MappingProxyType(
    {function_name(name, BY_SPELLING[element]): (name, element) for name, routine in ROUTINES.items() for element in routine.elements}
)
"""The names of all functions of this file, with the operation and the element type."""


@lru_cache(maxsize=128)
def special_function(name: str) -> tuple[str, frozenset[str]]:
    """The text of one of the functions of `SPECIAL`, without its decorator, and what it calls of the prelude."""
    operation, spelling = SPECIAL[name]
    routine, element = ROUTINES[operation], BY_SPELLING[spelling]
    body = Body(element is f32)
    parameters = [Number(body, body.fresh(base), element) for base in "xy"[: routine.arity]]
    listed = ", ".join([each.name for each in parameters])
    if len(parameters) > 1:
        body.line(f"{listed} = tl.broadcast({listed})")
    wide = routine.wide and element is f32
    result = routine.define(body, *(map(body.widen, parameters) if wide else parameters))
    body.line(f"return {body.narrow(result).name if wide else result.name}")
    lines = "\n".join(body.lines)
    return f"\ndef {name}({listed}):\n{lines}\n", frozenset(body.calls)
