"""ATen overloads that read and write at computed places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import gather as g
from lect.frontends.tensors.lower.emitter import Emitter, Rule, dim_of, type_of
from lect.frontends.tensors.shape_views import slice_bounds
from lect.ir import Value
from lect.ir.types import i32, i64

aten = torch.ops.aten
INDEX_ELEMENTS = (i64, i32)


def embedding(e: Emitter, weight: Value, indices: Value, *rest: Any, **options: Any) -> Any:
    """embedding: rows, where negative indices raise."""
    return e(g.IndexOp, weight, [indices], dims=(0,), negative=False)


def index(e: Emitter, x: Value, indices: Sequence[Any]) -> Any:
    """index.Tensor with integers; masks have sizes that depend on data."""
    chosen = _indexed(indices)
    return None if chosen is None else e(g.IndexOp, x, chosen[1], dims=chosen[0])


def index_put(e: Emitter, x: Value, indices: Sequence[Any], values: Value, accumulate: bool = False) -> Any:
    """index_put with integers."""
    chosen = _indexed(indices)
    return None if chosen is None else e(g.IndexPutOp, x, values, chosen[1], dims=chosen[0], accumulate=accumulate)


def _indexed(indices: Sequence[Any]) -> tuple[tuple[int, ...], list[Value]] | None:
    dims = tuple([dim for dim, value in enumerate(indices) if value is not None])
    values = [value for value in indices if value is not None]
    good = values and all(type_of(value).element in INDEX_ELEMENTS for value in values)
    return (dims, values) if good else None


def index_select(e: Emitter, x: Value, dim: int, index: Value) -> Any:
    """index_select: an index of one dim."""
    if not type_of(x).rank or type_of(index).rank != 1:
        return None
    return e(g.IndexOp, x, [index], dims=(dim_of(x, dim),), negative=False)


def take(e: Emitter, x: Value, index: Value) -> Any:
    """take: an index of the flattened tensor."""
    return e(g.IndexOp, e.reshape(x, (type_of(x).count,)), [index], dims=(0,))


def gather(e: Emitter, x: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Any:
    """gather."""
    good = type_of(x).rank == type_of(index).rank and type_of(x).rank and type_of(index).element in INDEX_ELEMENTS
    return e(g.GatherOp, x, index, dim=dim_of(x, dim)) if good else None


def scatter_tensor(mode: str) -> Rule:
    """scatter.src, scatter_add."""

    def rule(e: Emitter, x: Value, dim: int, index: Value, src: Value) -> Any:
        good = type_of(x).element is type_of(src).element and type_of(index).element in INDEX_ELEMENTS
        return e(g.ScatterOp, x, index, src, dim=dim_of(x, dim), mode=mode) if good else None

    return rule


def scatter_value(e: Emitter, x: Value, dim: int, index: Value, value: Any) -> Any:
    """scatter.value."""
    if type_of(index).element not in INDEX_ELEMENTS:
        return None
    return e(g.ScatterOp, x, index, dim=dim_of(x, dim), value=e.number(value, type_of(x).element))


def scatter_reduce(e: Emitter, x: Value, dim: int, index: Value, src: Value, reduce: str, *, include_self: bool = True) -> Any:
    """scatter_reduce.two."""
    good = type_of(x).element is type_of(src).element and type_of(index).element in INDEX_ELEMENTS
    return e(g.ScatterOp, x, index, src, dim=dim_of(x, dim), mode=reduce, include_self=include_self) if good else None


def slice_scatter(e: Emitter, x: Value, src: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """slice_scatter."""
    position = dim_of(x, dim)
    low, high = slice_bounds(type_of(x).shape[position], start, end)
    if type_of(x).element is not type_of(src).element:
        return None
    return e(g.SliceScatterOp, x, src, dim=position, start=low, end=high, step=step)


def select_scatter(e: Emitter, x: Value, src: Value, dim: int, index: int) -> Any:
    """select_scatter: a slice of one."""
    position = dim_of(x, dim)
    shape = type_of(x).shape
    start = index % shape[position]
    one = e.reshape(src, (*shape[:position], 1, *shape[position + 1 :]))
    return slice_scatter(e, x, one, position, start, start + 1)


def diagonal_scatter(e: Emitter, x: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """diagonal_scatter."""
    if type_of(x).element is not type_of(src).element:
        return None
    return e(g.DiagonalScatterOp, x, src, offset=offset, dim1=dim_of(x, dim1), dim2=dim_of(x, dim2))


def searchsorted(
    e: Emitter, boundaries: Value, values: Value, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None
) -> Any:
    """searchsorted of tensors."""
    if type_of(boundaries).element is not type_of(values).element:
        return None
    return e(g.SearchsortedOp, boundaries, values, sorter, right=right or side == "right", element=e.result.element)


def embedding_backward(e: Emitter, gradient: Value, indices: Value, count: int, padding: int, scale: bool) -> Any:
    """embedding_dense_backward."""
    return e(g.EmbeddingBackwardOp, gradient, indices, count=count, padding=padding, scale_by_frequency=scale)


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.embedding.default: embedding,
        aten.index.Tensor: index,
        aten._unsafe_index.Tensor: index,
        aten.index_put.default: index_put,
        aten.index_select.default: index_select,
        aten.take.default: take,
        aten.gather.default: gather,
        aten.scatter.src: scatter_tensor("set"),
        aten.scatter.value: scatter_value,
        aten.scatter_add.default: scatter_tensor("add"),
        aten.scatter_reduce.two: scatter_reduce,
        aten.slice_scatter.default: slice_scatter,
        aten.select_scatter.default: select_scatter,
        aten.diagonal_scatter.default: diagonal_scatter,
        aten.searchsorted.Tensor: searchsorted,
        aten.embedding_dense_backward.default: embedding_backward,
    }
)
