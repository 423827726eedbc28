"""A small writer of LLVM IR functions over numbers and vectors of numbers.

`Body` collects the instructions of one function. Its values are `Value` objects with Python's arithmetic operators, so a
mathematical function reads as its formula; each operator writes exactly one instruction, without fast-math flags, and nothing is
reordered. Python numbers next to a value become constants of the value's type.

Every value of a body has the same number of lanes (1 means a plain scalar), so the same definition serves every width.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Union

Number = Union["Value", float, int]

FLOAT_COMPARISONS = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "uno", "ueq", "ugt", "uge", "ult", "ule", "une")


@dataclass(frozen=True)
class Element:
    """Scalar type of a lane: its LLVM spelling, and for floats the integer type of equal width and the layout of the bits."""

    name: str
    llvm: str
    bits: int
    integer: str = ""
    mantissa: int = 0
    bias: int = 0

    @property
    def is_float(self) -> bool:
        return self.bias != 0


I1 = Element("i1", "i1", 1)
I16 = Element("i16", "i16", 16)
I32 = Element("i32", "i32", 32)
I64 = Element("i64", "i64", 64)
F16 = Element("f16", "half", 16, "i16", 10, 15)
F32 = Element("f32", "float", 32, "i32", 23, 127)
F64 = Element("f64", "double", 64, "i64", 52, 1023)
ELEMENTS = MappingProxyType({element.name: element for element in (I1, I16, I32, I64, F16, F32, F64)})


def literal(element: Element, number: float | int) -> str:
    """`number` as an LLVM constant of type `element`; floats are rounded to the type and spelt by their bits."""
    if not element.is_float:
        return str(int(number))
    if element is F16:
        (bits,) = struct.unpack("<H", struct.pack("<e", number))
        return f"0xH{bits:04X}"
    if element is F32:
        (number,) = struct.unpack("<f", struct.pack("<f", number))
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return f"0x{bits:016X}"


@dataclass(frozen=True, eq=False)
class Value:
    """One SSA value, or a constant, of a body. `text` is its spelling without the type."""

    body: Body
    element: Element
    text: str

    def __add__(self, other: Number) -> Value:
        return self.body.binary("add", self, other)

    def __radd__(self, other: Number) -> Value:
        return self.body.binary("add", other, self)

    def __sub__(self, other: Number) -> Value:
        return self.body.binary("sub", self, other)

    def __rsub__(self, other: Number) -> Value:
        return self.body.binary("sub", other, self)

    def __mul__(self, other: Number) -> Value:
        return self.body.binary("mul", self, other)

    def __rmul__(self, other: Number) -> Value:
        return self.body.binary("mul", other, self)

    def __truediv__(self, other: Number) -> Value:
        return self.body.binary("div", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.body.binary("div", other, self)

    def __and__(self, other: Number) -> Value:
        return self.body.binary("and", self, other)

    def __or__(self, other: Number) -> Value:
        return self.body.binary("or", self, other)

    def __xor__(self, other: Number) -> Value:
        return self.body.binary("xor", self, other)

    def __lshift__(self, other: Number) -> Value:
        return self.body.binary("shl", self, other)

    def __neg__(self) -> Value:
        if self.element.is_float:
            return self.body.instruction(f"fneg {self.body.typed(self)}", self.element)
        return 0 - self

    def __invert__(self) -> Value:
        return self.body.binary("xor", self, -1)

    def __lt__(self, other: Number) -> Value:
        return self.body.compare(self.order + "lt", self, other)

    def __le__(self, other: Number) -> Value:
        return self.body.compare(self.order + "le", self, other)

    def __gt__(self, other: Number) -> Value:
        return self.body.compare(self.order + "gt", self, other)

    def __ge__(self, other: Number) -> Value:
        return self.body.compare(self.order + "ge", self, other)

    @property
    def order(self) -> str:
        """How LLVM's order predicates of this type begin: ordered floats, signed integers."""
        return "o" if self.element.is_float else "s"


class Body:
    """The instructions of one function under construction.

    `lanes` is the width of every value; `vector_ldexp` is that of the target's features. `libm` collects the C functions that the body
    calls, as (symbol, number of operands, element), and `functions` those of the library, as (name, element). Intrinsics need no declaration.
    `single` says that the function's result is f32.
    """

    def __init__(self, lanes: int, vector_ldexp: bool, single: bool = False) -> None:
        self.lanes = lanes
        self.vector_ldexp = vector_ldexp
        self.single = single
        self.functions: set[tuple[str, str]] = set()
        self.lines: list[str] = []
        self.libm: set[tuple[str, int, str]] = set()
        self._count = 0
        self._block = "entry"

    # Types and constants

    def type_of(self, element: Element) -> str:
        """LLVM spelling of a value of this body with lanes of type `element`."""
        return element.llvm if self.lanes == 1 else f"<{self.lanes} x {element.llvm}>"

    def suffix(self, element: Element) -> str:
        """The part of an intrinsic's name that tells the type, such as `v16f32`."""
        return element.name if self.lanes == 1 else f"v{self.lanes}{element.name}"

    def typed(self, value: Value) -> str:
        return f"{self.type_of(value.element)} {value.text}"

    def constant(self, element: Element, number: float | int) -> Value:
        text = literal(element, number)
        return Value(self, element, text if self.lanes == 1 else f"splat ({element.llvm} {text})")

    def value(self, number: Number, element: Element) -> Value:
        """`number` as a value of type `element`; values pass unchanged."""
        if isinstance(number, Value):
            if number.element is not element:
                raise TypeError(f"expected a value of {element.name}, got {number.element.name}")
            return number
        return self.constant(element, number)

    # Instructions

    def instruction(self, text: str, element: Element) -> Value:
        """Append one instruction whose result has lanes of type `element`."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return Value(self, element, name)

    def binary(self, opcode: str, left: Number, right: Number) -> Value:
        """`add`, `sub`, `mul`, `div` of floats or integers, or a bitwise opcode of integers."""
        element = left.element if isinstance(left, Value) else right.element  # type: ignore[union-attr]
        a, b = self.value(left, element), self.value(right, element)
        prefix = "f" if element.is_float else ""
        return self.instruction(f"{prefix}{opcode} {self.typed(a)}, {b.text}", element)

    def shift_right(self, value: Value, count: int, *, signed: bool) -> Value:
        return self.binary("ashr" if signed else "lshr", value, count)

    def compare(self, predicate: str, left: Value, right: Number) -> Value:
        """Lane-wise truth (i1) of a comparison; the predicate is LLVM's, ordered or unordered for floats."""
        opcode = "fcmp" if predicate in FLOAT_COMPARISONS and left.element.is_float else "icmp"
        right = self.value(right, left.element)
        return self.instruction(f"{opcode} {predicate} {self.typed(left)}, {right.text}", I1)

    def is_nan(self, value: Value) -> Value:
        return self.compare("uno", value, value)

    def select(self, condition: Value, yes: Number, no: Number) -> Value:
        """`yes` where `condition` holds, otherwise `no`; at least one of the two is a value."""
        element = yes.element if isinstance(yes, Value) else no.element  # type: ignore[union-attr]
        yes, no = self.value(yes, element), self.value(no, element)
        return self.instruction(f"select {self.typed(condition)}, {self.typed(yes)}, {self.typed(no)}", element)

    def cast(self, opcode: str, value: Value, element: Element) -> Value:
        """A conversion instruction of LLVM such as `fpext`, `trunc` or `sitofp`."""
        return self.instruction(f"{opcode} {self.typed(value)} to {self.type_of(element)}", element)

    def bits(self, value: Value) -> Value:
        """The bits of a float as an integer of equal width."""
        return self.cast("bitcast", value, ELEMENTS[value.element.integer])

    def from_bits(self, value: Value, element: Element | Value) -> Value:
        """The float of type `element`, or of the type of another value, that has these bits."""
        return self.cast("bitcast", value, element.element if isinstance(element, Value) else element)

    def widen(self, value: Value) -> Value:
        """A float as f64."""
        return value if value.element is F64 else self.cast("fpext", value, F64)

    def narrow(self, value: Value) -> Value:
        """An f64 in the type of the function's result."""
        return self.cast("fptrunc", value, F32) if self.single else value

    def to_integer(self, value: Value) -> Value:
        """A float as an i64 towards zero; the least i64 for NaN and what does not fit."""
        fits = self.absolute(value) < 2.0**63
        return self.select(fits, self.cast("fptosi", self.select(fits, value, 0.0), I64), -(1 << 63))

    def to_float(self, value: Value, like: Value) -> Value:
        """An i64 rounded to the type of `like`."""
        return self.cast("sitofp", value, like.element)

    def divide_integers(self, value: Value, divisor: Value) -> tuple[Value, Value]:
        """Quotient towards zero and remainder; a divisor of 0 counts as 1, and -1 negates, which cannot trap."""
        negates = self.compare("eq", divisor, -1)
        safe = self.select(negates | self.compare("eq", divisor, 0), 1, divisor)
        quotient = self.instruction(f"sdiv {self.typed(value)}, {safe.text}", value.element)
        rest = self.instruction(f"srem {self.typed(value)}, {safe.text}", value.element)
        return self.select(negates, -value, quotient), rest

    # Intrinsics

    def intrinsic(self, name: str, *operands: Value) -> Value:
        """Call the LLVM intrinsic `llvm.<name>`, whose result and overloaded type are those of the first operand."""
        first = operands[0]
        result = self.type_of(first.element)
        function = f"@llvm.{name}.{self.suffix(first.element)}"
        return self.instruction(f"call {result} {function}({', '.join(map(self.typed, operands))})", first.element)

    def fma(self, a: Value, b: Number, c: Number) -> Value:
        """a * b + c, rounded once."""
        return self.intrinsic("fma", a, self.value(b, a.element), self.value(c, a.element))

    def polynomial(self, x: Value, coefficients: tuple[float, ...]) -> Value:
        """Horner's rule with one rounding per step; the coefficient of the highest power comes first."""
        result: Number = coefficients[0]
        for coefficient in coefficients[1:]:
            result = self.fma(x, result, coefficient)
        return self.value(result, x.element)

    def absolute(self, value: Value) -> Value:
        return self.intrinsic("fabs", value)

    def copy_sign(self, magnitude: Value, sign: Value) -> Value:
        return self.intrinsic("copysign", magnitude, sign)

    def like(self, value: Value, number: float) -> Value:
        """A constant of the type of `value`."""
        return self.constant(value.element, number)

    def equal(self, left: Value, right: Number) -> Value:
        """Lane-wise equality; false for NaN."""
        return self.compare("oeq" if left.element.is_float else "eq", left, right)

    def nearest(self, value: Value) -> Value:
        """Round to an integral float, ties to even."""
        return self.intrinsic("roundeven", value)

    def square_root(self, value: Value) -> Value:
        return self.intrinsic("sqrt", value)

    def truncate(self, value: Value) -> Value:
        """Round towards zero to an integral float."""
        return self.intrinsic("trunc", value)

    # Other functions

    def call_libm(self, symbol: str, *operands: Value) -> Value:
        """Apply the C function `symbol` to each lane, out of line."""
        element = operands[0].element
        self.libm.add((symbol, len(operands), element.name))
        result = self.type_of(element)
        arguments = ", ".join(map(self.typed, operands))
        return self.instruction(f"call {result} {per_lane_name(symbol, self.lanes)}({arguments})", element)

    def call(self, name: str, *operands: Value) -> Value:
        """Another function of the library, of operands of one type."""
        element = operands[0].element
        self.functions.add((name, element.name))
        result = self.type_of(element)
        arguments = ", ".join(map(self.typed, operands))
        return self.instruction(f"call {result} {function_name(name, element.name, self.lanes)}({arguments})", element)

    def rarely(self, condition: Value, usual: Value, replacement: Callable[[], Value]) -> Value:
        """`usual`, but `replacement()` in the lanes where `condition` holds.

        The instructions of the replacement run (on all lanes) only when some lane needs them.
        """
        return self.needed(condition, usual, replacement, rare=True)

    def needed(self, condition: Value, usual: Value, replacement: Callable[[], Value], rare: bool = False) -> Value:
        """`usual`, but `replacement()` where `condition` holds, computed when some lane needs it: `rarely` without saying how often that is."""
        # A branch on a poison lane, such as a caller may have beyond the end of an array, would be undefined.
        condition = self.freeze(condition)
        any_lane = self._any(condition)
        if rare:
            any_lane = self._scalar(f"call i1 @llvm.expect.i1(i1 {any_lane}, i1 false)")
        self._count += 1
        before, taken, after = self._block, f"taken.{self._count}", f"after.{self._count}"
        self.lines += [f"  br i1 {any_lane}, label %{taken}, label %{after}", f"{taken}:"]
        self._block = taken
        chosen = self.select(condition, replacement(), usual)
        self.lines += [f"  br label %{after}", f"{after}:"]
        incoming = f"[ {usual.text}, %{before} ], [ {chosen.text}, %{self._block} ]"
        self._block = after
        return self.instruction(f"phi {self.type_of(usual.element)} {incoming}", usual.element)

    def loop(self, start: Sequence[Value], more: Callable[..., Value], step: Callable[..., Sequence[Value]]) -> tuple[Value, ...]:
        """`state = step(*state)` in each lane as long as `more(*state)` holds there."""
        initial = [self.freeze(value) for value in start]
        self._count += 1
        before, head, body, done = self._block, f"head.{self._count}", f"body.{self._count}", f"done.{self._count}"
        self.lines += [f"  br label %{head}", f"{head}:"]
        self._block = head
        places = range(len(self.lines), len(self.lines) + len(initial))
        state = tuple([self.instruction("phi", value.element) for value in initial])
        running = self.freeze(more(*state))
        self.lines += [f"  br i1 {self._any(running)}, label %{body}, label %{done}", f"{body}:"]
        self._block = body
        moved = [self.select(running, new, old) for new, old in zip(step(*state), state)]
        self.lines += [f"  br label %{head}", f"{done}:"]
        for place, value, first, last in zip(places, state, initial, moved):
            self.lines[place] = f"  {value.text} = phi {self.type_of(value.element)} [ {first.text}, %{before} ], [ {last.text}, %{self._block} ]"
        self._block = done
        return state

    def freeze(self, value: Value) -> Value:
        """Some value in the lanes that have none."""
        return self.instruction(f"freeze {self.typed(value)}", value.element)

    def _any(self, condition: Value) -> str:
        if self.lanes == 1:
            return condition.text
        return self._scalar(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.typed(condition)})")

    def _scalar(self, text: str) -> str:
        self._count += 1
        name = f"%any{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name


def function_name(op: str, element: str, lanes: int) -> str:
    """The LLVM name of a function of the library, such as `@lect.exp.f32x16`, or `@lect.exp.f32` for one lane."""
    return f"@lect.{op}.{element}" if lanes == 1 else f"@lect.{op}.{element}x{lanes}"


def per_lane_name(symbol: str, lanes: int) -> str:
    """Name of the function that applies the C function `symbol` to each of `lanes` lanes."""
    return f"@{symbol}" if lanes == 1 else f"@lect.each.{symbol}.x{lanes}"


def per_lane_function(symbol: str, arity: int, element: Element, lanes: int) -> tuple[str, str]:
    """The declaration of the C function, and the text of the function named by `per_lane_name` (empty for one lane).

    It is a loop over a copy of the operands in memory, kept out of line: its time is that of the C calls, and callers stay small.
    """
    scalar = element.llvm
    declaration = f"declare {scalar} @{symbol}({', '.join([scalar] * arity)}) nounwind willreturn memory(none)"
    if lanes == 1:
        return declaration, ""
    vector = f"<{lanes} x {scalar}>"
    parameters = ", ".join(f"{vector} %x{i}" for i in range(arity))
    lines = [f"define internal {vector} {per_lane_name(symbol, lanes)}({parameters}) noinline nounwind willreturn memory(none) {{", "entry:"]
    lines += [f"  %copy{i} = alloca {vector}" for i in range(arity)]
    lines += [f"  store {vector} %x{i}, ptr %copy{i}" for i in range(arity)]
    lines += ["  br label %lane", "lane:", "  %i = phi i64 [ 0, %entry ], [ %next, %lane ]"]
    for i in range(arity):
        lines += [f"  %at{i} = getelementptr inbounds {scalar}, ptr %copy{i}, i64 %i", f"  %v{i} = load {scalar}, ptr %at{i}"]
    arguments = ", ".join(f"{scalar} %v{i}" for i in range(arity))
    lines += [
        f"  %r = call {scalar} @{symbol}({arguments})",
        f"  store {scalar} %r, ptr %at0",
        "  %next = add nuw nsw i64 %i, 1",
        f"  %more = icmp ult i64 %next, {lanes}",
        "  br i1 %more, label %lane, label %exit",
        "exit:",
        f"  %result = load {vector}, ptr %copy0",
        f"  ret {vector} %result",
        "}",
    ]
    return declaration, "\n".join(lines) + "\n"
