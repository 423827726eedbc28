"""The scalar operations, one LLVM line or a few for each row of a tile.

No fast-math flag is ever written: a float operation rounds as it stands.  16-bit floats compute in f32 and are rounded once.  Shift amounts,
divisors and the one quotient that does not fit are made harmless first, so that no lane, dead or alive, has undefined behaviour.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from lect.backends.llvm.values import Tile, register_type, suffix, typed
from lect.backends.llvm.vecmath import has_function
from lect.backends.llvm.writer import Writer, literal
from lect.ir import LectError, Operation, ScalarType
from lect.ir.types import f32, f64, i1

Row = Callable[["Lane", list[str]], str]


class Lane:
    """Where one row of an operation is written: the writer, the operands' element type and the number of lanes (0 for a scalar)."""

    def __init__(self, writer: Writer, element: ScalarType, width: int) -> None:
        self.writer = writer
        self.element = element
        self.width = width
        self.scalar = register_type(element)
        self.type = typed(self.scalar, width)
        self.mask = typed("i1", width)

    def constant(self, value: float | int) -> str:
        """The same constant in every lane."""
        text = literal(self.element, value)
        return f"splat ({self.scalar} {text})" if self.width else text

    def binary(self, opcode: str, left: str, right: str) -> str:
        """`opcode type left, right`."""
        return self.writer.emit(f"{opcode} {self.type} {left}, {right}")

    def compare(self, predicate: str, left: str, right: str) -> str:
        """An integer or float comparison."""
        opcode = "fcmp" if self.element.is_float else "icmp"
        return self.writer.emit(f"{opcode} {predicate} {self.type} {left}, {right}")

    def select(self, condition: str, yes: str, no: str) -> str:
        """One of two values of the operands' type."""
        return self.writer.emit(f"select {self.mask} {condition}, {self.type} {yes}, {self.type} {no}")

    def logic(self, opcode: str, left: str, right: str) -> str:
        """`and`, `or`, `xor` of masks."""
        return self.writer.emit(f"{opcode} {self.mask} {left}, {right}")

    def call(self, name: str, *operands: str) -> str:
        """An LLVM intrinsic of the operands' type."""
        return self.writer.intrinsic(name, self.element, self.width, *operands)

    def mathematics(self, name: str, *operands: str) -> str:
        """A function of the mathematics library."""
        return self.writer.function(name, self.element.spelling, self.width, self.scalar, self.scalar, *operands)


# ---- plain instructions ----------------------------------------------------------------------------------------------

FLOAT_OPCODES = MappingProxyType({"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"})
INTEGER_OPCODES = MappingProxyType({"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"})
FLOAT_PREDICATES = MappingProxyType({"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"})
INTRINSICS = MappingProxyType(
    {
        "floor": "floor",
        "ceil": "ceil",
        "trunc": "trunc",
        "round": "roundeven",
        "abs": "fabs",
        "copysign": "copysign",
        "fmax": "maxnum",
        "fmin": "minnum",
        "fma": "fma",
    }
)


def unsigned(element: ScalarType) -> bool:
    """Whether comparisons and divisions take the bits as not negative."""
    return element.kind in ("unsigned", "bool")


def integer_predicate(name: str, element: ScalarType) -> str:
    """LLVM's predicate of an integer comparison."""
    return name if name in ("eq", "ne") else ("u" if unsigned(element) else "s") + name


# ---- operations that take more than one instruction ------------------------------------------------------------------


def _safe_divide(lane: Lane, operands: list[str], remainder: bool) -> str:
    """Quotient (or remainder) towards zero; a divisor of 0 counts as 1, and -1 negates, which cannot trap."""
    value, divisor = operands
    zero, one = lane.constant(0), lane.constant(1)
    if unsigned(lane.element):
        divisor = lane.select(lane.compare("eq", divisor, zero), one, divisor)
        return lane.binary("urem" if remainder else "udiv", value, divisor)
    negate = lane.compare("eq", divisor, lane.constant(-1))
    harmful = lane.logic("or", negate, lane.compare("eq", divisor, zero))
    safe = lane.select(harmful, one, divisor)
    if remainder:
        return lane.binary("srem", value, safe)
    return lane.select(negate, lane.binary("sub", zero, value), lane.binary("sdiv", value, safe))


def _trunc_div(lane: Lane, operands: list[str]) -> str:
    if lane.element.is_float:
        return lane.call("trunc", lane.binary("fdiv", *operands))
    return _safe_divide(lane, operands, remainder=False)


def _fmod(lane: Lane, operands: list[str]) -> str:
    return lane.binary("frem", *operands) if lane.element.is_float else _safe_divide(lane, operands, remainder=True)


def _other_sign(lane: Lane, left: str, right: str) -> str:
    if lane.element.is_float:
        zero = lane.constant(0.0)
        return lane.logic("xor", lane.compare("olt", left, zero), lane.compare("olt", right, zero))
    return lane.compare("slt", lane.binary("xor", left, right), lane.constant(0))


def _remainder(lane: Lane, operands: list[str]) -> str:
    rest, divisor = _fmod(lane, operands), operands[1]
    if unsigned(lane.element):
        return rest
    different = lane.compare("une" if lane.element.is_float else "ne", rest, lane.constant(0))
    wrong = lane.logic("and", different, _other_sign(lane, rest, divisor))
    return lane.select(wrong, lane.binary("fadd" if lane.element.is_float else "add", rest, divisor), rest)


def _floor_div(lane: Lane, operands: list[str]) -> str:
    if unsigned(lane.element):
        return _safe_divide(lane, operands, remainder=False)
    if lane.element.is_float:
        return _floor_div_float(lane, operands)
    quotient = _safe_divide(lane, operands, remainder=False)
    rest = _safe_divide(lane, operands, remainder=True)
    different = lane.compare("ne", rest, lane.constant(0))
    wrong = lane.logic("and", different, _other_sign(lane, rest, operands[1]))
    return lane.select(wrong, lane.binary("add", quotient, lane.constant(-1)), quotient)


def _floor_div_float(lane: Lane, operands: list[str]) -> str:
    """(a - fmod(a, b)) / b brought to an integer, as Python's `//`; a / b where b is 0."""
    value, divisor = operands
    zero, one = lane.constant(0.0), lane.constant(1.0)
    rest = lane.binary("frem", value, divisor)
    quotient = lane.binary("fdiv", lane.binary("fsub", value, rest), divisor)
    wrong = lane.logic("and", lane.compare("une", rest, zero), _other_sign(lane, rest, divisor))
    quotient = lane.select(wrong, lane.binary("fsub", quotient, one), quotient)
    floor = lane.call("floor", quotient)
    short = lane.compare("ogt", lane.binary("fsub", quotient, floor), lane.constant(0.5))
    floor = lane.select(short, lane.binary("fadd", floor, one), floor)
    exact = lane.binary("fdiv", value, divisor)
    signed_zero = lane.call("copysign", zero, exact)
    floor = lane.select(lane.compare("oeq", quotient, zero), signed_zero, floor)
    return lane.select(lane.compare("oeq", divisor, zero), exact, floor)


def _extreme(name: str) -> Row:
    def write(lane: Lane, operands: list[str]) -> str:
        if lane.element.is_float:
            return lane.mathematics(name, *operands)
        if lane.element is i1:
            return lane.logic("or" if name == "maximum" else "and", *operands)
        return lane.call(("u" if unsigned(lane.element) else "s") + name[:3], *operands)

    return write


def _shift(opcode: str) -> Row:
    def write(lane: Lane, operands: list[str]) -> str:
        value, amount = operands
        last = lane.constant(lane.element.bits - 1)
        fits = lane.compare("ule", amount, last)
        if opcode == "ashr":
            return lane.binary("lshr" if unsigned(lane.element) else "ashr", value, lane.select(fits, amount, last))
        shifted = lane.binary("shl", value, lane.select(fits, amount, last))
        return lane.select(fits, shifted, lane.constant(0))

    return write


def _neg(lane: Lane, operands: list[str]) -> str:
    if lane.element.is_float:
        return lane.writer.emit(f"fneg {lane.type} {operands[0]}")
    return lane.binary("sub", lane.constant(0), operands[0])


def _abs(lane: Lane, operands: list[str]) -> str:
    if lane.element.is_float:
        return lane.call("fabs", operands[0])
    if unsigned(lane.element):
        return operands[0]
    return lane.writer.emit(f"call {lane.type} @llvm.abs.{suffix(lane.element, lane.width)}({lane.type} {operands[0]}, i1 false)")


def _sign(lane: Lane, operands: list[str]) -> str:
    zero = lane.constant(0)
    prefix = "o" if lane.element.is_float else "u" if unsigned(lane.element) else "s"
    positive = lane.compare(prefix + "gt", operands[0], zero)
    negative = lane.compare(prefix + "lt", operands[0], zero)
    below = lane.select(negative, lane.constant(-1 if not unsigned(lane.element) else 0), zero)
    return lane.select(positive, lane.constant(1), below)


def _not(lane: Lane, operands: list[str]) -> str:
    return lane.binary("xor", operands[0], lane.constant(1 if lane.element is i1 else -1))


def _reciprocal(lane: Lane, operands: list[str]) -> str:
    return lane.binary("fdiv", lane.constant(1.0), operands[0])


def _isnan(lane: Lane, operands: list[str]) -> str:
    return lane.compare("uno", operands[0], operands[0])


def _isinf(lane: Lane, operands: list[str]) -> str:
    return lane.compare("oeq", lane.call("fabs", operands[0]), lane.constant(float("inf")))


def _hypot(lane: Lane, operands: list[str]) -> str:
    """sqrt(a * a + b * b) of the operands scaled by the greater; infinite if one is infinite, whatever the other."""
    big, small = [lane.call("fabs", operand) for operand in operands]
    swap = lane.compare("olt", big, small)
    big, small = lane.select(swap, small, big), lane.select(swap, big, small)
    ratio = lane.binary("fdiv", small, big)
    length = lane.binary("fmul", big, lane.call("sqrt", lane.call("fma", ratio, ratio, lane.constant(1.0))))
    zero = lane.compare("oeq", big, lane.constant(0.0))
    infinity = lane.constant(float("inf"))
    length = lane.select(zero, small, length)
    infinite = lane.logic("or", lane.compare("oeq", big, infinity), lane.compare("oeq", small, infinity))
    return lane.select(infinite, infinity, length)


def _gcd(lane: Lane, operands: list[str]) -> str:
    """In i64, as its low bits are those of every narrower type."""
    if lane.scalar == "i64":
        return lane.mathematics("gcd", *operands)
    wide = typed("i64", lane.width)
    opcode = "zext" if unsigned(lane.element) else "sext"
    operands = [lane.writer.emit(f"{opcode} {lane.type} {operand} to {wide}") for operand in operands]
    found = lane.writer.function("gcd", "i64", lane.width, "i64", "i64", *operands)
    return lane.writer.emit(f"trunc {wide} {found} to {lane.type}")


LONG: MappingProxyType[str, Row] = MappingProxyType(
    {
        "trunc_div": _trunc_div,
        "floor_div": _floor_div,
        "remainder": _remainder,
        "fmod": _fmod,
        "maximum": _extreme("maximum"),
        "minimum": _extreme("minimum"),
        "shl": _shift("shl"),
        "shr": _shift("ashr"),
        "neg": _neg,
        "abs": _abs,
        "sign": _sign,
        "not": _not,
        "reciprocal": _reciprocal,
        "isnan": _isnan,
        "isinf": _isinf,
        "hypot": _hypot,
        "gcd": _gcd,
    }
)


def _row_writer(name: str, element: ScalarType) -> Row | None:
    if name in LONG:
        return LONG[name]
    opcode = (FLOAT_OPCODES if element.is_float else INTEGER_OPCODES).get(name)
    if opcode is not None:
        return lambda lane, operands: lane.binary(opcode, *operands)
    if name in FLOAT_PREDICATES:
        predicate = FLOAT_PREDICATES[name] if element.is_float else integer_predicate(name, element)
        return lambda lane, operands: lane.compare(predicate, *operands)
    if element.is_float and name in INTRINSICS:
        return lambda lane, operands: lane.call(INTRINSICS[name], *operands)
    if has_function(name, element.spelling):
        return lambda lane, operands: lane.mathematics(name, *operands)
    return None


def scalar_row(lane: Lane, name: str, operands: list[str]) -> str:
    """One operation of the scalar table on one row."""
    write = _row_writer(name, lane.element)
    assert write is not None, name
    return write(lane, operands)


def scalar_operation(writer: Writer, op: Operation, operands: list[Tile]) -> Tile:
    """One operation of the scalar table.  Raises `LectError` for one that has no CPU code."""
    name = op.name.partition(".")[2]
    stored = operands[0].element
    predicate = op.result.type is i1 or getattr(op.result.type, "element", None) is i1
    operands = [writer.widen_half(operand) for operand in operands]
    element = f32 if stored.is_half else stored
    write = _row_writer(name, element)
    if write is None or element not in (f32, f64) and element.is_float:
        raise LectError(f"there is no CPU code for {name} of {stored}", op=op)
    width = max(operand.width for operand in operands)
    count = max(len(operand.rows) for operand in operands)
    operands = [writer.widen(operand, width) for operand in operands]
    lane = Lane(writer, element, width)
    rows = [write(lane, [operand.row(number) for operand in operands]) for number in range(count)]
    result = Tile(rows, width, i1 if predicate else element)
    return writer.narrow_half(result, stored) if stored.is_half and not predicate else result
