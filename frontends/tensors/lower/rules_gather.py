"""ATen overloads that read and write at computed places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import gather as g
from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional.creation import FullOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, dim_of, type_of
from lect.frontends.tensors.shape_views import slice_bounds
from lect.ir import Value
from lect.ir.types import f64, i1, i32, i64, ui8

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
    if type_of(index).element not in INDEX_ELEMENTS or type_of(index).rank > 1:
        return None
    if not type_of(x).rank:
        if type_of(index).count != 1:
            return None
        return e.reshape(e(g.IndexOp, e.reshape(x, (1,)), [e.reshape(index, (1,))], dims=(0,), negative=False), ())
    index = e.reshape(index, (type_of(index).count,))
    return e(g.IndexOp, x, [index], dims=(dim_of(x, dim),), negative=False)


def take(e: Emitter, x: Value, index: Value) -> Any:
    """take: an index of the flattened tensor."""
    return e(g.IndexOp, e.reshape(x, (type_of(x).count,)), [index], dims=(0,))


def gather(e: Emitter, x: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Any:
    """gather; a 0-d tensor counts as having one dim."""
    index = e.to(index, i64) if type_of(index).element is ui8 else index
    if type_of(index).element not in INDEX_ELEMENTS:
        return None
    if not type_of(index).count:
        return e(FullOp, shape=type_of(index).shape, value=e.number(0, type_of(x).element), element=type_of(x).element)
    if not type_of(x).rank or not type_of(index).rank:
        found = e(g.GatherOp, e.reshape(x, (type_of(x).count,)), e.reshape(index, (type_of(index).count,)), dim=0)
        return e.reshape(found, type_of(index).shape)
    return e(g.GatherOp, x, index, dim=dim_of(x, dim)) if type_of(x).rank == type_of(index).rank else None


def _scatter(e: Emitter, x: Value, dim: int, index: Value, src: Any, **how: Any) -> Any:
    """A scatter of a tensor or a number; a 0-d tensor counts as having one dim."""
    is_tensor = isinstance(src, Value)
    element = type_of(x).element
    if not type_of(index).count and (not is_tensor or type_of(src).element is element):
        return e.fresh(x, e.result.strides)
    if type_of(index).element not in INDEX_ELEMENTS or (is_tensor and type_of(src).element is not element) or element.kind == "complex":
        return None
    if not is_tensor:
        how["value"] = e.number(src, element)
    if type_of(x).rank and type_of(index).rank == type_of(x).rank and (not is_tensor or type_of(src).rank == type_of(x).rank):
        return e(g.ScatterOp, x, index, src if is_tensor else None, dim=dim_of(x, dim), **how)
    values = [x, index, src] if is_tensor else [x, index]
    if not all(type_of(value).rank <= 1 for value in values):
        return None
    flat = [e.reshape(value, (type_of(value).count,)) for value in values]
    return e.laid_out(e.reshape(e(g.ScatterOp, *flat, dim=0, **how), type_of(x).shape), e.result)


def scatter_tensor(mode: str) -> Rule:
    """scatter.src, scatter_add."""
    return lambda e, x, dim, index, src: _scatter(e, x, dim, index, src, mode=mode)


def scatter_value(e: Emitter, x: Value, dim: int, index: Value, value: Any) -> Any:
    """scatter.value."""
    return _scatter(e, x, dim, index, value)


def scatter_with(e: Emitter, x: Value, dim: int, index: Value, src: Any, *, reduce: str) -> Any:
    """scatter.reduce and scatter.value_reduce: add or multiply."""
    return _scatter(e, x, dim, index, src, mode=reduce)


def scatter_reduce(e: Emitter, x: Value, dim: int, index: Value, src: Value, reduce: str, *, include_self: bool = True) -> Any:
    """scatter_reduce.two."""
    return _scatter(e, x, dim, index, src, mode=reduce, include_self=include_self)


def _row_index(index: Value) -> bool:
    """True for an index of one dim of integers, or of one number."""
    return type_of(index).rank <= 1 and type_of(index).element in INDEX_ELEMENTS


def put_rows(e: Emitter, x: Value, dim: int, index: Value, values: Value, *, accumulate: bool, negative: bool) -> Any:
    """x with slices of `values` at the places along `dim` that an index names; a 0-d tensor counts as having one dim."""
    rows = e.reshape(index, (type_of(index).count,))
    shape = type_of(x).shape
    if shape:
        return e(g.IndexPutOp, x, values, [rows], dims=(dim_of(x, dim),), accumulate=accumulate, negative=negative)
    values = e.reshape(values, (1,)) if type_of(values).count == 1 else values
    return e.reshape(e(g.IndexPutOp, e.reshape(x, (1,)), values, [rows], dims=(0,), accumulate=accumulate, negative=negative), ())


def _spread_index(e: Emitter, index: Value, dim: int, shape: Sequence[int]) -> Value:
    """An index of slices along `dim` as an index of the elements of a shape."""
    column = e.reshape(index, tuple([type_of(index).count if k == dim else 1 for k in range(len(shape))]))
    return e.expand(column, shape)


def index_add(e: Emitter, x: Value, dim: int, index: Value, src: Value, *, alpha: Any = 1) -> Any:
    """index_add; along the first and the last dim of several eager makes it a scatter_add, which sums halves in f32.

    Where there are several dims it adds slices, and rounds a half once for the product and the sum; that is the same where the product is exact.
    """
    if not type_of(x).rank and type_of(src).count == 1:
        found = index_add(e, e.reshape(x, (1,)), 0, index, e.reshape(src, (1,)), alpha=alpha)
        return None if found is None else e.reshape(found, ())
    element, rank = type_of(x).element, type_of(x).rank
    if not _row_index(index) or type_of(src).element is not element or type_of(src).rank != rank:
        return None
    if element.is_half and alpha != 1 and rank > 1 and math.frexp(abs(alpha))[0] not in (0.0, 0.5):
        return None
    if element.is_half and alpha == 1 and rank > 1 and type_of(index).element is i64 and dim_of(x, dim) in (0, rank - 1):
        return _scatter(e, x, dim, _spread_index(e, index, dim_of(x, dim), type_of(src).shape), src, mode="add")
    if alpha != 1:
        src = e(p.MIXED_BINARY["MulOp"], src, other=e.number(alpha, element))
    return put_rows(e, x, dim, index, src, accumulate=True, negative=False)


def index_copy(e: Emitter, x: Value, dim: int, index: Value, src: Value) -> Any:
    """index_copy."""
    if not type_of(x).rank and type_of(src).count == 1:
        src = e.reshape(src, ())
    if not _row_index(index) or type_of(src).element is not type_of(x).element or type_of(src).rank != type_of(x).rank:
        return None
    return put_rows(e, x, dim, index, src, accumulate=False, negative=False)


def index_fill(e: Emitter, x: Value, dim: int, index: Value, value: Any) -> Any:
    """index_fill with a number or a 0-d tensor; negative indices count from the end."""
    element = type_of(x).element
    if not _row_index(index) or element.kind == "complex" or isinstance(value, complex):
        return None
    number = e.to(e.reshape(value, ()), element) if isinstance(value, Value) else e.scalar(value, element)
    return put_rows(e, x, dim, index, number, accumulate=False, negative=True)


def index_reduce(e: Emitter, x: Value, dim: int, index: Value, src: Value, reduce: str, *, include_self: bool = True) -> Any:
    """index_reduce as scatter_reduce; halves are rounded behind each step."""
    if not type_of(x).rank and type_of(src).count == 1:
        found = index_reduce(e, e.reshape(x, (1,)), 0, index, e.reshape(src, (1,)), reduce, include_self=include_self)
        return None if found is None else e.reshape(found, ())
    shape = type_of(src).shape
    if not _row_index(index) or type_of(src).element is not type_of(x).element or not shape or len(shape) != type_of(x).rank:
        return None
    position = dim_of(x, dim)
    how = {"mode": reduce, "include_self": include_self, "stepwise": type_of(x).element.is_half and reduce in ("prod", "mean")}
    return e(g.ScatterOp, x, _spread_index(e, index, position, shape), src, dim=position, **how)


def embedding_renorm(e: Emitter, weight: Value, indices: Value, limit: float, order: float) -> Any:
    """embedding_renorm: the rows that are looked up and whose norm is above the limit are scaled down to it; the scale is computed in f64
    and rounded to the type of the rows."""
    element = type_of(weight).element
    if not element.is_float or type_of(weight).rank != 2 or not type_of(weight).count or type_of(indices).element not in INDEX_ELEMENTS:
        return None
    rows = type_of(weight).shape[0]
    chosen = e(FullOp, shape=(rows,), value=False, element=i1)
    if type_of(indices).count:
        flat = e.reshape(indices, (type_of(indices).count,))
        chosen = e(g.IndexPutOp, chosen, e.scalar(True, i1), [flat], dims=(0,), negative=False)
    norm = e.to(e(r.VectorNormOp, weight, dims=(1,), ord=order), f64)
    scale = e(p.DivOp, e(p.SUMS["AddOp"], norm, other=1e-7), other=limit, reversed=True)
    chosen = e(p.BIT_BINARY["BitwiseAndOp"], chosen, e(p.COMPARISONS["GtOp"], norm, other=limit))
    scaled = e(p.MIXED_BINARY["MulOp"], weight, e.to(e.reshape(scale, (rows, 1)), element))
    return e(p.WhereOp, e.reshape(chosen, (rows, 1)), scaled, weight)


def put(e: Emitter, x: Value, index: Value, src: Value, accumulate: bool = False) -> Any:
    """put: an index of the flattened tensor."""
    if type_of(index).element not in INDEX_ELEMENTS or type_of(src).element is not type_of(x).element or type_of(index).count != type_of(src).count:
        return None
    count = type_of(index).count
    flat, rows = e.reshape(x, (type_of(x).count,)), e.reshape(index, (count,))
    found = e(g.IndexPutOp, flat, e.reshape(src, (count,)), [rows], dims=(0,), accumulate=accumulate)
    return e.laid_out(e.reshape(found, type_of(x).shape), e.result)


def _clamped(e: Emitter, x: Value, indices: Sequence[Any]) -> list[Any]:
    """Indices brought into their dims."""
    sizes = type_of(x).shape
    return [None if index is None else e(p.ClampOp, index, min=-sizes[dim], max=sizes[dim] - 1) for dim, index in enumerate(indices)]


def masked_index(e: Emitter, x: Value, mask: Value, indices: Sequence[Any], fill: Any) -> Any:
    """_unsafe_masked_index: `fill` where the mask is false, whatever the index."""
    if _indexed(indices) is None or not type_of(x).count or type_of(mask).element is not i1:
        return None
    found = index(e, x, _clamped(e, x, indices))
    return e(p.WhereOp, mask, found, e.scalar(fill, type_of(x).element))


def masked_index_put(e: Emitter, x: Value, mask: Value, indices: Sequence[Any], values: Value) -> Any:
    """_unsafe_masked_index_put_accumulate: nothing is added where the mask is false."""
    if _indexed(indices) is None or not type_of(x).count or type_of(mask).element is not i1 or type_of(values).element is not type_of(x).element:
        return None
    added = e(p.WhereOp, mask, values, e.scalar(0, type_of(x).element))
    return index_put(e, x, _clamped(e, x, indices), added, True)


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


def searchsorted_number(
    e: Emitter, boundaries: Value, value: Any, *, out_int32: bool = False, right: bool = False, side: Any = None, sorter: Any = None
) -> Any:
    """searchsorted of a number in one row."""
    element = type_of(boundaries).element
    if type_of(boundaries).rank != 1 or isinstance(value, complex) or e.promote(boundaries, value) is not element:
        return None
    return searchsorted(e, boundaries, e.scalar(value, element), right=right, side=side, sorter=sorter)


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
        aten.index_add.default: index_add,
        aten.index_copy.default: index_copy,
        aten.index_fill.int_Scalar: index_fill,
        aten.index_fill.int_Tensor: index_fill,
        aten.index_reduce.default: index_reduce,
        aten.put.default: put,
        aten.embedding_renorm.default: embedding_renorm,
        aten._unsafe_masked_index.default: masked_index,
        aten._unsafe_masked_index_put_accumulate.default: masked_index_put,
        aten.scatter.src: scatter_tensor("set"),
        aten.scatter.value: scatter_value,
        aten.scatter_add.default: scatter_tensor("add"),
        aten.scatter_reduce.two: scatter_reduce,
        aten.scatter.reduce: scatter_with,
        aten.scatter.value_reduce: scatter_with,
        aten.slice_scatter.default: slice_scatter,
        aten.select_scatter.default: select_scatter,
        aten.diagonal_scatter.default: diagonal_scatter,
        aten.searchsorted.Tensor: searchsorted,
        aten.searchsorted.Scalar: searchsorted_number,
        aten.embedding_dense_backward.default: embedding_backward,
    }
)
