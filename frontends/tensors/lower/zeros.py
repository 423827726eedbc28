"""Tensors that torch knows to be zero (`_efficientzerotensor`), which forward-mode derivatives give to what does not depend on their input.

torch does not compute with them: a product with one is another one, also beside NaN and infinity, and a sum with one is the other operand, with the sign
of its zeros.  Views of them are known to be zero too; everything else meets plain zeros.  What is known follows `aten/src/ATen/native/BinaryOps.cpp`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from lect.dialects.functional.pointwise import NegOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_views import emit_full
from lect.ir import Value

aten = torch.ops.aten

MADE = aten._efficientzerotensor.default
_PRODUCTS = frozenset({aten.mul.Tensor, aten.mul.Scalar, aten.dot.default, aten.vdot.default, aten.linalg_cross.default})


def zero_rule(func: Any, first: bool, second: bool) -> tuple[Rule | None, bool]:
    """What replaces the rule of `func` when its first or second operand is known to be zero, None when it is computed; and whether its result is known
    to be zero."""
    if func in _PRODUCTS or (func is aten.div.Scalar and first):
        return _filled(0), True
    if func is aten.div.Tensor:
        if first and second:
            return _filled(math.nan), False
        return (_filled(0), True) if first else (_filled(math.inf), False)
    if func is aten.add.Tensor or func is aten.sub.Tensor:
        if first and second:
            return _filled(0), True
        return _other(1 if first else 0, first and func is aten.sub.Tensor), False
    return None, False


def _filled(number: float) -> Rule:
    return lambda e, *operands, **options: None if e.result.element.kind == "complex" else emit_full(e, number)


def _other(position: int, negated: bool) -> Rule:
    """The operand that is not zero, as an operand of the sum."""

    def rule(e: Emitter, *operands: Any, alpha: Any = 1) -> Any:
        kept = operands[position]
        if not isinstance(kept, Value) or not isinstance(alpha, int | float) or e.result.element.kind == "complex":
            return None
        kept = e.to(kept, e.result.element)
        if position and alpha != 1:
            kept = e.times(kept, e.number(alpha, e.result.element))
        kept = e(NegOp, kept) if negated else kept
        return e.fresh(kept if type_of(kept).shape == e.result.shape else e.expand(kept, e.result.shape), e.result.strides)

    return rule
