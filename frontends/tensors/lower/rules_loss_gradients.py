"""Gradients of losses and of a few activations as formulas of a few operations.

In f32 and f64 nothing is rounded between the steps.  Halves are rounded at each step, as these operations do, but where a rule says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.ir import Value
from lect.ir.symbolic import Size
from lect.ir.types import f32

aten = torch.ops.aten
Add, Sub, Mul, Exp = p.SUMS["AddOp"], p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"], p.FLOAT_UNARY["ExpOp"]
Le, Ge, Lt, Gt = [p.COMPARISONS[name] for name in ("LeOp", "GeOp", "LtOp", "GtOp")]
Neg, Or = p.REAL_UNARY["NegOp"], p.BIT_BINARY["BitwiseOrOp"]
MEAN = 1


def _divisor(x: Value, reduction: int) -> Size:
    """What a mean divides by."""
    return type_of(x).count if reduction == MEAN else 1


def _alike(gradient: Value, x: Value, target: Value) -> bool:
    """True for floats of one type and tensors of one shape that are not empty."""
    elements = {type_of(value).element for value in (gradient, x, target)}
    return len(elements) == 1 and type_of(x).element.is_float and type_of(x).shape == type_of(target).shape and bool(type_of(x).count)


def huber_backward(smooth: bool) -> Rule:
    """huber_loss_backward and smooth_l1_loss_backward: the difference, cut off at delta; the second computes halves in f32."""

    def rule(e: Emitter, gradient: Value, x: Value, target: Value, reduction: int, delta: float) -> Any:
        if not _alike(gradient, x, target):
            return None
        element, count = type_of(x).element, _divisor(x, reduction)
        if smooth and element.is_half:
            return e.to(rule(e, e.to(gradient, f32), e.to(x, f32), e.to(target, f32), reduction, delta), element)
        difference = e(Sub, x, target)
        norm, delta = e.ratio(1.0, count, element), e.number(float(delta), element)
        part = e(p.DivOp, difference, other=delta) if smooth and delta else difference
        inside = e(Mul, e.times(part, norm), gradient)
        limit = norm if smooth else e.times(norm, delta) if isinstance(norm, Value) else e.number(delta * norm, element)
        edge = e.expand(e.times(gradient, limit), type_of(inside).shape)
        found = e(p.WhereOp, e(Ge, difference, other=delta), edge, inside)
        return e(p.WhereOp, e(Le, difference, other=-delta), e(Neg, edge), found)

    return rule


def cross_entropy_backward(e: Emitter, gradient: Value, x: Value, target: Value, weight: Any = None, reduction: int = 1) -> Any:
    """binary_cross_entropy_backward."""
    if not _alike(gradient, x, target) or (weight is not None and type_of(weight).element is not type_of(x).element):
        return None
    spread = e(p.ClampOp, e(Mul, e(Sub, x, other=1, reversed=True), x), min=e.number(1e-12, type_of(x).element))
    found = e(p.DivOp, e(Mul, gradient, e(Sub, x, target)), spread)
    found = found if weight is None else e(Mul, found, weight)
    return e.over_count(found, type_of(x).count) if reduction == MEAN else found


def soft_margin_backward(e: Emitter, gradient: Value, x: Value, target: Value, reduction: int) -> Any:
    """soft_margin_loss_backward."""
    if not _alike(gradient, x, target):
        return None
    power = e(Exp, e(Mul, e(Neg, target), x))
    norm = e.ratio(-1.0, _divisor(x, reduction), type_of(x).element)
    slope = e(p.DivOp, e.times(e(Mul, target, power), norm), e(Add, power, other=1))
    return e(Mul, slope, gradient)


def logit_backward(e: Emitter, gradient: Value, x: Value, eps: float | None = None) -> Any:
    """logit_backward: nothing, or without eps NaN, outside of the bounds.  Halves are rounded at each step."""
    if type_of(gradient).element is not type_of(x).element or not type_of(x).element.is_float:
        return None
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    inside = e(p.DivOp, gradient, e(Mul, x, e(Sub, x, other=1, reversed=True)))
    outside = e(Or, e(Lt, x, other=low), e(Gt, x, other=high))
    return e(p.WhereOp, outside, e.scalar(float("nan") if eps is None else 0.0, type_of(x).element), inside)


def prelu_backward(e: Emitter, gradient: Value, x: Value, weight: Value) -> Any:
    """_prelu_kernel_backward: gradients of the operand and, before it is summed up, of the slope."""
    if len({type_of(value).element for value in (gradient, x, weight)}) > 1 or not type_of(x).element.is_float:
        return None
    above, nothing = e(Gt, x, other=0), e.scalar(0, type_of(x).element)
    slope = e(p.WhereOp, above, gradient, e(Mul, weight, gradient))
    return slope, e(p.WhereOp, above, nothing, e(Mul, x, gradient))


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.huber_loss_backward.default: huber_backward(False),
        aten.smooth_l1_loss_backward.default: huber_backward(True),
        aten.binary_cross_entropy_backward.default: cross_entropy_backward,
        aten.soft_margin_loss_backward.default: soft_margin_backward,
        aten.logit_backward.default: logit_backward,
        aten._prelu_kernel_backward.default: prelu_backward,
    }
)
