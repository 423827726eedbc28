"""Elementwise primitives: one number for each element of the result, computed in f32 for halves and rounded once when it is stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from lect.dialects.functional import creation, gather, pointwise
from lect.ir import LectError, Operation, ScalarType
from lect.ir.types import bf16, f16, f32, f64, i1, i32, i64, ui8
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen, compute_type, truth
from lect.passes.convert.functional_to_loop_gather import require_all

Formula = Callable[[Body, Any], "Num | None"]
"""From a body over the result and the operation to the result's element; None when the operation has to be a library call."""


def elementwise(formula: Formula, library: Rule) -> Rule:
    """The lowering of an operation with one result by a formula for its element."""

    def lower(lowering: Lowering, op: Any) -> list[Seen]:
        body = lowering.body(op.output.type, op.loc)
        number = formula(body, op)
        if number is None:
            body.discard()
            return library(lowering, op)
        body.store(number, op.output.type)
        return body.finish()

    return lower


# ---- one operand -----------------------------------------------------------------------------------------------------

DIRECT: Final = (
    "reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid abs neg"
).split()
ROUNDING: Final = ("floor", "ceil", "round", "trunc")


def _direct(name: str) -> Formula:
    return lambda body, op: body.read(op.x).op(name)


def _rounding(name: str) -> Formula:
    def formula(body: Body, op: Any) -> Num:
        x = body.read(op.x)
        return x.op(name) if x.type.is_float else x

    return formula


def _bitwise_not(body: Body, op: Any) -> Num:
    return ~body.read(op.x)


def _logical_not(body: Body, op: Any) -> Num:
    return ~truth(body.read(op.x))


def _float_test(name: str) -> Formula:
    def formula(body: Body, op: Any) -> Num:
        x = body.read(op.x)
        return x.op(name) if x.type.is_float else body.const(False, i1)

    return formula


def _signbit(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    if x.type.is_float:
        return x.const(1).op("copysign", x) < 0
    return x < 0 if x.type.kind == "signed" else body.const(False, i1)


def sign_of(x: Num) -> Num:
    """-1, 0 or 1; zeros and NaN give 0."""
    if x.type is i1:
        return x
    return (x > 0).cast(x.type) - (x < 0).cast(x.type) if x.type.kind != "unsigned" else (x > 0).cast(x.type)


def _sign(body: Body, op: Any) -> Num:
    return sign_of(body.read(op.x))


# ---- two operands ----------------------------------------------------------------------------------------------------


def pair(body: Body, op: Any) -> tuple[Num, Num]:
    """Both operands in the type the operation computes in; a number stands for the second, or with `reversed` for the first."""
    operands = [value for value in (op.x, op.y) if value is not None]
    deciding = [value for value in operands if value.type.rank] or operands
    element = compute_type(deciding[0].type.element)
    x = convert(body.read(op.x), element)
    y = convert(body.read(op.y), element) if op.y is not None else body.const(op.other, element)
    return (y, x) if op.reversed else (x, y)


def rounded(x: Num, element: ScalarType) -> Num:
    """x as eager has it after storing it in a half and loading it again; other types keep every bit anyway."""
    return x.cast(element).cast(x.type) if element.is_half else x


def _sum(name: str) -> Formula:
    def formula(body: Body, op: Any) -> Num:
        x, y = pair(body, op)
        if x.type is i1:
            return x | y if op.alpha else x
        if op.factor is not None:
            factor = convert(body.read(op.factor), y.type)
            factor = factor if name == "add" else -factor
            return factor.op("fma", y, x) if x.type.is_float else x + factor * y
        if op.alpha == 1:
            return x.op(name, y)
        alpha = rounded(body.const(op.alpha if name == "add" else -op.alpha, y.type), op.output.type.element)
        return alpha.op("fma", y, x) if x.type.is_float else x + alpha * y

    return formula


def _mul(body: Body, op: Any) -> Num:
    x, y = pair(body, op)
    return x & y if x.type is i1 else x * y


def _binary(name: str) -> Formula:
    def formula(body: Body, op: Any) -> Num:
        x, y = pair(body, op)
        return x.op(name, y)

    return formula


def _skipping_nan(name: str, plain: str) -> Formula:
    def formula(body: Body, op: Any) -> Num:
        x, y = pair(body, op)
        return x.op(name if x.type.is_float else plain, y)

    return formula


def _shift_right(body: Body, op: Any) -> Num:
    x, y = pair(body, op)
    shifted = x.op("shr", y)
    return (y >= x.type.bits).choose(0, shifted) if x.type.kind == "unsigned" else shifted


def _logical(name: str) -> Formula:
    def formula(body: Body, op: Any) -> Num:
        x, y = pair(body, op)
        return truth(x).op(name, truth(y))

    return formula


def floor_quotient(x: Num, y: Num) -> Num:
    """The float quotient rounded to the floor, as eager has it: derived from fmod, so that 1 // 0.1 is 9."""
    remainder = x.op("fmod", y)
    adjusted = remainder.differs(0) & (y < 0).differs(remainder < 0)
    quotient = (x - remainder) / y
    quotient = adjusted.choose(quotient - 1, quotient)
    floor = quotient.op("floor")
    floor = (quotient - floor > 0.5).choose(floor + 1, floor)
    floor = quotient.equals(0).choose(x.const(0).op("copysign", x / y), floor)
    return y.equals(0).choose(x / y, floor)


def _surely_divides(body: Body, op: Any) -> bool:
    """False when a number divides by zero; for a tensor of integers on the CPU the check that none of them is zero is made at run time.

    Eager's kernels for other devices do not look, and give some value.
    """
    divisor = op.x if op.reversed else op.y
    if divisor is None:
        return op.other != 0  # type: ignore[no-any-return]
    if not op.output.type.is_empty and divisor.type.device == "cpu":
        require_all(body.lowering, op, divisor, lambda number: number.differs(0), "ZeroDivisionError")
    return True


def _by_minus_one(y: Num, quotient: Num, otherwise: Num) -> Num:
    """Apart from the division: by -1, where one quotient does not fit and wraps around."""
    return otherwise if y.type.kind == "unsigned" else y.equals(-1).choose(quotient, otherwise)


def _div(body: Body, op: Any) -> Num | None:
    if op.output.type.element.is_float:
        x, y = pair(body, op)
        if op.mode == "floor":
            return floor_quotient(x, y)
        return rounded(x / y, op.output.type.element).op("trunc") if op.mode == "trunc" else x / y
    if not _surely_divides(body, op):
        return None  # a zero divisor raises
    x, y = pair(body, op)
    return _by_minus_one(y, -x, x.op("floor_div" if op.mode == "floor" else "trunc_div", y))


def modulo(x: Num, y: Num) -> Num:
    """The float remainder with the sign of the divisor."""
    remainder = x.op("fmod", y)
    return (remainder.differs(0) & (y < 0).differs(remainder < 0)).choose(remainder + y, remainder)


def _remainder(name: str) -> Formula:
    def formula(body: Body, op: Any) -> Num | None:
        if op.output.type.element.is_float:
            x, y = pair(body, op)
            return modulo(x, y) if name == "remainder" else x.op("fmod", y)
        if not _surely_divides(body, op):
            return None
        x, y = pair(body, op)
        return _by_minus_one(y, x.const(0), x.op(name, y))

    return formula


def _pow(body: Body, op: Any) -> Num | None:
    x, y = pair(body, op)
    if not x.type.is_float:
        if op.y is not None or op.reversed:
            return integer_power(x, y) if x.type is not i1 else None
        return power(x, int(op.other)) if 0 <= op.other <= 64 else None
    if op.y is None and not op.reversed:
        exact = _simple_power(x, float(op.other), op.output.type.element)
        if exact is not None:
            return exact
    return x.op("pow", y)


def integer_power(x: Num, exponent: Num) -> Num:
    """x multiplied by itself so many times, which wraps; a negative exponent gives what is left of 1 / x^n: 0, or for 1 and -1 a power of them."""
    bits = x.type.bits - (x.type.kind == "signed")
    out, square = x.const(1), x
    for bit in range(bits):
        out = (exponent.op("shr", bit) & exponent.const(1)).differs(0).choose(out * square, out)
        square = square * square
    if x.type.kind == "unsigned":
        return out
    odd = (exponent & exponent.const(1)).differs(0)
    inverse = x.equals(1).choose(1, x.equals(-1).choose(odd.choose(x.const(-1), 1), x.const(0)))
    return (exponent < 0).choose(inverse, out)


def power(x: Num, exponent: int) -> Num:
    """x multiplied by itself; integers wrap."""
    out, square = x.const(1), x
    while exponent:
        if exponent & 1:
            out = out * square
        square = square * square
        exponent >>= 1
    return out


def _simple_power(x: Num, exponent: float, element: ScalarType) -> Num | None:
    """The exponents that eager does not compute by pow; in bf16 it rounds the square in between."""
    if element is f16:
        return x * x if exponent == 2.0 else None
    if exponent == 0.5:
        return x.op("sqrt")
    if exponent == -0.5:
        return x.op("rsqrt")
    if exponent == -1.0:
        return x.op("reciprocal")
    square = x * x
    if exponent == 2.0:
        return square
    if element is bf16:
        square = rounded(square, element)
    if exponent == 3.0:
        return square * x
    return square.op("reciprocal") if exponent == -2.0 else None


# ---- selections, casts, constants ------------------------------------------------------------------------------------


def _where(body: Body, op: Any) -> Num:
    return body.read(op.condition).choose(body.read(op.x, raw=True), body.read(op.y, raw=True))


def _clamp(body: Body, op: Any) -> Num:
    """The bound comes first when it is a number: of equal operands the second is taken, and a zero within the bounds keeps its sign."""
    x = body.read(op.x)
    for operand, number, name in ((op.low, op.min, "maximum"), (op.high, op.max, "minimum")):
        if operand is not None:
            x = x.op(name, body.read(operand))
        elif number is not None:
            x = body.const(number, x.type).op(name, x)
    return x


def _within(body: Body, op: Any) -> Num:
    """The element itself; whether all lie within the bounds is asked at run time."""

    def good(number: Num) -> Num:
        low = number >= (float("-inf") if op.min is None else op.min)
        return low if op.max is None else low & (number <= op.max)

    if not op.x.type.is_empty:
        require_all(body.lowering, op, op.x, good, op.message)
    return body.read(op.x)


def convert(x: Num, to: ScalarType) -> Num:
    """A cast with eager's results: a float that i32 (i64, for i64 and from f64 to ui8) does not hold gives the least one; narrower types take low bits."""
    if x.type is to:
        return x
    if to is i1:
        return truth(x)
    if to.is_half:
        return x.cast(f32).cast(to)
    if x.type.is_float and to.is_integer:
        wide = i64 if to.bits == 64 or (to is ui8 and x.type is f64) else i32
        x = x.cast(compute_type(x.type))
        limit = float(1 << (wide.bits - 1))
        fits = (x > -limit - 1) & (x < limit) if x.type.bits == 64 and wide is i32 else (x >= -limit) & (x < limit)
        least = Num(x.body, x.body.const(-(1 << (wide.bits - 1)), wide))
        return fits.choose(x.cast(wide), least).cast(to)
    return x.cast(to)


def _cast(body: Body, op: Any) -> Num:
    require_same_device(op)
    x = body.read(op.x)
    if op.x.type.device != "cpu" and x.type.is_float and op.to.is_integer:
        return x.cast(compute_type(x.type)).cast(op.to)  # what a GPU's own conversion gives
    return convert(x, op.to)


def _copy(body: Body, op: Any) -> Num:
    require_same_device(op)
    return body.read(op.x, raw=True)


def require_same_device(op: Operation) -> None:
    """Raise `LectError` when a copy goes to another device."""
    source, target = op.operands[0].type.device, op.results[0].type.device  # type: ignore[attr-defined]
    if source != target:
        raise LectError(f"a copy from {source} to {target} has no loop form", op=op)


def _full(body: Body, op: Any) -> Num:
    return body.const(op.value, op.element)


def _undefined(body: Body, op: Any) -> Num:
    return body.const(0, op.element)


def _iota(body: Body, op: Any) -> Num | None:
    """Where every element is exact however it is computed, or there is one: otherwise eager's rounding depends on how many lanes its loop has."""
    if op.size == 1 and op.element.is_float:
        return body.const(op.start, compute_type(op.element) if op.element.is_half else f64)
    scale = max(_fraction_bits(op.start), _fraction_bits(op.step))
    if scale > MOST_FRACTION_BITS or (scale and not op.element.is_float):
        return None
    if type(op.size) is not int and op.element.is_float:
        return None
    start, step = int(op.start * 2**scale), int(op.step * 2**scale)
    last = abs(start) + abs(step) * op.size
    if op.element.is_float and last >= 1 << {"f16": 11, "bf16": 8, "f32": 24}.get(op.element.spelling, 53):
        return None
    number = convert(body.index(body.indices[0] * step + start), op.element)
    return number.cast(compute_type(op.element)) * 2.0**-scale if scale else number


MOST_FRACTION_BITS = 16


def _fraction_bits(number: float) -> int:
    """How often a number has to be doubled until it is an integer."""
    return float(number).as_integer_ratio()[1].bit_length() - 1 if math.isfinite(number) else MOST_FRACTION_BITS + 1


def _class(module: Any, name: str) -> type[Operation]:
    return getattr(module, "".join(part.capitalize() for part in name.split("_")) + "Op")


FORMULAS: Mapping[type[Operation], Formula] = MappingProxyType(
    {
        **{_class(pointwise, name): _direct(name) for name in DIRECT},
        **{_class(pointwise, name): _rounding(name) for name in ROUNDING},
        **{_class(pointwise, name): _float_test(name) for name in ("isnan", "isinf")},
        **{_class(pointwise, name): _binary(name) for name in "maximum minimum atan2 hypot copysign eq ne lt le gt ge".split()},
        **{_class(pointwise, "bitwise_" + name): _binary(name) for name in ("and", "or", "xor")},
        **{_class(pointwise, "logical_" + name): _logical(name) for name in ("and", "or", "xor")},
        **{_class(pointwise, name): _remainder(name) for name in ("remainder", "fmod")},
        pointwise.BitwiseNotOp: _bitwise_not,
        pointwise.LogicalNotOp: _logical_not,
        pointwise.SignbitOp: _signbit,
        pointwise.SignOp: _sign,
        pointwise.AddOp: _sum("add"),
        pointwise.SubOp: _sum("sub"),
        pointwise.MulOp: _mul,
        pointwise.DivOp: _div,
        pointwise.PowOp: _pow,
        pointwise.FmaxOp: _skipping_nan("fmax", "maximum"),
        pointwise.FminOp: _skipping_nan("fmin", "minimum"),
        pointwise.ShiftLeftOp: _binary("shl"),
        pointwise.ShiftRightOp: _shift_right,
        pointwise.WhereOp: _where,
        pointwise.ClampOp: _clamp,
        gather.WithinOp: _within,
        creation.CastOp: _cast,
        creation.CopyOp: _copy,
        creation.FullOp: _full,
        creation.UndefinedOp: _undefined,
        creation.IotaOp: _iota,
    }
)
