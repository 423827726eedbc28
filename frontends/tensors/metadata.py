"""What is known of a tensor without its elements."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from lect.dialects.functional.shapes import contiguous_strides, is_contiguous
from lect.frontends.tensors.sizes import Dim, has_sizes, with_dims


class TensorMeta(NamedTuple):
    """Shape, dtype, strides (in elements), device, storage offset (in elements) and whether autograd watches it.

    Equal metadata hash alike, so they key the propagation cache; there `requires_grad` is always False, as results do not depend on it.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    strides: tuple[int, ...]
    device: torch.device
    storage_offset: int = 0
    requires_grad: bool = False

    @property
    def layout(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(shape, strides)."""
        return self.shape, self.strides

    @property
    def is_contiguous(self) -> bool:
        """Dense and row-major."""
        return is_contiguous(self.shape, self.strides)

    @property
    def reach(self) -> int:
        """Offset of the last element in the storage; -1 when there is none."""
        if 0 in self.shape:
            return -1
        return self.storage_offset + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides))

    def like(self, shape: Any, dtype: torch.dtype | None = None, strides: tuple[int, ...] | None = None) -> TensorMeta:
        """A new tensor on the same device: contiguous unless `strides` are given."""
        shape = tuple(shape)
        return TensorMeta(shape, dtype or self.dtype, contiguous_strides(shape) if strides is None else strides, self.device)

    def view(self, shape: Any, strides: Any, offset: int = 0) -> TensorMeta:
        """A view of the same storage that starts `offset` elements behind this one's first."""
        return TensorMeta(tuple(shape), self.dtype, tuple(strides), self.device, self.storage_offset + offset)


def read_meta(tensor: torch.Tensor) -> TensorMeta:
    """The metadata of any strided tensor, read off it; `requires_grad` left out."""
    return TensorMeta(with_dims(tuple(tensor.shape)), tensor.dtype, with_dims(tensor.stride()), tensor.device, with_dims(tensor.storage_offset()))


def check_sizes(meta: TensorMeta) -> TensorMeta:
    """The metadata with sizes that are integers, or at least 2 in every call: that is decided where it is not known."""
    if not has_sizes(meta.shape):
        return meta
    for size in meta.shape:
        if type(size) is Dim:
            size.node.env.of_tensor(size.node.expr)
    return meta
