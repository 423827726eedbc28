"""Blocks and regions: the intrusive list of operations, and the list of blocks of a control-flow graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from .location import Location
from .operation import Operation
from .types import Type
from .value import Value

O = TypeVar("O", bound=Operation)
_NEW: Callable[[type[Any]], Any] = object.__new__


class Block:
    """A sequence of operations with arguments.  Insertion and removal are O(1); there are no positions to keep up to date.

    `pending` is None, or what writes the operations down when somebody looks at them: see `ir/template.py`.
    """

    __slots__ = ("args", "first", "hint", "last", "parent", "pending")
    is_operation: ClassVar[bool] = False
    pending: Any

    def __init__(self, arg_types: Sequence[Type] = (), hints: Sequence[str | None] = (), hint: str | None = None) -> None:
        self.args: list[Value] = []
        self.first: Operation | None = None
        self.last: Operation | None = None
        self.parent: Region | None = None
        self.hint = hint
        self.pending = None
        for position, type in enumerate(arg_types):
            self.add_arg(type, hints[position] if position < len(hints) else None)

    def give_up(self) -> None:
        """Forget what is pending."""
        self.pending = None

    def add_arg(self, type: Type, hint: str | None = None) -> Value:
        """Append an argument."""
        value = Value(type, self, len(self.args), hint)
        self.args.append(value)
        return value

    def erase_arg(self, position: int) -> None:
        """Remove an unused argument.  Raises ValueError when it has users."""
        if self.args[position].users:
            raise ValueError("cannot erase a block argument that has users")
        del self.args[position]
        for index, value in enumerate(self.args):
            value.index = index

    @property
    def parent_op(self) -> Operation | None:
        """The operation that holds this block."""
        return self.parent.parent if self.parent is not None else None

    @property
    def terminator(self) -> Operation | None:
        """The last operation, if it is a terminator."""
        from .traits import Terminator

        return self.last if self.last is not None and self.last.has_trait(Terminator) else None

    def __iter__(self) -> Iterator[Any]:  # of `Operation`; which class is what the caller asks next
        """Operations in order; the one last given may be erased meanwhile."""
        op = self.first
        while op is not None:
            following = op.next
            yield op
            op = following

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def append(self, op: O) -> O:
        """Put `op` at the end."""
        op.parent = self
        op.next = None
        last = op.prev = self.last
        if last is None:
            self.first = op
        else:
            last.next = op
        self.last = op
        return op

    def make(self, kind: type[Operation], operands: Sequence[Value], result: Type, attrs: dict[str, Any], loc: Location, hint: str | None = None) -> Value:
        """Put a new operation of plain operands and one result at the end; its result.  As `append(kind.create(...))`, for those that are frequent."""
        op = _NEW(kind)
        op.operands = [*operands]
        op.attrs = attrs
        op.regions = op.successors = ()
        op.parent = self
        op.next = None
        op.loc = loc
        last = op.prev = self.last
        if last is None:
            self.first = op
        else:
            last.next = op
        self.last = op
        for value in operands:
            users = value.users
            users[op] = users.get(op, 0) + 1
        made = _NEW(Value)
        made.type, made.owner, made.index, made.users, made.hint = result, op, 0, {}, hint
        op.results = (made,)
        return made

    def insert_before(self, anchor: Operation | None, op: O) -> O:
        """Put `op` before `anchor` (at the end when None)."""
        if anchor is None:
            return self.append(op)
        op.parent = self
        before = anchor.prev
        op.prev, op.next, anchor.prev = before, anchor, op
        if before is None:
            self.first = op
        else:
            before.next = op
        return op

    def remove(self, op: Operation) -> None:
        """Take `op` out of the list; its operands and uses stay."""
        before, after = op.prev, op.next
        if before is None:
            self.first = after
        else:
            before.next = after
        if after is None:
            self.last = before
        else:
            after.prev = before
        op.parent = op.prev = op.next = None

    def move_all(self, ops: Iterable[Operation], before: Operation | None = None) -> None:
        """Move operations from wherever they are into this block, before `before` (at the end when None), in the given order."""
        for op in list(ops):
            op.detach()
            self.insert_before(before, op)

    def split_before(self, op: Operation) -> Block:
        """Cut this block in two; `op` and all behind it go to a new block right after this one in the region."""
        tail = Block()
        moving = []
        cursor: Operation | None = op
        while cursor is not None:
            moving.append(cursor)
            cursor = cursor.next
        tail.move_all(moving)
        if self.parent is not None:
            self.parent.insert(self.parent.blocks.index(self) + 1, tail)
        return tail

    def predecessors(self) -> list[Block]:
        """Blocks of the region that branch here."""
        if self.parent is None:
            return []
        return [block for block in self.parent.blocks if block.last is not None and any(s is self for s in block.last.successors)]

    def __repr__(self) -> str:
        return f"<block {self.hint or ''} with {len(self.args)} arguments>"


class Region:
    """An ordered list of blocks; the first is the entry."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self.blocks: list[Block] = []
        self.parent: Operation | None = None
        for block in blocks:
            self.append(block)

    @property
    def entry(self) -> Block:
        """The first block.  Raises IndexError on an empty region."""
        return self.blocks[0]

    def append(self, block: Block) -> Block:
        """Add a block at the end."""
        block.parent = self
        self.blocks.append(block)
        return block

    def insert(self, position: int, block: Block) -> Block:
        """Add a block at a position."""
        block.parent = self
        self.blocks.insert(position, block)
        return block

    def remove(self, block: Block) -> None:
        """Drop a block that nothing branches to, operations and all."""
        for op in block:
            op.drop_operands()
        self.blocks.remove(block)
        block.parent = None

    def take(self, other: Region) -> None:
        """Move all blocks of `other` to the end of this region."""
        for block in other.blocks:
            self.append(block)
        other.blocks = []

    def walk(self) -> Iterator[Operation]:
        """All operations inside, parents first."""
        for block in self.blocks:
            for op in block:
                yield from op.walk()


def clone_region(region: Region, mapping: dict[Any, Any]) -> Region:
    """A copy of `region`; values and blocks made inside are added to `mapping`."""
    copied = Region()
    for block in region.blocks:
        twin = Block(hint=block.hint)
        for value in block.args:
            mapping[value] = twin.add_arg(value.type, value.hint)
        mapping[block] = twin
        copied.append(twin)
    for block, twin in zip(region.blocks, copied.blocks):
        for op in block:
            twin.append(op.clone(mapping))
    _fix_forward_references(region, copied, mapping)
    return copied


def _fix_forward_references(source: Region, copied: Region, mapping: dict[Any, Any]) -> None:
    """An operation copied before the one that makes its operand (a back edge of the block order) still names the original's value."""
    if len(source.blocks) < 2:
        return
    inside = {value for block in source.blocks for value in block.args}
    inside.update(value for op in source.walk() for value in op.results)
    for op in copied.walk():
        for position, value in enumerate(op.operands):
            if value in inside:
                op.set_operand(position, mapping[value])
