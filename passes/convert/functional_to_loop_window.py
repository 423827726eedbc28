"""Pools: the elements of a window are read one after another, written out where they are few, and folded by the nest where they are many.

A window that reaches outside of the operand reads under masks.  The gradient of an average is gathered: each element sums over the windows that cover
it, of which there are few.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from lect.dialects.functional import window
from lect.dialects.functional.types import TensorType
from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.scalars import neutral
from lect.ir import Operation, ScalarType, Value
from lect.ir.index_map import linearize
from lect.ir.symbolic import Expr, dim, loaded
from lect.ir.types import i64
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen, compute_type
from lect.passes.convert.functional_to_loop_extern import call
from lect.passes.convert.functional_to_loop_gather import affine, read_at
from lect.passes.convert.functional_to_loop_pointwise import rounded

WRITTEN_OUT: Final = 36
"""Most elements of a window that are written out one by one."""


class Step(NamedTuple):
    """One element of a window along one dim: where it is, as an expression or a loaded number, and the masks that say that it is there."""

    place: Expr
    number: Value | None
    masks: tuple[Num, ...]


class Along(ABC):
    """The windows along one spatial dim of a pool: `size` elements, `count` windows of at most `width` elements."""

    def __init__(self, size: int, count: int, width: int) -> None:
        self.size = size
        self.count = count
        self.width = width

    @abstractmethod
    def step(self, body: Body, at: Expr, k: Expr | int) -> Step:
        """Element k of the window at `at`."""

    @abstractmethod
    def valid(self, body: Body, at: Expr, element: ScalarType) -> Num:
        """How many elements of the operand the window at `at` has, at least 1."""


class Strided(Along):
    """Windows of one width that begin every `stride` elements, `padding` elements in front of the operand."""

    def __init__(self, size: int, count: int, width: int, stride: int, padding: int, dilation: int = 1) -> None:
        super().__init__(size, count, width)
        self.stride, self.padding, self.dilation = stride, padding, dilation

    def step(self, body: Body, at: Expr, k: Expr | int) -> Step:
        place = at * self.stride + k * self.dilation - self.padding
        low, high = body.builder.space.ranges.bounds(place)
        masks = []
        if low is None or low < 0:
            masks.append(body.index(place) >= 0)
        if high is None or high >= self.size:
            masks.append(body.index(place) < self.size)
        return Step(place, None, tuple(masks))

    def valid(self, body: Body, at: Expr, element: ScalarType, padded: bool = False) -> Num:
        """Those in the operand, or `padded` with the padding on both sides."""
        start = at * self.stride - self.padding
        limit = self.size + (self.padding if padded else 0)
        low, high = body.builder.space.ranges.bounds(start)
        if high is not None and low is not None and high + self.width <= limit and (padded or low >= 0):
            return body.const(self.width, element)
        first = body.index(start)
        end = (first + self.width).op("minimum", limit)
        return (end - (first if padded else first.op("maximum", 0))).op("maximum", 1).cast(element)


class Adaptive(Along):
    """Windows from floor(i * size / count) to ceil((i + 1) * size / count)."""

    def __init__(self, size: int, count: int) -> None:
        super().__init__(size, count, max(_end(i, size, count) - i * size // count for i in range(count)))
        self.even = size % count == 0

    def step(self, body: Body, at: Expr, k: Expr | int) -> Step:
        if self.even:
            return Step(at * (self.size // self.count) + k, None, ())
        first, end = self._bounds(body, at)
        number = first + (k if type(k) is int else body.index(k))  # type: ignore[arg-type]
        fewest = min(_end(i, self.size, self.count) - i * self.size // self.count for i in range(self.count))
        always = type(k) is int and k < fewest
        return Step(loaded(0), number.value, () if always else (number < end,))

    def valid(self, body: Body, at: Expr, element: ScalarType) -> Num:
        if self.even:
            return body.const(self.width, element)
        first, end = self._bounds(body, at)
        return (end - first).cast(element)

    def _bounds(self, body: Body, at: Expr) -> tuple[Num, Num]:
        first = body.index(at * self.size).op("trunc_div", self.count)
        return first, body.index((at + 1) * self.size + (self.count - 1)).op("trunc_div", self.count)


def _end(i: int, size: int, count: int) -> int:
    return -(-(i + 1) * size // count)


def windows_of(op: Any, x: TensorType, out: TensorType, dilation: Sequence[int] = ()) -> list[Along]:
    """The windows along each spatial dim of a pool from x to `out`."""
    if op.output_size is not None:
        spatial = len(op.output_size)
        return [Adaptive(size, count) for size, count in zip(x.shape[-spatial:], out.shape[-spatial:])]
    spatial = len(op.kernel)
    numbers = zip(x.shape[-spatial:], out.shape[-spatial:], op.kernel, op.stride, op.padding, dilation or (1,) * spatial)
    return [Strided(*each) for each in numbers]


def read_window(body: Body, source: Seen, lead: Sequence[Expr], steps: Sequence[Step]) -> tuple[Num, list[Num]]:
    """The element of a tensor at one step of each dim, and all masks."""
    places: list[Value] = []
    point: list[Expr] = list(lead)
    masks: list[Num] = []
    for step in steps:
        if step.number is not None:
            point.append(loaded(len(places)))
            places.append(step.number)
        else:
            point.append(step.place)
        masks += step.masks
    number = read_at(body, source, point, places, masks)
    return number.cast(compute_type(number.type)), masks


def all_of(body: Body, masks: Sequence[Num]) -> Num | None:
    """The conjunction of masks; None when there is none."""
    found: Num | None = None
    for mask in masks:
        found = mask if found is None else found & mask
    return found


def size_of(along: Sequence[Along]) -> int:
    """The elements of one window."""
    count = 1
    for each in along:
        count *= each.width
    return count


def widened(lowering: Lowering, type: TensorType, along: Sequence[Along], op: Operation) -> tuple[Body, tuple[Expr, ...], tuple[int, ...]]:
    """A nest over a result and, behind its dims, the elements of a window: the nest, their dims as expressions, and the folded dims."""
    body = lowering.body(type, op.loc)
    sizes = (*body.builder.space.sizes, *[each.width for each in along])
    rank = len(body.builder.space.sizes)
    indices = body.indices
    body = Body(lowering, SpaceAttr(sizes), indices, op.loc)
    dims = tuple([dim(rank + k) if each.width != 1 else dim(rank + k) * 0 for k, each in enumerate(along)])
    return body, dims, tuple([rank + k for k, each in enumerate(along) if each.width != 1])


# ---- averages --------------------------------------------------------------------------------------------------------


def divided(body: Body, op: Any, total: Num, along: Sequence[Along], at: Sequence[Expr], step: Callable[[Num], Num]) -> Num:
    """A sum over a window divided as eager does it: by the size, or by the size along each dim in an adaptive pool."""
    if op.divisor == "none":
        return total
    if type(op.divisor) is int:
        return _quotient(total, total.const(op.divisor))
    counts = [
        each.valid(body, place, total.type, padded=op.divisor == "padded") if isinstance(each, Strided) else each.valid(body, place, total.type)
        for each, place in zip(along, at)
    ]
    if op.output_size is not None:
        for count in counts:
            total = step(_quotient(total, count))
        return total
    whole = counts[0]
    for count in counts[1:]:
        whole = whole * count
    return _quotient(total, whole)


def _quotient(total: Num, count: Num) -> Num:
    return total / count if total.type.is_float else total.op("trunc_div", count)


def _window_sum(lowering: Lowering, op: Any) -> list[Seen]:
    x, out = op.x.type, op.output.type
    if out.is_empty or x.is_empty:
        return call(lowering, op)
    along = windows_of(op, x, out)
    source, spatial = affine(lowering, op.x), len(along)
    narrow = x.element.is_half and op.output_size is not None and spatial == 3  # eager's one kernel that sums up in halves
    if narrow and size_of(along) > WRITTEN_OUT:
        return call(lowering, op)

    def step(number: Num) -> Num:
        return rounded(number, x.element) if narrow else number

    if size_of(along) > WRITTEN_OUT:
        body, dims, over = widened(lowering, out, along, op)
        at = body.indices[-spatial:]
        number, _ = read_window(body, source, body.indices[:-spatial], [each.step(body, place, k) for each, place, k in zip(along, at, dims)])
        total = number.reduce("sum", over)
    else:
        body = lowering.body(out, op.loc)
        at = body.indices[-spatial:]
        total = body.const(0, compute_type(x.element))
        for offsets in product(*[range(each.width) for each in along]):
            steps = [each.step(body, place, k) for each, place, k in zip(along, at, offsets)]
            total = step(total + read_window(body, source, body.indices[:-spatial], steps)[0])
    body.store(divided(body, op, total, along, at, step), out, body.indices)
    return body.finish()


# ---- maxima ----------------------------------------------------------------------------------------------------------


def _window_max(lowering: Lowering, op: Any) -> list[Seen]:
    """The first of equal elements, the last NaN; a window has at least one element."""
    x, out = op.x.type, op.values.type
    along = windows_of(op, x, out, op.dilation) if not out.is_empty and not x.is_empty else []
    if not along:
        return call(lowering, op)
    source, spatial = affine(lowering, op.x), len(along)
    if size_of(along) > WRITTEN_OUT:
        return _folded_max(lowering, op, along, source)
    body = lowering.body(out, op.loc)
    at, shape = body.indices[-spatial:], x.shape[-spatial:]
    best = body.const(neutral("max", compute_type(x.element)), compute_type(x.element))
    where, found = body.const(0, i64), None
    for offsets in product(*[range(each.width) for each in along]):
        steps = [each.step(body, place, k) for each, place, k in zip(along, at, offsets)]
        number, masks = read_window(body, source, body.indices[:-spatial], steps)
        inside = all_of(body, masks)
        take = number > best
        take = take | number.op("isnan") if number.type.is_float else take
        take = take | ~found if found is not None else body.const(True, take.type)
        take = take & inside if inside is not None else take
        best = take.choose(number, best)
        where = take.choose(flat_place(body, steps, shape), where)
        found = inside if found is None else found | inside if inside is not None else None
        found = body.const(True, take.type) if found is None else found
    body.store(best, out)
    body.store(where, op.indices.type)
    return body.finish()


def _folded_max(lowering: Lowering, op: Any, along: Sequence[Along], source: Seen) -> list[Seen]:
    """The greatest element of a large window, and in a second sweep where it is: the last NaN, else the first of equals."""
    x, out, spatial = op.x.type, op.values.type, len(along)
    body, dims, over = widened(lowering, out, along, op)
    steps = [each.step(body, place, k) for each, place, k in zip(along, body.indices[-spatial:], dims)]
    number, masks = read_window(body, source, body.indices[:-spatial], steps)
    inside = all_of(body, masks)
    number = number if inside is None else inside.choose(number, neutral("max", number.type))
    best, where = number.reduce("max", over), flat_place(body, steps, x.shape[-spatial:])
    hit = number.equals(best) if inside is None else number.equals(best) & inside
    found = hit.choose(where, neutral("min", i64)).reduce("min", over)
    if number.type.is_float:
        last = number.op("isnan").choose(where, -1).reduce("max", over)
        found = (last >= 0).choose(last, found)
    body.store(best, out, body.indices)
    body.store(found, op.indices.type, body.indices)
    return body.finish()


def flat_place(body: Body, steps: Sequence[Step], shape: tuple[int, ...]) -> Num:
    """The flat index of an element among the spatial dims."""
    if all(step.number is None for step in steps):
        return body.index(linearize([step.place for step in steps], shape))
    total = body.const(0, i64)
    for step, size in zip(steps, shape):
        place = Num(body.builder, step.number) if step.number is not None else body.index(step.place)
        total = total * size + place
    return total


# ---- gradients of averages -------------------------------------------------------------------------------------------


class Covering:
    """The windows along one dim that cover an element, from the first on: their number is at most `width`."""

    def __init__(self, along: Along) -> None:
        self.along = along
        if isinstance(along, Strided):
            self.width = -(-along.width // along.stride)
        else:
            self.turned = Adaptive(along.count, along.size)
            self.width = self.turned.width

    def step(self, body: Body, at: Expr, k: int) -> Step:
        """Covering window k of the element at `at`, those in front first."""
        along = self.along
        if not isinstance(along, Strided):
            step = self.turned.step(body, at, k)
            return step if step.number is not None else Step(step.place, body.index(step.place).value, step.masks)
        position = body.index(at + along.padding)
        window = position.op("trunc_div", along.stride) - (self.width - 1 - k)
        reach = position - window * along.stride
        return Step(loaded(0), window.value, (window >= 0, window < along.count, reach < along.width))


def _avg_pool_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """The windows that cover an element are added in their order; in halves the share of each and every sum are rounded."""
    x, gradient = op.output.type, op.gradient.type
    along = windows_of(op, x, gradient) if not x.is_empty and not gradient.is_empty else []
    covering = [Covering(each) for each in along]
    count = 1
    for each in covering:
        count *= each.width
    if not along or count > WRITTEN_OUT or not x.element.is_float:
        return call(lowering, op)
    source, spatial = affine(lowering, op.gradient), len(along)
    body = lowering.body(x, op.loc)
    total = body.const(0, compute_type(x.element))
    for offsets in product(*[range(each.width) for each in covering]):
        steps = [each.step(body, place, k) for each, place, k in zip(covering, body.indices[-spatial:], offsets)]
        number, _ = read_window(body, source, body.indices[:-spatial], steps)
        share = rounded(_share(body, op, number, along, steps), x.element)
        total = rounded(total + share, x.element)
    body.store(total, x)
    return body.finish()


def _share(body: Body, op: Any, number: Num, along: Sequence[Along], steps: Sequence[Step]) -> Num:
    """What one window gives to each of its elements."""
    if type(op.divisor) is int:
        return number / op.divisor
    counts = []
    for each, step in zip(along, steps):
        assert step.number is not None
        counts.append(_count_at(each, Num(body.builder, step.number), number.type, op.divisor == "padded"))
    if op.output_size is not None:
        for count in counts:
            number = rounded(number / count, op.output.type.element)
        return number
    whole = counts[0]
    for count in counts[1:]:
        whole = whole * count
    return number / whole


def _count_at(along: Along, at: Num, element: ScalarType, padded: bool) -> Num:
    """The divisor of the window with a computed number, at least 1."""
    if isinstance(along, Strided):
        whole = padded and (along.count - 1) * along.stride + along.width <= along.size + 2 * along.padding
        if whole or (not along.padding and (along.count - 1) * along.stride + along.width <= along.size):
            return Num(at.body, at.body.const(along.width, element))
        first = at * along.stride - along.padding
        end = (first + along.width).op("minimum", along.size + (along.padding if padded else 0))
        return (end - (first if padded else first.op("maximum", 0))).op("maximum", 1).cast(element)
    first = (at * along.size).op("trunc_div", along.count)
    end = ((at + 1) * along.size + (along.count - 1)).op("trunc_div", along.count)
    return (end - first).op("maximum", 1).cast(element)


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {window.WindowSumOp: _window_sum, window.WindowMaxWithIndexOp: _window_max, window.AvgPoolBackwardOp: _avg_pool_backward}
)
