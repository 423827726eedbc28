"""Decide how each nest is cut into programs, tiles and loops, and write the decision on the nest.

    loop.nest @n0(%x) {space = <d0: 2048, d1: 1024>} ...  =>  ... {tiles = #kernel.tiles<"row", R: d1 by 32 loop, vector R>}

The vector axis is the dim along which the most bytes lie next to each other.  Variants: "row" (the reduced dim is such), "column" (a reduction,
but another dim is), "ordered" (elements are updated in an order, neighbours in memory at once), "product" (a sum of
products: rows of one factor by lanes of the other), "tiled" (no reduction, and two dims compete, as in a transposition: blocks are turned in
registers), "flat" (no reduction), "point" (no dims).  The number of lanes comes from the target
("vector_bytes", "registers") and from how much the nest computes.
A record of tuning decides instead, where there is one for the kernel.  A nest that has `tiles` already keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.kernel.attributes import TileAxis, TilesAttr
from lect.dialects.loop.ops import LoadOp, NestOp, ReduceIndexOp, ReduceOp, ScanOp, StoreOp, UpdateOp, variance
from lect.dialects.scalars import HEAVY
from lect.ir import Context, Operation
from lect.ir.index_map import coefficient
from lect.passes.base import Pass
from lect.passes.loop.forms import FORMS, Form, forms_of
from lect.passes.loop.nests import nests_of, unit_stride_bytes, weights
from lect.passes.tuning import records_of

RANDOM = frozenset({"loop.philox32", "loop.philox64"})
VECTOR_BYTES = 32
REGISTERS = 16
SHORT_GRID = 64
LONG_ROW = 2048
ROWS = 4
FEWEST_APART = 4  # rows that do not lie side by side are worth taking at once
L1_BYTES = 32768
PAGE = 4096  # bytes between lines of one set of a first cache, so that its size tells the lines of a set: addresses within a page choose the set


@dataclass(frozen=True)
class KernelChooseTiles(Pass):
    """Choose the variant, the vector axis and the block sizes of every nest that has none."""

    name: ClassVar[str] = "kernel-choose-tiles"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        forms, found, records = forms_of(ctx), dict[Form, TilesAttr](), records_of(ctx)
        for nest in nests_of(op):
            if "tiles" in nest.attrs:
                continue
            if records is not None and records.decide(nest):
                ctx.count("nests cut as a record says")
            else:
                form = forms.form(nest)
                if form not in found:
                    found[form] = choose_tiles(nest, ctx.target)
                tiles = nest.attrs["tiles"] = found[form]
                ctx.count(f"{tiles.variant} nests")


def choose_tiles(nest: NestOp, target: Mapping[str, Any]) -> TilesAttr:
    """The decision for one nest; sizes that are known only at run time are weighed as they were in the captured call."""
    sizes = weights(nest)
    scanned = {op.over for op in nest.body if isinstance(op, ScanOp)}
    lanes = _lanes(nest, target)
    votes = unit_stride_bytes(nest)
    dims = range(len(sizes))
    if not sizes:
        return TilesAttr("point", ())
    if nest.products:
        tiles = product_tiles(nest, target)
        if tiles is not None:
            return tiles
    if nest.updates:
        return _ordered(nest, votes, lanes)
    best = max(dims, key=lambda k: (votes[k], k))
    reduced = nest.reduced
    if any(isinstance(op, ScanOp) and (op.kind == "prod" or (op.kind not in ("max", "min") and op.value.type.is_float)) for op in nest.body):
        return _totals(sizes, votes, scanned, lanes, _rows_apart(nest, target))
    if scanned:
        if best not in scanned and votes[best]:
            return TilesAttr("scan", [TileAxis("X", best, _block(sizes[best], lanes), "grid")], "X")
        return TilesAttr("scan", [TileAxis("R", min(scanned), _block(sizes[min(scanned)], lanes), "loop")], "R")
    if reduced and best in reduced:
        return TilesAttr("row", [TileAxis("R", best, _block(sizes[best], lanes), "loop")], "R")
    if reduced:
        rows = TileAxis("R", reduced[-1], min(ROWS, _block(sizes[reduced[-1]], ROWS)), "loop")
        return TilesAttr("column", [rows, TileAxis("X", best, _block(sizes[best], _column_lanes(nest, lanes)), "grid")], "X")
    return _parallel(sizes, votes, best, lanes, _native_lanes(nest, target))


def product_tiles(nest: NestOp, target: Mapping[str, Any]) -> TilesAttr | None:
    """Tiles of a matrix product or a convolution: rows of one factor by lanes of the other, so that every element that is loaded enters many sums.

    The accumulators fill half of the registers: two vectors, or one of a short dim, for each row.  None when no factor lies along a dim of the result.
    """
    sizes, varying = weights(nest), variance(nest)
    folded = sum(1 << k for k in nest.reduced)
    best: tuple[int, int, int] | None = None
    for product in nest.products:
        first, second = product.value.op.operands  # type: ignore[union-attr]
        for along, across in ((first, second), (second, first)):
            load = along.op
            if not isinstance(load, LoadOp):
                continue
            alone, others = varying[along] & ~varying[across] & ~folded, varying[across] & ~varying[along] & ~folded
            for k, size in enumerate(sizes):
                if alone >> k & 1 and size > 1 and coefficient(load.map.offset, k) == 1:
                    best = max(best or (0, 0, 0), (size, k, others))
    if best is None:
        return None
    size, lane_dim, others = best
    native = _native_lanes(nest, target)
    lanes = min(2 * native, _block(size, 2 * native))
    registers = int(target.get("registers", REGISTERS)) // 2 // max(lanes // native, 1)
    rows = max((k for k in range(len(sizes)) if others >> k & 1), key=lambda k: (sizes[k], k), default=None)
    lane_axis = TileAxis("X", lane_dim, lanes, "grid")
    if rows is None or sizes[rows] < 2:
        return TilesAttr("product", [lane_axis], "X")
    block = 1 << (min(registers, sizes[rows]).bit_length() - 1)
    return TilesAttr("product", [lane_axis, TileAxis("Y", rows, block, "grid")], "X")


def _totals(sizes: Sequence[int], votes: Sequence[int], scanned: Set[int], lanes: int, apart: int) -> TilesAttr:
    """Tiles of a nest with running totals of floats, which are taken in order, or products of integers, which few processors have vectors of.

    They are taken of several rows at once, as each step waits for the one before it.  Rows that are neighbours in memory fill a block; of others up to two
    registers are filled element by element, which costs less than the waiting.  They are at most as many (`apart`) as a set of the first cache has lines:
    rows of a power of two of bytes lie in one set, which they would drive each other out of.
    """
    near = [k for k in range(len(sizes)) if k not in scanned and votes[k]]
    if near:
        best = max(near, key=lambda k: (votes[k], k))
        return TilesAttr("scan", [TileAxis("X", best, _block(sizes[best], lanes), "grid")], "X")
    others = [k for k in range(len(sizes)) if k not in scanned and sizes[k] >= FEWEST_APART]
    if not others:
        return TilesAttr("scan", ())
    best = max(others, key=lambda k: (sizes[k], k))
    return TilesAttr("scan", [TileAxis("X", best, 1 << (min(apart, sizes[best]).bit_length() - 1), "grid")], "X")


def _ordered(nest: NestOp, votes: Sequence[int], lanes: int) -> TilesAttr:
    """Tiles of a nest that updates elements: a dim of which the updates go to neighbours, if there is one, inside of the dims that have an order."""
    sizes, ordered = weights(nest), set(nest.ordered)
    near = [k for k in range(len(sizes)) if k not in ordered and all(coefficient(op.map.offset, k) == 1 for op in nest.updates)]
    if not near:
        return TilesAttr("ordered", ())
    best = max(near, key=lambda k: (votes[k], k))
    return TilesAttr("ordered", [TileAxis("X", best, _block(sizes[best], lanes), "loop")], "X")


def _parallel(sizes: Sequence[int], votes: Sequence[int], best: int, lanes: int, native: int) -> TilesAttr:
    """Tiles of a nest without reduction."""
    rivals = [k for k in range(len(sizes)) if k != best and votes[k] * 4 >= votes[best] > 0 and sizes[k] >= native and sizes[best] >= native]
    if rivals:
        rival = max(rivals, key=lambda k: votes[k])
        rows, columns = sorted((best, rival))
        return TilesAttr("tiled", [TileAxis("Y", rows, native, "grid"), TileAxis("X", columns, native, "grid")], "X")
    outer = 1
    for k, size in enumerate(sizes):
        outer *= size if k != best else 1
    alone = len(sizes) == 1 or outer < SHORT_GRID or sizes[best] > LONG_ROW
    return TilesAttr("flat", [TileAxis("X", best, _block(sizes[best], lanes), "grid" if alone else "loop")], "X")


def _block(size: int, lanes: int) -> int:
    """The lanes of an axis: no more than the power of two that covers it."""
    return min(lanes, 1 << max(size - 1, 0).bit_length())


def _native_lanes(nest: NestOp, target: Mapping[str, Any]) -> int:
    """Lanes of one vector register for the widest type that is computed with."""
    words = any(op.name in RANDOM for op in nest.body)  # one block of them, made in i64, serves several lanes
    widest, varying = 4, variance(nest)
    for op in nest.body:
        for value in op.operands[:1] if isinstance(op, (StoreOp, UpdateOp)) else op.results:
            if not varying[value] and not isinstance(op, (StoreOp, UpdateOp, ReduceOp, ReduceIndexOp)):
                continue  # one number for the whole nest, such as a size, is in no vector
            if value.type.kind == "float" or value.type.kind in ("signed", "unsigned") and (not words or isinstance(op, StoreOp)):
                widest = max(widest, value.type.bytes)
    return int(target.get("vector_bytes", VECTOR_BYTES)) // widest


def _lanes(nest: NestOp, target: Mapping[str, Any]) -> int:
    """Lanes of one step: two registers where much is computed on each element, else four."""
    heavy = any(op.name.partition(".")[2] in HEAVY for op in nest.body) or any(isinstance(op, ReduceIndexOp) for op in nest.body)
    return _native_lanes(nest, target) * (2 if heavy else 4)


def _rows_apart(nest: NestOp, target: Mapping[str, Any]) -> int:
    """How many rows that are not neighbours are walked at once: two registers of them, but no more than a set of the first cache has lines."""
    return max(min(2 * _native_lanes(nest, target), int(target.get("l1_bytes", L1_BYTES)) // PAGE), 1)


def _column_lanes(nest: NestOp, lanes: int) -> int:
    """A plain column sum reads whole cache lines of many rows; accumulators live in the first cache."""
    heavy = any(op.name.partition(".")[2] in HEAVY for op in nest.body)
    return lanes if heavy else lanes * 2
