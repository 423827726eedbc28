"""Runs a `functional.func` operation by operation with torch's eager functions: slow, plain, and the oracle that all later levels are compared with.

One line of a table says what each operation means in terms of torch.  Every result is checked against its type and laid out as the type says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from lect.backends.reference.functional_table import REFERENCES
from lect.backends.writes import write
from lect.dialects.functional.ops import FuncOp, OpaqueOp, ReturnOp, WriteOp
from lect.dialects.functional.python_values import decode_argument, dtype_of, resolve_overload
from lect.dialects.functional.specialize import specialized
from lect.dialects.functional.symbols import values_of
from lect.dialects.functional.types import TensorType
from lect.ir import LectError, Operation, Value


def run_functional(func: FuncOp, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The results of the graph for these inputs.  Raises `LectError` when an input is not what the graph takes, and what torch raises."""
    arguments = func.body.args
    if len(inputs) != len(arguments):
        raise LectError(f"@{func.sym_name} takes {len(arguments)} tensors, got {len(inputs)}", op=func)
    if func.symbols:
        return run_functional(specialized(func, values_of(func, inputs)), inputs)
    values: dict[Value, torch.Tensor] = {}
    writes: list[WriteOp] = []
    for number, (argument, tensor) in enumerate(zip(arguments, inputs)):
        check(func, argument.type, tensor, f"input {number}")
        values[argument] = tensor.detach()
    with torch.no_grad():
        for op in func.body:
            if isinstance(op, ReturnOp):
                return _finish(op, writes, inputs, values)
            if isinstance(op, WriteOp):
                writes.append(op)
            else:
                _step(op, values)
    raise LectError(f"@{func.sym_name} does not return", op=func)


def _finish(op: ReturnOp, writes: Sequence[WriteOp], inputs: Sequence[torch.Tensor], values: dict[Value, torch.Tensor]) -> list[torch.Tensor]:
    """Write to the inputs; results that lie in their memory show that, all others hold what was computed before."""
    if not writes:
        return [values[value] for value in op.operands]
    held = [values[each.value].clone() for each in writes]
    aliases = op.aliases or (None,) * len(op.operands)
    results = [None if alias else laid_out(op, value.type, values[value].clone()) for value, alias in zip(op.operands, aliases)]
    for each, value in zip(writes, held):
        place = each.value.type
        write(_part(inputs[each.target.index], place.shape, place.strides, each.offset), value, each.versions)
    shown: list[torch.Tensor] = []
    for value, alias, result in zip(op.operands, aliases, results):
        if alias is not None:
            base = inputs[alias[1]] if alias[0] == "input" else shown[alias[1]]
            result = _part(base, value.type.shape, value.type.strides, alias[2])
        assert result is not None
        shown.append(result)
    return shown


def _part(tensor: torch.Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> torch.Tensor:
    """A tensor in the memory of another, `offset` elements behind its first."""
    return tensor.as_strided(shape, strides, tensor.storage_offset() + offset)


def _step(op: Operation, values: dict[Value, torch.Tensor]) -> None:
    def tensor(value: Value | None) -> torch.Tensor | None:
        return None if value is None else values[value]

    results = _opaque(op, values) if isinstance(op, OpaqueOp) else _reference(op)(op, tensor)
    listed = list(results) if isinstance(results, tuple | list) else [results]
    if len(listed) != len(op.results):
        raise LectError(f"'{op.name}' gave {len(listed)} results instead of {len(op.results)}", op=op)
    for value, result in zip(op.results, listed):
        if not value.users:
            continue
        values[value] = laid_out(op, value.type, result)


def evaluate(op: Operation, operands: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The results of one operation that is not opaque, in any layout.  Raises `LectError` for one that cannot be run by itself, and what torch raises."""
    tensors = dict(zip(op.operands, operands))
    with torch.no_grad():
        found = _reference(op)(op, lambda value: None if value is None else tensors[value])
    return list(found) if isinstance(found, tuple | list) else [found]


def _reference(op: Operation) -> Callable[..., Any]:
    found = REFERENCES.get(op.name)
    if found is None:
        raise LectError(f"'{op.name}' cannot be run by itself", op=op)
    return found


def _opaque(op: OpaqueOp, values: dict[Value, torch.Tensor]) -> list[torch.Tensor]:
    operands = [values[value] for value in op.operands]
    overload = resolve_overload(op.target)
    kwargs = {name: decode_argument(value, operands) for name, value in op.kwargs.items()}
    return list(_flat(overload(*decode_argument(op.args, operands), **kwargs)))


def _flat(result: Any) -> Any:
    """The tensors of a result, lists flattened; numbers and None are left out."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, list | tuple):
        for item in result:
            yield from _flat(item)


def laid_out(op: Operation, type: Any, tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with the strides of its type."""
    check(op, type, tensor, "the result", strides=False)
    if tensor.stride() == type.strides:
        return tensor
    if 0 in type.strides and tensor.numel():  # an expanded view: only a view has such strides
        return torch.as_strided(_dense_base(tensor, type), type.shape, type.strides)
    found = torch.empty_strided(type.shape, type.strides, dtype=tensor.dtype, device=tensor.device)
    return found.copy_(tensor)


def _dense_base(tensor: torch.Tensor, type: TensorType) -> torch.Tensor:
    """One copy of the elements that the repeated dims repeat."""
    index = tuple([slice(0, 1) if stride == 0 else slice(None) for stride in type.strides])
    base = tensor[index]
    strides = tuple([1 if stride == 0 else stride for stride in type.strides])
    return torch.empty_strided(base.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(base)


def check(op: Operation, type: Any, tensor: torch.Tensor, what: str, strides: bool = True) -> None:
    """Raise `LectError` unless a tensor is of a type."""
    if not isinstance(tensor, torch.Tensor):
        raise LectError(f"{what} of '{op.name}' must be a tensor, got {tensor.__class__.__name__}", op=op)
    same = tuple(tensor.shape) == type.shape and tensor.dtype is dtype_of(type.element) and str(tensor.device) == type.device
    if not same or (strides and tensor.stride() != type.strides):
        shown = f"{list(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')} with strides {list(tensor.stride())} on {tensor.device}"
        raise LectError(f"{what} of '{op.name}' must be {type}, got {shown}", op=op)
