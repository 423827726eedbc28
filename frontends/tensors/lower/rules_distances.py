"""Distances between rows, of two sets of them and within one, and their gradients: norms of differences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional.creation import FullOp, IotaOp
from lect.dialects.functional.gather import IndexOp
from lect.dialects.functional.shapes import broadcast
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_formulas import is_wide
from lect.ir import Value
from lect.ir.types import f64, i64

aten = torch.ops.aten
Add, Sub, Mul = p.SUMS["AddOp"], p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"]
Eq = p.COMPARISONS["EqOp"]
Abs, Ceil, Sign = p.REAL_UNARY["AbsOp"], p.REAL_UNARY["CeilOp"], p.SIGN["SignOp"]
Sum = r.ACCUMULATE["SumOp"]
MANY = 25  # rows, above which eager makes Euclidean distances by a product of matrices


def distances(e: Emitter, x: Value, y: Value, order: float, mode: Any = None) -> Any:
    """_cdist_forward: norms of the differences of all pairs of rows.  Eager computes the Euclidean ones of many rows by a product of matrices."""
    by_product = order == 2 and (mode == 1 or (mode in (None, 0) and not all(e.at_most(type_of(each).shape[-2], MANY) for each in (x, y))))
    if not is_wide(x, y) or by_product or not e.result.count or not type_of(x).shape[-1]:
        return None
    difference = _differences(e, x, y)
    return e(r.VectorNormOp, difference, dims=(type_of(difference).rank - 1,), ord=order)


def _differences(e: Emitter, x: Value, y: Value) -> Value:
    """Of every row of x and every row of y: (..., rows of x, rows of y, width)."""
    (*left, rows, width), (*right, others, _) = type_of(x).shape, type_of(y).shape
    batch = broadcast([tuple(left), tuple(right)])
    column = e.reshape(e.expand(x, (*batch, rows, width)), (*batch, rows, 1, width))
    row = e.reshape(e.expand(y, (*batch, others, width)), (*batch, 1, others, width))
    return e(Sub, column, row)  # type: ignore[no-any-return]


def slope(e: Emitter, gradient: Value, difference: Value, distance: Value, order: float) -> Value:
    """What each coordinate of a difference gets of the gradient of its norm."""
    element = type_of(difference).element
    nothing = e.scalar(0, element)
    if order == 1:
        return e(Mul, gradient, e(Sign, difference))  # type: ignore[no-any-return]
    if math.isinf(order):
        gap = e(Ceil, e(Abs, e(Sub, e(Abs, difference), distance)))
        largest = e(Sub, e(p.ClampOp, gap, max=1), other=1, reversed=True)
        return e(Mul, e(Mul, gradient, e(Sign, difference)), largest)  # type: ignore[no-any-return]
    is_zero = e(Eq, distance, other=0)
    if order == 2:
        return e(p.WhereOp, is_zero, nothing, e(p.DivOp, e(Mul, gradient, difference), distance))  # type: ignore[no-any-return]
    power = p.POWER["PowOp"]
    below = e(power, distance, other=order - 1)
    if order < 2:
        inside = e(Mul, e(Sign, difference), e(power, e(Abs, difference), other=order - 1))
        if order < 1:
            is_zero = e(p.BIT_BINARY["BitwiseOrOp"], is_zero, e(Eq, difference, other=0))
    else:
        inside = e(Mul, difference, e(power, e(Abs, difference), other=order - 2))
    return e(p.WhereOp, is_zero, nothing, e(p.DivOp, e(Mul, inside, gradient), below))  # type: ignore[no-any-return]


def distances_backward(e: Emitter, gradient: Value, x: Value, y: Value, order: float, distance: Value) -> Any:
    """_cdist_backward: the gradient of x, the batch of which was broadcast."""
    if not is_wide(gradient, x, y, distance):
        return None
    if not order or not all(type_of(value).count for value in (gradient, x, y)):
        return e(FullOp, shape=e.result.shape, value=0, element=type_of(x).element)
    difference = _differences(e, x, y)
    last = type_of(difference).shape[:-1]
    outer, norm = [e.reshape(e.expand(value, last), (*last, 1)) for value in (gradient, distance)]
    found = e(Add, e(Sum, slope(e, outer, difference, norm, order), dims=(len(last) - 1,), keepdim=False), other=0)  # a sum that begins with 0 is no -0
    return e.reshape(found, e.result.shape) if type_of(found).count == e.result.count else None


# ---- pairs of one set ------------------------------------------------------------------------------------------------


def _number(e: Emitter, count: int, shape: tuple[int, ...]) -> Value:
    return e.reshape(e(IotaOp, size=count, start=0, step=1, element=i64), shape)


def pair_distances(e: Emitter, x: Value, order: float = 2) -> Any:
    """_pdist_forward: pairs in the order of their first row, then of their second; which rows a pair has is computed in f64."""
    count, width = type_of(x).shape
    pairs = count * (count - 1) // 2
    if not is_wide(x) or not pairs or not width:
        return None
    pair = _number(e, pairs, (pairs,))
    half = count - 0.5
    inside = e(Sub, e(Mul, e.to(pair, f64), other=2.0), other=half * half - 1, reversed=True)
    first = e.to(e(Sub, e(p.FLOAT_UNARY["SqrtOp"], inside), other=half, reversed=True), i64)
    behind = e(p.DivOp, e(Mul, first, e(Add, first, other=1)), other=2, mode="trunc")  # pairs of rows above `first` that are not
    second = e(Add, e(Add, e(Sub, pair, e(Mul, first, other=count)), behind), e(Add, first, other=1))
    rows = [e(IndexOp, x, [place], dims=(0,), negative=False) for place in (first, second)]
    return e(r.VectorNormOp, e(Sub, *rows), dims=(1,), ord=order)


def pair_distances_backward(e: Emitter, gradient: Value, x: Value, order: float, distance: Value) -> Any:
    """_pdist_backward: each row meets all others, in whichever order the pair has them."""
    count, width = type_of(x).shape
    if not is_wide(gradient, x, distance):
        return None
    if not order or count < 2 or not width:
        return e(FullOp, shape=e.result.shape, value=0, element=type_of(x).element)
    row, column = _number(e, count, (count, 1)), _number(e, count, (1, count))
    less, greater = e(p.EXTREMA["MinimumOp"], row, column), e(p.EXTREMA["MaximumOp"], row, column)
    behind = e(p.DivOp, e(Mul, less, e(Add, less, other=1)), other=2, mode="trunc")
    pair = e(Sub, e(Add, e(Sub, e(Mul, less, other=count), behind), greater), e(Add, less, other=1))
    itself = e(Eq, row, column)
    pair = e(p.WhereOp, itself, e.scalar(0, i64), pair)
    outer, norm = [e.reshape(e(IndexOp, value, [pair], dims=(0,), negative=False), (count, count, 1)) for value in (gradient, distance)]
    parts = slope(e, outer, _differences(e, x, x), norm, order)
    parts = e(p.WhereOp, e.reshape(itself, (count, count, 1)), e.scalar(0, type_of(x).element), parts)
    return e(Sum, parts, dims=(1,), keepdim=False)


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten._cdist_forward.default: distances,
        aten._cdist_backward.default: distances_backward,
        aten._pdist_forward.default: pair_distances,
        aten._pdist_backward.default: pair_distances_backward,
    }
)
