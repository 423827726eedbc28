"""Templates: the operations of a block as data, to be written down again and again over other values.

Making an operation from a template costs half of what its constructor does: nothing is inferred, looked up or checked.  A template is for blocks of
operations without regions and successors, with at most one result each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .block import Block
from .location import Location
from .operation import Operation
from .types import Type
from .value import Value

_NEW_VALUE = Value.__new__
_NEW_OPERATION = object.__new__


class BlockTemplate:
    """The operations of `block`, whose operands are `given` values, arguments or results of the block; `places` numbers their locations."""

    __slots__ = ("steps",)

    def __init__(self, block: Block, given: Sequence[Value], places: Mapping[Location, int]) -> None:
        numbers: dict[Value, int] = {}
        for value in (*given, *block.args):
            numbers[value] = len(numbers)
        self.steps: list[tuple[type[Operation], dict[str, Any], int, Type | None, tuple[int, ...]]] = []
        for op in block:
            operands = tuple([numbers[value] for value in op.operands])
            self.steps.append((type(op), dict(op.attrs), places[op.loc], op.results[0].type if op.results else None, operands))
            for value in op.results:
                numbers[value] = len(numbers)

    def fill(self, block: Block, given: Sequence[Value], places: Sequence[Location]) -> None:
        """Put the operations into an empty block that has its arguments."""
        values = [*given, *block.args]
        last: Any = None
        for kind, attrs, place, type, numbers in self.steps:
            op: Any = _NEW_OPERATION(kind)
            count = len(numbers)
            if count == 1:
                first = values[numbers[0]]
                first.users[op] = 1
                op.operands = [first]
            elif count == 2:
                first, second = values[numbers[0]], values[numbers[1]]
                first.users[op] = 1
                users = second.users
                users[op] = users.get(op, 0) + 1
                op.operands = [first, second]
            else:
                op.operands = [values[number] for number in numbers]
                for value in op.operands:
                    users = value.users
                    users[op] = users.get(op, 0) + 1
            op.attrs = attrs.copy() if attrs else {}
            op.regions = ()
            op.successors = []
            op.loc = places[place]
            op.parent, op.prev, op.next = block, last, None
            if last is None:
                block.first = op
            else:
                last.next = op
            last = op
            if type is None:
                op.results = ()
            else:
                value = _NEW_VALUE(Value)
                value.type, value.owner, value.index, value.users, value.hint = type, op, 0, {}, None
                op.results = (value,)
                values.append(value)
        block.last = last
