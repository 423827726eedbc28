"""ATen overloads that become views, copies, casts and new tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import view as v
from lect.dialects.functional.creation import CastOp, CopyOp, FullOp, IotaOp, UndefinedOp
from lect.dialects.functional.pointwise import COMPARISONS, SUMS, WhereOp
from lect.dialects.functional.shapes import element_count, resolve_shape
from lect.frontends.tensors.elements import element_of
from lect.frontends.tensors.lower.emitter import Emitter, Rule, RunTimeScalar, dim_of, type_of
from lect.frontends.tensors.shape_views import slice_bounds
from lect.frontends.tensors.sizes import Dim, size_of
from lect.ir import ScalarType, Value
from lect.ir.types import i64

aten = torch.ops.aten

# ---- views -----------------------------------------------------------------------------------------------------------


def reshape(e: Emitter, x: Value, shape: Sequence[int]) -> Any:
    """view and its kin."""
    count = type_of(x).count
    return e.reshape(x, resolve_shape(tuple(shape), count if e.sizes is None else e.sizes.dim(count)))


def to_result_shape(e: Emitter, x: Value, *rest: Any, **options: Any) -> Any:
    """squeeze, unsqueeze: the new shape is known."""
    return e.reshape(x, e.result.shape)


def transpose(e: Emitter, x: Value, first: int, second: int) -> Any:
    """transpose.int."""
    order = list(range(type_of(x).rank))
    if order:
        a, b = dim_of(x, first), dim_of(x, second)
        order[a], order[b] = order[b], order[a]
    return e.permute(x, order)


def transpose_matrix(e: Emitter, x: Value) -> Any:
    """t."""
    return e.permute(x, list(range(type_of(x).rank))[::-1])


def permute(e: Emitter, x: Value, dims: Sequence[int]) -> Any:
    """permute."""
    return e.permute(x, [dim_of(x, dim) for dim in dims])


def expand(e: Emitter, x: Value, size: Sequence[int], *, implicit: bool = False) -> Any:
    """expand."""
    return e.expand(x, e.result.shape)


def emit_slice(e: Emitter, x: Value, dim: int, start: int, end: int, step: int = 1) -> Value:
    """Part of one dim; the value itself when it is all."""
    if (size_of(start), size_of(end), step) == (0, size_of(type_of(x).shape[dim]), 1):
        return x
    return e(v.SliceOp, x, dim=dim, start=start, end=end, step=step)


def slice_dim(e: Emitter, x: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """slice.Tensor."""
    position = dim_of(x, dim)
    return emit_slice(e, x, position, *slice_bounds(e.size(x, position), start, end), step)


def select(e: Emitter, x: Value, dim: int, index: int) -> Any:
    """select.int: a slice of one, its dim dropped."""
    position = dim_of(x, dim)
    start = index if index >= 0 else index + e.size(x, position)
    shape = type_of(x).shape
    return e.reshape(emit_slice(e, x, position, start, start + 1), shape[:position] + shape[position + 1 :])


def pieces(e: Emitter, x: Value, sizes: Any, dim: int = 0) -> Any:
    """split in all its forms: the sizes are those of the results."""
    position = dim_of(x, dim)
    start, found = 0, []
    for result in e.results:
        assert result is not None
        end = start + result.shape[position]
        found.append(emit_slice(e, x, position, start, end))
        start = end
    return tuple(found)


def unbind(e: Emitter, x: Value, dim: int = 0) -> Any:
    """unbind."""
    return tuple([select(e, x, dim, index) for index in range(len(e.results))])


def diagonal(e: Emitter, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """diagonal."""
    return e(v.DiagonalOp, x, offset=offset, dim1=dim_of(x, dim1), dim2=dim_of(x, dim2))


def unfold(e: Emitter, x: Value, dim: int, size: int, step: int) -> Any:
    """unfold: windows of one dim as a new last dim."""
    return e(v.AsStridedOp, x, size=e.result.shape, stride=e.result.strides)


# ---- copies that move slices -----------------------------------------------------------------------------------------


def flip(e: Emitter, x: Value, dims: Sequence[int]) -> Any:
    """flip."""
    turned = tuple(sorted({dim_of(x, dim) for dim in dims})) if type_of(x).rank else ()
    return e(v.ReverseOp, x, dims=turned) if turned else e.fresh(x, e.result.strides)


def cat(e: Emitter, tensors: Sequence[Value], dim: int = 0) -> Any:
    """cat: 1-D empty tensors take no part, elements promote."""
    parts = [part for part in tensors if type_of(part).shape != (0,) or e.result.rank == 1]
    element = e.result.element
    if not parts or any(type_of(part).element.kind == "complex" for part in parts):
        return None
    return e(v.CatOp, [e.to(part, element) for part in parts], dim=dim_of(parts[0], dim))


def stack(e: Emitter, tensors: Sequence[Value], dim: int = 0) -> Any:
    """stack: cat along a new dim."""
    position = dim % e.result.rank
    shape = e.result.shape
    element = e.result.element
    one = shape[:position] + (1,) + shape[position + 1 :]
    return e(v.CatOp, [e.reshape(e.to(part, element), one) for part in tensors], dim=position)


def pad(e: Emitter, x: Value, padding: Sequence[int], value: Any = 0) -> Any:
    """constant_pad_nd: pairs begin with the last dim."""
    rank = type_of(x).rank
    pairs = [(0, 0)] * rank
    for number in range(len(padding) // 2):
        pairs[rank - 1 - number] = (padding[2 * number], padding[2 * number + 1])
    return e(v.PadOp, x, pads=tuple(pairs), value=e.number(value, type_of(x).element))


def repeat(e: Emitter, x: Value, repeats: Sequence[int]) -> Any:
    """repeat: each dim becomes two, of which the first is expanded."""
    own = (1,) * (len(repeats) - type_of(x).rank) + type_of(x).shape
    split = [size for dim in own for size in (1, dim)]
    spread = [size for times, dim in zip(repeats, own) for size in (times, dim)]
    return e.fresh(e.reshape(e.expand(e.reshape(x, split), spread), e.result.shape), e.result.strides)


def chunk_cat(e: Emitter, tensors: Sequence[Value], dim: int, chunks: int) -> Any:
    """_chunk_cat: each tensor padded with zeros to whole chunks along `dim`, all behind it as one row for each chunk, and the rows side by side."""
    if any(type_of(tensor).element is not e.result.element or not type_of(tensor).count for tensor in tensors) or e.result.element.kind == "complex":
        return None
    rows = []
    for tensor in tensors:
        shape = type_of(tensor).shape
        position = dim % len(shape)
        pads = [(0, 0)] * len(shape)
        pads[position] = (0, -shape[position] % chunks)
        padded = e(v.PadOp, tensor, pads=tuple(pads), value=e.number(0, e.result.element)) if pads[position][1] else tensor
        count = type_of(padded).count // element_count(shape[:position]) // chunks
        rows.append(e.reshape(padded, (*shape[:position], chunks, count)))
    return e(v.CatOp, rows, dim=type_of(rows[0]).rank - 1)


def roll(e: Emitter, x: Value, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """roll: the end of each dim put in front."""
    shape = type_of(x).shape
    if not element_count(shape):
        return e.fresh(x, e.result.strides)
    if not dims:
        return e.reshape(_rolled(e, e.reshape(x, (element_count(shape),)), shifts[0], 0), shape)
    found = x
    for shift, dim in zip(shifts, dims):
        found = _rolled(e, found, shift, dim_of(x, dim))
    return e.fresh(found, e.result.strides) if found is x else found


def _rolled(e: Emitter, x: Value, shift: int, dim: int) -> Value:
    size = type_of(x).shape[dim]
    cut = (size - shift) % size if type(size) is int or not 0 < abs(shift) < 2 else size - shift if shift > 0 else -shift
    if type(cut) is int and not cut:
        return x
    return e(v.CatOp, [emit_slice(e, x, dim, cut, size), emit_slice(e, x, dim, 0, cut)], dim=dim)


def triangle(comparison: str) -> Rule:
    """tril and triu: a selection by row and column numbers."""

    def rule(e: Emitter, x: Value, diagonal: int = 0) -> Any:
        rows, columns = type_of(x).shape[-2:]
        row = e(SUMS["AddOp"], e(IotaOp, rows), other=diagonal) if diagonal else e(IotaOp, rows)
        keep = e(COMPARISONS[comparison], e.reshape(row, (rows, 1)), e(IotaOp, columns))
        return e(WhereOp, keep, x, e.scalar(0, type_of(x).element))

    return rule


# ---- copies and casts ------------------------------------------------------------------------------------------------


def clone(e: Emitter, x: Value, *, memory_format: Any = None) -> Any:
    """clone; the strides follow from the result."""
    return e.fresh(x, e.result.strides)


def to_copy(e: Emitter, x: Any, *, dtype: Any = None, device: Any = None, non_blocking: bool = False, **options: Any) -> Any:
    """_to_copy: another element type, another device; of a number, too, which torch's Python forms of operators hand on as a tensor without dimensions."""
    if not isinstance(x, Value):
        return full(e, None, x)
    result, own = e.result, type_of(x)
    device_name = None if result.device == own.device else result.device
    if result.element is own.element:
        return e(CopyOp, x, device=device_name)
    return None if "complex" in (own.element.kind, result.element.kind) else e(CastOp, x, to=result.element, device=device_name)


# ---- new tensors -----------------------------------------------------------------------------------------------------


def emit_full(e: Emitter, value: Any, element: ScalarType | None = None) -> Value:
    """A tensor of one number, shaped as the result."""
    result = e.result
    chosen = element or result.element
    if isinstance(value, RunTimeScalar):
        return e.fresh(e.expand(e.run_time(value, chosen), result.shape), result.strides)
    return e(FullOp, shape=result.shape, value=e.number(value, chosen), element=chosen, device=result.device)


def filled(value: Any) -> Rule:
    """zeros, ones and their kin."""
    return lambda e, *arguments, **options: None if e.result.element.kind == "complex" else emit_full(e, value)


def full(e: Emitter, like: Any, value: Any, **options: Any) -> Any:
    """full, full_like: the second argument is the number."""
    return None if isinstance(value, complex) or e.result.element.kind == "complex" else emit_full(e, value)


def new_full(e: Emitter, x: Value, size: Any, value: Any, **options: Any) -> Any:
    """new_full."""
    return full(e, size, value)


def scalar_tensor(e: Emitter, value: Any, **options: Any) -> Any:
    """scalar_tensor."""
    return full(e, (), value)


def undefined(e: Emitter, *arguments: Any, **options: Any) -> Any:
    """empty and its kin."""
    result = e.result
    return e(UndefinedOp, shape=result.shape, element=result.element, device=result.device)


def arange(e: Emitter, end: Any, **options: Any) -> Any:
    """arange(end)."""
    return arange_step(e, 0, end)


def arange_step(e: Emitter, start: Any, end: Any, step: Any = 1, **options: Any) -> Any:
    """arange(start, end, step).  Eager makes the numbers elements of the result first."""
    result = e.result
    if result.element.is_integer and all(type(number) in (bool, int, float) for number in (start, step)):
        start, step = int(start), int(step)
    if type(start) is Dim and type(step) is int and result.element.is_integer:
        counted = e(IotaOp, result.shape[0], start=0, step=step, device=result.device)
        return e.to(e(SUMS["AddOp"], counted, e(FullOp, shape=(), value=start, element=i64)), result.element)
    return e(IotaOp, result.shape[0], start=start, step=step, element=result.element, device=result.device)


def eye(e: Emitter, *arguments: Any, **options: Any) -> Any:
    """eye: where row and column number agree."""
    rows, columns = e.result.shape
    same = e(COMPARISONS["EqOp"], e.reshape(e(IotaOp, rows, device=e.result.device), (rows, 1)), e(IotaOp, columns, device=e.result.device))
    return e.to(same, e.result.element)


def constant(e: Emitter, tensor: torch.Tensor) -> Any:
    """A small tensor whose elements are known: one `full` for each run of equal elements."""
    if tensor.numel() > MAX_CONSTANT or tensor.dtype.is_complex or tensor.device.type not in ("cpu", "cuda"):
        return None
    made = {"element": element_of(tensor.dtype), "device": str(tensor.device)}
    numbers = tensor.reshape(-1).tolist()
    if not numbers:
        return e(UndefinedOp, shape=tuple(tensor.shape), **made)
    if all(_same_number(number, numbers[0]) for number in numbers):
        return e(FullOp, shape=tuple(tensor.shape), value=numbers[0], **made)
    parts = []
    start = 0
    for position in range(1, len(numbers) + 1):
        if position == len(numbers) or not _same_number(numbers[position], numbers[start]):
            parts.append(e(FullOp, shape=(position - start,), value=numbers[start], **made))
            start = position
    return e.reshape(e(v.CatOp, parts, dim=0), tuple(tensor.shape))


def _same_number(a: Any, b: Any) -> bool:
    return repr(a) == repr(b)


MAX_CONSTANT = 64


def detach_like(e: Emitter, x: Value, *rest: Any, **options: Any) -> Any:
    """No-ops: the value itself."""
    return x


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        **dict.fromkeys((aten.view.default, aten._unsafe_view.default, aten._reshape_alias.default, aten.reshape.default), reshape),
        **dict.fromkeys((aten.unsqueeze.default, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims), to_result_shape),
        aten.transpose.int: transpose,
        aten.t.default: transpose_matrix,
        aten.permute.default: permute,
        aten.expand.default: expand,
        aten.slice.Tensor: slice_dim,
        aten.select.int: select,
        **dict.fromkeys((aten.split.Tensor, aten.split_with_sizes.default, aten.unsafe_split.Tensor, aten.unsafe_split_with_sizes.default), pieces),
        aten.unbind.int: unbind,
        aten.diagonal.default: diagonal,
        aten.unfold.default: unfold,
        **dict.fromkeys((aten.detach.default, aten.alias.default, aten.lift_fresh.default), detach_like),
        aten.flip.default: flip,
        aten.cat.default: cat,
        aten._chunk_cat.default: chunk_cat,
        aten.stack.default: stack,
        aten.constant_pad_nd.default: pad,
        aten.repeat.default: repeat,
        aten.roll.default: roll,
        aten.tril.default: triangle("GeOp"),
        aten.triu.default: triangle("LeOp"),
        aten.clone.default: clone,
        aten._to_copy.default: to_copy,
        **dict.fromkeys((aten.zeros.default, aten._efficientzerotensor.default, aten.zeros_like.default, aten.new_zeros.default, aten.zero.default), filled(0)),
        **dict.fromkeys((aten.ones.default, aten.ones_like.default, aten.new_ones.default), filled(1)),
        **dict.fromkeys((aten.full.default, aten.full_like.default, aten.fill.Scalar), full),
        aten.new_full.default: new_full,
        aten.scalar_tensor.default: scalar_tensor,
        **dict.fromkeys((aten.empty.memory_format, aten.empty_like.default, aten.new_empty.default), undefined),
        **dict.fromkeys((aten.empty_strided.default, aten.new_empty_strided.default, aten.empty_permuted.default), undefined),
        aten.arange.default: arange,
        aten.arange.start: arange_step,
        aten.arange.start_step: arange_step,
        aten.eye.default: eye,
        aten.eye.m: eye,
    }
)
