"""ATen overloads that are compositions of products, views and folds: sums of products, ranges, windows put into rows, unpooling, angles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import contraction as k
from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional import view as v
from lect.dialects.functional.creation import FullOp, IotaOp
from lect.dialects.functional.gather import IndexPutOp, ScatterOp
from lect.dialects.functional.shapes import contiguous_strides
from lect.frontends.tensors.lower.emitter import Emitter, Rule, dim_of, type_of
from lect.frontends.tensors.lower.rules_gather import index
from lect.frontends.tensors.lower.rules_views import emit_slice
from lect.ir import Value
from lect.ir.types import f32, f64, i1, i64

aten = torch.ops.aten
Add, Sub, Mul = p.SUMS["AddOp"], p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"]
And, Or = p.BIT_BINARY["BitwiseAndOp"], p.BIT_BINARY["BitwiseOrOp"]
Sum = r.ACCUMULATE["SumOp"]
MOST_UNROLLED = 32  # additions of halves one after the other


# ---- products --------------------------------------------------------------------------------------------------------


def add_batches(e: Emitter, added: Value, x: Value, y: Value, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """addbmm: the products of a batch added up are one product; halves are rounded for each of them."""
    batch, rows, inner = type_of(x).shape
    element = type_of(x).element
    if element.kind in ("bool", "complex") or not batch:
        return None
    if element.is_half:
        return e(k.AddbmmOp, added, x, y, beta=beta, alpha=alpha)
    left = e.reshape(e.permute(x, (1, 0, 2)), (rows, batch * inner))
    return e(k.AddmmOp, added, left, e.reshape(y, (batch * inner, type_of(y).shape[2])), beta=beta, alpha=alpha)


def add_outer(e: Emitter, added: Value, x: Value, y: Value, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """addr; with beta = 0 what is added does not count."""
    elements = {type_of(value).element for value in (added, x, y)}
    element = type_of(x).element
    if len(elements) > 1 or element.kind == "complex" or not type_of(x).count or not type_of(y).count:
        return None
    column, row = e.reshape(x, (type_of(x).count, 1)), e.reshape(y, (1, type_of(y).count))
    if element.kind == "bool":
        return _outer_of_flags(e, added if beta else None, column, row, bool(alpha))
    outer = e(Mul, e(Mul, column, other=e.number(alpha, element)), row)
    return outer if beta == 0 else e(Add, e(Mul, added, other=e.number(beta, element)), outer)


def _outer_of_flags(e: Emitter, added: Value | None, column: Value, row: Value, counts: bool) -> Value:
    """addr of i1: true where both factors are, if their product `counts`, or what is added is."""
    outer: Value = e(And, e(And, column, row), e.scalar(counts, i1))
    return outer if added is None else e(Or, added, outer)


def trilinear(e: Emitter, x: Value, y: Value, z: Value, at_x: Any, at_y: Any, at_z: Any, folded: Sequence[int], unroll: int = 1) -> Any:
    """_trilinear: a sum of products of three tensors, each expanded at some dims.

    Halves are rounded where eager rounds them: behind the product of the first two, folded over the dims that the third does not have, behind the whole
    product, and along `unroll` behind each addition.
    """
    kinds = {type_of(value).element for value in (x, y, z)}
    element = type_of(x).element
    if len(kinds) > 1 or element.kind in ("bool", "complex"):
        return None
    spread = []
    for value, places in ((x, at_x), (y, at_y), (z, at_z)):
        shape = list(type_of(value).shape)
        for place in sorted(places):
            shape.insert(place, 1)
        spread.append(e.reshape(value, shape))
    if not all(type_of(value).count for value in spread):
        return e(FullOp, shape=e.result.shape, value=e.number(0, element), element=element)
    if element.is_half:
        return _trilinear_of_halves(e, spread, sorted(folded), unroll)
    product = e(Mul, e(Mul, spread[0], spread[1]), spread[2])
    return e(Sum, product, dims=tuple(sorted(folded)), keepdim=False) if folded else product


def _trilinear_of_halves(e: Emitter, spread: Sequence[Value], folded: Sequence[int], unroll: int) -> Any:
    element = type_of(spread[0]).element
    shapes = [type_of(value).shape for value in spread]
    sizes = [max(each) for each in zip(*shapes)]
    early = [dim for dim in folded if shapes[2][dim] == 1 and dim != unroll]
    late = [dim for dim in folded if dim not in early and dim != unroll]
    if unroll in folded and sizes[unroll] > MOST_UNROLLED:
        return None

    def product(left: Value, right: Value, over: Sequence[int]) -> Value:
        found = e(Mul, e.to(left, f32), e.to(right, f32))
        return e.to(e(Sum, found, dims=tuple(over), keepdim=True) if over else found, element)

    whole = product(product(spread[0], spread[1], early), spread[2], late)
    if unroll in folded:
        whole = e.expand(whole, [size if dim == unroll else own for dim, (size, own) in enumerate(zip(sizes, type_of(whole).shape))])
        parts = [emit_slice(e, whole, unroll, number, number + 1) for number in range(sizes[unroll])]
        whole = parts[0]
        for part in parts[1:]:
            whole = e(Add, whole, part)
    return e.reshape(whole, e.result.shape)


def renorm(e: Emitter, x: Value, order: Any, dim: int, limit: Any) -> Any:
    """Slices whose norm is above the limit are scaled down to it; the factors of halves are computed in f32."""
    element = type_of(x).element
    if not element.is_float or not type_of(x).count:
        return None
    position = dim_of(x, dim)
    wide = f32 if element.is_half else element
    norm = e(r.VectorNormOp, x, dims=tuple([d for d in range(type_of(x).rank) if d != position]), ord=order, keepdim=True, element=wide)
    factor = e(p.DivOp, e(Add, norm, other=1e-7), other=limit, reversed=True)
    factor = e(p.WhereOp, e(p.COMPARISONS["GtOp"], norm, other=limit), factor, e.scalar(1, wide))
    return e(Mul, x, e.to(factor, element))


# ---- pieces ----------------------------------------------------------------------------------------------------------


def block_diagonal(e: Emitter, blocks: Sequence[Value]) -> Any:
    """block_diag: each matrix with zeros at its sides, one under the other."""
    element = e.result.element
    if element.kind == "complex":
        return None
    width, rows, left = e.result.shape[1], [], 0
    for block in blocks:
        shape = type_of(block).shape
        matrix = e.reshape(e.to(block, element), (1,) * (2 - len(shape)) + shape)
        size = type_of(matrix).shape[1]
        rows.append(e(v.PadOp, matrix, pads=((0, 0), (left, width - left - size)), value=e.number(0, element)))
        left += size
    return e(v.CatOp, rows, dim=0) if rows else None


def windows_in_columns(e: Emitter, x: Value, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """im2col: each window of the padded images as a column."""
    if type_of(x).element.kind == "complex" or not type_of(x).count:
        return None
    images = x if type_of(x).rank == 4 else e.reshape(x, (1, *type_of(x).shape))
    (height, width), (down, across) = kernel, stride
    (top, left) = padding
    if top or left:
        images = e(v.PadOp, images, pads=((0, 0), (0, 0), (top, top), (left, left)), value=e.number(0, type_of(x).element))
    batch, channels, rows, columns = type_of(images).shape
    if type_of(images).strides != contiguous_strides(type_of(images).shape):
        images = e.fresh(images, contiguous_strides(type_of(images).shape))
    places = ((rows - dilation[0] * (height - 1) - 1) // down + 1, (columns - dilation[1] * (width - 1) - 1) // across + 1)
    steps = type_of(images).strides
    strides = (steps[0], steps[1], steps[2] * dilation[0], steps[3] * dilation[1], steps[2] * down, steps[3] * across)
    seen = e(v.AsStridedOp, images, size=(batch, channels, height, width, *places), stride=strides, offset=0)
    return e.fresh(e.reshape(seen, e.result.shape), e.result.strides)


def windows_copied(e: Emitter, x: Value, dim: int, size: int, step: int) -> Any:
    """unfold_copy: windows of one dim as a new last dim, in memory of their own."""
    strides = type_of(x).strides
    if not strides:
        return e.fresh(e.reshape(x, e.result.shape), e.result.strides)
    position = dim_of(x, dim)
    steps = (*strides[:position], strides[position] * step, *strides[position + 1 :], strides[position])
    return e.fresh(e(v.AsStridedOp, x, size=e.result.shape, stride=steps, offset=0), e.result.strides)


def _added_at(e: Emitter, gradient: Value, places: Value, count: int) -> Value:
    """Elements of the last dim added up at the places that an index of that dim names; halves are rounded each time."""
    element, shape = type_of(gradient).element, type_of(gradient).shape
    nothing = e(FullOp, shape=(*shape[:-1], count), value=e.number(0, element), element=element)
    if element.is_half:
        return e(IndexPutOp, nothing, gradient, [places], dims=(len(shape) - 1,), accumulate=True)  # type: ignore[no-any-return]
    return e(ScatterOp, nothing, e.expand(places, shape), gradient, dim=len(shape) - 1, mode="add")  # type: ignore[no-any-return]


def _steps(e: Emitter, count: int, step: int, first: int = 0) -> Value:
    """first, first + step, ..."""
    return e(IotaOp, size=count, start=first, step=step, element=i64)  # type: ignore[no-any-return]


def windows_added(e: Emitter, gradient: Value, sizes: Sequence[int], dim: int, size: int, step: int) -> Any:
    """unfold_backward: the elements of each window added where they came from."""
    is_float = type_of(gradient).element.is_float
    if not is_float or not type_of(gradient).count or not sizes:
        return e.reshape(gradient, sizes) if is_float and not sizes and type_of(gradient).count == 1 else None
    rank = len(sizes)
    position = dim % rank
    rest = [d for d in range(rank) if d != position]
    windows = type_of(gradient).shape[position]
    rows = e.permute(gradient, (*rest, position, rank))
    lead = type_of(rows).shape[:-2]
    flat = e.reshape(rows, (*lead, windows * size))
    places = e(Add, e.reshape(_steps(e, windows, step), (windows, 1)), e.reshape(_steps(e, size, 1), (1, size)))
    found = _added_at(e, flat, e.reshape(places, (windows * size,)), sizes[position])
    order = [*range(position), rank - 1, *range(position, rank - 1)]
    return e.laid_out(e.permute(found, order), e.result)


def columns_added(e: Emitter, x: Value, output_size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """col2im: the columns of windows added up in the padded images, of which the middle is taken."""
    if not type_of(x).element.is_float or not type_of(x).count:
        return None
    columns = x if type_of(x).rank == 3 else e.reshape(x, (1, *type_of(x).shape))
    padded = [size + 2 * pad for size, pad in zip(output_size, padding)]
    counts = [(whole - gap * (width - 1) - 1) // step + 1 for whole, gap, width, step in zip(padded, dilation, kernel, stride)]
    batch, depth, positions = type_of(columns).shape
    channels = depth // math.prod(kernel)
    along = []
    for axis, scale in ((0, padded[1]), (1, 1)):
        inner = e.reshape(_steps(e, kernel[axis], dilation[axis] * scale), (kernel[axis], 1))
        along.append(e(Add, inner, e.reshape(_steps(e, counts[axis], stride[axis] * scale), (1, counts[axis]))))
    down = e.reshape(along[0], (kernel[0], 1, counts[0], 1))
    across = e.reshape(along[1], (1, kernel[1], 1, counts[1]))
    places = e.reshape(e(Add, down, across), (math.prod(kernel) * positions,))
    found = _added_at(e, e.reshape(columns, (batch, channels, math.prod(kernel) * positions)), places, math.prod(padded))
    images = e.reshape(found, (batch, channels, *padded))
    for axis in (0, 1):
        images = emit_slice(e, images, 2 + axis, padding[axis], padding[axis] + output_size[axis])
    return e.fresh(e.reshape(images, e.result.shape), e.result.strides)


def masked_scatter_backward(e: Emitter, gradient: Value, mask: Value, sizes: Sequence[int]) -> Any:
    """masked_scatter_backward: the elements under the mask one after the other, zeros behind them."""
    element, count = type_of(gradient).element, math.prod(sizes)
    if type_of(mask).element.kind != "bool" or element.kind == "complex" or not count or not type_of(gradient).count:
        return None
    size = type_of(gradient).count
    flags = e.reshape(e.expand(mask, type_of(gradient).shape), (size,))
    places = e(Sub, e(r.SCANS["CumsumOp"], flags, dim=0), other=1)
    places = e(p.WhereOp, flags, places, e.scalar(count, i64))  # the others meet in an element behind the last
    nothing = e(FullOp, shape=(count + 1,), value=e.number(0, element), element=element)
    found = e(ScatterOp, nothing, places, e.reshape(gradient, (size,)), dim=0)
    return e.fresh(e.reshape(emit_slice(e, found, 0, 0, count), tuple(sizes)), e.result.strides)


def unpool(spatial: int) -> Rule:
    """max_unpool2d, 3d: elements put to their flat indices among zeros."""

    def rule(e: Emitter, x: Value, indices: Value, output_size: Any, *rest: Any) -> Any:
        element = type_of(x).element
        if type_of(indices).element is not i64 or not type_of(x).count or element.kind == "complex":
            return None
        lead = type_of(x).shape[: type_of(x).rank - spatial]
        count = math.prod(output_size)
        flat = e(FullOp, shape=(*lead, count), value=e.number(0, element), element=element)
        pieces = [e.reshape(value, (*lead, math.prod(type_of(value).shape[len(lead) :]))) for value in (indices, x)]
        found = e.reshape(e(ScatterOp, flat, *pieces, dim=len(lead)), e.result.shape)
        return e.laid_out(found, e.result)

    return rule


# ---- ranges ----------------------------------------------------------------------------------------------------------


def linear_range(e: Emitter, start: Any, end: Any, steps: int, **options: Any) -> Any:
    """linspace: the first half counted from the start, the second from the end; integers are cut off what f64 gives.  The ends may be 0-d tensors."""
    result = e.result.element
    element = result if result.is_float else f64
    if result.kind in ("bool", "complex") or not all(_is_end(value) for value in (start, end) if steps):
        return None
    if steps < 2:
        if isinstance(start, Value) and steps:
            return None
        return e(FullOp, shape=(steps,), value=e.number(start if steps else 0, result), element=result)
    return None if result.is_half else e.to(_between(e, start, end, steps, element), result)


def _between(e: Emitter, start: Any, end: Any, steps: int, element: Any) -> Value:
    """`steps` numbers (at least 2) from start to end in the type `element`; the ends are rounded to the result's type first."""
    result = e.result.element
    number = e(IotaOp, size=steps, start=0, step=1, element=element)
    left = e(Sub, number, other=float(steps - 1), reversed=True)
    if isinstance(start, Value) or isinstance(end, Value):
        first, last = [e.to(e.to(value, result) if isinstance(value, Value) else e.scalar(value, result), element) for value in (start, end)]
        step = e(p.DivOp, e(Sub, last, first), other=float(steps - 1))
        if rounds_ranges_once():
            upward, downward = e(Add, first, number, step), e(Sub, last, left, step)
        else:
            upward, downward = e(Add, e(Mul, number, step), first), e(Sub, last, e(Mul, left, step))
    else:
        low, high = float(e.number(start, result)), float(e.number(end, result))
        width = torch.tensor(high, dtype=_dtype(element)).sub(low).div(steps - 1).item()
        if rounds_ranges_once():
            upward, downward = e(Add, e.scalar(low, element), number, alpha=width), e(Sub, e.scalar(high, element), left, alpha=width)
        else:
            upward, downward = e(Add, e(Mul, number, other=width), other=low), e(Sub, e(Mul, left, other=width), other=high, reversed=True)
    return e(p.WhereOp, e(p.COMPARISONS["LtOp"], number, other=float(steps // 2)), upward, downward)  # type: ignore[no-any-return]


@cache
def rounds_ranges_once() -> bool:
    """Whether linspace rounds a product and a sum in one step: torch's kernels for processors that can do that do."""
    with torch._C._DisableTorchDispatch():
        found = torch.linspace(0.1, 1.3, 101, dtype=torch.float64)[:50].tolist()
    return found != [0.1 + (1.3 - 0.1) / 100 * number for number in range(50)]


def _is_end(value: Any) -> bool:
    """Numbers, and tensors without dims."""
    return type(value) in (int, float) or (isinstance(value, Value) and not type_of(value).rank and type_of(value).element.kind != "complex")


def _dtype(element: Any) -> torch.dtype:
    return torch.float64 if element is f64 else torch.float32


def power_range(e: Emitter, start: Any, end: Any, steps: int, base: float = 10.0, **options: Any) -> Any:
    """logspace: the base to the powers of a linspace; integers are cut off what f64 gives, a single one the power of a start that is not cut off."""
    result = e.result.element
    if result.kind in ("signed", "unsigned") and all(_is_end(value) for value in (start, end) if steps):
        if not steps:
            return e(FullOp, shape=(0,), value=0, element=result)
        if steps == 1:
            exponents = e.reshape(e.to(start, f64) if isinstance(start, Value) else e.scalar(float(start), f64), (1,))
        else:
            exponents = _between(e, start, end, steps, f64)
        return e.to(e(p.POWER["PowOp"], exponents, other=float(base), reversed=True), result)
    if not result.is_float:
        return None
    exponents = linear_range(e, start, end, steps)
    return None if exponents is None else e(p.POWER["PowOp"], exponents, other=e.number(base, result), reversed=True)


def angle(e: Emitter, x: Value) -> Any:
    """angle of real numbers: pi for negative ones, and NaN."""
    element = e.result.element
    if type_of(x).element.kind == "complex" or not element.is_float:
        return None
    number = e.to(x, element)
    found = e(p.WhereOp, e(p.COMPARISONS["LtOp"], number, other=0), e.scalar(math.pi, element), e.scalar(0, element))
    return e(p.WhereOp, e(p.PREDICATES["IsnanOp"], number), number, found)


def masked_scatter(e: Emitter, x: Value, mask: Value, source: Value) -> Any:
    """masked_scatter: the elements of the source, one after the other, where the mask is true; a source that is too short raises."""
    if type_of(source).element is not type_of(x).element or type_of(mask).element.kind != "bool" or not type_of(source).count or not e.result.count:
        return None
    shape = e.result.shape
    count = math.prod(shape)
    flags = e.reshape(e.expand(mask, shape), (count,))
    places = e(Sub, e(r.SCANS["CumsumOp"], flags, dim=0), other=1)
    places = e(p.WhereOp, flags, places, e.scalar(0, i64))
    taken = e.reshape(index(e, e.reshape(source, (type_of(source).count,)), [places]), shape)
    return e.laid_out(e(p.WhereOp, e.expand(mask, shape), taken, e.expand(x, shape)), e.result)


RANGES: Final = ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.addbmm.default: add_batches,
        aten.addr.default: add_outer,
        aten._trilinear.default: trilinear,
        aten.renorm.default: renorm,
        aten.block_diag.default: block_diagonal,
        aten.im2col.default: windows_in_columns,
        aten.max_unpool2d.default: unpool(2),
        aten.max_unpool3d.default: unpool(3),
        **{getattr(aten.linspace, kind): linear_range for kind in RANGES},
        **{getattr(aten.logspace, kind): power_range for kind in RANGES},
        aten.angle.default: angle,
        aten.masked_scatter.default: masked_scatter,
        aten.unfold_copy.default: windows_copied,
        aten.unfold_backward.default: windows_added,
        aten.col2im.default: columns_added,
        aten.masked_scatter_backward.default: masked_scatter_backward,
    }
)
