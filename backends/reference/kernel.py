"""The meaning of tile programs, executed: program by program, every tile a tensor with one dim for each axis of its function.

Very slow, and as literal as it can be: the oracle for passes over kernels and for the code printed from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from lect.backends.reference.loop import DTYPES, SCALAR, reduce, reduce_index, scan
from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.fitting import covering
from lect.dialects.kernel.types import element_of
from lect.ir import Block, LectError, Operation, Value
from lect.ir.index_map import IndexMap
from lect.ir.specialize import specialized
from lect.ir.symbolic import Atom, Expr


def run(func: Operation, memory: Sequence[torch.Tensor], programs: Iterable[int] | None = None, sizes: Sequence[int] = ()) -> None:
    """Run a `kernel.func` on the flat memory of its parameters, which it changes in place: all programs of its grid, or those given by number.

    `sizes` are the values of its size symbols.

    Raises `LectError` for what is no kernel, for a wrong number of parameters, and for an access outside of the memory.
    """
    if not isinstance(func, kernel.FuncOp):
        raise LectError(f"this runs 'kernel.func', not '{func.name}'", op=func)
    args = func.pointers
    if len(memory) != len(args):
        raise LectError(f"the kernel takes {len(args)} parameters, got {len(memory)}", op=func)
    if len(sizes) != len(func.symbols or ()):
        raise LectError(f"the kernel takes {len(func.symbols or ())} sizes, got {len(sizes)}", op=func)
    if sizes:
        func = specialized(func, dict(enumerate(sizes)))
        assert isinstance(func, kernel.FuncOp)
        args = func.pointers
    numbers = list(itertools.product(*[range(size) for size in func.grid]))
    for number in range(len(numbers)) if programs is None else programs:
        Program(func, dict(zip(args, memory)), numbers[number]).block(func.body)


class Program:
    """One program: `values` are tensors of one dim for each axis (size 1 where a value does not vary), `number` its place in the grid."""

    def __init__(self, func: kernel.FuncOp, values: dict[Value, torch.Tensor], number: tuple[int, ...]) -> None:
        self.values = values
        self.number = number
        self.axes = func.axes
        self.names = func.axes.names
        self.blocks = dict(func.blocks.sizes)
        for axis in func.axes.axes:
            if axis.role == "whole" and axis.extent > self.blocks[axis.name]:  # of a version for other sizes
                self.blocks[axis.name] = covering(axis.extent)
        self.rank = len(self.names)

    def block(self, block: Block) -> None:
        """All operations of a block."""
        for op in block:
            handler = HANDLERS.get(op.name)
            if handler is not None:
                handler(self, op)
            else:
                name = op.name.partition(".")[2]
                self.values[op.result] = SCALAR[name](*self.together([self.values[value] for value in op.operands]))

    def together(self, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Tensors broadcast to one shape."""
        return torch.broadcast_tensors(*tensors)

    def number_tensor(self, value: float | int | bool, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """A number that varies over no axis."""
        return torch.full((1,) * self.rank, value, dtype=dtype)

    def position(self, axis: str) -> int:
        """The dim of an axis."""
        return self.names.index(axis)

    # ---- indices -----------------------------------------------------------------------------------------------------

    def program_id(self, op: kernel.ProgramIdOp) -> None:
        self.values[op.result] = self.number_tensor(self.number[op.dim])

    def lanes(self, op: kernel.LanesOp) -> None:
        axis, block = kernel.axis_of(op, op.axis), self.blocks[op.axis]
        shape = [block if name == op.axis else 1 for name in self.names]
        indices = torch.arange(block).view(shape)
        if op.base is not None:
            base = self.values[op.base]
            indices = indices + (base * block if axis.role == "grid" else base)
        self.values[op.result] = indices

    def bound(self, op: kernel.BoundOp) -> None:
        self.values[op.result] = self.values[op.lanes] < kernel.axis_of(op, op.axis).extent

    def evaluate(self, map: IndexMap, operands: Sequence[torch.Tensor]) -> torch.Tensor:
        """The only result of a map."""
        return self._expression(map.offset, operands[: map.num_dims], operands[map.num_dims :])

    def _expression(self, expr: Expr, dims: Sequence[torch.Tensor], indices: Sequence[torch.Tensor]) -> torch.Tensor:
        total = self.number_tensor(expr.const)
        for atoms, factor in expr.terms:
            term: Any = factor
            for atom in atoms:
                term = self._atom(atom, dims, indices) * term
            total = total + term
        return total

    def _atom(self, atom: Atom, dims: Sequence[torch.Tensor], indices: Sequence[torch.Tensor]) -> torch.Tensor:
        if atom.kind in ("d", "i"):
            return (dims if atom.kind == "d" else indices)[atom.index].to(torch.int64)
        left, right = [self._expression(argument, dims, indices) for argument in atom.args]
        if atom.kind == "floordiv":
            return torch.div(left, right, rounding_mode="floor")
        if atom.kind == "mod":
            return torch.remainder(left, right)
        return torch.minimum(left, right) if atom.kind == "min" else torch.maximum(left, right)

    def index(self, op: kernel.IndexOp) -> None:
        self.values[op.result] = self.evaluate(op.map, [self.values[value] for value in op.indices])

    # ---- memory ------------------------------------------------------------------------------------------------------

    def _where(self, op: Any, *others: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
        """Offsets, mask and other tiles of an access, of one shape; offsets outside of the memory are an error where the mask is true."""
        offset = self.evaluate(op.map, [self.values[value] for value in op.indices])
        mask = self.number_tensor(True, torch.bool)
        for value in op.masks:
            mask = mask & self.values[value]
        offset, mask, *rest = torch.broadcast_tensors(offset, mask, *others)
        count = self.values[op.pointer].numel()
        outside = mask & ((offset < 0) | (offset >= count))
        if outside.any():
            raise LectError(f"element {int(offset[outside][0])} is outside of {count} elements of memory", op=op)
        return offset, mask, rest

    def load(self, op: kernel.LoadOp) -> None:
        offset, mask, _ = self._where(op)
        flat = self.values[op.pointer]
        found = torch.zeros(offset.shape, dtype=flat.dtype)
        found[mask] = flat[offset[mask]]
        self.values[op.result] = found

    def store(self, op: kernel.StoreOp) -> None:
        offset, mask, (value,) = self._where(op, self.values[op.value])
        self.values[op.pointer][offset[mask]] = value[mask]

    def atomic_add(self, op: kernel.AtomicAddOp) -> None:
        offset, mask, (value,) = self._where(op, self.values[op.value])
        self.values[op.pointer].index_put_((offset[mask],), value[mask], accumulate=True)

    def scratch(self, op: kernel.ScratchOp) -> None:
        type = op.result.type
        room = type.count + max(self.blocks.values(), default=1)  # for the dead lanes of the last block
        self.values[op.result] = torch.zeros(room, dtype=DTYPES[type.element.spelling])

    def _scratch_mask(self, masks: Sequence[Value], shape: torch.Size) -> torch.Tensor:
        mask = self.number_tensor(True, torch.bool)
        for value in masks:
            mask = mask & self.values[value]
        return mask.expand(shape)

    def scratch_load(self, op: kernel.ScratchLoadOp) -> None:
        flat, lanes = self.values[op.scratch], self.values[op.lanes]
        mask = self._scratch_mask(op.masks, lanes.shape)
        self.values[op.result] = torch.where(mask, flat[lanes], torch.zeros((), dtype=flat.dtype))

    def scratch_store(self, op: kernel.ScratchStoreOp) -> None:
        lanes, value = torch.broadcast_tensors(self.values[op.lanes], self.values[op.value])
        mask = self._scratch_mask(op.masks, lanes.shape)
        self.values[op.scratch][lanes[mask]] = value[mask]

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def const(self, op: kernel.ConstOp) -> None:
        self.values[op.result] = self.number_tensor(op.value, DTYPES[element_of(op.result.type).spelling])

    def cast(self, op: kernel.CastOp) -> None:
        self.values[op.result] = self.values[op.value].to(DTYPES[element_of(op.result.type).spelling])

    def select(self, op: kernel.SelectOp) -> None:
        self.values[op.result] = torch.where(*[self.values[value] for value in op.operands])

    def _spread(self, value: torch.Tensor, axis: str) -> torch.Tensor:
        """A tile with all lanes of an axis."""
        shape = list(value.shape)
        shape[self.position(axis)] = self.blocks[axis]
        return value.expand(shape)

    def reduce(self, op: kernel.ReduceOp) -> None:
        self.values[op.result] = reduce(op.kind, self._spread(self.values[op.tile], op.axis), [self.position(op.axis)])

    def reduce_index(self, op: kernel.ReduceIndexOp) -> None:
        tile, entries = torch.broadcast_tensors(self._spread(self.values[op.tile], op.axis), self.values[op.indices])
        self.values[op.result] = reduce_index(op.kind, tile, entries, [self.position(op.axis)])

    def scan(self, op: kernel.ScanOp) -> None:
        self.values[op.result] = scan(op.kind, self._spread(self.values[op.tile], op.axis), self.position(op.axis))

    def dot(self, op: kernel.DotOp) -> None:
        initial = self.values[op.accumulator]
        product = self._spread(self.values[op.lhs].double() * self.values[op.rhs].double(), op.axis)
        self.values[op.result] = (initial.double() + product.sum(self.position(op.axis), keepdim=True)).to(initial.dtype)

    # ---- loops -------------------------------------------------------------------------------------------------------

    def for_loop(self, op: kernel.ForOp) -> None:
        axis = kernel.axis_of(op, op.axis)
        first = op.begin if op.start is None else int(self.values[op.start])
        last = axis.extent if op.span is None else min(first + op.span, axis.extent)
        carried = [self.values[value] for value in op.initial]
        for base in range(first, last, op.step or self.blocks[op.axis]):
            self.values[op.body.args[0]] = self.number_tensor(base)
            self.values.update(zip(op.body.args[1:], carried))
            self.block(op.body)
            assert op.body.last is not None
            carried = [self.values[value] for value in op.body.last.operands]
        self.values.update(zip(op.results, carried))

    def nothing(self, op: Operation) -> None:
        """Has no effect on values."""


HANDLERS: Mapping[str, Callable[[Program, Any], None]] = MappingProxyType(
    {
        "kernel.program_id": Program.program_id,
        "kernel.lanes": Program.lanes,
        "kernel.bound": Program.bound,
        "kernel.index": Program.index,
        "kernel.load": Program.load,
        "kernel.store": Program.store,
        "kernel.atomic_add": Program.atomic_add,
        "kernel.prefetch": Program.nothing,
        "kernel.scratch": Program.scratch,
        "kernel.scratch_load": Program.scratch_load,
        "kernel.scratch_store": Program.scratch_store,
        "kernel.const": Program.const,
        "kernel.cast": Program.cast,
        "kernel.select": Program.select,
        "kernel.reduce": Program.reduce,
        "kernel.reduce_index": Program.reduce_index,
        "kernel.scan": Program.scan,
        "kernel.dot": Program.dot,
        "kernel.for": Program.for_loop,
        "kernel.yield": Program.nothing,
        "kernel.return": Program.nothing,
    }
)
