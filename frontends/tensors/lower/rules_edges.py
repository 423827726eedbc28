"""Padding that repeats or mirrors the edges: pieces of the tensor put beside it, one dim after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import view as v
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_views import emit_slice
from lect.ir import Value

aten = torch.ops.aten
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
                return None
            parts = [emit_slice(e, found, dim, max(-before, 0), size - max(-after, 0))]
            parts = ([edge(e, found, dim, before, True)] if before > 0 else []) + parts + ([edge(e, found, dim, after, False)] if after > 0 else [])
            if len(parts) > 1:
                found = e(v.CatOp, parts, dim=dim)
            else:
                found = parts[0]
        return e.fresh(found, e.result.strides) if type_of(found).strides != e.result.strides or not any(count > 0 for count in counts) else found

    return rule


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        **{getattr(aten, f"reflection_pad{dims}d").default: padding(mirrored) for dims in (1, 2, 3)},
        **{getattr(aten, f"replication_pad{dims}d").default: padding(repeated) for dims in (1, 2, 3)},
    }
)
