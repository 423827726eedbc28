"""Shape functions of convolutions, pools and the normalisations that go with them, for row-major operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.contraction import convolved_size, transposed_size
from lect.dialects.functional.shapes import channels_last_strides, is_channels_last
from lect.dialects.functional.window import window_count
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.shape_pointwise import Result, ShapeFunction, category, common_device

aten = torch.ops.aten


def convolution(
    x: TensorMeta, weight: TensorMeta, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> Result:
    """convolution of a batch and its transpose."""
    tensors = [x, weight] if bias is None else [x, weight, bias]
    spatial = len(x.shape) - 2
    same = all(tensor.dtype is x.dtype for tensor in tensors) and common_device(tensors) is not None and category(x.dtype) == 2
    last = spatial == 2 and (_channels_last(x) or _channels_last(weight))
    if not same or spatial < 1 or len(weight.shape) != spatial + 2 or groups < 1 or not (last or (x.is_contiguous and weight.is_contiguous)):
        return None
    channels, out = (weight.shape[0], weight.shape[1] * groups) if transposed else (weight.shape[1] * groups, weight.shape[0])
    if channels != x.shape[1] or weight.shape[0] % groups or (bias is not None and bias.shape != (out,)) or 0 in x.shape:
        return None
    lists = [x.shape[2:], weight.shape[2:], spread(stride, spatial), spread(padding, spatial), spread(dilation, spatial)]
    if transposed:
        sizes = [transposed_size(*each) for each in zip(*lists, spread(output_padding, spatial))]
    else:
        sizes = [convolved_size(*each) for each in zip(*lists)]
    if min(sizes) <= 0:
        return None
    shape = (x.shape[0], out, *sizes)
    return x.like(shape, strides=channels_last_strides(shape) if last else None)


def _channels_last(x: TensorMeta) -> bool:
    return is_channels_last(*x.layout) and not x.is_contiguous


def spread(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    """One number for each of `count` dims; a single one is for all."""
    return tuple(numbers) if len(numbers) == count else tuple(numbers) * count


def pooled(x: TensorMeta, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> TensorMeta | None:
    """The result of a pool over the last two dims."""
    sizes = spread(kernel, 2)
    steps, pads, spreads = spread(stride, 2) if stride else sizes, spread(padding, 2), spread(dilation, 2)
    fits = all(2 * pad <= size for pad, size in zip(pads, sizes)) and min(*sizes, *steps, *spreads) > 0
    if len(x.shape) not in (3, 4) or 0 in x.shape or not x.is_contiguous or not fits or category(x.dtype) != 2:
        return None
    out = [window_count(*each, ceil_mode) for each in zip(x.shape[-2:], sizes, steps, pads, spreads)]
    return x.like((*x.shape[:-2], *out)) if min(out) > 0 else None


def max_pool(x: TensorMeta, kernel: Any, stride: Any = (), padding: Any = (0,), dilation: Any = (1,), ceil_mode: bool = False) -> Result:
    """max_pool2d_with_indices."""
    values = pooled(x, kernel, stride, padding, dilation, ceil_mode)
    return None if values is None else (values, values._replace(dtype=torch.int64))


def average_pool(
    x: TensorMeta,
    kernel: Any,
    stride: Any = (),
    padding: Any = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Result:
    """avg_pool2d."""
    return pooled(x, kernel, stride, padding, (1,), ceil_mode) if divisor_override != 0 else None


def adaptive_average_pool(x: TensorMeta, output_size: Any) -> Result:
    """_adaptive_avg_pool2d."""
    good = len(x.shape) in (3, 4) and 0 not in x.shape and x.is_contiguous and len(output_size) == 2 and min(output_size) > 0
    return x.like((*x.shape[:-2], *output_size)) if good and category(x.dtype) == 2 else None


def batch_norm(x: TensorMeta, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float) -> Result:
    """native_batch_norm with running statistics."""
    parameters = [value for value in (weight, bias, mean, var) if value is not None]
    same = all(value.dtype is x.dtype and value.shape == x.shape[1:2] for value in parameters) and common_device([x, *parameters]) is not None
    last = _channels_last(x)
    good = same and (last or x.is_contiguous) and len(x.shape) >= 2 and 0 not in x.shape and category(x.dtype) == 2
    if training or mean is None or var is None or not good:
        return None
    empty = x.like((0,))
    return x.like(x.shape, strides=channels_last_strides(x.shape) if last else None), empty, empty


def batch_norm_inference(x: TensorMeta, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Result:
    """_native_batch_norm_legit_no_training."""
    return batch_norm(x, weight, bias, mean, var, False, momentum, eps)


def group_norm(x: TensorMeta, weight: Any, bias: Any, batch: int, channels: int, rest: int, groups: int, eps: float) -> Result:
    """native_group_norm."""
    parameters = [value for value in (weight, bias) if value is not None]
    same = all(value.dtype is x.dtype and value.shape == (channels,) for value in parameters)
    last = _channels_last(x)
    if not same or not (last or x.is_contiguous) or 0 in x.shape or category(x.dtype) != 2 or groups < 1 or channels % groups:
        return None
    statistics = x.like((batch, groups))
    return x.like(x.shape, strides=channels_last_strides(x.shape) if last else None), statistics, statistics


def group_norm_backward(
    gradient: TensorMeta, x: TensorMeta, mean: TensorMeta, rstd: TensorMeta, weight: Any, batch: int, channels: int, rest: int, groups: int, mask: Any
) -> Result:
    """native_group_norm_backward: gradients of the operand, which lies in its format, of the weight and of the bias, as far as `mask` asks for them."""
    same = gradient.dtype is x.dtype and gradient.shape == x.shape and x.shape[:2] == (batch, channels) and common_device([gradient, x]) is not None
    if not same or x.device.type != "cpu" or groups < 1 or channels % groups or mean.shape != (batch, groups) or rstd.shape != mean.shape:
        return None
    last = _channels_last(x) and not x.is_contiguous
    parameter = x.like((channels,), None if weight is None else weight.dtype)
    wanted = [x.like(x.shape, strides=channels_last_strides(x.shape) if last else None), parameter, parameter]
    return tuple([meta if asked else None for meta, asked in zip(wanted, mask)])


def unpooled(x: TensorMeta, indices: TensorMeta, output_size: Any) -> Result:
    """max_unpool2d of matching tensors; the result has x's format."""
    fits = len(x.shape) in (3, 4) and indices.shape == x.shape and indices.dtype is torch.int64 and len(output_size) == 2
    last = _channels_last(x)
    good = fits and common_device([x, indices]) is not None and (last or x.is_contiguous)
    if not good or 0 in x.shape[-3:] or min(output_size) <= 0 or category(x.dtype) not in (1, 2):
        return None
    shape = (*x.shape[:-2], *output_size)
    return x.like(shape, strides=channels_last_strides(shape) if last else None)


TABLE: Final[Mapping[Any, ShapeFunction]] = MappingProxyType(
    {
        aten.convolution.default: convolution,
        aten.max_pool2d_with_indices.default: max_pool,
        aten.max_unpool2d.default: unpooled,
        aten.avg_pool2d.default: average_pool,
        aten._adaptive_avg_pool2d.default: adaptive_average_pool,
        aten.native_batch_norm.default: batch_norm,
        aten._native_batch_norm_legit_no_training.default: batch_norm_inference,
        aten.native_group_norm.default: group_norm,
        aten.native_group_norm_backward.default: group_norm_backward,
    }
)
