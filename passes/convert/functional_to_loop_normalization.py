"""Normalisations: mean, variance around the mean (two folds, so nothing cancels), and the scaled result in one block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import normalization
from lect.dialects.loop.attributes import SpaceAttr
from lect.ir import Operation
from lect.ir.index_map import space_dims
from lect.ir.symbolic import ZERO
from lect.ir.types import f64
from lect.passes.convert.functional_to_loop_base import Body, Dims, Lowering, Num, Point, Rule, Seen
from lect.passes.convert.functional_to_loop_extern import call
from lect.passes.convert.functional_to_loop_reduction import Fold


def moments(x: Num, over: Dims, count: int, eps: float) -> tuple[Num, Num, Num]:
    """Distance from the mean, mean, and 1 / sqrt(variance + eps), over folded dims."""
    mean = x.reduce("sum", over) / count
    distance = x - mean
    variance = (distance * distance).reduce("sum", over) / count
    return distance, mean, 1 / (variance + eps).op("sqrt")


def scaled(body: Body, op: Any, number: Num, indices: Point) -> Num:
    """number * weight + bias, as far as the operation has them."""
    if op.weight is not None:
        number = number * body.read(op.weight, indices)
    return number + body.read(op.bias, indices) if op.bias is not None else number


def _layer_norm(lowering: Lowering, op: Any) -> list[Seen]:
    rank = op.x.type.rank
    kept = rank - len(op.normalized)
    if op.x.type.count == 0:
        return call(lowering, op)
    fold = Fold(lowering, op.x, tuple(range(kept, rank)), op)
    body = fold.body
    distance, mean, rstd = moments(fold.read(), fold.over, fold.count, op.eps)
    body.store(scaled(body, op, distance * rstd, body.indices[kept:]), op.output.type, body.indices)
    fold.store(mean, op.mean.type)
    fold.store(rstd, op.rstd.type)
    return body.finish()


def _group_norm(lowering: Lowering, op: Any) -> list[Seen]:
    """The channels become two dims, group and channel in the group."""
    type = op.x.type
    if type.count == 0 or not type.is_contiguous:
        return call(lowering, op)
    batch, channels, *spatial = type.shape
    width = channels // op.groups
    sizes = (batch, op.groups, width, *spatial)
    dims = space_dims(sizes)
    channel = dims[1] * width + dims[2]
    body = Body(lowering, SpaceAttr(sizes), (dims[0], channel, *dims[3:]), op.loc)
    over = tuple([k for k in range(2, len(sizes)) if sizes[k] != 1])
    distance, mean, rstd = moments(body.read(op.x), over, math.prod(sizes[2:]), op.eps)
    body.store(scaled(body, op, distance * rstd, (channel,)), op.output.type, body.indices)
    body.store(mean, op.mean.type, (dims[0], dims[1]))
    body.store(rstd, op.rstd.type, (dims[0], dims[1]))
    return body.finish()


def _batch_statistics(lowering: Lowering, op: Any) -> list[Seen]:
    """In training: folds over all dims but the channels, added up in f64 as eager does; what is elementwise joins them in one nest."""
    fold = Fold(lowering, op.x, tuple([dim for dim in range(op.x.type.rank) if dim != 1]), op)
    body, x = fold.body, fold.read()
    channel = (body.indices[1],)
    wide = fold.mean(x.cast(f64))
    mean = wide.cast(x.type)
    distance = x - mean
    squares = fold.sum((distance * distance).cast(f64))
    variance = squares / fold.count
    inverse = 1 / (variance + op.eps).op("sqrt")
    if op.eps == 0:
        inverse = variance.differs(0).choose(inverse, 0.0)
    rstd = inverse.cast(x.type)
    scale = rstd * body.read(op.weight, channel) if op.weight is not None else rstd
    shift = -(mean * scale) if op.bias is None else body.read(op.bias, channel) - mean * scale
    body.store(x * scale + shift, op.output.type, body.indices)
    for number, type in ((mean, op.mean.type), (rstd, op.rstd.type)):
        body.store(number, type, channel)
    for number, running in ((mean.cast(f64), op.running_mean), (squares / (fold.count - 1), op.running_var)):
        moved = number * op.momentum + body.read(running, channel).cast(f64) * (1 - op.momentum)
        body.store(moved, running.type.like(running.type.shape), channel)
    return body.finish()


def _batch_norm(lowering: Lowering, op: Any) -> list[Seen]:
    """With the running statistics an elementwise operation; in training two folds, or for mixed and 16-bit floats the library's."""
    if op.training:
        return _batch_statistics(lowering, op) if _is_plain(op) else call(lowering, op)
    body = lowering.body(op.output.type, op.loc)
    channel = (body.indices[1],)
    x = body.read(op.x)
    inverse = 1 / (body.read(op.running_var, channel).cast(x.type) + op.eps).op("sqrt")
    alpha = inverse * body.read(op.weight, channel).cast(x.type) if op.weight is not None else inverse
    shift = -body.read(op.running_mean, channel).cast(x.type) * alpha
    if op.bias is not None:
        shift = body.read(op.bias, channel).cast(x.type) + shift
    body.store(x * alpha + shift, op.output.type)
    (output,) = body.finish()
    empty = lowering.body(op.mean.type, op.loc)
    empty.store(empty.const(0, op.mean.type.element), op.mean.type)
    (nothing,) = empty.finish()
    return [output, nothing, Seen(nothing.buffer, ZERO, op.rstd.type), lowering.seen[op.running_mean], lowering.seen[op.running_var]]


def _is_plain(op: Any) -> bool:
    """True for f32 or f64 all through, and for at least one element."""
    types = [value.type for value in op.operands]
    return types[0].count > 0 and not types[0].element.is_half and all(type.element is types[0].element for type in types)


def _batch_norm_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """The gradient less its mean and less its part along what was normalised: two folds in f64 as in eager, and an elementwise rest."""
    if not op.training or not _is_plain(op):
        return call(lowering, op)
    fold = Fold(lowering, op.x, tuple([dim for dim in range(op.x.type.rank) if dim != 1]), op)
    body, x = fold.body, fold.read()
    channel = (body.indices[1],)
    gradient = body.read(op.gradient)
    rstd = body.read(op.rstd, channel)
    distance = x - body.read(op.mean, channel)
    total = fold.sum(gradient.cast(f64))
    along = fold.sum((distance * gradient).cast(f64))
    wide = rstd.cast(f64)
    factor = (along * wide * wide / fold.count).cast(x.type)
    rest = (gradient - distance * factor - (total / fold.count).cast(x.type)) * rstd
    if op.weight is not None:
        rest = rest * body.read(op.weight, channel)
    body.store(rest, op.x_gradient.type, body.indices)
    body.store(along * wide, op.weight_gradient.type, channel)
    body.store(total, op.bias_gradient.type, channel)
    return body.finish()


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        normalization.LayerNormOp: _layer_norm,
        normalization.GroupNormOp: _group_norm,
        normalization.BatchNormOp: _batch_norm,
        normalization.BatchNormBackwardOp: _batch_norm_backward,
    }
)
