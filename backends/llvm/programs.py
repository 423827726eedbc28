"""The loop over the programs lo to hi - 1 of a kernel, and the number of a program along each dim of its grid.

Where the grid has one dim and its blocks do not divide the axis, full blocks have a loop of their own and the last block stands behind it: a branch and a
second text inside of the loop cost registers in every program.  Sizes that are known only at run time divide slowly, so a program's numbers are then
counted up from those of the first one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lect.dialects.kernel.attributes import Axis
from lect.ir.symbolic import as_size

if TYPE_CHECKING:
    from lect.backends.llvm.emit import FunctionEmitter


def write_programs(emitter: FunctionEmitter) -> str:
    """Write the blocks of all programs, which are entered from the block `emitter.before` and left for `emitter.finish`; gives the first one's label."""
    split = emitter.split_axes()
    if len(split) == 1 and _along(emitter, split[0]):
        return _full_then_last(emitter, split[0])
    writer, grid = emitter.writer, emitter.func.grid
    writer.start_block("program")
    writer.line(f"%pid = phi i64 [ %lo, %{emitter.before} ], [ %pid.next, %next ]")
    counted = any(type(size) is not int for size in grid[1:])
    emitter.numbers = _counted_numbers(emitter) if counted else divided_numbers(emitter, "%pid")
    emitter.version(split)
    writer.start_block("next")
    writer.line("%pid.next = add nsw i64 %pid, 1")
    if counted:
        _count_up(emitter)
    writer.line("%more = icmp slt i64 %pid.next, %hi")
    writer.line(f"br i1 %more, label %program, label %{emitter.finish}")
    return "program"


def _along(emitter: FunctionEmitter, axis: Axis) -> bool:
    """Whether programs are the blocks of an axis in order, some of them full."""
    some = type(axis.extent) is not int or axis.extent >= emitter.blocks[axis.name]
    return some and all(size == 1 for size in emitter.func.grid[1:]) and emitter.grid_dim(axis) == 0


def divided_numbers(emitter: FunctionEmitter, program: str) -> list[str]:
    """A program's number along each dim of the grid, the last dim fastest."""
    numbers, rest = [], program
    for size in reversed(emitter.func.grid[1:]):
        if size == 1:
            numbers.append("0")
            continue
        numbers.append(emitter.writer.emit(f"urem i64 {rest}, {emitter.size(size)}"))
        rest = emitter.writer.emit(f"udiv i64 {rest}, {emitter.size(size)}")
    return [rest, *reversed(numbers)]


def _counted_numbers(emitter: FunctionEmitter) -> list[str]:
    """The numbers as values that `_count_up` carries from program to program; the first ones are found by division, once."""
    writer = emitter.writer
    for size in emitter.func.grid[1:]:
        emitter.size(size)  # in front of where it is used
    with writer.in_front():
        first = divided_numbers(emitter, "%lo")
    names = [name if name == "0" else f"%number{dim}" for dim, name in enumerate(first)]
    for start, name in zip(first, names):
        if name != "0":
            writer.line(f"{name} = phi i64 [ {start}, %{emitter.before} ], [ {name}.next, %next ]")
    return names


def _count_up(emitter: FunctionEmitter) -> None:
    """The numbers of the following program: the last one grows, and one that reaches its size becomes 0 and lets the one before it grow."""
    writer, carry = emitter.writer, "1"
    for dim in reversed(range(1, len(emitter.numbers))):
        name = emitter.numbers[dim]
        if name == "0":
            continue
        raised = writer.emit(f"add nsw i64 {name}, {carry}")
        full = writer.emit(f"icmp eq i64 {raised}, {emitter.size(emitter.func.grid[dim])}")
        writer.line(f"{name}.next = select i1 {full}, i64 0, i64 {raised}")
        carry = writer.emit(f"zext i1 {full} to i64")
    writer.line(f"{emitter.numbers[0]}.next = add nsw i64 {emitter.numbers[0]}, {carry}")


def _full_then_last(emitter: FunctionEmitter, axis: Axis) -> str:
    """A loop over the full blocks, then the last block where it is among the programs."""
    writer = emitter.writer
    whole = emitter.size(as_size(axis.extent // emitter.blocks[axis.name]))
    writer.start_block("blocks")
    below = writer.emit(f"icmp slt i64 %hi, {whole}")
    end = writer.emit(f"select i1 {below}, i64 %hi, i64 {whole}")
    writer.line(f"br i1 {writer.emit(f'icmp slt i64 %lo, {end}')}, label %program, label %behind")
    writer.start_block("program")
    writer.line("%pid = phi i64 [ %lo, %blocks ], [ %pid.next, %next ]")
    emitter.numbers = divided_numbers(emitter, "%pid")
    emitter.version([])
    writer.start_block("next")
    writer.line("%pid.next = add nsw i64 %pid, 1")
    writer.line(f"%more = icmp slt i64 %pid.next, {end}")
    writer.line("br i1 %more, label %program, label %behind")
    writer.start_block("behind")
    writer.line(f"br i1 {writer.emit(f'icmp sgt i64 %hi, {whole}')}, label %last, label %{emitter.finish}")
    writer.start_block("last")
    emitter.numbers = divided_numbers(emitter, whole)
    emitter.following = emitter.finish
    emitter.last_version(axis, [])
    return "blocks"
