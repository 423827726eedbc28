"""Taking a reduction in two stages: partial results of parts of the folded dims, and their fold.

r = fold of f over all points        =>   stage 1: for each part, fold of f over the part's points;  stage 2: fold of those;  stage 3: what uses r

A dim whose size is known only at run time is taken in parts of `Each` so many indices; what of the last part lies behind the end is neither read nor folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.loop.building import Inlining, NestBuilder, copy_operations, whole_range
from lect.dialects.loop.ops import LoadOp, NestOp, ReduceIndexOp, ReduceOp, variance
from lect.dialects.loop.types import BufferType
from lect.dialects.scalars import neutral
from lect.ir import Operation, Value
from lect.ir.index_map import dims_of, linearize
from lect.ir.symbolic import ZERO, Expr, Size, as_size, dim
from lect.ir.types import i64

REDUCTIONS = (ReduceOp, ReduceIndexOp)


class Each(NamedTuple):
    """How many indices a part has, where the number of parts depends on the call."""

    indices: int


Factors = Mapping[int, Size | Each]


@dataclass(frozen=True)
class Parts:
    """How the space of a nest is cut: `dims` sends its dims to the finer space `sizes`, of which `kept` are not folded in stage 1, `over` are, and
    `parts`, some of `kept`, are folded in stage 2.  Of the dims `open` the last part may reach behind the end."""

    dims: Mapping[int, Expr]
    sizes: tuple[Size, ...]
    kept: tuple[int, ...]
    parts: tuple[int, ...]
    over: tuple[int, ...]
    open: tuple[int, ...] = ()


def cut(nest: NestOp, factors: Factors) -> Parts:
    """The finer space when each folded dim in `factors` is taken in so many equal parts."""
    folded = set(nest.reduced)
    dims: dict[int, Expr] = {}
    sizes: list[Size] = []
    kept, parts, over = [], [], []
    for k, size in enumerate(nest.space.sizes):
        count = factors.get(k, 1)
        if isinstance(count, Each):
            here = [as_size((size + (count.indices - 1)) // count.indices), count.indices]
        else:
            here = [size] if count in (1, size) else [count, as_size(size // count)]
        new = list(range(len(sizes), len(sizes) + len(here)))
        dims[k] = linearize([dim(position) if extent != 1 else ZERO for position, extent in zip(new, here)], tuple(here))
        sizes += here
        if k not in folded or count != 1:
            kept.append(new[0])
            parts += new[:1] if k in folded else []
        over += new[1:] if k in folded and count != 1 else new if k in folded else []
    return Parts(dims, tuple(sizes), tuple(kept), tuple(parts), tuple(over), tuple([k for k, count in factors.items() if isinstance(count, Each)]))


def first_reductions(nest: NestOp) -> list[Any]:
    """The reductions that need no other."""
    later: set[Value] = set()
    found = []
    for op in nest.body:
        behind = any(value in later for value in op.operands)
        if isinstance(op, REDUCTIONS) and not behind:
            found.append(op)
        if behind or isinstance(op, REDUCTIONS):
            later.update(op.results)
    return found


def needed_for(roots: Iterable[Value], nest: NestOp, given: Iterable[Value] = ()) -> list[Operation]:
    """The operations of a block that some values need, in order; values that are `given` need nothing."""
    known = set(given)
    wanted: set[Operation] = set()
    pending = [value for value in roots if value not in known]
    while pending:
        op = pending.pop().op
        if op is not None and op not in wanted and op.parent is nest.body:
            wanted.add(op)
            pending += [value for value in op.operands if value not in known]
    return [op for op in nest.body if op in wanted]


def split_reduction(nest: NestOp, factors: Factors, names: Sequence[str], reason: str) -> list[NestOp]:
    """Put the stages in front of a nest, the last with its name in its place; gives them in order.

    `factors` must leave something to fold; `names` are those of the stages 1 and 2.
    """
    parts = cut(nest, factors)
    assert parts.over and parts.parts
    reductions = first_reductions(nest)
    block = nest.parent
    assert block is not None
    first = block.insert_before(nest, _partial(nest, reductions, parts, names[0], reason))
    second = block.insert_before(nest, _totals(nest, reductions, parts, list(first.results), names[1]))
    third = block.insert_before(nest, _rest(nest, reductions, list(second.results)))
    for before, after in zip(nest.results, third.results):
        after.hint = before.hint
    nest.replace(third.results)
    return [first, second, third]


def _partial(nest: NestOp, reductions: Sequence[Any], parts: Parts, name: str, reason: str) -> NestOp:
    """Stage 1: every part by itself; of a position both the value and the position."""
    builder = NestBuilder(SpaceAttr(parts.sizes), nest.loc)
    inside = tuple([builder.op("lt", builder.index(parts.dims[k]), builder.const(nest.space.sizes[k], i64)) for k in parts.open])
    how = Inlining(nest, builder, parts.dims, inside)
    values = copy_operations(how, needed_for([value for op in reductions for value in op.operands], nest))
    offset = linearize([dim(k) if parts.sizes[k] != 1 else ZERO for k in parts.kept], tuple([parts.sizes[k] for k in parts.kept]))
    made: list[Value] = []
    for op in reductions:
        builder.loc = op.loc
        value = values.get(op.value, op.value)
        for mask in inside:
            value = builder.select(mask, value, builder.const(neutral(op.kind, value.type), value.type))  # type: ignore[arg-type]
        folded = builder.reduce(op.kind, value, parts.over)
        made.append(folded)
        if isinstance(op, ReduceIndexOp):
            made.append(builder.reduce_index(op.kind, value, values[op.position], parts.over))
    for value in made:
        builder.store(value, BufferType(tuple([parts.sizes[k] for k in parts.kept]), value.type), offset)
    builder.loc = nest.loc
    return builder.finish(name, {"realize": (reason,) * len(made)})


def _totals(nest: NestOp, reductions: Sequence[Any], parts: Parts, partial: list[Value], name: str) -> NestOp:
    """Stage 2: the fold of the parts."""
    sizes = tuple([parts.sizes[k] for k in parts.kept])
    builder = NestBuilder(SpaceAttr(sizes), nest.loc)
    over = tuple([position for position, k in enumerate(parts.kept) if k in parts.parts])
    stay = [position for position in range(len(sizes)) if position not in over]
    point, offset = linearize(builder.space.dims, sizes), linearize([builder.space.dims[k] for k in stay], tuple([sizes[k] for k in stay]))
    buffers = iter(partial)
    for op in reductions:
        builder.loc = op.loc
        value = builder.load(next(buffers), point)
        if isinstance(op, ReduceIndexOp):
            total = builder.reduce_index(op.kind, value, builder.load(next(buffers), point), over)
        else:
            total = builder.reduce(op.kind, value, over)
        builder.store(total, BufferType(tuple([sizes[k] for k in stay]), total.type), offset)
    builder.loc = nest.loc
    return builder.finish(name, {"realize": (f"totals for @{nest.sym_name}",) * len(reductions)})


def _rest(nest: NestOp, reductions: Sequence[Any], totals: list[Value]) -> NestOp:
    """Stage 3: the nest with its first reductions loaded; over the dims that are not folded alone when nothing varies over the others."""
    given = {op.result: buffer for op, buffer in zip(reductions, totals)}
    stores = {store.to: store for store in nest.stores}
    ops = needed_for([store.value for store in stores.values()], nest, given)
    sizes = nest.space.sizes
    folded = set(nest.reduced)
    stay = [k for k in range(len(sizes)) if k not in folded]
    varying = variance(nest)
    mask = sum(1 << k for k in folded)
    alone = not any(isinstance(op, REDUCTIONS) or varying[op.result] & mask for op in ops)  # type: ignore[attr-defined]
    alone = alone and not any(folded & dims_of(store.map.offset) for store in stores.values())
    if alone:
        dims = {k: dim(stay.index(k)) if k in stay else ZERO for k in range(len(sizes))}
        builder = NestBuilder(SpaceAttr(tuple([sizes[k] for k in stay])), nest.loc)
    else:
        dims, builder = whole_range(sizes), NestBuilder(nest.space, nest.loc)
    how = Inlining(nest, builder, dims)
    place = linearize([builder.space.dims[stay.index(k) if alone else k] for k in stay], tuple([sizes[k] for k in stay]))
    used = {value for op in [*ops, *stores.values()] for value in op.operands}
    values = {value: builder.load(buffer, place) for value, buffer in given.items() if value in used}
    values = copy_operations(how, ops, values)
    for number in range(len(nest.results)):
        store = stores[number]
        builder.loc = store.loc
        builder.store(values.get(store.value, store.value), nest.results[number].type, how.expr(store.map.offset))  # type: ignore[arg-type]
    builder.loc = nest.loc
    return builder.finish(nest.sym_name, {name: value for name, value in nest.attrs.items() if name not in ("sym_name", "space")})


def loads_of(nest: NestOp, buffer: Value) -> list[LoadOp]:
    """The loads of one buffer."""
    return [load for load in nest.loads if load.buffer is buffer]


def count(sizes: Sequence[int], dims: Iterable[int]) -> int:
    """Points of some of the dims."""
    return prod([sizes[k] for k in dims])
