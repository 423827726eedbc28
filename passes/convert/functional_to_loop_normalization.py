"""Normalisations: mean, variance around the mean (two folds, so nothing cancels), and the scaled result in one block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import normalization
from lect.dialects.loop.attributes import SpaceAttr
from lect.ir import Operation
from lect.ir.index_map import space_dims
from lect.ir.symbolic import ZERO
from lect.ir.types import f32, f64
from lect.passes.convert.functional_to_loop_base import Body, Dims, Lowering, Num, Point, Rule, Seen, compute_type
from lect.passes.convert.functional_to_loop_extern import call
from lect.passes.convert.functional_to_loop_pointwise import rounded
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
    if op.x.type.is_empty:
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
    if type.is_empty or not type.is_contiguous:
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
    """In training: folds over all dims but the channels, added up in f64 as eager does, of halves in f32; what is elementwise joins them in one nest.

    Statistics that are halves are rounded where eager stores them: the mean, the sum of squares, and what it is divided by.
    """
    fold = Fold(lowering, op.x, tuple([dim for dim in range(op.x.type.rank) if dim != 1]), op)
    body, x = fold.body, fold.read()
    channel = (body.indices[1],)
    element = op.mean.type.element
    wide = f32 if op.x.type.element.is_half else f64

    def stored(number: Num) -> Num:
        return rounded(number, element) if element.is_half else number

    if op.x.type.device != "cpu" and x.type is not f64:
        exact, squares = _in_one_sweep(fold, x)
    else:
        exact = fold.mean(x.cast(wide)).cast(x.type)
        distance = x - exact
        squares = fold.sum((distance * distance).cast(wide))
    mean, squares = stored(exact), stored(squares)
    variance = stored(squares / fold.count)
    inverse = 1 / (variance + op.eps).op("sqrt")
    if op.eps == 0:
        inverse = variance.differs(0).choose(inverse, 0.0)
    rstd = stored(inverse.cast(x.type))
    body.store(_normalised(body, op, x, mean, rstd), op.output.type, body.indices)
    for number, type in ((mean, op.mean.type), (rstd, op.rstd.type)):
        body.store(number, type, channel)
    moving = _moved_half if element.is_half else _moved
    body.store(moving(op, mean, body.read(op.running_mean, channel), True), op.running_mean.type.like(op.running_mean.type.shape), channel)
    spread = stored(squares / (fold.count - 1))
    body.store(moving(op, spread, body.read(op.running_var, channel), False), op.running_var.type.like(op.running_var.type.shape), channel)
    return body.finish()


def _normalised(body: Body, op: Any, x: Num, mean: Num, rstd: Num) -> Num:
    """The result of a batch norm by the steps that eager takes: of a CPU or of a GPU."""
    channel = (body.indices[1],)
    if op.x.type.device != "cpu":
        number = (x - mean) * rstd if op.weight is None else (x - mean) * body.read(op.weight, channel).cast(x.type) * rstd
        return number if op.bias is None else number + body.read(op.bias, channel).cast(x.type)
    scale = rstd * body.read(op.weight, channel) if op.weight is not None else rstd
    shift = -(mean * scale) if op.bias is None else body.read(op.bias, channel) - mean * scale
    return x * scale + shift


def _in_one_sweep(fold: Fold, x: Num) -> tuple[Num, Num]:
    """The mean and the sum of squares around it, from sums of f32 numbers and of their squares in f64, which lose less than a sweep in f32 behind the mean.

    The product of two f32 numbers is exact in f64, and what cancels is below 2^-52 of the mean's square.
    """
    wide = x.cast(f64)
    total, squares = fold.sum(wide), fold.sum(wide * wide)
    mean = total / fold.count
    return mean.cast(x.type), (squares - mean * total).op("maximum", 0)


def _moved(op: Any, number: Num, running: Num, is_mean: bool) -> Num:
    """A running statistic moved towards that of the batch."""
    return number.cast(f64) * op.momentum + running.cast(f64) * (1 - op.momentum)


def _moved_half(op: Any, number: Num, running: Num, is_mean: bool) -> Num:
    """The same in halves: eager rounds the momentum and what is left of 1, and the products, but for that of the new variance."""
    element = op.mean.type.element
    new = number * rounded(number.const(op.momentum), element)
    old = rounded(running * rounded(running.const(1 - op.momentum), element), element)
    return (rounded(new, element) if is_mean else new) + old


def _batch_norm(lowering: Lowering, op: Any) -> list[Seen]:
    """With the running statistics an elementwise operation; in training two folds, or for mixed floats that are wide the library's."""
    if op.training:
        return _batch_statistics(lowering, op) if _is_plain(op) else call(lowering, op)
    body = lowering.body(op.output.type, op.loc)
    channel = (body.indices[1],)
    x = body.read(op.x)
    inverse = 1 / (body.read(op.running_var, channel).cast(x.type) + op.eps).op("sqrt")
    if op.x.type.device != "cpu":
        body.store(_normalised(body, op, x, body.read(op.running_mean, channel).cast(x.type), inverse), op.output.type)
        return _inference_results(lowering, op, body)
    alpha = inverse * body.read(op.weight, channel).cast(x.type) if op.weight is not None else inverse
    shift = -body.read(op.running_mean, channel).cast(x.type) * alpha
    if op.bias is not None:
        shift = body.read(op.bias, channel).cast(x.type) + shift
    body.store(x * alpha + shift, op.output.type)
    return _inference_results(lowering, op, body)


def _inference_results(lowering: Lowering, op: Any, body: Body) -> list[Seen]:
    """The result, statistics without elements, and the running ones as they are."""
    (output,) = body.finish()
    empty = lowering.body(op.mean.type, op.loc)
    empty.store(empty.const(0, op.mean.type.element), op.mean.type)
    (nothing,) = empty.finish()
    return [output, nothing, Seen(nothing.buffer, ZERO, op.rstd.type), lowering.seen[op.running_mean], lowering.seen[op.running_var]]


def _is_plain(op: Any) -> bool:
    """True for one type of floats all through, or for halves with parameters of f32, and for at least one element."""
    x, *parameters = [value.type for value in op.operands]
    kinds = {type.element for type in parameters} or {x.element}
    return not x.is_empty and (kinds == {x.element} or (x.element.is_half and kinds == {f32}))


def _is_plain_backward(op: Any) -> bool:
    """True for a gradient and an operand of one type, and statistics and a weight of that type or, beside halves, of f32."""
    x = op.x.type
    kinds = {value.type.element for value in (op.mean, op.rstd, op.weight) if value is not None}
    return not x.is_empty and op.gradient.type.element is x.element and (kinds == {x.element} or (x.element.is_half and kinds == {f32}))


def _batch_norm_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """The gradient less its mean and less its part along what was normalised: two folds in f64 as in eager, of halves and on a GPU in f32, and an
    elementwise rest.

    What is computed once a channel is a nest of its own on a GPU, where each of many programs would compute it again.
    """
    if not op.training or not _is_plain_backward(op):
        return call(lowering, op)
    fold = Fold(lowering, op.x, tuple([dim for dim in range(op.x.type.rank) if dim != 1]), op)
    body, x = fold.body, fold.read()
    channel = (body.indices[1],)
    gradient = body.read(op.gradient)
    element = f64 if op.x.type.element is f64 or (op.x.type.device == "cpu" and not op.x.type.element.is_half) else f32
    distance = x - body.read(op.mean, channel)
    total = fold.sum(gradient.cast(element))
    along = fold.sum((distance * gradient).cast(element))
    if op.x.type.device == "cpu":
        shares = _shares(body, op, total, along, fold.count, channel)
        _store_gradient(body, op, x, gradient, shares[:2])
        for number, type in zip(shares[2:], (op.weight_gradient.type, op.bias_gradient.type)):
            body.store(number, type, channel)
        return body.finish()
    sums = op.weight_gradient.type.like(op.weight_gradient.type.shape, element)
    body.store(total, sums, channel)
    body.store(along, sums, channel)
    seen = body.finish()
    small = lowering.body(sums, op.loc)
    point = small.indices
    shares = _shares(small, op, small.read(seen[0], point), small.read(seen[1], point), fold.count, point)
    wide = sums.like(sums.shape, compute_type(op.x.type.element))
    for number, type in zip(shares, (wide, wide, op.weight_gradient.type, op.bias_gradient.type)):
        small.store(number, type, point)
    factor, mean, *gradients = small.finish()
    rest = lowering.body_over(op.x, op.loc)
    channel = (rest.indices[1],)
    _store_gradient(rest, op, rest.read(op.x), rest.read(op.gradient), [rest.read(each, channel) for each in (factor, mean)])
    return [*rest.finish(), *gradients]


def _shares(body: Body, op: Any, total: Num, along: Num, count: int, channel: Point) -> list[Num]:
    """Of one channel: the factor of what was normalised and the mean that are taken off the gradient, and the gradients of the weight and the bias."""
    x = compute_type(op.x.type.element)
    wide = body.read(op.rstd, channel).cast(total.type)
    return [(along * wide * wide / count).cast(x), (total / count).cast(x), along * wide, total]


def _store_gradient(body: Body, op: Any, x: Num, gradient: Num, shares: Sequence[Num]) -> None:
    """The gradient of the operand, at a point of it."""
    channel = (body.indices[1],)
    distance = x - body.read(op.mean, channel)
    rest = (gradient - distance * shares[0] - shares[1]) * body.read(op.rstd, channel)
    if op.weight is not None:
        rest = rest * body.read(op.weight, channel)
    body.store(rest, op.x_gradient.type, body.indices)


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        normalization.LayerNormOp: _layer_norm,
        normalization.GroupNormOp: _group_norm,
        normalization.BatchNormOp: _batch_norm,
        normalization.BatchNormBackwardOp: _batch_norm_backward,
    }
)
