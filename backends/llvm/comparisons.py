"""Comparisons of an index that grows along the lanes with one number, such as the borders inside of a concatenation and causal masks.

The number of the first lane is taken off the other side, and what is left is compared with the numbers of the lanes, which are small: in i32, where
the indices themselves take i64 whenever sizes are known only at run time.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from lect.backends.llvm.addresses import Index
from lect.backends.llvm.values import IndexTile, Tile, vector
from lect.backends.llvm.writer import Writer
from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Operation, Value
from lect.ir.types import i1, i64, index

if TYPE_CHECKING:
    from lect.backends.llvm.emit import FunctionEmitter

TURNED = MappingProxyType({"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"})  # the same with its operands exchanged
LONGEST = 1 << 15  # lanes


def compared_lanes(emitter: FunctionEmitter, op: Operation) -> Tile | None:
    """The mask of a comparison of neighbouring indices with a number that is the same in all lanes; None for any other operation."""
    name = op.name.partition(".")[2]
    if name not in TURNED or element_of(op.operands[0].type) not in (i64, index):
        return None
    left, right = [_side(emitter, value) for value in op.operands]
    for predicate, lanes, other in ((name, left, right), (TURNED[name], right, left)):
        if isinstance(lanes, IndexTile) and lanes.lane_step == 1 and 1 < lanes.width < LONGEST and _same_in_all_lanes(other):
            return _mask(emitter.writer, predicate, lanes, other)
    return None


def _side(emitter: FunctionEmitter, value: Value) -> Index:
    """An operand, as an index where it is one that was only cast to i64."""
    op = value.op
    if isinstance(op, kernel.CastOp) and element_of(op.result.type) is i64 and isinstance(emitter.tiles[op.value], IndexTile):
        return emitter.tiles[op.value]  # type: ignore[no-any-return]
    return emitter.tiles[value]  # type: ignore[no-any-return]


def _same_in_all_lanes(side: Index) -> bool:
    return side.lane_step == 0 if isinstance(side, IndexTile) else side.width == 0


def _mask(writer: Writer, name: str, lanes: IndexTile, other: Index) -> Tile:
    """Lane numbers beside what is left of the other side, of which -1 and the number of lanes say as much as anything beyond them."""
    numbers, width = writer.as_tile(other), lanes.width
    count = max(lanes.rows if lanes.row_step else 1, len(numbers.rows), 1)
    predicate = name if name in ("eq", "ne") else "s" + name
    rows = []
    for row in range(count):
        base = writer.add_step(lanes.base, row, lanes.row_step)
        left = writer.intrinsic("ssub.sat", index, 0, numbers.row(row), base)  # other numbers are data and may lie at the end of i64
        left = writer.intrinsic("smin", index, 0, writer.intrinsic("smax", index, 0, left, "-1"), str(width))
        narrow = writer.splat(writer.emit(f"trunc i64 {left} to i32"), "i32", width)
        rows.append(writer.emit(f"icmp {predicate} <{width} x i32> {vector('i32', range(width))}, {narrow}"))
    return Tile(rows, width, i1)
