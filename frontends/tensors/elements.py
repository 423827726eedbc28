"""Element types of the IR and dtypes of torch, and tensor types and metadata, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import torch

from lect.dialects.functional.types import TensorType
from lect.frontends.tensors.errors import UnsupportedTensor
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.sizes import size_of
from lect.ir import ScalarType
from lect.ir import types as scalars

DTYPES: Final[Mapping[ScalarType, torch.dtype]] = MappingProxyType(
    {
        scalars.f16: torch.float16,
        scalars.bf16: torch.bfloat16,
        scalars.f32: torch.float32,
        scalars.f64: torch.float64,
        scalars.i1: torch.bool,
        scalars.i8: torch.int8,
        scalars.i16: torch.int16,
        scalars.i32: torch.int32,
        scalars.i64: torch.int64,
        scalars.ui8: torch.uint8,
        scalars.ui16: torch.uint16,
        scalars.ui32: torch.uint32,
        scalars.ui64: torch.uint64,
        scalars.complex64: torch.complex64,
        scalars.complex128: torch.complex128,
    }
)
ELEMENTS: Final[Mapping[torch.dtype, ScalarType]] = MappingProxyType({dtype: element for element, dtype in DTYPES.items()})


def element_of(dtype: torch.dtype) -> ScalarType:
    """The element type of a dtype.  Raises `UnsupportedTensor` for those that lect has none for."""
    found = ELEMENTS.get(dtype)
    if found is None:
        raise UnsupportedTensor(f"tensors of {dtype} are not compiled")
    return found


@lru_cache(maxsize=1 << 14)
def type_of(meta: TensorMeta) -> TensorType:
    """The functional type of a tensor.  Raises `UnsupportedTensor`."""
    return TensorType(size_of(meta.shape), element_of(meta.dtype), size_of(meta.strides), str(meta.device))


@lru_cache(maxsize=1 << 14)
def meta_of_type(type: TensorType) -> TensorMeta:
    """The metadata of a value of this type, at the start of its storage; sizes with symbols are expressions (`Sizes.meta` makes them those of a trace)."""
    return TensorMeta(type.shape, DTYPES[type.element], type.strides, torch.device(type.device))
