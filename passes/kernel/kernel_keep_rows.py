"""Keep heavy values of one sweep for the next in scratch, instead of computing them again.

    for R { ... %e = exp(%d); sum }            %s = kernel.scratch()
    for R { ... %f = exp(%g); store }    =>    for R { ... %e = exp(%d); scratch_store(%s, %e); sum }
                                               for R { ... %f = scratch_load(%s); store }

Two values of different sweeps are the same if the operations above them are, down to loads from memory that no kernel writes in between, and to
values outside of the loops.  A value is worth keeping when computing it again costs more than a trip to the first cache: a heavy operation, or
more than `cheap` operations above its loads.  What is kept is the last such value before the later sweep does something new, and only in rows that
fit `limit` bytes of scratch; of a row whose length is known only at run time, that of the captured call counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import ScratchType, TileType, axes_of, element_of
from lect.dialects.scalars import HEAVY
from lect.ir import Context, Operation, Value, is_pure, literal_key
from lect.ir.facts import facts_of
from lect.ir.symbolic import Size
from lect.passes.base import Pass, option

HEAVY_COST = 10


@dataclass(frozen=True)
class KernelKeepRows(Pass):
    """Put values that a later sweep over the same axis would compute again into scratch."""

    name: ClassVar[str] = "kernel-keep-rows"
    cheap: int = option(4, "operations above loads that are computed again rather than kept")
    limit: int = option(65536, "bytes of scratch of one program")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.target == "cpu"]:
            ctx.count("values kept", keep_rows(func, self.cheap, self.limit))


def keep_rows(func: kernel.FuncOp, cheap: int, limit: int) -> int:
    """Rewrite one kernel; gives the number of values that are kept."""
    kept, room = 0, limit
    sweeps = [op for op in func.body if isinstance(op, kernel.ForOp) and not _nested(op)]
    if len(sweeps) < 2:
        return 0
    written = {op.pointer for op in func.walk() if isinstance(op, (kernel.StoreOp, kernel.AtomicAddOp))}
    numbers: dict[Any, int] = {}
    keys = {loop: Keys(loop, written, numbers) for loop in sweeps}
    for position, later in enumerate(sweeps):
        for earlier in sweeps[:position]:
            if earlier.axis != later.axis or earlier.begin or later.begin or earlier.span or later.span:
                continue
            for first, again in _common(keys[earlier], keys[later], cheap):
                count = kernel.axis_of(later, later.axis).extent
                size = facts_of(func).hint(count) * element_of(first.type).bytes
                if size <= room:
                    room -= size
                    kept += 1
                    _keep(func, earlier, later, first, again, count)
                    keys[later] = Keys(later, written, numbers)
    return kept


def _nested(loop: kernel.ForOp) -> bool:
    return any(isinstance(op, kernel.ForOp) for op in loop.body)


class Keys:
    """Numbers of the values of one loop body: equal numbers are equal values, in this loop or in another over the same axis.

    `numbers` is the table of all loops of a function: operation, operands by their numbers, attributes and type.
    """

    def __init__(self, loop: kernel.ForOp, written: set[Value], numbers: dict[Any, int]) -> None:
        self.loop = loop
        self.written = written
        self.numbers = numbers
        self.keys: dict[Value, int] = {loop.body.args[0]: -1}
        self.cost: dict[Value, int] = {}
        self.values: dict[Any, Value] = {}
        for op in loop.body:
            self._number(op)

    def _number(self, op: Operation) -> None:
        load = isinstance(op, kernel.LoadOp) and op.pointer not in self.written
        if len(op.results) != 1 or not (is_pure(op) or load):
            return
        operands: list[Any] = []
        cost = 0 if load or isinstance(op, (kernel.LanesOp, kernel.BoundOp, kernel.ConstOp, kernel.IndexOp)) else 1
        cost = HEAVY_COST if op.name.partition(".")[2] in HEAVY else cost
        for value in op.operands:
            inside = value.block is self.loop.body
            if inside and value not in self.keys:
                return
            operands.append(self.keys[value] if inside else value)
            cost += 0 if load else self.cost.get(value, 0)
        key = self.numbers.setdefault((op.name, tuple(operands), literal_key(op.attrs), op.result.type), len(self.numbers))
        self.keys[op.result] = key
        self.cost[op.result] = cost
        self.values.setdefault(key, op.result)


def _common(before: Keys, after: Keys, cheap: int) -> list[tuple[Value, Value]]:
    """Pairs (value of the earlier sweep, the same in the later one) at the frontier: a user of the later one is new there."""
    later = after.loop
    pairs = {value: before.values[key] for value, key in after.keys.items() if key in before.values}
    found = []
    for again, first in pairs.items():
        worth = after.cost.get(again, 0) > cheap
        whole = axes_of(again.type) == {later.axis} and isinstance(again.type, TileType)
        frontier = any(not user.results or user.result not in pairs for user in again.users if user.parent is later.body)
        if worth and whole and frontier and element_of(again.type).kind == "float" and not element_of(again.type).is_half:
            found.append((first, again))
    return found


def _keep(func: kernel.FuncOp, earlier: kernel.ForOp, later: kernel.ForOp, first: Value, again: Value, count: Size) -> None:
    type = ScratchType(count, element_of(first.type))
    scratch = kernel.ScratchOp(result_types=[type], loc=func.loc)
    func.body.insert_before(func.body.first, scratch)
    maker = first.op
    assert maker is not None
    lanes, masks = _lanes(earlier)
    store = kernel.ScratchStoreOp(scratch.result, first, lanes, masks, loc=maker.loc)
    earlier.body.insert_before(maker.next, store)
    lanes, masks = _lanes(later)
    reader = again.op
    assert reader is not None
    load = kernel.ScratchLoadOp(scratch.result, lanes, masks, loc=reader.loc)
    later.body.insert_before(reader, load)
    again.replace_all_uses(load.result)
    _erase_unused(later)


def _lanes(loop: kernel.ForOp) -> tuple[Value, list[Value]]:
    """The lanes of a loop's axis, and their bound if the loop has one."""
    lanes = next(op.result for op in loop.body if isinstance(op, kernel.LanesOp) and op.axis == loop.axis)
    bounds = [op.result for op in loop.body if isinstance(op, kernel.BoundOp) and op.axis == loop.axis]
    return lanes, bounds[:1]


def _erase_unused(loop: kernel.ForOp) -> None:
    """Drop what nothing needs any more."""
    op = loop.body.last
    while op is not None:
        before = op.prev
        removable = is_pure(op) or isinstance(op, (kernel.LoadOp, kernel.ScratchLoadOp))
        if removable and op.results and not any(value.users for value in op.results):
            op.erase()
        op = before
