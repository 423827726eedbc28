"""Plain values: which Python values are constants of a trace, and how they are written as attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy
import torch

from lect.dialects.fx.python_values import DTYPE_NAMES
from lect.dialects.fx.types import ConstantAttr, DeviceAttr, EllipsisAttr, TensorType
from lect.dialects.pyframe.attributes import LONG_INT_BITS
from lect.frontends.capture.objects import ObjectTable
from lect.frontends.tensors.lt import layout_of
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.sizes import size_of
from lect.ir import SCALARS

NUMPY_NUMBERS: frozenset[type] = frozenset(
    getattr(numpy, name) for name in "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)
# Immutable values compared by type and value; they carry a source so that a decision on them can be guarded.
SCALAR_TYPES = frozenset(
    {int, float, bool, str, type(None), bytes, complex, type(...), type(NotImplemented), torch.dtype, torch.device, torch.layout, torch.memory_format}
    | NUMPY_NUMBERS
)
ELEMENT_OF: Mapping[torch.dtype, Any] = MappingProxyType({getattr(torch, name): SCALARS[text] for text, name in DTYPE_NAMES.items()})
DTYPE_OF: Mapping[Any, torch.dtype] = MappingProxyType({element: dtype for dtype, element in ELEMENT_OF.items()})
DICT_VIEWS: tuple[type, ...] = tuple(type(make({1: 1})) for make in (dict.keys, dict.values, dict.items))  # type: ignore[operator]
_LITERALS = frozenset({int, float, bool, str, type(None)})


def scalar_attribute(value: Any) -> Any:
    """The attribute of a plain value that `dialects.fx.python_values.decode` turns back; None for one that has no form (bytes, NotImplemented)."""
    kind = type(value)
    if kind is int and value.bit_length() >= LONG_INT_BITS:
        return None
    if kind in _LITERALS:
        return value
    if kind is torch.dtype:
        return ELEMENT_OF.get(value) or ConstantAttr(str(value))
    if kind is torch.device:
        return DeviceAttr(str(value))
    if kind is torch.layout or kind is torch.memory_format:
        return ConstantAttr(str(value))
    if value is ...:
        return EllipsisAttr()
    if kind is complex:
        return {"complex": (value.real, value.imag)}
    return None


def guard_value(value: Any, objects: ObjectTable) -> Any:
    """The attribute by which a guard compares a plain value."""
    attribute = scalar_attribute(value)
    return attribute if attribute is not None or value is None else objects.ref(value)


def greatest(element: Any) -> int | float:
    """The greatest finite number of a float or integer type."""
    dtype = DTYPE_OF[element]
    return torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max


def map_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with `change` applied to what its tuples, lists, dictionaries and slices hold."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([map_leaves(item, change) for item in value])
    if kind is dict:
        return {key: map_leaves(item, change) for key, item in value.items()}
    if kind is slice:
        return slice(map_leaves(value.start, change), map_leaves(value.stop, change), map_leaves(value.step, change))
    return change(value)


def tensor_type(tensor: torch.Tensor) -> TensorType:
    """The fx type of a real or traced strided tensor."""
    return _type_of(layout_of(tensor), tensor.requires_grad)


@lru_cache(4096)
def _type_of(layout: TensorMeta, requires_grad: bool) -> TensorType:
    return TensorType(size_of(layout.shape), ELEMENT_OF[layout.dtype], size_of(layout.strides), str(layout.device), requires_grad)
