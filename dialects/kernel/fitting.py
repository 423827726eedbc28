"""Kernels whose rows are taken whole, for the sizes of one launch: blocks that cover the rows, and the grid and the warps for them.

    kernel.func @n0(.., %s0) {grid = [s1], axes = <R: s0 whole>, blocks = <R = 1024>, warps = 4}     rows of up to 1024
    ..                       {grid = [s1], axes = <R: s0 whole>, blocks = <R = 4096>, warps = 8}     the same kernel for rows of 3000

A tile is one value, so its size is a number of the program text.  A version for each power of two does for all sizes, and `MOST_WHOLE` limits them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lect.dialects.kernel.attributes import BlocksAttr
from lect.dialects.kernel.ops import FuncOp, LanesOp, ProgramIdOp
from lect.ir.facts import value_of
from lect.ir.symbolic import Size, as_size

MOST_WHOLE = 16384  # indices of an axis whose extent is known only at run time that one tile takes whole
LEAST_WHOLE = 32
EACH = 16  # elements of a thread
MOST_WARPS = 16


def warps_for(lanes: int, each: int = EACH, most: int = MOST_WARPS) -> int:
    """Warps of a program whose tiles have so many lanes: a thread gets about `each`; from 1024 lanes on there are four warps or more."""
    return min(max(lanes // (32 * each), 4 if lanes >= 1024 else lanes // 256, 1), most)


def covering(size: int) -> int:
    """The block of a whole axis of so many indices."""
    return max(1 << max(size - 1, 0).bit_length(), LEAST_WHOLE)


def open_axes(func: FuncOp) -> list[str]:
    """The axes that are taken whole and whose extent is known only at run time."""
    return [axis.name for axis in func.axes.axes if axis.role == "whole" and type(axis.extent) is not int]


def is_longer(func: FuncOp, values: Sequence[int]) -> bool:
    """Whether some row is longer than a tile takes, for values of the sizes."""
    table = dict(enumerate(values))
    return any(value_of(axis.extent, table) > MOST_WHOLE for axis in func.axes.axes if axis.role == "whole")


def blocks_for(func: FuncOp, values: Sequence[int]) -> Mapping[str, int]:
    """The blocks of a version for values of the sizes: rows are covered, and where they grow a program takes fewer of them."""
    blocks, table = dict(func.blocks.sizes), dict(enumerate(values))
    grown = 1
    for name in open_axes(func):
        axis = func.axes.find(name)
        assert axis is not None
        block = covering(value_of(axis.extent, table))
        grown = max(grown * block // blocks[name], 1)
        blocks[name] = block
    for axis in func.axes.axes:
        if axis.role == "grid" and grown > 1:
            left = max(blocks[axis.name] // grown, 1)
            grown = max(grown * left // blocks[axis.name], 1)
            blocks[axis.name] = left
    return blocks


def with_blocks(func: FuncOp, blocks: Mapping[str, int]) -> FuncOp:
    """The kernel with other blocks, and the grid and the warps that go with them; itself where they are its own.  The copy is inserted nowhere."""
    if blocks == dict(func.blocks.sizes):
        return func
    made = func.clone({})
    assert isinstance(made, FuncOp)
    grid = list(func.grid)
    for op in func.walk():
        if isinstance(op, LanesOp) and op.base is not None and isinstance(op.base.op, ProgramIdOp) and blocks[op.axis] != func.blocks.size(op.axis):
            axis = func.axes.find(op.axis)
            assert axis is not None
            grid[op.base.op.dim] = _count(axis.extent, blocks[op.axis])
    lanes = 1
    for size in blocks.values():
        lanes *= size
    made.attrs.update(grid=tuple(grid), blocks=BlocksAttr(tuple(blocks.items())), warps=warps_for(lanes))
    return made


def _count(extent: Size, block: int) -> Size:
    return as_size((extent + (block - 1)) // block)
