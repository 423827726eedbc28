"""Operations: the nodes of the IR.

An operation has operands, results, attributes, regions and successor blocks, and sits in a doubly linked list inside its block.  Nothing derived
is cached here; analyses keep their own tables keyed by operation.  Operand lists are read freely and changed only through the methods below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .location import UNKNOWN, Location
from .types import Type
from .value import Value

if TYPE_CHECKING:
    from .block import Block, Region
    from .define import OpDefinition

O = TypeVar("O", bound="Operation")
_NEW_VALUE = Value.__new__


class Operation:
    """One operation.  Subclasses are made by `@op` and add no state: `name` and `definition` are theirs, all data is in the slots below."""

    __slots__ = ("attrs", "loc", "next", "operands", "parent", "prev", "regions", "results", "successors")
    name: ClassVar[str] = ""
    definition: ClassVar[OpDefinition | None] = None
    traits: ClassVar[tuple[Any, ...]] = ()
    is_operation: ClassVar[bool] = True  # tells the two kinds of owners of a value apart, without an import

    operands: list[Value]
    results: tuple[Value, ...]
    attrs: dict[str, Any]
    regions: tuple[Region, ...]
    successors: tuple[Block, ...]
    parent: Block | None
    prev: Operation | None
    next: Operation | None
    loc: Location

    if TYPE_CHECKING:

        def __init__(self, *operands_and_attributes: Any, **fields: Any) -> None:
            """`@op` writes the constructor of each class from its fields."""

    @classmethod
    def create(
        cls: type[O],
        operands: Sequence[Value] = (),
        result_types: Sequence[Type] = (),
        attrs: dict[str, Any] | None = None,
        regions: Sequence[Region] = (),
        successors: Sequence[Block] = (),
        loc: Location = UNKNOWN,
    ) -> O:
        """The generic constructor: takes everything as it is, infers and checks nothing (the verifier does)."""
        self = object.__new__(cls)  # what `_setup`, `_note_uses` and `Value` do, without the calls: nothing is made as often as operations
        self.operands = used = list(operands)
        self.attrs = {} if attrs is None else attrs
        self.regions = ()
        if regions:
            self.regions = tuple(regions)
            for region in self.regions:
                region.parent = self
        self.successors = tuple(successors) if successors else ()
        self.parent = self.prev = self.next = None
        self.loc = loc
        for value in used:
            users = value.users
            users[self] = users.get(self, 0) + 1
        if not result_types:
            self.results = ()
        elif len(result_types) == 1:
            value = _NEW_VALUE(Value)
            value.type, value.owner, value.index, value.users, value.hint = result_types[0], self, 0, {}, None
            self.results = (value,)
        else:
            self.results = tuple([Value(type, self, position) for position, type in enumerate(result_types)])
        return self

    def _setup(self, operands: Sequence[Value], attrs: dict[str, Any], regions: Sequence[Region], successors: Sequence[Block], loc: Location) -> None:
        self.operands = list(operands)
        self.attrs = attrs
        self.regions = tuple(regions) if regions else ()
        for region in self.regions:
            region.parent = self
        self.successors = tuple(successors) if successors else ()
        self.parent = self.prev = self.next = None
        self.loc = loc

    def _note_uses(self) -> None:
        """Last when an operation is made: one whose types cannot be inferred is no user of anything."""
        for value in self.operands:
            users = value.users
            users[self] = users.get(self, 0) + 1

    # ---- reading -----------------------------------------------------------------------------------------------------

    @property
    def result(self) -> Value:
        """The only result.  Raises ValueError when there is not exactly one."""
        (value,) = self.results
        return value

    @property
    def parent_op(self) -> Operation | None:
        """The operation whose region holds this one."""
        block = self.parent
        return block.parent.parent if block is not None and block.parent is not None else None

    @property
    def region(self) -> Region:
        """The first region."""
        return self.regions[0]

    @property
    def body(self) -> Block:
        """The entry block of the first region."""
        return self.regions[0].blocks[0]

    @property
    def symbol(self) -> str | None:
        """The `sym_name`, if this operation is a symbol."""
        return self.attrs.get("sym_name")

    @classmethod
    def has_trait(cls, trait: Any) -> bool:
        """True when `trait` (a trait class or instance) was declared; a trait with parameters is found by its class."""
        return any(t is trait or type(t) is trait for t in cls.traits)

    def walk(self, reverse: bool = False) -> Iterator[Operation]:
        """This operation and all nested ones, parents first.  The operation last given may be erased while walking."""
        yield self
        stack: list[Any] = [block for region in reversed(self.regions) for block in reversed(region.blocks)]
        while stack:  # blocks to begin and operations to go on from: a generator for each level would cost more than the walk
            found = stack.pop()
            op = found if found.is_operation else found.last if reverse else found.first
            while op is not None:
                following = op.prev if reverse else op.next
                yield op
                if op.regions:
                    if following is not None:
                        stack.append(following)
                    stack += [block for region in reversed(op.regions) for block in reversed(region.blocks)]
                    break
                op = following

    def is_before(self, other: Operation) -> bool:
        """True when this operation stands before `other` in their common block.  Linear in the distance."""
        op = self.next
        while op is not None:
            if op is other:
                return True
            op = op.next
        return False

    # ---- changing ----------------------------------------------------------------------------------------------------

    def set_operand(self, position: int, value: Value) -> None:
        """Replace one operand."""
        old = self.operands[position]
        if old is value:
            return
        _drop_use(old, self)
        self.operands[position] = value
        value.users[self] = value.users.get(self, 0) + 1

    def set_operands(self, values: Iterable[Value]) -> None:
        """Replace all operands."""
        for old in self.operands:
            _drop_use(old, self)
        self.operands = list(values)
        for value in self.operands:
            value.users[self] = value.users.get(self, 0) + 1

    def detach(self: O) -> O:
        """Take this operation out of its block, uses and all; it may be inserted elsewhere."""
        block = self.parent
        if block is not None:
            block.remove(self)
        return self

    def erase(self) -> None:
        """Remove this operation and all it contains from the IR.  Raises ValueError while a result is still used from outside."""
        for result in self.results:
            if result.users:
                user = next(iter(result.users))
                raise ValueError(f"cannot erase {self.name}: its result is used by {user.name}")
        self.detach()
        self.drop_operands()

    def drop_operands(self) -> None:
        """Forget all operands, here and in nested operations."""
        for value in self.operands:
            _drop_use(value, self)
        self.operands = []
        for region in self.regions:
            for block in region.blocks:
                if block.pending is not None:  # its operations were never made
                    block.give_up()
                    continue
                op = block.first
                while op is not None:
                    if op.regions:
                        op.drop_operands()
                    for value in op.operands:
                        users = value.users  # `_drop_use`, without the call
                        count = users[op] - 1
                        if count:
                            users[op] = count
                        else:
                            del users[op]
                    op.operands = []
                    op = op.next

    def replace(self, values: Sequence[Value]) -> None:
        """Replace the results by `values` everywhere and erase this operation."""
        if len(values) != len(self.results):
            raise ValueError(f"{self.name} has {len(self.results)} results, got {len(values)} replacements")
        for old, new in zip(self.results, values):
            old.replace_all_uses(new)
        self.erase()

    def clone(self, mapping: dict[Any, Any] | None = None) -> Operation:
        """A detached deep copy.  `mapping` sends outer values (and blocks) to their replacements and is extended by all that is copied."""
        mapping = {} if mapping is None else mapping
        copied = object.__new__(type(self))
        _copy_extra(self, copied)
        operands = [mapping.get(value, value) for value in self.operands]
        copied._setup(operands, dict(self.attrs), (), [mapping.get(block, block) for block in self.successors], self.loc)
        copied._note_uses()
        copied.results = tuple([Value(value.type, copied, value.index, value.hint) for value in self.results])
        for old, new in zip(self.results, copied.results):
            mapping[old] = new
        if self.regions:
            from .block import clone_region

            copied.regions = tuple([clone_region(region, mapping) for region in self.regions])
            for region in copied.regions:
                region.parent = copied
        return copied

    # ---- checks and text ---------------------------------------------------------------------------------------------

    def verify(self) -> None:
        """What types cannot say; raises `VerifyError`.  Overridden by operation classes."""

    def produced(self, number: int) -> Sequence[Type]:
        """Types of the arguments that this terminator itself hands to its successor `number`, behind the operands written for it."""
        return ()

    def fold(self) -> Value | Sequence[Value] | None:
        """Existing values (one for each result) that this operation's results always equal, or None.  Overridden by operation classes."""
        return None

    def __str__(self) -> str:
        from .printer import print_op

        return print_op(self)[0]

    def __repr__(self) -> str:
        return f"<{self.name} at {self.loc}>"


class UnregisteredOp(Operation):
    """An operation of a dialect that lect does not know; it prints and parses, and nothing else is known of it."""

    __slots__ = ("name",)

    name: str  # type: ignore[misc]


def _copy_extra(source: Operation, target: Operation) -> None:
    if isinstance(source, UnregisteredOp):
        assert isinstance(target, UnregisteredOp)
        target.name = source.name


def _drop_use(value: Value, user: Operation) -> None:
    count = value.users[user] - 1
    if count:
        value.users[user] = count
    else:
        del value.users[user]


Predicate = Callable[[Operation], bool]
