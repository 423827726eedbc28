"""Gradients of convolutions, pools, resampling and normalisations as the operations that mirror the forward ones.

What a call does not ask for (its `output_mask`) is a result that nothing reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import contraction as k
from lect.dialects.functional import normalization as n
from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional import window as w
from lect.dialects.functional.creation import FullOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.ir import Value
from lect.ir.types import f32

aten = torch.ops.aten


def asked_for(found: Sequence[Value], mask: Sequence[bool]) -> tuple[Value | None, ...]:
    """The results that a call asks for, None in the place of others."""
    return tuple([value if wanted else None for value, wanted in zip(found, mask)])


def spread(numbers: Any, count: int) -> tuple[int, ...]:
    """One number for each spatial dim."""
    return tuple(numbers) if len(numbers) == count else tuple(numbers) * count


def convolution_backward(
    e: Emitter, gradient: Value, x: Value, weight: Value, sizes: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, extra: Any, groups: int,
    mask: Any,
) -> Any:  # fmt: skip
    """convolution_backward."""
    spatial = type_of(x).rank - 2
    if not type_of(x).element.is_float or not all(type_of(value).count for value in (gradient, x, weight)):
        return None
    lists = {"stride": spread(stride, spatial), "padding": spread(padding, spatial), "dilation": spread(dilation, spatial)}
    output_padding = spread(extra, spatial) if any(extra) else ()
    found = e(k.ConvolutionBackwardOp, gradient, x, weight, **lists, transposed=transposed, output_padding=output_padding, groups=groups)
    return asked_for(found, mask)


def average_pool_backward(spatial: int) -> Rule:
    """avg_pool2d_backward, 3d."""

    def rule(e: Emitter, gradient: Value, x: Value, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, padded: bool, divisor: int | None) -> Any:
        if divisor == 0:
            return None
        sizes = spread(kernel, spatial)
        lists = {"kernel": sizes, "stride": spread(stride, spatial) if stride else sizes, "padding": spread(padding, spatial)}
        return e(w.AvgPoolBackwardOp, gradient, x, **lists, ceil_mode=ceil_mode, divisor=divisor or ("padded" if padded else "valid"))

    return rule


def adaptive_average_pool_backward(spatial: int) -> Rule:
    """_adaptive_avg_pool2d_backward, 3d."""

    def rule(e: Emitter, gradient: Value, x: Value) -> Any:
        return e(w.AvgPoolBackwardOp, gradient, x, output_size=type_of(gradient).shape[-spatial:], divisor="valid")

    return rule


def max_pool_backward(spatial: int, windows: int) -> Rule:
    """max_pool2d_with_indices_backward and its like: `windows` arguments that say what the windows were, then the indices."""

    def rule(e: Emitter, gradient: Value, x: Value, *rest: Any) -> Any:
        if type_of(gradient).element is not type_of(x).element:
            return None
        return e(w.MaxPoolBackwardOp, gradient, x, rest[windows], spatial=spatial)

    return rule


def upsample_backward(kind: str, aligns: bool) -> Rule:
    """The upsample_*_backward ops: sizes of the result and of the operand, align_corners where there is one, scales."""

    def rule(e: Emitter, gradient: Value, output_size: Any, input_size: Any, *rest: Any) -> Any:
        scales = tuple(rest[1:] if aligns else rest)
        known = scales + (None,) * (len(output_size) - len(scales))
        attrs = {"align_corners": bool(rest[0]) if aligns else False, "scales": known if any(known) else ()}
        return e(w.UpsampleBackwardOp, gradient, kind=kind, input_size=tuple(input_size), **attrs)

    return rule


def group_norm_backward(
    e: Emitter, gradient: Value, x: Value, mean: Value, rstd: Value, weight: Any, batch: int, channels: int, rest: int, groups: int, mask: Any
) -> Any:
    """native_group_norm_backward; a weight that is not there is 1, and has no gradient."""
    shape, element = type_of(x).shape, type_of(x).element
    if type_of(x).rank < 2 or (weight is None and any(mask[1:])):
        return None
    if not type_of(x).count:
        sums = e(FullOp, shape=(channels,), value=0, element=type_of(weight).element if weight is not None else element)
        return asked_for((e(FullOp, shape=shape, value=0, element=element), sums, sums), mask)
    if weight is None:
        weight = e(FullOp, shape=(channels,), value=1, element=type_of(mean).element)
    return asked_for(e(n.GroupNormBackwardOp, gradient, x, mean, rstd, weight, groups=groups), mask)


def batch_norm_backward(
    e: Emitter, gradient: Value, x: Value, weight: Any, running_mean: Any, running_var: Any, mean: Any, rstd: Any, train: bool, eps: float, mask: Any
) -> Any:
    """native_batch_norm_backward."""
    if not train:
        return _batch_norm_inference_backward(e, gradient, x, weight, running_mean, running_var, eps, mask)
    if mean is None or rstd is None:
        return None
    return asked_for(e(n.BatchNormBackwardOp, gradient, x, mean, rstd, weight, training=True, eps=eps), mask)


def _batch_norm_inference_backward(e: Emitter, gradient: Value, x: Value, weight: Any, mean: Any, var: Any, eps: float, mask: Any) -> Any:
    """With the running statistics the operand is scaled; sums are taken in f32 or f64 and rounded once."""
    element = type_of(x).element
    if mean is None or var is None or not type_of(x).count or type_of(gradient).element is not element:
        return None
    wide = f32 if element.is_half else element
    column = (1, type_of(x).shape[1], *(1,) * (type_of(x).rank - 2))
    outer, centre, variance = e.to(gradient, wide), e.reshape(e.to(mean, wide), column), e.to(var, wide)
    rstd = e(p.DivOp, e(p.FLOAT_UNARY["SqrtOp"], e(p.SUMS["AddOp"], variance, other=eps)), other=1, reversed=True)
    inner = e(p.MIXED_BINARY["MulOp"], outer, e.reshape(rstd, column))
    inner = inner if weight is None else e(p.MIXED_BINARY["MulOp"], inner, e.reshape(e.to(weight, wide), column))
    dims = tuple([dim for dim in range(type_of(x).rank) if dim != 1])
    total = e(r.ACCUMULATE["SumOp"], outer, dims=dims, keepdim=False)
    along = e(p.MIXED_BINARY["MulOp"], e(p.SUMS["SubOp"], e.to(x, wide), centre), outer)
    along = e(p.MIXED_BINARY["MulOp"], e(r.ACCUMULATE["SumOp"], along, dims=dims, keepdim=False), rstd)
    parameter = element if weight is None else type_of(weight).element
    return asked_for((e.to(inner, element), e.to(along, parameter), e.to(total, parameter)), mask)


def new_batch_norm_backward(
    e: Emitter, gradient: Value, x: Value, weight: Any, running_mean: Any, running_var: Any, mean: Any, rstd: Any, train: bool, eps: float, mask: Any, _: Value
) -> Any:
    """batch_norm_backward: that of _batch_norm_with_update, with what other processors keep."""
    return batch_norm_backward(e, gradient, x, weight, running_mean, running_var, mean, rstd, train, eps, mask)


def weight_norm_backward(e: Emitter, gradient: Value, v: Value, g: Value, norm: Value, dim: int) -> Any:
    """_weight_norm_interface_backward."""
    return e(n.WeightNormBackwardOp, gradient, v, g, norm, dim=dim % type_of(v).rank)


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.convolution_backward.default: convolution_backward,
        aten.avg_pool2d_backward.default: average_pool_backward(2),
        aten.avg_pool3d_backward.default: average_pool_backward(3),
        aten._adaptive_avg_pool2d_backward.default: adaptive_average_pool_backward(2),
        aten._adaptive_avg_pool3d_backward.default: adaptive_average_pool_backward(3),
        aten.max_pool2d_with_indices_backward.default: max_pool_backward(2, 5),
        aten.max_pool3d_with_indices_backward.default: max_pool_backward(3, 5),
        aten.adaptive_max_pool2d_backward.default: max_pool_backward(2, 0),
        aten.adaptive_max_pool3d_backward.default: max_pool_backward(3, 0),
        aten.fractional_max_pool2d_backward.default: max_pool_backward(2, 2),
        aten.fractional_max_pool3d_backward.default: max_pool_backward(3, 2),
        **{getattr(aten, f"upsample_nearest{dims}d_backward").default: upsample_backward("nearest", False) for dims in (1, 2, 3)},
        **{getattr(aten, f"_upsample_nearest_exact{dims}d_backward").default: upsample_backward("nearest-exact", False) for dims in (1, 2, 3)},
        aten.upsample_linear1d_backward.default: upsample_backward("linear", True),
        aten.upsample_bilinear2d_backward.default: upsample_backward("linear", True),
        aten.upsample_trilinear3d_backward.default: upsample_backward("linear", True),
        aten.upsample_bicubic2d_backward.default: upsample_backward("cubic", True),
        aten.native_group_norm_backward.default: group_norm_backward,
        aten.native_batch_norm_backward.default: batch_norm_backward,
        aten.batch_norm_backward.default: new_batch_norm_backward,
        aten._weight_norm_interface_backward.default: weight_norm_backward,
    }
)
