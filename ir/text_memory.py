"""The texts of operations that are printed again and again, with few changes between: what did not change is not printed anew.

    texts = TextMemory()
    texts.of(func)      the same as print_op(func)[0]

What a text is made of is compared object by object.  A function that is as it was has the text that it had.  In another one, operations with regions (nests)
that are as they were have the text that they had, but for the names of values.
"""

from __future__ import annotations

from operator import is_
from typing import Any, NamedTuple

from .block import Region
from .operation import Operation
from .printer import End, Known, Printer
from .text_form import Form, form_of
from .value import Value

Parts = list[Any]


class Nested(NamedTuple):
    """An operation with regions as it was: what it is made of itself and inside, and its text."""

    head: Parts
    inside: Parts
    form: Form | None


class TextMemory:
    """The last texts of some operations.  It holds them, until `forget`."""

    def __init__(self) -> None:
        self._whole: dict[Operation, tuple[Parts, set[Operation], str]] = {}
        self._nested: dict[Operation, Nested] = {}
        self._ends: dict[Operation, End] = {}

    def of(self, op: Operation) -> str:
        """The text of an operation."""
        parts: Parts = []
        nested: dict[Operation, tuple[Parts, Parts]] = {}
        _add_parts(op, parts, nested)
        known = self._whole.get(op)
        changed = [inner for inner, own in nested.items() if self._differs(inner, own)]
        if known is not None and not changed and same_parts(known[0], parts):
            return known[2]
        for inner in changed:
            self._remember(inner, *nested[inner])
        printer = Printer()
        printer.known = Known(self._form, self._ends)
        printer.op(op, "")
        text = "\n".join(printer.lines)
        for inner in known[1] - nested.keys() if known is not None else ():
            self._nested.pop(inner, None)
        self._whole[op] = (parts, set(nested), text)
        return text

    def _differs(self, op: Operation, own: tuple[Parts, Parts]) -> bool:
        known = self._nested.get(op)
        return known is None or not (same_parts(known.head, own[0]) and same_parts(known.inside, own[1]))

    def _remember(self, op: Operation, head: Parts, inside: Parts) -> None:
        known = self._nested.get(op)
        if known is None or not same_parts(known.inside, inside):
            self._nested[op] = Nested(head, inside, form_of(op, _outer(op)))
        else:
            self._nested[op] = Nested(head, inside, form_of(op, _outer(op), known.form))

    def _form(self, op: Operation) -> Form | None:
        known = self._nested.get(op)
        return known.form if known is not None else None

    def keep_only(self, ops: list[Operation]) -> None:
        """Forget all other operations."""
        if len(self._whole) > len(ops):
            for op in self._whole.keys() - set(ops):
                for inner in self._whole.pop(op)[1]:
                    self._nested.pop(inner, None)

    def forget(self) -> None:
        """Hold no operations any more."""
        self._whole.clear()
        self._nested.clear()
        self._ends.clear()


def parts_of(op: Operation) -> Parts:
    """All that the text of an operation is made of: lists of the same objects are one text."""
    parts: Parts = []
    _add_parts(op, parts, None)
    return parts


def same_parts(a: Parts, b: Parts) -> bool:
    """Whether two lists are of the same objects."""
    return len(a) == len(b) and all(map(is_, a, b))


def _add_parts(op: Operation, parts: Parts, nested: dict[Operation, tuple[Parts, Parts]] | None) -> None:
    """Collect all that the text of an operation is made of: lists of the same objects are one text.

    With `nested`, what operations in its blocks that have regions are made of is put there, those themselves and what is inside.
    """
    _add_head(op, parts)
    for region in op.regions:
        _add_inside(region, parts, nested)


def _add_head(op: Operation, parts: Parts) -> None:
    parts.append(op)
    parts += op.operands
    for value in op.results:
        parts += (value.type, value.hint)
    attrs = op.attrs
    if attrs:
        parts += attrs
        parts += attrs.values()
    if op.successors:
        parts += op.successors


def _add_inside(region: Region, parts: Parts, nested: dict[Operation, tuple[Parts, Parts]] | None) -> None:
    for block in region.blocks:
        if block.pending is not None:  # its operations are not written down; what they will read are the operands of the one around it
            parts.append(block.pending)
            parts += block.parent_op.operands  # type: ignore[union-attr]
            continue
        for value in block.args:
            parts += (value, value.type, value.hint)
        inner = block.first
        while inner is not None:
            if not inner.regions:  # what `_add_head` does: most operations are here
                parts.append(inner)
                parts += inner.operands
                for value in inner.results:
                    parts += (value.type, value.hint)
                attrs = inner.attrs
                if attrs:
                    parts += attrs
                    parts += attrs.values()
                if inner.successors:
                    parts += inner.successors
            elif nested is None:
                _add_parts(inner, parts, None)
            else:
                parts.append(inner)
                own: tuple[Parts, Parts] = ([], [])
                nested[inner] = own
                _add_head(inner, own[0])
                for each in inner.regions:
                    _add_inside(each, own[1], None)
            inner = inner.next
        parts.append(block)


def _outer(op: Operation) -> list[Value]:
    """The values from outside that an operation and what it contains read, in the order in which they do."""
    own: set[Value] = set(op.results)
    found: dict[Value, None] = dict.fromkeys(op.operands)
    for region in op.regions:
        for block in region.blocks:
            if block.pending is None:
                _add_outer(block, own, found)
    return [value for value in found if value not in own]


def _add_outer(block: Any, own: set[Value], found: dict[Value, None]) -> None:
    own.update(block.args)
    op = block.first
    while op is not None:
        for value in op.operands:
            if value not in own:
                found[value] = None
        own.update(op.results)
        for region in op.regions:
            for inner in region.blocks:
                if inner.pending is None:
                    _add_outer(inner, own, found)
                else:
                    found.update(dict.fromkeys([value for value in op.operands if value not in own]))
        op = op.next
