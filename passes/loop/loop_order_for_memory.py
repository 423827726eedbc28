"""Put operations into an order that needs less memory at once.

    %a = nest @n0(%x)   %b = nest @n1(%x)         %a = nest @n0(%x)   %s = nest @n2(%a) { sum }
    %s = nest @n2(%a)   %t = nest @n3(%b)    =>   %b = nest @n1(%x)   %t = nest @n3(%b) { sum }       loop.func .. {order = "peak 8192, not 16384 bytes"}

Of the operations whose operands are there, the one comes next that adds the fewest bytes: its results less the operands that nothing else will read; of
equals, the first.  Library calls that may raise, or that nothing is known of, keep their order among each other.  The new order is taken only if the
predicted peak is lower by `gain` percent, else the program's own order stays, which is the one that caches know.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from lect.dialects.loop.library import keeps_its_turn
from lect.dialects.loop.ops import ExternOp, ReturnOp, WriteOp
from lect.ir import Context, Operation, Value
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS
from lect.passes.loop.nests import functions, nbytes


@dataclass(frozen=True)
class LoopOrderForMemory(Pass):
    """Reorder operations where that lowers the predicted peak."""

    name: ClassVar[str] = "loop-order-for-memory"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    gain: int = option(5, "least gain, in percent of the peak, for which the order changes")
    least: int = option(1 << 16, "peak in bytes below which the order is not looked at")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            order = list(func.body)
            sizes = {value: nbytes(value) for op in order for value in op.results}
            sizes.update({func.body.args[number]: nbytes(func.body.args[number]) for number in func.consumed})
            before = peak_of(order, sizes)
            if before < self.least:
                continue
            found = Schedule(order, sizes).order()
            after = peak_of(found, sizes)
            if after * 100 <= before * (100 - self.gain):
                func.body.move_all(found)
                func.order = f"peak {after}, not {before} bytes"
                ctx.count("functions reordered")
                ctx.count("bytes of peak saved", before - after)


def peak_of(order: Sequence[Operation], sizes: Mapping[Value, int]) -> int:
    """The most bytes that are live at once, nothing in place; of the parameters those count that have a size."""
    last_use = {value: op for op in order for value in op.operands if value in sizes}
    for op in order:
        if isinstance(op, ReturnOp):
            for value in op.values:
                last_use.pop(value, None)
    freed: dict[Operation, int] = {}
    for value, op in last_use.items():
        freed[op] = freed.get(op, 0) + sizes[value]
    live = peak = sum([size for value, size in sizes.items() if value.is_argument])
    for op in order:
        for value in op.results:
            live += sizes[value]
        peak = max(peak, live)
        live -= freed.get(op, 0)
        for value in op.results:
            if not value.users:
                live -= sizes[value]
    return peak


class Schedule:
    """A list schedule of the operations of one function; `sizes` are the bytes of what they make and of what they are handed over."""

    def __init__(self, ops: Sequence[Operation], sizes: Mapping[Value, int]) -> None:
        self.ops = ops
        self.sizes = sizes
        self.position = {op: number for number, op in enumerate(self.ops)}
        self.behind: dict[Operation, list[Operation]] = {op: [] for op in self.ops}
        self.waits = dict.fromkeys(self.ops, 0)
        self.readers: dict[Value, int] = {}
        self.users: dict[Value, list[Operation]] = {}
        chained: Operation | None = None
        for op in self.ops:
            for value in dict.fromkeys(op.operands):
                if value in sizes:
                    if not value.is_argument:
                        self._edge(value.owner, op)  # type: ignore[arg-type]
                    self.readers[value] = self.readers.get(value, 0) + 1
                    self.users.setdefault(value, []).append(op)
            if isinstance(op, ExternOp) and keeps_its_turn(op.callee.leaf):
                if chained is not None:
                    self._edge(chained, op)
                chained = op
        ends = [op for op in self.ops if isinstance(op, WriteOp | ReturnOp)]  # they stay where they are, behind everything
        for op in self.ops[: self.position[ends[0]]]:
            self._edge(op, ends[0])
        for first, second in pairwise(ends):
            self._edge(first, second)

    def _edge(self, first: Operation, second: Operation) -> None:
        self.behind[first].append(second)
        self.waits[second] += 1

    def grows(self, op: Operation) -> int:
        """Bytes that an operation adds to what is live."""
        readers, sizes, cost = self.readers, self.sizes, 0
        for value in op.results:
            if value.users:
                cost += sizes[value]
        for value in dict.fromkeys(op.operands):
            if readers.get(value) == 1:
                cost -= sizes[value]
        return cost

    def order(self) -> list[Operation]:
        """The operations, the one that grows least first among those that may come."""
        ready = [(self.grows(op), self.position[op]) for op in self.ops if not self.waits[op]]
        heapq.heapify(ready)
        done: set[Operation] = set()
        out: list[Operation] = []
        while ready:
            cost, number = heapq.heappop(ready)
            op = self.ops[number]
            if op in done or cost != self.grows(op):
                continue  # it was put in again with what it costs now
            done.add(op)
            out.append(op)
            for following in self.behind[op]:
                self.waits[following] -= 1
                if not self.waits[following]:
                    heapq.heappush(ready, (self.grows(following), self.position[following]))
            for value in dict.fromkeys(op.operands):
                if value in self.readers:
                    self.readers[value] -= 1
                    if self.readers[value] == 1:
                        self._renew(value, done, ready)
        assert len(out) == len(self.ops)
        return out

    def _renew(self, value: Value, done: set[Operation], ready: list[tuple[int, int]]) -> None:
        """One reader is left: it frees the buffer, so it costs less."""
        for user in self.users[value]:
            if user not in done and not self.waits[user]:
                heapq.heappush(ready, (self.grows(user), self.position[user]))
