"""Operations that are one line and end as an earlier one did: attributes and types that were read once are not read again.

    %t1 = host.memory(%x) : !host.buffer<64xf32>
    %t2 = host.memory(%y) : !host.buffer<64xf32>       <- what stands behind the operands is known

Only the form that the printer gives is taken; everything else, and whatever is wrong, is left to the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .diagnostics import ParseError
from .lalr import SyntaxProblem

_VALUES = r"%[A-Za-z0-9_$]+(?:, %[A-Za-z0-9_$]+)*"
# Behind the line stands another operation, or the end of a block: so nothing more belongs to this one.
_LINE = re.compile(rf"(?:({_VALUES}) = )?([A-Za-z_]\w*\.[\w$.]+)(?:(\()({_VALUES})?\))?((?: [{{:] ?[^\n]*)?)\n[ ]*(?=[%}}]|[A-Za-z_]\w*\.)")


class Line(NamedTuple):
    """An operation: tokens `(text, offset)` of its results, name and groups of operands, and what its end says, which other lines share; and where the next
    begins."""

    results: list[Any]
    name: Any
    operands: Any
    end: Any
    next: int


class Lines:
    """The ends of lines that one parse has met; `read` gives what stands behind the operands of an operation, as the grammar reads it."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        self.read = read
        self.known: dict[str, Any] = {}

    def at(self, text: str, offset: int) -> Line | None:
        """The operation that begins at an offset, or None for what the grammar has to read."""
        found = _LINE.match(text, offset)
        if found is None:
            return None
        results, name, opens, operands, end = found.groups()
        made = self.known.get(end)
        if made is None:
            if end[-1:] == "{" or end == " {}" or " loc(" in end:  # a region, an empty one; a place, which no other line has
                return None
            try:
                made = self.known[end] = self.read(end)
            except (ParseError, SyntaxProblem):  # which is found again, at its place
                return None
        place = found.start(3)
        given: Any = () if opens is None else [[((value, place), None) for value in operands.split(", ")]] if operands else [[]]
        first = found.start(1)
        return Line([(value, first) for value in results.split(", ")] if results else [], (name, found.start(2)), given, made, found.end())
