"""Places of which the sizes alone tell how many there are: those of a triangle of a matrix, row by row, and a stated number of those that are not zero."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional import view as v
from lect.dialects.functional.creation import FullOp, IotaOp
from lect.dialects.functional.gather import IndexOp, ScatterOp, SearchsortedOp
from lect.dialects.functional.shapes import contiguous_strides
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.ir import Value
from lect.ir.types import i1, i32, i64

aten = torch.ops.aten
Sub = p.SUMS["SubOp"]


def triangle(lower: bool) -> Rule:
    """tril_indices and triu_indices: a row for the rows of the places, and one for their columns."""

    def rule(e: Emitter, rows: int, columns: int, offset: int = 0, **options: Any) -> Any:
        element = e.result.element
        count = e.result.shape[1]
        if element not in (i32, i64) or not count or e.result.device != "cpu":
            return None
        row, column = _places(e, rows, columns, offset, lower, count)
        pair = [e.reshape(e.to(value, element), (1, count)) for value in (row, column)]
        return e(v.CatOp, pair, dim=0)

    return rule


def _places(e: Emitter, rows: int, columns: int, offset: int, lower: bool, count: int) -> tuple[Value, Value]:
    """The row is found by a search in the numbers of places up to the end of each row; the column is counted from the row's first place."""
    border = _counting(e, rows, offset + 1 if lower else offset)  # the first column right of the lower triangle, or in the upper one
    inside = e(p.ClampOp, border, min=0, max=columns)
    length = inside if lower else e(Sub, inside, other=columns, reversed=True)
    ends = e(r.SCANS["CumsumOp"], length, dim=0)
    number = _counting(e, count, 0)
    row = e(SearchsortedOp, ends, number, right=True, element=i64)
    start = e(Sub, ends, length) if lower else e(Sub, e(Sub, ends, length), inside)
    return row, e(Sub, number, e(IndexOp, start, [row], dims=(0,), negative=False))


def _counting(e: Emitter, count: int, start: int) -> Value:
    return e(IotaOp, size=count, start=start, step=1, element=i64)  # type: ignore[no-any-return]


def places_of_nonzero(e: Emitter, x: Value, *, size: int, fill_value: int = -1) -> Any:
    """nonzero_static: flat places are put where as many come before them, those beyond `size` into one element more; then taken apart."""
    shape, count = type_of(x).shape, type_of(x).count
    element = type_of(x).element
    if element.kind == "complex" or type_of(x).device != "cpu" or count >= 1 << 31:
        return None
    if not count or not e.result.count:
        return e(FullOp, shape=e.result.shape, value=fill_value, element=i64)
    flags = e.reshape(x if element is i1 else e(p.COMPARISONS["NeOp"], x, other=e.number(0, element)), (count,))
    before = e(Sub, e(r.SCANS["CumsumOp"], flags, dim=0), other=1)
    spot = e(p.WhereOp, flags, e(p.ClampOp, before, min=0, max=size), e.scalar(size, i64))
    nothing = e(FullOp, shape=(size + 1,), value=-1, element=i64)
    found = e(ScatterOp, nothing, spot, _counting(e, count, 0), dim=0)
    place = e(v.SliceOp, found, dim=0, start=0, end=size)
    missing = e(p.COMPARISONS["LtOp"], place, other=0)
    columns = []
    for stride, extent in zip(contiguous_strides(shape), shape):
        along = e(p.MODULO["FmodOp"], e(p.DivOp, place, other=stride, mode="trunc"), other=extent)
        columns.append(e.reshape(e(p.WhereOp, missing, e.scalar(fill_value, i64), along), (size, 1)))
    return e(v.CatOp, columns, dim=1) if len(columns) > 1 else e.fresh(columns[0])


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.tril_indices.default: triangle(True),
        aten.triu_indices.default: triangle(False),
        aten.nonzero_static.default: places_of_nonzero,
    }
)
