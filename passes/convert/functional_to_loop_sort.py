"""Sorting of short rows by counting.

The place of an element is the number of elements of its row that come in front of it: a fold.  Which element stands at a place is another one, so nothing
is written at a computed place, and both folds go over lanes.  The work grows with the square of a row; rows that are longer are the library's, which is
then faster.  NaN is the greatest; equal elements keep their order, which is what eager's stable sort does, and its other one in rows of up to 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import reduction
from lect.dialects.functional.types import TensorType
from lect.dialects.loop.attributes import SpaceAttr
from lect.ir import Operation
from lect.ir.index_map import space_dims
from lect.ir.symbolic import ZERO, Expr, loaded
from lect.ir.types import i1, i32, i64
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen
from lect.passes.convert.functional_to_loop_extern import call
from lect.passes.convert.functional_to_loop_gather import affine, read_at

IN_ORDER = 16  # eager's sort keeps equal elements of such rows in order, whatever it is asked for
LONGEST = 64


class Rows:
    """The rows of `op`: `outer` are the sizes of the other dims, `count` the size of the sorted one."""

    def __init__(self, lowering: Lowering, op: Any) -> None:
        self.lowering = lowering
        self.op = op
        self.type: TensorType = op.x.type
        self.dim: int = op.dim if self.type.rank else 0
        shape = self.type.shape or (1,)
        self.outer = (*shape[: self.dim], *shape[self.dim + 1 :])
        self.count = shape[self.dim]
        self.source = affine(lowering, op.x)

    def nest(self) -> tuple[Body, tuple[Expr, ...], Expr, Expr]:
        """A nest over rows and pairs of places in a row: the body, the row, and the two places."""
        space = (*self.outer, self.count, self.count)
        *row, one, other = space_dims(space)
        return Body(self.lowering, SpaceAttr(space), (*row, one, other), self.op.loc), tuple(row), one, other

    def point(self, row: tuple[Expr, ...], along: Expr) -> tuple[Expr, ...]:
        """Where in the sorted tensor an element of a row is."""
        return (*row[: self.dim], along, *row[self.dim :]) if self.type.rank else ()

    def precedes(self, first: Num, second: Num) -> Num:
        """Whether an element must come in front of another."""
        first, second = [number.cast(i32) if number.type is i1 else number for number in (first, second)]
        if not first.type.is_float:
            return first > second if self.op.descending else first < second
        if self.op.descending:
            return ~(first <= second) & second.equals(second)
        return ~(first >= second) & first.equals(first)


def _sort(lowering: Lowering, op: Any) -> list[Seen]:
    rows = Rows(lowering, op)
    if type(rows.count) is not int:
        return call(lowering, op)
    in_order = op.stable or rows.count <= IN_ORDER or not op.indices.users
    if op.x.type.is_empty or not in_order or rows.count > LONGEST:
        return call(lowering, op)
    order = _order(rows)
    body = lowering.body(op.values.type, op.loc)
    row = (*body.indices[: rows.dim], *body.indices[rows.dim + 1 :])
    place = body.read(order, (*row, body.indices[rows.dim] if rows.type.rank else ZERO)).cast(i64)
    body.store(read_at(body, rows.source, rows.point(row, loaded(0)), [place.value]), op.values.type)
    body.store(place, op.indices.type)
    return body.finish()


def _order(rows: Rows) -> Seen:
    """For each place of a row which element stands there."""
    over = (len(rows.outer) + 1,) if rows.count > 1 else ()
    type = rows.type.like((*rows.outer, rows.count), i32)
    body, row, one, other = rows.nest()
    x, y = body.read(rows.source, rows.point(row, one)), body.read(rows.source, rows.point(row, other))
    earlier = body.index(other) < body.index(one)
    in_front = earlier.choose((~rows.precedes(x, y)).cast(i32), rows.precedes(y, x).cast(i32))
    body.store(in_front.reduce("sum", over), type, (*row, one))
    (rank,) = body.finish()
    body, row, place, one = rows.nest()
    here = body.read(rank, (*row, one)).equals(body.index(place).cast(i32))
    body.store(here.choose(body.index(one).cast(i32), 0).reduce("sum", over), type, (*row, place))
    return body.finish()[0]


RULES: Mapping[type[Operation], Rule] = MappingProxyType({reduction.SortOp: _sort})
