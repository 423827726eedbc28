"""Padding that repeats or mirrors the edges: pieces of the tensor put beside it, one dim after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import view as v
from lect.dialects.functional.creation import FullOp, IotaOp
from lect.dialects.functional.gather import IndexPutOp
from lect.dialects.functional.pointwise import REAL_UNARY, SUMS, ClampOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_views import emit_slice
from lect.ir import Value
from lect.ir.types import i64

aten = torch.ops.aten
Abs, Sub = REAL_UNARY["AbsOp"], SUMS["SubOp"]
Edge = Callable[[Emitter, Value, int, int, bool], Value]


def mirrored(e: Emitter, x: Value, dim: int, count: int, front: bool) -> Value:
    """The `count` elements beside the edge in turned order, the edge itself left out."""
    size = type_of(x).shape[dim]
    start = 1 if front else size - 1 - count
    return e(v.ReverseOp, emit_slice(e, x, dim, start, start + count), dims=(dim,))


def repeated(e: Emitter, x: Value, dim: int, count: int, front: bool) -> Value:
    """The edge `count` times."""
    shape = type_of(x).shape
    edge = emit_slice(e, x, dim, 0 if front else shape[dim] - 1, 1 if front else shape[dim])
    return e.expand(edge, (*shape[:dim], count, *shape[dim + 1 :]))


def padding(edge: Edge) -> Rule:
    """reflection_pad and replication_pad: pairs of counts, which begin with the last dim; a negative one cuts off."""

    def rule(e: Emitter, x: Value, counts: Sequence[int]) -> Any:
        if not type_of(x).count or type_of(x).element.kind == "complex":
            return None
        found = x
        for number in range(len(counts) // 2):
            dim = type_of(x).rank - 1 - number
            before, after = counts[2 * number], counts[2 * number + 1]
            size = type_of(found).shape[dim]
            if size + min(before, 0) + min(after, 0) < 1:
                if edge is not repeated:
                    return None
                found = repeated(e, found, dim, size + before + after, before > 0)  # what is left is one edge
                continue
            parts = [emit_slice(e, found, dim, max(-before, 0), size - max(-after, 0))]
            parts = ([edge(e, found, dim, before, True)] if before > 0 else []) + parts + ([edge(e, found, dim, after, False)] if after > 0 else [])
            if len(parts) > 1:
                found = e(v.CatOp, parts, dim=dim)
            else:
                found = parts[0]
        return e.fresh(found, e.result.strides) if type_of(found).strides != e.result.strides or not any(count > 0 for count in counts) else found

    return rule


def edge_backward(edge: Edge) -> Rule:
    """reflection_pad and replication_pad backward: each element of the gradient added to the element that stands there, halves rounded each time."""

    def rule(e: Emitter, gradient: Value, x: Value, counts: Sequence[int]) -> Any:
        shape, element = type_of(x).shape, type_of(x).element
        if not type_of(x).count or not type_of(gradient).count or element.kind == "complex" or type_of(gradient).element is not element:
            return None
        padded = len(counts) // 2
        dims = tuple(range(len(shape) - padded, len(shape)))
        places = []
        for number, dim in enumerate(dims):
            before, last = counts[2 * (padded - 1 - number)], shape[dim] - 1
            place = e(IotaOp, size=type_of(gradient).shape[dim], start=-before, step=1, element=i64)
            if edge is mirrored:
                distance = e(Abs, e(Sub, e(Abs, place), other=last, reversed=True))
                place = e(Sub, distance, other=last, reversed=True)
            else:
                place = e(ClampOp, place, min=0, max=last)
            places.append(e.reshape(place, tuple([type_of(place).count if k == number else 1 for k in range(padded)])))
        nothing = e(FullOp, shape=shape, value=e.number(0, element), element=element)
        return e(IndexPutOp, nothing, gradient, places, dims=dims, accumulate=True)

    return rule


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        **{getattr(aten, f"reflection_pad{dims}d").default: padding(mirrored) for dims in (1, 2, 3)},
        **{getattr(aten, f"replication_pad{dims}d").default: padding(repeated) for dims in (1, 2, 3)},
        **{getattr(aten, f"reflection_pad{dims}d_backward").default: edge_backward(mirrored) for dims in (1, 2, 3)},
        **{getattr(aten, f"replication_pad{dims}d_backward").default: edge_backward(repeated) for dims in (1, 2, 3)},
    }
)
