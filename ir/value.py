"""Values: results of operations and arguments of blocks, with the table of who uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .types import Type

if TYPE_CHECKING:
    from .block import Block
    from .operation import Operation


class Value:
    """One SSA value.

    `owner` is the operation it is a result of or the block it is an argument of, `index` its position there.  `users` maps each using operation to
    how many of its operands are this value, in order of first use; only `Operation` and the methods here change it.  `hint` is the preferred name.
    """

    __slots__ = ("hint", "index", "owner", "type", "users")

    # A `Type`, and an `Operation` or a `Block`; which ones is the affair of the operations' constraints, so checkers let any field be read.
    type: Any
    owner: Any

    def __init__(self, type: Type, owner: Operation | Block, index: int, hint: str | None = None) -> None:
        self.type = type
        self.owner = owner
        self.index = index
        self.users: dict[Operation, int] = {}
        self.hint = hint

    @property
    def op(self) -> Operation | None:
        """The operation that makes this value, or None for a block argument."""
        owner = self.owner
        return owner if owner.is_operation else None

    @property
    def block(self) -> Block | None:
        """The block in which the value is defined (None while detached)."""
        owner = self.owner
        return owner.parent if owner.is_operation else owner

    @property
    def is_argument(self) -> bool:
        """True for a block argument."""
        return not self.owner.is_operation

    def has_one_use(self) -> bool:
        """Exactly one operand in the whole IR is this value."""
        return len(self.users) == 1 and next(iter(self.users.values())) == 1

    def replace_all_uses(self, other: Value) -> None:
        """Make every user of this value use `other` instead."""
        if other is self:
            return
        mine, theirs = self.users, other.users
        for user, count in mine.items():
            operands = user.operands
            for position, operand in enumerate(operands):
                if operand is self:
                    operands[position] = other
            theirs[user] = theirs.get(user, 0) + count
        self.users = {}
        if other.hint is None:
            other.hint = self.hint

    def replace_uses_if(self, other: Value, condition) -> None:  # type: ignore[no-untyped-def]
        """Like `replace_all_uses`, for the users for which `condition(user)` holds."""
        for user in list(self.users):
            if condition(user):
                for position, operand in enumerate(user.operands):
                    if operand is self:
                        user.set_operand(position, other)

    def __repr__(self) -> str:
        return f"<value {self.hint or '?'}: {self.type}>"
