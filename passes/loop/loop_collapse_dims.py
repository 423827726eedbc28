"""Walk neighbouring dims of a nest as one where every map steps through them as through one.

    space = <d0: 8, d1: 1024, d2: 768>            space = <d0: 8192, d1: 768>
    load (d0 * 786432 + d1 * 768 + d2)      =>    load (d0 * 768 + d1)
    load (d2)                                     load (d1)

Two dims merge when both are folded by the reductions or neither is, no scan walks one of them, and the stride of the outer is the stride of the
inner times its size, in every map.  Dims of size 1 go.  Runs right before the tiles are chosen: nests with different views of one space can
still be fused before, and not after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.loop.ops import IndexOp, LoadOp, NestOp, ReduceIndexOp, ReduceOp, ScanOp, StoreOp, UpdateOp
from lect.ir import Context, Operation
from lect.ir.index_map import IndexMap, coefficient, substitute
from lect.ir.symbolic import ZERO, Expr, Ranges, dim
from lect.ir.types import index
from lect.passes.base import Pass


@dataclass(frozen=True)
class LoopCollapseDims(Pass):
    """Merge neighbouring dims that every map of a nest walks as one, and drop dims of size 1."""

    name: ClassVar[str] = "loop-collapse-dims"

    def run(self, op: Operation, ctx: Context) -> None:
        for nest in [inner for inner in op.walk() if isinstance(inner, NestOp)]:
            before = len(nest.space.sizes)
            collapse(nest)
            ctx.count("dims merged or dropped", before - len(nest.space.sizes))


def collapse(nest: NestOp) -> None:
    """Rewrite the nest over the fewest dims."""
    sizes = nest.space.sizes
    if not all(type(size) is int for size in sizes) or 0 in sizes:
        return
    groups = dim_groups(nest)
    if all(len(group) == 1 for group in groups) and len(groups) == len(sizes):
        return
    new_sizes = tuple([_product([sizes[k] for k in group]) for group in groups])
    replacements: list[Expr] = [ZERO] * len(sizes)
    ranges = Ranges(new_sizes)
    for position, group in enumerate(groups):
        rest = dim(position) if new_sizes[position] > 1 else ZERO
        for k in reversed(group):
            replacements[k] = ranges.mod(rest, sizes[k]) if k != group[0] else rest
            rest = ranges.floordiv(rest, sizes[k])
    _rewrite(nest, new_sizes, replacements, {k: position for position, group in enumerate(groups) for k in group})


def _product(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def dim_groups(nest: NestOp) -> list[list[int]]:
    """The dims that become one, group by group."""
    sizes = nest.space.sizes
    reduced = set(nest.reduced)
    scanned = {op.over for op in nest.body if isinstance(op, ScanOp)} | set(nest.ordered)
    offsets = [op.map.offset for op in nest.body if isinstance(op, (LoadOp, StoreOp, UpdateOp, IndexOp))]
    keep = [k for k, size in enumerate(sizes) if size > 1 or k in scanned]
    if reduced and not reduced & set(keep):
        keep = sorted({*keep, min(reduced)})
    groups: list[list[int]] = []
    for k in keep:
        outer = groups[-1][-1] if groups else None
        alike = outer is not None and (outer in reduced) == (k in reduced) and not scanned & {outer, k}
        if alike and all(_walked_as_one(offset, outer, k, sizes[k]) for offset in offsets):  # type: ignore[arg-type]
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


def _walked_as_one(offset: Expr, outer: int, inner: int, size: int) -> bool:
    step, fine = coefficient(offset, outer), coefficient(offset, inner)
    return step is not None and fine is not None and step == fine * size


def _rewrite(nest: NestOp, sizes: tuple[int, ...], replacements: list[Expr], position: dict[int, int]) -> None:
    for op in nest.body:
        if isinstance(op, (LoadOp, StoreOp, UpdateOp, IndexOp)):
            offset = substitute(op.map.offset, replacements, Ranges(sizes))
            op.map = IndexMap(len(sizes), (offset,), op.map.num_indices)
        if isinstance(op, UpdateOp):
            op.order = tuple([position[k] for k in op.order])
        elif isinstance(op, (ReduceOp, ReduceIndexOp)):
            op.over = tuple(sorted({position[k] for k in op.over if k in position}))
        elif isinstance(op, ScanOp):
            op.over = position[op.over]
    args = nest.body.args
    while len(args) > len(sizes):
        nest.body.erase_arg(len(args) - 1)
    while len(args) < len(sizes):
        nest.body.add_arg(index, f"d{len(args)}")
    nest.space = SpaceAttr(sizes)
