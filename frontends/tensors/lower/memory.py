"""Memory that several tensors show: what one of them reads behind a write through another, and what an input holds in the end.

A storage has one root, the value of the tensor that it began as.  Every view of it knows the operations that lead from the root to its value.  A write
through a view is kept in a list; when another view is read, the writes are put into the root, each through its view turned around (`reshape` by
`reshape`, `slice` by `slice_scatter`), and the view's operations are written again behind the new root.  So nothing is written that nobody reads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import gather, view
from lect.dialects.functional.creation import CopyOp
from lect.dialects.functional.ops import OpaqueOp, OperandRef
from lect.dialects.functional.types import TensorType
from lect.frontends.tensors.lower.emitter import Emitter, type_of
from lect.frontends.tensors.lt import layout_of
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.sizes import size_of
from lect.ir import LectError, Operation, SymbolRef, Value

Path = tuple[Operation, ...]
# What a write covers: sizes, strides, and the offset from the first element of the input.
Place = tuple[tuple[int, ...], tuple[int, ...], int]

VIEWS: Final = frozenset({view.ReshapeOp, view.PermuteOp, view.ExpandOp, view.SliceOp, view.DiagonalOp, view.AsStridedOp, CopyOp})
# Calls that show a part of complex numbers, for which there are no operations, and those that give the whole with another part; both lay it out alike.
TURNED: Final = MappingProxyType(
    {
        "aten.slice.Tensor": "aten.slice_scatter.default",
        "aten.select.int": "aten.select_scatter.default",
        "aten.diagonal.default": "aten.diagonal_scatter.default",
    }
)
WHOLE: Final = frozenset({view.ReshapeOp, view.PermuteOp, CopyOp})
MAX_WRITES = 4  # parts of one input; beyond that the whole input is written


class Storage:
    """Memory: `root` is what the tensor that it began as holds, but for the writes in `pending`; `source` the number of the input that it belongs to.

    `version` counts writes.  `writes` are the values at the places of an input that were written, in the order of the last write to each.
    """

    __slots__ = ("lost", "pending", "root", "source", "uncounted", "version", "writes")

    def __init__(self, root: Value, source: int | None = None) -> None:
        self.root = root
        self.source = source
        self.version = 0
        self.pending: list[tuple[Path, Value]] = []
        self.writes: dict[Place, Value] = {}
        self.uncounted = 0  # writes that eager's tensors count and traced ones do not
        self.lost = False  # a write through a view that cannot be turned around

    def current(self, e: Emitter) -> Value:
        """What the root holds now."""
        for path, value in self.pending:
            self.root = put(e, path, self.root, value)
        self.pending.clear()
        return self.root


@dataclass(slots=True)
class Entry:
    """What a traced tensor stands for: `value`, as of the storage's `version`; `path` leads there from the root (None: it is not known).

    `tensor` is kept alive, so that its id stays its own.  `lazy` says that eager's tensor may have its conjugate or negative bit set.
    """

    tensor: torch.Tensor
    value: Value
    storage: Storage
    version: int
    path: Path | None
    lazy: bool = False

    def refresh(self, e: Emitter, op: Operation | None) -> None:
        """Bring the value up to the writes through other views.  Raises `LectError` where one of the views is not known."""
        if self.version == self.storage.version:
            return
        if self.storage.lost or self.path is None:
            raise LectError("this reads a tensor whose memory another view of it has changed", op=op)
        self.value = shown(e, self.path, self.storage.current(e))
        self.version = self.storage.version

    def rebase(self, e: Emitter, op: Operation | None) -> None:
        """Show the root, so that all tensors of one storage are views of one value."""
        if self.storage.version:
            self.version = -1
            self.refresh(e, op)

    def write(self, e: Emitter, value: Value, op: Operation | None) -> None:
        """The tensor now holds `value`, which has the type of the one before.  Raises `LectError` for an input that cannot be written so."""
        storage = self.storage
        if self.path is None:
            storage.lost = True
        else:
            storage.pending.append((self.path, value))
        if storage.source is not None:
            self._write_input(e, value, op)
        storage.version += 1
        self.value, self.version = value, storage.version

    def _write_input(self, e: Emitter, value: Value, op: Operation | None) -> None:
        own, writes = type_of(value), self.storage.writes
        if self.path is None or may_overlap(own) or may_overlap(type_of(self.storage.root)):
            raise LectError("this writes to an input through a view that is not lowered", op=op)
        if all(type(step) in WHOLE for step in self.path):
            writes.clear()
        place = own.shape, own.strides, size_of(layout_of(self.tensor).storage_offset)
        writes.pop(place, None)
        writes[place] = value
        if len(writes) > MAX_WRITES:
            root = self.storage.current(e)
            writes.clear()
            writes[type_of(root).shape, type_of(root).strides, 0] = root


def may_overlap(layout: TensorType) -> bool:
    """True unless it is sure that no two elements of a tensor lie in one place."""
    reach = 0
    for stride, size in sorted(zip(layout.strides, layout.shape)):
        if size > 1:
            if stride <= reach:
                return True
            reach += (size - 1) * stride
    return False


def overlaps_in_part(one: TensorMeta, other: TensorMeta) -> bool:
    """True where eager may refuse to write to one of two tensors of a storage what it reads from the other: both are dense and share some places only."""
    if 0 in one.shape or 0 in other.shape:
        return False
    if one.dtype is not other.dtype:
        return True  # their places are counted in other units
    if not is_dense(one) or not is_dense(other):
        return False
    if (one.storage_offset, one.reach) == (other.storage_offset, other.reach):
        return one.strides != other.strides
    return one.storage_offset <= other.reach and other.storage_offset <= one.reach


def is_dense(layout: TensorMeta) -> bool:
    """True for a tensor with elements that fills the memory between its first and its last one."""
    return layout.reach - layout.storage_offset + 1 == math.prod(layout.shape)


def repeats_elements(layout: TensorMeta) -> bool:
    """True for a tensor that shows one place many times along some dim."""
    return any(size > 1 and stride == 0 for size, stride in zip(layout.shape, layout.strides))


def path_between(value: Value, base: Value) -> Path | None:
    """The view operations that lead from `base` to `value`; None when there are others between."""
    found: list[Operation] = []
    while value is not base:
        op = value.op
        if op is None or not (type(op) in VIEWS or (type(op) is OpaqueOp and op.target.leaf in TURNED)):
            return None
        found.append(op)
        value = op.operands[0]
    return tuple(reversed(found))


def shown(e: Emitter, path: Path, base: Value) -> Value:
    """The view operations of `path` once more, on `base`."""
    for op in path:
        copy = op.clone({op.operands[0]: base})
        copy.loc = e.loc
        base = e.block.append(copy).results[0]
    return base


def put(e: Emitter, path: Path, base: Value, value: Value) -> Value:
    """`base` with `value` in the place that `path` shows, laid out as before."""
    levels = [base]
    for op in path[:-1]:
        levels.append(shown(e, (op,), levels[-1]))
    for op, around in zip(reversed(path), reversed(levels)):
        value = e.laid_out(_turned(e, op, around, value), type_of(around))
    return value


def _turned(e: Emitter, op: Any, around: Value, value: Value) -> Value:
    """`around` with `value` where `op` shows it."""
    outer = type_of(around)
    if isinstance(op, OpaqueOp):
        return _turned_call(e, op, around, value)
    if isinstance(op, CopyOp):
        return value
    if isinstance(op, view.PermuteOp):
        return e.permute(value, [op.dims.index(dim) for dim in range(len(op.dims))])
    if isinstance(op, view.SliceOp):
        return e(gather.SliceScatterOp, around, value, dim=op.dim, start=op.start, end=op.end, step=op.step)  # type: ignore[no-any-return]
    if isinstance(op, view.DiagonalOp):
        return e(gather.DiagonalScatterOp, around, value, offset=op.offset, dim1=op.dim1, dim2=op.dim2)  # type: ignore[no-any-return]
    if isinstance(op, view.AsStridedOp):
        return e(gather.AsStridedScatterOp, around, value, size=op.size, stride=op.stride, offset=op.offset)  # type: ignore[no-any-return]
    if type_of(value).count != outer.count:
        raise LectError("this writes to a tensor that repeats its elements", op=op)
    return e.reshape(value, outer.shape)


def _turned_call(e: Emitter, op: OpaqueOp, around: Value, value: Value) -> Value:
    """The same for a view that is a library call, whose first argument is its only operand."""
    args = (OperandRef(0), OperandRef(1), *op.args[1:])
    made = OpaqueOp([around, value], SymbolRef(TURNED[op.target.leaf]), args=args, kwargs=dict(op.kwargs), result_types=[type_of(around)], loc=e.loc)
    return e.block.append(made).results[0]
