"""The meaning of host programs, executed operation by operation, with kernels run by their own reference interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from lect.backends.python_host.load import library_function
from lect.backends.reference import kernel
from lect.backends.reference.loop import DTYPES
from lect.backends.results import tensors_of
from lect.backends.writes import write, written
from lect.dialects.functional.python_values import decode_argument
from lect.dialects.host import ops as host
from lect.dialects.host.attributes import OperandRef
from lect.ir import LectError, Operation, SymbolTable, Value
from lect.ir.specialize import specialized


def run(func: Operation, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Run a `host.func` of a module that also holds its kernels.

    Raises `LectError` for what is no host function, for a wrong number of inputs, for a kernel that the module lacks, and for library calls that
    give another layout than their type says.
    """
    if not isinstance(func, host.FuncOp):
        raise LectError(f"this runs 'host.func', not '{func.name}'", op=func)
    args = func.body.args
    if len(inputs) != len(args):
        raise LectError(f"the program takes {len(args)} tensors, got {len(inputs)}", op=func)
    values: dict[Value, Any] = dict(zip(args, inputs))
    symbols = _symbols(func, values)
    if symbols:
        made = specialized(func, symbols)
        assert func.parent is not None
        func.parent.insert_before(func, made)  # beside the kernels that it launches
        for op in [op for op in made.body if isinstance(op, (host.SizeOp, host.NumberOp))]:
            op.attrs.pop("symbol", None)
        try:
            return run(made, inputs)
        finally:
            made.detach()
    for op in func.body:
        if isinstance(op, host.ReturnOp):
            return [values[value] for value in op.values]
        step = _STEPS.get(type(op))
        if step is None:
            raise LectError(f"the reference has no meaning for '{op.name}'", op=op)
        step(op, values)
    raise LectError("the program ends without a return", op=func)


def _symbols(func: host.FuncOp, values: dict[Value, Any]) -> dict[int, int]:
    """What the size symbols of a function are for its arguments."""
    found = {}
    for op in func.body:
        if isinstance(op, (host.SizeOp, host.NumberOp)) and op.symbol is not None:
            tensor = values[op.tensor]
            found[op.symbol] = (tensor.shape[op.dim] if isinstance(op, host.SizeOp) else int(tensor.item())) // op.divisor
    return found


def _alloc(op: host.AllocOp, values: dict[Value, Any]) -> None:
    type = op.buffer.type
    values[op.buffer] = torch.empty(type.numel, dtype=DTYPES[type.element.spelling])


def _empty(op: host.EmptyOp, values: dict[Value, Any]) -> None:
    type = op.tensor.type
    values[op.tensor] = torch.empty_strided(type.sizes, type.strides, dtype=DTYPES[type.element.spelling])


def _memory(op: host.MemoryOp, values: dict[Value, Any]) -> None:
    tensor = values[op.tensor]
    values[op.buffer] = tensor.detach().as_strided((op.buffer.type.numel,), (1,), tensor.storage_offset())


def _view(op: host.ViewOp, values: dict[Value, Any]) -> None:
    buffer, type = values[op.buffer], op.tensor.type
    values[op.tensor] = buffer.as_strided(type.sizes, type.strides, buffer.storage_offset() + op.offset)


def _size(op: host.SizeOp, values: dict[Value, Any]) -> None:
    values[op.value] = values[op.tensor].shape[op.dim] // op.divisor


def _number(op: host.NumberOp, values: dict[Value, Any]) -> None:
    values[op.value] = int(values[op.tensor].item()) // op.divisor


def _launch(op: host.LaunchOp, values: dict[Value, Any]) -> None:
    func = op.parent_op
    module = func.parent_op if func is not None else None
    found = SymbolTable(module).lookup(op.kernel) if module is not None else None
    if found is None:
        raise LectError(f"the module has no kernel {op.kernel}", op=op)
    kernel.run(found, [values[value] for value in op.buffers], sizes=op.sizes)


def _called(op: host.ExternOp | host.UpdateOp, values: dict[Value, Any]) -> Any:
    """What a library function returns for the arguments of an operation."""
    tensors = [values[value] for value in op.tensors]

    def argument(value: Any) -> Any:
        if isinstance(value, OperandRef):
            return tensors[value.number]
        if isinstance(value, tuple):
            return [argument(item) for item in value]
        if isinstance(value, dict):
            return decode_argument(value, ())
        return DTYPES.get(getattr(value, "spelling", ""), value) if not isinstance(value, str) else value

    path = op.callee.path if len(op.callee.path) > 1 else tuple(op.callee.leaf.split("."))
    callee = library_function(path, op)
    return callee(*[argument(value) for value in op.args], **{name: argument(value) for name, value in op.kwargs.items()})


def _update(op: host.UpdateOp, values: dict[Value, Any]) -> None:
    target = op.tensors[op.args[0].number]
    _called(op, {**values, target: values[target].data})


def _extern(op: host.ExternOp, values: dict[Value, Any]) -> None:
    found = _called(op, values)
    for value, tensor in zip(op.results, tensors_of(found, len(op.results))):
        if tensor is None:
            continue  # the call was told that nobody looks
        if tuple(tensor.shape) != value.type.sizes:
            raise LectError(f"{op.callee} gave sizes {tuple(tensor.shape)}, its type says {value.type.sizes}", op=op)
        values[value] = torch.empty_strided(value.type.sizes, value.type.strides, dtype=tensor.dtype).copy_(tensor)


def _write(op: host.WriteOp, values: dict[Value, Any]) -> None:
    write(values[op.target], values[op.value], op.versions)


def _written(op: host.WrittenOp, values: dict[Value, Any]) -> None:
    written(op.versions, values[op.target])


def _free(op: host.FreeOp, values: dict[Value, Any]) -> None:
    del values[op.value]


_STEPS: Mapping[type, Callable[[Any, dict[Value, Any]], None]] = MappingProxyType(
    {
        host.AllocOp: _alloc,
        host.EmptyOp: _empty,
        host.MemoryOp: _memory,
        host.ViewOp: _view,
        host.SizeOp: _size,
        host.NumberOp: _number,
        host.LaunchOp: _launch,
        host.ExternOp: _extern,
        host.UpdateOp: _update,
        host.WriteOp: _write,
        host.WrittenOp: _written,
        host.FreeOp: _free,
    }
)
