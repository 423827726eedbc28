"""Resampling: each element of the result is a weighted sum of a few elements, whose places and weights eager computes in f32 (f64 for f64).

The gradient adds the share of each neighbour in its turn, in f32 for halves.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from lect.dialects.functional import window
from lect.ir import Operation, ScalarType, Value
from lect.ir.symbolic import Expr, loaded
from lect.ir.types import f32, f64, i64
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen, compute_type
from lect.passes.convert.functional_to_loop_extern import call
from lect.passes.convert.functional_to_loop_gather import affine, read_at
from lect.passes.convert.functional_to_loop_pointwise import rounded
from lect.passes.convert.functional_to_loop_scatter import copy_of, full, updated, walk

CUBIC = -0.75


class Tap(NamedTuple):
    """One neighbour along one dim: where it is (inside of the dim), and its weight; none where the weight is 1."""

    place: Num
    weight: Num | None


def step_of(size: int, count: int, scale: float | None, align: bool, element: ScalarType) -> float:
    """How far two neighbours of the result lie apart, in elements of the operand, rounded to the element type."""
    if align:
        step = (size - 1) / (count - 1) if count > 1 else 0.0
    else:
        step = 1 / scale if scale is not None and scale > 0 else size / count
    return step if element is f64 else float(struct.unpack("f", struct.pack("f", step))[0])


def taps_of(body: Body, kind: str, at: Expr, numbers: tuple[int, int, float | None], align: bool, element: ScalarType) -> list[Tap]:
    """The neighbours of the element at `at` along a dim; `numbers` are the sizes of operand and result, and the stated scale."""
    size, count, scale = numbers
    position = body.index(at)
    if size == count and (kind != "cubic" or align or scale in (None, 1.0)):
        return [Tap(position, None)]
    if kind.startswith("nearest"):
        step = step_of(size, count, scale, False, f32)
        shifted = position.cast(f32) + (0.5 if kind == "nearest-exact" else 0.0)
        if kind == "nearest" and count == 2 * size:
            return [Tap(position.op("trunc_div", 2), None)]
        return [Tap((shifted * step).op("floor").cast(i64).op("minimum", size - 1), None)]
    step = step_of(size, count, scale, align, element)
    number = position.cast(element)
    place = number * step if align else (number + 0.5) * step - 0.5
    return _cubic(place, size) if kind == "cubic" else _linear(place if align else place.op("maximum", 0), size)


def _linear(place: Num, size: int) -> list[Tap]:
    first = place.cast(i64).op("minimum", size - 1)
    rest = (place - first.cast(place.type)).op("maximum", 0).op("minimum", 1)
    return [Tap(first, 1 - rest), Tap((first + 1).op("minimum", size - 1), rest)]


def _cubic(place: Num, size: int) -> list[Tap]:
    floor = place.op("floor")
    rest, first = place - floor, floor.cast(i64)

    def near(x: Num) -> Num:
        return (x * (CUBIC + 2) - (CUBIC + 3)) * x * x + 1

    def far(x: Num) -> Num:
        return ((x * CUBIC - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC

    weights = (far(rest + 1), near(rest), near(1 - rest), far(2 - rest))
    return [Tap((first + (k - 1)).op("maximum", 0).op("minimum", size - 1), weight) for k, weight in enumerate(weights)]


def _weight(tap: Tap) -> Num:
    assert tap.weight is not None
    return tap.weight


def _numbers(op: Any, sizes: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int, float | None]]:
    return list(zip(sizes, counts, op.scales or (None,) * len(sizes)))


def _upsample(lowering: Lowering, op: Any) -> list[Seen]:
    x, out = op.x.type, op.output.type
    if x.is_empty or out.is_empty or not x.element.is_float or (op.kind == "cubic" and x.element.is_half):
        return call(lowering, op)
    source, spatial = affine(lowering, op.x), x.rank - 2
    body = lowering.body(out, op.loc)
    element = compute_type(x.element)
    dims = zip(body.indices[2:], _numbers(op, x.shape[2:], out.shape[2:]))
    taps = [taps_of(body, op.kind, at, numbers, op.align_corners, element) for at, numbers in dims]
    if spatial == 1 and x.element.is_half and len(taps[0]) == 2:  # eager's weights are halves here
        second = rounded(_weight(taps[0][1]), x.element)
        taps = [[Tap(taps[0][0].place, rounded(1 - second, x.element)), Tap(taps[0][1].place, second)]]

    def total(chosen: tuple[Tap, ...]) -> Num:
        """The weighted sum over the dims behind those whose neighbour is chosen."""
        if len(chosen) == spatial:
            point = [*body.indices[:2], *[loaded(k) for k in range(spatial)]]
            return read_at(body, source, point, [tap.place.value for tap in chosen]).cast(element)
        found: Num | None = None
        for tap in taps[len(chosen)]:
            part = total((*chosen, tap))
            part = part if tap.weight is None else part * tap.weight
            found = part if found is None else found + part
        assert found is not None
        return found

    body.store(total(()), out)
    return body.finish()


def _upsample_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """One nest for each combination of neighbours adds its share."""
    out, gradient = op.output.type, op.gradient.type
    rounds = out.element.is_half and not op.kind.startswith("nearest")
    if out.is_empty or gradient.is_empty or not out.element.is_float or op.kind == "cubic" or rounds:
        return call(lowering, op)
    spatial = out.rank - 2
    wide = out.with_element(compute_type(out.element))
    base = full(lowering, op, 0, wide)
    numbers = _numbers(op, out.shape[2:], gradient.shape[2:])
    counts = [1 if size == count or op.kind != "linear" else 2 for size, count, _ in numbers]
    for which in product(*[range(count) for count in counts]):
        body = walk(lowering, op, gradient.shape)
        share = body.read(op.gradient)
        places: list[Value] = []
        for at, each, k in zip(body.indices[2:], numbers, which):
            tap = taps_of(body, op.kind, at, each, op.align_corners, wide.element)[k]
            places.append(tap.place.value)
            share = share if tap.weight is None else share * tap.weight
        point = [*body.indices[:2], *[loaded(k) for k in range(spatial)]]
        base = updated(body, "sum", share, base, point, tuple(range(2, out.rank)), places)
    return [base if wide is out else copy_of(lowering, op, base, out)]


RULES: Mapping[type[Operation], Rule] = MappingProxyType({window.UpsampleOp: _upsample, window.UpsampleBackwardOp: _upsample_backward})
