"""Building: an insertion point and the location new operations get."""

from __future__ import annotations

from typing import TypeVar

from .block import Block
from .location import UNKNOWN, Location
from .operation import Operation

O = TypeVar("O", bound=Operation)


class Builder:
    """Inserts operations before `anchor` in `block` (at the end when it is None).  Operations that have no location get `loc`."""

    __slots__ = ("anchor", "block", "loc")

    def __init__(self, block: Block, anchor: Operation | None = None, loc: Location = UNKNOWN) -> None:
        self.block = block
        self.anchor = anchor
        self.loc = loc

    @classmethod
    def before(cls, op: Operation) -> Builder:
        """A builder right before `op`, with its location."""
        assert op.parent is not None, "the operation is in no block"
        return cls(op.parent, op, op.loc)

    @classmethod
    def after(cls, op: Operation) -> Builder:
        """A builder right behind `op`, with its location."""
        assert op.parent is not None, "the operation is in no block"
        return cls(op.parent, op.next, op.loc)

    def insert(self, op: O) -> O:
        """Insert `op` at the point and return it."""
        if op.loc is UNKNOWN:
            op.loc = self.loc
        block = self.block
        if self.anchor is None:
            return block.append(op)
        return block.insert_before(self.anchor, op)
