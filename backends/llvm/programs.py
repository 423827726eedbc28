"""The loop over the programs lo to hi - 1 of a kernel, and the number of a program along each dim of its grid.

Where blocks do not divide an axis, full blocks have a loop of their own and the last block stands behind it: a branch and a second text inside of the loop
cost registers in every program.  A grid of several dims some of whose sizes are known only at run time, which are slow to divide by, is walked row by row:
programs that differ in their number along the last dim alone are a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lect.dialects.kernel.attributes import Axis
from lect.ir.symbolic import as_size

if TYPE_CHECKING:
    from lect.backends.llvm.emit import FunctionEmitter


def write_programs(emitter: FunctionEmitter) -> str:
    """Write the blocks of all programs, which are entered from the block `emitter.before` and left for `emitter.finish`; gives the first one's label."""
    split, grid = emitter.split_axes(), emitter.func.grid
    if any(type(size) is not int for size in grid[1:]):
        return _rows(emitter, split)
    if len(split) == 1 and all(size == 1 for size in grid[1:]) and _full_first(emitter, split[0], 0):
        emitter.writer.start_block("programs")
        emitter.following = emitter.finish
        _row(emitter, "%lo", "%hi", split[0], ([], ["0"] * (len(grid) - 1)))
        return "programs"
    writer = emitter.writer
    writer.start_block("program")
    writer.line(f"%pid = phi i64 [ %lo, %{emitter.before} ], [ %pid.next, %next ]")
    emitter.numbers = _divided(emitter, "%pid")
    emitter.version(split, emitter.body)
    writer.start_block("next")
    writer.line("%pid.next = add nsw i64 %pid, 1")
    writer.line("%more = icmp slt i64 %pid.next, %hi")
    writer.line(f"br i1 %more, label %program, label %{emitter.finish}")
    return "program"


def _full_first(emitter: FunctionEmitter, axis: Axis, dim: int) -> bool:
    """Whether the numbers along a dim of the grid are those of the blocks of an axis, some of them full."""
    return emitter.grid_dim(axis) == dim and (type(axis.extent) is not int or axis.extent >= emitter.blocks[axis.name])


def _divided(emitter: FunctionEmitter, program: str) -> list[str]:
    """A program's number along each dim of the grid, the last dim fastest."""
    numbers, rest = [], program
    for size in reversed(emitter.func.grid[1:]):
        if size == 1:
            numbers.append("0")
            continue
        divisor = emitter.size(size)
        numbers.append(emitter.writer.emit(f"urem i64 {rest}, {divisor}"))
        rest = emitter.writer.emit(f"udiv i64 {rest}, {divisor}")
    return [rest, *reversed(numbers)]


def _rows(emitter: FunctionEmitter, split: list[Axis]) -> str:
    """A loop over rows of programs, the first and the last of which may be parts of rows."""
    writer, grid = emitter.writer, emitter.func.grid
    along = max(dim for dim, size in enumerate(grid) if size != 1)
    inner = next((axis for axis in split if _full_first(emitter, axis, along)), None)
    length = emitter.size(grid[along])
    for size in grid[1:]:
        emitter.size(size)  # in front of the divisions
    with writer.in_front():
        first = _divided(emitter, "%lo")
    writer.start_block("row")
    writer.line(f"%pid = phi i64 [ %lo, %{emitter.before} ], [ %pid.next, %row.next ]")
    outer = [name if name == "0" else f"%number{dim}" for dim, name in enumerate(first[:along])]
    for start, name in zip(first, outer):
        if name != "0":
            writer.line(f"{name} = phi i64 [ {start}, %{emitter.before} ], [ {name}.next, %row.next ]")
    writer.line(f"%begin.row = phi i64 [ {first[along]}, %{emitter.before} ], [ 0, %row.next ]")
    writer.line("%left = sub nsw i64 %hi, %pid")
    end = _least(emitter, writer.emit("add nsw i64 %begin.row, %left"), length)
    around = (outer, ["0"] * (len(grid) - along - 1))
    emitter.following = "row.next"
    emitter.numbers = [*outer, "0", *around[1]]
    emitter.version([axis for axis in split if axis is not inner], lambda: _row(emitter, "%begin.row", end, inner, around))
    writer.start_block("row.next")
    done = writer.emit(f"sub nsw i64 {end}, %begin.row")
    writer.line(f"%pid.next = add nsw i64 %pid, {done}")
    _count_up(emitter, outer)
    writer.line("%more = icmp slt i64 %pid.next, %hi")
    writer.line(f"br i1 %more, label %row, label %{emitter.finish}")
    return "row"


def _row(emitter: FunctionEmitter, first: str, end: str, axis: Axis | None, around: tuple[list[str], list[str]]) -> None:
    """The programs `first` to `end` - 1 of one row, then on to `emitter.following`; `around` are the numbers along the dims before and behind.

    Of the blocks of `axis` full ones have a loop, and the last one stands behind it where it is among them.
    """
    writer, following = emitter.writer, emitter.following
    whole = emitter.size(as_size(axis.extent // emitter.blocks[axis.name])) if axis is not None else end
    stop = _least(emitter, end, whole) if axis is not None else end
    program, after, behind, before = writer.new_label("program"), writer.new_label("next"), writer.new_label("behind"), writer.block
    number, raised = writer.name(), writer.name()
    writer.line(f"br i1 {writer.emit(f'icmp slt i64 {first}, {stop}')}, label %{program}, label %{behind}")
    writer.start_block(program)
    writer.line(f"{number} = phi i64 [ {first}, %{before} ], [ {raised}, %{after} ]")
    emitter.numbers = [*around[0], number, *around[1]]
    emitter.following = after
    emitter.body()
    writer.start_block(after)
    writer.line(f"{raised} = add nsw i64 {number}, 1")
    writer.line(f"br i1 {writer.emit(f'icmp slt i64 {raised}, {stop}')}, label %{program}, label %{behind}")
    writer.start_block(behind)
    emitter.following = following
    if axis is None:
        writer.line(f"br label %{following}")
        return
    last = writer.new_label("last")
    writer.line(f"br i1 {writer.emit(f'icmp sgt i64 {end}, {whole}')}, label %{last}, label %{following}")
    writer.start_block(last)
    emitter.numbers = [*around[0], whole, *around[1]]
    emitter.last_version(axis, [], emitter.body)


def _least(emitter: FunctionEmitter, left: str, right: str) -> str:
    below = emitter.writer.emit(f"icmp slt i64 {left}, {right}")
    return emitter.writer.emit(f"select i1 {below}, i64 {left}, i64 {right}")


def _count_up(emitter: FunctionEmitter, outer: list[str]) -> None:
    """The numbers of the following row: the last one grows, and one that reaches its size becomes 0 and lets the one before it grow."""
    writer, carry = emitter.writer, "1"
    for dim in reversed(range(1, len(outer))):
        name = outer[dim]
        if name == "0":
            continue
        raised = writer.emit(f"add nsw i64 {name}, {carry}")
        full = writer.emit(f"icmp eq i64 {raised}, {emitter.size(emitter.func.grid[dim])}")
        writer.line(f"{name}.next = select i1 {full}, i64 0, i64 {raised}")
        carry = writer.emit(f"zext i1 {full} to i64")
    writer.line(f"{outer[0]}.next = add nsw i64 {outer[0]}, {carry}")
