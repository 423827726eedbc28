"""Split dims so that no index map divides.

    loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 768>}  load %x at (d0 * 64 + (d1 floordiv 64) * 256 + d1 mod 64)
    =>
    loop.nest @n0(%x) {space = #loop.space<d0: 4, d1: 12, d2: 64>}  load %x at (d1 * 256 + d0 * 64 + d2)

A division by n of a dim with coefficient c splits the dim at n / c.  What divides for another reason stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.loop.building import Inlining, NestBuilder, has_division
from lect.dialects.loop.ops import IndexOp, LoadOp, NestOp, StoreOp
from lect.ir import Context, Operation
from lect.ir.index_map import exact_quotient, linearize, split_points
from lect.ir.symbolic import Expr, Size, dim
from lect.passes.base import Pass
from lect.passes.loop.forms import FORMS, forms_of
from lect.passes.loop.nests import has_scan, nests_of, put_in_place, rebuild


@dataclass(frozen=True)
class LoopSplitDims(Pass):
    """Make index maps affine by splitting dims."""

    name: ClassVar[str] = "loop-split-dims"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        forms = forms_of(ctx)
        for nest in nests_of(op):
            if not forms.ask(nest, has_division):
                ctx.count("nests that divide", 0)
                continue
            new = forms.make((nest,), "split", nest.sym_name, lambda nest=nest: split(nest))  # type: ignore[misc]
            if new is not None:
                new.attrs = {**nest.attrs, "space": new.space}
                put_in_place(nest, new)
                ctx.count("nests split")
            ctx.count("nests that divide", forms.ask(new or nest, has_division))


def split(nest: NestOp) -> NestOp | None:
    """The nest with its dims split, outside of the graph; None when there is nothing to split."""
    if has_scan(nest) or not has_division(nest):
        return None
    found: dict[int, set[Size]] = {}
    for op in nest.body:
        if type(op) in (LoadOp, StoreOp, IndexOp):
            split_points(op.map.offset, nest.space.sizes, found)
    if not found:
        return None
    sizes: list[Size] = []
    dims: dict[int, Expr] = {}
    for position, size in enumerate(nest.space.sizes):
        factors = factorise(size, found.get(position, set()))
        new = [dim(len(sizes) + k) for k in range(len(factors))]
        dims[position] = linearize(new, tuple(factors))
        sizes += factors
    builder = NestBuilder(SpaceAttr(tuple(sizes)), nest.loc)
    rebuild(nest, builder, Inlining(nest, builder, dims), range(len(nest.results)))
    return builder.finish(nest.sym_name, {name: value for name, value in nest.attrs.items() if name not in ("sym_name", "space")})


def factorise(size: Size, inner: set[Size]) -> list[Size]:
    """Factors of a size so that the product of the last ones is each of `inner` that fits: 768 at {64} gives 12, 64."""
    factors: list[Size] = []
    rest = size
    for point in sorted(inner, key=_rank, reverse=True):
        outer = exact_quotient(rest, point)
        if outer is not None and outer != 1:
            factors.append(outer)
            rest = point
    return [*factors, rest]


def _rank(size: Size) -> tuple[int, int]:
    """Sizes with more symbols in front, then the larger numbers."""
    if type(size) is int:
        return 0, size
    return max((len(atoms), k) for atoms, k in size.terms)  # type: ignore[union-attr]
