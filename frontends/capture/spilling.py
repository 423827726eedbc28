"""Values of residual code that are used again much later are kept in variables, where there are many: the assembler looks for each on the operand stack.

%a = pyframe.build_list(...)                 %a = pyframe.build_list(...)
... hundreds of operations ...               pyframe.store_local(%a) {id = ".kept.0"}
pyframe.list_append(%l, %a)            =>    ...
pyframe.list_append(%m, %a)                  %1 = pyframe.load_local() {id = ".kept.0"}
                                             pyframe.list_append(%l, %1)
"""

from __future__ import annotations

from typing import NamedTuple

from lect.dialects.pyframe import ops as py
from lect.ir import Block, Operation, Value

FAR = 64  # operations
MANY = 64  # values
# They add to their first operand while it is being built.
_FILLS = frozenset(f"pyframe.{name}" for name in ("list_append", "list_extend", "set_add", "map_add", "dict_update"))


class _Kept(NamedTuple):
    """A value, the operation behind which it is stored, and the operations that load it."""

    value: Value
    behind: Operation
    users: list[Operation]


def keep_in_variables(block: Block) -> tuple[str, ...]:
    """Store values that are used far apart, if there are many; gives the names of the variables."""
    place = {op: number for number, op in enumerate(block)}
    found = [kept for op in block for value in op.results if (kept := _far_apart(value, op, place)) is not None]
    if len(found) < MANY:
        return ()
    names = tuple(f".kept.{number}" for number in range(len(found)))
    for name, kept in zip(names, found):
        block.insert_before(kept.behind.next, py.StoreLocalOp(kept.value, name, loc=kept.behind.loc))
        for user in kept.users:
            loaded = block.insert_before(user, py.LoadLocalOp(name, loc=user.loc)).results[0]
            user.set_operands([loaded if operand is kept.value else operand for operand in user.operands])
    return names


def _far_apart(value: Value, made_by: Operation, place: dict[Operation, int]) -> _Kept | None:
    """How to keep a value; None for one that is used once, or soon."""
    at = place[made_by]
    if not any(place[user] - at > FAR for user in value.users):
        return None
    filling = [user for user in value.users if user.name in _FILLS and user.operands[0] is value]
    behind = max(filling, key=place.__getitem__, default=made_by)
    users = [user for user in value.users if user not in filling]
    if len(users) + any(user.operands.count(value) > 1 for user in users) < 2 or any(place[user] < place[behind] for user in users):
        return None
    return _Kept(value, behind, users) if max(place[user] for user in users) - place[behind] > FAR else None
