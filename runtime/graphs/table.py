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
    """A recording as a line of the table: the graph, how many steps and bytes it has, how often it ran, arguments that are copied, addresses that were
    patched, and why it was made."""

    function: str
    nodes: int
    bytes: int
    uses: int
    copied: int
    patched: int
    reason: str

    def text(self) -> str:
        """The line."""
        changes = f"{self.copied} arguments copied, {self.patched} addresses patched"
        return f"{self.function}: {self.nodes} steps, {self.bytes / 1e6:.1f} MB, {self.uses} replays, {changes}; {self.reason}"


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
        for program in list(self.programs):
            name = program.facts.name
            if function is None or name.partition(" ")[0] in (function, f"{function}.forward"):
                found += [
                    Row(name, each.captured.nodes, each.bytes, each.uses, len(each.buffers), each.patched, each.reason)
                    for family in list(program.families.values())
                    for each in family.recordings
                ]
        return sorted(found, key=lambda row: row.function)

    def forget(self) -> None:
        """Drop all recordings; what was given out stays valid, and later calls record anew."""
        for program in list(self.programs):
            program.forget()


@cache
def table() -> Table:
    """The table of this process."""
    return Table()
