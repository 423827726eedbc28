"""Texts whose lines know where they come from: what a page or an editor needs to follow a line of a program through the levels.

    lines, places = located_lines(op)              the text of an operation, and the location of each line
    names = StableNames()                          values keep their name from one text to the next
    located_lines(op, names)

Each line of the pretty form holds at most one operation.  Lines that hold none (labels, closing braces) have the location of what they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .block import Block, Region
from .location import UNKNOWN, Location
from .operation import Operation
from .printer import Printer
from .value import Value

LocatedLines = tuple[list[str], list[Location]]


class Scope:
    """The names of one isolated operation: `owners` says of which value a name is, `taken` which are no free names."""

    def __init__(self) -> None:
        self.owners: dict[str, Value] = {}
        self.taken: set[str] = set()
        self.next_number = 0


class StableNames:
    """The names that values had in earlier texts.  A value has one as long as it and the function around it live, so two texts differ only where the IR
    does."""

    def __init__(self) -> None:
        self.known: dict[Value, str] = {}
        self.scopes: dict[Operation | None, Scope] = {}
        self.pending: dict[Block, list[str]] = {}  # the names of values that do not exist yet

    def scope(self, op: Operation | None) -> Scope:
        """The names of an isolated operation."""
        return self.scopes.setdefault(op, Scope())


class LocatingPrinter(Printer):
    """Notes the location of each line in `locations_of_lines`; with `stable`, names come from there."""

    def __init__(self, stable: StableNames | None = None) -> None:
        super().__init__()
        self.short = False
        self.stable = stable
        self.locations_of_lines: list[Location] = []
        self.scope = Scope()
        self.given: list[str] | None = None  # the names that the block at hand had before
        self.fresh: list[str] = []
        self.in_pending = False
        if stable is not None:
            self._open(stable.scope(None))

    def _open(self, scope: Scope) -> None:
        self.scope.next_number = self.next_number
        self.scope, self.taken, self.next_number = scope, scope.taken, scope.next_number

    def define(self, value: Value) -> str:
        """Give `value` its name: the one that it had before."""
        stable, owners = self.stable, self.scope.owners
        if stable is None:
            return super().define(value)
        name = stable.known.get(value)
        if name is None or owners.get(name, value) is not value:
            name = stable.known[value] = super().define(value)
        owners[name] = value
        self.taken.add(name)
        self.names[value] = name
        return name

    def _enter(self, op: Operation) -> Any:
        saved = super()._enter(op)
        if self.stable is None or saved is None:
            return saved
        outer = self.scope
        self.taken, self.next_number = saved
        self._open(self.stable.scope(op))
        return outer

    def _leave(self, saved: Any) -> None:
        if isinstance(saved, Scope):
            self._open(saved)
        else:
            super()._leave(saved)

    def release(self, names: Sequence[str]) -> None:
        """Let others have these names."""
        super().release(names)
        for name in names:
            self.scope.owners.pop(name, None)

    # ---- blocks that are not written down ----------------------------------------------------------------------------

    def _pending(self, block: Block, indent: str, inner: str) -> None:
        """Print a block that is not written down; its values have the names that they will have when it is."""
        known = self.stable.pending if self.stable is not None else {}
        self.given, self.fresh = known.get(block), []
        self.in_pending = self.locations = True  # with locations, each of its lines is one by itself
        super()._pending(block, indent, inner)
        self.in_pending = self.locations = False
        known[block], self.given = self.fresh, None

    def new_name(self, hint: str | None) -> str:
        """A name that is free, or in a block that is not written down the one that it had."""
        name = super().new_name(hint) if self.given is None else self.given[len(self.fresh)]
        self.fresh.append(name)
        return name

    def new_numbers(self, count: int) -> list[str]:
        """So many names without hints."""
        first = len(self.fresh)
        names = super().new_numbers(count) if self.given is None else self.given[first : first + count]
        self.fresh += names
        return names

    def place(self, loc: Location) -> str:
        """Note the location of a line instead of printing it."""
        if self.in_pending:
            self.locations_of_lines.append(loc)
        return ""

    def region(self, region: Region, indent: str, header: bool) -> None:
        """Print the blocks of a region; values of one that has been written down since have the names that they had before."""
        if self.stable is not None:
            for block in region.blocks:
                if block.pending is None and block in self.stable.pending:
                    values = [*block.args, *[value for op in block for value in op.results]]
                    for value, name in zip(values, self.stable.pending.pop(block)):
                        self.stable.known.setdefault(value, name)
        super().region(region, indent, header)

    # ---- lines -------------------------------------------------------------------------------------------------------

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
    printer.scope.next_number = printer.next_number
    return printer.lines, printer.locations_of_lines
