"""Reads at computed places.

An index that is out of its dim raises in eager, so two things are made of a read: a fold of the indices to one i1, which a library call checks, and
the read itself.  There every index is brought into its dim, so that nothing is read outside of a buffer whatever comes first.  A graph that raises
is run again as it is written, which gives eager's exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from lect.dialects.functional import gather, ops
from lect.dialects.functional.shapes import broadcast
from lect.dialects.functional.types import TensorType
from lect.ir import Operation, Value
from lect.ir.index_map import indices_of, is_affine, substitute
from lect.ir.symbolic import ZERO, Expr, loaded
from lect.ir.types import i1, i64
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Point, Rule, Seen
from lect.passes.convert.functional_to_loop_bounds import lies_inside
from lect.passes.convert.functional_to_loop_extern import call

CHECK: Final = "aten._assert_async.msg"


def require_all(lowering: Lowering, op: Operation, tensor: Value, good: Callable[[Num], Num], message: str) -> None:
    """Raise at run time unless `good` holds for every element of a tensor."""
    body = lowering.body_over(tensor, op.loc)
    over = tuple([k for k, extent in enumerate(body.builder.space.sizes) if extent != 1])
    type: TensorType = tensor.type.like((), i1)  # type: ignore[attr-defined]
    body.store(good(body.read(tensor)).reduce("all", over), type, ())
    (flag,) = body.finish()
    lowering.extern(op, CHECK, [flag, message], types=[])


def check_indices(lowering: Lowering, op: Operation, index: Value, size: int, negative: bool = False, ignored: int | None = None) -> None:
    """Raise at run time when an index is not in 0..size-1, or from -size on if `negative`; the number `ignored` is always good.

    Nothing is checked when what made the index tells that it is good.
    """
    if lies_inside(index, size, negative):
        return

    def good(number: Num) -> Num:
        number = number.cast(i64)
        inside = (number >= (-size if negative else 0)) & (number < size)
        return inside if ignored is None else inside | number.equals(ignored)

    require_all(lowering, op, index, good, "an index is out of its dimension")


def place(number: Num, size: int, negative: bool = False) -> Value:
    """An index inside of a dim of `size` elements, which is not empty: itself where it is good."""
    number = number.cast(i64)
    if negative:
        number = (number < 0).choose(number + size, number)
    return number.op("maximum", 0).op("minimum", size - 1).value


def affine(lowering: Lowering, tensor: Value | Seen) -> Seen:
    """A tensor whose offset is linear in each of its dims: itself, or a copy."""
    seen = tensor if isinstance(tensor, Seen) else lowering.seen[tensor]
    return seen if is_affine(seen.offset) else lowering.materialized(seen)


def offset_at(body: Body, seen: Seen, point: Sequence[Expr]) -> Expr:
    """The offset of an element, some of whose coordinates are loaded numbers: none where the dim has one element."""
    own = [ZERO if size == 1 else expr for size, expr in zip(seen.type.shape, point)]
    return substitute(seen.offset, own, body.builder.space.ranges)


def read_at(body: Body, tensor: Value | Seen, point: Sequence[Expr], places: Sequence[Value], masks: Sequence[Num] = ()) -> Num:
    """The element of a tensor at a point; `loaded(k)` in it stands for `places[k]`, which lies inside of its dim wherever the masks are true."""
    seen = affine(body.lowering, tensor)
    offset = offset_at(body, seen, point)
    places = places if indices_of(offset) else ()
    return Num(body.builder, body.builder.load(seen.buffer, offset, places, [mask.value for mask in masks]))


def empty(lowering: Lowering, op: Operation, type: TensorType) -> Seen:
    """A tensor without elements."""
    body = lowering.body(type, op.loc)
    body.store(body.const(0, type.element), type)
    return body.finish()[0]


# ---- operations ------------------------------------------------------------------------------------------------------


class Indexed:
    """How `x[indices]` is walked: the shape of the result, where each of its dims comes from, and the coordinates in x."""

    def __init__(self, op: Any, x: TensorType) -> None:
        self.inner = broadcast([index.type.shape for index in op.indices])
        self.dims: tuple[int, ...] = op.dims
        adjacent = self.dims == tuple(range(self.dims[0], self.dims[0] + len(self.dims)))
        self.front = self.dims[0] if adjacent else 0
        kept = [size for dim, size in enumerate(x.shape) if dim not in self.dims]
        self.shape = (*kept[: self.front], *self.inner, *kept[self.front :])
        self.inner_dims = tuple(range(self.front, self.front + len(self.inner)))

    def index_point(self, point: Point) -> Point:
        """Where in the indices a point of the result is."""
        return tuple([point[k] for k in self.inner_dims])

    def point_in_x(self, point: Point, rank: int) -> tuple[Expr, ...]:
        """Where in x a point of the result is; index number k is `loaded(k)`."""
        kept = iter([expr for k, expr in enumerate(point) if k not in self.inner_dims])
        return tuple([loaded(self.dims.index(dim)) if dim in self.dims else next(kept) for dim in range(rank)])


def check_all(lowering: Lowering, op: Any) -> None:
    """The checks of all indices of an operation that has `indices`, `dims` and `negative`."""
    for dim, index in zip(op.dims, op.indices):
        check_indices(lowering, op, index, op.x.type.shape[dim], op.negative)


def _index(lowering: Lowering, op: Any) -> list[Seen]:
    x: TensorType = op.x.type
    if any(index.type.is_empty for index in op.indices):
        return [empty(lowering, op, op.output.type)]
    if x.is_empty or op.output.type.is_empty:
        return call(lowering, op)
    check_all(lowering, op)
    how, source = Indexed(op, x), affine(lowering, op.x)
    body = lowering.body(op.output.type, op.loc)
    there = how.index_point(body.indices)
    places = [place(body.read(index, there, raw=True), x.shape[dim], op.negative) for dim, index in zip(op.dims, op.indices)]
    body.store(read_at(body, source, how.point_in_x(body.indices, x.rank), places), op.output.type)
    return body.finish()


def _gather(lowering: Lowering, op: Any) -> list[Seen]:
    x: TensorType = op.x.type
    if op.output.type.is_empty:
        return [empty(lowering, op, op.output.type)]
    if not x.rank or x.is_empty:
        return call(lowering, op)
    check_indices(lowering, op, op.index, x.shape[op.dim])
    source = affine(lowering, op.x)
    body = lowering.body(op.output.type, op.loc)
    spot = place(body.read(op.index, raw=True), x.shape[op.dim])
    point = list(body.indices)
    point[op.dim] = loaded(0)
    body.store(read_at(body, source, point, [spot]), op.output.type)
    return body.finish()


def _searchsorted(lowering: Lowering, op: Any) -> list[Seen]:
    """A binary search written out: as many steps as halve the row to nothing, each of which asks what eager's asks, for NaN too."""
    rows: TensorType = op.boundaries.type
    size = rows.shape[-1] if rows.rank else 0
    if not size or op.output.type.is_empty or rows.rank not in (1, op.values.type.rank):
        return call(lowering, op)
    if op.sorter is not None:
        check_indices(lowering, op, op.sorter, size)
    sources = [affine(lowering, value) for value in (op.boundaries, op.sorter) if value is not None]
    body = lowering.body(op.output.type, op.loc)
    value = body.read(op.values)
    lead = body.indices[:-1] if rows.rank > 1 else ()
    low, high = body.const(0, i64), body.const(size, i64)
    for _ in range(size.bit_length()):
        middle = low + (high - low).op("shr", 1)
        spot = middle.op("minimum", size - 1)
        if op.sorter is not None:
            spot = Num(body.builder, place(read_at(body, sources[1], (*lead, loaded(0)), [spot.value]), size))
        found = read_at(body, sources[0], (*lead, loaded(0)), [spot.value])
        found = found.cast(value.type)
        searching = low < high
        behind = searching & ~(found > value if op.right else found >= value)
        low, high = behind.choose(middle + 1, low), (searching & ~behind).choose(middle, high)
    body.store(low.cast(op.element), op.output.type)
    return body.finish()


def _opaque(lowering: Lowering, op: Any) -> list[Seen]:
    """A library call of an operator without an operation of its own, but for classes written out as zeros and a one, which are comparisons."""
    if op.target.leaf != "aten.one_hot.default" or len(op.operands) != 1 or op.results[0].type.is_empty or op.args[1:] != (op.results[0].type.shape[-1],):
        return call(lowering, op)
    classes, type = op.operands[0], op.results[0].type
    check_indices(lowering, op, classes, type.shape[-1])
    body = lowering.body(type, op.loc)
    here = body.index(body.indices[-1])
    body.store(body.read(classes, body.indices[:-1], raw=True).cast(i64).equals(here).cast(type.element), type)
    return body.finish()


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {gather.IndexOp: _index, gather.GatherOp: _gather, gather.SearchsortedOp: _searchsorted, ops.OpaqueOp: _opaque}
)
