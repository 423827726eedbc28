"""The text of an operation with regions as a format for names, so that it can be printed again where its values have other names.

    form = form_of(op, outer)      `outer` are the values from outside that it reads, in their order
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .block import Block
from .operation import Operation
from .printer import Printer, forms_of_lines
from .template import MARK, picker
from .traits import IsolatedFromAbove
from .value import Value

# The places of names while it is not known how many there are of each kind: of values from outside from 0 on, then of hints, then of numbers.
_HINTED, _NUMBERED = 1 << 24, 1 << 25


class Form(NamedTuple):
    """The text of an operation in the body of a function as a format for names, which `pick` takes out of a list: those of values from `outer`, hinted ones
    and numbers.

    `hints` says in their order which hints are asked for a name, and which of these names is free again; `results` are the places of the results' names.
    `inside` is the part of the text that its regions are.
    """

    text: str
    outer: tuple[Value, ...]
    hints: tuple[str | int, ...]
    numbers: int
    results: tuple[int, ...]
    pick: Callable[[list[Any]], tuple[str, ...]]
    inside: Inside


class Inside(NamedTuple):
    """What a form has from the regions of its operation: text, places and hints, and how many names there are of both kinds behind them."""

    text: str
    places: tuple[int, ...]
    hints: tuple[str | int, ...]
    hinted: int
    numbers: int


class _Places(dict[Value, Any]):
    """The place of the name of each value.  Who looks a name up gets a mark for it, and where it belongs is noted in `order`."""

    def __init__(self, outer: Sequence[Value]) -> None:
        super().__init__(zip(outer, range(len(outer))))
        self.order: list[int] = []

    def get(self, value: Value, default: Any = None) -> Any:
        if value not in self:
            return default
        self.order.append(self[value])
        return MARK


class _FormPrinter(Printer):
    """Prints an operation with marks in the place of names; what is `inside` it may be known."""

    def __init__(self, outer: Sequence[Value], inside: Inside | None) -> None:
        super().__init__()
        self.places_of = self.names = _Places(outer)
        self.order = self.places_of.order
        self.hints: list[str | int] = []
        self.hinted = self.numbered = 0
        self.is_plain = True
        self.inside = inside
        self.first_line = self.first_hint = self.first_name = -1

    def define(self, value: Value) -> str:
        place = self.names[value] = self._new_place(value.hint)  # type: ignore[assignment]
        self.order.append(place)
        return MARK

    def _new_place(self, hint: str | None) -> int:
        if hint is None:
            self.numbered += 1
            return _NUMBERED + self.numbered - 1
        self.hints.append(hint)
        self.hinted += 1
        return _HINTED + self.hinted - 1

    def release(self, names: Iterable[Any]) -> None:
        self.hints += [place - _HINTED for place in names if _HINTED <= place < _NUMBERED]

    def _enter(self, op: Operation) -> tuple[set[str], int] | None:
        self.is_plain = self.is_plain and IsolatedFromAbove not in op.traits  # which counts names anew
        return None

    def _regions(self, op: Operation, out: str, indent: str, header: bool) -> None:
        if self.first_line >= 0:
            super()._regions(op, out, indent, header)
            return
        self.first_line, self.first_hint, self.first_name = len(self.lines) + 1, len(self.hints), len(self.order)
        if self.inside is None:
            super()._regions(op, out, indent, header)
            return
        self.lines.append(out + " {")
        self.hints += self.inside.hints
        self.hinted, self.numbered = self.inside.hinted, self.inside.numbers

    def _pending(self, block: Block, indent: str, inner: str) -> None:
        template, _, arg_types, hints = block.pending
        names = [self.places_of[value] for value in block.parent_op.operands]  # type: ignore[union-attr]
        body = template.body(len(names), arg_types, forms_of_lines)
        arguments = [self._new_place(hint) for _, hint in zip(arg_types, hints)]
        if arguments:
            self.lines.append(f"{indent}{self.blocks[block]}({', '.join([f'{MARK}: {type}' for type in arg_types])}):")
            self.order += arguments
        first = _NUMBERED + self.numbered
        self.numbered += body.results
        names += [*arguments, *range(first, first + body.results)]
        if body.lines:
            self.lines.append(body.marked(inner))
            self.order += body.pick(names)
        self.release(arguments)


def form_of(op: Operation, outer: Sequence[Value], known: Form | None = None) -> Form | None:
    """The text of an operation in the body of a function, which reads these values from outside; None where it cannot be one for all names.

    `known` is what it was when its regions were the same.
    """
    if known is not None and (known.outer != tuple(outer) or len(known.results) != len(op.results) or any(value.hint for value in op.results)):
        known = None  # names inside are counted from other numbers on
    printer = _FormPrinter(outer, known.inside if known is not None else None)
    printer.op(op, "  ")
    if not printer.is_plain:
        return None
    hinted = len(outer) - _HINTED
    numbered = len(outer) + printer.hinted - _NUMBERED

    def places(found: Iterable[int]) -> tuple[int, ...]:
        return tuple([place if place < _HINTED else place + hinted if place < _NUMBERED else place + numbered for place in found])

    head = places(printer.order[: printer.first_name])
    if known is not None:
        inside = known.inside
    else:
        own = _format(printer.lines[printer.first_line :])
        inside = Inside(own, places(printer.order[printer.first_name :]), tuple(printer.hints[printer.first_hint :]), printer.hinted, printer.numbered)
    text = f"{_format(printer.lines[: printer.first_line])}\n{inside.text}"
    results = places([printer.places_of[value] for value in op.results])
    return Form(text, tuple(outer), tuple(printer.hints), printer.numbered, results, picker(head + inside.places), inside)


def _format(lines: list[str]) -> str:
    """Lines with marks as a format."""
    return "\n".join(lines).replace("%", "%%").replace(MARK, "%s")
