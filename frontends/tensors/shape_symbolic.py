"""What operators give for tensors whose sizes have symbols, where torch's own meta kernels want numbers.

An elementwise operator gives the common shape of its operands.  Its dtype, and whether it takes such operands at all, torch's meta kernel says for the sizes
at hand.  A few others have a function of their own here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.shapes import channels_last_strides, contiguous_strides, normalize_dim, preserved_strides, suggests_channels_last
from lect.frontends.tensors.lt import layout_of, make_lt
from lect.frontends.tensors.meta_kernels import run_on_meta
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.shape_pointwise import broadcast_as_eager, pointwise_meta
from lect.frontends.tensors.sizes import Dim, size_of
from lect.frontends.tensors.templates import Alias, Template

aten = torch.ops.aten


def symbolic_meta(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
    """The template of a call with such tensors among its arguments; None where torch's own meta kernel is to say it.  Raises what the operator raises."""
    if not has_symbols((args, tuple(kwargs.values()))):
        return None
    function = FUNCTIONS.get(func)
    if function is not None:
        return function(*_metadata(args), **kwargs)
    if torch.Tag.pointwise in func.tags or func in _ELEMENTWISE:
        return _pointwise(func, args, kwargs)
    return _reduction(func, args, kwargs) if func.overloadpacket in REDUCTIONS else None


# Their meta kernels convert the elements first, unless they are f32; with such sizes torch cannot do that.
REDUCTIONS: Final = frozenset(
    {
        *(aten.sum, aten.mean, aten.prod, aten.amax, aten.amin, aten.var, aten.std, aten.var_mean, aten.std_mean),
        *(aten.linalg_vector_norm, aten.logsumexp, aten.any, aten.all),
    }
)

_ELEMENTWISE: Final = frozenset({aten.floor_divide.default, aten.floor_divide.Scalar, aten.floor_divide_.Tensor, aten.floor_divide_.Scalar})  # without the tag


def has_symbols(value: Any) -> bool:
    """True when a size with symbols stands among arguments, or is a size or stride of a tensor among them."""
    kind = type(value)
    if kind is Dim:
        return True
    if isinstance(value, torch.Tensor):
        meta = layout_of(value)
        return any(type(size) is Dim for size in (*meta.shape, *meta.strides))
    return (kind is tuple or kind is list) and any(map(has_symbols, value))


def _metadata(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return layout_of(value)
    return type(value)([_metadata(item) for item in value]) if type(value) in (tuple, list) else value


def _at_hand(value: Any) -> Any:
    """Arguments with the sizes that they have in the traced call."""
    kind = type(value)
    if kind is Dim:
        return value.node.env.hint(value.node.expr)
    if isinstance(value, torch.Tensor):
        meta = layout_of(value)
        return make_lt(_hand_of(meta))
    return kind([_at_hand(item) for item in value]) if kind in (tuple, list) else value


def _pointwise(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
    """The common shape.  None where what torch says for the sizes at hand is not that, such as for a layout of its own."""
    found = run_on_meta(func, _at_hand(args), {name: _at_hand(value) for name, value in kwargs.items()})
    operands = _metadata((*args, *kwargs.values()))
    tensors = [operand for operand in operands if type(operand) is TensorMeta]
    if type(found) is Alias:
        return found if broadcast_as_eager([tensor.shape for tensor in tensors]) == tensors[0].shape else None
    if type(found) is not TensorMeta:
        return None
    made = pointwise_meta(tuple([operand for operand in operands if type(operand) is TensorMeta or type(operand) in (int, float)]), found.dtype)
    return made if made is not None and made.device == found.device and _at_hand(made.layout) == found.layout else None


def _reduction(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
    """The layout is that of a reduction of elements that need no conversion, the dtype what torch says for the sizes at hand.

    None where both are no reduction of one tensor that has to be converted, or do not agree.
    """
    x, further = layout_of(args[0]), args[1:]
    if x.dtype.is_complex or kwargs.get("dtype") is not None:
        return None
    found = run_on_meta(func, _at_hand(args), kwargs)
    if func.overloadpacket in (aten.any, aten.all):  # laid out as a sum
        func = aten.sum.dim_IntList
        further = ([further[0]] if further and type(further[0]) is int else further[0] if further else None, *further[1:])
    return _agreed(found, run_on_meta(func, (make_lt(x._replace(dtype=torch.float32)), *further), kwargs))


def _agreed(found: Template, made: Template) -> Template:
    """The layouts of `made`, which have symbols, with the dtypes of `found`, which has none; None where their sizes or strides differ."""
    if type(found) is TensorMeta and type(made) is TensorMeta:
        return made._replace(dtype=found.dtype) if _at_hand(made.layout) == found.layout else None
    if type(found) is tuple and type(made) is tuple:
        several = tuple(map(_agreed, found, made))
        return None if None in several else several
    return None


# ---- others ----------------------------------------------------------------------------------------------------------


def eye(n: Any, m: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Template:
    """eye: a row-major matrix."""
    if layout not in (None, torch.strided) or pin_memory:
        return None
    shape = (n, n if m is None else m)
    return TensorMeta(shape, dtype or torch.get_default_dtype(), contiguous_strides(shape), torch.device(device or "cpu"))


def constant_pad(x: TensorMeta, pads: Any, value: Any = 0) -> Template:
    """constant_pad_nd by numbers of elements at both ends of the last dims."""
    if len(pads) % 2 or len(pads) > 2 * len(x.shape):
        return None
    shape = list(x.shape)
    for place in range(len(pads) // 2):
        shape[-1 - place] = shape[-1 - place] + pads[2 * place] + pads[2 * place + 1]
    if any(size <= 0 for size in shape):
        return None  # torch words the error
    if all(type(pad) is int and pad <= 0 for pad in pads):  # a copy of a part
        return TensorMeta(tuple(shape), x.dtype, preserved_strides((tuple(shape), x.strides)), x.device)
    strides = channels_last_strides(shape) if suggests_channels_last(x.shape, x.strides) else contiguous_strides(shape)
    return TensorMeta(tuple(shape), x.dtype, tuple(strides), x.device)


def unfold(x: TensorMeta, dim: int, size: int, step: int) -> Template:
    """unfold: windows along a dim, which overlap."""
    if not x.shape or type(size) is not int or type(step) is not int or step <= 0 or size < 0:
        return None
    position = normalize_dim(dim, len(x.shape))
    if x.shape[position] < size:
        return None
    count = (x.shape[position] - size) // step + 1
    shape = (*x.shape[:position], count, *x.shape[position + 1 :], size)
    return x.view(shape, (*x.strides[:position], x.strides[position] * step, *x.strides[position + 1 :], x.strides[position]))


def diagonal(x: TensorMeta, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Template:
    """diagonal of two dims, which stands behind the others."""
    first, second = normalize_dim(dim1, len(x.shape)), normalize_dim(dim2, len(x.shape))
    if first == second or type(offset) is not int:
        return None
    rows, columns = x.shape[first] + min(offset, 0), x.shape[second] - max(offset, 0)
    count = rows if rows <= columns else columns
    if count <= 0:
        return None
    kept = [dim for dim in range(len(x.shape)) if dim not in (first, second)]
    begin = x.strides[second] * offset if offset >= 0 else -x.strides[first] * offset
    strides = (*[x.strides[dim] for dim in kept], x.strides[first] + x.strides[second])
    return x.view((*[x.shape[dim] for dim in kept], count), strides, begin)


def likelihood(x: TensorMeta, target: TensorMeta, weight: Any, reduction: int, ignore_index: int) -> Template:
    """nll_loss_forward of rows of numbers of classes, and of pixels: the loss, and the weight of all."""
    classes = 1 if len(x.shape) > 1 else 0
    points = (*x.shape[:classes], *x.shape[classes + 1 :])
    if x.device != target.device or points != target.shape or (weight is not None and weight.shape != (x.shape[classes],)):
        return None
    return (x.like(points if reduction == 0 else ()), x.like(()))


def _spectrum(func: Any) -> Callable[..., Template]:
    """A Fourier transform of a row-major tensor: its dims lie in the order that the kernel gives them for the sizes at hand."""

    def rule(x: TensorMeta, dims: Any, norm: int, last: Any) -> Template:
        own = contiguous_strides(x.shape)
        if not dims or size_of(x.strides) != size_of(own):
            return None
        found = run_on_meta(func, (make_lt(_hand_of(x)), dims, norm, _at_hand(last)), {})
        if type(found) is not TensorMeta:
            return None
        shape, half = list(x.shape), normalize_dim(dims[-1], len(x.shape))
        if func is aten._fft_r2c.default and last:
            shape[half] = shape[half] // 2 + 1
        elif func is aten._fft_c2r.default:
            shape[half] = last
        order = sorted(range(len(shape)), key=lambda dim: -found.strides[dim])
        strides, step = [1] * len(shape), 1
        for dim in reversed(order):
            strides[dim], step = step, step * shape[dim]
        made = TensorMeta(tuple(shape), found.dtype, tuple(strides), found.device)
        return made if _hand_of(made).layout == found.layout else None

    return rule


def _hand_of(meta: TensorMeta) -> TensorMeta:
    return meta._replace(shape=_at_hand(meta.shape), strides=_at_hand(meta.strides), storage_offset=_at_hand(meta.storage_offset))


def ctc_loss_backward(gradient: TensorMeta, scores: TensorMeta, *others: Any, **options: Any) -> Template:
    """_ctc_loss_backward: gradients of the scores, row-major."""
    return TensorMeta(scores.shape, scores.dtype, contiguous_strides(scores.shape), scores.device)


FUNCTIONS: Final[Mapping[Any, Callable[..., Template]]] = MappingProxyType(
    {
        aten.eye.default: eye,
        aten.eye.m: eye,
        aten.constant_pad_nd.default: constant_pad,
        aten.unfold.default: unfold,
        aten.diagonal.default: diagonal,
        aten.nll_loss_forward.default: likelihood,
        aten.nll_loss2d_forward.default: likelihood,
        **{func: _spectrum(func) for func in (aten._fft_r2c.default, aten._fft_c2c.default, aten._fft_c2r.default)},
        aten._ctc_loss_backward.Tensor: ctc_loss_backward,
    }
)

__all__ = ["symbolic_meta"]
