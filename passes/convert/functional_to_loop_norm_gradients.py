"""Gradients of layer_norm and group_norm: folds along what was normalised for the operand, and folds across it for the weight and the bias.

Halves are added up in f32, where eager's layer_norm rounds the gradients of the parameters behind each row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import normalization
from lect.dialects.functional.families import Elementwise
from lect.dialects.loop.attributes import SpaceAttr
from lect.ir import Operation, Value
from lect.ir.facts import facts_of
from lect.ir.index_map import space_dims
from lect.ir.types import f32
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen
from lect.passes.convert.functional_to_loop_extern import call, constant_tensor
from lect.passes.convert.functional_to_loop_reduction import Fold

# Beyond, the library's one sweep over a tensor of f32 or f64 is faster than two folds, if the gradient lies in memory: one that is elementwise is computed
# by the folds, and would have to be stored for the library.
MOST_ELEMENTS = 1 << 16


def is_plain(op: Any) -> bool:
    """True for a gradient and an operand of one float type, and statistics and a weight of that type or, beside halves, of f32; not empty."""
    x = op.x.type
    kinds = {value.type.element for value in (op.mean, op.rstd, op.weight) if value is not None}
    return not x.is_empty and op.gradient.type.element is x.element and all(kind is x.element or (x.element.is_half and kind is f32) for kind in kinds)


def is_computed_by_readers(gradient: Value) -> bool:
    """Whether a gradient is the result of an elementwise operation that nothing else reads, so that it need not be stored."""
    op = gradient.op
    return op is not None and Elementwise in op.traits and gradient.has_one_use()


def gradient_of_operand(along: Num, total: Num, scaled: Num, x: Num, mean: Num, rstd: Num, count: int) -> Num:
    """As eager computes it, of the sums of the scaled gradient times x, `along`, and of the scaled gradient, `total`."""
    slope = (total * mean - along) * rstd * rstd * rstd / count
    return rstd * scaled + slope * x - (slope * mean + total * rstd / count)


def _on_a_gpu(lowering: Lowering, op: Any) -> list[Seen]:
    """A nest of rows for the operand and one of columns for the parameters, whose sums are split; both in f32 for halves, as eager has it."""
    type = op.x.type
    if op.weight is None and any(value.users for value in op.results[1:]):
        return call(lowering, op)
    kept = type.rank - len(op.normalized)
    fold = Fold(lowering, op.x, tuple(range(kept, type.rank)), op)
    body = fold.body
    normal, slope = _normal_and_slope(body, op)
    if op.weight is not None:
        slope = slope * body.read(op.weight, body.indices[kept:])
    rest = slope - fold.mean(slope) - normal * fold.mean(slope * normal)
    body.store(rest * body.read(op.rstd), op.x_gradient.type, body.indices)
    columns = Fold(lowering, op.x, tuple(range(kept)), op)
    normal, slope = _normal_and_slope(columns.body, op)
    for number, result in ((slope * normal, op.weight_gradient), (slope, op.bias_gradient)):
        columns.body.store(columns.sum(number), result.type, columns.body.indices[kept:])
    return [*body.finish(), *columns.body.finish()]


def _normal_and_slope(body: Body, op: Any) -> tuple[Num, Num]:
    """The normalised operand, computed again, and the gradient of the result."""
    return (body.read(op.x) - body.read(op.mean)) * body.read(op.rstd), body.read(op.gradient)


def _layer_norm_backward(lowering: Lowering, op: Any) -> list[Seen]:
    rank = op.x.type.rank
    kept = rank - len(op.normalized)
    if op.x.type.is_empty:
        return [constant_tensor(lowering, 0, value.type) for value in op.results]
    if op.x.type.device != "cpu":
        return _on_a_gpu(lowering, op)
    if not is_plain(op) or (facts_of(op).hint(op.x.type.count) > MOST_ELEMENTS and not op.x.type.element.is_half and not is_computed_by_readers(op.gradient)):
        return call(lowering, op)
    fold = Fold(lowering, op.x, tuple(range(kept, rank)), op)
    body, x = fold.body, fold.read()
    gradient, mean, rstd = [body.read(value) for value in (op.gradient, op.mean, op.rstd)]
    scaled = gradient if op.weight is None else gradient * body.read(op.weight, body.indices[kept:])
    found = gradient_of_operand(fold.sum(scaled * x), fold.sum(scaled), scaled, x, mean, rstd, fold.count)
    body.store(found, op.x_gradient.type, body.indices)
    (of_x,) = body.finish()
    across = Fold(lowering, op.x, tuple(range(kept)), op)
    body = across.body
    gradient, mean, rstd = [body.read(value) for value in (op.gradient, op.mean, op.rstd)]
    body.store(across.sum(gradient * (across.read() * rstd - mean * rstd)), op.weight_gradient.type, body.indices[kept:])
    body.store(across.sum(gradient), op.bias_gradient.type, body.indices[kept:])
    return [of_x, *body.finish()]


def _group_norm_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """The channels become two dims, group and channel in the group."""
    type = op.x.type
    if not is_plain(op) or not type.is_contiguous:
        return call(lowering, op)
    batch, channels, *spatial = type.shape
    width = channels // op.groups
    sizes = (batch, op.groups, width, *spatial)
    dims = space_dims(sizes)
    channel = dims[1] * width + dims[2]

    def opened() -> tuple[Body, Num, Num, Num, Num]:
        body = Body(lowering, SpaceAttr(sizes), (dims[0], channel, *dims[3:]), op.loc)
        group = (dims[0], dims[1])
        return body, body.read(op.x), body.read(op.gradient), body.read(op.mean, group), body.read(op.rstd, group)

    body, x, gradient, mean, rstd = opened()
    over = tuple([k for k in range(2, len(sizes)) if sizes[k] != 1])
    scaled = gradient if op.weight is None else gradient * body.read(op.weight, (channel,))
    found = gradient_of_operand((scaled * x).reduce("sum", over), scaled.reduce("sum", over), scaled, x, mean, rstd, math.prod(sizes[2:]))
    body.store(found, op.x_gradient.type, body.indices)
    (of_x,) = body.finish()
    body, x, gradient, mean, rstd = opened()
    over = tuple([k for k in (0, *range(3, len(sizes))) if sizes[k] != 1])
    body.store((gradient * (x - mean) * rstd).reduce("sum", over), op.weight_gradient.type, (channel,))
    body.store(gradient.reduce("sum", over), op.bias_gradient.type, (channel,))
    return [of_x, *body.finish()]


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {normalization.LayerNormBackwardOp: _layer_norm_backward, normalization.GroupNormBackwardOp: _group_norm_backward}
)
