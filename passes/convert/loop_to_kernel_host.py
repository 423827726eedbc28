"""The program around the kernels: `loop.func` without its nests as `host.func`.

Parameters become tensors and their memory; each nest allocates its results and launches its kernel; library calls take and give tensors; the
graph's results are views.  What is no longer used is freed where its last use stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from lect.dialects.host import ops as host
from lect.dialects.host.attributes import OperandRef
from lect.dialects.host.types import BufferType, TensorType
from lect.dialects.kernel.ops import FuncOp
from lect.dialects.loop import ops as loop
from lect.dialects.loop.attributes import OperandAttr, ViewAttr
from lect.ir import Block, Operation, PassFailure, Region, ScalarType, SymbolicSizeError, SymbolRef, Value
from lect.ir.facts import Facts, substituted, symbols_of
from lect.ir.symbolic import as_size, symbol
from lect.passes.convert.loop_to_kernel_values import symbols_in
from lect.passes.loop.found_sizes import finders_of, symbols_of_op
from lect.passes.loop.updates import IN_PLACE


def tensor_type(view: ViewAttr, buffer: Value, device: str) -> TensorType:
    """The tensor that a view shows."""
    return _tensor_type(view, buffer.type.element, device)  # type: ignore[attr-defined]


@lru_cache(maxsize=4096)
def _tensor_type(view: ViewAttr, element: ScalarType, device: str) -> TensorType:
    return TensorType(view.sizes, element, view.strides, device)


_symbol = lru_cache(maxsize=4096)(SymbolRef)


class HostProgram:
    """The host function under construction.  `buffers` is the memory of each loop-level buffer, `tensors` the views of it made so far, `first` the first."""

    def __init__(self, func: loop.FuncOp) -> None:
        self.func = func
        args = func.body.args
        self.device: str = func.device
        types = [tensor_type(func.argument_view(number), value, self.device) for number, value in enumerate(args)]
        self.block = Block(types, [value.hint for value in args])
        self.buffers: dict[Value, Value] = {}
        self.tensors: dict[tuple[Value, ViewAttr], Value] = {}
        self.first: dict[Value, Value] = {}
        self.owners: dict[Value, Value] = {}
        self.updated: set[Value] = set()  # results that lie in a parameter
        self.views = _views_of(func)
        self.finders = finders_of(func)
        for number, value in enumerate(args):
            self.see(value, func.argument_view(number), self.block.args[number])
        self._define_symbols()

    def see(self, value: Value, view: ViewAttr, tensor: Value) -> None:
        """A buffer seen through a view is this tensor."""
        self.tensors[value, view] = tensor
        self.first.setdefault(value, tensor)

    def insert(self, op: Operation, source: Operation) -> Any:
        """Append an operation that stands for `source`."""
        op.loc = source.loc
        return self.block.append(op)

    def _define_symbols(self) -> None:
        """Read the size symbols that occur off the arguments.  Raises `SymbolicSizeError` for one that no argument tells."""
        declared, used = Facts.of(self.func.symbols), symbols_of_function(self.func) if self.func.symbols else set()
        for number in sorted(declared.symbols):
            fact = declared.fact(number)
            if number not in used or number in self.finders:
                continue
            if fact.argument is None or not 0 <= fact.argument < len(self.block.args):
                raise SymbolicSizeError(f"no argument tells what the size s{number} is", op=self.func)
            tensor = self.block.args[fact.argument]
            if fact.dim is None:
                made: Operation = host.NumberOp(tensor, number, fact.divisor)
            else:
                made = host.SizeOp(tensor, fact.dim, number, fact.divisor)
            made.results[0].hint = f"s{number}"
            self.insert(made, self.func)

    # ---- memory ------------------------------------------------------------------------------------------------------

    def buffer(self, value: Value, source: Operation) -> Value:
        """The flat memory of a buffer."""
        found = self.buffers.get(value)
        if found is None:
            tensor = self.first[value]
            found = self.buffers[value] = self.insert(host.MemoryOp(tensor), source).result
            self.owners[found] = tensor
        return found

    def tensor(self, value: Value, view: ViewAttr, source: Operation) -> Value:
        """A buffer seen as a tensor."""
        found = self.tensors.get((value, view))
        if found is None:
            buffer = self.buffer(value, source)
            found = self.insert(host.ViewOp(buffer, view.offset, result_types=[tensor_type(view, value, self.device)]), source).result
            self.see(value, view, found)
            self.owners[found] = buffer
        return found

    def allocate(self, value: Value, reason: str | None, slot: int | None, source: Operation) -> None:
        """Memory for the result of a nest: a tensor where it is seen in one way only, else a flat buffer."""
        views = self.views.get(value, [])
        seen = tensor_type(views[0], value, self.device) if len(views) == 1 and views[0].offset == 0 else None
        if seen is not None and seen.is_dense and views[0].span == value.type.numel:  # type: ignore[attr-defined]
            made = self.insert(host.EmptyOp(slot, reason, result_types=[seen]), source)
            self.see(value, views[0], made.result)
            made.result.hint = value.hint
            return
        type = value.type
        made = self.insert(host.AllocOp(slot, reason, result_types=[BufferType(type.numel, type.element, self.device)]), source)  # type: ignore[attr-defined]
        made.result.hint = value.hint
        self.buffers[value] = made.result

    # ---- operations --------------------------------------------------------------------------------------------------

    def launch(self, nest: loop.NestOp, kernel: FuncOp, updated: Iterable[tuple[int, int]]) -> None:
        """The results' memory and the launch of a nest's kernel; `updated` are results and the inputs that they begin with."""
        shared = {result: nest.inputs[position] for result, position in nest.in_place}
        begins = {result: nest.inputs[position] for result, position in updated}
        for number, value in enumerate(nest.results):
            if number in begins:
                self.buffers[value] = self.buffer(begins[number], nest)
                continue
            source = shared.get(number)
            if source is not None and self._may_take(source, value):
                self.buffers[value] = self.buffer(source, nest)
                continue
            reason = nest.realize[number] if nest.realize else None
            slot = nest.slots[number] if nest.slots else None
            self.allocate(value, reason, slot, nest)
        buffers = [self.buffer(value, nest) for value in (*nest.inputs, *nest.results)]
        symbols = {new: old for old, new in symbols_in(nest).items()} if kernel.symbols else {}
        sizes = tuple([symbol(symbols[number]) for number in range(len(symbols))])
        grid = substituted(kernel.programs, dict(enumerate(sizes)))
        self.insert(host.LaunchOp(buffers, _symbol(kernel.sym_name), grid, target=kernel.target, sizes=sizes), nest)

    def _may_take(self, source: Value, result: Value) -> bool:
        """Whether a result may live in the memory of an input, which is of equal size: this function's own, or a parameter that the result is for."""
        same = source.type.numel == result.type.numel and source.type.element is result.type.element  # type: ignore[attr-defined]
        given = any(isinstance(user, loop.WriteOp) and user.target is source and user.value is result for user in result.users)
        return same and (given or source not in self.func.body.args)

    def extern(self, op: loop.ExternOp) -> None:
        """A library call on tensors; its results are tensors."""
        if op.in_place:
            self.update(op)
            return
        tensors = [self.tensor(value, view, op) for value, view in zip(op.operands, op.views)]
        types = [tensor_type(view, value, self.device) for value, view in zip(op.results, op.result_views)]
        finds = {f"s{number}": place for number, (finder, place) in self.finders.items() if finder is op}
        made = self.insert(host.ExternOp(tensors, op.callee, _arguments(op.args), _arguments(op.kwargs), finds, result_types=types), op)
        for value, view, tensor in zip(op.results, op.result_views, made.results):
            tensor.hint = value.hint
            self.see(value, view, tensor)
        for name, place in finds.items():
            size = host.SizeOp(made.results[place[0]], place[1], int(name[1:]))
            size.results[0].hint = name
            self.insert(size, op)

    def update(self, op: loop.ExternOp) -> None:
        """A library call that changes a parameter: its result is the parameter from there on."""
        ((_, number),) = op.in_place
        target = self.tensor(op.operands[number], op.views[number], op)
        if op.callee.leaf not in IN_PLACE:
            raise PassFailure(f"{op.callee.leaf} has no form that writes to its first argument", op=op)
        callee = IN_PLACE[op.callee.leaf]
        if callee is None:
            self._copy_into_slice(op, number)
        else:
            tensors = [self.tensor(value, view, op) for value, view in zip(op.operands, op.views)]
            self.insert(host.UpdateOp(tensors, SymbolRef(callee), _arguments(op.args), _arguments(op.kwargs)), op)
        self.see(op.results[0], op.result_views[0], target)
        self.updated.add(op.results[0])

    def _copy_into_slice(self, op: loop.ExternOp, number: int) -> None:
        """slice_scatter: a copy into the part of the memory that the slice shows."""
        whole, (dim, start, end, step) = op.views[number], op.args[2:]
        sizes, strides = list(whole.sizes), list(whole.strides)
        offset = whole.offset + start * strides[dim]
        sizes[dim] = as_size((end - start + step - 1) // step)
        strides[dim] *= step
        part = self.tensor(op.operands[number], ViewAttr(tuple(sizes), tuple(strides), offset), op)
        source = op.args[1].number
        self.insert(host.WriteOp(part, self.tensor(op.operands[source], op.views[source], op), 0), op)

    def write(self, op: loop.WriteOp) -> None:
        """A copy into a parameter, unless the value was made in its memory."""
        if op.value in self.updated:
            self.insert(host.WrittenOp(self.tensors[op.target, self.func.argument_view(op.target.index)], op.versions), op)
            return
        if op.value in self.buffers and self.buffers[op.value] is self.buffers.get(op.target):
            whole = self.tensors[op.target, self.func.argument_view(op.target.index)]
            self.insert(host.WrittenOp(whole, op.versions), op)
            return
        target, value = self.tensor(op.target, op.place, op), self.tensor(op.value, op.view, op)
        self.insert(host.WriteOp(target, value, op.versions), op)

    def finish(self, op: loop.ReturnOp) -> host.FuncOp:
        """The return; then the frees are put in."""
        tensors = [self.tensor(value, view, op) for value, view in zip(op.operands, op.views)]
        self.insert(host.ReturnOp(tensors), op)
        self._free()
        attrs: dict[str, Any] = {"sym_name": self.func.sym_name}
        attrs |= {"consumed": self.func.consumed} if self.func.consumed else {}
        return host.FuncOp.create((), (), attrs, [Region([self.block])], loc=self.func.loc)

    def _free(self) -> None:
        """Free what this function made or was handed over behind its last use, unless it is returned or something made of it is."""
        last_use: dict[Value, Operation] = {}
        end = op = self.block.last
        while op is not None:
            for value in (*op.operands, *op.results):
                owner: Value | None = value
                while owner is not None and owner not in last_use:  # what owns a value that is known is known too
                    last_use[owner] = op
                    owner = self.owners.get(owner)
            op = op.prev
        own = [self.block.args[number] for number in self.func.consumed]
        for made in self.block:
            if isinstance(made, (host.AllocOp, host.EmptyOp, host.ExternOp, host.ViewOp)):
                own += made.results
        for value in own:
            op = last_use.get(value)
            if op is not None and op is not end and any(isinstance(user, host.SizeOp) for user in value.users):
                op = end.prev  # type: ignore[union-attr]  # whoever needs the size reads it off this tensor
            if op is not None and op is not end:
                free = host.FreeOp(value)
                free.loc = op.loc
                self.block.insert_before(op.next, free)


def symbols_of_function(func: loop.FuncOp) -> set[int]:
    """The size symbols that occur in what the host program does."""
    found = {number for value in func.body.args for size in value.type.sizes for number in symbols_of(size)}  # type: ignore[attr-defined]
    for view in func.arguments:
        found.update(number for part in (view.sizes, view.strides or (), (view.offset,)) for size in part for number in symbols_of(size))
    declared = set(Facts.of(func.symbols).symbols)
    for op in func.body:
        if declared and declared <= found:
            break  # there are no others
        found |= symbols_of_op(op)
    return found


def _views_of(func: loop.FuncOp) -> dict[Value, list[ViewAttr]]:
    """The different views in which library calls, writes and the return see each buffer."""
    found: dict[Value, list[ViewAttr]] = {}
    for op in func.body:
        if isinstance(op, (loop.ExternOp, loop.WriteOp, loop.ReturnOp)):
            seen = [(op.target, op.place), (op.value, op.view)] if isinstance(op, loop.WriteOp) else zip(op.operands, op.views)
            for value, view in seen:
                views = found.setdefault(value, [])
                if view not in views:
                    views.append(view)
    return found


def _arguments(value: Any) -> Any:
    """Written-out arguments with the operand markers of this level."""
    if isinstance(value, OperandAttr):
        return OperandRef(value.number)
    if isinstance(value, tuple):
        return tuple([_arguments(item) for item in value])
    if isinstance(value, dict):
        return {name: _arguments(item) for name, item in value.items()}
    return value
