"""Places of which the sizes alone tell how many there are: those of a triangle of a matrix, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional import view as v
from lect.dialects.functional.creation import IotaOp
from lect.dialects.functional.gather import IndexOp, SearchsortedOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule
from lect.ir import Value
from lect.ir.types import i32, i64

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


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType({aten.tril_indices.default: triangle(True), aten.triu_indices.default: triangle(False)})
