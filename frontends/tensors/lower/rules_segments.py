"""Reductions of runs of rows, whose lengths or offsets are elements of a tensor: segment_reduce and its gradient.

Rows are put together one after the other, halves rounded each time.  Lengths that do not fit raise when the graph runs, which is then run again by eager.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional.creation import FullOp, IotaOp
from lect.dialects.functional.gather import GatherOp, ScatterOp, SearchsortedOp, WithinOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_views import emit_slice
from lect.ir import Value
from lect.ir.types import i32, i64

aten = torch.ops.aten
Sub, Mul = p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"]
Eq, Gt, Lt = p.COMPARISONS["EqOp"], p.COMPARISONS["GtOp"], p.COMPARISONS["LtOp"]
And, Or, Isnan = p.BIT_BINARY["BitwiseAndOp"], p.BIT_BINARY["BitwiseOrOp"], p.PREDICATES["IsnanOp"]
MODES: Final = MappingProxyType({"sum": ("sum", 0.0), "mean": ("sum", 0.0), "prod": ("prod", 1.0), "max": ("amax", -torch.inf), "min": ("amin", torch.inf)})


class Segments:
    """Which run each row is in: `place` has the shape of the data, and the number of runs for a row in none; `length` of each run has `inner` dims of 1."""

    def __init__(self, e: Emitter, x: Value, lengths: Value | None, offsets: Value | None, axis: int, unsafe: bool) -> None:
        self.e, self.x, self.axis = e, x, axis
        shape = type_of(x).shape
        self.rows = shape[axis]
        if offsets is not None:
            borders = e.to(offsets, i64)
            self.count = type_of(borders).shape[axis] - 1
            first, ends = emit_slice(e, borders, axis, 0, self.count), emit_slice(e, borders, axis, 1, self.count + 1)
            length = e(WithinOp, e(Sub, ends, first), min=0)
        else:
            assert lengths is not None
            length = e(WithinOp, e.to(lengths, i64), min=0)
            self.count = type_of(length).shape[axis]
            ends = e(r.SCANS["CumsumOp"], length, dim=axis)
            total = emit_slice(e, ends, axis, self.count - 1, self.count)
            ends = ends if unsafe else self._behind(ends, e(WithinOp, total, min=self.rows, max=self.rows))
        number = e.expand(e(IotaOp, size=self.rows, start=0, step=1, element=i64), (*shape[:axis], self.rows))
        run = e(SearchsortedOp, ends, number, right=True, element=i64)
        if offsets is not None:
            run = e(p.WhereOp, e(Lt, number, emit_slice(e, borders, axis, 0, 1)), e.scalar(self.count, i64), run)
        ones = (1,) * (len(shape) - axis - 1)
        self.place = e.expand(e.reshape(run, (*shape[:axis], self.rows, *ones)), shape)
        self.length = e.reshape(length, (*shape[:axis], self.count, *ones))

    def _behind(self, ends: Value, total: Value) -> Value:
        """The ends of the runs, the last of them as it was checked."""
        e, last = self.e, self.count - 1
        here = e.reshape(e(Eq, e(IotaOp, size=self.count, start=0, step=1, element=i64), other=last), (*(1,) * self.axis, self.count))
        return e(p.WhereOp, here, total, ends)  # type: ignore[no-any-return]

    def put(self, x: Value, mode: str, initial: Any) -> Value:
        """Rows of x put together for each run, and for those in none."""
        e, element, shape = self.e, type_of(x).element, type_of(self.x).shape
        runs = (*shape[: self.axis], self.count + 1, *shape[self.axis + 1 :])
        base = e(FullOp, shape=runs, value=e.number(initial, element), element=element)
        stepwise = element.is_half and mode in ("sum", "prod")
        return e(ScatterOp, base, self.place, x, dim=self.axis, mode=mode, stepwise=stepwise)  # type: ignore[no-any-return]

    def spread(self, runs: Value) -> Value:
        """What each row's run has; any number for a row in none."""
        place = self.e(p.ClampOp, self.place, max=self.count - 1)
        return self.e(GatherOp, self.e.expand(runs, self._runs()), place, dim=self.axis)  # type: ignore[no-any-return]

    def _runs(self) -> tuple[int, ...]:
        shape = type_of(self.x).shape
        return (*shape[: self.axis], self.count, *shape[self.axis + 1 :])


def _segments(e: Emitter, x: Value, reduce: str, lengths: Any, offsets: Any, axis: int, unsafe: bool, alike: Sequence[Value] = ()) -> Segments | None:
    element = type_of(x).element
    given = offsets if offsets is not None else lengths
    same = all(type_of(value).element is element for value in alike)
    if given is None or reduce not in MODES or not element.is_float or not same or not type_of(x).count or axis < 0:
        return None
    runs = type_of(given)
    few = runs.shape[-1] - (1 if offsets is not None else 0) if runs.rank else 0
    if runs.element not in (i64, i32) or runs.rank != axis + 1 or runs.shape[:-1] != type_of(x).shape[:axis] or few < 1:
        return None
    return Segments(e, x, lengths, offsets, axis, unsafe)


def segment_reduce(
    e: Emitter, x: Value, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0, unsafe: bool = False,
    initial: Any = None,
) -> Any:  # fmt: skip
    """segment_reduce: a run without rows has what each begins with, and without that no mean."""
    runs = _segments(e, x, reduce, lengths, offsets, axis, unsafe) if indices is None else None
    if runs is None:
        return None
    element = type_of(x).element
    mode, neutral = MODES[reduce]
    found = emit_slice(e, runs.put(x, mode, neutral if initial is None else initial), axis, 0, runs.count)
    if reduce == "mean":
        nothing = found if initial is not None else e.scalar(float("nan"), element)
        found = e(p.WhereOp, e(Gt, runs.length, other=0), e(p.DivOp, found, e.to(runs.length, element)), nothing)
    return e.fresh(found, e.result.strides)


def segment_reduce_backward(
    e: Emitter, gradient: Value, output: Value, x: Value, reduce: str, *, lengths: Any = None, offsets: Any = None, axis: int = 0, initial: Any = None
) -> Any:
    """_segment_reduce_backward: rows in no run have none; of several greatest rows each has its part, where that is above zero, as in eager."""
    runs = _segments(e, x, reduce, lengths, offsets, axis, True, (gradient, output))
    if runs is None:
        return None
    element = type_of(x).element
    outer = runs.spread(gradient)
    if reduce == "mean":
        outer = e(p.DivOp, outer, e.to(runs.spread(runs.length), element))
    elif reduce in ("max", "min"):
        chosen = e(Or, e(Isnan, x), e(Eq, x, runs.spread(output)))
        several = runs.spread(emit_slice(e, runs.put(e.to(chosen, i64), "sum", 0), axis, 0, runs.count))
        part = e(p.DivOp, outer, e.to(several, element))
        outer = e(p.WhereOp, e(And, e(Gt, several, other=1), e(Gt, outer, other=0)), part, outer)
        outer = e(p.WhereOp, chosen, outer, e.scalar(0, element))
    elif reduce == "prod":
        outer = _product_backward(e, runs, outer, output, initial)
    return e.fresh(e(p.WhereOp, e(Lt, runs.place, other=runs.count), outer, e.scalar(0, element)), e.result.strides)


def _product_backward(e: Emitter, runs: Segments, outer: Value, output: Value, initial: Any) -> Value:
    """The product divided by the row; for a row that is 0 or NaN the product of the others."""
    x, element, axis = runs.x, type_of(runs.x).element, runs.axis
    missing = e(Isnan, x)
    special = e(Or, missing, e(Eq, x, other=0))

    def counted(flags: Value) -> Value:
        """How many of the other rows of a run."""
        numbers = e.to(flags, i64)
        return e(Sub, runs.spread(emit_slice(e, runs.put(numbers, "sum", 0), axis, 0, runs.count)), numbers)  # type: ignore[no-any-return]

    plain = e(p.WhereOp, special, e.scalar(1, element), x)
    rest = runs.spread(emit_slice(e, runs.put(plain, "prod", 1 if initial is None else initial), axis, 0, runs.count))
    rest = e(p.WhereOp, e(Gt, counted(special), other=0), e(Mul, rest, other=0), rest)
    rest = e(p.WhereOp, e(Gt, counted(missing), other=0), e.scalar(float("nan"), element), rest)
    return e(p.WhereOp, special, e(Mul, outer, rest), e(p.DivOp, e(Mul, outer, runs.spread(output)), x))  # type: ignore[no-any-return]


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.segment_reduce.default: segment_reduce,
        aten._segment_reduce_backward.default: segment_reduce_backward,
    }
)
