"""What each functional operation means, as one call of torch: `lambda op, t: ...`, where `t(value)` is the tensor of an operand (None for None)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch
import torch.nn.functional as F

from lect.backends.reference.functional_blocks import BLOCKS, GATHER, WINDOWS, Reference
from lect.backends.reference.functional_random import RANDOM
from lect.dialects.functional.python_values import dtype_of

aten = torch.ops.aten


def unary(function: Callable[[torch.Tensor], Any]) -> Reference:
    """A function of one tensor."""
    return lambda op, t: function(t(op.x))


def number(op: Any, x: torch.Tensor) -> torch.Tensor:
    """The number `other` as a tensor of the operand's element type."""
    return torch.scalar_tensor(op.other, dtype=x.dtype, device=x.device)


def binary(function: Callable[..., Any]) -> Reference:
    """A function of two tensors, or of a tensor and a number."""

    def run(op: Any, t: Any) -> Any:
        x = t(op.x)
        if op.y is not None:
            return function(x, t(op.y))
        return function(number(op, x), x) if op.reversed else function(x, number(op, x))

    return run


def precise(function: Callable[..., Any]) -> Reference:
    """As `binary`, but a second number reaches torch as a number: it is not rounded, and pow has forms of its own for some."""
    return lambda op, t: function(t(op.x), op.other) if op.y is None and not op.reversed else binary(function)(op, t)


def factor(op: Any, t: Any, value: Any) -> Any:
    """The number `value`, or the one in the operand `factor`."""
    return value if op.factor is None else t(op.factor).item()


def gradient(function: Callable[..., Any], *names: str) -> Reference:
    """A function of a gradient, a saved tensor, and attributes."""
    return lambda op, t: function(*[t(value) for value in op.operands], *[getattr(op, name) for name in names])


def element(op: Any) -> Any:
    """The dtype that the attribute `element` asks for, or None."""
    return None if op.element is None else dtype_of(op.element)


def over_dims(function: Callable[..., Any]) -> Reference:
    """A reduction over `dims`, which may be none for a 0-d operand."""

    def run(op: Any, t: Any) -> Any:
        return function(t(op.x), op.dims, op.keepdim)

    return run


def product(op: Any, t: Any) -> Any:
    """prod takes one dim at a time."""
    found = t(op.x)
    if not op.dims:
        return torch.prod(found, dtype=element(op)) if found.dim() == 0 else found.to(dtype_of(op.output.type.element))
    for dim in reversed(op.dims):
        found = torch.prod(found, dim, op.keepdim, dtype=dtype_of(op.output.type.element))
    return found


def reduced(op: Any, function: Callable[..., Any], x: torch.Tensor, **options: Any) -> Any:
    """`function(x, dims, keepdim)`; no dims of a tensor with dims means that nothing is reduced, which torch cannot be asked for."""
    if not op.dims and x.dim():
        return function(x.unsqueeze(0), [0], False, **options)
    return function(x, list(op.dims), op.keepdim, **options)


def tested(function: Callable[..., Any]) -> Reference:
    """any and all, one dim after another."""

    def run(op: Any, t: Any) -> Any:
        found = t(op.x).bool()
        for dim in reversed(op.dims if found.dim() else ()):
            found = function(found, dim, op.keepdim)
        return found

    return run


def bessel(op: Any, t: Any) -> Any:
    """The special function of that kind."""
    names = {"i0": "i0", "i0e": "special_i0e", "i1": "special_i1", "i1e": "special_i1e", "airy_ai": "special_airy_ai"}
    name = names.get(op.kind)
    if name is None:
        family, _, order = op.kind.rpartition("_")
        name = f"special_{family}_bessel_{order}" if family else f"special_bessel_{op.kind}"
    return getattr(aten, name).default(t(op.x))


def polynomial(op: Any, t: Any) -> Any:
    """The special polynomial of that kind."""
    family, _, letter = op.kind.rpartition("_")
    return binary(getattr(aten, f"special_{family}_polynomial_{letter}").default)(op, t)


_UNARY = "reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv"
_MORE_UNARY = "lgamma digamma sigmoid abs neg floor ceil round trunc bitwise_not logical_not isnan isinf signbit sign frexp frac sinc sgn relu"
_BINARY = "remainder fmod atan2 hypot copysign nextafter maximum minimum fmax fmin bitwise_and bitwise_or bitwise_xor gcd"
_COMPARISONS = "eq ne lt le gt ge logical_and logical_or logical_xor"

POINTWISE: Final[dict[str, Reference]] = {
    **{name: unary(getattr(torch, name)) for name in f"{_UNARY} {_MORE_UNARY}".split()},
    **{name: binary(getattr(torch, name)) for name in f"{_BINARY} {_COMPARISONS}".split()},
    "erfcx": unary(torch.special.erfcx),
    "ndtri": unary(torch.special.ndtri),
    "log_ndtr": unary(torch.special.log_ndtr),
    "add": lambda op, t: binary(lambda x, y: torch.add(x, y, alpha=factor(op, t, op.alpha)))(op, t),
    "sub": lambda op, t: binary(lambda x, y: torch.sub(x, y, alpha=factor(op, t, op.alpha)))(op, t),
    "mul": precise(torch.mul),
    "div": lambda op, t: precise(lambda x, y: torch.div(x, y, rounding_mode=None if op.mode == "true" else op.mode))(op, t),
    "pow": precise(torch.pow),
    "zeta": binary(torch.special.zeta),
    "igamma": binary(torch.igamma),
    "igammac": binary(torch.igammac),
    "shift_left": binary(torch.bitwise_left_shift),
    "shift_right": binary(torch.bitwise_right_shift),
    "bessel": bessel,
    "orthopoly": polynomial,
    "where": lambda op, t: torch.where(t(op.condition), t(op.x), t(op.y)),
    "clamp": lambda op, t: _clamped(op, t),
}


def _clamped(op: Any, t: Any) -> Any:
    x = t(op.x)
    bounds = [t(op.low) if op.low is not None else op.min, t(op.high) if op.high is not None else op.max]
    if any(isinstance(bound, torch.Tensor) for bound in bounds):
        bounds = [torch.scalar_tensor(bound, dtype=x.dtype) if isinstance(bound, int | float) else bound for bound in bounds]
    return torch.clamp(x, *bounds) if any(bound is not None for bound in bounds) else x.clone()


COMPOSITE: Final[dict[str, Reference]] = {
    "silu": unary(F.silu),
    "mish": unary(F.mish),
    "hardswish": unary(F.hardswish),
    "hardsigmoid": unary(F.hardsigmoid),
    "log_sigmoid": unary(F.logsigmoid),
    "entr": unary(torch.special.entr),
    "leaky_relu": lambda op, t: F.leaky_relu(t(op.x), op.negative_slope) if op.weight is None else torch.where(t(op.x) > 0, t(op.x), t(op.weight) * t(op.x)),
    "elu": lambda op, t: aten.elu.default(t(op.x), op.alpha, op.scale, op.input_scale),
    "gelu": lambda op, t: F.gelu(t(op.x), approximate=op.approximate),
    "hardtanh": lambda op, t: F.hardtanh(t(op.x), op.min, op.max),
    "softplus": lambda op, t: F.softplus(t(op.x), op.beta, op.threshold),
    "threshold": lambda op, t: F.threshold(t(op.x), op.threshold, op.value),
    "hardshrink": lambda op, t: F.hardshrink(t(op.x), op.lambd),
    "softshrink": lambda op, t: F.softshrink(t(op.x), op.lambd),
    "logit": lambda op, t: torch.logit(t(op.x), op.eps),
    "glu": lambda op, t: F.glu(t(op.x), op.dim),
    "lerp": lambda op, t: torch.lerp(t(op.x), t(op.end), op.amount if op.weight is None else t(op.weight)),
    "addcmul": lambda op, t: torch.addcmul(t(op.x), t(op.first), t(op.second), value=factor(op, t, op.value)),
    "addcdiv": lambda op, t: torch.addcdiv(t(op.x), t(op.first), t(op.second), value=factor(op, t, op.value)),
    "xlogy": lambda op, t: binary(torch.xlogy if op.logarithm == "log" else torch.special.xlog1py)(op, t),
    "logaddexp": lambda op, t: (torch.logaddexp if op.base == "e" else torch.logaddexp2)(t(op.x), t(op.y)),
    "nan_to_num": lambda op, t: torch.nan_to_num(t(op.x), op.nan, op.posinf, op.neginf),
    "heaviside": lambda op, t: torch.heaviside(t(op.x), t(op.y)),
    "ldexp": lambda op, t: torch.ldexp(t(op.x), t(op.y)),
    "polygamma": lambda op, t: torch.polygamma(op.n, t(op.x)),
    "masked_fill": lambda op, t: torch.masked_fill(t(op.x), t(op.mask), op.other if op.value is None else t(op.value)),
    "silu_backward": gradient(aten.silu_backward.default),
    "mish_backward": gradient(aten.mish_backward.default),
    "hardswish_backward": gradient(aten.hardswish_backward.default),
    "hardsigmoid_backward": gradient(aten.hardsigmoid_backward.default),
    "log_sigmoid_backward": lambda op, t: aten.log_sigmoid_backward.default(t(op.gradient), t(op.x), aten.log_sigmoid_forward.default(t(op.x))[1]),
    "sigmoid_backward": gradient(aten.sigmoid_backward.default),
    "tanh_backward": gradient(aten.tanh_backward.default),
    "threshold_backward": gradient(aten.threshold_backward.default, "threshold"),
    "gelu_backward": lambda op, t: aten.gelu_backward.default(t(op.gradient), t(op.x), approximate=op.approximate),
    "hardtanh_backward": gradient(aten.hardtanh_backward.default, "min", "max"),
    "elu_backward": lambda op, t: aten.elu_backward.default(t(op.gradient), op.alpha, op.scale, op.input_scale, op.is_result, t(op.x)),
    "leaky_relu_backward": gradient(aten.leaky_relu_backward.default, "negative_slope", "is_result"),
    "softplus_backward": gradient(aten.softplus_backward.default, "beta", "threshold"),
    "glu_backward": gradient(aten.glu_backward.default, "dim"),
    "shrink_backward": lambda op, t: getattr(aten, f"{op.kind}shrink_backward").default(t(op.gradient), t(op.x), op.lambd),
}

CREATION: Final[dict[str, Reference]] = {
    "cast": lambda op, t: t(op.x).to(device=op.device or t(op.x).device, dtype=dtype_of(op.to), copy=True),
    "together": lambda op, t: tuple([t(value).clone(memory_format=torch.contiguous_format) for value in op.inputs]),
    "copy": lambda op, t: t(op.x).to(device=op.device or t(op.x).device, copy=True),
    "full": lambda op, t: torch.full(op.shape, op.value, dtype=dtype_of(op.element), device=op.device),
    "undefined": lambda op, t: torch.zeros(op.shape, dtype=dtype_of(op.element), device=op.device),
    "iota": lambda op, t: _arange(op),
    **RANDOM,
}


def _arange(op: Any) -> torch.Tensor:
    """arange whose end is half a step behind the last element, so that the size is exact."""
    end = op.start + op.step * op.size
    if isinstance(end, float):
        end -= op.step / 2
    return torch.arange(op.start, end, op.step, dtype=dtype_of(op.element), device=op.device)


VIEW: Final[dict[str, Reference]] = {
    "reshape": lambda op, t: t(op.x).reshape(op.shape),
    "permute": lambda op, t: t(op.x).permute(op.dims),
    "expand": lambda op, t: t(op.x).expand(op.shape),
    "slice": lambda op, t: aten.slice.Tensor(t(op.x), op.dim, op.start, op.end, op.step),
    "diagonal": lambda op, t: torch.diagonal(t(op.x), op.offset, op.dim1, op.dim2),
    "as_strided": lambda op, t: torch.as_strided(t(op.x), op.size, op.stride, t(op.x).storage_offset() + op.offset),
    "reverse": lambda op, t: torch.flip(t(op.x), op.dims),
    "cat": lambda op, t: torch.cat([t(value) for value in op.inputs], op.dim),
    "pad": lambda op, t: aten.constant_pad_nd.default(t(op.x), [side for pair in reversed(op.pads) for side in pair], op.value),
}

REDUCTION: Final[dict[str, Reference]] = {
    "sum": lambda op, t: reduced(op, torch.sum, t(op.x), dtype=dtype_of(op.output.type.element)),
    "prod": product,
    "xor_sum": lambda op, t: aten.hash_tensor.default(t(op.x), list(op.dims), keepdim=op.keepdim),
    "amax": lambda op, t: reduced(op, torch.amax, t(op.x)),
    "amin": lambda op, t: reduced(op, torch.amin, t(op.x)),
    "any": tested(torch.any),
    "all": tested(torch.all),
    "argmax": lambda op, t: torch.argmax(t(op.x), op.dim, op.keepdim),
    "argmin": lambda op, t: torch.argmin(t(op.x), op.dim, op.keepdim),
    "max_with_index": lambda op, t: tuple(torch.max(t(op.x), op.dim, op.keepdim)),
    "min_with_index": lambda op, t: tuple(torch.min(t(op.x), op.dim, op.keepdim)),
    "var_mean": lambda op, t: torch.var_mean(t(op.x), op.dims or None, correction=op.correction, keepdim=op.keepdim),
    "mean": lambda op, t: reduced(op, torch.mean, t(op.x), dtype=element(op)),
    "vector_norm": lambda op, t: aten.linalg_vector_norm.default(t(op.x), op.ord, list(op.dims) or None, op.keepdim, dtype=element(op)),
    "logsumexp": lambda op, t: torch.logsumexp(t(op.x), op.dims, op.keepdim),
    "softmax": lambda op, t: _softmax(op, t),
    "log_softmax": lambda op, t: torch.log_softmax(t(op.x), op.dim, element(op)),
    "softmax_backward": lambda op, t: _softmax_backward(aten._softmax_backward_data.default, op, t),
    "log_softmax_backward": lambda op, t: _softmax_backward(aten._log_softmax_backward_data.default, op, t),
    "cumsum": lambda op, t: torch.cumsum(t(op.x), op.dim, dtype=element(op)),
    "cumprod": lambda op, t: torch.cumprod(t(op.x), op.dim, dtype=element(op)),
    "logcumsumexp": lambda op, t: torch.logcumsumexp(t(op.x), op.dim),
    "cummax_with_index": lambda op, t: tuple((torch.cummax if op.kind == "max" else torch.cummin)(t(op.x), op.dim)),
    "sort": lambda op, t: tuple(torch.sort(t(op.x), dim=op.dim, descending=op.descending, stable=op.stable)),
    "topk": lambda op, t: tuple(torch.topk(t(op.x), op.k, op.dim, op.largest, op.sorted)),
}


def _softmax(op: Any, t: Any) -> Any:
    return aten._safe_softmax.default(t(op.x), op.dim, element(op)) if op.safe else torch.softmax(t(op.x), op.dim, element(op))


def _softmax_backward(function: Callable[..., Any], op: Any, t: Any) -> Any:
    return function(t(op.gradient), t(op.result_value), op.dim, element(op) or t(op.gradient).dtype)


REFERENCES: Final[Mapping[str, Reference]] = MappingProxyType(
    {f"functional.{name}": run for table in (POINTWISE, COMPOSITE, CREATION, VIEW, REDUCTION, GATHER, BLOCKS, WINDOWS) for name, run in table.items()}
)
