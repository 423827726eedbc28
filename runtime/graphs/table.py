"""All recordings of the process: which storages are theirs, what they hold, and how they are let go."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lect.runtime.graphs.program import RecordedProgram
    from lect.runtime.graphs.recording import Recording


@dataclass(frozen=True)
class Row:
    """A recording as a line of the table: the graph, the sizes that are known at run time, how many steps and bytes it has, how often it ran, arguments that
    are copied, addresses that were patched, and why it was made."""

    function: str
    sizes: str
    nodes: int
    bytes: int
    uses: int
    copied: int
    patched: int
    reason: str

    def text(self) -> str:
        """The line."""
        changes = f"{self.copied} arguments copied, {self.patched} addresses patched"
        sizes = f" for {self.sizes}" if self.sizes else ""
        return f"{self.function}{sizes}: {self.nodes} steps, {self.bytes / 1e6:.1f} MB, {self.uses} replays, {changes}; {self.reason}"


@dataclass(frozen=True)
class Left:
    """A graph that is not recorded, and why."""

    function: str
    reason: str

    def text(self) -> str:
        """The line."""
        return f"{self.function}: {self.reason}"


class Table:
    """The programs with recordings."""

    def __init__(self) -> None:
        self.programs: weakref.WeakSet[RecordedProgram] = weakref.WeakSet()

    def storages(self) -> frozenset[int]:
        """The storages of the results of all recordings: what lies there now will lie there again."""
        families = [family for program in list(self.programs) for family in list(program.families.values())]
        return frozenset(id for family in families for each in list(family.recordings) for id in each.results.ids)

    def recordings(self, kind: type) -> list[Recording]:
        """The recordings of all programs of a kind."""
        programs = [program for program in list(self.programs) if isinstance(program, kind)]
        return [each for program in programs for family in list(program.families.values()) for each in list(family.recordings)]

    def rows(self, function: str | None = None) -> list[Row]:
        """What there is, of all graphs or of those of one function."""
        found = []
        for program in self._of(function):
            for (*_, sizes), family in list(program.families.items()):
                known = ", ".join("x".join(map(str, shape)) or "number" for shape, _ in sizes)
                for each in family.recordings:
                    counts = each.captured.nodes, each.bytes, each.uses, len(each.buffers), each.patched
                    found.append(Row(program.facts.name, known, *counts, each.reason))
        return sorted(found, key=lambda row: row.function)

    def left(self, function: str | None = None) -> list[Left]:
        """The graphs that were to be recorded, and are not, of all or of one function."""
        return sorted([Left(program.facts.name, program.off) for program in self._of(function) if program.off], key=lambda row: row.function)

    def _of(self, function: str | None) -> list[RecordedProgram]:
        """The programs of a function, or all."""
        every = list(self.programs)
        return every if function is None else [each for each in every if each.facts.name.partition(" ")[0] in (function, f"{function}.forward")]

    def forget(self) -> None:
        """Drop all recordings; what was given out stays valid, and later calls record anew."""
        for program in list(self.programs):
            program.forget()


@cache
def table() -> Table:
    """The table of this process."""
    return Table()
