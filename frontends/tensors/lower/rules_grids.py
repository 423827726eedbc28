"""grid_sample of two and three spatial dims, and its gradients: places and weights computed from the grid, elements gathered, gradients scattered.

On the CPU alone.  Its kernel for two dims and that for three compute places by different formulas, and treat what is no number differently.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional import view as v
from lect.dialects.functional.creation import FullOp, TogetherOp
from lect.dialects.functional.gather import GatherOp, ScatterOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_compositions import rounds_ranges_once
from lect.frontends.tensors.lower.rules_views import emit_slice
from lect.ir import Value
from lect.ir.types import i32

aten = torch.ops.aten
Add, Sub, Mul = p.SUMS["AddOp"], p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"]
And, Isnan = p.BIT_BINARY["BitwiseAndOp"], p.PREDICATES["IsnanOp"]
Eq, Ge, Gt, Le, Lt, Ne = [p.COMPARISONS[name] for name in ("EqOp", "GeOp", "GtOp", "LeOp", "LtOp", "NeOp")]
REAL = p.REAL_UNARY
Floor, Round, Trunc, Abs = [REAL[name] for name in ("FloorOp", "RoundOp", "TruncOp", "AbsOp")]
BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
CUBIC: Final = -0.75
LANES: Final = 16  # halves that eager's kernel for two dims works on at once
LARGEST_INT: Final = 2147483646.0


@dataclass(frozen=True)
class Tap:
    """A neighbour along one dim: its index, whether it is inside, its weight (None: 1), and the derivative of that by the position."""

    index: Value
    inside: Value
    weight: Value | None
    slope: Value | float = 0.0


class Axis:
    """One coordinate of the grid: `position` in elements, before and behind what the padding does, and `factor`, its derivative by the coordinate."""

    def __init__(self, e: Emitter, coordinate: Value, size: int, spatial: int, padding: int, align: bool) -> None:
        self.e, self.size, self.flat, self.padding, self.align = e, size, spatial == 2, padding, align
        self.element = type_of(coordinate).element
        self.scale = (size - 1) / 2 if align else size / 2
        self.raw = self._in_elements(coordinate)

    def _in_elements(self, coordinate: Value) -> Value:
        e, above = self.e, self.e(Add, coordinate, other=1.0)
        if self.align:
            return e(Mul, above, other=self.scale) if self.flat else e(Mul, e(p.DivOp, above, other=2.0), other=float(self.size - 1))  # type: ignore[no-any-return]
        if not self.flat:
            return e(p.DivOp, e(Sub, e(Mul, above, other=float(self.size)), other=1.0), other=2.0)  # type: ignore[no-any-return]
        if rounds_ranges_once() and not self.element.is_half:
            return e(Add, e.scalar(-0.5, self.element), above, alpha=self.scale)  # type: ignore[no-any-return]
        return e(Sub, e(Mul, above, other=self.scale), other=0.5)  # type: ignore[no-any-return]

    def position(self) -> Value:
        """The position of the sample; in three dims one that no integer can be is left of everything."""
        return self.placed(self.raw)

    def placed(self, raw: Value) -> Value:
        """A position behind what the padding does."""
        e = self.e
        if self.padding == REFLECTION:
            raw = self._reflected(raw)[0]
        if self.padding != ZEROS:
            raw = self._clipped(raw)
        if self.flat:
            return raw
        good = e(And, e(Le, raw, other=LARGEST_INT), e(Ge, raw, other=-LARGEST_INT - 2))
        return e(p.WhereOp, good, raw, e.scalar(-100, self.element))  # type: ignore[no-any-return]

    def _clipped(self, raw: Value) -> Value:
        """Brought into the dim; NaN is the first place in two dims and the last one in three."""
        e, last = self.e, float(self.size - 1)
        missing = e.scalar(0.0 if self.flat else last, self.element)
        return e(p.WhereOp, e(Isnan, raw), missing, e(p.ClampOp, raw, min=0.0, max=last))  # type: ignore[no-any-return]

    def _reflected(self, raw: Value) -> tuple[Value, Value]:
        """Mirrored at the first and the last element, or at their outer edges; and 1 or -1, the derivative of that."""
        e, element = self.e, self.element
        low = 0.0 if self.align else -0.5
        span = float(self.size - 1 if self.align else self.size)
        one, minus = e.scalar(1, element), e.scalar(-1, element)
        if not span:
            return e(FullOp, shape=type_of(raw).shape, value=0.0, element=element), e.scalar(0, element)
        shifted = raw if not low else e(Sub, raw, other=low)
        size = e(Abs, shifted)
        if self.flat:
            whole = e(Trunc, e(p.DivOp, size, other=2 * span))
            if rounds_ranges_once() and not element.is_half:
                extra = e(Sub, size, whole, alpha=2 * span)
            else:
                extra = e(Sub, size, e(Mul, whole, other=2 * span))
            mirrored = e(Sub, extra, other=2 * span, reversed=True)
            turned = e(Gt, extra, mirrored)
        else:
            extra = e(p.MODULO["FmodOp"], size, other=span)
            mirrored = e(Sub, extra, other=span, reversed=True)
            turned = e(Ne, e(p.MODULO["FmodOp"], e(Floor, e(p.DivOp, size, other=span)), other=2.0), other=0.0)
        found = e(p.WhereOp, turned, mirrored, extra)
        negative = e(Lt, shifted, other=0.0)
        sign = e(p.WhereOp, e(p.BIT_BINARY["BitwiseXorOp"], turned, negative), minus, one)
        return (e(Add, found, other=low) if low else found), sign

    def factor(self) -> Value | float:
        """The derivative of the position by the coordinate: none where the padding has moved it to the border."""
        e, scale, raw = self.e, self.scale, self.raw
        if self.padding == ZEROS:
            return scale
        sign: Value | None = None
        if self.padding == REFLECTION:
            raw, sign = self._reflected(raw)
        between = e(And, e(Gt, raw, other=0.0), e(Lt, raw, other=float(self.size - 1)))
        found = e(p.WhereOp, between, e.scalar(scale, self.element), e.scalar(0, self.element))
        return found if sign is None else e(Mul, found, sign)  # type: ignore[no-any-return]

    # ---- neighbours --------------------------------------------------------------------------------------------------

    def _tap(self, place: Value, weight: Value | None, slope: Value | float = 0.0) -> Tap:
        """The neighbour at a position that is a whole number."""
        e = self.e
        inside = e(And, e(Ge, place, other=0.0), e(Le, place, other=float(self.size - 1)))
        safe = e(p.WhereOp, inside, place, e.scalar(0, self.element))
        return Tap(e(p.ClampOp, e.to(safe, i32), min=0, max=self.size - 1), inside, weight, slope)

    def taps(self, mode: int) -> list[Tap]:
        """The neighbours of the position."""
        e = self.e
        if mode == BICUBIC:
            return self._cubic_taps()
        position = self.position()
        if mode == NEAREST:
            return [self._tap(e(Round, position), None)]
        first = e(Floor, position)
        rest = e(Sub, position, first)
        return [self._tap(first, e(Sub, rest, other=1.0, reversed=True), -1.0), self._tap(e(Add, first, other=1.0), rest, 1.0)]

    def _cubic_taps(self) -> list[Tap]:
        e, first = self.e, self.e(Floor, self.raw)
        rest = e(Sub, self.raw, first)
        places = [first if not k else e(Add, first, other=float(k)) for k in (-1, 0, 1, 2)]
        weights = cubic_weights(e, rest)
        slopes = cubic_slopes(e, rest)
        return [self._tap(self.placed(place), weight, slope) for place, weight, slope in zip(places, weights, slopes)]


def _polynomial(e: Emitter, x: Value, factors: Sequence[float]) -> Value:
    """Horner's scheme, the factor of the highest power first; none of them is left out, so that it is rounded as eager rounds it."""
    found = e(Add, e(Mul, x, other=factors[0]), other=factors[1])
    for factor in factors[2:]:
        found = e(Add, e(Mul, found, x), other=factor)
    return found  # type: ignore[no-any-return]


def cubic_weights(e: Emitter, rest: Value) -> list[Value]:
    """The weights of four neighbours for a position between the second and the third of them."""

    def near(x: Value) -> Value:
        inner = e(Sub, e(Mul, x, other=CUBIC + 2), other=CUBIC + 3)
        return e(Add, e(Mul, e(Mul, inner, x), x), other=1.0)  # type: ignore[no-any-return]

    def far(x: Value) -> Value:
        return _polynomial(e, x, (CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC))

    back = e(Sub, rest, other=1.0, reversed=True)
    return [far(e(Add, rest, other=1.0)), near(rest), near(back), far(e(Add, back, other=1.0))]


def cubic_slopes(e: Emitter, rest: Value) -> list[Value]:
    """The derivatives of the weights by the position."""

    def near(x: Value) -> Value:
        return e(Mul, e(Sub, e(Mul, x, other=3 * (CUBIC + 2)), other=2 * (CUBIC + 3)), x)  # type: ignore[no-any-return]

    def far(x: Value) -> Value:
        return _polynomial(e, x, (3 * CUBIC, -10 * CUBIC, 8 * CUBIC))

    back = e(Sub, rest, other=1.0, reversed=True)
    return [far(e(Add, rest, other=1.0)), near(rest), e(Mul, near(back), other=-1.0), e(Mul, far(e(Sub, rest, other=2.0, reversed=True)), other=-1.0)]


def joined_by_fours(e: Emitter, pieces: Sequence[Value], dim: int) -> Value:
    """Tensors one behind the other, few at a time: many are put together by the library."""
    while len(pieces) > 1:
        pieces = [e(v.CatOp, list(pieces[k : k + 4]), dim=dim) for k in range(0, len(pieces), 4)]
    return pieces[0]


class Samples:
    """The samples of a grid: the axes, in the order of x's spatial dims, and the neighbours of each."""

    def __init__(self, e: Emitter, x: Value, grid: Value, mode: int, padding: int, align: bool) -> None:
        self.e, self.x, self.mode = e, x, mode
        self.element = type_of(x).element
        batch, self.channels, *self.sizes = type_of(x).shape
        spatial = len(self.sizes)
        self.outer = type_of(grid).shape[1:-1]
        points = math.prod(self.outer)
        self.axes: list[Axis] = []
        for place, size in enumerate(self.sizes):
            number = spatial - 1 - place
            coordinate = e.reshape(emit_slice(e, grid, spatial + 1, number, number + 1), (batch, 1, points))
            self.axes.append(Axis(e, coordinate, size, spatial, padding, align))
        self.taps = self._stored([axis.taps(mode) for axis in self.axes])
        self.shape = (batch, self.channels, points)
        self.flat = e.reshape(x, (batch, self.channels, math.prod(self.sizes)))

    def _stored(self, taps: list[list[Tap]]) -> list[list[Tap]]:
        """The neighbours, computed once for all channels."""
        e, flat = self.e, [tap for listed in taps for tap in listed]
        numbers = [value for tap in flat for value in (tap.index, tap.inside, tap.weight, tap.slope) if isinstance(value, Value)]
        kept = iter(e(TogetherOp, numbers))

        def again(value: Any) -> Any:
            return next(kept) if isinstance(value, Value) else value

        return [[Tap(*[again(value) for value in (tap.index, tap.inside, tap.weight, tap.slope)]) for tap in listed] for listed in taps]

    def corners(self) -> list[tuple[Tap, ...]]:
        """All neighbours of a sample, in eager's order: those along the last dim next to each other, of cubic ones those along the first."""
        if self.mode == BICUBIC:
            return [(down, across) for across in self.taps[1] for down in self.taps[0]]
        return list(product(*self.taps))

    def where(self, corner: Sequence[Tap]) -> tuple[Value, Value]:
        """The flat index of a neighbour, and whether it is inside."""
        e = self.e
        index = corner[0].index
        for tap, size in zip(corner[1:], self.sizes[1:]):
            index = e(Add, e(Mul, index, other=size), tap.index)
        return e.expand(index, self.shape), reduce(lambda one, other: e(And, one, other), [tap.inside for tap in corner])

    def read(self, corner: Sequence[Tap]) -> Value:
        """The elements at a neighbour; 0 outside."""
        e = self.e
        index, inside = self.where(corner)
        return e(p.WhereOp, inside, e(GatherOp, self.flat, index, dim=2), e.scalar(0, self.element))  # type: ignore[no-any-return]

    def weight(self, corner: Sequence[Tap]) -> Value | None:
        """The product of the weights along the dims, the last one first; None for 1."""
        found: Value | None = None
        for tap in reversed(corner):
            if tap.weight is not None:
                found = tap.weight if found is None else self.e(Mul, found, tap.weight)
        return found

    def weighted(self, corner: Sequence[Tap], gradient: Value) -> Value:
        """The gradient times the weight of a neighbour; a cubic one is multiplied by one weight after the other."""
        e, weight = self.e, None
        if self.mode != BICUBIC:
            weight = self.weight(corner)
            return gradient if weight is None else e(Mul, gradient, weight)  # type: ignore[no-any-return]
        return e(Mul, e(Mul, gradient, corner[1].weight), corner[0].weight)  # type: ignore[no-any-return]

    def added(self, places: Sequence[tuple[Sequence[Tap], Value]]) -> Value:
        """Numbers added up where neighbours are, in a tensor like x; halves are rounded behind each addition."""
        e = self.e
        found = e(FullOp, shape=type_of(self.flat).shape, value=e.number(0, self.element), element=self.element)
        pieces = []
        for corner, number in places:
            index, inside = self.where(corner)
            pieces.append((index, e(p.WhereOp, inside, e.expand(number, self.shape), e.scalar(0, self.element))))
        if not self.element.is_half:
            for index, number in pieces:
                found = e(ScatterOp, found, index, number, dim=2, mode="add")
            return e.reshape(found, type_of(self.x).shape)
        lanes, points = LANES if len(self.sizes) == 2 else 1, self.shape[2]
        whole = points // lanes * lanes
        for start, end, width in ((0, whole, lanes), (whole, points, points - whole)):
            if start < end:
                part = [self._in_turns([emit_slice(e, piece[k], 2, start, end) for piece in pieces], width) for k in (0, 1)]
                found = e(ScatterOp, found, *part, dim=2, mode="add", stepwise=True)
        return e.reshape(found, type_of(self.x).shape)

    def _in_turns(self, rows: Sequence[Value], width: int) -> Value:
        """Rows of numbers in the order in which eager adds them: so many of one neighbour, then as many of the next."""
        e = self.e
        batch, channels, points = type_of(rows[0]).shape
        joined = joined_by_fours(e, [e.reshape(row, (batch, channels, points // width, 1, width)) for row in rows], 3)
        return e.reshape(joined, (batch, channels, points * len(rows)))

    def _summed(self, terms: Sequence[Value]) -> Value:
        """Terms that each sample and channel has, added up for each sample: of halves one after the other, each sum rounded."""
        e = self.e
        if not self.element.is_half:
            whole = terms[0]
            for term in terms[1:]:
                whole = e(Add, whole, term)
            return e(r.ACCUMULATE["SumOp"], whole, dims=(1,))  # type: ignore[no-any-return]
        batch, channels, points = self.shape
        count = channels * len(terms)
        row = joined_by_fours(e, [e.reshape(term, (batch, channels, 1, points)) for term in terms], 2)
        nothing = e(FullOp, shape=(batch, 1, points), value=e.number(0, self.element), element=self.element)
        places = e(FullOp, shape=(batch, count, points), value=0, element=i32)
        found = e(ScatterOp, nothing, places, e.reshape(row, (batch, count, points)), dim=1, mode="add", stepwise=True)
        return e.reshape(found, (batch, points))

    def sample(self) -> Value:
        """The weighted sums of neighbours."""
        e = self.e
        if self.mode == BICUBIC:
            return self._by_rows()
        found: Value | None = None
        for corner in self.corners():
            weight, number = self.weight(corner), self.read(corner)
            part = number if weight is None else e(Mul, number, weight)
            found = part if found is None else e(Add, found, part)
        assert found is not None
        return found

    def _by_rows(self) -> Value:
        """The weighted sum along the last dim first."""
        e, total = self.e, None
        for down in self.taps[0]:
            row: Any = None
            for across in self.taps[1]:
                part = e(Mul, self.read((down, across)), across.weight)
                row = part if row is None else e(Add, row, part)
            part = e(Mul, row, down.weight)
            total = part if total is None else e(Add, total, part)
        assert total is not None
        return total

    def gradient_of_grid(self, gradient: Value) -> Value:
        """For each coordinate the sum over channels of the gradient times what the sample changes by."""
        e, spatial = self.e, len(self.sizes)
        shape = (self.shape[0], *self.outer, 1)
        columns = []
        for number in range(spatial):
            place = spatial - 1 - number
            total = self._summed(self._changes(place, gradient))
            axis = self.axes[place]
            factor = axis.scale if self.mode == BICUBIC else axis.factor()
            if isinstance(factor, Value):
                total = e(Mul, total, e.reshape(factor, (self.shape[0], self.shape[2])))
            else:
                total = e(Mul, total, other=factor)
            columns.append(e.reshape(total, shape))
        return e(v.CatOp, columns, dim=spatial + 1)  # type: ignore[no-any-return]

    def _changes(self, place: int, gradient: Value) -> list[Value]:
        """The terms, in eager's order, of what samples change by along a dim, times the gradient."""
        e = self.e
        if self.mode == BILINEAR and len(self.sizes) == 2:
            return [e(Mul, self._difference(place), gradient)]
        terms = []
        for corner in self.corners():
            term = self.read(corner)
            term = e(Mul, term, gradient) if self.mode == BICUBIC else term
            for number in self._order(place):
                tap = corner[number]
                factor = tap.slope if number == place else tap.weight
                if isinstance(factor, Value):
                    term = e(Mul, term, factor)
                elif factor == -1.0:
                    term = e(REAL["NegOp"], term)
            terms.append(term if self.mode == BICUBIC else e(Mul, term, gradient))
        return terms

    def _order(self, place: int) -> list[int]:
        """The order of the dims in a product, one of which has the slope along `place`: the last dim first, of cubic ones that with the slope."""
        return [place, 1 - place] if self.mode == BICUBIC else list(reversed(range(len(self.sizes))))

    def _difference(self, place: int) -> Value:
        """Of the two neighbours along one dim, weighted along the other."""
        e, parts = self.e, []
        for other in self.taps[1 - place]:
            pair = [(other, tap) if place else (tap, other) for tap in self.taps[place]]
            parts.append(e(Mul, e(Sub, self.read(pair[1]), self.read(pair[0])), other.weight))
        return e(Add, *parts)  # type: ignore[no-any-return]


def _is_plain(x: Value, grid: Value, mode: int, *others: Value) -> bool:
    """True for floats of one type on the CPU that are not empty."""
    types = [type_of(value) for value in (x, grid, *others)]
    one = len({type.element for type in types}) == 1 and types[0].element.is_float and types[0].device == "cpu"
    return one and all(0 < type.count < LARGEST_INT for type in types) and (mode != BICUBIC or types[0].rank == 4)


def grid_sample(e: Emitter, x: Value, grid: Value, mode: int, padding: int, align: bool) -> Any:
    """grid_sampler_2d, 3d."""
    if not _is_plain(x, grid, mode):
        return None
    samples = Samples(e, x, grid, mode, padding, align)
    return e.fresh(e.reshape(samples.sample(), e.result.shape), e.result.strides)


def grid_sample_backward(e: Emitter, gradient: Value, x: Value, grid: Value, mode: int, padding: int, align: bool, wanted: Sequence[bool]) -> Any:
    """grid_sampler_2d_backward, 3d: None for a gradient of x that is not wanted; that of the grid is always made."""
    if not _is_plain(x, grid, mode, gradient):
        return None
    samples = Samples(e, x, grid, mode, padding, align)
    flat = e.reshape(gradient, samples.shape)
    of_x: Value | None = None
    if wanted[0]:
        places = []
        for corner in samples.corners():
            places.append((corner, samples.weighted(corner, flat)))
        of_x = samples.added(places)
    if mode == NEAREST:
        of_grid = e(FullOp, shape=type_of(grid).shape, value=e.number(0, samples.element), element=samples.element)
    else:
        of_grid = samples.gradient_of_grid(flat)
    return of_x, of_grid


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        **dict.fromkeys((aten.grid_sampler_2d.default, aten.grid_sampler_3d.default), grid_sample),
        **dict.fromkeys((aten.grid_sampler_2d_backward.default, aten.grid_sampler_3d_backward.default), grid_sample_backward),
    }
)
