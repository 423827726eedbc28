"""Joining two nests into one: when that is right, and how it is done.

The dims of the first nest become expressions over the dims of the second, found from a buffer that both touch: where the second reads element
`offset`, the first must be at the point that wrote it.  So nests over different views of one space meet, and the check is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lect.dialects.loop.attributes import FuseAttr, SpaceAttr
from lect.dialects.loop.building import Inlining, NestBuilder, copy_block, has_division, whole_range
from lect.dialects.loop.ops import CastOp, LoadOp, NestOp
from lect.ir import Value
from lect.ir.index_map import delinearize, dims_of, indices_of, is_affine, linearize, substitute
from lect.ir.symbolic import ZERO, Expr, Ranges, Size, as_size, dim, ranges_of
from lect.passes.loop.forms import Forms
from lect.passes.loop.fusion_graph import FusionGraph
from lect.passes.loop.gpu_products import is_tile_product
from lect.passes.loop.loop_split_dims import split
from lect.passes.loop.nests import body_size, has_scan, heavy_ops, own_point, points, release, weight

Sizes = tuple[Size, ...]
MIN_ROWS = 16
MANY_POINTS = 1 << 14


class Blocked(Exception):
    """Two nests cannot be joined; the message says why."""


@dataclass(frozen=True, eq=False)
class Joint:
    """How the first nest stands in the joint one: `dims` sends its dims to expressions over `sizes`, the joint space, which extends the second's."""

    dims: Mapping[int, Expr]
    sizes: Sizes


def names(dims: Sequence[int] | set[int] | frozenset[int]) -> str:
    """`d0, d1`."""
    return ", ".join(f"d{k}" for k in sorted(dims))


def count(sizes: Sequence[Size]) -> Size:
    """Product of sizes."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return as_size(total)


def reaches_all(read: Expr, total: Size, ranges: Ranges) -> bool:
    """Whether an offset surely goes from 0 to `total` - 1."""
    low, high = ranges.bounds(read)
    return low == 0 and (high == total - 1 if type(total) is int else ranges.upper(read) is total - 1)


def joint_by_offset(first: NestOp, second: NestOp, written: Expr, read: Expr) -> Joint:
    """The joint space in which the first writes where the second reads.  Raises `Blocked`."""
    sizes: Sizes = first.space.sizes
    if sizes == second.space.sizes and written is read:
        return Joint(whole_range(sizes), sizes)
    folded = set() if written is own_point(first) else set(first.reduced)  # a nest may store every point of a row that it folds
    parallel = [k for k in range(len(sizes)) if k not in folded]
    own = tuple([sizes[k] for k in parallel])
    dims = first.space.dims
    if written is not linearize([dims[k] for k in parallel], own):
        raise Blocked("it is not written once for each parallel point, in order")
    total = count(own)
    touched = dims_of(read)
    whole = count([second.space.sizes[k] for k in touched]) == total and reaches_all(read, total, second.space.ranges)
    if indices_of(read) or not whole:
        raise Blocked("it is read at another point than it is written")
    placed = dict(zip(parallel, delinearize(read, own, second.space.ranges)))
    return _with_folded(first, second, placed, sorted(folded), touched)


def _with_folded(first: NestOp, second: NestOp, placed: dict[int, Expr], folded: list[int], touched: frozenset[int]) -> Joint:
    """Place the folded dims of the first nest on those dims of the second that its result does not vary over, or on new ones."""
    sizes: Sizes = second.space.sizes
    rest = [k for k in range(len(sizes)) if k not in touched and sizes[k] != 1]
    own = tuple([first.space.sizes[k] for k in folded])
    if not folded:
        return Joint(placed, sizes)
    if not rest:
        rest = list(range(len(sizes), len(sizes) + len(own)))
        sizes = (*sizes, *own)
    elif count([sizes[k] for k in rest]) != count(own):
        raise Blocked(f"reduction spaces differ: {count([sizes[k] for k in rest])} against {count(own)}")
    position = linearize([ZERO if sizes[k] == 1 else dim(k) for k in rest], tuple([sizes[k] for k in rest]))
    placed.update(zip(folded, delinearize(position, own, ranges_of(sizes))))
    return Joint(placed, sizes)


def factors(nest: NestOp) -> set[Value]:
    """The buffers whose elements are factors of sums of products, as they are or widened."""
    found = [value.op for product in nest.products for value in product.value.op.operands]  # type: ignore[union-attr]
    found = [op.value.op if isinstance(op, CastOp) else op for op in found]
    return {load.buffer for load in found if isinstance(load, LoadOp)}


def vertical(first: NestOp, second: NestOp, buffers: Sequence[Value], stays: bool, max_body: int) -> Joint:
    """How a producer joins a consumer that reads `buffers` of it.  `stays`: another reader needs one of them.  Raises `Blocked`."""
    if has_scan(first) or has_scan(second):
        raise Blocked("a scan is bound to its nest")
    if body_size(first) + body_size(second) > max_body:
        raise Blocked(f"more than {max_body} operations")
    if points(first) == 0 or points(second) == 0:
        raise Blocked("empty space")
    if (is_tile_product(second) and first.reduced) or (is_tile_product(first) and second.reduced):
        raise Blocked("a product by tiles folds nothing else")
    if factors(second) & set(buffers):
        raise Blocked("each element of it is a factor of many products")
    joint: Joint | None = None
    for buffer in buffers:
        written = first.store_of(buffer.index).map.offset
        loads = [load for load in second.loads if load.buffer is buffer]
        if any(load.indices for load in loads):
            raise Blocked("it is read at loaded indices")
        reads = {load.map.offset for load in loads}
        if len(reads) > 1:
            raise Blocked("it is read at two points")
        (read,) = reads
        if joint is None:
            joint = joint_by_offset(first, second, written, read)
        if substitute(written, joint.dims, ranges_of(joint.sizes)) is not read:
            raise Blocked("it is read at another point than it is written")
    assert joint is not None
    _require_one_fold(first, second, joint)
    if stays or first.reduced:
        _require_rows(first, second, joint)
    total = count(joint.sizes)
    repeated = 1 if total == first.space.points else weight(total, second) // max(1, points(first))
    if repeated > 1 and (stays or heavy_ops(first) or first.products):
        raise Blocked(f"it would be computed {repeated} times")
    return joint


def _require_one_fold(first: NestOp, second: NestOp, joint: Joint) -> None:
    folded = {k for d in first.reduced for k in dims_of(joint.dims[d])}
    other = {k for k in second.reduced if joint.sizes[k] != 1}
    if folded and other and folded != other:
        raise Blocked(f"reduces over [{names(folded)}] and over [{names(other)}]")
    if folded:
        across = {k for d in range(len(first.space.sizes)) if d not in first.reduced for k in dims_of(joint.dims[d])}
        if across & folded:
            raise Blocked("folded dims mix with parallel dims")


def _require_rows(first: NestOp, second: NestOp, joint: Joint) -> None:
    """A nest that stores every point must not be bound to a fold that leaves few rows to run side by side."""
    if bool(first.reduced) == bool(second.reduced):
        return
    folded = {k for d in first.reduced for k in dims_of(joint.dims[d])} or set(second.reduced)
    rows = weight(count([size for k, size in enumerate(joint.sizes) if k not in folded]), second)
    if rows < MIN_ROWS and weight(count(joint.sizes), second) > MANY_POINTS:
        raise Blocked(f"only {rows} rows would run side by side")


def join(first: NestOp, second: NestOp, joint: Joint, keep: Sequence[int], early: bool = False) -> NestOp:
    """One nest for both, outside of the graph: results `keep` of the first, then all of the second.

    With `early`, which is wrong, the second reads what stands in front of the last operation of the first.
    """
    builder = NestBuilder(SpaceAttr(joint.sizes), second.loc)
    made = copy_block(Inlining(first, builder, joint.dims))
    for number, (value, offset) in made.items():
        builder.stored[first.results[number], offset] = _one_step_back(value) if early else value
    for number in keep:
        builder.loc = first.store_of(number).loc
        builder.store(*_stored(first, number, made))
    made = copy_block(Inlining(second, builder, whole_range(second.space.sizes)))
    for number in range(len(second.results)):
        builder.loc = second.store_of(number).loc
        builder.store(*_stored(second, number, made))
    builder.loc = second.loc
    for buffer in first.results:
        builder.inputs.pop(buffer, None)
    return builder.finish(second.sym_name)


def _one_step_back(value: Value) -> Value:
    """What the operation that gives a value computes it of, where that is of one type and varies over the same dims."""
    op = value.op
    if op is None or not op.operands or op.name in ("loop.load", "loop.reduce", "loop.scan"):
        return value
    before = op.operands[0]
    return before if before.type is value.type and before.op is not None and before.op.name != "loop.reduce" else value


def _stored(nest: NestOp, number: int, made: dict[int, tuple[Value, Expr]]) -> tuple[Value, Any, Expr]:
    value, offset = made[number]
    return value, nest.results[number].type, offset


def joined(forms: Forms, first: NestOp, second: NestOp, joint: Joint, keep: Sequence[int], early: bool = False) -> NestOp:
    """One nest for both, outside of the graph; its dims are split where a map divides."""

    def build() -> NestOp:
        new = join(first, second, joint, keep, early)
        parts = split(new) if has_division(new) else None
        if parts is not None:
            new.drop_operands()
        return parts or new

    made = forms.make((first, second), ("joined", joint, tuple(keep), early), second.sym_name, build)
    assert made is not None
    return made


def attempt(forms: Forms, first: NestOp, second: NestOp, what: Hashable, find: Callable[[], Joint]) -> Joint:
    """What `find` gives for two nests, found once for each pair of forms.  Raises `Blocked`."""

    def answer() -> Joint | str:
        try:
            return find()
        except Blocked as reason:
            return str(reason)

    found = forms.together((first, second), what, answer)
    if isinstance(found, str):
        raise Blocked(found)
    return found


def put_joint(graph: FusionGraph, first: NestOp, second: NestOp, new: NestOp, keep: Sequence[int], done: FuseAttr) -> NestOp:
    """The joint nest takes the place of both, with the decisions of both and `done`."""
    new.attrs.update(_decisions(first, second, keep, done))
    assert second.parent is not None
    second.parent.insert_before(second, new)
    old = [*[first.results[k] for k in keep], *second.results]
    for before, after in zip(old, new.results):
        after.hint = before.hint
        before.replace_all_uses(after)
    second.erase()
    first.erase()
    graph.merge(first, second, new)
    release(first)
    release(second)
    return new


def _decisions(first: NestOp, second: NestOp, keep: Sequence[int], done: FuseAttr) -> dict[str, Any]:
    found: dict[str, Any] = {"fused": (*first.fused, *second.fused, done)}
    refused = tuple([note for note in (*first.blocked, *second.blocked) if note.other not in (first.sym_name, second.sym_name)])
    if refused:
        found["blocked"] = refused
    if first.chosen or second.chosen:
        found["chosen"] = "; ".join(reason for reason in (first.chosen, second.chosen) if reason)
    if first.realize or second.realize:
        reasons = first.realize or ("",) * len(first.results)
        found["realize"] = (*[reasons[k] for k in keep], *(second.realize or ("",) * len(second.results)))
    return found


# ---- siblings --------------------------------------------------------------------------------------------------------


def sideways(first: NestOp, second: NestOp, buffer: Value, max_body: int) -> Joint:
    """How two nests that read the same elements of one buffer walk it together.  Raises `Blocked`."""
    if has_scan(first) or has_scan(second):
        raise Blocked("a scan is bound to its nest")
    if body_size(first) + body_size(second) > max_body:
        raise Blocked(f"more than {max_body} operations")
    if first.products or second.products:
        raise Blocked("a product keeps its loops for itself")
    sizes: Sizes = second.space.sizes
    if points(first) == 0 or first.space.points != second.space.points:
        raise Blocked("spaces differ")
    if first.space.sizes == sizes:
        joint = Joint(whole_range(sizes), sizes)
    else:
        place = delinearize(own_point(second), first.space.sizes, second.space.ranges)
        if not all(is_affine(index) for index in place):
            raise Blocked("no common refinement of the two spaces")
        joint = Joint(dict(enumerate(place)), sizes)
    _require_one_fold(first, second, joint)
    _require_rows(first, second, joint)
    ranges = ranges_of(sizes)
    mine = {substitute(load.map.offset, joint.dims, ranges) for load in first.loads if load.buffer is buffer}
    if not mine & {load.map.offset for load in second.loads if load.buffer is buffer}:
        raise Blocked("they read different elements at one point")
    return joint
