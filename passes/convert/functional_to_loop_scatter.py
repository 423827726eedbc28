"""Writes at computed and at known places.

What is put at a place that is known (a slice, a diagonal) is chosen where it lies, so that readers of the whole may compute it themselves.  What is
put at computed places goes into a copy of the old elements, by a nest that updates it in eager's order: along the dims in which two writes may meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import gather, view, window
from lect.dialects.functional.ops import WriteOp
from lect.dialects.functional.types import TensorType
from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.scalars import neutral
from lect.ir import Operation, Value
from lect.ir.index_map import delinearize, indices_of, linearize, space_dims, strided
from lect.ir.symbolic import SIZES, Expr, Size, loaded
from lect.ir.types import f32, i1, i64
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen, physical_order
from lect.passes.convert.functional_to_loop_extern import call
from lect.passes.convert.functional_to_loop_gather import Indexed, check_all, check_indices, offset_at, place, read_at
from lect.passes.convert.functional_to_loop_pointwise import convert, rounded

# ---- known places ----------------------------------------------------------------------------------------------------


def _all_of(masks: Sequence[Num]) -> Num:
    found = masks[0]
    for mask in masks[1:]:
        found = found & mask
    return found


def _slice_scatter(lowering: Lowering, op: Any) -> list[Seen]:
    """One nest: the new part is read where the index along `dim` falls into it, the old elements everywhere.  A library call if it shall be in place."""
    if op.src.type.is_empty or op.attrs.get("in_place"):
        return call(lowering, op)
    body = lowering.body(op.output.type, op.loc)
    along = body.indices[op.dim]
    masks = [_compared(body, along, op.start, below=False)] if op.start != 0 else []
    if SIZES.less_equal(op.x.type.shape[op.dim], op.end) is not True:
        masks.append(_compared(body, along, op.end, below=True))
    indices = list(body.indices)
    if op.step == 1:
        indices[op.dim] = along - op.start
        number = body.read(op.src, tuple(indices), raw=True, masks=masks)
    else:
        position = body.index(along - op.start)
        steps = position.op("trunc_div", op.step)
        masks.append(position.op("fmod", op.step).equals(0))
        indices[op.dim] = loaded(0)
        number = read_at(body, op.src, indices, [steps.value], masks)
    body.store(_all_of(masks).choose(number, body.read(op.x, raw=True)) if masks else number, op.output.type)
    return body.finish()


def _compared(body: Body, along: Expr, bound: Size, below: bool) -> Num:
    """Whether an index is below a size, or is not."""
    left, right = (body.index(along), bound) if type(bound) is int else (body.index(along - bound), 0)
    return left < right if below else left >= right


def _diagonal_scatter(lowering: Lowering, op: Any) -> list[Seen]:
    """One nest: the new elements are read where the difference of the two indices is that of the diagonal."""
    if op.src.type.is_empty:
        return call(lowering, op)
    body = lowering.body(op.output.type, op.loc)
    row, column = body.indices[op.dim1], body.indices[op.dim2]
    inside = body.index(column - row).equals(op.offset)
    kept = [index for k, index in enumerate(body.indices) if k not in (op.dim1, op.dim2)]
    number = body.read(op.src, (*kept, row if op.offset >= 0 else column), raw=True, masks=[inside])
    body.store(inside.choose(number, body.read(op.x, raw=True)), op.output.type)
    return body.finish()


# ---- updates ---------------------------------------------------------------------------------------------------------


def copy_of(lowering: Lowering, op: Operation, x: Value | Seen, type: TensorType) -> Seen:
    """A new tensor of `type` with the elements of x."""
    body = lowering.body(type, op.loc)
    body.store(convert(body.read(x, raw=True), type.element), type)
    return body.finish()[0]


def full(lowering: Lowering, op: Operation, number: Any, type: TensorType) -> Seen:
    """A new tensor full of one number."""
    body = lowering.body(type, op.loc)
    body.store(body.const(number, type.element), type)
    return body.finish()[0]


def walk(lowering: Lowering, op: Operation, shape: Sequence[int]) -> Body:
    """A nest over the points of a shape, in row-major order."""
    sizes = tuple(shape)
    return Body(lowering, SpaceAttr(sizes), space_dims(sizes), op.loc)


def updated(
    body: Body, kind: str, number: Num, base: Seen, point: Sequence[Expr], order: Sequence[int], places: Sequence[Value] = (), masks: Sequence[Num] = ()
) -> Seen:
    """`base`, which nothing else reads, with numbers combined at points of it; dims of size 1 need no order."""
    sizes = body.builder.space.sizes
    dims = tuple([k for k in order if sizes[k] != 1])
    value = convert(number, base.type.element).value
    offset = offset_at(body, base, point)
    body.builder.update(kind, value, base.buffer, offset, dims, places if indices_of(offset) else (), [mask.value for mask in masks])
    nest = body.lowering.append_nest(body.builder)
    return Seen(nest.results[0], base.offset, base.type)


def is_for_parameter(op: Any) -> bool:
    """True when what an operation makes of an input of the graph, or of a part of it, is written back there, which the library does in place."""
    x = op.x
    while type(x.op) in (gather.ScatterOp, gather.IndexPutOp, gather.SliceScatterOp, view.SliceOp, view.ReshapeOp, view.PermuteOp):
        x = x.op.x
    return x.is_argument and _is_written(op.results[0], x)


def _is_written(value: Value, target: Value) -> bool:
    for user in value.users:
        if isinstance(user, WriteOp) and user.target is target:
            return True
        if type(user) in (gather.ScatterOp, gather.IndexPutOp, gather.SliceScatterOp) and user.operands[0] is value and _is_written(user.results[0], target):
            return True
    return False


KINDS: Mapping[str, str] = MappingProxyType(
    {"set": "set", "add": "sum", "sum": "sum", "mean": "sum", "multiply": "prod", "prod": "prod", "amax": "max", "amin": "min"}
)


def _scatter(lowering: Lowering, op: Any) -> list[Seen]:
    """Sums and products of halves are taken in f32 and rounded in the end, or as they are stored behind each step."""
    x, index = op.x.type, op.index.type
    if (is_for_parameter(op) and not op.stepwise) or (op.mode == "mean" and x.element is i1):
        return call(lowering, op)
    if index.is_empty:
        return [copy_of(lowering, op, op.x, op.output.type)]
    if not x.rank or x.is_empty:
        return call(lowering, op)
    check_indices(lowering, op, op.index, x.shape[op.dim])
    kind = KINDS[op.mode]
    wide = f32 if x.element.is_half and kind in ("sum", "prod") and not op.stepwise else x.element
    base = copy_of(lowering, op, op.x, op.output.type.with_element(wide))

    def put(kind: str, base: Seen, number: Any = None) -> Seen:
        body = walk(lowering, op, index.shape)
        value = body.read(op.src, raw=True) if number is None else body.const(number, base.type.element)
        spot = place(body.read(op.index, raw=True), x.shape[op.dim])
        point = [loaded(0) if k == op.dim else expr for k, expr in enumerate(body.indices)]
        return updated(body, kind, value, base, point, (op.dim,), [spot])

    if not op.include_self and kind != "set":
        base = put("set", base, neutral(kind, wide))
    found = put(kind, base, op.value)
    if op.mode == "mean":
        counting = x.element if op.stepwise else i64
        counts = put("sum", full(lowering, op, int(op.include_self), op.output.type.with_element(counting)), 1)
        return [_mean(lowering, op, found, counts)]
    return [found if wide is x.element else copy_of(lowering, op, found, op.output.type)]


def _mean(lowering: Lowering, op: Any, sums: Seen, counts: Seen) -> Seen:
    """Sums, rounded as they are stored, divided by how many entered them; integers are rounded down."""
    body = lowering.body(op.output.type, op.loc)
    total, count = rounded(body.read(sums), op.x.type.element), body.read(counts).op("maximum", 1)
    count = convert(count, total.type)
    body.store(total / count if total.type.is_float else total.op("floor_div", count), op.output.type)
    return body.finish()[0]


def _index_put(lowering: Lowering, op: Any) -> list[Seen]:
    """Where several are added to one element, each sum is rounded."""
    x: TensorType = op.x.type
    how = Indexed(op, x)
    if is_for_parameter(op):
        return call(lowering, op)
    if 0 in how.inner:
        return [copy_of(lowering, op, op.x, op.output.type)]
    if x.is_empty or 0 in how.shape:
        return call(lowering, op)
    check_all(lowering, op)
    base = copy_of(lowering, op, op.x, op.output.type)
    body = walk(lowering, op, how.shape)
    there = how.index_point(body.indices)
    places = [place(body.read(index, there, raw=True), x.shape[dim], op.negative) for dim, index in zip(op.dims, op.indices)]
    value, point = body.read(op.values, raw=True), how.point_in_x(body.indices, x.rank)
    return [updated(body, "sum" if op.accumulate else "set", value, base, point, how.inner_dims, places)]


def _as_strided_scatter(lowering: Lowering, op: Any) -> list[Seen]:
    """The places are known.  Where elements are written several times, eager's order is the library's."""
    x: TensorType = op.x.type
    same = physical_order(x) is not None and x.strides == op.output.type.strides
    if x.is_empty or op.src.type.is_empty or not same or _may_meet(op.size, op.stride):
        return call(lowering, op)
    base = copy_of(lowering, op, op.x, op.output.type)
    body = walk(lowering, op, op.size)
    point = delinearize_by_strides(body, x, strided(body.indices, op.stride, op.offset))
    return [updated(body, "set", body.read(op.src, raw=True), base, point, ())]


def _may_meet(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """True unless each dim steps over all that the finer ones reach."""
    reach = 0
    for stride, size in sorted(zip(strides, sizes)):
        if size != 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def delinearize_by_strides(body: Body, type: TensorType, offset: Expr) -> list[Expr]:
    """The point of a dense tensor at an offset of its memory."""
    order = physical_order(type)
    assert order is not None
    found = delinearize(offset, tuple([type.shape[k] for k in order]), body.builder.space.ranges)
    return [found[order.index(k)] for k in range(type.rank)]


# ---- gradients -------------------------------------------------------------------------------------------------------


def _embedding_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """Rows added one by one; the sum of halves is rounded each time."""
    type: TensorType = op.output.type
    if op.scale_by_frequency or type.is_empty or op.gradient.type.is_empty:
        return call(lowering, op)
    check_indices(lowering, op, op.indices, op.count, ignored=op.padding if op.padding >= 0 else None)
    base = full(lowering, op, 0, type)
    body = walk(lowering, op, op.gradient.type.shape)
    *there, column = body.indices
    row = body.read(op.indices, tuple(there), raw=True)
    masks = [row.cast(i64).differs(op.padding)] if op.padding >= 0 else []
    order = tuple(range(len(there)))
    return [updated(body, "sum", body.read(op.gradient, raw=True), base, [loaded(0), column], order, [place(row, op.count)], masks)]


def _max_pool_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """The gradient added up at the elements that were the greatest, whose flat indices are known."""
    x: TensorType = op.output.type
    gradient: TensorType = op.gradient.type
    if x.is_empty or gradient.is_empty:
        return call(lowering, op)
    kept = x.rank - op.spatial
    flat = x.like((*x.shape[:kept], _product(x.shape[kept:])))
    check_indices(lowering, op, op.indices, flat.shape[-1])
    base = full(lowering, op, 0, flat)
    body = walk(lowering, op, gradient.shape)
    spot = place(body.read(op.indices, raw=True), flat.shape[-1])
    point = [*body.indices[:kept], loaded(0)]
    found = updated(body, "sum", body.read(op.gradient, raw=True), base, point, tuple(range(kept, gradient.rank)), [spot])
    return [lowering.reindexed(found, x, [*space_dims(x.shape)[:kept], linearize(space_dims(x.shape)[kept:], x.shape[kept:])])]


def _product(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        gather.SliceScatterOp: _slice_scatter,
        gather.DiagonalScatterOp: _diagonal_scatter,
        gather.ScatterOp: _scatter,
        gather.IndexPutOp: _index_put,
        gather.AsStridedScatterOp: _as_strided_scatter,
        gather.EmbeddingBackwardOp: _embedding_backward,
        window.MaxPoolBackwardOp: _max_pool_backward,
    }
)
