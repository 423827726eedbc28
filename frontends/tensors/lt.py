"""LT: a tensor with metadata and no storage.

An LT goes through torch's own C++ code: autograd, view tracking, version counters and composite functions work on it.  Its meaning comes from the
dispatch mode of `propagate`; outside of one, any operation on it is an error.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from lect.frontends.tensors.errors import DataDependent, UnsupportedTensor
from lect.frontends.tensors.metadata import TensorMeta, read_meta


class LT(torch.Tensor):
    """The storage-less tensor.  Make one with `make_lt`; read its metadata with `meta_of`."""

    _lect_meta: TensorMeta | None = None

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        raise UnsupportedTensor(f"{func} was called on a tensor without elements outside of propagation")

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"LT({list(self.shape)}, {self.dtype}, {self.device})"

    def _no_elements(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise DataDependent("the elements of a traced tensor are not known while tracing")

    # C++ would answer these itself, with a null pointer or with an error that says nothing.
    data_ptr = _no_elements
    numpy = _no_elements
    tolist = _no_elements
    __array__ = _no_elements
    __dlpack__ = _no_elements

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise UnsupportedTensor("a traced tensor cannot be deep-copied")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise UnsupportedTensor("a traced tensor cannot be serialized")


# Messages name it, and to the user it is a tensor.
LT.__name__ = LT.__qualname__ = "Tensor"
_MAKE = torch.Tensor._make_wrapper_subclass


def make_lt(meta: TensorMeta) -> LT:
    """A tensor with this metadata and no storage.  Raises `UnsupportedTensor` where torch itself would abort."""
    shape, dtype, strides, device, offset, requires_grad = meta
    if device.index is None and device.type == "cuda":  # what is made on "cuda" lies on the current GPU, as other tensors say by its number
        device = torch.device("cuda", torch.cuda.current_device() if torch.cuda.is_available() else 0)
        meta = meta._replace(device=device)
    if requires_grad and device.type == "cuda" and not torch.cuda.is_available():
        raise UnsupportedTensor("autograd on a cuda tensor needs a build of torch with cuda")
    # size, strides, storage_offset, memory_format, dtype, layout, device, pin_memory, requires_grad: torch reads them faster by position
    tensor = _MAKE(LT, shape, strides, offset, None, dtype, torch.strided, device, False, requires_grad)
    tensor._lect_meta = meta._replace(requires_grad=False) if requires_grad else meta
    return tensor


def layout_of(tensor: torch.Tensor) -> TensorMeta:
    """Metadata without `requires_grad`: what propagation is keyed by.  Raises `UnsupportedTensor` for layouts without strides."""
    if type(tensor) is LT and tensor._lect_meta is not None:
        return tensor._lect_meta
    if tensor.layout is not torch.strided:
        raise UnsupportedTensor(f"a tensor with layout {tensor.layout} has no strides")
    return read_meta(tensor)


def meta_of(tensor: torch.Tensor) -> TensorMeta:
    """The metadata of an LT or of a real strided tensor, `requires_grad` included."""
    meta = layout_of(tensor)
    return meta._replace(requires_grad=True) if tensor.requires_grad else meta


class _Recorded(torch.autograd.Function):
    """Gives a storage-less tensor that autograd has a node for."""

    @staticmethod
    def forward(ctx: Any, root: torch.Tensor, meta: TensorMeta) -> torch.Tensor:
        return make_lt(meta)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> NoReturn:
        raise UnsupportedTensor("the gradient of a traced tensor is not computed")


def make_recorded(meta: TensorMeta) -> LT:
    """A stand-in for a tensor that autograd recorded, which is no leaf either, so that it may be written to where a leaf may not."""
    meta = meta._replace(requires_grad=False)
    with torch.enable_grad():
        return _Recorded.apply(make_lt(meta._replace(requires_grad=True)), meta)  # type: ignore[no-any-return, no-untyped-call]
