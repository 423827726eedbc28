"""Decide how many warps run a program on a GPU, from the elements of its tiles.

    kernel.func @n0(..) {blocks = #kernel.blocks<R = 8192>, target = "cuda"}  =>  ... {.., target = "cuda", warps = 16}

A thread gets about `each` elements, so that it moves several times 16 bytes; a tile of at least 1024 elements has four warps or more, and none has more than
`most`.  A row of 1024 halves that is folded has one, which need not wait for others.  A product of tiles has 4 or 8, and reads `stages` steps ahead, one of
small tiles twice as many.  A loop of at least `steps` steps over tiles of columns reads `stages` steps ahead, as few programs go through much memory; what is
under way lies in shared memory, so that one which reads from many places has fewer steps or none.  A kernel that has `warps` or `stages` already, because a
record of tuning said so, keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.fitting import EACH, MOST_WARPS, warps_for
from lect.dialects.kernel.types import axes_of, element_of
from lect.ir import Context, Operation
from lect.passes.base import Pass, option
from lect.passes.loop.product_tiles import SMALL

COLUMN_WARPS = 4  # of a program that walks columns: more fold longer behind the loop
WARP, MOST_SUMS = 32, 64  # threads, and numbers that one of them adds up


def walked_columns(func: kernel.FuncOp) -> kernel.ForOp | None:
    """The one loop of a kernel, if it walks tiles of columns."""
    loops = [inner for inner in func.body if isinstance(inner, kernel.ForOp)]
    if len(loops) != 1 or func.vector is None or loops[0].axis == func.vector or func.blocks.size(func.vector) == 1:
        return None
    return loops[0]


ROW_WARPS, ROW = 1, 1024  # of a program that folds a row of so many halves: several would wait for each other


def is_row_of_halves(func: kernel.FuncOp, lanes: int) -> bool:
    """Whether a program of a kernel folds one row, taken whole, of which it reads halves alone."""
    rows = [axis.name for axis in func.axes.axes if axis.role == "whole" and type(axis.extent) is int]
    if lanes != ROW or len(rows) != 1 or func.blocks.size(rows[0]) != ROW or not any(isinstance(inner, kernel.ReduceOp) for inner in func.body):
        return False
    tiles = [inner for inner in func.walk() if isinstance(inner, kernel.LoadOp) and rows[0] in axes_of(inner.result.type)]
    return bool(tiles) and all(element_of(inner.result.type).is_half for inner in tiles)


@dataclass(frozen=True)
class KernelChooseWarps(Pass):
    """Choose the number of warps of every kernel for a GPU."""

    name: ClassVar[str] = "kernel-choose-warps"
    gpu_only: ClassVar[bool] = True
    each: int = option(EACH, "elements of a thread")
    most: int = option(MOST_WARPS, "warps of a program")
    stages: int = option(3, "steps that a product of matrices, or a loop over columns, reads ahead")
    steps: int = option(4, "least steps of a loop over columns that reads ahead")
    ahead_bytes: int = option(73728, "shared memory of a program for what a loop over columns reads ahead")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp)]:
            if func.target != "cuda":
                continue
            if func.stages is None and any(isinstance(inner, kernel.DotOp) for inner in func.walk()):
                func.attrs["stages"] = self.for_steps(func)
            elif func.stages is None and (stages := self._stages_of_columns(func)) > 1:
                func.attrs["stages"] = stages
                ctx.count("kernels that read columns ahead")
            if func.warps is None:
                func.attrs["warps"] = self._warps(func)
                ctx.count(f"kernels of {func.warps} warps")

    def _stages_of_columns(self, func: kernel.FuncOp) -> int:
        """How many steps a loop over tiles of columns reads ahead; 1 for other kernels."""
        blocks, extents = dict(func.blocks.sizes), {axis.name: axis.extent for axis in func.axes.axes}
        loop = walked_columns(func)
        if loop is None:
            return 1
        extent, block = extents[loop.axis], blocks[loop.axis]
        loads = [inner for inner in loop.body if isinstance(inner, kernel.LoadOp) and {loop.axis, func.vector} <= axes_of(inner.result.type)]
        nested = any(isinstance(inner, kernel.ForOp) for inner in loop.body)
        if nested or not loads or (type(extent) is int and extent < self.steps * block):
            return 1
        lanes = prod([blocks[axis] for axis in axes_of(loads[0].result.type)])
        return min(self.stages, self.ahead_bytes // (lanes * sum([element_of(load.result.type).bytes for load in loads])))

    def _warps(self, func: kernel.FuncOp) -> int:
        lanes = 1
        folded = {inner.axis for inner in func.walk() if isinstance(inner, kernel.DotOp)}
        for name, size in func.blocks.sizes:
            lanes *= 1 if name in folded else size
        if folded:
            return self.for_product(lanes)
        if walked_columns(func) is None:
            return ROW_WARPS if is_row_of_halves(func, lanes) else self.for_lanes(lanes)
        sums = sum(isinstance(inner, kernel.ReduceOp) for inner in func.body)
        needed = 1 << (-(-lanes * sums // (WARP * MOST_SUMS)) - 1).bit_length() if sums else 1
        return min(max(self.for_lanes(lanes), needed), COLUMN_WARPS)

    def for_steps(self, func: kernel.FuncOp) -> int:
        """Steps that a product reads ahead."""
        folded = {inner.axis for inner in func.walk() if isinstance(inner, kernel.DotOp)}
        lanes = prod([size for name, size in func.blocks.sizes if name not in folded])
        return self.ahead(lanes)

    def ahead(self, lanes: int) -> int:
        """Steps read ahead for so many elements of a result: twice as many where they are few, as a processor then waits for them."""
        return 2 * self.stages if lanes <= SMALL else self.stages

    def for_product(self, lanes: int) -> int:
        """Warps for so many elements of a result."""
        return 8 if lanes >= 1 << 14 else 4

    def for_lanes(self, lanes: int) -> int:
        """Warps for so many elements of a tile."""
        return warps_for(lanes, self.each, self.most)
