"""Library calls that copy a parameter to change a part of it, where the parameter itself may be changed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from lect.dialects.loop.attributes import OperandAttr, ViewAttr
from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp, ReturnOp, WriteOp
from lect.ir import Operation, Value
from lect.passes.loop.nests import readers, readers_of_memory

# Library function -> the function that writes to its first argument; none for a copy into a slice of it.
IN_PLACE: Final[Mapping[str, str | None]] = MappingProxyType(
    {
        "aten.slice_scatter.default": None,
        **{
            f"aten.{name}.{overload}": f"aten.{name}_.{overload}"
            for name, overload in (
                ("index_put", "default"), ("index_copy", "default"), ("index_add", "default"), ("index_reduce", "default"), ("put", "default"),
                ("index_fill", "int_Scalar"), ("index_fill", "int_Tensor"), ("scatter", "src"), ("scatter", "value"), ("scatter", "reduce"),
                ("scatter", "value_reduce"), ("scatter_add", "default"), ("scatter_reduce", "two"), ("masked_scatter", "default"),
            )
        },
    }
)  # fmt: skip


def updates_in_place(func: FuncOp) -> list[ExternOp]:
    """The calls whose first argument is a parameter, or the result of such a call, that gets the result of the last of them in the end.

    Nothing may read the parameter behind the first of them, or a result behind the next, and no result may be returned.
    """
    writes = [op for op in func.body if isinstance(op, WriteOp)]
    order = {op: number for number, op in enumerate(func.body)} if writes else {}
    return [op for write in writes for op in _chain_of(write, order)]


def written_operand(op: ExternOp) -> int | None:
    """The number of the operand that the in-place form of a call writes; None when there is no such form, or it reads the operand elsewhere too."""
    if op.callee.leaf not in IN_PLACE or len(op.results) != 1 or not op.args or not isinstance(op.args[0], OperandAttr):
        return None
    number = op.args[0].number
    return number if sum(value is op.operands[number] for value in op.operands) == 1 else None


def _chain_of(write: WriteOp, order: Mapping[Operation, int]) -> list[ExternOp]:
    """The calls that make what is written, first one first; empty when they cannot be in place."""
    parameter, value = write.target, write.value
    chain: list[ExternOp] = []
    view = write.view
    while value is not parameter:
        op: Any = value.op
        number = written_operand(op) if isinstance(op, ExternOp) else None
        if number is None or not _same_layout(view, op.result_views[0]) or not _same_layout(op.result_views[0], write.place) or view.offset:
            return []
        limit = order[chain[0]] if chain else order[write]
        if any(isinstance(user, ReturnOp) or order[user] > limit for user in readers_of_memory(value)):
            return []
        chain.insert(0, op)
        value, view = op.operands[number], op.views[number]
        if value is not parameter and parameter in op.operands:
            return []
    if not chain or not _same_layout(view, write.place) or view.offset != write.place.offset:
        return []
    return chain if _is_free(parameter, write, chain[0], order) else []


def _is_free(parameter: Value, write: WriteOp, first: ExternOp, order: Mapping[Operation, int]) -> bool:
    """True when the old elements of a parameter are read in front of `first` alone, and only `write` writes it."""
    own = readers(parameter)
    found = readers_of_memory(parameter)
    for user in found:
        late = order[user] > order[first]
        if late and (isinstance(user, NestOp | ExternOp) or user not in own):
            return False
        if isinstance(user, WriteOp) and user is not write:
            return False
    return found.count(first) == own.count(first)  # else it reads the parameter through a view that only the library knows


def _same_layout(a: ViewAttr, b: ViewAttr) -> bool:
    """Equal sizes, and equal strides where they matter."""
    if a.sizes != b.sizes:
        return False
    return all(size == 1 or one == other for size, one, other in zip(a.sizes, _strides(a), _strides(b)))


def _strides(view: ViewAttr) -> tuple[Any, ...]:
    return tuple(view.strides or ())
