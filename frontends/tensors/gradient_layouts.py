"""How the CPU's kernels lay out gradients where torch's meta kernels, which are for all devices, say otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.shapes import channels_last_strides, is_channels_last, preserved_strides
from lect.frontends.tensors.lt import layout_of
from lect.frontends.tensors.metadata import TensorMeta

aten = torch.ops.aten
Rule = Callable[[TensorMeta, Sequence[Any]], TensorMeta]


def row_major(gradient: TensorMeta, args: Sequence[Any]) -> TensorMeta:
    """Whatever the layouts of the operands are."""
    return gradient.like(gradient.shape)


def as_operand(gradient: TensorMeta, args: Sequence[Any]) -> TensorMeta:
    """As what it is the gradient of, the second argument."""
    return gradient.like(gradient.shape, strides=preserved_strides(layout_of(args[1]).layout))


def as_gradient(gradient: TensorMeta, args: Sequence[Any]) -> TensorMeta:
    """As the gradient that it is computed from, the first argument."""
    return gradient.like(gradient.shape, strides=preserved_strides(layout_of(args[0]).layout))


def in_format(gradient: TensorMeta, args: Sequence[Any]) -> TensorMeta:
    """In the memory format of what it is the gradient of: the channels innermost, or row-major."""
    x = layout_of(args[1])
    last = is_channels_last(x.shape, x.strides) and not x.is_contiguous
    return gradient.like(gradient.shape, strides=channels_last_strides(x.shape) if last else None)


RULES: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.native_layer_norm_backward.default: row_major,
        aten.smooth_l1_loss_backward.default: row_major,
        aten.huber_loss_backward.default: row_major,
        aten.glu_backward.default: row_major,
        aten.col2im.default: row_major,
        aten.binary_cross_entropy_backward.default: as_operand,
        aten.log_sigmoid_backward.default: as_gradient,
        aten.native_batch_norm_backward.default: in_format,
        aten.batch_norm_backward.default: in_format,
    }
)


def laid_out(func: Any, args: Sequence[Any], template: Any) -> Any:
    """The metadata of results, with that of the first, the gradient of a tensor, as the CPU's kernel gives it."""
    rule = RULES.get(func)
    if rule is None:
        return template
    several = isinstance(template, tuple) and not isinstance(template, TensorMeta)
    first = template[0] if several else template
    if not isinstance(first, TensorMeta):
        return template
    first = rule(first, args)
    return (first, *template[1:]) if several else first
