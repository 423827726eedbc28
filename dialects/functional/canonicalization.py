"""Rewrites inside the functional dialect, each exact: for NaN, for -0.0, for wrapping integers, and in the type of its result.

A rewrite that would change the strides of a value states the old ones in the attribute `strides`.
"""

from __future__ import annotations

import math
from typing import Any

from lect.dialects.functional.composite import ReluOp
from lect.dialects.functional.creation import CastOp, CopyOp, FullOp
from lect.dialects.functional.gather import AsStridedScatterOp, SliceScatterOp
from lect.dialects.functional.pointwise import (
    BIT_UNARY,
    COMPARISONS,
    EXTREMA,
    MIXED_BINARY,
    POWER,
    PREDICATES,
    REAL_UNARY,
    SUMS,
    DivOp,
    WhereOp,
)
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import AsStridedOp, CatOp, ExpandOp, PadOp, PermuteOp, ReshapeOp, ReverseOp, SliceOp
from lect.ir import Operation, Pattern, Rewriter, ScalarType, Value
from lect.ir.symbolic import Expr
from lect.ir.types import i1

AddOp, SubOp, MulOp, PowOp = SUMS["AddOp"], SUMS["SubOp"], MIXED_BINARY["MulOp"], POWER["PowOp"]
NegOp, AbsOp = REAL_UNARY["NegOp"], REAL_UNARY["AbsOp"]


def replace_by_value(op: Operation, value: Value, rewriter: Rewriter) -> bool:
    """Replace a single result by an older value of the same type."""
    if value.type is not op.results[0].type:
        return False
    rewriter.replace(op, value)
    return True


def replace_by_op(op: Operation, new: Any, rewriter: Rewriter) -> bool:
    """Replace an operation by a new one, which takes over the strides of the result."""
    wanted, got = op.results[0].type, new.results[0].type
    assert isinstance(wanted, TensorType) and isinstance(got, TensorType)
    if got is not wanted:
        if got.with_strides(wanted.strides) is not wanted:
            new.drop_operands()
            return False
        new.attrs["strides"] = wanted.strides
        new.results[0].type = wanted
    new.loc = op.loc
    rewriter.replace_with(op, new)
    return True


class CastToOwnType(Pattern):
    """cast(x : A) : A  =>  x"""

    root = CastOp

    def rewrite(self, op: CastOp, rewriter: Rewriter) -> bool:
        return replace_by_value(op, op.x, rewriter)


class CastBack(Pattern):
    """cast(cast(x : A) : B) : A  =>  x, where B holds every A"""

    root = CastOp

    def rewrite(self, op: CastOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, CastOp) or not holds(inner.x.type.element, inner.to):
            return False
        return replace_by_value(op, inner.x, rewriter)


class CastTwice(Pattern):
    """cast(cast(x : A) : B) : C  =>  cast(x) : C, where B holds every A"""

    root = CastOp

    def rewrite(self, op: CastOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, CastOp) or not holds(inner.x.type.element, inner.to) or op.to is inner.x.type.element:
            return False
        if not (op.to.is_float and inner.x.type.element.is_float):
            return False  # conversions to integers differ between the sources' types where the number does not fit
        return replace_by_op(op, CastOp(inner.x, to=op.to, device=op.device or inner.device), rewriter)


def holds(small: ScalarType, large: ScalarType) -> bool:
    """True when every number of one element type is exactly one of the other."""
    if small is large:
        return True
    if small.is_float:
        return large.is_float and large.bits > small.bits
    if small.kind == "bool":
        return large.kind in ("float", "signed", "unsigned")
    if large.is_float:
        digits = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[large.spelling]
        return small.bits - (small.kind == "signed") <= digits
    return large.is_integer and large.bits > small.bits and (large.kind == "signed" or small.kind == large.kind)


class CopyOfNoConsequence(Pattern):
    """copy(x : A) : A  =>  x, unless the graph returns the copy"""

    root = CopyOp

    def rewrite(self, op: CopyOp, rewriter: Rewriter) -> bool:
        returned = any(user.name == "functional.return" for user in op.output.users)
        return not returned and replace_by_value(op, op.x, rewriter)


class CopyOfCopy(Pattern):
    """copy(copy(x))  =>  copy(x)"""

    root = CopyOp

    def rewrite(self, op: CopyOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, CopyOp):
            return False
        return replace_by_op(op, CopyOp(inner.x, device=op.device or inner.device), rewriter)


# ---- views -----------------------------------------------------------------------------------------------------------


class ReshapeToOwnType(Pattern):
    """reshape(x : A) : A  =>  x"""

    root = ReshapeOp

    def rewrite(self, op: ReshapeOp, rewriter: Rewriter) -> bool:
        return replace_by_value(op, op.x, rewriter)


class ReshapeOfReshape(Pattern):
    """reshape(reshape(x))  =>  reshape(x)"""

    root = ReshapeOp

    def rewrite(self, op: ReshapeOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        return isinstance(inner, ReshapeOp) and replace_by_op(op, ReshapeOp(inner.x, op.shape), rewriter)


class PermuteToOwnOrder(Pattern):
    """permute(x) with the dims in order  =>  x"""

    root = PermuteOp

    def rewrite(self, op: PermuteOp, rewriter: Rewriter) -> bool:
        return tuple(op.dims) == tuple(range(len(op.dims))) and replace_by_value(op, op.x, rewriter)


class PermuteOfPermute(Pattern):
    """permute(permute(x))  =>  permute(x)"""

    root = PermuteOp

    def rewrite(self, op: PermuteOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, PermuteOp):
            return False
        return replace_by_op(op, PermuteOp(inner.x, tuple([inner.dims[dim] for dim in op.dims])), rewriter)


class ExpandToOwnShape(Pattern):
    """expand(x : A) : A  =>  x"""

    root = ExpandOp

    def rewrite(self, op: ExpandOp, rewriter: Rewriter) -> bool:
        return replace_by_value(op, op.x, rewriter)


class ExpandOfExpand(Pattern):
    """expand(expand(x))  =>  expand(x)"""

    root = ExpandOp

    def rewrite(self, op: ExpandOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        return isinstance(inner, ExpandOp) and replace_by_op(op, ExpandOp(inner.x, op.shape), rewriter)


class SliceOfAll(Pattern):
    """slice(x) from end to end  =>  x"""

    root = SliceOp

    def rewrite(self, op: SliceOp, rewriter: Rewriter) -> bool:
        whole = op.start == 0 and op.step == 1 and op.end == op.x.type.shape[op.dim]
        return whole and replace_by_value(op, op.x, rewriter)


class SliceOfSlice(Pattern):
    """slice(slice(x)) of one dim  =>  slice(x)"""

    root = SliceOp

    def rewrite(self, op: SliceOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, SliceOp) or inner.dim != op.dim:
            return False
        start = inner.start + op.start * inner.step
        end = min(inner.start + op.end * inner.step, inner.end)
        if start > end:
            return False
        return replace_by_op(op, SliceOp(inner.x, op.dim, start, end, step=inner.step * op.step), rewriter)


class SliceOfSliceScatter(Pattern):
    """slice(slice_scatter(x, y))  =>  slice_scatter(slice(x), slice(y)), or a slice of the one from which all of its elements come"""

    root = SliceOp

    def rewrite(self, op: SliceOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, SliceScatterOp) or inner.step != 1 or op.step != 1:
            return False
        dim, start, end = op.dim, op.start, op.end
        if inner.dim != dim:
            part = rewriter.insert_before(op, SliceOp(inner.src, dim, start, end, loc=op.loc))
            first, last = inner.start, inner.end
        else:
            low, high = max(start, inner.start), min(end, inner.end)
            if low >= high:
                return replace_by_op(op, SliceOp(inner.x, dim, start, end), rewriter)
            cut = SliceOp(inner.src, dim, low - inner.start, high - inner.start, loc=op.loc)
            if (low, high) == (start, end):
                return replace_by_op(op, cut, rewriter)
            part = rewriter.insert_before(op, cut)
            first, last = low - start, high - start
        around = rewriter.insert_before(op, SliceOp(inner.x, dim, start, end, loc=op.loc))
        return replace_by_op(op, SliceScatterOp(around.output, part.output, inner.dim, first, last), rewriter)


def shows_all(op: AsStridedOp | AsStridedScatterOp) -> bool:
    """True when a strided view has all elements of a contiguous operand in their order; how far apart the elements of a dim of size 1 are says nothing."""
    x = op.x.type
    if op.offset != 0 or not x.is_contiguous or not all(type(size) is int for size in (*op.size, *op.stride, *x.shape)):
        return False
    expected = 1
    for size, stride in zip(reversed(op.size), reversed(op.stride)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return expected == x.count and expected > 0


class AsStridedOfAll(Pattern):
    """as_strided(x) of all elements of x in their order  =>  reshape(x)"""

    root = AsStridedOp

    def rewrite(self, op: AsStridedOp, rewriter: Rewriter) -> bool:
        return shows_all(op) and (replace_by_value(op, op.x, rewriter) or replace_by_op(op, ReshapeOp(op.x, shape=op.size), rewriter))


class AsStridedScatterOfAll(Pattern):
    """as_strided_scatter(x, y) over all elements of x in their order  =>  reshape(y), unless the graph returns it"""

    root = AsStridedScatterOp

    def rewrite(self, op: AsStridedScatterOp, rewriter: Rewriter) -> bool:
        if not shows_all(op) or any(user.name in ("functional.return", "functional.write") for user in op.output.users):
            return False
        return replace_by_value(op, op.src, rewriter) or replace_by_op(op, ReshapeOp(op.src, shape=op.x.type.shape), rewriter)


class ReverseOfReverse(Pattern):
    """reverse(reverse(x)) along the same dims  =>  x"""

    root = ReverseOp

    def rewrite(self, op: ReverseOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        return isinstance(inner, ReverseOp) and set(inner.dims) == set(op.dims) and replace_by_value(op, inner.x, rewriter)


class CatOfOne(Pattern):
    """cat(x)  =>  x"""

    root = CatOp

    def rewrite(self, op: CatOp, rewriter: Rewriter) -> bool:
        return len(op.inputs) == 1 and replace_by_value(op, op.inputs[0], rewriter)


class PadOfNothing(Pattern):
    """pad(x) by 0 on all sides  =>  x"""

    root = PadOp

    def rewrite(self, op: PadOp, rewriter: Rewriter) -> bool:
        return all(tuple(pair) == (0, 0) for pair in op.pads) and replace_by_value(op, op.x, rewriter)


class ViewOfFull(Pattern):
    """reshape, expand, permute or slice of full(v)  =>  full(v)"""

    root = (ReshapeOp, ExpandOp, PermuteOp, SliceOp)

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, FullOp):
            return False
        return replace_by_op(op, FullOp(shape=op.output.type.shape, value=inner.value, element=inner.element, device=inner.device), rewriter)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


class Involution(Pattern):
    """f(f(x))  =>  x for neg, bitwise_not, and logical_not of i1"""

    root = (NegOp, BIT_UNARY["BitwiseNotOp"], PREDICATES["LogicalNotOp"])

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        inner: Any = op.x.op
        return type(inner) is type(op) and replace_by_value(op, inner.x, rewriter)


class Idempotent(Pattern):
    """f(f(x))  =>  f(x) for abs, floor, ceil, round, trunc, relu"""

    root = (AbsOp, REAL_UNARY["FloorOp"], REAL_UNARY["CeilOp"], REAL_UNARY["RoundOp"], REAL_UNARY["TruncOp"], ReluOp)

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        return type(op.x.op) is type(op) and replace_by_value(op, op.x, rewriter)


def is_number(value: Any, number: float) -> bool:
    """Equality that tells -0.0 from 0.0; an integer 0 counts as 0.0."""
    return value is not None and value == number and (number != 0 or math.copysign(1.0, value) == math.copysign(1.0, number))


class AddZero(Pattern):
    """x + 0  =>  x for integers, and x + -0.0  =>  x for floats (0.0 would change -0.0)"""

    root = AddOp

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        neutral = is_number(op.other, -0.0) if op.x.type.element.is_float else op.other == 0 and op.other is not None
        return neutral and not op.reversed and replace_by_value(op, op.x, rewriter)


class SubtractZero(Pattern):
    """x - 0  =>  x"""

    root = SubOp

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        return is_number(op.other, 0.0) and not op.reversed and replace_by_value(op, op.x, rewriter)


class MultiplyByOne(Pattern):
    """x * 1  =>  x"""

    root = MulOp

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        return op.other is not None and op.other == 1 and replace_by_value(op, op.x, rewriter)


class DivideByOne(Pattern):
    """x / 1  =>  x, without rounding to an integer"""

    root = DivOp

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        exact = op.mode == "true" or op.x.type.element.is_integer
        return exact and op.other is not None and op.other == 1 and not op.reversed and replace_by_value(op, op.x, rewriter)


class PowerOfOne(Pattern):
    """pow(x, 1)  =>  x"""

    root = PowOp

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        return op.other is not None and op.other == 1 and not op.reversed and replace_by_value(op, op.x, rewriter)


class PowerOfTwo(Pattern):
    """pow(x, 2)  =>  x * x"""

    root = PowOp

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        square = op.other is not None and op.other == 2 and not op.reversed
        return square and replace_by_op(op, MulOp(op.x, op.x), rewriter)


class WhereOfEquals(Pattern):
    """where(c, x, x)  =>  x"""

    root = WhereOp

    def rewrite(self, op: WhereOp, rewriter: Rewriter) -> bool:
        return op.x is op.y and replace_by_value(op, op.x, rewriter)


class ExtremumOfEquals(Pattern):
    """maximum(x, x)  =>  x, and minimum"""

    root = (EXTREMA["MaximumOp"], EXTREMA["MinimumOp"])

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        return op.x is op.y and replace_by_value(op, op.x, rewriter)


class NumberInsteadOfFull(Pattern):
    """f(x, full(v) : 0-d)  =>  f(x) {other = v}, where the numbers are of one type"""

    root = (AddOp, SubOp, MulOp, DivOp, *EXTREMA.values(), *COMPARISONS.values())

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        full = op.y.op if op.y is not None else None
        if not isinstance(full, FullOp) or full.shape or full.element is not op.x.type.element or full.element is i1 or op.attrs.get("alpha", 1) != 1:
            return False
        if len(op.operands) > 2:
            return False  # a number of run time is a factor of the second operand
        if type(full.value) is Expr:
            return False  # a size is no number of an attribute
        return replace_by_op(op, with_number(op, full.value), rewriter)


def with_number(op: Any, number: Any) -> Any:
    """An elementwise operation of two tensors, with a number in the place of the second; what passes have noted on it stands on the new one too."""
    own = {name: value for name, value in op.attrs.items() if name in op.definition.attrs and name != "strides"}
    made = type(op)(op.x, other=number, **own, loc=op.loc)
    made.attrs.update({name: value for name, value in op.attrs.items() if name not in made.attrs and name not in ("strides", "operand_segments")})
    return made


PATTERNS = (
    CastToOwnType(),
    CastBack(),
    CastTwice(),
    CopyOfNoConsequence(),
    CopyOfCopy(),
    ReshapeToOwnType(),
    ReshapeOfReshape(),
    PermuteToOwnOrder(),
    PermuteOfPermute(),
    ExpandToOwnShape(),
    ExpandOfExpand(),
    SliceOfAll(),
    SliceOfSlice(),
    SliceOfSliceScatter(),
    AsStridedOfAll(),
    AsStridedScatterOfAll(),
    ReverseOfReverse(),
    CatOfOne(),
    PadOfNothing(),
    ViewOfFull(),
    Involution(),
    Idempotent(),
    AddZero(),
    SubtractZero(),
    MultiplyByOne(),
    DivideByOne(),
    PowerOfOne(),
    PowerOfTwo(),
    WhereOfEquals(),
    ExtremumOfEquals(),
    NumberInsteadOfFull(),
)
