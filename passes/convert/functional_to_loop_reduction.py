"""Reductions, and the composites built on one: a nest over the operand's elements that folds some of its dims.

Sums of halves are sums in f32, rounded once.  What eager rounds in between for halves is left to the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import reduction
from lect.dialects.functional.types import TensorType
from lect.dialects.loop.attributes import SpaceAttr
from lect.ir import Operation, Value
from lect.ir.index_map import linearize, space_dims
from lect.ir.symbolic import ZERO, as_size
from lect.ir.types import f32, i1, i32
from lect.passes.convert.functional_to_loop_base import Body, Dims, Lowering, Num, Point, Rule, Seen, compute_type, truth
from lect.passes.convert.functional_to_loop_pointwise import convert, rounded
from lect.passes.convert.functional_to_loop_scatter import updated


class Fold:
    """A nest over a tensor, some dims of which are folded: `over` are those dims of the space, `count` how many elements meet in one result."""

    def __init__(self, lowering: Lowering, x: Value, dims: Dims, op: Operation) -> None:
        self.body: Body = lowering.body_over(x, op.loc)
        self.type: TensorType = x.type  # type: ignore[assignment]
        self.x = x
        self.dims = dims
        sizes = self.body.builder.space.sizes
        positions = {index: k for k, index in enumerate(self.body.builder.space.dims)}
        self.over: Dims = tuple(sorted(positions[self.body.indices[dim]] for dim in dims if self.type.shape[dim] != 1))
        self.count = math.prod([self.type.shape[dim] for dim in dims])
        self.sizes = sizes

    def read(self) -> Num:
        """The operand's element, widened."""
        return self.body.read(self.x)

    def sum(self, number: Num) -> Num:
        """The sum over the folded dims: one of a single element is that element added to zero, so never -0.0."""
        if not self.over and number.type.is_float:
            return number + 0.0
        return number.reduce("sum", self.over)

    def mean(self, number: Num) -> Num:
        """The mean over the folded dims."""
        return self.sum(number) / self.count

    def indices(self, keepdim: bool) -> Point:
        """Where a folded result stands: the other dims, and 0 at the folded ones if they are kept."""
        kept = [ZERO if dim in self.dims else index for dim, index in enumerate(self.body.indices)]
        return tuple(kept) if keepdim else tuple([index for dim, index in enumerate(kept) if dim not in self.dims])

    def store(self, number: Num, type: TensorType) -> None:
        """Write a folded number to a result of `type`, which has the folded dims or not."""
        self.body.store(number, type, self.indices(type.rank == self.type.rank))


def _folded(dims: Callable[[Any], Dims], formula: Callable[[Fold, Any], Num | None]) -> Rule:
    """The lowering of a reduction with one result."""

    def lower(lowering: Lowering, op: Any) -> list[Seen]:
        fold = Fold(lowering, op.x, dims(op), op)
        number = formula(fold, op)
        if number is None:
            fold.body.discard()
            return library(lowering, op)
        fold.store(number, op.output.type)
        return fold.body.finish()

    return lower


def library(lowering: Lowering, op: Any) -> list[Seen]:
    """The library call of the extern table; looked up late because that table is made last."""
    from lect.passes.convert.functional_to_loop_extern import call

    return call(lowering, op)


def _listed(op: Any) -> Dims:
    return tuple(op.dims)


def _one_or_all(op: Any) -> Dims:
    rank = op.x.type.rank
    return tuple(range(rank)) if op.dim is None else (op.dim,)[:rank]


# ---- sums, extrema, tests --------------------------------------------------------------------------------------------


def _sum(fold: Fold, op: Any) -> Num:
    return fold.sum(convert(fold.read(), compute_type(op.output.type.element)))


def _prod(fold: Fold, op: Any) -> Num:
    element = op.output.type.element
    number = convert(fold.read(), compute_type(element))
    return (rounded(number, element) if element.is_half else number).reduce("prod", fold.over)


def _product(lowering: Lowering, op: Any) -> list[Seen]:
    """Products of halves are rounded behind each factor, from the first in memory to the last, as eager does where it has no lanes for them."""
    element = op.output.type.element
    if not element.is_half or op.x.type.is_empty or not op.dims or _many_in_a_row(op):
        return _folded(_listed, _prod)(lowering, op)
    body = lowering.body(op.output.type, op.loc)
    body.store(body.const(1, element), op.output.type)
    (base,) = body.finish()
    type: TensorType = op.x.type
    body = Body(lowering, SpaceAttr(type.shape), space_dims(type.shape), op.loc)
    indices = body.indices
    kept = [ZERO if dim in op.dims else index for dim, index in enumerate(indices)]
    point = kept if op.keepdim else [index for dim, index in enumerate(kept) if dim not in op.dims]
    order = sorted(op.dims, key=lambda dim: (-type.strides[dim], dim))
    return [updated(body, "prod", convert(body.read(op.x, raw=True), element), base, point, order)]


LANES = 64


def _many_in_a_row(op: Any) -> bool:
    """True when eager folds as many neighbours in memory as it has lanes for, in an order that depends on the processor."""
    type: TensorType = op.x.type
    count, expected = 1, 1
    for dim in sorted(range(type.rank), key=lambda dim: (type.strides[dim], -dim)):
        if type.shape[dim] == 1:
            continue
        if dim not in op.dims or type.strides[dim] != expected:
            break
        count *= type.shape[dim]
        expected *= type.shape[dim]
    return count >= LANES


def _extremum(kind: str, test: str) -> Callable[[Fold, Any], Num]:
    def formula(fold: Fold, op: Any) -> Num:
        x = fold.read()
        return x.reduce(test if x.type is i1 else kind, fold.over)

    return formula


def _test(kind: str) -> Callable[[Fold, Any], Num]:
    return lambda fold, op: truth(fold.read()).reduce(kind, fold.over)


def _position(fold: Fold) -> Num:
    """The number of an element among the folded ones, in row-major order of the tensor."""
    sizes = tuple([fold.type.shape[dim] for dim in fold.dims])
    return fold.body.index(linearize([fold.body.indices[dim] for dim in fold.dims], sizes))


def _which(kind: str) -> Callable[[Fold, Any], Num]:
    def formula(fold: Fold, op: Any) -> Num:
        x = fold.read()
        comparable = x.cast(i32) if x.type is i1 else x
        builder = fold.body.builder
        return Num(builder, builder.reduce_index(kind, comparable.value, _position(fold).value, fold.over))

    return formula


def _with_index(kind: str, test: str) -> Rule:
    def lower(lowering: Lowering, op: Any) -> list[Seen]:
        fold = Fold(lowering, op.x, _one_or_all(op), op)
        fold.store(_extremum(kind, test)(fold, op), op.values.type)
        fold.store(_which(kind)(fold, op), op.indices.type)
        return fold.body.finish()

    return lower


# ---- mean, variance, norms -------------------------------------------------------------------------------------------


def _mean(fold: Fold, op: Any) -> Num:
    return fold.mean(convert(fold.read(), compute_type(op.output.type.element)))


def _var_mean(lowering: Lowering, op: Any) -> list[Seen]:
    fold = Fold(lowering, op.x, _listed(op), op)
    x = fold.read()
    mean = fold.mean(x)
    distance = x - mean
    correction = int(op.correction) if op.correction == int(op.correction) else op.correction
    variance = fold.sum(distance * distance) / max(as_size(fold.count - correction), 0)
    fold.store(variance, op.variance.type)
    fold.store(mean, op.mean.type)
    return fold.body.finish()


def _vector_norm(fold: Fold, op: Any) -> Num | None:
    element = compute_type(op.output.type.element)
    magnitude = fold.read().cast(element).op("abs")
    order = float(op.ord)
    if math.isinf(order):
        if not fold.count:
            return None
        return magnitude.reduce("max" if order > 0 else "min", fold.over)
    if order == 0:
        return fold.sum(magnitude.differs(0).cast(element))
    if order == 1:
        return fold.sum(magnitude)
    if order == 2:
        return fold.sum(magnitude * magnitude).op("sqrt")
    return fold.sum(magnitude.op("pow", order)).op("pow", 1 / order)


def _logsumexp(fold: Fold, op: Any) -> Num | None:
    """Halves are rounded at each step."""
    if not fold.count:
        return None
    element = op.x.type.element
    x = fold.read()
    largest = x.reduce("max", fold.over)
    finite = largest.op("isinf").choose(0, largest)
    powers = rounded(rounded(x - finite, element).op("exp"), element)
    return rounded(rounded(fold.sum(powers), element).op("log"), element) + finite


# ---- softmax ---------------------------------------------------------------------------------------------------------


def _along(formula: Callable[[Fold, Any, Num], Num]) -> Rule:
    """A result with the operand's shape, from a fold along `dim`."""

    def lower(lowering: Lowering, op: Any) -> list[Seen]:
        fold = Fold(lowering, op.x, (op.dim,)[: op.x.type.rank], op)
        wide = f32 if op.x.type.element.is_half else compute_type(op.output.type.element)
        number = formula(fold, op, fold.read().cast(wide))
        if op.name == "functional.softmax" and op.safe:
            nothing = fold.read().cast(wide).equals(-math.inf).reduce("all", fold.over)
            number = nothing.choose(0, number)
        fold.body.store(number, op.output.type, fold.body.indices)
        return fold.body.finish()

    return lower


def _softmax(fold: Fold, op: Any, x: Num) -> Num:
    exponential = (x - x.reduce("max", fold.over)).op("exp")
    return exponential / fold.sum(exponential)


def _log_softmax(fold: Fold, op: Any, x: Num) -> Num:
    """Along the last dim the CPU's kernel keeps the sum and its logarithm in halves."""
    narrow = fold.dims == (fold.type.rank - 1,) and op.x.type.device == "cpu"
    element = op.output.type.element if narrow else x.type
    shifted = x - x.reduce("max", fold.over)
    return shifted - rounded(rounded(fold.sum(shifted.op("exp")), element).op("log"), element)


def _softmax_backward(lowering: Lowering, op: Any) -> list[Seen]:
    fold = Fold(lowering, op.gradient, (op.dim,)[: op.gradient.type.rank], op)
    gradient, y = fold.read(), fold.body.read(op.result_value)
    fold.body.store(y * (gradient - fold.sum(gradient * y)), op.output.type, fold.body.indices)
    return fold.body.finish()


def _log_softmax_backward(lowering: Lowering, op: Any) -> list[Seen]:
    fold = Fold(lowering, op.gradient, (op.dim,)[: op.gradient.type.rank], op)
    gradient, y = fold.read(), fold.body.read(op.result_value)
    fold.body.store(gradient - y.op("exp") * fold.sum(gradient), op.output.type, fold.body.indices)
    return fold.body.finish()


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        reduction.SumOp: _folded(_listed, _sum),
        reduction.ProdOp: _product,
        reduction.AmaxOp: _folded(_listed, _extremum("max", "any")),
        reduction.AminOp: _folded(_listed, _extremum("min", "all")),
        reduction.AnyOp: _folded(_listed, _test("any")),
        reduction.AllOp: _folded(_listed, _test("all")),
        reduction.ArgmaxOp: _folded(_one_or_all, _which("max")),
        reduction.ArgminOp: _folded(_one_or_all, _which("min")),
        reduction.MaxWithIndexOp: _with_index("max", "any"),
        reduction.MinWithIndexOp: _with_index("min", "all"),
        reduction.MeanOp: _folded(_listed, _mean),
        reduction.VarMeanOp: _var_mean,
        reduction.VectorNormOp: _folded(_listed, _vector_norm),
        reduction.LogsumexpOp: _folded(_listed, _logsumexp),
        reduction.SoftmaxOp: _along(_softmax),
        reduction.LogSoftmaxOp: _along(_log_softmax),
        reduction.SoftmaxBackwardOp: _softmax_backward,
        reduction.LogSoftmaxBackwardOp: _log_softmax_backward,
    }
)
