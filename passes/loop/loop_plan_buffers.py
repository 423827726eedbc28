"""Let buffers whose lives do not overlap share memory.

    %0 = loop.nest @n0(%x) ..       {.., slots = [0]}
    %1 = loop.extern @e0(%0) ..
    %2 = loop.nest @n1(%1) ..   =>  {.., slots = [0]}            loop.func ... {slot_bytes = [4096], peak_bytes = ..}
    loop.return(...)

A slot is memory that a call allocates once; `slots` of a nest names the slot of each result, none for memory of its own (what the graph returns).
Results of library calls are the library's.  A result takes the memory of an input that dies there (`in_place`), a slot or what a library function made
for its result alone, when both have one size and every point reads only the element that it writes; where rows are folded, it is written in the last
sweep.  What the graph returns takes over only a tensor that lies as it does.  So does a result
that `loop.write` puts into a parameter as a whole, when nothing reads the parameter behind the nest: then there is nothing left to copy.  But a call
behind it that may raise has to find the parameters unchanged, so that the program can be run as it is written.  A library call that gives a parameter
with other elements in some places (`index_put`, `scatter`, `slice_scatter`) changes the parameter itself (`in_place`) when that is where its result
goes and nothing reads the old elements any more.  `peak_bytes` is the most that is live at once; of the parameters
only those count that are `consumed`, each until its last use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.attributes import ViewAttr
from lect.dialects.loop.library import gives_own_memory, may_raise
from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp, ReturnOp, WriteOp
from lect.ir import Context, Operation, Value
from lect.ir.index_map import dims_of
from lect.ir.symbolic import Size, product
from lect.passes.base import Pass
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.found_sizes import put_behind_finders
from lect.passes.loop.nests import functions, has_scan, nbytes, readers_of_memory, weight
from lect.passes.loop.updates import updates_in_place, written_operand


@dataclass(frozen=True)
class LoopPlanBuffers(Pass):
    """Give every result of a nest a slot of shared memory."""

    name: ClassVar[str] = "loop-plan-buffers"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            put_behind_finders(func)
            plan = Plan(func, forms_of(ctx))
            plan.run()
            ctx.count("slots", len(plan.sizes))
            ctx.count("slot bytes", sum([weight(size, func) for size in plan.sizes]))
            ctx.count("buffers in place", plan.in_place)
            ctx.count("parameters updated in place", plan.updated)
            ctx.count("peak bytes", func.peak_bytes)


class Plan:
    """A linear scan over the operations of one function."""

    def __init__(self, func: FuncOp, forms: Forms) -> None:
        self.func = func
        self.forms = forms
        raising = [op for op in func.body if isinstance(op, ExternOp) and may_raise(op.callee.leaf)]
        self.last_that_may_raise = raising[-1] if raising else None
        updating = [op for op in func.body if isinstance(op, NestOp) and forms.ask(op, has_scan)]
        self.origin = {op.results[update.to]: update.base for op in updating for update in op.updates}
        self.returned = {self.memory_of(value) for op in func.body if isinstance(op, ReturnOp) for value in op.values}
        consumed = {func.body.args[number] for number in func.consumed}
        used = [(value, op) for op in func.body for value in op.operands if not value.is_argument or value in consumed]
        self.last_use: dict[Value, Operation] = {self.memory_of(value): op for value, op in used}
        self.bytes = {value: nbytes(value) for value in (*consumed, *[value for op in func.body for value in op.results])}
        self.room: dict[Value, Size] = self.bytes if func.symbols is None else {value: value.type.bytes for value in self.bytes}  # type: ignore[assignment, attr-defined]
        self.position = {op: number for number, op in enumerate(func.body)}
        self.slot: dict[Value, int] = {}
        self.taken: set[Value] = set()  # inputs whose memory a result has taken over
        self.in_old_memory: set[Value] = set()  # those results
        self.library: dict[Value, ViewAttr] = {}  # buffers in memory that a library function made for them, and how its tensor lies
        self.sizes: list[Size] = []
        self.free: dict[Size, list[int]] = {}
        self.in_place = 0
        self.in_parameters: set[Value] = set()
        self.updated = 0

    def memory_of(self, value: Value) -> Value:
        """The buffer whose memory a value lies in: of a result that is updated, what it began with."""
        while value in self.origin:
            value = self.origin[value]
        return value

    def run(self) -> None:
        """Assign slots and note the peak."""
        for call in updates_in_place(self.func):
            call.in_place = ((0, written_operand(call)),)
            self.in_parameters.add(call.results[0])
            self.updated += 1
        live = peak = sum([self.bytes[value] for value in self.func.body.args if value in self.bytes])
        for op in self.func.body:
            used = list(dict.fromkeys(map(self.memory_of, op.operands)))
            dying = [value for value in used if self.last_use.get(value) is op and value not in self.returned]
            if isinstance(op, NestOp):
                dying = self.assign(op, dying)
            elif isinstance(op, ExternOp) and gives_own_memory(op.callee.leaf):
                self.library.update(zip(op.results, op.result_views))
            new = [value for value in op.results if value not in self.in_parameters and value not in self.in_old_memory and value not in self.origin]
            live += sum([self.bytes[value] for value in new])
            peak = max(peak, live)
            for value in used:
                if self.last_use.get(value) is op and value not in self.returned:
                    live -= 0 if value in self.in_parameters or value in self.taken else self.bytes[value]
            live -= sum(self.bytes[value] for value in op.results if not value.users and value not in self.in_parameters and value not in self.origin)
            for value in dying:
                if value in self.slot:
                    self.free.setdefault(self.room[value], []).append(self.slot[value])
        self.func.slot_bytes = tuple(self.sizes)
        self.func.peak_bytes = peak

    def assign(self, nest: NestOp, dying: list[Value]) -> list[Value]:
        """Slots of a nest's results; gives the dying inputs whose slot was not taken over."""
        slots: list[int | None] = []
        pairs: list[tuple[int, int]] = []
        for number, value in enumerate(nest.results):
            if value in self.origin:
                slots.append(None)
                continue
            parameter = self.parameter_for(nest, number) if value not in self.returned else None
            source = parameter
            if source is None:
                source = next((old for old in nest.inputs if self.memory_of(old) in dying and self.may_replace(nest, number, old)), None)
            if source is not None:
                pairs.append((number, nest.inputs.index(source)))
                self.in_place += 1
            if parameter is not None:
                self.in_parameters.add(value)
            elif source is not None:
                memory = self.memory_of(source)
                dying = [old for old in dying if old is not memory]
                self.taken.add(memory)
                self.in_old_memory.add(value)
                if memory in self.slot:
                    self.slot[value] = self.slot[memory]
                else:
                    self.library[value] = self.library[memory]
            elif value not in self.returned:
                self.slot[value] = self.take(self.room[value])
            slots.append(self.slot.get(value))
        nest.slots = tuple(slots) if any(slot is not None for slot in slots) else ()
        nest.in_place = tuple(pairs)
        return dying

    def fits(self, nest: NestOp, number: int, old: Value) -> bool:
        """What `fits` says, asked once of equal nests."""
        return self.forms.together((nest,), ("fits", number, nest.inputs.index(old)), lambda: fits(nest, number, old))

    def take(self, size: Size) -> int:
        """A free slot of this size, or a new one."""
        free = self.free.get(size)
        if free:
            return free.pop()
        self.sizes.append(size)
        return len(self.sizes) - 1

    def may_replace(self, nest: NestOp, number: int, old: Value) -> bool:
        """True when a result may lie where a dying input lies: each point reads only what it writes, and reads it before."""
        value, memory = nest.results[number], self.memory_of(old)
        if value in self.returned:
            seen = [view for user in value.users if isinstance(user, ReturnOp) for entry, view in zip(user.values, user.views) if entry is value]
            free = seen == [self.library.get(memory)]  # seen in one way only, that of the tensor whose memory it is to take
        else:
            free = memory in self.slot or memory in self.library
        if not free or not self.fits(nest, number, old):
            return False
        return all(self.position[user] <= self.position[nest] for user in readers_of_memory(old))

    def parameter_for(self, nest: NestOp, number: int) -> Value | None:
        """The parameter in whose memory a result may be stored at once, as it is written there in the end and nobody reads the old elements any more."""
        value = nest.results[number]
        found = [user for user in value.users if isinstance(user, WriteOp)]
        if len(found) != 1 or value in self.returned:
            return None
        write = found[0]
        parameter = write.target
        whole = write.place.map is write.view.map and points_of(write.place) == parameter.type.numel == value.type.numel  # type: ignore[attr-defined]
        alone = sum(isinstance(user, WriteOp) and user.target is parameter for user in parameter.users) == 1
        read = [user for user in readers_of_memory(parameter) if user is not nest and not isinstance(user, WriteOp | ReturnOp)]
        if not (whole and alone and parameter in nest.inputs and self.fits(nest, number, parameter)):
            return None
        if self.last_that_may_raise is not None and nest.is_before(self.last_that_may_raise):
            return None
        return parameter if all(user.is_before(nest) for user in read) else None


def points_of(view: ViewAttr) -> Size:
    """How many elements a view shows."""
    return product(view.sizes)


def fits(nest: NestOp, number: int, old: Value) -> bool:
    """True when a result is as large as an input, and each point reads of the input only the element that it writes, and reads it before."""
    new = nest.results[number]
    if old.type.numel != new.type.numel or old.type.element is not new.type.element:  # type: ignore[attr-defined]
        return False
    written = nest.store_of(number).map.offset
    if nest.reduced and frozenset(k for k, size in enumerate(nest.space.sizes) if size != 1) != dims_of(written):
        return False
    return all(load.map.offset is written and not load.indices for load in nest.loads if load.buffer is old)
