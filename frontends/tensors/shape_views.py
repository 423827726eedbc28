"""Shape functions of views, and of the copies that gather whole slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.shapes import (
    channels_last_strides,
    element_count,
    normalize_dim,
    preserved_strides,
    resolve_shape,
    suggests_channels_last,
    view_strides,
)
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.shape_pointwise import Result, ShapeFunction
from lect.frontends.tensors.sizes import Dim

aten = torch.ops.aten


def view(x: TensorMeta, shape: Any) -> Result:
    """view and _unsafe_view."""
    resolved = resolve_shape(tuple(shape), element_count(x.shape))
    strides = view_strides(x.layout, resolved)
    return None if strides is None else x.view(resolved, strides)


def transpose(x: TensorMeta, first: int, second: int) -> Result:
    """Two dims swapped."""
    order = list(range(len(x.shape)))
    if order:
        a, b = normalize_dim(first, len(order)), normalize_dim(second, len(order))
        order[a], order[b] = order[b], order[a]
    return _permuted(x, order)


def transpose_matrix(x: TensorMeta) -> Result:
    """t."""
    return _permuted(x, range(len(x.shape) - 1, -1, -1)) if len(x.shape) <= 2 else None


def permute(x: TensorMeta, order: Any) -> Result:
    """All dims in a new order."""
    found = [normalize_dim(dim, len(x.shape)) for dim in order]
    return _permuted(x, found) if sorted(found) == list(range(len(x.shape))) else None


def _permuted(x: TensorMeta, order: Any) -> TensorMeta:
    return x.view([x.shape[dim] for dim in order], [x.strides[dim] for dim in order])


def alias(x: TensorMeta) -> Result:
    """detach, alias: the same view again."""
    return x


def expand(x: TensorMeta, shape: Any, *, implicit: bool = False) -> Result:
    """expand: strides 0 in repeated dims; a size -1 keeps its own."""
    missing = len(shape) - len(x.shape)
    if missing < 0 or -1 in list(shape)[:missing]:
        return None
    sizes = list(shape)
    strides = [0] * len(sizes)
    for dim in range(len(sizes) - 1, -1, -1):
        if dim < missing:
            # A new dim of size 1 lies where a contiguous one would.
            strides[dim] = sizes[dim + 1] * strides[dim + 1] if sizes[dim] == 1 and dim + 1 < len(sizes) else 0
            continue
        own = x.shape[dim - missing]
        sizes[dim] = own if sizes[dim] == -1 else sizes[dim]
        if sizes[dim] != own and own != 1:
            return None
        strides[dim] = x.strides[dim - missing] if sizes[dim] == own else 0
    return x.view(sizes, strides)


def unsqueeze(x: TensorMeta, dim: int) -> Result:
    """A new dim of size 1."""
    position = normalize_dim(dim, len(x.shape) + 1)
    stride = x.shape[position] * x.strides[position] if position < len(x.shape) else 1
    return x.view((*x.shape[:position], 1, *x.shape[position:]), (*x.strides[:position], stride, *x.strides[position:]))


def squeeze_dim(x: TensorMeta, dim: int) -> Result:
    """One dim dropped if its size is 1."""
    return _squeezed(x, {normalize_dim(dim, len(x.shape))})


def squeeze_all(x: TensorMeta) -> Result:
    """All dims of size 1 dropped."""
    return _squeezed(x, set(range(len(x.shape))))


def squeeze_dims(x: TensorMeta, dims: Any) -> Result:
    """Those of some dims that have size 1 dropped."""
    return _squeezed(x, {normalize_dim(dim, len(x.shape)) for dim in dims})


def _squeezed(x: TensorMeta, dims: set[int]) -> TensorMeta:
    kept = [dim for dim, size in enumerate(x.shape) if size != 1 or dim not in dims]
    return _permuted(x, kept)


def slice_bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """start and end of a slice as eager clamps them."""
    low = 0 if start is None else start
    high = size if end is None else end
    low = min(max(low + size if low < 0 else low, 0), size)
    high = high + size if high < 0 else high
    return low, min(max(high, low), size)


def slice_dim(x: TensorMeta, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Result:
    """Every `step`-th element of one dim."""
    if not x.shape or step <= 0:
        return None
    position = normalize_dim(dim, len(x.shape))
    low, high = slice_bounds(x.shape[position], start, end)
    sizes, strides = list(x.shape), list(x.strides)
    sizes[position] = (high - low + step - 1) // step
    strides[position] *= step
    return x.view(sizes, strides, low * x.strides[position])


def select(x: TensorMeta, dim: int, index: int) -> Result:
    """One element of one dim, which goes away."""
    if not x.shape or type(index) not in (int, Dim):
        return None
    position = normalize_dim(dim, len(x.shape))
    size = x.shape[position]
    if not -size <= index < size:
        return None
    kept = [other for other in range(len(x.shape)) if other != position]
    from_front = index if index >= 0 else index + size
    return _permuted(x, kept)._replace(storage_offset=x.storage_offset + from_front * x.strides[position])


MOST_PIECES = 4096


def split(x: TensorMeta, size: int, dim: int = 0) -> Result:
    """Equal pieces, the last one smaller."""
    if not x.shape or size <= 0:
        return None
    extent = x.shape[normalize_dim(dim, len(x.shape))]
    pieces = 1
    while pieces < MOST_PIECES and size * pieces < extent:  # decided for a size with symbols, so that there are as many for each of them
        pieces += 1
    return _pieces(x, [*[size] * (pieces - 1), extent - size * (pieces - 1)], dim) if pieces < MOST_PIECES else None


def split_with_sizes(x: TensorMeta, sizes: Any, dim: int = 0) -> Result:
    """Pieces of given sizes."""
    if not x.shape or sum(sizes) != x.shape[normalize_dim(dim, len(x.shape))] or any(size < 0 for size in sizes):
        return None
    return _pieces(x, list(sizes), dim)


def _pieces(x: TensorMeta, sizes: list[int], dim: int) -> tuple[TensorMeta, ...]:
    position = normalize_dim(dim, len(x.shape))
    start = 0
    found = []
    for size in sizes:
        shape = (*x.shape[:position], size, *x.shape[position + 1 :])
        found.append(x.view(shape, x.strides, start * x.strides[position]))
        start += size
    return tuple(found)


def unbind(x: TensorMeta, dim: int = 0) -> Result:
    """All elements of one dim."""
    if not x.shape:
        return None
    size = x.shape[normalize_dim(dim, len(x.shape))]
    found = [select(x, dim, index) for index in range(size)]
    return tuple([piece for piece in found if isinstance(piece, TensorMeta)])


def flip(x: TensorMeta, dims: Any) -> Result:
    """flip: a copy in the operand's format."""
    found = {normalize_dim(dim, len(x.shape)) for dim in dims}
    return x.like(x.shape, strides=preserved_strides(x.layout)) if len(found) == len(dims) else None


def cat(tensors: Any, dim: int = 0) -> Result:
    """cat of tensors of one dtype and rank: row-major, unless all of them may have channels last."""
    first = tensors[0]
    if not first.shape:
        return None
    position = normalize_dim(dim, len(first.shape))
    total = 0
    for tensor in tensors:
        same = tensor.dtype is first.dtype and tensor.device == first.device and len(tensor.shape) == len(first.shape)
        if not same or tensor.shape[:position] != first.shape[:position] or tensor.shape[position + 1 :] != first.shape[position + 1 :]:
            return None
        total += tensor.shape[position]
    if all(_may_have_channels_last(*tensor.layout) for tensor in tensors):
        return None
    return first.like((*first.shape[:position], total, *first.shape[position + 1 :]))


def roll(x: TensorMeta, shifts: Any, dims: Any = ()) -> Result:
    """roll along given dims on a CPU, which is cat of the two parts of each dim, one after the other; torch's meta kernel says row-major, as a GPU's does."""
    known = type(shifts) in (tuple, list) and type(dims) in (tuple, list) and len(shifts) == len(dims) > 0
    if not known or x.device.type != "cpu" or 0 in x.shape or not _may_have_channels_last(*x.layout):
        return None
    for shift, dim in zip(shifts, dims):
        position = normalize_dim(dim, len(x.shape))
        size = x.shape[position]
        parts = [(*x.shape[:position], part, *x.shape[position + 1 :]) for part in (shift % size, size - shift % size)]
        kept = all(suggests_channels_last(part, x.strides, (4, 5)) for part in parts)
        x = x.like(x.shape, strides=channels_last_strides(x.shape) if kept else None)
    return x


def stack(tensors: Any, dim: int = 0) -> Result:
    """stack of tensors of one dtype and shape: cat, whose dim is split then; behind the last dim it is cat of tensors with one dim more."""
    first = tensors[0]
    if any(tensor.dtype is not first.dtype or tensor.device != first.device or len(tensor.shape) != len(first.shape) for tensor in tensors):
        return None
    position = normalize_dim(dim, len(first.shape) + 1)
    more = (1,) if position == len(first.shape) else ()
    same = all(tensor.shape == first.shape for tensor in tensors)
    if not same or all(_may_have_channels_last((*tensor.shape, *more), (*tensor.strides, *more)) for tensor in tensors):
        return None
    return first.like((*first.shape[:position], len(tensors), *first.shape[position:]))


def _may_have_channels_last(shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    """False when surely torch does not take a layout for one with channels last: it is not 4-d or 5-d, or the last dim varies faster."""
    return len(shape) in (4, 5) and not strides[-1] < strides[1] * shape[1]


def embedding(weight: TensorMeta, indices: TensorMeta, *rest: Any, **options: Any) -> Result:
    """Rows of a table."""
    if len(weight.shape) != 2 or indices.dtype not in (torch.int64, torch.int32) or weight.device != indices.device:
        return None
    return weight.like((*indices.shape, weight.shape[1]))


def triangle(x: TensorMeta, diagonal: int = 0) -> Result:
    """tril and triu: row-major in every dim, whatever the strides of the operand's dims of size 1 are."""
    return x.like(x.shape) if len(x.shape) >= 2 else None


TABLE: Final[Mapping[Any, ShapeFunction]] = MappingProxyType(
    {
        aten.view.default: view,
        aten._unsafe_view.default: view,
        aten.transpose.int: transpose,
        aten.t.default: transpose_matrix,
        aten.permute.default: permute,
        aten.detach.default: alias,
        aten.alias.default: alias,
        aten.expand.default: expand,
        aten.unsqueeze.default: unsqueeze,
        aten.squeeze.dim: squeeze_dim,
        aten.squeeze.default: squeeze_all,
        aten.squeeze.dims: squeeze_dims,
        aten.slice.Tensor: slice_dim,
        aten.select.int: select,
        aten.split.Tensor: split,
        aten.split_with_sizes.default: split_with_sizes,
        aten.unbind.int: unbind,
        aten.flip.default: flip,
        aten.cat.default: cat,
        aten.stack.default: stack,
        aten.roll.default: roll,
        aten.embedding.default: embedding,
        aten.tril.default: triangle,
        aten.triu.default: triangle,
    }
)
