"""From the text of a `functional.opaque` back to Python: the torch operator by its name, and its arguments.

torch is imported when a name in it is first asked for, so that the dialect itself loads without it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from lect.dialects.functional.ops import OperandRef
from lect.ir import LectError, ScalarType, SymbolRef

DTYPE_NAMES = MappingProxyType(
    {
        "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32",
        "i64": "int64", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64", "complex<f32>": "complex64", "complex<f64>": "complex128",
    }
)  # fmt: skip
NAMED_KINDS = frozenset({"layout", "memory_format"})


def dtype_of(element: ScalarType) -> Any:
    """The torch dtype of an element type."""
    return getattr(importlib.import_module("torch"), DTYPE_NAMES[element.spelling])


def decode_argument(value: Any, operands: Sequence[Any]) -> Any:
    """The argument that an attribute stands for, with `operands[n]` in the place of `#functional.operand<n>`.  Raises `LectError`."""
    if type(value) is OperandRef:
        return operands[value.number]
    if type(value) is tuple:
        return [decode_argument(item, operands) for item in value]
    if type(value) is ScalarType:
        return dtype_of(value)
    if type(value) is dict:
        return _construct(value)
    return value


def _construct(value: dict[str, Any]) -> Any:
    torch = importlib.import_module("torch")
    if len(value) == 1:
        ((kind, content),) = value.items()
        if kind == "device":
            return torch.device(content)
        if kind == "complex":
            return complex(*content)
        found = getattr(torch, str(content), None)
        if kind in NAMED_KINDS and type(found).__name__ == kind:
            return found
    raise LectError(f"an opaque call has no argument of the form {value}")


def resolve_overload(target: SymbolRef) -> Any:
    """The torch operator of a target such as `@aten.relu.default`.  Raises `LectError` when torch has none."""
    namespace, name, overload = target.leaf.split(".")
    found = importlib.import_module("torch").ops
    if namespace == "lect":
        importlib.import_module("lect.dialects.fx.generators").define()
    for part in (namespace, name, overload):
        found = getattr(found, part, None)
    if type(found).__name__ != "OpOverload":
        raise LectError(f"this torch has no operator {target.leaf}")
    return found
