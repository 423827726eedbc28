"""ATen overloads that are short formulas over the closed set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import composite as c
from lect.dialects.functional import contraction as k
from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional import view as v
from lect.dialects.functional.creation import FullOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, dim_of, type_of
from lect.frontends.tensors.lower.rules_reductions import accumulate, stated_element, vector_norm, wide_variance_and_mean
from lect.ir import Value
from lect.ir.types import i1

aten = torch.ops.aten


def celu(e: Emitter, x: Value, alpha: Any = 1.0) -> Any:
    """celu: elu whose inner scale is 1 / alpha."""
    return e(c.EluOp, x, alpha=alpha, input_scale=1.0 / alpha) if type_of(x).element.is_float else None


def prelu(e: Emitter, x: Value, weight: Value) -> Any:
    """_prelu_kernel: a slope for each channel, already shaped to broadcast."""
    return e(c.LeakyReluOp, x, weight) if type_of(x).element is type_of(weight).element else None


def deviation_and_mean(e: Emitter, x: Value, dims: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """std_mean.correction."""
    both = wide_variance_and_mean(e, x, dims, correction, keepdim)
    return None if both is None else (e.to(e(p.FLOAT_UNARY["SqrtOp"], both[0]), type_of(x).element), e.to(both[1], type_of(x).element))


def norm(e: Emitter, x: Value, p: Any = 2, dims: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """norm.ScalarOpt_dim."""
    return vector_norm(e, x, 2 if p is None else p, dims, keepdim)


def nan_sum(e: Emitter, x: Value, dims: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """nansum: zeros for NaN."""
    kept = x
    if type_of(x).element.is_float:
        kept = e(p.WhereOp, e(p.PREDICATES["IsnanOp"], x), e.scalar(0, type_of(x).element), x)
    return accumulate(r.ACCUMULATE["SumOp"])(e, kept, dims, keepdim)


def count_nonzero(e: Emitter, x: Value, dims: Any = None) -> Any:
    """count_nonzero."""
    differs = e(p.COMPARISONS["NeOp"], x, other=e.number(0, type_of(x).element))
    return accumulate(r.ACCUMULATE["SumOp"])(e, differs, dims if not isinstance(dims, Sequence) or dims else None)


def signed_infinity(comparison: str) -> Rule:
    """isposinf and isneginf."""

    def rule(e: Emitter, x: Value) -> Any:
        if type_of(x).element.kind == "complex":
            return None
        if not type_of(x).element.is_float:
            return e.laid_out(e(FullOp, shape=type_of(x).shape, value=False, element=i1), e.result)
        return e(p.COMPARISONS["EqOp"], x, other=float(comparison))

    return rule


def add_matrix_vector(e: Emitter, added: Value, x: Value, y: Value, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """addmv: a matrix with one column; halves are rounded otherwise than by addmm."""
    if type_of(x).element.is_half:
        return e(k.AddmvOp, added, x, y, beta=beta, alpha=alpha)
    rows, columns = type_of(x).shape
    column = e.reshape(added, (type_of(added).shape[0], 1)) if type_of(added).rank else added
    product = e(k.AddmmOp, column, x, e.reshape(y, (columns, 1)), beta=beta, alpha=alpha)
    return e.reshape(product, (rows,))


def trace(e: Emitter, x: Value) -> Any:
    """The sum of the diagonal."""
    return e(r.ACCUMULATE["SumOp"], e(v.DiagonalOp, x), dims=(0,), element=stated_element(e, x))


def pixel_shuffle(e: Emitter, x: Value, factor: int) -> Any:
    """Channels become the pixels of squares."""
    *batch, channels, height, width = type_of(x).shape
    lead = len(batch)
    split = e.reshape(x, (*batch, channels // factor**2, factor, factor, height, width))
    order = (*range(lead), lead, lead + 3, lead + 1, lead + 4, lead + 2)
    return _dense(e, e.permute(split, order))


def pixel_unshuffle(e: Emitter, x: Value, factor: int) -> Any:
    """The pixels of squares become channels."""
    *batch, channels, height, width = type_of(x).shape
    lead = len(batch)
    split = e.reshape(x, (*batch, channels, height // factor, factor, width // factor, factor))
    order = (*range(lead), lead, lead + 2, lead + 4, lead + 1, lead + 3)
    return _dense(e, e.permute(split, order))


def channel_shuffle(e: Emitter, x: Value, groups: int) -> Any:
    """Channels dealt out over the groups."""
    batch, channels, *rest = type_of(x).shape
    split = e.reshape(x, (batch, groups, channels // groups, *rest))
    return _dense(e, e.permute(split, (0, 2, 1, *range(3, 3 + len(rest)))))


def _dense(e: Emitter, x: Value) -> Value:
    """The result's shape, in memory of its own."""
    return e.fresh(e.reshape(x, e.result.shape), e.result.strides)


def as_strided(e: Emitter, x: Value, size: Sequence[int], stride: Sequence[int], offset: int) -> Any:
    """as_strided, its offset counted from the operand's first element."""
    return e(v.AsStridedOp, x, size=tuple(size), stride=tuple(stride), offset=offset)


def quarter_turns(e: Emitter, x: Value, turns: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """rot90: a flip, a transpose, or both."""
    first, second = dim_of(x, dims[0]), dim_of(x, dims[1])
    order = list(range(type_of(x).rank))
    order[first], order[second] = second, first
    turns %= 4
    if turns == 0:
        return e.fresh(x, e.result.strides)
    if turns == 2:
        return e(v.ReverseOp, x, dims=tuple(sorted((first, second))))
    turned = e(v.ReverseOp, x, dims=(second if turns == 1 else first,))
    return e.permute(turned, order)


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.celu.default: celu,
        aten._prelu_kernel.default: prelu,
        aten.std_mean.correction: deviation_and_mean,
        aten.norm.ScalarOpt_dim: norm,
        aten.norm.Scalar: norm,
        aten.nansum.default: nan_sum,
        aten.count_nonzero.default: count_nonzero,
        aten.count_nonzero.dim_IntList: count_nonzero,
        aten.isposinf.default: signed_infinity("inf"),
        aten.isneginf.default: signed_infinity("-inf"),
        aten.addmv.default: add_matrix_vector,
        aten.trace.default: trace,
        aten.pixel_shuffle.default: pixel_shuffle,
        aten.pixel_unshuffle.default: pixel_unshuffle,
        aten.channel_shuffle.default: channel_shuffle,
        aten.as_strided.default: as_strided,
        aten.rot90.default: quarter_turns,
    }
)
