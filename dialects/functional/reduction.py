"""Reductions, scans, sorts, and the composites built on a reduction.

`dims` lists the reduced dims, in order and counted from the front; all of them for a full reduction, none for a 0-d operand.
"""

from typing import TYPE_CHECKING, Any

from lect.dialects.functional.families import (
    FLOAT,
    FunctionalOp,
    Number,
    Types,
    common_element,
    dims_of,
    members,
    require_kind,
)
from lect.dialects.functional.shapes import reduced_shape
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, Operation, Result, ScalarType, op, require
from lect.ir.symbolic_values import may_be_ordered
from lect.ir.types import i1, i64, ui64


def reduced_type(op: Operation, x: TensorType, dims: Any, keepdim: bool, element: ScalarType) -> TensorType:
    """The result of a reduction: a new row-major tensor.  Raises `VerifyError`."""
    require(x.rank or not dims, op, "'{}' of a 0-d tensor reduces no dim, got {}", op.name, list(dims) if dims else dims)
    return x.like(reduced_shape(x.shape, dims_of(op, dims, x.rank), keepdim), element)


def require_elements(op: Operation, x: TensorType, dims: Any) -> None:
    """Raise `VerifyError` when a reduction without a neutral element would see nothing."""
    found = dims_of(op, dims, x.rank)
    require(not x.rank or all(x.shape[dim] for dim in found), op, "'{}' needs elements to choose from, got {}", op.name, x)


class AccumulateTemplate(FunctionalOp):
    """Sums and products: halves accumulate in f32 and round once; integers and i1 give i64 unless `element` says otherwise."""

    __slots__ = ()
    x: Operand[TensorType]
    dims: Attr[tuple]
    keepdim: Attr[bool] = False
    element: Attr[(ScalarType, None)] = None
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        element = self.element or (x.element if x.element.kind in ("float", "complex") else i64)
        return reduced_type(self, x, self.dims, self.keepdim, element)


ACCUMULATE = members(
    AccumulateTemplate,
    {"sum": "The sum; 0 of nothing.", "prod": "The product; 1 of nothing."},
)


@op("functional.xor_sum")
class XorSumOp(FunctionalOp):
    """Bitwise exclusive or of the elements' bit patterns, each widened to 64 bits: integers with their sign, floats as f64."""

    x: Operand[TensorType]
    dims: Attr[tuple]
    keepdim: Attr[bool] = False
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return reduced_type(self, self.x.type, self.dims, self.keepdim, ui64)


class ExtremumTemplate(FunctionalOp):
    """The greatest or least element; NaN if there is one.  Nothing to choose from is an error."""

    __slots__ = ()
    x: Operand[TensorType]
    dims: Attr[tuple]
    keepdim: Attr[bool] = False
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require_elements(self, self.x.type, self.dims)
        return reduced_type(self, self.x.type, self.dims, self.keepdim, self.x.type.element)


EXTREMA = members(ExtremumTemplate, {"amax": "The greatest element, NaN above all.", "amin": "The least element, NaN below all."})


class TestTemplate(FunctionalOp):
    """any and all, of whatever differs from zero."""

    __slots__ = ()
    x: Operand[TensorType]
    dims: Attr[tuple]
    keepdim: Attr[bool] = False
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return reduced_type(self, self.x.type, self.dims, self.keepdim, i1)


TESTS = members(TestTemplate, {"any": "One element differs from zero; false of nothing.", "all": "All elements differ from zero; true of nothing."})


class WhichTemplate(FunctionalOp):
    """Index (i64) of the first extremum along `dim`, or in the flattened tensor when it is None."""

    __slots__ = ()
    x: Operand[TensorType]
    dim: Attr[(int, None)] = None
    keepdim: Attr[bool] = False
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        dims = tuple(range(x.rank)) if self.dim is None else dims_of(self, self.dim, x.rank, "dim")
        require_elements(self, x, dims)
        return reduced_type(self, x, dims if x.rank else (), self.keepdim, i64)


WHICH = members(WhichTemplate, {"argmax": "Index of the first greatest element; the first NaN if there is one.", "argmin": "Index of the first least element."})


class WithIndexTemplate(FunctionalOp):
    """An extremum along one dim, and where it was found first."""

    __slots__ = ()
    x: Operand[TensorType]
    dim: Attr[int]
    keepdim: Attr[bool] = False
    values: Result[TensorType]
    indices: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        dims = dims_of(self, self.dim, x.rank, "dim")
        require_elements(self, x, dims)
        values = reduced_type(self, x, dims if x.rank else (), self.keepdim, x.element)
        return values, values.with_element(i64)


WITH_INDEX = members(WithIndexTemplate, {"max_with_index": "The greatest element and its index.", "min_with_index": "The least element and its index."})


@op("functional.var_mean")
class VarMeanOp(FunctionalOp):
    """Variance (divided by the count less `correction`) and mean; NaN of nothing."""

    x: Operand[TensorType]
    dims: Attr[tuple]
    correction: Attr[Number] = 1
    keepdim: Attr[bool] = False
    variance: Result[TensorType]
    mean: Result[TensorType]

    def type_rule(self) -> Types:
        require_kind(self, self.x.type, FLOAT)
        found = reduced_type(self, self.x.type, self.dims, self.keepdim, self.x.type.element)
        return found, found


# ---- composites ------------------------------------------------------------------------------------------------------


@op("functional.mean")
class MeanOp(FunctionalOp):
    """The sum divided by the count, rounded once; NaN of nothing."""

    x: Operand[TensorType]
    dims: Attr[tuple]
    keepdim: Attr[bool] = False
    element: Attr[(ScalarType, None)] = None
    output: Result[TensorType]

    def type_rule(self) -> Types:
        element = self.element or self.x.type.element
        require(element.is_float, self, "'{}' gives floats, got {}", self.name, element)
        return reduced_type(self, self.x.type, self.dims, self.keepdim, element)


@op("functional.vector_norm")
class VectorNormOp(FunctionalOp):
    """(sum |x|**ord)**(1/ord); the count of nonzeros for 0, the extremum for the infinities."""

    x: Operand[TensorType]
    dims: Attr[tuple]
    ord: Attr[Number] = 2.0
    keepdim: Attr[bool] = False
    element: Attr[(ScalarType, None)] = None
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require_kind(self, self.x.type, FLOAT)
        return reduced_type(self, self.x.type, self.dims, self.keepdim, self.element or self.x.type.element)


@op("functional.logsumexp")
class LogsumexpOp(FunctionalOp):
    """log(sum(exp(x))) without overflow; -inf of nothing."""

    x: Operand[TensorType]
    dims: Attr[tuple]
    keepdim: Attr[bool] = False
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require_kind(self, self.x.type, FLOAT)
        return reduced_type(self, self.x.type, self.dims, self.keepdim, self.x.type.element)


@op("functional.softmax")
class SoftmaxOp(FunctionalOp):
    """exp(x - max) / sum(exp(x - max)) along `dim`, rounded once.  A row of -inf gives NaN, or 0 when `safe`."""

    x: Operand[TensorType]
    dim: Attr[int]
    safe: Attr[bool] = False
    element: Attr[(ScalarType, None)] = None
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _along(self, self.x.type, self.dim, self.element)


@op("functional.log_softmax")
class LogSoftmaxOp(FunctionalOp):
    """x - max - log(sum(exp(x - max))) along `dim`."""

    x: Operand[TensorType]
    dim: Attr[int]
    element: Attr[(ScalarType, None)] = None
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _along(self, self.x.type, self.dim, self.element)


def _along(op: Operation, x: TensorType, dim: int, element: ScalarType | None) -> TensorType:
    require_kind(op, x, FLOAT)
    dims_of(op, dim, x.rank, "dim")
    return x.like(x.shape, element or x.element)


class SoftmaxGradient(FunctionalOp):
    """From the gradient and the result of the forward operation; `element` is that of its operand."""

    __slots__ = ()
    gradient: Operand[TensorType]
    result_value: Operand[TensorType]
    dim: Attr[int]
    element: Attr[(ScalarType, None)] = None
    output: Result[TensorType]

    def type_rule(self) -> Types:
        common_element(self, [self.gradient.type, self.result_value.type])
        require(self.gradient.type.shape == self.result_value.type.shape, self, "'{}' needs operands of one shape", self.name)
        return _along(self, self.gradient.type, self.dim, self.element)


SOFTMAX_GRADIENTS = members(
    SoftmaxGradient, {"softmax_backward": "y * (gradient - sum(gradient * y)).", "log_softmax_backward": "gradient - exp(y) * sum(gradient)."}
)


# ---- scans and sorts -------------------------------------------------------------------------------------------------


class ScanTemplate(FunctionalOp):
    """Running sums and products along `dim`; integers and i1 give i64 unless `element` says otherwise."""

    __slots__ = ()
    x: Operand[TensorType]
    dim: Attr[int]
    element: Attr[(ScalarType, None)] = None
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        dims_of(self, self.dim, x.rank, "dim")
        return x.like(x.shape, self.element or (x.element if x.element.kind in ("float", "complex") else i64))


SCANS = members(ScanTemplate, {"cumsum": "Running sum.", "cumprod": "Running product."})


@op("functional.logcumsumexp")
class LogcumsumexpOp(FunctionalOp):
    """Running logsumexp along `dim`."""

    x: Operand[TensorType]
    dim: Attr[int]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _along(self, self.x.type, self.dim, None)


@op("functional.cummax_with_index")
class CummaxWithIndexOp(FunctionalOp):
    """Running extremum along `dim` and where it was found last; NaN wins."""

    x: Operand[TensorType]
    dim: Attr[int]
    kind: Attr[frozenset({"max", "min"})] = "max"
    values: Result[TensorType]
    indices: Result[TensorType]

    def type_rule(self) -> Types:
        dims_of(self, self.dim, self.x.type.rank, "dim")
        values = self.x.type.like(self.x.type.shape)
        return values, values.with_element(i64)


@op("functional.sort")
class SortOp(FunctionalOp):
    """Elements along `dim` in order, NaN greatest, and where they were; equal ones keep their order when `stable`."""

    x: Operand[TensorType]
    dim: Attr[int]
    descending: Attr[bool] = False
    stable: Attr[bool] = False
    values: Result[TensorType]
    indices: Result[TensorType]

    def type_rule(self) -> Types:
        dims_of(self, self.dim, self.x.type.rank, "dim")
        values = self.x.type.like(self.x.type.shape)
        return values, values.with_element(i64)


@op("functional.topk")
class TopkOp(FunctionalOp):
    """The k greatest (or least) elements along `dim`, in order when `sorted`, and where they were."""

    x: Operand[TensorType]
    k: Attr[int]
    dim: Attr[int]
    largest: Attr[bool] = True
    sorted: Attr[bool] = True
    values: Result[TensorType]
    indices: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        (dim,) = dims_of(self, self.dim, x.rank, "dim")
        found = self.k >= 0 and may_be_ordered(self.k, x.shape[dim] if x.rank else 1)
        require(found, self, "'{}' cannot find {} elements along dim {}", self.name, self.k, dim)
        values = x.like((*x.shape[:dim], self.k, *x.shape[dim + 1 :]) if x.rank else ())
        return values, values.with_element(i64)


globals().update({**ACCUMULATE, **EXTREMA, **TESTS, **WHICH, **WITH_INDEX, **SOFTMAX_GRADIENTS, **SCANS})


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The classes made above are read by name."""
