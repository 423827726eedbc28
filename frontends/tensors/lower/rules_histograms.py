"""Histograms: a place for each element, found in the edges of the bins, and a sum for each bin.

Elements outside of the outer edges, and NaN, count in no bin: they meet in one behind the last.  An element on the last edge counts in the last bin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional.creation import FullOp
from lect.dialects.functional.gather import ScatterOp, SearchsortedOp, WithinOp
from lect.frontends.tensors.elements import DTYPES
from lect.frontends.tensors.lower.emitter import Emitter, type_of
from lect.frontends.tensors.lower.rules_compositions import linear_range
from lect.frontends.tensors.lower.rules_views import emit_slice
from lect.ir import Value
from lect.ir.types import f32, f64, i64

aten = torch.ops.aten
Add, Sub, Mul = p.SUMS["AddOp"], p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"]
Ge, Le, Eq = p.COMPARISONS["GeOp"], p.COMPARISONS["LeOp"], p.COMPARISONS["EqOp"]
And = p.BIT_BINARY["BitwiseAndOp"]
Edges = tuple[Any, Any]  # numbers, or 0-d tensors
COUNTED_BY_HALVES: Final = 256  # bf16 tells the numbers up to this apart


# ---- bins ------------------------------------------------------------------------------------------------------------


def _edges_of_elements(e: Emitter, x: Value, apart: float, stated: float) -> Edges:
    """The least and the greatest element, which must be finite; `apart` is taken off and added where they are equal, and around `stated` if there are none."""
    element = type_of(x).element
    if not type_of(x).count:
        return stated - apart, stated + apart
    dims, limit = tuple(range(type_of(x).rank)), float(torch.finfo(DTYPES[element]).max)
    low, high = [e(WithinOp, e(r.EXTREMA[name], x, dims=dims), min=-limit, max=limit) for name in ("AminOp", "AmaxOp")]
    margin = e(p.WhereOp, e(Eq, low, high), e.scalar(apart, element), e.scalar(0, element))
    return e(Sub, low, margin), e(Add, high, margin)


def _compared(e: Emitter, x: Value, edges: Edges) -> Value:
    """i1: an element lies between the outer edges."""
    low, high = [e(cls, x, edge) if isinstance(edge, Value) else e(cls, x, other=edge) for cls, edge in ((Ge, edges[0]), (Le, edges[1]))]
    return e(And, low, high)  # type: ignore[no-any-return]


def _summed(e: Emitter, places: Value, inside: Value, count: int, weight: Value | None) -> Value:
    """The sum of the weights at each of `count` places, or how many elements have it."""
    element = e.result.element
    size = type_of(places).count
    spots = e(p.WhereOp, inside, places, e.scalar(count, i64))
    nothing = e(FullOp, shape=(count + 1,), value=e.number(0, element), element=element)
    how: dict[str, Any] = {"value": e.number(1, element)} if weight is None else {}
    if not size:
        return e(FullOp, shape=(count,), value=e.number(0, element), element=element)  # type: ignore[no-any-return]
    values = None if weight is None else e.reshape(weight, (size,))
    found = e(ScatterOp, nothing, spots, values, dim=0, mode="add", **how)
    return emit_slice(e, found, 0, 0, count)  # type: ignore[no-any-return]


def equal_bins(e: Emitter, x: Value, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    """histc: the place is computed, not searched; halves are rounded behind each step."""
    element = type_of(x).element
    numbers = type(bins) is int and all(type(value) in (int, float) and math.isfinite(value) for value in (min, max))
    if not element.is_float or not numbers or bins < 1 or min > max or (element.is_half and type_of(x).count > COUNTED_BY_HALVES):
        return None
    low, high = e.number(min, element), e.number(max, element)
    edges = (low, high) if low != high else _edges_of_elements(e, x, 1.0, low)
    flat = e.reshape(x, (type_of(x).count,))
    inside = _compared(e, flat, edges)
    ends = [edge if isinstance(edge, Value) else e.scalar(edge, element) for edge in edges]
    part = e(p.DivOp, e(Mul, e(Sub, flat, ends[0]), other=e.number(bins, element)), e(Sub, ends[1], ends[0]))
    place = e.to(e(p.WhereOp, inside, part, e.scalar(0, element)), i64)
    return e.fresh(_summed(e, e(p.ClampOp, place, max=bins - 1), inside, bins, None))


# ---- searched places -------------------------------------------------------------------------------------------------


def _range_edges(e: Emitter, x: Value, bins: int, ends: Sequence[float] | None) -> Value:
    """The edges of bins of one length between two numbers, or the least and the greatest element."""
    if ends is None:
        edges = _edges_of_elements(e, x, 0.5, 0.5)
    else:
        edges = (ends[0], ends[1]) if ends[0] != ends[1] else (ends[0] - 0.5, ends[1] + 0.5)
    return linear_range(e, *edges, bins + 1)  # type: ignore[no-any-return]


def _places(e: Emitter, x: Value, edges: Value) -> tuple[Value, Value]:
    """For a column of elements the bin each is in, and whether it is in any."""
    last = type_of(edges).count - 1
    ends = e.reshape(emit_slice(e, edges, 0, 0, 1), ()), e.reshape(emit_slice(e, edges, 0, last, last + 1), ())
    found = e(Sub, e(SearchsortedOp, edges, x, right=True, element=i64), other=1)
    return e(p.ClampOp, found, min=0, max=last - 1), _compared(e, x, ends)


def _histogram(e: Emitter, x: Value, edges: Sequence[Value], weight: Value | None, density: bool) -> Value:
    """The sums of all bins; x has a row for each point, with a coordinate for each list of edges."""
    shape = tuple([type_of(each).count - 1 for each in edges])
    places: Value | None = None
    inside: Value | None = None
    for number, each in enumerate(edges):
        column = e.reshape(emit_slice(e, x, 1, number, number + 1), (type_of(x).shape[0],))
        place, is_in = _places(e, column, each)
        places = place if places is None else e(Add, e(Mul, places, other=shape[number]), place)
        inside = is_in if inside is None else e(And, inside, is_in)
    assert places is not None and inside is not None
    found = e.reshape(_summed(e, places, inside, math.prod(shape), weight), shape)
    if density:
        found = e(p.DivOp, found, e(r.ACCUMULATE["SumOp"], found, dims=tuple(range(len(shape)))))
        for number, each in enumerate(edges):
            lengths = e(Sub, emit_slice(e, each, 0, 1, shape[number] + 1), emit_slice(e, each, 0, 0, shape[number]))
            found = e(p.DivOp, found, e.reshape(lengths, (shape[number], *(1,) * (len(shape) - number - 1))))
    return e.fresh(found)


def _is_plain(x: Value, *others: Value | None) -> bool:
    """True for f32 or f64 all through."""
    return type_of(x).element in (f32, f64) and all(other is None or type_of(other).element is type_of(x).element for other in others)


def _fits(x: Value, weight: Value | None) -> bool:
    """True for a weight for each element of a tensor."""
    return weight is None or type_of(weight).count == type_of(x).count


def _good_range(count: int, ends: Sequence[float] | None) -> bool:
    """True for finite ends in order, two for each of `count` coordinates."""
    if ends is None:
        return True
    return len(ends) == 2 * count and all(map(math.isfinite, ends)) and all(ends[k] <= ends[k + 1] for k in range(0, len(ends), 2))


def histogram_of_count(e: Emitter, x: Value, bins: int = 100, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """histogram with a number of bins."""
    if not _is_plain(x, weight) or not _fits(x, weight) or bins < 1 or not _good_range(1, range):
        return None
    edges = _range_edges(e, x, bins, range)
    return _histogram(e, e.reshape(x, (type_of(x).count, 1)), [edges], weight, density), edges


def histogram_of_edges(e: Emitter, x: Value, bins: Value, *, weight: Any = None, density: bool = False) -> Any:
    """histogram with the edges of the bins."""
    if not _is_plain(x, bins, weight) or not _fits(x, weight) or type_of(bins).rank != 1 or type_of(bins).count < 2:
        return None
    return _histogram(e, e.reshape(x, (type_of(x).count, 1)), [bins], weight, density), e.fresh(bins)


def _points(e: Emitter, x: Value) -> Value | None:
    """x with a row for each point; None for coordinates that are no dim."""
    shape = type_of(x).shape
    return e.reshape(x, (math.prod(shape[:-1]), shape[-1])) if len(shape) >= 2 and shape[-1] else None


def _all_edges(e: Emitter, points: Value, bins: Sequence[int], ends: Sequence[float] | None) -> list[Value]:
    columns = [emit_slice(e, points, 1, number, number + 1) for number, _ in enumerate(bins)]
    return [_range_edges(e, column, count, None if ends is None else ends[2 * k : 2 * k + 2]) for k, (column, count) in enumerate(zip(columns, bins))]


def _is_counted(x: Value, bins: Sequence[int], ends: Any, weight: Any) -> bool:
    shape = type_of(x).shape
    points = weight is None or (bool(shape) and type_of(weight).count == math.prod(shape[:-1]))
    return _is_plain(x, weight) and points and bool(shape) and shape[-1] == len(bins) and min(bins) >= 1 and _good_range(len(bins), ends)


def edges_of_counts(e: Emitter, x: Value, bins: Sequence[int], *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """_histogramdd_bin_edges."""
    points = _points(e, x) if _is_counted(x, bins, range, weight) else None
    return None if points is None else tuple(_all_edges(e, points, bins, range))


def histogram_of_counts(e: Emitter, x: Value, bins: Sequence[int], *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """_histogramdd_from_bin_cts."""
    points = _points(e, x) if _is_counted(x, bins, range, weight) else None
    return None if points is None else _histogram(e, points, _all_edges(e, points, bins, range), weight, density)


def histogram_of_all_edges(e: Emitter, x: Value, bins: Sequence[Value], *, weight: Any = None, density: bool = False) -> Any:
    """_histogramdd_from_bin_tensors."""
    known = all(type_of(each).rank == 1 and type_of(each).count >= 2 for each in bins)
    counted = known and _is_counted(x, [type_of(each).count - 1 for each in bins], None, weight)
    points = _points(e, x) if counted and _is_plain(x, *bins) else None
    return None if points is None else _histogram(e, points, bins, weight, density)


TABLE: Final[Mapping[Any, Any]] = MappingProxyType(
    {
        aten.histc.default: equal_bins,
        aten.histogram.bin_ct: histogram_of_count,
        aten.histogram.bins_tensor: histogram_of_edges,
        aten._histogramdd_bin_edges.default: edges_of_counts,
        aten._histogramdd_from_bin_cts.default: histogram_of_counts,
        aten._histogramdd_from_bin_tensors.default: histogram_of_all_edges,
    }
)
