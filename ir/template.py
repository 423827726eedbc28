"""Templates: the operations of a block as data, to be written down again and again over other values.

Making an operation from a template costs half of what its constructor does: nothing is inferred, looked up or checked.  A template is for blocks of
operations without regions and successors, with at most one result each.

A block that is *pending* is not written down before somebody looks at its operations.  Most never are: what passes ask of a nest they ask of one of
its form, and many nests are inlined or joined before anything reads them.  What a pending block will read are the operands of the operation that
holds it, each in its place, so those operands may be replaced one by one but not be given another order or number.  The operations of a pending
block are no users of anything: who asks for the users of a value from outside of the operation that reads it goes by that operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from .block import Block
from .location import UNKNOWN, Location
from .operation import Operation
from .types import Type
from .value import Value

Line = tuple[str, tuple[int, ...], int]  # a format for names, the numbers of their values, and the number of the place
MARK = "\0"  # no text of an operation has it
_NEW_VALUE = Value.__new__
_NEW_OPERATION = object.__new__


def picker(places: Sequence[int]) -> Callable[[list[Any]], tuple[str, ...]]:
    """A function that takes the items at these places out of a list."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda items: tuple([items[place] for place in places])


class BodyText:
    """The text of a template: its lines, how many results they have, and `pick`, which takes the names of all lines out of those of all values."""

    __slots__ = ("_marked", "_texts", "lines", "pick", "results")

    def __init__(self, lines: Sequence[Line], results: int) -> None:
        self.lines = lines
        self.results = results
        self.pick = picker([number for _, numbers, _ in lines for number in numbers])
        self._texts: dict[str, str] = {}
        self._marked: dict[str, str] = {}

    def text(self, indent: str) -> str:
        """All lines as one format."""
        found = self._texts.get(indent)
        if found is None:
            found = self._texts[indent] = "\n".join([indent + form for form, _, _ in self.lines])
        return found

    def marked(self, indent: str) -> str:
        """All lines with `MARK` in the place of names."""
        found = self._marked.get(indent)
        if found is None:
            found = self._marked[indent] = self.text(indent) % ((MARK,) * sum(len(numbers) for _, numbers, _ in self.lines))
        return found


class BlockTemplate:
    """The operations of `block`, whose operands are `given` values, arguments or results of the block; `places` numbers their locations."""

    __slots__ = ("_body", "steps")

    def __init__(self, block: Block, given: Sequence[Value], places: Mapping[Location, int]) -> None:
        numbers: dict[Value, int] = {}
        for value in (*given, *block.args):
            numbers[value] = len(numbers)
        self._body: BodyText | None = None
        self.steps: list[tuple[type[Operation], dict[str, Any], int, Type | None, tuple[int, ...]]] = []
        for op in block:
            operands = tuple([numbers[value] for value in op.operands])
            self.steps.append((type(op), dict(op.attrs), places[op.loc], op.results[0].type if op.results else None, operands))
            for value in op.results:
                numbers[value] = len(numbers)

    def body(self, given: int, arg_types: Sequence[Type], forms: Callable[[Block, Sequence[Value]], list[tuple[str, tuple[int, ...]]]]) -> BodyText:
        """The operations as text, over so many given values.

        `forms` makes the lines of a block that is written down once for that: each a format for names, and the numbers of the values that these are of.
        """
        if self._body is None:
            block = Block(arg_types)
            values = [Value(block.args[0].type if block.args else None, block, number) for number in range(given)]  # type: ignore[arg-type]
            places = [UNKNOWN] * (1 + max([step[2] for step in self.steps], default=0))
            self.fill(block, values, places)
            lines = [(*form, step[2]) for form, step in zip(forms(block, values), self.steps)]
            self._body = BodyText(lines, sum(step[3] is not None for step in self.steps))
        return self._body

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


class PendingBlock(Block):
    """A block that is written down from a template when it is first looked at; from there on it is a plain `Block`.

    `places` are the locations that the template numbers, `arg_types` and `hints` the arguments.
    """

    __slots__ = ()

    def __init__(self, template: BlockTemplate, places: Sequence[Location], arg_types: Sequence[Type], hints: Sequence[str | None]) -> None:
        self.parent = self.hint = None
        self.pending = (template, places, arg_types, hints)

    def give_up(self) -> None:
        """Become a plain block without arguments and operations."""
        self.__class__ = Block  # type: ignore[assignment]
        self.args = []
        self.first = self.last = self.pending = None

    def _write_down(self) -> None:
        template, places, arg_types, hints = self.pending
        self.give_up()
        for type, hint in zip(arg_types, hints):
            self.add_arg(type, hint)
        template.fill(self, self.parent_op.operands, places)  # type: ignore[union-attr]


def _when_asked(name: str) -> property:
    """A field of a pending block: whoever reads or sets it finds a plain block."""

    def get(block: Any) -> Any:
        block._write_down()
        return getattr(block, name)

    def put(block: Any, value: Any) -> None:
        block._write_down()
        setattr(block, name, value)

    return property(get, put)


for _field in ("args", "first", "last"):
    setattr(PendingBlock, _field, _when_asked(_field))
