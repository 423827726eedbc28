"""ATen overloads that become reductions, scans and sorts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import reduction as r
from lect.dialects.functional.gather import GatherOp
from lect.dialects.functional.pointwise import COMPARISONS, FLOAT_UNARY, PREDICATES, SUMS, DivOp, WhereOp
from lect.dialects.functional.view import SliceOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, dim_of, dims_of, type_of
from lect.ir import ScalarType, Value
from lect.ir import types as scalars
from lect.ir.symbolic import Expr
from lect.ir.types import f64, i64

aten = torch.ops.aten
MOST_SHORT: Final = (1 << 31) - 1


def accumulate(cls: Any) -> Rule:
    """sum over some dims or all."""

    def rule(e: Emitter, x: Value, dims: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        x = _converted(e, x, e.result.element)
        return e(cls, x, dims=dims_of(x, dims), keepdim=keepdim, element=stated_element(e, x))

    return rule


def _converted(e: Emitter, x: Value, element: ScalarType) -> Value:
    """`x` as eager reads it where the sum is a float of another type: each element is converted, and rounded, before it is added."""
    own = type_of(x).element
    exact = own.kind == "bool" or own.is_half
    return x if own is element or exact or not element.is_float else e.to(x, element)


def stated_element(e: Emitter, x: Value) -> ScalarType | None:
    """The result's element type, if it is not the one that follows from the operand."""
    natural = type_of(x).element
    if natural.kind in ("signed", "unsigned", "bool"):
        return None if e.result.element.spelling == "i64" else e.result.element
    return None if e.result.element is natural else e.result.element


def product(e: Emitter, x: Value, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """prod over one dim or all."""
    dims = dims_of(x, None) if dim is None else dims_of(x, (dim,))
    return e(r.ACCUMULATE["ProdOp"], x, dims=dims, keepdim=keepdim, element=stated_element(e, x))


def mean(e: Emitter, x: Value, dims: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """mean over some dims or all."""
    x = _converted(e, x, scalars.f32 if e.result.element.is_half else e.result.element)  # a mean of halves is a sum of f32
    return e(r.MeanOp, x, dims=dims_of(x, dims), keepdim=keepdim, element=None if e.result.element is type_of(x).element else e.result.element)


def extremum(cls: Any) -> Rule:
    """amax and amin."""
    return lambda e, x, dims=(), keepdim=False: e(cls, x, dims=dims_of(x, dims), keepdim=keepdim)


def extremum_of_all(cls: Any) -> Rule:
    """max() and min()."""
    return lambda e, x: e(cls, x, dims=dims_of(x, None))


def extremum_with_index(cls: Any) -> Rule:
    """max and min along a dim."""
    return lambda e, x, dim, keepdim=False: e(cls, x, dim=_short(e, x, dim), keepdim=keepdim)


def which(cls: Any) -> Rule:
    """argmax and argmin."""
    return lambda e, x, dim=None, keepdim=False: e(cls, x, dim=None if dim is None else _short(e, x, dim), keepdim=keepdim)


def _short(e: Emitter, x: Value, dim: int) -> int:
    """A dim, of which is decided whether its positions fit i32, so that kernels need not carry them in i64."""
    found = dim_of(x, dim)
    shape = type_of(x).shape
    if e.sizes is not None and shape and type(shape[found]) is Expr:
        e.at_most(shape[found], MOST_SHORT)
    return found


def test(cls: Any) -> Rule:
    """any and all; bytes give bytes."""

    def rule(e: Emitter, x: Value, dims: Any = None, keepdim: bool = False) -> Any:
        nothing = dims is not None and not isinstance(dims, int) and not dims  # here an empty list reduces nothing
        listed = () if nothing else dims_of(x, dims)
        return e.to(e(cls, x, dims=listed, keepdim=keepdim), e.result.element)

    return rule


def variance_and_mean(e: Emitter, x: Value, dims: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """var_mean.correction; eager accumulates in f64 and rounds once, so that no square of an f32 is too large or too small."""
    element = type_of(x).element
    both = wide_variance_and_mean(e, x, dims, correction, keepdim)
    return None if both is None else tuple(e.to(each, element) for each in both)


def wide_variance_and_mean(e: Emitter, x: Value, dims: Any, correction: Any, keepdim: bool) -> Any:
    """Variance and mean in f64, before they are rounded; None for what has none."""
    if not type_of(x).element.is_float:
        return None
    return e(r.VarMeanOp, e.to(x, f64), dims=dims_of(x, dims), correction=1 if correction is None else correction, keepdim=keepdim)


def variance(e: Emitter, x: Value, dims: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """var.correction."""
    found = variance_and_mean(e, x, dims, correction=correction, keepdim=keepdim)
    return None if found is None else found[0]


def deviation(e: Emitter, x: Value, dims: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """std.correction, rounded once behind the root."""
    both = wide_variance_and_mean(e, x, dims, correction, keepdim)
    return None if both is None else e.to(e(FLOAT_UNARY["SqrtOp"], both[0]), type_of(x).element)


def vector_norm(e: Emitter, x: Value, ord: Any = 2, dims: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """linalg_vector_norm."""
    if not type_of(x).element.is_float or not type_of(x).count:
        return None
    element = None if e.result.element is type_of(x).element else e.result.element
    return e(r.VectorNormOp, x, dims=dims_of(x, dims), ord=ord, keepdim=keepdim, element=element)


def logsumexp(e: Emitter, x: Value, dims: Any, keepdim: bool = False) -> Any:
    """logsumexp; integers become floats first."""
    return e(r.LogsumexpOp, e.to(x, e.result.element), dims=dims_of(x, dims), keepdim=keepdim) if type_of(x).element.kind != "complex" else None


def softmax(cls: Any) -> Rule:
    """_softmax and _log_softmax."""

    def rule(e: Emitter, x: Value, dim: int, half_to_float: bool) -> Any:
        return e(cls, x, dim=dim_of(x, dim), element=e.result.element if half_to_float else None)

    return rule


def safe_softmax(e: Emitter, x: Value, dim: int, dtype: Any = None) -> Any:
    """_safe_softmax."""
    return e(r.SoftmaxOp, e.to(x, e.result.element), dim=dim_of(x, dim), safe=True)


def softmax_gradient(cls: Any) -> Rule:
    """The gradients of both."""

    def rule(e: Emitter, gradient: Value, output: Value, dim: int, input_dtype: Any) -> Any:
        element = None if e.result.element is type_of(gradient).element else e.result.element
        return e(cls, gradient, output, dim=dim_of(output, dim), element=element)

    return rule


def scan(cls: Any) -> Rule:
    """cumsum and cumprod."""
    return lambda e, x, dim, *, dtype=None: e(cls, x, dim=dim_of(x, dim), element=stated_element(e, x))


def running_extremum(kind: str) -> Rule:
    """cummax and cummin."""
    return lambda e, x, dim: e(r.CummaxWithIndexOp, x, dim=dim_of(x, dim), kind=kind)


def sort(e: Emitter, x: Value, dim: int = -1, descending: bool = False) -> Any:
    """sort.default."""
    return e(r.SortOp, x, dim=dim_of(x, dim), descending=descending)


def sort_stable(e: Emitter, x: Value, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    """sort.stable."""
    return e(r.SortOp, x, dim=dim_of(x, dim), descending=descending, stable=bool(stable))


def topk(e: Emitter, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """topk."""
    return e(r.TopkOp, x, k=k, dim=dim_of(x, dim), largest=largest, sorted=sorted)


MOST_SORTED = 64  # elements of a row whose median is found by sorting them


def median(skips_nan: bool) -> Rule:
    """median.dim and nanmedian.dim: the lower of the middle ones, of equal ones the one that a stable sort puts there; the first NaN where NaN counts."""

    def rule(e: Emitter, x: Value, dim: int, keepdim: bool = False) -> Any:
        if not type_of(x).rank and type_of(x).element.kind in ("float", "signed", "unsigned"):
            return e.fresh(x), e.scalar(0, i64)
        position = dim_of(x, dim)
        return _median(e, x, position, keepdim, skips_nan)

    return rule


def median_of_all(skips_nan: bool) -> Rule:
    """median and nanmedian."""

    def rule(e: Emitter, x: Value) -> Any:
        if not type_of(x).count:
            return None
        found = _median(e, e.reshape(x, (type_of(x).count,)), 0, False, skips_nan)
        return None if found is None else found[0]

    return rule


def _median(e: Emitter, x: Value, dim: int, keepdim: bool, skips_nan: bool) -> Any:
    shape, element = type_of(x).shape, type_of(x).element
    count = shape[dim]
    if count == 0 or not e.at_most(count, MOST_SORTED) or not type_of(x).count or element.kind in ("bool", "complex"):
        return None
    values, indices = e(r.SortOp, x, dim=dim, stable=True)
    one = (*shape[:dim], 1, *shape[dim + 1 :])
    if skips_nan and element.is_float:
        missing = e(r.ACCUMULATE["SumOp"], e(PREDICATES["IsnanOp"], x), dims=(dim,), keepdim=True)
        middle = e(DivOp, e(SUMS["SubOp"], missing, other=count - 1, reversed=True), other=2, mode="trunc")
        values, indices = e(GatherOp, values, middle, dim=dim), e(GatherOp, indices, middle, dim=dim)
        nothing = e(COMPARISONS["EqOp"], missing, other=count)
        indices = e(WhereOp, nothing, e.scalar(_place_in_nothing(count), i64), indices)
    else:
        values, indices = [e(SliceOp, each, dim=dim, start=(count - 1) // 2, end=(count - 1) // 2 + 1) for each in (values, indices)]
    if element.is_float and not skips_nan:
        is_missing = e(PREDICATES["IsnanOp"], x)
        missing = e(r.TESTS["AnyOp"], is_missing, dims=(dim,), keepdim=True)
        values = e(WhereOp, missing, e.scalar(float("nan"), element), values)
        indices = e(WhereOp, missing, e(r.WHICH["ArgmaxOp"], x, dim=dim, keepdim=True), indices)
    final = one if keepdim else (*shape[:dim], *shape[dim + 1 :])
    results = [type for type in e.results if type is not None]
    return tuple([e.fresh(e.reshape(each, final), type.strides) for each, type in zip((values, indices), results)])


@cache
def _place_in_nothing(count: int) -> int:
    """Where eager says that the median of so many NaN is: any of them, chosen by the library alone."""
    with torch._C._DisableTorchDispatch():
        return int(torch.full((count,), float("nan")).nanmedian(0).indices)


def both_extrema(e: Emitter, x: Value, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """aminmax."""
    dims = dims_of(x, None if dim is None else (dim,))
    return e(r.EXTREMA["AminOp"], x, dims=dims, keepdim=keepdim), e(r.EXTREMA["AmaxOp"], x, dims=dims, keepdim=keepdim)


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        **dict.fromkeys((aten.sum.default, aten.sum.dim_IntList), accumulate(r.ACCUMULATE["SumOp"])),
        **dict.fromkeys((aten.prod.default, aten.prod.dim_int), product),
        **dict.fromkeys((aten.mean.default, aten.mean.dim), mean),
        aten.amax.default: extremum(r.EXTREMA["AmaxOp"]),
        aten.amin.default: extremum(r.EXTREMA["AminOp"]),
        aten.max.default: extremum_of_all(r.EXTREMA["AmaxOp"]),
        aten.min.default: extremum_of_all(r.EXTREMA["AminOp"]),
        aten.max.dim: extremum_with_index(r.WITH_INDEX["MaxWithIndexOp"]),
        aten.min.dim: extremum_with_index(r.WITH_INDEX["MinWithIndexOp"]),
        aten.argmax.default: which(r.WHICH["ArgmaxOp"]),
        aten.argmin.default: which(r.WHICH["ArgminOp"]),
        aten.aminmax.default: both_extrema,
        **dict.fromkeys((aten.any.default, aten.any.dim, aten.any.dims), test(r.TESTS["AnyOp"])),
        **dict.fromkeys((aten.all.default, aten.all.dim, aten.all.dims), test(r.TESTS["AllOp"])),
        aten.var.correction: variance,
        aten.std.correction: deviation,
        aten.var_mean.correction: variance_and_mean,
        aten.linalg_vector_norm.default: vector_norm,
        aten.logsumexp.default: logsumexp,
        aten._softmax.default: softmax(r.SoftmaxOp),
        aten._log_softmax.default: softmax(r.LogSoftmaxOp),
        aten._safe_softmax.default: safe_softmax,
        aten._softmax_backward_data.default: softmax_gradient(r.SOFTMAX_GRADIENTS["SoftmaxBackwardOp"]),
        aten._log_softmax_backward_data.default: softmax_gradient(r.SOFTMAX_GRADIENTS["LogSoftmaxBackwardOp"]),
        aten.cumsum.default: scan(r.SCANS["CumsumOp"]),
        aten.cumprod.default: scan(r.SCANS["CumprodOp"]),
        aten.logcumsumexp.default: lambda e, x, dim: e(r.LogcumsumexpOp, x, dim=dim_of(x, dim)) if type_of(x).element.is_float else None,
        aten.cummax.default: running_extremum("max"),
        aten.cummin.default: running_extremum("min"),
        aten.sort.default: sort,
        aten.sort.stable: sort_stable,
        aten.topk.default: topk,
        aten.median.dim: median(False),
        aten.nanmedian.dim: median(True),
        aten.median.default: median_of_all(False),
        aten.nanmedian.default: median_of_all(True),
    }
)
