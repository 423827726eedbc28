"""The operand stack while a block is assembled: which value lies where, and the COPY, SWAP and POP_TOP that bring values into place.

Entries are SSA values, or a `Null` for the NULL that a call wants beside its callee.  A value lies on the stack as often as needed: usually once,
and once more for each operand of the next operation when it stays alive behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lect.ir import Value


class Null:
    """The NULL (or, for a method call, the other half) beside the callee of one call."""

    __slots__ = ()


Entry = Value | Null


class Stack:
    """`entries`, bottom first; `emit(name, argument)` adds an instruction; `deepest` is the greatest height so far."""

    __slots__ = ("deepest", "emit", "entries")

    def __init__(self, emit: Callable[[str, int], None], entries: Sequence[Entry] = ()) -> None:
        self.emit = emit
        self.entries: list[Entry] = list(entries)
        self.deepest = len(self.entries)

    def push(self, *entries: Entry) -> None:
        """Note entries that an instruction pushed."""
        self.entries.extend(entries)
        if len(self.entries) > self.deepest:
            self.deepest = len(self.entries)

    def reach(self, extra: int) -> None:
        """Note that an instruction sequence needs `extra` entries more for a moment."""
        self.deepest = max(self.deepest, len(self.entries) + extra)

    def depth(self, entry: Entry) -> int:
        """How deep the topmost occurrence of `entry` lies (1 is the top).  Raises ValueError when it is not there."""
        entries = self.entries
        for depth in range(1, len(entries) + 1):
            if entries[-depth] is entry:
                return depth
        raise ValueError("the value is not on the stack")

    # ---- moving ------------------------------------------------------------------------------------------------------

    def copy(self, entry: Entry) -> None:
        """Push a copy of an entry."""
        self.emit("COPY", self.depth(entry))
        self.push(entry)

    def swap(self, depth: int) -> None:
        """Exchange the top and the entry `depth` down."""
        if depth > 1:
            self.emit("SWAP", depth)
            entries = self.entries
            entries[-1], entries[-depth] = entries[-depth], entries[-1]

    def pop_top(self) -> None:
        """Release the top."""
        self.emit("POP_TOP", 0)
        self.entries.pop()

    def drop(self, entry: Entry) -> None:
        """Release the topmost occurrence of an entry."""
        self.swap(self.depth(entry))
        self.pop_top()

    def permute(self, goal: Sequence[Entry]) -> None:
        """Bring the entries into the order `goal`, which holds the same ones."""
        entries = self.entries
        size = len(entries)
        low = 0
        while low < size and entries[low] is goal[low]:
            low += 1
        while low < size:
            top = entries[-1]
            place = self._place_of(top, goal, low)
            if place is not None:
                self.swap(size - place)
                continue
            wrong = next((i for i in range(low, size) if entries[i] is not goal[i] and entries[i] is not top), None)
            if wrong is None:
                return
            self.swap(size - wrong)

    def _place_of(self, top: Entry, goal: Sequence[Entry], low: int) -> int | None:
        """Where the top belongs; None when it lies right."""
        entries = self.entries
        if goal[-1] is top:
            return None
        return next(i for i in range(low, len(goal)) if goal[i] is top and entries[i] is not top)

    # ---- for operations ----------------------------------------------------------------------------------------------

    def bring(self, wanted: Sequence[Entry], alive: Callable[[Entry], bool]) -> None:
        """Make the top of the stack exactly `wanted`; a value that is `alive` behind this use stays below as well."""
        if self._lies_right(wanted, alive):
            return
        spare: dict[Entry, int] = {}
        for entry in wanted:
            if entry not in spare:
                spare[entry] = sum(other is entry for other in self.entries) - alive(entry)
        served: list[bool] = []  # by an occurrence that is there, rather than by a new copy
        for entry in wanted:
            served.append(spare[entry] > 0)
            spare[entry] -= 1
        present = [entry for entry, there in zip(wanted, served) if there]
        if served == sorted(served, reverse=True):
            self.permute(self._rest(present) + present)
            for entry, there in zip(wanted, served):
                if not there:
                    self.copy(entry)
            return
        for entry, there in zip(wanted, served):
            if not there:
                self.copy(entry)
        self.permute(self._rest(list(wanted)) + list(wanted))

    def _lies_right(self, wanted: Sequence[Entry], alive: Callable[[Entry], bool]) -> bool:
        count = len(wanted)
        if not count:
            return True
        entries = self.entries
        if entries[-count:] != list(wanted):
            return False
        return not any(alive(entry) and entry not in entries[:-count] for entry in wanted)

    def _rest(self, taken: list[Entry]) -> list[Entry]:
        """What remains below when the topmost occurrences of `taken` leave: entries stay where they are, those from the top fill the holes."""
        rest: list[Entry | None] = list(self.entries)
        for entry in reversed(taken):
            for place in range(len(rest) - 1, -1, -1):
                if rest[place] is entry:
                    rest[place] = None
                    break
        size = len(rest) - len(taken)
        moved = iter([entry for entry in rest[size:] if entry is not None])
        return [entry if entry is not None else next(moved) for entry in rest[:size]]

    def settle(self, goal: Sequence[Entry]) -> None:
        """Make the stack exactly `goal`: release what is not in it, copy what is in it more often."""
        entries = self.entries
        if entries == list(goal):
            return
        for entry in list(reversed(entries)):
            if sum(other is entry for other in self.entries) > sum(other is entry for other in goal):
                self.drop(entry)
        for entry in goal:
            if sum(other is entry for other in self.entries) < sum(other is entry for other in goal):
                self.copy(entry)
        self.permute(goal)
