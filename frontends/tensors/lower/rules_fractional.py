"""Pools whose windows begin at places that random numbers choose: fractional_max_pool2d and 3d."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional import view as v
from lect.dialects.functional.creation import IotaOp
from lect.dialects.functional.gather import GatherOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_views import emit_slice
from lect.ir import Value
from lect.ir.types import i64

aten = torch.ops.aten
Add, Sub, Mul = p.SUMS["AddOp"], p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"]


def _starts(e: Emitter, sample: Value, size: int, count: int, width: int) -> Value:
    """Where the windows of one dim begin, for each plane: (planes, count); the last one ends where the dim ends."""
    element = type_of(sample).element
    planes = type_of(sample).shape[0]
    last = e.reshape(e(IotaOp, size=1, start=size - width, step=1, element=i64), (1, 1))
    if count == 1:
        return e.expand(last, (planes, 1))
    alpha = e.number(e.number(float(size - width), element) / e.number(float(count - 1), element), element)
    number = e.reshape(e.to(e(IotaOp, size=count, start=0, step=1, element=i64), element), (1, count))
    moved = e.to(e(Mul, e(Add, number, sample), other=alpha), i64)
    found = e(Sub, moved, e.to(e(Mul, sample, other=alpha), i64))
    is_last = e.reshape(e(p.COMPARISONS["EqOp"], e(IotaOp, size=count, start=0, step=1, element=i64), other=count - 1), (1, count))
    return e(p.WhereOp, is_last, last, found)  # type: ignore[no-any-return]


def fractional_max_pool(spatial: int, first: Sequence[int]) -> Rule:
    """fractional_max_pool2d, 3d; `first` says which of a plane's random numbers is for which dim.  Of NaN the last is found."""

    def rule(e: Emitter, x: Value, kernel: Sequence[int], output_size: Sequence[int], samples: Value) -> Any:
        shape, element = type_of(x).shape, type_of(x).element
        if not type_of(x).count or not element.is_float or type_of(samples).element is not element or not math.prod(output_size):
            return None
        sizes, planes = shape[-spatial:], math.prod(shape[:-spatial])
        numbers = e.reshape(samples, (planes, spatial))
        place: Any = None
        for dim, (size, count, width) in enumerate(zip(sizes, output_size, kernel)):
            start = _starts(e, emit_slice(e, numbers, 1, first[dim], first[dim] + 1), size, count, width)
            outer = [1] * (2 * spatial)
            outer[dim] = count
            inner = [1] * (2 * spatial)
            inner[spatial + dim] = width
            along = e(Add, e.reshape(start, (planes, *outer)), e.reshape(e(IotaOp, size=width, start=0, step=1, element=i64), (1, *inner)))
            place = along if place is None else e(Add, e(Mul, place, other=size), along)
        window = math.prod(kernel)
        place = e.reshape(e.expand(place, (planes, *output_size, *kernel)), (planes, math.prod(output_size) * window))
        flat = e.reshape(x, (planes, math.prod(sizes)))
        seen, places = [e.reshape(each, (planes, math.prod(output_size), window)) for each in (e(GatherOp, flat, place, dim=1), place)]
        values, chosen = e(r.WITH_INDEX["MaxWithIndexOp"], seen, dim=2, keepdim=True)
        missing = e(p.PREDICATES["IsnanOp"], seen)
        last = e(Sub, e(r.WHICH["ArgmaxOp"], e.to(e(v.ReverseOp, missing, dims=(2,)), i64), dim=2, keepdim=True), other=window - 1, reversed=True)
        chosen = e(p.WhereOp, e(r.TESTS["AnyOp"], missing, dims=(2,), keepdim=True), last, chosen)
        return [e.reshape(each, (*shape[:-spatial], *output_size)) for each in (values, e(GatherOp, places, chosen, dim=2))]

    return rule


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.fractional_max_pool2d.default: fractional_max_pool(2, (1, 0)),
        aten.fractional_max_pool3d.default: fractional_max_pool(3, (0, 1, 2)),
    }
)
