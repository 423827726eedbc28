"""Gradients of views, views that are copied, and diagonals: zeros around what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import view as v
from lect.dialects.functional.creation import FullOp
from lect.dialects.functional.gather import DiagonalScatterOp, SliceScatterOp
from lect.dialects.functional.shapes import normalize_dim
from lect.frontends.tensors.lower import rules_views
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.ir import Value

aten = torch.ops.aten


def zeros(e: Emitter, shape: Sequence[int], like: Value) -> Value:
    """A tensor of zeros."""
    return e(FullOp, shape=tuple(shape), value=e.number(0, type_of(like).element), element=type_of(like).element)


def put_back(e: Emitter, gradient: Value, sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Value:
    """Zeros with the gradient in the place of a slice."""
    if step == 1:
        pads = [(0, 0)] * len(sizes)
        pads[dim] = (start, sizes[dim] - end)
        return e(v.PadOp, gradient, pads=tuple(pads), value=e.number(0, type_of(gradient).element))
    return e(SliceScatterOp, zeros(e, sizes, gradient), gradient, dim=dim, start=start, end=end, step=step)


def slice_backward(e: Emitter, gradient: Value, sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Any:
    """slice_backward."""
    position = normalize_dim(dim, len(sizes))
    first, last = rules_views.slice_bounds(sizes[position], start, end)
    return put_back(e, gradient, sizes, position, first, max(first, last), step)


def select_backward(e: Emitter, gradient: Value, sizes: Sequence[int], dim: int, index: int) -> Any:
    """select_backward: the dropped dim comes back with size 1."""
    position = normalize_dim(dim, len(sizes))
    start = index if index >= 0 else index + sizes[position]
    column = e.reshape(gradient, (*sizes[:position], 1, *sizes[position + 1 :]))
    return put_back(e, column, sizes, position, start, start + 1, 1)


def diagonal_backward(e: Emitter, gradient: Value, sizes: Sequence[int], offset: int, dim1: int, dim2: int) -> Any:
    """diagonal_backward."""
    first, second = normalize_dim(dim1, len(sizes)), normalize_dim(dim2, len(sizes))
    return e(DiagonalScatterOp, zeros(e, sizes, gradient), gradient, offset=offset, dim1=first, dim2=second)


def diagonal_of_new(e: Emitter, x: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """diag_embed: rows become diagonals of zeros."""
    return diagonal_backward(e, x, e.result.shape, offset, dim1, dim2)


def filled_with_tensor(e: Emitter, x: Value, value: Value) -> Any:
    """fill.Tensor: one element everywhere."""
    if type_of(value).element.kind == "complex":
        return None
    element = e.to(e.reshape(value, ()), type_of(x).element)
    return e.fresh(e.expand(element, type_of(x).shape), e.result.strides)


def narrow(e: Emitter, x: Value, dim: int, start: int, length: int) -> Any:
    """narrow_copy before it is copied."""
    position = normalize_dim(dim, type_of(x).rank)
    first = start + type_of(x).shape[position] if start < 0 else start
    return rules_views.emit_slice(e, x, position, first, first + length)


def copied(rule: Rule) -> Rule:
    """The views of a rule in memory of their own."""

    def copying(e: Emitter, *args: Any, **kwargs: Any) -> Any:
        found = rule(e, *args, **kwargs)
        if found is None:
            return None
        values = found if isinstance(found, tuple | list) else (found,)
        return tuple([e.fresh(value, type.strides) for value, type in zip(values, e.results) if type is not None])

    return copying


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.slice_backward.default: slice_backward,
        aten.select_backward.default: select_backward,
        aten.diagonal_backward.default: diagonal_backward,
        aten.diag_embed.default: diagonal_of_new,
        aten.fill.Tensor: filled_with_tensor,
        aten.narrow_copy.default: copied(narrow),
        **{
            getattr(getattr(aten, f"{name}_copy"), overload): copied(rules_views.TABLE[getattr(getattr(aten, name), overload)])
            for name, overload in (
                ("view", "default"), ("unsqueeze", "default"), ("squeeze", "default"), ("squeeze", "dim"), ("squeeze", "dims"), ("transpose", "int"),
                ("t", "default"), ("permute", "default"), ("expand", "default"), ("slice", "Tensor"), ("select", "int"), ("unbind", "int"),
                ("diagonal", "default"), ("split", "Tensor"), ("split_with_sizes", "default"), ("detach", "default"),
                ("alias", "default"),
            )
        },
    }
)  # fmt: skip
