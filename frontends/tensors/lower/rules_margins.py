"""Losses that compare the score of a class with those of all others: multi_margin_loss, multilabel_margin_loss, and their gradients.

Targets that are no class raise where they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional.creation import FullOp, IotaOp
from lect.dialects.functional.gather import GatherOp, IndexOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_formulas import is_wide
from lect.ir import Value
from lect.ir.types import i64

aten = torch.ops.aten
Add, Sub, Mul, Div = p.SUMS["AddOp"], p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"], p.DivOp
And, Not = p.BIT_BINARY["BitwiseAndOp"], p.BIT_UNARY["BitwiseNotOp"]
Eq, Gt, Lt = p.COMPARISONS["EqOp"], p.COMPARISONS["GtOp"], p.COMPARISONS["LtOp"]
Sum, Any_ = r.ACCUMULATE["SumOp"], r.TESTS["AnyOp"]
NONE, MEAN = 0, 1


def _rows(x: Value) -> tuple[int, int]:
    """How many rows of scores there are, and how many classes; a single row may have no dim of its own."""
    shape = type_of(x).shape
    return (shape[0], shape[1]) if len(shape) == 2 else (1, type_of(x).count)


def _classes(e: Emitter, count: int, shape: tuple[int, ...]) -> Value:
    return e.reshape(e(IotaOp, size=count, start=0, step=1, element=i64), shape)


def _usable(x: Value, target: Value) -> bool:
    return is_wide(x) and bool(type_of(x).count) and type_of(target).element is i64


def _reduced(e: Emitter, found: Value, reduction: int, rows: int) -> Value:
    """The numbers of all rows as the result of the loss."""
    if reduction == NONE:
        return e.reshape(found, e.result.shape)
    total = e(Sum, found, dims=(0,), keepdim=False)
    return e.reshape(e(Div, total, other=rows) if reduction == MEAN else total, e.result.shape)


def _along_rows(e: Emitter, gradient: Value, found: Value, rows: int) -> Value:
    """What each row gets, times the gradient of the loss."""
    outer = gradient if not type_of(gradient).rank else e.reshape(gradient, (rows, 1))
    return e.reshape(e(Mul, found, outer), e.result.shape)


# ---- one class a row -------------------------------------------------------------------------------------------------


class _Margins:
    """By how much each class is above its margin below the class of the row."""

    def __init__(self, e: Emitter, x: Value, target: Value, margin: Any, weight: Value | None) -> None:
        element = type_of(x).element
        self.rows, self.count = _rows(x)
        scores = e.reshape(x, (self.rows, self.count))
        self.target = e.reshape(target, (self.rows, 1))
        own = e(GatherOp, scores, self.target, dim=1)
        self.above = e(Add, e(Sub, own, other=e.number(margin, element), reversed=True), scores)
        self.is_own = e(Eq, self.target, _classes(e, self.count, (1, self.count)))
        self.counts = e(And, e(Gt, self.above, other=0), e(Not, self.is_own))
        flat = e.reshape(target, (self.rows,))
        self.weight = None if weight is None else e.reshape(e(IndexOp, weight, [flat], dims=(0,), negative=False), (self.rows, 1))


def multi_margin(e: Emitter, x: Value, target: Value, power: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = MEAN) -> Any:
    """multi_margin_loss: for each row the mean over all classes of what is above the margin, or of its square."""
    if not _usable(x, target):
        return None
    how = _Margins(e, x, target, margin, weight)
    found = how.above if power == 1 else e(Mul, how.above, how.above)
    found = found if how.weight is None else e(Mul, found, how.weight)
    found = e(p.WhereOp, how.counts, found, e.scalar(0, type_of(x).element))
    rows = e(Div, e(Sum, found, dims=(1,), keepdim=False), other=how.count)
    return _reduced(e, rows, reduction, how.rows)


def multi_margin_backward(
    e: Emitter, gradient: Value, x: Value, target: Value, power: Any, margin: Any, weight: Any = None, reduction: int = MEAN
) -> Any:
    """multi_margin_loss_backward: each class above the margin gets its slope, and the class of the row loses them all."""
    element = type_of(x).element
    if not _usable(x, target) or type_of(gradient).element is not element:
        return None
    how = _Margins(e, x, target, margin, weight)
    slope = e.number(1.0 / (how.count * (how.rows if reduction == MEAN else 1)), element)
    if power == 1:
        found = e(FullOp, shape=(), value=slope, element=element)
    else:
        found = e(Mul, how.above, other=e.number(2 * slope, element))
    found = found if how.weight is None else e(Mul, found, how.weight)
    found = e(p.WhereOp, how.counts, found, e.scalar(0, element))
    lost = e(Sub, e(Sum, found, dims=(1,), keepdim=True), other=0, reversed=True)
    return _along_rows(e, gradient, e(p.WhereOp, how.is_own, lost, found), how.rows)


# ---- several classes a row -------------------------------------------------------------------------------------------


class _Labels:
    """The classes of each row, which end in front of the first -1, each beside all classes: (rows, labels, classes)."""

    def __init__(self, e: Emitter, x: Value, target: Value) -> None:
        element = type_of(x).element
        self.rows, self.count = _rows(x)
        scores, labels = [e.reshape(value, (self.rows, self.count)) for value in (x, target)]
        ended = e(r.SCANS["CumsumOp"], e(Lt, labels, other=0), dim=1)
        self.is_label = e.reshape(e(Eq, ended, other=0), (self.rows, self.count, 1))
        places = e(p.WhereOp, e(Eq, labels, other=-1), e.scalar(0, i64), labels)
        own = e.reshape(e(GatherOp, scores, places, dim=1), (self.rows, self.count, 1))
        self.is_own = e(And, self.is_label, e(Eq, e.reshape(labels, (self.rows, self.count, 1)), _classes(e, self.count, (1, 1, self.count))))
        self.is_target = e(Any_, self.is_own, dims=(1,), keepdim=False)
        self.above = e(Add, e(Sub, own, other=e.number(1, element), reversed=True), e.reshape(scores, (self.rows, 1, self.count)))
        others = e(And, self.is_label, e(Not, e.reshape(self.is_target, (self.rows, 1, self.count))))
        self.counts = e(And, e(Gt, self.above, other=0), others)


def multilabel_margin(e: Emitter, x: Value, target: Value, reduction: int) -> Any:
    """multilabel_margin_loss_forward: all pairs of a class of the row and one that is none; and which classes are the row's, as numbers."""
    if not _usable(x, target):
        return None
    how = _Labels(e, x, target)
    found = e(p.WhereOp, how.counts, how.above, e.scalar(0, type_of(x).element))
    rows = e(Div, e(Sum, found, dims=(1, 2), keepdim=False), other=how.count)
    is_target = e.reshape(e.to(how.is_target, type_of(x).element), type_of(target).shape)
    return _reduced(e, rows, reduction, how.rows), is_target


def multilabel_margin_backward(e: Emitter, gradient: Value, x: Value, target: Value, reduction: int, is_target: Value) -> Any:
    """multilabel_margin_loss_backward: a pair above the margin pulls its two classes apart."""
    element = type_of(x).element
    if not _usable(x, target) or type_of(gradient).element is not element:
        return None
    how = _Labels(e, x, target)
    slope = e.scalar(1.0 / (how.count * (how.rows if reduction == MEAN else 1)), element)
    nothing = e.scalar(0, element)
    pulled = e(p.WhereOp, how.counts, slope, nothing)
    lost = e(p.WhereOp, how.is_own, e(Sum, pulled, dims=(2,), keepdim=True), nothing)
    found = e(Sub, e(Sum, pulled, dims=(1,), keepdim=False), e(Sum, lost, dims=(1,), keepdim=False))
    return _along_rows(e, gradient, found, how.rows)


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.multi_margin_loss.default: multi_margin,
        aten.multi_margin_loss_backward.default: multi_margin_backward,
        aten.multilabel_margin_loss_forward.default: multilabel_margin,
        aten.multilabel_margin_loss_backward.default: multilabel_margin_backward,
    }
)
