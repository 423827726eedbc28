"""Let a slice that is written into an input be in the input before the whole of it is read.

    %0 = functional.slice_scatter(%cache, %k) {dim = 2, start = 5, end = 6} : !t         %0 = functional.slice_scatter(%cache, %k) {.., in_place = true}
    %1 = functional.bmm(%q, %0) : ..                                               =>     %1 = functional.bmm(%q, %0) : ..
    functional.write(%cache, %k) {offset = 40}                                           functional.write(%cache, %0)

A static cache of keys and values is this: each call writes one position, and a product reads all of them.  Written at the end, as graphs write their inputs,
the new elements must be put into a copy of the whole cache first.  The attribute `in_place` asks for the form in which `loop-plan-buffers` finds that the
result may lie in the input.

Done when each write to the input is one of the slices, nothing else reads the input, the result is not returned, and something reads it that
needs it in memory: what reads element by element chooses between old and new ones where it stands, which is cheaper.  `index_put`, `scatter` and opaque
calls such as `index_copy` need no such preparation, nor do results that take the memory of a value that dies: `loop-plan-buffers` decides about those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.creation import CopyOp
from lect.dialects.functional.families import Elementwise
from lect.dialects.functional.gather import SliceScatterOp
from lect.dialects.functional.ops import FuncOp, ReturnOp, WriteOp
from lect.ir import Builder, Context, Operation, Value
from lect.passes.base import Pass
from lect.passes.functional.graphs import functions

VIEWS = frozenset(f"functional.{name}" for name in "reshape permute expand slice diagonal".split())
IN_NESTS = frozenset(f"functional.{name}" for name in "sum prod mean amax amin any all argmax argmin softmax cat pad var_mean slice_scatter write".split())


@dataclass(frozen=True)
class FunctionalReinplace(Pass):
    """Mark slices to be written into inputs at once."""

    name: ClassVar[str] = "functional-reinplace"

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            writes: dict[Value, list[WriteOp]] = {}
            for inner in func.body:
                if isinstance(inner, WriteOp):
                    writes.setdefault(inner.target, []).append(inner)
            for target, listed in writes.items():
                ctx.count("inputs written at once", _write_at_once(func, target, listed))


def _write_at_once(func: FuncOp, target: Value, writes: list[WriteOp]) -> bool:
    """Do it for one input; False when it cannot be or would not pay."""
    chain = _slices_of(target, writes)
    if not chain or not _is_read_whole(chain[-1].output):
        return False
    places = {(op.src, offset_of(op, target)) for op in chain}
    written = {(write.value, write.offset) for write in writes}
    if places != written or len(places) != len(chain) or len(written) != len(writes):
        return False
    if any(op.src.type.strides != op.x.type.strides for op in chain):
        return False  # the writes lie otherwise than the slices
    versions, loc = sum(write.versions for write in writes), writes[-1].loc
    Builder.before(writes[0]).insert(WriteOp(target, chain[-1].output, versions=versions, loc=loc))
    for write in writes:
        write.erase()
    for op in chain:
        op.attrs["in_place"] = True
        laid_out = op.src.op
        if isinstance(laid_out, CopyOp) and laid_out.device is None:  # laid out as the input, which only the write needed
            op.set_operand(1, laid_out.x)
            if not laid_out.output.users:
                laid_out.erase()
    return True


def _slices_of(target: Value, writes: list[WriteOp]) -> list[Any]:
    """The operations that put one slice after another into an input; empty when anything else reads what lies between them."""
    chain: list[Any] = []
    value = target
    while True:
        users = [user for user in value.users if user not in writes]
        user: Any = users[0] if len(users) == 1 else None
        if not isinstance(user, SliceScatterOp) or user.x is not value or user.src is value:
            return chain if value is not target else []
        if user.output.type.strides != target.type.strides or user.src.type.is_empty:
            return []
        chain.append(user)
        value = user.output


def offset_of(op: SliceScatterOp, target: Value) -> int:
    """How many elements behind the input's first the slice begins."""
    return op.start * target.type.strides[op.dim]  # type: ignore[no-any-return]


def _is_read_whole(value: Value) -> bool:
    """True when the value is not returned and, behind views, something reads it that is no nest."""
    work, found = [value], False
    while work:
        for user in work.pop().users:
            if isinstance(user, ReturnOp):
                return False
            if user.name in VIEWS:
                work.append(user.results[0])
            elif Elementwise not in user.traits and user.name not in IN_NESTS:
                found = True
    return found
