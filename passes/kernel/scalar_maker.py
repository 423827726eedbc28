"""Kernel operations put in front of another one, at its place in the program: what passes write that replace one computation by another."""

from __future__ import annotations

from lect.dialects.kernel import ops as kernel
from lect.ir import Operation, Pure, Type, Value


class Maker:
    """Puts operations in front of another."""

    def __init__(self, before: Operation) -> None:
        self.before = before

    def insert(self, made: Operation) -> Value:
        """The result of a new operation."""
        made.loc = self.before.loc
        assert self.before.parent is not None
        return self.before.parent.insert_before(self.before, made).results[0]

    def op(self, name: str, *operands: Value) -> Value:
        """A scalar operation."""
        return self.insert(kernel.scalar_op(name)(*operands))

    def const(self, number: float, type: Type) -> Value:
        """A number, or a tile full of it."""
        return self.insert(kernel.ConstOp(number, result_types=[type]))

    def select(self, condition: Value, when_true: Value, when_false: Value) -> Value:
        """A choice."""
        return self.insert(kernel.SelectOp(condition, when_true, when_false))


def erase_unused(*values: Value) -> None:
    """Drop values that nothing reads, and what was computed for them alone."""
    for value in values:
        op = value.op
        if op is not None and Pure in op.traits and not any(result.users for result in op.results):
            operands = tuple(op.operands)
            op.erase()
            erase_unused(*operands)
