"""What the recorder wrote for one call, to be written again for the next call of its kind.

A rule sees the types of its operands, which of them are one value, and the other arguments: what it writes depends on nothing else.  So what it wrote
is remembered beside the metadata of the result, by the types of the operands, and a further call with such arguments (the next layer of a model, as a
rule) copies the operations without asking the rule, without inferring types and without checking them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lect.ir import Block, Location, Operation, Type, Value


class Step(NamedTuple):
    """One operation: `operands` are positions among the values of the call, which are its operands and then the results of the steps before."""

    cls: type[Operation]
    operands: tuple[int, ...]
    attrs: dict[str, Any]
    types: tuple[Type, ...]


class Recipe(NamedTuple):
    """`results` are the positions of the results among the values; for a result that is a view of an argument there is in `paths` which steps lead from
    that argument's value to it, None when others than view operations do."""

    steps: tuple[Step, ...]
    results: tuple[int, ...]
    paths: tuple[tuple[int, ...] | None, ...]


def signature(values: Sequence[Value]) -> Any:
    """What a rule sees of operands: their types, and which of them are the same value."""
    types = tuple([value.type for value in values])
    if len(values) > 1 and len(set(values)) < len(values):
        return types, tuple([values.index(value) for value in values])
    return types


def written(block: Block, last: Operation | None, operands: Sequence[Value]) -> tuple[list[Step], dict[Value, int], list[Operation]] | None:
    """The steps written behind `last`, the positions of all values, and the operations; None when they use something else or have regions."""
    positions: dict[Value, int] = {}
    for number, value in enumerate(operands):
        positions.setdefault(value, number)
    count = len(operands)
    steps: list[Step] = []
    ops: list[Operation] = []
    op = block.first if last is None else last.next
    while op is not None:
        if op.regions or op.successors or any(value not in positions for value in op.operands):
            return None
        types = tuple([value.type for value in op.results])
        steps.append(Step(type(op), tuple([positions[value] for value in op.operands]), dict(op.attrs), types))
        ops.append(op)
        for value in op.results:
            positions[value] = count
            count += 1
        op = op.next
    return steps, positions, ops


def write(block: Block, loc: Location, steps: Sequence[Step], values: list[Value]) -> list[Operation]:
    """Append the operations of a recipe to `block`; their results go behind the operands in `values`."""
    ops: list[Operation] = []
    for cls, operands, attrs, types in steps:
        op = cls.create([values[position] for position in operands], types, attrs.copy(), loc=loc)
        ops.append(block.append(op))
        values.extend(op.results)
    return ops
