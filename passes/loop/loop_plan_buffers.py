"""Let buffers whose lives do not overlap share memory.

    %0 = loop.nest @n0(%x) ..       {.., slots = [0]}
    %1 = loop.extern @e0(%0) ..
    %2 = loop.nest @n1(%1) ..   =>  {.., slots = [0]}            loop.func ... {slot_bytes = [4096], peak_bytes = ..}
    loop.return(...)

A slot is memory that a call allocates once; `slots` of a nest names the slot of each result, none for memory of its own (what the graph returns).
Results of library calls are the library's.  A result takes the slot of an input that dies there (`in_place`) when both have one size and every
point reads only the element that it writes.  `peak_bytes` is the most that is live at once, inputs not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.ops import FuncOp, NestOp, ReturnOp
from lect.ir import Context, Operation, Value
from lect.passes.base import Pass
from lect.passes.loop.nests import functions, nbytes


@dataclass(frozen=True)
class LoopPlanBuffers(Pass):
    """Give every result of a nest a slot of shared memory."""

    name: ClassVar[str] = "loop-plan-buffers"

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            plan = Plan(func)
            plan.run()
            ctx.count("slots", len(plan.sizes))
            ctx.count("slot bytes", sum(plan.sizes))
            ctx.count("buffers in place", plan.in_place)
            ctx.count("peak bytes", func.peak_bytes)


class Plan:
    """A linear scan over the operations of one function."""

    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.returned = {value for op in func.body if isinstance(op, ReturnOp) for value in op.values}
        self.last_use: dict[Value, Operation] = {value: op for op in func.body for value in op.operands if not value.is_argument}
        self.slot: dict[Value, int] = {}
        self.sizes: list[int] = []
        self.free: dict[int, list[int]] = {}
        self.in_place = 0

    def run(self) -> None:
        """Assign slots and note the peak."""
        live = peak = 0
        for op in self.func.body:
            dying = [value for value in dict.fromkeys(op.operands) if self.last_use.get(value) is op and value not in self.returned]
            if isinstance(op, NestOp):
                dying = self.assign(op, dying)
            for value in op.results:
                live += nbytes(value)
            peak = max(peak, live)
            for value in [value for value in op.operands if self.last_use.get(value) is op and value not in self.returned]:
                if value in self.last_use:
                    live -= nbytes(value)
                    del self.last_use[value]
            live -= sum(nbytes(value) for value in op.results if not value.users)
            for value in dying:
                if value in self.slot:
                    self.free.setdefault(nbytes(value), []).append(self.slot[value])
        self.func.slot_bytes = tuple(self.sizes)
        self.func.peak_bytes = peak

    def assign(self, nest: NestOp, dying: list[Value]) -> list[Value]:
        """Slots of a nest's results; gives the dying inputs whose slot was not taken over."""
        slots: list[int | None] = []
        pairs: list[tuple[int, int]] = []
        for number, value in enumerate(nest.results):
            if value in self.returned:
                slots.append(None)
                continue
            source = next((old for old in dying if self.may_replace(nest, number, old)), None)
            if source is not None:
                dying = [old for old in dying if old is not source]
                pairs.append((number, nest.inputs.index(source)))
                self.slot[value] = self.slot[source]
                self.in_place += 1
            else:
                self.slot[value] = self.take(nbytes(value))
            slots.append(self.slot[value])
        nest.slots = tuple(slots) if any(slot is not None for slot in slots) else ()
        nest.in_place = tuple(pairs)
        return dying

    def take(self, size: int) -> int:
        """A free slot of this size, or a new one."""
        free = self.free.get(size)
        if free:
            return free.pop()
        self.sizes.append(size)
        return len(self.sizes) - 1

    def may_replace(self, nest: NestOp, number: int, old: Value) -> bool:
        """True when a result may lie where a dying input lies: each point reads only what it writes, and reads it before."""
        new = nest.results[number]
        if old not in self.slot or nbytes(old) != nbytes(new) or old.type.element.bytes != new.type.element.bytes or nest.reduced:  # type: ignore[attr-defined]
            return False
        written = nest.store_of(number).map.offset
        return all(load.map.offset is written and not load.indices for load in nest.loads if load.buffer is old)
