"""ATen overloads that become products, attention, convolutions, pools, normalisations and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import contraction as k
from lect.dialects.functional import normalization as n
from lect.dialects.functional import window as w
from lect.dialects.functional.creation import FullOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, dim_of, type_of
from lect.ir import Value
from lect.ir.types import ui8

aten = torch.ops.aten

# ---- products --------------------------------------------------------------------------------------------------------


def product(cls: Any) -> Rule:
    """mm and bmm; i1 is torch's to refuse."""
    return lambda e, x, y: e(cls, x, y) if type_of(x).element.kind != "bool" else None


def add_product(cls: Any) -> Rule:
    """addmm and baddbmm."""

    def rule(e: Emitter, added: Value, x: Value, y: Value, *, beta: Any = 1, alpha: Any = 1) -> Any:
        if type_of(x).element.kind == "bool":
            return None
        return e(cls, added, x, y, beta=beta, alpha=alpha)

    return rule


def matrix_vector(e: Emitter, x: Value, y: Value) -> Any:
    """mv: a matrix with one column."""
    column = e.reshape(y, (type_of(y).shape[0], 1))
    return e.reshape(e(k.MmOp, x, column), (type_of(x).shape[0],))


def dot(e: Emitter, x: Value, y: Value) -> Any:
    """dot: a row times a column."""
    size = type_of(x).shape[0]
    return e.reshape(e(k.MmOp, e.reshape(x, (1, size)), e.reshape(y, (size, 1))), ())


def attention(
    e: Emitter, query: Value, key: Value, value: Value, dropout: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None, scale: Any = None
) -> Any:
    """The CPU's fused attention, without dropout."""
    if dropout or type_of(query).shape[1] != type_of(key).shape[1]:
        return None
    return e(k.AttentionOp, query, key, value, attn_mask, is_causal=is_causal, scale=scale)


def attention_backward(
    e: Emitter, gradient: Value, query: Value, key: Value, value: Value, out: Value, logsumexp: Value, dropout: float, is_causal: bool,
    *, attn_mask: Any = None, scale: Any = None,
) -> Any:  # fmt: skip
    """The gradient of it."""
    if dropout:
        return None
    return e(k.AttentionBackwardOp, gradient, query, key, value, out, logsumexp, attn_mask, is_causal=is_causal, scale=scale)


# ---- convolution and pooling -----------------------------------------------------------------------------------------


def convolution(
    e: Emitter, x: Value, weight: Value, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> Any:
    """convolution of a batch."""
    spatial = type_of(x).rank - 2
    if spatial < 1 or type_of(weight).rank != type_of(x).rank or type_of(x).element.kind == "bool":
        return None
    lists = {"stride": _spread(stride, spatial), "padding": _spread(padding, spatial), "dilation": _spread(dilation, spatial)}
    extra = _spread(output_padding, spatial) if transposed else ()
    return e(k.ConvolutionOp, x, weight, bias, **lists, transposed=transposed, output_padding=extra, groups=groups)


def _spread(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    """One number for each of `count` dims; a single one is for all."""
    return tuple(numbers) if len(numbers) == count else tuple(numbers) * count


def average_pool(spatial: int) -> Rule:
    """avg_pool1d, 2d, 3d."""

    def rule(
        e: Emitter, x: Value, kernel: Any, stride: Any = (), padding: Any = (0,), ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        if type_of(x).element.kind == "bool" or type_of(x).element.kind == "complex" or divisor_override == 0:  # which the library refuses
            return None
        sizes = _spread(kernel, spatial)
        divisor: Any = divisor_override or ("padded" if count_include_pad else "valid")
        steps = _spread(stride, spatial) if stride else sizes
        return e(w.WindowSumOp, x, kernel=sizes, stride=steps, padding=_spread(padding, spatial), ceil_mode=ceil_mode, divisor=divisor)

    return rule


def adaptive_average_pool(e: Emitter, x: Value, output_size: Any) -> Any:
    """_adaptive_avg_pool2d, 3d."""
    return e(w.WindowSumOp, x, output_size=tuple(output_size), divisor="valid") if type_of(x).element.is_float else None


def max_pool(spatial: int) -> Rule:
    """max_pool2d_with_indices, 3d."""

    def rule(e: Emitter, x: Value, kernel: Any, stride: Any = (), padding: Any = (0,), dilation: Any = (1,), ceil_mode: bool = False) -> Any:
        sizes = _spread(kernel, spatial)
        steps = _spread(stride, spatial) if stride else sizes
        lists = {"padding": _spread(padding, spatial), "dilation": _spread(dilation, spatial)}
        return e(w.WindowMaxWithIndexOp, x, kernel=sizes, stride=steps, **lists, ceil_mode=ceil_mode)

    return rule


def adaptive_max_pool(e: Emitter, x: Value, output_size: Any) -> Any:
    """adaptive_max_pool2d, 3d."""
    return e(w.WindowMaxWithIndexOp, x, output_size=tuple(output_size))


def upsample(kind: str, aligns: bool) -> Rule:
    """The upsample_* ops: sizes, align_corners where there is one, scales."""

    def rule(e: Emitter, x: Value, output_size: Any, *rest: Any) -> Any:
        align = bool(rest[0]) if aligns else False
        scales = tuple(rest[1:] if aligns else rest)
        spatial = len(output_size)
        known = scales + (None,) * (spatial - len(scales))
        return e(w.UpsampleOp, x, kind=kind, size=tuple(output_size), align_corners=align, scales=known if any(known) else ())

    return rule


# ---- normalisation ---------------------------------------------------------------------------------------------------


def layer_norm(e: Emitter, x: Value, normalized: Any, weight: Any, bias: Any, eps: float) -> Any:
    """native_layer_norm."""
    return e(n.LayerNormOp, x, weight, bias, normalized=tuple(normalized), eps=eps)


def layer_norm_backward(e: Emitter, gradient: Value, x: Value, normalized: Any, mean: Value, rstd: Value, weight: Any, bias: Any, output_mask: Any) -> Any:
    """native_layer_norm_backward; what is not asked for is not a result."""
    found = e(n.LayerNormBackwardOp, gradient, x, mean, rstd, weight, normalized=tuple(normalized))
    return tuple([value if wanted else None for value, wanted in zip(found, output_mask)])


def group_norm(e: Emitter, x: Value, weight: Any, bias: Any, batch: int, channels: int, rest: int, groups: int, eps: float) -> Any:
    """native_group_norm."""
    return e(n.GroupNormOp, x, weight, bias, groups=groups, eps=eps) if type_of(x).rank >= 2 and type_of(x).count else None


def batch_norm(e: Emitter, x: Value, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float) -> Any:
    """native_batch_norm with running statistics that stay as they are, or in training without any: then nothing reads those that are made up."""
    if training and mean is None and var is None:
        statistics = e.results[1]
        if not type_of(x).count or statistics is None:
            return None
        mean, var = [e(FullOp, shape=statistics.shape, value=0, element=statistics.element) for _ in range(2)]
    elif training or mean is None or var is None:
        return None
    return e(n.BatchNormOp, x, mean, var, weight, bias, training=training, momentum=momentum, eps=eps)[:3]


def batch_norm_of_batch(e: Emitter, x: Value, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Any:
    """_native_batch_norm_legit.no_stats."""
    return batch_norm(e, x, weight, bias, None, None, training, momentum, eps)


def batch_norm_functional(e: Emitter, x: Value, weight: Any, bias: Any, mean: Value, var: Value, training: bool, momentum: float, eps: float) -> Any:
    """_native_batch_norm_legit_functional: with the running statistics that it would have written."""
    return e(n.BatchNormOp, x, mean, var, weight, bias, training=training, momentum=momentum, eps=eps)


def batch_norm_with_update(e: Emitter, x: Value, weight: Any, bias: Any, mean: Value, var: Value, momentum: float, eps: float) -> Any:
    """_batch_norm_with_update_functional: in training; the fourth result is empty on the CPU."""
    found = e(n.BatchNormOp, x, mean, var, weight, bias, training=True, momentum=momentum, eps=eps)
    return (*found[:3], e(FullOp, shape=(0,), value=0, element=ui8), *found[3:])


def batch_norm_inference(e: Emitter, x: Value, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    """_native_batch_norm_legit_no_training."""
    return batch_norm(e, x, weight, bias, mean, var, False, momentum, eps)


# ---- losses ----------------------------------------------------------------------------------------------------------

_REDUCTIONS = ("none", "mean", "sum")


def loss(cls: Any, **fixed: Any) -> Rule:
    """A loss of two tensors of one element type."""

    def rule(e: Emitter, x: Value, target: Value, reduction: int = 1) -> Any:
        if type_of(x).element is not type_of(target).element or not type_of(x).element.is_float:
            return None
        return e(cls, x, target, reduction=_REDUCTIONS[reduction], **fixed)

    return rule


def huber(smooth: bool) -> Rule:
    """huber_loss and smooth_l1_loss."""

    def rule(e: Emitter, x: Value, target: Value, reduction: int = 1, delta: float = 1.0) -> Any:
        return loss(n.HuberOp, delta=delta, smooth=smooth)(e, x, target, reduction)

    return rule


def cross_entropy(e: Emitter, x: Value, target: Value, weight: Any = None, reduction: int = 1) -> Any:
    """binary_cross_entropy."""
    return _weighted(e, n.BceOp, x, target, (weight,), reduction)


def cross_entropy_with_logits(e: Emitter, x: Value, target: Value, weight: Any = None, pos_weight: Any = None, reduction: int = 1) -> Any:
    """binary_cross_entropy_with_logits."""
    return _weighted(e, n.BceWithLogitsOp, x, target, (weight, pos_weight), reduction)


def _weighted(e: Emitter, cls: Any, x: Value, target: Value, weights: tuple[Any, ...], reduction: int) -> Any:
    tensors = [x, target, *[weight for weight in weights if weight is not None]]
    same = len({type_of(tensor).element for tensor in tensors}) == 1
    return e(cls, x, target, *weights, reduction=_REDUCTIONS[reduction]) if same else None


def negative_log_likelihood(e: Emitter, x: Value, target: Value, weight: Any, reduction: int, ignore_index: int) -> Any:
    """nll_loss_forward and nll_loss2d_forward."""
    return e(n.NllOp, x, target, weight, reduction=_REDUCTIONS[reduction], ignore_index=ignore_index)


def negative_log_likelihood_backward(
    e: Emitter, gradient: Value, x: Value, target: Value, weight: Any, reduction: int, ignore_index: int, total_weight: Value
) -> Any:
    """The gradients of both."""
    return e(n.NllBackwardOp, gradient, x, target, total_weight, weight, reduction=_REDUCTIONS[reduction], ignore_index=ignore_index)


def weight_norm(e: Emitter, v: Value, g: Value, dim: int = 0) -> Any:
    """_weight_norm_interface."""
    return e(n.WeightNormOp, v, g, dim=dim_of(v, dim))


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.mm.default: product(k.MmOp),
        aten.bmm.default: product(k.BmmOp),
        aten.addmm.default: add_product(k.AddmmOp),
        aten.baddbmm.default: add_product(k.BaddbmmOp),
        aten.mv.default: matrix_vector,
        aten.dot.default: dot,
        aten._scaled_dot_product_flash_attention_for_cpu.default: attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default: attention_backward,
        aten.convolution.default: convolution,
        aten.avg_pool1d.default: average_pool(1),
        aten.avg_pool2d.default: average_pool(2),
        aten.avg_pool3d.default: average_pool(3),
        aten._adaptive_avg_pool2d.default: adaptive_average_pool,
        aten._adaptive_avg_pool3d.default: adaptive_average_pool,
        aten.max_pool2d_with_indices.default: max_pool(2),
        aten.max_pool3d_with_indices.default: max_pool(3),
        aten.adaptive_max_pool2d.default: adaptive_max_pool,
        aten.adaptive_max_pool3d.default: adaptive_max_pool,
        **{getattr(aten, f"upsample_nearest{dims}d").default: upsample("nearest", False) for dims in (1, 2, 3)},
        **{getattr(aten, f"_upsample_nearest_exact{dims}d").default: upsample("nearest-exact", False) for dims in (1, 2, 3)},
        aten.upsample_linear1d.default: upsample("linear", True),
        aten.upsample_bilinear2d.default: upsample("linear", True),
        aten.upsample_trilinear3d.default: upsample("linear", True),
        aten.upsample_bicubic2d.default: upsample("cubic", True),
        aten.native_layer_norm.default: layer_norm,
        aten.native_layer_norm_backward.default: layer_norm_backward,
        aten.native_group_norm.default: group_norm,
        aten.native_batch_norm.default: batch_norm,
        aten._native_batch_norm_legit_no_training.default: batch_norm_inference,
        aten._native_batch_norm_legit.no_stats: batch_norm_of_batch,
        aten._native_batch_norm_legit_functional.default: batch_norm_functional,
        aten._batch_norm_with_update_functional.default: batch_norm_with_update,
        aten.mse_loss.default: loss(n.MseOp),
        aten.soft_margin_loss.default: loss(n.SoftMarginOp),
        aten.huber_loss.default: huber(False),
        aten.smooth_l1_loss.default: huber(True),
        aten.binary_cross_entropy.default: cross_entropy,
        aten.binary_cross_entropy_with_logits.default: cross_entropy_with_logits,
        aten.nll_loss_forward.default: negative_log_likelihood,
        aten.nll_loss2d_forward.default: negative_log_likelihood,
        aten.nll_loss_backward.default: negative_log_likelihood_backward,
        aten.nll_loss2d_backward.default: negative_log_likelihood_backward,
        aten._weight_norm_interface.default: weight_norm,
    }
)
