"""Take maxima and minima in loops without regard to NaN, and note beside them where there was one.

    %m = for R (%low) {                       %m, %b = for R (%low, 0) {
      yield maximum(%acc, %x)           =>      yield (%acc > %x ? %acc : %x), (%noted or (isnan(%x) ? -1 : 0))
    }                                         }
                                              %r = %b < 0 ? NaN : %m

A maximum that gives NaN if there is one compares twice and chooses by both, and each step waits for all of that.  A plain one is a single instruction, and
the note is made beside it.  Where the target has no registers for notes (`registers`), and a loop takes several extrema of one number, only the
first of them regards NaN and the others take it over behind the loop.  A loop of few steps stays as it is, as what is done behind it would cost more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import TileType, element_of, with_element
from lect.ir import Context, Operation, Type, Value
from lect.ir.facts import facts_of
from lect.ir.symbolic import as_size
from lect.ir.types import f32, f64, i32, i64
from lect.passes.base import Pass, option
from lect.passes.kernel.scalar_maker import Maker

VECTOR_BYTES = 32
REGISTERS = 16
KEEPS = MappingProxyType({"kernel.maximum": "gt", "kernel.minimum": "lt"})  # of the old extremum and a number: when the old one stays


@dataclass(frozen=True)
class KernelNoteNans(Pass):
    """Replace extrema that regard NaN by plain ones in long loops."""

    name: ClassVar[str] = "kernel-note-nans"
    steps: int = option(16, "shortest loop, in steps, that is changed")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.target == "cpu"]:
            for loop in [inner for inner in func.walk() if isinstance(inner, kernel.ForOp)]:
                if _steps(func, loop) >= self.steps:
                    ctx.count("extrema changed", _change(func, loop, ctx.target))


def _steps(func: kernel.FuncOp, loop: kernel.ForOp) -> int:
    extent = kernel.axis_of(loop, loop.axis).extent - loop.begin if loop.span is None else loop.span
    return facts_of(func).hint(as_size(extent)) // (loop.step or func.blocks.size(loop.axis))


class Extremum(NamedTuple):
    """A carried value number `position`, the next of which is the `operation` of it and `value`."""

    position: int
    operation: Operation
    value: Value


def _change(func: kernel.FuncOp, loop: kernel.ForOp, target: Mapping[str, Any]) -> int:
    """Change the extrema of one loop; gives how many."""
    extrema = _extrema(loop)
    if not extrema:
        return 0
    groups: dict[Value, list[Extremum]] = {}
    for each in extrema:
        groups.setdefault(each.value, []).append(each)
    carried = sum([_registers(func, value.type, target) for value in loop.initial])
    notes = sum([_registers(func, value.type, target) for value in groups])
    read = max([_registers(func, value.type, target) for value in groups])
    if carried + notes + read <= int(target.get("registers", REGISTERS)):
        _with_notes(loop, groups)
        return len(extrema)
    several = [group for group in groups.values() if len(group) > 1 and all(_is_number(loop.initial[each.position]) for each in group)]
    for first, *others in several:
        for other in others:
            _make_plain(other)
            _choose_nan(loop, other.position, lambda made, first=first: made.op("isnan", loop.results[first.position]))  # type: ignore[misc]
    return sum(len(group) - 1 for group in several)


def _registers(func: kernel.FuncOp, type: Type, target: Mapping[str, Any]) -> int:
    """Vector registers that a tile takes."""
    if not isinstance(type, TileType):
        return 1
    count = 1
    for axis in type.axes:
        count *= func.blocks.size(axis) if axis is not None else 1
    return max(count * element_of(type).bytes // int(target.get("vector_bytes", VECTOR_BYTES)), 1)  # type: ignore[attr-defined]


def _extrema(loop: kernel.ForOp) -> list[Extremum]:
    """The carried tiles of floats of which each step takes the greater or the lesser of the old one and a number, and that nothing else reads."""
    last = loop.body.last
    assert last is not None
    found = []
    for position, (old, following) in enumerate(zip(loop.body.args[1:], last.operands)):
        maker = following.op
        if maker is None or maker.name not in KEEPS or maker.parent is not loop.body or element_of(following.type) not in (f32, f64):
            continue
        alone = old.has_one_use() and following.has_one_use() and maker.operands[0] is old
        if alone and isinstance(following.type, TileType) and maker.operands[1].type is following.type:
            found.append(Extremum(position, maker, maker.operands[1]))
    return found


def _make_plain(extremum: Extremum) -> None:
    """The extremum of a step without regard to NaN; of equals the second, as before."""
    old, value = extremum.operation.operands
    made = Maker(extremum.operation)
    extremum.operation.replace([made.select(made.op(KEEPS[extremum.operation.name], old, value), old, value)])


def _choose_nan(loop: kernel.ForOp, position: int, condition: Any) -> None:
    """Behind a loop, NaN in the place of one of its results where the condition says so."""
    result = loop.results[position]
    users = list(result.users)
    assert loop.next is not None
    made = Maker(loop.next)
    chosen = made.select(condition(made), made.const(nan, result.type), result)
    for user in users:
        for number, value in enumerate(user.operands):
            if value is result:
                user.set_operand(number, chosen)


def _is_number(value: Value) -> bool:
    return isinstance(value.op, kernel.ConstOp) and value.op.value == value.op.value


def _first_note(made: Maker, initial: Sequence[Value], kind: Type) -> Value:
    """The note that a loop begins with: what another loop took the extremum of may have been NaN."""
    note = made.const(0, kind)
    for value in initial:
        if not _is_number(value):
            note = made.op("or", note, made.select(made.op("isnan", value), made.const(-1, kind), made.const(0, kind)))
    return note


def _with_notes(loop: kernel.ForOp, groups: Mapping[Value, list[Extremum]]) -> None:
    """A loop that carries a note for each number of which it takes extrema takes the place of one."""
    kinds = {value: with_element(value.type, i32 if element_of(value.type) is f32 else i64) for value in groups}
    outside = Maker(loop)
    starts = [_first_note(outside, [loop.initial[each.position] for each in groups[value]], kind) for value, kind in kinds.items()]
    block, last = loop.body, loop.body.last
    assert last is not None
    inside = Maker(last)
    noted = []
    for value, kind in kinds.items():
        old = block.add_arg(kind)
        noted.append(inside.op("or", old, inside.select(inside.op("isnan", value), inside.const(-1, kind), inside.const(0, kind))))
    last.set_operands([*last.operands, *noted])
    for group in groups.values():
        for each in group:
            _make_plain(each)
    types = [*[value.type for value in loop.results], *kinds.values()]
    region = loop.region
    loop.regions = ()
    initial = [*loop.initial, *starts]
    new = kernel.ForOp(initial, loop.start, loop.axis, loop.begin, loop.step, loop.span, regions=[region], result_types=types, loc=loop.loc)
    assert loop.parent is not None
    loop.parent.insert_before(loop, new)
    loop.replace(new.results[: len(loop.results)])
    for note, (value, group) in zip(new.results[len(types) - len(kinds) :], groups.items()):
        for each in group:
            _choose_nan(new, each.position, lambda made, note=note, kind=kinds[value]: made.op("lt", note, made.const(0, kind)))  # type: ignore[misc]
