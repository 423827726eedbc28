"""Scans: running sums, products, logarithms of sums, and extrema with where they were.

Eager carries f64 for f32, f32 for halves and i64 for integers, and rounds what it stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import reduction
from lect.ir import Operation, ScalarType
from lect.ir.types import f32, f64, i1, i32, i64
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen
from lect.passes.convert.functional_to_loop_pointwise import convert


def carried(element: ScalarType) -> ScalarType:
    """The type in which a total is carried."""
    if element.is_float:
        return f32 if element.is_half else f64
    return i64


class Scan:
    """A nest over the elements of a tensor, along one dim of which totals run."""

    def __init__(self, lowering: Lowering, op: Any) -> None:
        self.body: Body = lowering.body_over(op.x, op.loc)
        self.along = self.body.indices[op.dim] if op.x.type.rank else None
        space = self.body.builder.space
        several = op.x.type.rank and op.x.type.shape[op.dim] != 1
        self.dim = next((k for k, each in enumerate(space.dims) if each is self.along), None) if several else None

    def run(self, kind: str, number: Num) -> Num:
        """A number folded with all before it; along a dim of one element that is what a total begins with, and in no dim it is itself."""
        if self.dim is None:
            return number + 0 if kind in ("sum", "logaddexp") and self.along is not None and number.type.is_float else number  # -0.0 becomes 0.0
        return Num(self.body.builder, self.body.builder.scan(kind, number.value, self.dim))


def _running(kind: str) -> Rule:
    def lower(lowering: Lowering, op: Any) -> list[Seen]:
        element = op.output.type.element
        scan = Scan(lowering, op)
        number = convert(convert(scan.body.read(op.x, raw=True), element), carried(element))
        scan.body.store(convert(scan.run(kind, number), element), op.output.type, scan.body.indices)
        return scan.body.finish()

    return lower


def _running_extremum(lowering: Lowering, op: Any) -> list[Seen]:
    """The last of equal ones is found, and the last NaN, behind which nothing else is."""
    scan = Scan(lowering, op)
    x = scan.body.read(op.x)
    x = x.cast(i32) if x.type is i1 else x
    found = scan.run(op.kind, x)
    scan.body.store(convert(found, op.values.type.element), op.values.type, scan.body.indices)
    position = scan.body.index(scan.along) if scan.along is not None else scan.body.const(0, i64)
    here = x.equals(found)
    here = here | x.op("isnan") if x.type.is_float else here
    scan.body.store(scan.run("max", here.choose(position, 0)), op.indices.type, scan.body.indices)
    return scan.body.finish()


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        reduction.CumsumOp: _running("sum"),
        reduction.CumprodOp: _running("prod"),
        reduction.LogcumsumexpOp: _running("logaddexp"),
        reduction.CummaxWithIndexOp: _running_extremum,
    }
)
