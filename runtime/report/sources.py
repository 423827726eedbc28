"""The program's source: the files that operations, guards and graph breaks come from."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Set
from types import CodeType
from typing import Any

from lect.ir import Location

WHOLE = 1500  # lines of a file that is shown whole; of a longer one, what is around the lines that matter
AROUND = 60


class SourceTable:
    """Files by number, and places as (file, line)."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.used: dict[int, set[int]] = {}
        self._known: dict[Location, tuple[int, int] | None] = {}

    def place(self, loc: Location) -> tuple[int, int] | None:
        """File number and line of a location; None for an unknown one."""
        if loc in self._known:
            return self._known[loc]
        found = self.line(loc.file, loc.line) if loc.known else None
        self._known[loc] = found
        return found

    def line(self, file: str, line: int) -> tuple[int, int]:
        """File number and line."""
        number = self.files.setdefault(file, len(self.files))
        self.used.setdefault(number, set()).add(line)
        return number, line

    def reached(self, called: Set[tuple[Location, CodeType]], locs: Iterable[Location]) -> list[list[int]]:
        """For each line that calls functions, as [file, line, file, line, ...], itself and all lines of these functions and of what they call.

        `called` are places and the code that was called there, `locs` the places that texts speak of.  It is not known which call of a function a line is of.
        """
        lines: dict[tuple[str, str | None], set[Location]] = {}
        for loc in locs:
            lines.setdefault((loc.file, loc.function), set()).add(loc)
        calls: dict[tuple[int, int], set[tuple[str, str | None]]] = {}
        inside: dict[tuple[str, str | None], set[tuple[str, str | None]]] = {}
        for loc, code in called:
            place, callee = self.place(loc), (code.co_filename, code.co_qualname)
            if place is not None:
                calls.setdefault(place, set()).add(callee)
                inside.setdefault((loc.file, loc.function), set()).add(callee)
        found = []
        for place, callees in sorted(calls.items()):
            known, work = set(callees), list(callees)
            while work:
                new = inside.get(work.pop(), set()) - known
                known |= new
                work += new
            reached = [self.place(loc) for function in known for loc in lines.get(function, ())]
            places = sorted({each for each in reached if each is not None} - {place})
            if places:
                found.append([number for pair in (place, *places) for number in pair])
        return found

    def spelled(self, text: str) -> tuple[int, int] | None:
        """The place that an event spells as `file:line` or `file:line:column`; None when it is none."""
        parts = text.rsplit(":", 2)
        if len(parts) == 3 and parts[1].isdecimal() and parts[2].isdecimal():
            return self.line(parts[0], int(parts[1]))
        parts = text.rsplit(":", 1)
        return self.line(parts[0], int(parts[1])) if len(parts) == 2 and parts[1].isdecimal() else None

    def texts(self) -> list[dict[str, Any]]:
        """The files: name, and pairs of first line and lines.  One that cannot be read has no lines."""
        return [{"name": name, "parts": self._parts(name, self.used[number])} for name, number in self.files.items()]

    def _parts(self, name: str, used: Iterable[int]) -> list[dict[str, Any]]:
        lines = [line.rstrip("\n") for line in linecache.getlines(name)]
        if len(lines) <= WHOLE:
            return [{"first": 1, "lines": lines}] if lines else []
        parts: list[tuple[int, int]] = []
        for line in sorted(used):
            first, last = max(1, line - AROUND), min(len(lines), line + AROUND)
            if parts and first <= parts[-1][1] + 1:
                parts[-1] = (parts[-1][0], max(last, parts[-1][1]))
            else:
                parts.append((first, last))
        return [{"first": first, "lines": lines[first - 1 : last]} for first, last in parts]
