"""Losses: a number for each element, kept, summed or averaged.

Eager computes most of them by several operators, each of which rounds a half; `mean` and `sum` take what was rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import normalization
from lect.dialects.functional.shapes import broadcast
from lect.dialects.functional.types import TensorType
from lect.dialects.loop.attributes import SpaceAttr
from lect.ir import Operation, Value
from lect.ir.index_map import space_dims
from lect.ir.symbolic import loaded
from lect.ir.types import bf16, f16, f32, i64
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Point, Rule, Seen, compute_type
from lect.passes.convert.functional_to_loop_extern import call
from lect.passes.convert.functional_to_loop_gather import affine, check_indices, place, read_at, require_all
from lect.passes.convert.functional_to_loop_pointwise import rounded
from lect.passes.convert.functional_to_loop_scatter import full, updated, walk
from lect.passes.convert.functional_to_loop_view import reshaped

Formula = Callable[[Body, Any], Num]
FEW = 16  # numbers that eager adds up without partial sums


def stepwise(op: Any) -> Callable[[Num], Num]:
    """The rounding that eager makes between the steps of a formula."""
    element = op.x.type.element
    return lambda number: rounded(number, element)


def _elementwise(formula: Formula) -> Rule:
    """The lowering of a loss of broadcast operands."""

    def lower(lowering: Lowering, op: Any) -> list[Seen]:
        if type(op) is normalization.BceOp and not op.x.type.is_empty:
            require_all(lowering, op, op.x, lambda x: (x >= 0) & (x <= 1), "all elements of input should be between 0 and 1")
        shape = broadcast([value.type.shape for value in op.operands])
        if op.reduction == "none":
            body = lowering.body(op.output.type, op.loc)
            body.store(formula(body, op), op.output.type)
            return body.finish()
        body, over, count = folding(lowering, op, shape)
        total = rounded(formula(body, op), op.x.type.element).reduce("sum", over)
        body.store(total / count if op.reduction == "mean" else total, op.output.type, ())
        return body.finish()

    return lower


def folding(lowering: Lowering, op: Any, shape: tuple[int, ...]) -> tuple[Body, tuple[int, ...], int]:
    """A nest over a shape, all of which is folded: the dims that are, and how many points there are."""
    like = next((value for value in op.operands if value.type.shape == shape), None)
    body = lowering.body_over(like, op.loc) if like is not None else Body(lowering, SpaceAttr(shape), space_dims(shape), op.loc)
    over = tuple([k for k, size in enumerate(body.builder.space.sizes) if size != 1])
    count = 1
    for size in shape:
        count *= size
    return body, over, count


def _squared(body: Body, op: Any) -> Num:
    difference = stepwise(op)(body.read(op.x) - body.read(op.target))
    return difference * difference


def _huber(body: Body, op: Any) -> Num:
    """Each of the two formulas rounds its steps in one kind of halves, and not in the other."""
    narrow = op.x.type.element is (f16 if op.smooth else bf16)

    def step(number: Num) -> Num:
        return stepwise(op)(number) if narrow else number

    distance = step(body.read(op.x) - body.read(op.target)).op("abs")
    delta = step(distance.const(op.delta))
    square, behind = step(distance * 0.5 * distance), step(distance - delta * 0.5)
    return (distance < delta).choose(square / delta, behind) if op.smooth else (distance < delta).choose(square, behind * delta)


def _weighted(body: Body, op: Any, number: Num) -> Num:
    return number if op.weight is None else stepwise(op)(number) * body.read(op.weight)


def _cross_entropy(body: Body, op: Any) -> Num:
    step = stepwise(op)
    x, target = body.read(op.x), body.read(op.target)
    absent, present = [step(number).op("maximum", -100.0) for number in ((-x).op("log1p"), x.op("log"))]
    return _weighted(body, op, step(step(target - 1) * absent) - step(target * present))


def _cross_entropy_of_logits(body: Body, op: Any) -> Num:
    step = stepwise(op)
    x, target = body.read(op.x), body.read(op.target)
    logarithm = step(x.op("minimum", 0) - (-x.op("abs")).op("exp").op("log1p"))
    if op.pos_weight is not None:
        logarithm = step(logarithm * step(step(step(body.read(op.pos_weight) - 1) * target) + 1))
    return _weighted(body, op, step(step(1 - target) * x) - logarithm)


def _soft_margin(body: Body, op: Any) -> Num:
    step = stepwise(op)
    return step(step(-body.read(op.target) * body.read(op.x)).op("exp")).op("log1p")


# ---- negative log likelihood -----------------------------------------------------------------------------------------


class Classes:
    """Which class each target names, in a nest whose indices stand at a point of the targets."""

    def __init__(self, op: Any, x: TensorType) -> None:
        self.op = op
        self.axis = min(x.rank - 1, 1)
        self.count = x.shape[self.axis]

    def check(self, lowering: Lowering) -> None:
        """Raise at run time when a target is no class."""
        check_indices(lowering, self.op, self.op.target, self.count, ignored=self.op.ignore_index)

    def at(self, body: Body, point: Point) -> tuple[Num, Value]:
        """Whether the target at a point counts, and the class it names."""
        target = body.read(self.op.target, point, raw=True).cast(i64)
        return target.differs(self.op.ignore_index), place(target, self.count)


def _nll(lowering: Lowering, op: Any) -> list[Seen]:
    """The weights and the weighted numbers are folded side by side; sums of many halves are the library's, which rounds them in an order of its own."""
    x: TensorType = op.x.type
    single = op.reduction == "none"
    if x.is_empty or op.target.type.is_empty:
        return call(lowering, op)
    if x.element.is_half and not single and x.device == "cpu":
        return _nll_of_few(lowering, op) if op.target.type.count <= FEW else call(lowering, op)
    classes, source = Classes(op, x), affine(lowering, op.x)
    weights = affine(lowering, op.weight) if op.weight is not None else None
    classes.check(lowering)
    over: tuple[int, ...] = ()
    if single:
        body = lowering.body(op.output.type, op.loc)
    else:
        body, over, _ = folding(lowering, op, op.target.type.shape)
    point = body.indices
    counts, found = classes.at(body, point)
    place_in_x = [*point[: classes.axis], loaded(0), *point[classes.axis :]] if x.rank > 1 else [loaded(0)]
    number = -read_at(body, source, place_in_x, [found]).cast(compute_type(x.element))
    weight = number.const(1) if weights is None else read_at(body, weights, [loaded(0)], [found]).cast(number.type)
    weighted, weight = counts.choose(number * weight, 0), counts.choose(weight, number.const(0))
    if single and x.rank > 1:
        body.store(weighted, op.output.type)
        (output,) = body.finish()
        nothing = lowering.body(op.total_weight.type, op.loc)
        nothing.store(nothing.const(0, op.total_weight.type.element), op.total_weight.type)
        return [output, *nothing.finish()]
    total = weight.reduce("sum", over)
    result = weighted.reduce("sum", over)
    body.store(result / total if op.reduction == "mean" else result, op.output.type, ())
    body.store(total, op.total_weight.type, ())
    return body.finish()


def _nll_of_few(lowering: Lowering, op: Any) -> list[Seen]:
    """Of halves, which eager adds up one after the other and rounds each time, the first of all at the end."""
    classes = Classes(op, op.x.type)
    classes.check(lowering)
    batch = op.x.type.shape[0] if op.x.type.rank > 1 else 1
    count = op.target.type.count
    single = op.total_weight.type
    flat = reshaped(lowering, lowering.seen[op.target], op.target.type.like((count,)))
    source = affine(lowering, reshaped(lowering, lowering.seen[op.x], op.x.type.like((batch, classes.count, count // batch))))
    weights = affine(lowering, op.weight) if op.weight is not None else None

    def added(weighted: bool) -> Seen:
        """The sum of the weights, or of the numbers."""
        body = walk(lowering, op, (count,))
        number = body.index(body.indices[0]) + 1
        number = number.equals(count).choose(0, number)
        target = read_at(body, flat, [loaded(0)], [number.value]).cast(i64)
        spot = place(target, classes.count)
        weight = None if weights is None else read_at(body, weights, [loaded(0)], [spot]).cast(f32)
        if weighted:
            value = weight if weight is not None else body.const(1, f32)
        else:
            row, column = number.op("trunc_div", count // batch), number.op("fmod", count // batch)
            value = -read_at(body, source, [loaded(0), loaded(1), loaded(2)], [row.value, spot, column.value]).cast(f32)
            value = value if weight is None else value * weight
        return updated(body, "sum", value, full(lowering, op, 0, single), (), (0,), masks=[target.differs(op.ignore_index)])

    total, result = added(True), added(False)
    if op.reduction == "sum":
        return [result, total]
    body = lowering.body(op.output.type, op.loc)
    body.store(body.read(result, ()) / body.read(total, ()), op.output.type, ())
    return [*body.finish(), total]


def _nll_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """Everywhere a comparison of the class with the target."""
    x: TensorType = op.x.type
    if x.is_empty:
        return call(lowering, op)
    classes = Classes(op, x)
    classes.check(lowering)
    weights = affine(lowering, op.weight) if op.weight is not None else None
    body = lowering.body(op.output.type, op.loc)
    point = body.indices
    there = (*point[: classes.axis], *point[classes.axis + 1 :]) if x.rank > 1 else ()
    counts, found = classes.at(body, there)
    step = stepwise(op)
    gradient = body.read(op.gradient, there if op.gradient.type.rank else ())
    gradient = step(-gradient / body.read(op.total_weight, ())) if op.reduction == "mean" else -gradient
    if weights is not None:
        gradient = gradient * read_at(body, weights, [loaded(0)], [found]).cast(gradient.type)
    here = body.index(point[classes.axis]).equals(Num(body.builder, found))
    body.store((here & counts).choose(gradient, 0), op.output.type)
    return body.finish()


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        normalization.MseOp: _elementwise(_squared),
        normalization.HuberOp: _elementwise(_huber),
        normalization.BceOp: _elementwise(_cross_entropy),
        normalization.BceWithLogitsOp: _elementwise(_cross_entropy_of_logits),
        normalization.SoftMarginOp: _elementwise(_soft_margin),
        normalization.NllOp: _nll,
        normalization.NllBackwardOp: _nll_backward,
    }
)
