"""Shape functions of convolutions, pools and the normalisations that go with them, for row-major operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.contraction import convolved_size, transposed_size
from lect.dialects.functional.shapes import channels_last_strides, is_channels_last, suggests_channels_last
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
    last = spatial == 2 and (suggests_channels_last(*x.layout) or suggests_channels_last(*weight.layout))
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
    if any(size <= 0 for size in sizes):
        return None
    shape = (x.shape[0], out, *sizes)
    return x.like(shape, strides=channels_last_strides(shape) if last else None)


def _in_format(x: TensorMeta, shape: Sequence[int]) -> TensorMeta | None:
    """A result of this shape in the memory format that torch suggests for `x`; None unless `x` is dense in one of the two formats."""
    last = suggests_channels_last(*x.layout)
    if not (x.is_contiguous or (last and is_channels_last(*x.layout))):
        return None
    return x.like(tuple(shape), strides=channels_last_strides(shape) if last else None)


def spread(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    """One number for each of `count` dims; a single one is for all."""
    return tuple(numbers) if len(numbers) == count else tuple(numbers) * count


def pooled(x: TensorMeta, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> TensorMeta | None:
    """The result of a pool over the last two dims."""
    sizes = spread(kernel, 2)
    steps, pads, spreads = spread(stride, 2) if stride else sizes, spread(padding, 2), spread(dilation, 2)
    fits = all(2 * pad <= size for pad, size in zip(pads, sizes)) and min(*sizes, *steps, *spreads) > 0
    if len(x.shape) not in (3, 4) or 0 in x.shape or not fits or category(x.dtype) != 2:
        return None
    out = [window_count(*each, ceil_mode) for each in zip(x.shape[-2:], sizes, steps, pads, spreads)]
    return _in_format(x, (*x.shape[:-2], *out)) if all(size > 0 for size in out) else None


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
    good = len(x.shape) in (3, 4) and 0 not in x.shape and len(output_size) == 2 and min(output_size) > 0
    return _in_format(x, (*x.shape[:-2], *output_size)) if good and category(x.dtype) == 2 else None


def upsample(x: TensorMeta, output_size: Any, *rest: Any) -> Result:
    """upsample_nearest2d, _upsample_nearest_exact2d, bilinear and bicubic, with and without a filter, to sizes that are given."""
    good = len(x.shape) == 4 and 0 not in x.shape and output_size is not None and len(output_size) == 2 and min(output_size) > 0
    return _in_format(x, (*x.shape[:2], *output_size)) if good and category(x.dtype) == 2 and x.device.type == "cpu" else None


def edge_padding(reflects: bool) -> ShapeFunction:
    """reflection_pad2d and replication_pad2d of a batch."""

    def function(x: TensorMeta, padding: Any) -> Result:
        if len(x.shape) != 4 or len(padding) != 4 or 0 in x.shape or category(x.dtype) != 2 or x.device.type != "cpu":
            return None
        height, width = x.shape[2:]
        sizes = (*x.shape[:2], height + padding[2] + padding[3], width + padding[0] + padding[1])
        if min(padding) < 0 or (reflects and (max(padding[:2]) >= width or max(padding[2:]) >= height)):
            return None
        return x.like(sizes, strides=channels_last_strides(sizes) if suggests_channels_last(*x.layout) else None)

    return function


def edge_padding_backward(gradient: TensorMeta, x: TensorMeta, padding: Any) -> Result:
    """The gradient of the operand, in its memory format whatever that of the other gradient is."""
    plain = len(x.shape) == len(gradient.shape) == 4 and len(padding) == 4 and 0 not in x.shape and x.device.type == gradient.device.type == "cpu"
    if not plain or gradient.dtype is not x.dtype or category(x.dtype) != 2:
        return None
    if gradient.shape != (*x.shape[:2], x.shape[2] + padding[2] + padding[3], x.shape[3] + padding[0] + padding[1]):
        return None
    return x.like(x.shape, strides=channels_last_strides(x.shape) if suggests_channels_last(*x.layout) else None)


def batch_norm(x: TensorMeta, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float) -> Result:
    """native_batch_norm, for parameters of the type of the operand.  A row-major operand gives a row-major result, whatever the strides of sizes 1.

    On a CPU the result is in the memory format that torch suggests for the operand; its meta kernel gives the operand's order of dims instead.
    """
    parameters = [value for value in (weight, bias, mean, var) if value is not None]
    same = all(value.dtype is x.dtype and value.shape == x.shape[1:2] for value in parameters) and common_device([x, *parameters]) is not None
    dense = x.is_contiguous or is_channels_last(*x.layout)
    last = not x.is_contiguous and (dense or suggests_channels_last(*x.layout, (4, 5)))
    good = same and (dense or x.device.type == "cpu") and len(x.shape) >= 2 and 0 not in x.shape and category(x.dtype) == 2
    if not good or (training and x.device.type != "cpu") or (not training and (mean is None or var is None)):
        return None
    statistics = x.like((x.shape[1] if training else 0,))
    return x.like(x.shape, strides=channels_last_strides(x.shape) if last else None), statistics, statistics


def batch_norm_of_batch(x: TensorMeta, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Result:
    """_native_batch_norm_legit without running statistics."""
    return batch_norm(x, weight, bias, None, None, training, momentum, eps) if training else None


def batch_norm_with_update(x: TensorMeta, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Result:
    """_batch_norm_with_update: in training, with an empty tensor of bytes that other processors keep something in."""
    found = batch_norm(x, weight, bias, mean, var, True, momentum, eps)
    return None if found is None else (*found, x.like((0,), torch.uint8))  # type: ignore[misc]


def batch_norm_inference(x: TensorMeta, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Result:
    """_native_batch_norm_legit_no_training."""
    return batch_norm(x, weight, bias, mean, var, False, momentum, eps)


def group_norm(x: TensorMeta, weight: Any, bias: Any, batch: int, channels: int, rest: int, groups: int, eps: float) -> Result:
    """native_group_norm; halves may meet f32 parameters, whose type the statistics then have."""
    parameters = [value for value in (weight, bias) if value is not None]
    element = _parameter_dtype(x, parameters)
    good = element is not None and all(value.shape == (channels,) for value in parameters) and 0 not in x.shape and category(x.dtype) == 2
    if not good or groups < 1 or channels % groups:
        return None
    output = _in_format(x, x.shape)
    statistics = x.like((batch, groups), element)
    return None if output is None else (output, statistics, statistics)


def _parameter_dtype(x: TensorMeta, parameters: Sequence[TensorMeta]) -> torch.dtype | None:
    """The one type of all parameters: that of the operand, or f32 for halves on the cpu; None for any others."""
    dtypes = {value.dtype for value in parameters} or {x.dtype}
    found = dtypes.pop()
    mixed = found is torch.float32 and x.dtype in (torch.float16, torch.bfloat16) and x.device.type == "cpu"
    return found if not dtypes and (found is x.dtype or mixed) else None


def group_norm_backward(
    gradient: TensorMeta, x: TensorMeta, mean: TensorMeta, rstd: TensorMeta, weight: Any, batch: int, channels: int, rest: int, groups: int, mask: Any
) -> Result:
    """native_group_norm_backward: the gradient of the operand in its memory format and type, the others of the weight's type."""
    same = gradient.dtype is x.dtype and gradient.shape == x.shape and x.shape[:2] == (batch, channels) and common_device([gradient, x]) is not None
    element = _parameter_dtype(x, [] if weight is None else [weight])
    if not same or element is None or groups < 1 or channels % groups or mean.shape != (batch, groups) or rstd.shape != mean.shape:
        return None
    if category(x.dtype) != 2 or 0 in x.shape:
        return None
    output = x.like(x.shape, strides=channels_last_strides(x.shape) if suggests_channels_last(*x.layout) else None)
    wanted = (output, x.like((channels,), element), x.like((channels,), element))
    return tuple([meta if asked else None for meta, asked in zip(wanted, mask)])


def weight_norm(v: TensorMeta, g: TensorMeta, dim: int = 0) -> Result:
    """_weight_norm_interface on the cpu: the norms of halves are f32, also of f16, which torch's meta kernel does not know."""
    same = v.dtype is g.dtype and v.device == g.device and v.device.type == "cpu" and category(v.dtype) == 2
    fits = dim in (0, len(v.shape) - 1) and v.is_contiguous and g.is_contiguous and 0 not in v.shape
    if not same or not fits or g.shape != tuple([size if place == dim else 1 for place, size in enumerate(v.shape)]):
        return None
    return v.like(v.shape), g.like(g.shape, torch.float32 if v.dtype in (torch.float16, torch.bfloat16) else v.dtype)


def unpooled(x: TensorMeta, indices: TensorMeta, output_size: Any) -> Result:
    """max_unpool2d of matching tensors; the result has x's format."""
    fits = len(x.shape) in (3, 4) and indices.shape == x.shape and indices.dtype is torch.int64 and len(output_size) == 2
    last = is_channels_last(*x.layout) and not x.is_contiguous
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
        aten._native_batch_norm_legit.default: batch_norm,
        aten._native_batch_norm_legit.no_stats: batch_norm_of_batch,
        aten._batch_norm_with_update.default: batch_norm_with_update,
        aten.native_group_norm.default: group_norm,
        aten.native_group_norm_backward.default: group_norm_backward,
        aten._weight_norm_interface.default: weight_norm,
        aten.reflection_pad2d.default: edge_padding(True),
        aten.replication_pad2d.default: edge_padding(False),
        aten.reflection_pad2d_backward.default: edge_padding_backward,
        aten.replication_pad2d_backward.default: edge_padding_backward,
        aten.upsample_nearest2d.default: upsample,
        aten._upsample_nearest_exact2d.default: upsample,
        aten.upsample_bilinear2d.default: upsample,
        aten.upsample_bicubic2d.default: upsample,
        aten._upsample_bilinear2d_aa.default: upsample,
        aten._upsample_bicubic2d_aa.default: upsample,
    }
)
