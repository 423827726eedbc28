"""Loops and last blocks whose length is known only at run time.

A loop runs over its full steps, if there are any.  What is left along the vector axis is taken in shorter steps, the last of them under a mask of as many
lanes as are left then; along an axis of rows it is a loop over single rows, as rows are written out and their number must be known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lect.backends.llvm.values import Tile
from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.attributes import Axis
from lect.ir.symbolic import Size, as_size

if TYPE_CHECKING:
    from lect.backends.llvm.emit import FunctionEmitter


def loop_over(emitter: FunctionEmitter, op: kernel.ForOp, total: Size, step: int, carried: list[Tile]) -> list[Tile]:
    """A loop over `total` indices in steps, and what is left behind them."""
    base = emitter.index(op.start).base if op.start is not None else emitter.size(op.begin)  # type: ignore[union-attr]
    if op.step is not None and op.span is None:  # the loop inside goes to the end of the axis
        return emitter.loop(op, base, emitter.size(total), step, carried)
    if emitter.facts.divisible(total, step):
        return emitter.loop(op, base, emitter.size(total), step, carried)
    whole = as_size(total // step * step)
    carried = emitter.loop(op, base, emitter.size(whole), step, carried)
    begin, rest = emitter.writer.add_indices(base, emitter.size(whole)), emitter.size(as_size(total - whole))
    return what_is_left(emitter, op, begin, rest, step, carried)


def is_last_shorter(op: kernel.ForOp, axis: Axis) -> bool:
    """Whether a loop inside of another one over the same axis, in chunks, may have a last chunk that is shorter than the others."""
    outer = op.parent_op
    return op.start is not None and isinstance(outer, kernel.ForOp) and outer.axis == op.axis and outer.span is None and type(axis.extent) is not int


def loop_from(emitter: FunctionEmitter, op: kernel.ForOp, step: int, carried: list[Tile]) -> list[Tile]:
    """A loop over the indices of a chunk, or to the end of the axis where that comes first."""
    writer = emitter.writer
    base = emitter.index(op.start).base  # type: ignore[arg-type,union-attr]
    left = writer.emit(f"sub nsw i64 {emitter.size(emitter.axes[op.axis].extent)}, {base}")
    shorter = writer.emit(f"icmp slt i64 {left}, {op.span}")
    count = writer.emit(f"select i1 {shorter}, i64 {left}, i64 {op.span}")
    if emitter.facts.divisible(emitter.axes[op.axis].extent, step):
        return emitter.loop(op, base, count, step, carried)
    rest = writer.emit(f"urem i64 {count}, {step}")
    whole = writer.emit(f"sub nsw i64 {count}, {rest}")
    carried = emitter.loop(op, base, whole, step, carried)
    return what_is_left(emitter, op, writer.add_indices(base, whole), rest, step, carried)


def what_is_left(emitter: FunctionEmitter, op: kernel.ForOp, begin: str, rest: str, step: int, carried: list[Tile]) -> list[Tile]:
    """The last `rest` indices of a loop, which are fewer than a step."""
    writer = emitter.writer
    if op.axis != emitter.vector:
        with emitter.single(op.axis):
            return emitter.loop(op, begin, rest, 1, carried)
    piece = piece_of(emitter.blocks[op.axis])
    if piece < step:
        few = writer.emit(f"urem i64 {rest}, {piece}")
        pieces = writer.emit(f"sub nsw i64 {rest}, {few}")
        with emitter.part(op.axis, piece):
            carried = emitter.loop(op, begin, pieces, piece, carried)
        begin, rest = writer.add_indices(begin, pieces), few

    def last() -> list[Tile]:
        with emitter.part(op.axis, piece, rest):
            return emitter.step(op, begin, carried)

    return where(emitter, writer.emit(f"icmp sgt i64 {rest}, 0"), last, carried)


def piece_of(block: int) -> int:
    """Lanes of the shorter steps in which the last block of the vector axis is taken: about one register."""
    return min(block, max(block // 4, 8))


def where(emitter: FunctionEmitter, condition: str, then: Callable[[], list[Tile]], otherwise: list[Tile]) -> list[Tile]:
    """What `then` gives where a condition holds, else the other tiles."""
    writer = emitter.writer
    yes, done = writer.new_label("left"), writer.new_label("done")
    before = writer.block
    writer.line(f"br i1 {condition}, label %{yes}, label %{done}")
    writer.start_block(yes)
    made = then()
    after = writer.block
    writer.jump(done)
    return either(emitter, otherwise, before, made, after)


def either(emitter: FunctionEmitter, first: list[Tile], before: str, second: list[Tile], after: str) -> list[Tile]:
    """Tiles that come from one of two blocks, at the beginning of a block."""
    writer, out = emitter.writer, []
    for one, other in zip(first, second):
        rows = [writer.emit(f"phi {other.type} [ {a}, %{before} ], [ {b}, %{after} ]") for a, b in zip(one.rows, other.rows)]
        out.append(other._replace(rows=rows))
    return out


def last_block(emitter: FunctionEmitter, axis: Axis, write: Callable[[], None]) -> None:
    """The program's text for pieces of the last block of a grid's axis; `write` writes the text, which ends in a branch to `emitter.following`.

    Where blocks are turned, pieces of the vector axis are single lanes, as there are no masks then.
    """
    writer, block = emitter.writer, emitter.blocks[axis.name]
    rest = emitter.size(as_size(axis.extent % block))
    turned = emitter.rows is not None and emitter.axes[emitter.rows].role == "grid"
    piece = 1 if axis.name != emitter.vector or turned else piece_of(block)
    label, following = writer.new_label("piece"), writer.new_label("next.piece")
    before, behind, outer = writer.block, writer.name(), emitter.following
    writer.jump(label)
    start = emitter.starts[axis.name] = writer.emit(f"phi i64 [ 0, %{before} ], [ {behind}, %{following} ]")
    emitter.following = following
    with emitter.single(axis.name) if piece == 1 else emitter.part(axis.name, piece, writer.emit(f"sub nsw i64 {rest}, {start}")):
        write()
    emitter.following = outer
    del emitter.starts[axis.name]
    writer.start_block(following)
    writer.line(f"{behind} = add nsw i64 {start}, {piece}")
    more = writer.emit(f"icmp slt i64 {behind}, {rest}")
    writer.line(f"br i1 {more}, label %{label}, label %{outer}")
