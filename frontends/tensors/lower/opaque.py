"""ATen calls as `functional.opaque`.

Numbers, strings, None and dtypes stand as they are, lists as arrays, an operand as `#functional.operand<n>`; what has no literal is a dictionary with
one entry: `{device = "cuda:0"}`, `{layout = "strided"}`, `{memory_format = "channels_last"}`, `{complex = [re, im]}`.
`functional.python_values` reads them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from lect.dialects.functional.ops import OpaqueOp, OperandRef
from lect.dialects.functional.types import TensorType
from lect.frontends.tensors.elements import ELEMENTS
from lect.frontends.tensors.errors import UnsupportedTensor
from lect.frontends.tensors.lower.emitter import Emitter
from lect.frontends.tensors.sizes import Dim
from lect.ir import SymbolRef, Value


def emit_opaque(e: Emitter, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Value, ...]:
    """The call as one operation.  Raises `UnsupportedTensor` for an argument that text cannot hold."""
    operands: list[Value] = []
    encoded = tuple([_encode(value, operands) for value in args])
    named = {name: _encode(value, operands) for name, value in kwargs.items()}
    target = SymbolRef(f"{func.namespace}.{func._opname}.{func._overloadname}")
    types = [type for type in e.results if type is not None]
    op = OpaqueOp(operands, target, args=encoded, kwargs=named, result_types=types, loc=e.loc)
    return e.block.append(op).results


def gives_nothing(func: Any, arguments: Any, results: Sequence[TensorType | None]) -> bool:
    """True for a call whose results have no elements, so that nothing is to be computed; one that reads integers may raise for them."""
    if func.namespace != "aten" or func._schema.is_mutable or torch.Tag.nondeterministic_seeded in func.tags:
        return False
    if any(result.alias_info is not None for result in func._schema.returns):
        return False
    types = [type for type in results if type is not None]
    if not types or any(not type.is_empty or type.element.kind == "complex" for type in types):
        return False
    return all(value.type.element.kind == "float" or value.type.is_empty for value in _values_in(arguments))  # type: ignore[attr-defined]


def _values_in(value: Any) -> list[Value]:
    if isinstance(value, Value):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [found for item in value for found in _values_in(item)] if isinstance(value, tuple | list) else []


def _encode(value: Any, operands: list[Value]) -> Any:
    if isinstance(value, Value):
        if value not in operands:
            operands.append(value)
        return OperandRef(operands.index(value))
    if type(value) is Dim:
        return value.node.expr
    if isinstance(value, tuple | list):
        return tuple([_encode(item, operands) for item in value])
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, torch.dtype) and value in ELEMENTS:
        return ELEMENTS[value]
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, torch.layout):
        return {"layout": str(value).removeprefix("torch.")}
    if isinstance(value, torch.memory_format):
        return {"memory_format": str(value).removeprefix("torch.")}
    if type(value) is complex:
        return {"complex": (value.real, value.imag)}
    raise UnsupportedTensor(f"an argument of type {type(value).__name__} cannot be part of a graph")
