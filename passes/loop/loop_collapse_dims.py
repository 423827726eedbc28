"""Walk neighbouring dims of a nest as one where every map steps through them as through one.

    space = <d0: 8, d1: 1024, d2: 768>            space = <d0: 8192, d1: 768>
    load (d0 * 786432 + d1 * 768 + d2)      =>    load (d0 * 768 + d1)
    load (d2)                                     load (d1)

Two dims merge when both are folded by the reductions or neither is, no scan walks one of them, and the stride of the outer is the stride of the
inner times its size, in every map.  Dims of size 1 go.  Runs right before the tiles are chosen: nests with different views of one space can
still be fused before, and not after.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.loop.ops import IndexOp, LoadOp, NestOp, ReduceIndexOp, ReduceOp, ScanOp, StoreOp, UpdateOp
from lect.ir import Context, Operation
from lect.ir.index_map import IndexMap, coefficient, substitute
from lect.ir.symbolic import ZERO, Expr, Ranges, Size, as_size, dim, product
from lect.ir.types import index
from lect.passes.base import Pass
from lect.passes.loop.forms import FORMS, forms_of
from lect.passes.loop.nests import nests_of


@dataclass(frozen=True)
class LoopCollapseDims(Pass):
    """Merge neighbouring dims that every map of a nest walks as one, and drop dims of size 1."""

    name: ClassVar[str] = "loop-collapse-dims"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        forms = forms_of(ctx)
        for nest in nests_of(op):
            found = forms.ask(nest, collapsed)
            if found is not None:
                ctx.count("dims merged or dropped", len(nest.space.sizes) - len(found.sizes))
                forms.change(nest, "collapsed", partial(rewrite, nest, found))


class Collapsed(NamedTuple):
    """A nest over fewer dims: their sizes, and for each operation of its block the attributes that change."""

    sizes: tuple[Size, ...]
    attributes: list[dict[str, Any]]


def collapsed(nest: NestOp) -> Collapsed | None:
    """The nest over the fewest dims; None when it has no more."""
    sizes = nest.space.sizes
    if 0 in sizes:
        return None
    groups = dim_groups(nest)
    if all(len(group) == 1 for group in groups) and len(groups) == len(sizes):
        return None
    new_sizes = tuple([product([sizes[k] for k in group]) for group in groups])
    replacements: list[Expr] = [ZERO] * len(sizes)
    ranges = Ranges(new_sizes)
    for position, group in enumerate(groups):
        rest = dim(position) if new_sizes[position] != 1 else ZERO
        for k in reversed(group):
            replacements[k] = ranges.mod(rest, sizes[k]) if k != group[0] else rest
            rest = ranges.floordiv(rest, sizes[k])
    place = {k: position for position, group in enumerate(groups) for k in group}
    return Collapsed(new_sizes, [_changes(op, new_sizes, replacements, place) for op in nest.body])


def dim_groups(nest: NestOp) -> list[list[int]]:
    """The dims that become one, group by group."""
    sizes = nest.space.sizes
    reduced = set(nest.reduced)
    scanned = {op.over for op in nest.body if isinstance(op, ScanOp)} | set(nest.ordered)
    offsets = [op.map.offset for op in nest.body if isinstance(op, (LoadOp, StoreOp, UpdateOp, IndexOp))]
    keep = [k for k, size in enumerate(sizes) if size not in (0, 1) or k in scanned]
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


def _walked_as_one(offset: Expr, outer: int, inner: int, size: Size) -> bool:
    step, fine = coefficient(offset, outer), coefficient(offset, inner)
    return step is not None and fine is not None and step == as_size(fine * size)


def _changes(op: Any, sizes: tuple[Size, ...], replacements: list[Expr], position: dict[int, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(op, (LoadOp, StoreOp, UpdateOp, IndexOp)):
        offset = substitute(op.map.offset, replacements, Ranges(sizes))
        found["map"] = IndexMap(len(sizes), (offset,), op.map.num_indices)
    if isinstance(op, UpdateOp):
        found["order"] = tuple([position[k] for k in op.order])
    elif isinstance(op, (ReduceOp, ReduceIndexOp)):
        found["over"] = tuple(sorted({position[k] for k in op.over if k in position}))
    elif isinstance(op, ScanOp):
        found["over"] = position[op.over]
    return found


def rewrite(nest: NestOp, found: Collapsed) -> NestOp:
    """Put a nest over fewer dims."""
    sizes = found.sizes
    for op, changes in zip(nest.body, found.attributes):
        op.attrs.update(changes)
    args = nest.body.args
    while len(args) > len(sizes):
        nest.body.erase_arg(len(args) - 1)
    while len(args) < len(sizes):
        nest.body.add_arg(index, f"d{len(args)}")
    nest.space = SpaceAttr(sizes)
    return nest
