"""Words of the random generator, a block for all the lanes that it serves.

A block of Philox has four words.  Where the lanes of a vector number consecutive words and the first lane begins a block, each block is computed once and
its words are dealt out; elsewhere every lane computes the block it takes its word from.
"""

from __future__ import annotations

from math import gcd
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lect.backends.llvm.arithmetic import scalar_operation
from lect.backends.llvm.values import IndexTile, Tile, vector
from lect.dialects.kernel import ops as kernel
from lect.ir import Operation, Value
from lect.ir.types import i64

if TYPE_CHECKING:
    from lect.backends.llvm.emit import FunctionEmitter

WORDS = MappingProxyType({"kernel.philox32": 4, "kernel.philox64": 2})  # how many lanes one block serves


def random_words(emitter: FunctionEmitter, op: Operation) -> None:
    """Write `kernel.philox32` or `kernel.philox64`."""
    each = WORDS[op.name]
    operands = [emitter.tile(value) for value in op.operands[:2]]
    number = _index_behind(op.operands[2])
    place = emitter.tiles[number.result] if number is not None else None
    varying = any(tile.width or len(tile.rows) > 1 for tile in operands)
    if number is None or not isinstance(place, IndexTile) or varying or not _begins_block(emitter, number, place, each):
        emitter.tiles[op.results[0]] = scalar_operation(emitter.writer, op, [*operands, emitter.tile(op.operands[2])])
        return
    key, stream = [tile.rows[0] for tile in operands]
    rows = [_row(emitter, place, row, key, stream, each) for row in range(max(place.rows, 1) if place.row_step else 1)]
    emitter.tiles[op.results[0]] = Tile(rows, place.width, i64)


def _row(emitter: FunctionEmitter, place: IndexTile, row: int, key: str, stream: str, each: int) -> str:
    """The words of one row of lanes, from `width / each` blocks."""
    writer, width = emitter.writer, place.width
    blocks = width // each
    first = writer.emit(f"lshr i64 {writer.add_step(place.base, row, place.row_step)}, {each.bit_length() - 1}")
    type = f"<{blocks} x i64>"
    numbers = writer.emit(f"add {type} {writer.splat(first, 'i64', blocks)}, {vector('i64', range(blocks))}")
    operands = [writer.splat(key, "i64", blocks), writer.splat(stream, "i64", blocks), numbers]
    halves = [writer.function(name, "i64", blocks, "i64", "i64", *operands) for name in ("philox_first", "philox_second")]
    dealt = vector("i32", [lane // 2 + lane % 2 * blocks for lane in range(2 * blocks)])
    pairs = writer.emit(f"shufflevector {type} {halves[0]}, {type} {halves[1]}, <{2 * blocks} x i32> {dealt}")
    if each == 2:
        return pairs
    words = writer.emit(f"bitcast <{2 * blocks} x i64> {pairs} to <{width} x i32>")  # the low half of a number lies in front
    return writer.emit(f"zext <{width} x i32> {words} to <{width} x i64>")


def _index_behind(value: Value) -> Any:
    """The `kernel.index` whose number this is, looking through casts between integers; None where it is something else."""
    op = value.op
    while isinstance(op, kernel.CastOp):
        op = op.value.op
    return op if isinstance(op, kernel.IndexOp) else None


def _begins_block(emitter: FunctionEmitter, number: kernel.IndexOp, place: IndexTile, each: int) -> bool:
    """Whether the lanes are consecutive and the first one of every row has a number that `each` divides."""
    if place.lane_step != 1 or place.width < 2 * each or isinstance(place.row_step, str) or place.row_step % each:
        return False
    divisor = number.map.offset.const
    for atoms, factor in number.map.offset.terms:
        dims = [atom.index for atom in atoms if atom.kind == "d"]
        if len(dims) > 1 or any(atom.kind not in ("d", "s") for atom in atoms):
            return False
        divisor = gcd(divisor, factor * (divisor_of(emitter, number.indices[dims[0]]) if dims else 1))
    return divisor % each == 0


def divisor_of(emitter: FunctionEmitter, value: Value) -> int:
    """A number that divides an index, or that of the first lane of a tile of indices; 1 where none is known and 0 for the index 0."""
    op = value.op
    if isinstance(op, kernel.LanesOp):
        if op.axis in emitter.singles:
            return 1
        if op.base is None:
            return 0
        found = divisor_of(emitter, op.base)
        return found * emitter.blocks[op.axis] if emitter.axes[op.axis].role == "grid" else found
    if op is None:
        loop = value.owner.parent_op  # type: ignore[union-attr]
        if isinstance(loop, kernel.ForOp) and value.index == 0:
            block = emitter.blocks[loop.axis]
            if loop.axis in emitter.singles:
                return 1
            begin = (loop.begin if type(loop.begin) is int else block) if loop.start is None else divisor_of(emitter, loop.start)
            return gcd(begin, loop.step or block)
    return 1
