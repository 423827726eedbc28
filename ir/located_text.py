"""Texts whose lines know where they come from: what a page or an editor needs to follow a line of a program through the levels.

    lines, places = located_lines(op)              the text of an operation, and the location of each line
    names = StableNames()                          values keep their name from one text to the next
    located_lines(op, names)

Each line of the pretty form holds at most one operation.  Lines that hold none (labels, closing braces) have the location of what they belong to.
"""

from __future__ import annotations

from .location import UNKNOWN, Location
from .operation import Operation
from .printer import Printer
from .value import Value

LocatedLines = tuple[list[str], list[Location]]


class StableNames:
    """The names that values had in earlier texts.  A value has one as long as this object lives, so two texts differ only where the IR does."""

    def __init__(self) -> None:
        self.known: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.next_number = 0


class LocatingPrinter(Printer):
    """Notes the location of each line in `locations_of_lines`; with `stable`, names come from there."""

    def __init__(self, stable: StableNames | None = None) -> None:
        super().__init__()
        self.stable = stable
        self.locations_of_lines: list[Location] = []

    def define(self, value: Value) -> str:
        """Give `value` its name: the one that it had before."""
        stable = self.stable
        if stable is None:
            return super().define(value)
        name = stable.known.get(value)
        if name is None:
            taken, number = self.taken, self.next_number
            self.taken, self.next_number = stable.taken, stable.next_number
            name = stable.known[value] = super().define(value)
            stable.next_number = self.next_number
            self.taken, self.next_number = taken, number
        self.names[value] = name
        return name

    def op(self, op: Operation, indent: str) -> None:
        """Print `op`, and note its location for every line that nothing inside of it has claimed."""
        places, first = self.locations_of_lines, len(self.lines)
        known = len(places)  # lags behind by the first lines of what this operation stands in
        super().op(op, indent)
        lines = len(self.lines)
        if not op.regions:
            places += [op.loc] * (lines - first)
            return
        inner = places[known:]
        del places[known:]
        claimed = iter(inner)
        depth = len(indent) + 2
        for line in self.lines[first:lines]:
            own = len(line) - len(line.lstrip(" ")) < depth
            places.append(op.loc if own else next(claimed, UNKNOWN))


def located_lines(op: Operation, names: StableNames | None = None) -> LocatedLines:
    """The lines of an operation in the pretty form, and the location of each."""
    printer = LocatingPrinter(names)
    printer.op(op, "")
    return printer.lines, printer.locations_of_lines
