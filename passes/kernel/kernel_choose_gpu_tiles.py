"""Decide how each nest is cut for a GPU, and write the decision on the nest.

    loop.nest @n0(%x) {space = <d0: 8192, d1: 1024>} ...  =>  ... {tiles = #kernel.tiles<"rows", Y: d0 by 2 grid, R: d1 by 1024 whole, vector R>}

Neighbouring threads get neighbouring elements: the vector axis is the dim along which the most bytes lie next to each other.  A program is one tile,
of `lanes` elements where the nest has as many, so that each thread moves 16 bytes at a time and has several such accesses under way.  Variants:

* "flat": no reduction.  The vector axis, and where it is short a second one, `Y`, that fills the tile.
* "tiled": no reduction, and two dims compete as in a transposition: a square tile, which Triton turns in shared memory.
* "rows": the folded dim is the vector axis and a row fits a tile: it is taken whole, several short rows a program; nothing is read twice.
* "long rows": a row does not fit; a loop walks it.
* "columns": another dim is the vector axis: a loop walks tiles of rows by neighbouring columns, which are folded behind it.  The columns are few, 128 bytes,
  and the rows many: as much is under way for a program, and few programs, so few partial results, do for all of memory.
* "scan": the scanned dim is whole, or walked by a loop where it does not fit; "ordered": elements are updated in an order; "point": no dims.

A record of tuning decides instead, where there is one for the kernel; it may say the warps of a program too.

Elements that are put at places of which no two are equal need no order: such a nest is "flat".

Does nothing unless the target is a GPU.  A nest that has `tiles` already keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from lect.dialects.kernel.attributes import TileAxis, TilesAttr
from lect.dialects.kernel.fitting import LEAST_WHOLE
from lect.dialects.loop.ops import NestOp, ReduceOp, ScanOp
from lect.ir import Context, Operation
from lect.ir.facts import facts_of
from lect.ir.index_map import coefficient, dims_of
from lect.passes.base import Pass, option
from lect.passes.kernel.kernel_choose_tiles import choose_tiles
from lect.passes.loop.forms import FORMS
from lect.passes.loop.gpu_products import is_tile_product
from lect.passes.loop.nests import narrowest_bytes, near_columns, nests_of, unit_stride_bytes, weights
from lect.passes.loop.product_tiles import cover, tiles_of
from lect.passes.targets import is_gpu
from lect.passes.tuning import records_of

SQUARE = 64
FEWEST = 128
SECTOR = 32  # bytes that memory gives at once
STEP_BYTES, LEAST_STEP_BYTES = 8192, 4096  # of a tile of columns: all that a step reads, and what it reads of one place at least
MOST_LANES, MOST_SUMS = 4096, 8192  # elements of such a tile, and of all that are added up, which lie in registers


@dataclass(frozen=True)
class KernelChooseGpuTiles(Pass):
    """Choose the variant, the axes and the block sizes of every nest for a GPU."""

    name: ClassVar[str] = "kernel-choose-gpu-tiles"
    gpu_only: ClassVar[bool] = True
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    lanes: int = option(2048, "elements of a tile where nothing is folded")
    row: int = option(16384, "longest row that one tile takes whole")
    alike: int = option(8, "nests of one shape that count as one")
    chunk: int = option(4096, "elements of a step along a longer row")
    column: int = option(STEP_BYTES, "bytes that a step along a tile of columns reads")
    grouped: int = option(1024, "elements of a tile where so many nests are alike that they become one launch")

    def run(self, op: Operation, ctx: Context) -> None:
        if not is_gpu(ctx.target):
            return
        records = records_of(ctx)
        for nest in nests_of(op):
            if "tiles" in nest.attrs:
                continue
            if records is not None and records.decide(nest):
                ctx.count("nests cut as a record says")
            else:
                tiles = nest.attrs["tiles"] = Chooser(nest, self, ctx.target).choose()
                ctx.count(f"{tiles.variant} nests")


class Chooser:
    """The decision for one nest."""

    def __init__(self, nest: NestOp, options: KernelChooseGpuTiles, target: Mapping[str, Any]) -> None:
        self.nest = nest
        self.options = options
        self.target = target
        self.sizes = weights(nest)
        self.facts = facts_of(nest)
        self.votes = unit_stride_bytes(nest)
        self.best = max(range(len(self.sizes)), key=lambda k: (self.votes[k], k), default=0)

    def choose(self) -> TilesAttr:
        """The tiles."""
        if not self.sizes:
            return TilesAttr("point", ())
        if self.nest.updates and (self.nest.ordered or any(op.kind != "set" for op in self.nest.updates)):
            return choose_tiles(self.nest, self.target)
        scans = [op for op in self.nest.body if isinstance(op, ScanOp) and self.sizes[op.over] != 1]
        if scans:
            return self._scan(scans)
        if self.nest.products and is_tile_product(self.nest):
            return self._product()
        if self.nest.reduced:
            return self._row() if self.best in self.nest.reduced else self._columns()
        return self._parallel()

    # ---- sizes -------------------------------------------------------------------------------------------------------

    def _fair(self, lanes: int) -> int:
        """Lanes of a tile that leave every processor something to do; nests of one shape may become one launch."""
        parent = self.nest.parent
        alike = sum(isinstance(op, NestOp) and op.space is self.nest.space for op in parent) if parent is not None else 1
        many = alike >= self.options.alike
        lanes = min(lanes, self.options.grouped) if many else lanes
        points = prod(self.sizes) * (alike if many else 1)
        busy = power_below(max(points // (int(self.target["threads"]) or 1), 1))
        return max(min(lanes, busy), min(FEWEST, lanes))

    def _second(self, dim: int, others: Sequence[int], room: int, letter: str = "Y") -> list[TileAxis]:
        """Another axis of the grid that fills a tile with up to `room` times as many elements; the innermost dim that has several indices."""
        for k in sorted(others, reverse=True):
            if k != dim and self.sizes[k] > 1 and room > 1:
                return [TileAxis(letter, k, min(room, cover(self.sizes[k])), "grid")]
        return []

    def _divisor(self, dim: int, most: int) -> int:
        """The greatest power of two, up to `most`, by which the size of a dim can surely be divided."""
        size, found = self.nest.space.sizes[dim], 1
        while found < most and self.facts.divisible(size, found * 2):
            found *= 2
        return found

    def _parallel_dims(self) -> list[int]:
        return [k for k in range(len(self.sizes)) if k not in self.nest.reduced]

    # ---- variants ----------------------------------------------------------------------------------------------------

    def _parallel(self) -> TilesAttr:
        sizes, votes, best = self.sizes, self.votes, self.best
        rivals = [k for k in range(len(sizes)) if k != best and votes[k] * 4 >= votes[best] > 0 and min(sizes[k], sizes[best]) >= SQUARE // 4]
        if rivals:
            rows, columns = sorted((best, max(rivals, key=lambda k: votes[k])))
            tile = [TileAxis(letter, k, min(SQUARE, cover(sizes[k])), "grid") for letter, k in (("Y", rows), ("X", columns))]
            return TilesAttr("tiled", tile, "X")
        lanes = self._fair(self.options.lanes)
        block = fitting(self._divisor(best, lanes), sizes[best], lanes)
        second = self._second(best, range(len(sizes)), lanes // block)
        return TilesAttr("flat", [*second, TileAxis("X", best, block, "grid")], "X")

    def _row(self) -> TilesAttr:
        best, block = self.best, cover(self.sizes[self.best])
        others = self._parallel_dims()
        if type(self.nest.space.sizes[best]) is not int:
            block = max(block, LEAST_WHOLE)
        if block > self.options.row:
            return TilesAttr("long rows", [TileAxis("R", best, self.options.chunk, "loop")], "R")
        rows = self._fair(self.options.lanes // 2) // block
        return TilesAttr("rows", [*self._second(best, others, rows), TileAxis("R", best, block, "whole")], "R")

    def _columns(self) -> TilesAttr:
        best = self.best
        folded = max(self.nest.reduced, key=lambda k: (self.sizes[k], k))
        columns = min(cover(self.sizes[best]), near_columns(self.nest))
        others = prod([self.sizes[k] for k in self._parallel_dims() if k != best])
        while columns * narrowest_bytes(self.nest) > SECTOR and others * -(-self.sizes[best] // columns) < int(self.target["processors"]):
            columns //= 2  # a short tile for each processor takes fewer steps than a wide one for a few of them
        read = sum([load.buffer.type.element.bytes for load in self.nest.loads if {best, folded} <= dims_of(load.map.offset)]) or narrowest_bytes(self.nest)
        rows = max(self.options.column // (columns * read), LEAST_STEP_BYTES // (columns * narrowest_bytes(self.nest)), 1)
        most = min(MOST_LANES, MOST_SUMS // max(sum(isinstance(op, ReduceOp) for op in self.nest.body), 1))
        rows = power_below(min(cover(self.sizes[folded]), rows, max(most // columns, 1)))
        return TilesAttr("columns", [TileAxis("R", folded, rows, "loop"), TileAxis("X", best, columns, "grid")], "X", True)

    def _product(self) -> TilesAttr:
        """Squares of the result, or less where these would be too few."""
        inner = max(self.nest.reduced, key=lambda k: (self.sizes[k], k))
        parallel = [k for k in self._parallel_dims() if self.sizes[k] > 1]
        columns = max(parallel, key=lambda k: (self._stored_with(k) == 1, k))
        rows = max([k for k in parallel if k != columns], key=lambda k: (self.sizes[k], k))
        others = prod([self.sizes[k] for k in parallel if k not in (rows, columns)])
        size = narrowest_bytes(self.nest)
        down, across, depth = tiles_of(others, self.sizes[rows], self.sizes[columns], self.sizes[inner], int(self.target["processors"]), size)
        return TilesAttr("tile product", [TileAxis("Y", rows, down, "grid"), TileAxis("X", columns, across, "grid"), TileAxis("R", inner, depth, "loop")], "X")

    def _stored_with(self, dim: int) -> Any:
        """How far apart neighbours along a dim are stored."""
        return coefficient(self.nest.stores[0].map.offset, dim)

    def _scan(self, scans: Sequence[ScanOp]) -> TilesAttr:
        over = scans[0].over
        if any(op.over != over or op.kind == "logaddexp" for op in scans) or self.nest.reduced not in ((), (over,)):
            return TilesAttr("scan", self._second(over, [k for k in range(len(self.sizes)) if k != over], 32, "X"))
        block = cover(self.sizes[over])
        if type(self.nest.space.sizes[over]) is not int:
            block = max(block, LEAST_WHOLE)
        others = [k for k in range(len(self.sizes)) if k != over]
        if block > self.options.chunk:
            return TilesAttr("scan", [TileAxis("R", over, self.options.chunk // 4, "loop")], "R")
        near = [self.best] if self.best != over else others
        second = self._second(over, near, max(self.options.chunk // block // 2, 1))
        return TilesAttr("scan", [*second, TileAxis("R", over, block, "whole")], "R")


def power_below(size: int) -> int:
    """The greatest power of two that is not greater than a size."""
    return 1 << max(size.bit_length() - 1, 0)


def fitting(divisor: int, size: int, lanes: int) -> int:
    """A block for a dim: one that divides it if that wastes no more than half of the lanes, else all lanes that the dim can use.

    `divisor` is the greatest power of two by which the size can be divided.
    """
    block = min(cover(size), lanes)
    return min(divisor, block) if min(divisor, block) * 4 >= block and min(divisor, block) >= 64 else block
