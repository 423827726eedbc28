"""ATen overloads that become one elementwise operation, with the casts that eager makes silently."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import composite as c
from lect.dialects.functional import pointwise as p
from lect.dialects.functional.creation import CopyOp, UndefinedOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, RunTimeScalar, type_of
from lect.ir import ScalarType, Value
from lect.ir import types as scalars

aten = torch.ops.aten
DEFAULT_FLOAT_KINDS = ("signed", "unsigned", "bool")


def floats(e: Emitter, value: Value) -> Value:
    """Integers and bools as the default float type."""
    return e.to(value, e.result.element) if type_of(value).element.kind in DEFAULT_FLOAT_KINDS else value


def float_unary(cls: Any) -> Rule:
    """A function of floats."""
    return lambda e, x: e(cls, floats(e, x))


def plain_unary(cls: Any) -> Rule:
    """A function of any numbers, without options."""
    return lambda e, x: e(cls, x)


def rounding(cls: Any) -> Rule:
    """floor, ceil, ...: integers are integers already."""
    return lambda e, x: e(cls, x) if type_of(x).element.is_float else e(CopyOp, x)


# ---- two operands ----------------------------------------------------------------------------------------------------


def binary(cls: Any, floating: bool = False, full_precision: bool = False) -> Rule:
    """Operands in their common element type; with `full_precision` a second operand without dims keeps its own."""

    def rule(e: Emitter, x: Any, y: Any, **attrs: Any) -> Any:
        element = e.promote(x, y)
        if element is None or element.kind == "complex":
            return None
        if floating and not element.is_float:
            element = e.result.element
        return emit_binary(e, cls, x, y, element, full_precision, attrs)

    return rule


def emit_binary(e: Emitter, cls: Any, x: Any, y: Any, element: ScalarType, full_precision: bool, attrs: dict[str, Any]) -> Any:
    """One binary operation on tensors and numbers that have been given an element type."""
    if isinstance(x, RunTimeScalar):
        return e(cls, e.run_time(x, element), e.to(y, element), **attrs)
    if not isinstance(x, Value):
        return e(cls, e.to(y, element), other=e.number(x, element), reversed=True, **attrs)
    first = e.to(x, element)
    if isinstance(y, RunTimeScalar):
        precise = full_precision and type_of(x).rank and element.is_float
        return e(cls, first, y.value if precise else e.run_time(y, element), **attrs)
    if not isinstance(y, Value):
        return e(cls, first, other=e.computed_number(y, element) if full_precision else e.number(y, element), **attrs)
    keeps = full_precision and type_of(x).rank and not type_of(y).rank and element.is_float
    return e(cls, first, y if keeps else e.to(y, element), **attrs)


def summed(cls: Any) -> Rule:
    """add and sub, whose second operand has a factor."""
    plain = binary(cls)

    def rule(e: Emitter, x: Any, y: Any, alpha: Any = 1) -> Any:
        element = e.promote(x, y)
        if element is None or element.kind == "complex":
            return None
        if isinstance(alpha, RunTimeScalar):
            if not isinstance(y, Value) or not isinstance(x, Value) or element.kind == "bool":
                return None
            return e(cls, e.to(x, element), e.to(y, element), e.run_time(alpha, element))
        if isinstance(y, Value):
            return plain(e, x, y, alpha=e.computed_number(alpha, element) if element.kind != "bool" else int(alpha))
        return plain(e, x, y) if alpha == 1 else None

    return rule


def reversed_difference(e: Emitter, x: Value, y: Any, alpha: Any = 1) -> Any:
    """rsub: y - alpha * x."""
    if isinstance(y, Value):
        return summed(p.SUMS["SubOp"])(e, y, x, alpha)
    return binary(p.SUMS["SubOp"])(e, y, x) if not isinstance(alpha, RunTimeScalar) and alpha == 1 else None


def division(e: Emitter, x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    """div in all its modes."""
    return binary(p.DivOp, floating=rounding_mode is None, full_precision=True)(e, x, y, mode=rounding_mode or "true")


def floor_division(e: Emitter, x: Any, y: Any) -> Any:
    """floor_divide."""
    return division(e, x, y, "floor")


def comparison(cls: Any) -> Rule:
    """eq, lt, ...: in the common element type, where a number is converted first."""

    def rule(e: Emitter, x: Any, y: Any) -> Any:
        element = e.promote(x, y)
        return None if element is None or element.kind == "complex" else emit_binary(e, cls, x, y, element, False, {})

    return rule


def power(e: Emitter, x: Any, exponent: Any) -> Any:
    """pow; integers to a negative number are left to torch."""
    element = e.promote(x, exponent)
    if element is None or element.kind in ("complex", "bool"):
        return None
    if isinstance(x, Value) and not isinstance(exponent, Value | RunTimeScalar) and element.is_float and not element.is_half:
        return e(p.POWER["PowOp"], e.to(x, element), other=e.computed_number(exponent, element))  # eager takes the power of the number as given
    return emit_binary(e, p.POWER["PowOp"], x, exponent, element, False, {})


def where(e: Emitter, condition: Value, x: Value, y: Value) -> Any:
    """where.self."""
    element = e.result.element
    if type_of(condition).element is not scalars.i1:
        return None
    return e(p.WhereOp, condition, e.to(x, element), e.to(y, element))


def clamp(e: Emitter, x: Value, min: Any = None, max: Any = None) -> Any:
    """clamp by numbers or tensors."""
    element = e.result.element
    if element.kind == "complex":
        return None
    if element.kind == "bool":
        return _clamped_flags(e, x, min, max)
    bounds: dict[str, Any] = {}
    for name, operand, bound in (("min", "low", min), ("max", "high", max)):
        if isinstance(bound, Value):
            bounds[operand] = e.to(bound, element)
        elif isinstance(bound, RunTimeScalar):
            bounds[operand] = e.run_time(bound, element)
        elif bound is not None:
            bounds[name] = e.number(bound, element)
    clamped, alone = e(p.ClampOp, e.to(x, element), **bounds), max if min is None else min if max is None else None
    if not element.is_float or not eager_ignores_nan() or not (isinstance(alone, RunTimeScalar) or alone != alone):
        return clamped
    if not isinstance(alone, RunTimeScalar):
        return e(CopyOp, e.to(x, element))
    return e(p.WhereOp, e(p.PREDICATES["IsnanOp"], e.run_time(alone, element)), e.to(x, element), clamped)


def _clamped_flags(e: Emitter, x: Value, low: Any, high: Any) -> Any:
    """clamp of i1 by one tensor of i1; eager refuses two."""
    (bound,) = [value for value in (low, high) if value is not None] if low is None or high is None else (None,)
    if not isinstance(bound, Value) or type_of(bound).element.kind != "bool":
        return None
    return e(p.BIT_BINARY["BitwiseOrOp" if high is None else "BitwiseAndOp"], x, bound)


@cache
def eager_ignores_nan() -> bool:
    """Whether clamp leaves a tensor as it is when its only bound is the number NaN: torch's kernels for some processors do, and for others give NaN."""
    return not bool(torch.clamp(torch.zeros(64), min=float("nan")).isnan().any())


def clamp_min(e: Emitter, x: Value, min: Any) -> Any:
    """clamp_min."""
    return clamp(e, x, min)


def clamp_max(e: Emitter, x: Value, max: Any) -> Any:
    """clamp_max."""
    return clamp(e, x, None, max)


def polynomial(kind: str) -> Rule:
    """An orthogonal polynomial."""
    rule = binary(p.OrthopolyOp, floating=True)
    return lambda e, x, n: rule(e, x, n, kind=kind)


def bessel(kind: str) -> Rule:
    """A Bessel function."""
    return lambda e, x: e(p.BesselOp, floats(e, x), kind=kind)


# ---- composites ------------------------------------------------------------------------------------------------------


def only_floats(rule: Rule) -> Rule:
    """The rule, for floats alone."""
    return lambda e, x, *rest, **options: rule(e, x, *rest, **options) if type_of(x).element.is_float else None


def float_composite(cls: Any, *names: str) -> Rule:
    """One tensor and numbers, called `names` in the operation."""

    def rule(e: Emitter, x: Value, *numbers: Any, **options: Any) -> Any:
        return e(cls, x, **dict(zip(names, numbers)), **options) if type_of(x).element.is_float else None

    return rule


def gradient_composite(cls: Any, *names: str) -> Rule:
    """A gradient, a saved tensor and numbers."""

    def rule(e: Emitter, gradient: Value, x: Value, *numbers: Any, **options: Any) -> Any:
        same = type_of(gradient).element is type_of(x).element and type_of(x).element.is_float
        return e(cls, gradient, x, **dict(zip(names, numbers)), **options) if same else None

    return rule


def masked_fill(e: Emitter, x: Value, mask: Value, value: Any) -> Any:
    """masked_fill by a number or a 0-d tensor."""
    element = type_of(x).element
    if type_of(mask).element is not scalars.i1 or element.kind == "complex":
        return None
    if isinstance(value, Value):
        return e(c.MaskedFillOp, x, mask, e.to(value, element))
    if isinstance(value, RunTimeScalar):
        return e(c.MaskedFillOp, x, mask, e.run_time(value, element))
    return e(c.MaskedFillOp, x, mask, other=e.number(value, element))


def scaled(cls: Any) -> Rule:
    """addcmul and addcdiv."""

    def rule(e: Emitter, x: Value, first: Value, second: Value, *, value: Any = 1) -> Any:
        element = e.result.element
        if element.kind in ("complex", "bool") or (cls is c.SCALED["AddcdivOp"] and not element.is_float):
            return None
        operands = [e.to(operand, element) for operand in (x, first, second)]
        if isinstance(value, RunTimeScalar):
            return e(cls, *operands, e.run_time(value, element))
        return e(cls, *operands, value=e.computed_number(value, element))

    return rule


def lerp(e: Emitter, x: Value, end: Value, weight: Any) -> Any:
    """lerp by a number or a tensor."""
    if not type_of(x).element.is_float:
        return None
    if isinstance(weight, RunTimeScalar):
        weight = e.run_time(weight, type_of(x).element)
    return e(c.LerpOp, x, end, weight) if isinstance(weight, Value) else e(c.LerpOp, x, end, amount=weight)


def xlogy(logarithm: str) -> Rule:
    """xlogy and xlog1py."""
    return lambda e, x, y: binary(c.XlogyOp, floating=True)(e, x, y, logarithm=logarithm)


def common_floats(cls: Any, **attrs: Any) -> Rule:
    """Two tensors in their common float type."""

    def rule(e: Emitter, x: Value, y: Value) -> Any:
        element = e.promote(x, y)
        return e(cls, e.to(x, element), e.to(y, element), **attrs) if element is not None and element.is_float else None

    return rule


def nan_to_num(e: Emitter, x: Value, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """nan_to_num."""
    return e(c.NanToNumOp, x, nan=nan, posinf=posinf, neginf=neginf) if type_of(x).element.is_float else e(CopyOp, x)


def log_sigmoid(e: Emitter, x: Value) -> Any:
    """log_sigmoid_forward; the second result is scratch space of the CPU's kernel that only its backward reads."""
    if not type_of(x).element.is_float:
        return None
    scratch = e.results[1]
    assert scratch is not None
    value = e(c.UNARY["LogSigmoidOp"], x)
    return value, e(UndefinedOp, shape=scratch.shape, element=scratch.element, device=scratch.device)


def log_sigmoid_backward(e: Emitter, gradient: Value, x: Value, buffer: Value) -> Any:
    """log_sigmoid_backward."""
    return e(c.FROM_X["LogSigmoidBackwardOp"], gradient, x)


def hardshrink(e: Emitter, x: Value, lambd: Any = 0.5) -> Any:
    """hardshrink, whose bound eager rounds."""
    return e(c.SHRINKS["HardshrinkOp"], x, lambd=e.number(lambd, type_of(x).element)) if type_of(x).element.is_float else None


def shrink_backward(kind: str) -> Rule:
    """hardshrink_backward and softshrink_backward."""
    return lambda e, gradient, x, lambd: e(c.ShrinkBackwardOp, gradient, x, lambd=lambd, kind=kind) if type_of(x).element.is_float else None


def glu(e: Emitter, x: Value, dim: int = -1) -> Any:
    """glu."""
    return e(c.GluOp, x, dim=dim % type_of(x).rank) if type_of(x).element.is_float else None


def glu_backward(e: Emitter, gradient: Value, x: Value, dim: int) -> Any:
    """glu_backward."""
    return e(c.GluBackwardOp, gradient, x, dim=dim % type_of(x).rank)


def hardtanh(e: Emitter, x: Value, min_val: Any = -1, max_val: Any = 1) -> Any:
    """hardtanh; of integers a clamp, whose bounds are cut off to integers; unsigned ones have no negative bound."""
    element = type_of(x).element
    if element.kind in ("signed", "unsigned"):
        if not all(type(bound) in (int, float) and math.isfinite(bound) for bound in (min_val, max_val)):
            return None
        low, high = int(min_val), int(max_val)
        if element.kind == "unsigned" and min(low, high) < 0:
            return None
        return e(p.ClampOp, x, min=e.number(low, element), max=e.number(high, element))
    return e(c.HardtanhOp, x, min=e.number(min_val, element), max=e.number(max_val, element)) if element.is_float else None


def threshold(e: Emitter, x: Value, threshold: Any, value: Any) -> Any:
    """threshold; of integers a selection."""
    element = type_of(x).element
    if element.kind in ("signed", "unsigned") and type(threshold) is int and type(value) is int:
        below = e(p.COMPARISONS["LeOp"], x, other=e.number(threshold, element))
        return e(p.WhereOp, below, e.scalar(value, element), x)
    return e(c.ThresholdOp, x, threshold=e.number(threshold, element), value=e.number(value, element)) if element.is_float else None


def _defaults(functions: Mapping[str, Any], make: Any) -> dict[Any, Rule]:
    """`aten.<name>.default` for operations of the same name."""
    return {getattr(aten, name).default: make(cls) for name, cls in functions.items()}


def _ops(module: Any, names: str) -> dict[str, Any]:
    return {name: getattr(module, "".join(part.capitalize() for part in name.split("_")) + "Op") for name in names.split()}


def _overloads(names: str, overloads: str, make: Any, module: Any = p) -> dict[Any, Rule]:
    return {getattr(getattr(aten, name), overload): make(cls) for name, cls in _ops(module, names).items() for overload in overloads.split()}


def _scalar_overloads(packet: Any) -> list[Any]:
    """Two tensors, or a number in the place of one."""
    return [packet.default, packet.other_scalar, packet.self_scalar]


def _polynomial_overloads(kind: str) -> list[Any]:
    """The overloads of `special_<family>_polynomial_<letter>`."""
    family, _, letter = kind.rpartition("_")
    packet = getattr(aten, f"special_{family}_polynomial_{letter}")
    return [packet.default, packet.x_scalar, packet.n_scalar]


_FLOAT_UNARY = (
    "reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv "
    "lgamma digamma sigmoid"
)
_SPECIAL: Final = {
    "special_erfcx": p.FLOAT_UNARY["ErfcxOp"],
    "special_ndtri": p.FLOAT_UNARY["NdtriOp"],
    "special_log_ndtr": p.FLOAT_UNARY["LogNdtrOp"],
}
_BESSEL: Final = {
    "i0": "i0", "special_i0e": "i0e", "special_i1": "i1", "special_i1e": "i1e", "special_bessel_j0": "j0", "special_bessel_j1": "j1",
    "special_bessel_y0": "y0", "special_bessel_y1": "y1", "special_modified_bessel_i0": "modified_i0", "special_modified_bessel_i1": "modified_i1",
    "special_modified_bessel_k0": "modified_k0", "special_modified_bessel_k1": "modified_k1", "special_scaled_modified_bessel_k0": "scaled_modified_k0",
    "special_scaled_modified_bessel_k1": "scaled_modified_k1", "special_spherical_bessel_j0": "spherical_j0", "special_airy_ai": "airy_ai",
}  # fmt: skip

PRIMITIVES: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        **_defaults(_ops(p, _FLOAT_UNARY), float_unary),
        **_defaults(_SPECIAL, float_unary),
        **_defaults(_ops(p, "abs neg sign bitwise_not logical_not isnan isinf signbit"), plain_unary),
        **_defaults(_ops(p, "floor ceil round trunc"), rounding),
        **{getattr(aten, name).default: bessel(kind) for name, kind in _BESSEL.items()},
        **{overload: polynomial(kind) for kind in sorted(p.POLYNOMIALS) for overload in _polynomial_overloads(kind)},
        **_overloads("add sub", "Tensor Scalar", summed),
        **_overloads("mul", "Tensor Scalar", lambda cls: binary(cls, full_precision=True)),
        **_overloads("remainder fmod", "Tensor Scalar", binary),
        aten.remainder.Scalar_Tensor: binary(p.MODULO["RemainderOp"]),
        **_overloads("atan2 hypot nextafter igamma igammac", "default", lambda cls: binary(cls, floating=True)),
        aten.copysign.Tensor: binary(p.FLOAT_BINARY["CopysignOp"], floating=True),
        aten.copysign.Scalar: binary(p.FLOAT_BINARY["CopysignOp"], floating=True),
        **{overload: binary(p.FLOAT_BINARY["ZetaOp"], floating=True) for overload in _scalar_overloads(aten.special_zeta)},
        **_overloads("maximum minimum fmax fmin gcd", "default", binary),
        **_overloads("bitwise_and bitwise_or bitwise_xor", "Tensor Scalar Scalar_Tensor", binary),
        aten.bitwise_left_shift.Tensor: binary(p.INTEGER_BINARY["ShiftLeftOp"]),
        aten.bitwise_left_shift.Tensor_Scalar: binary(p.INTEGER_BINARY["ShiftLeftOp"]),
        aten.bitwise_right_shift.Tensor: binary(p.INTEGER_BINARY["ShiftRightOp"]),
        aten.bitwise_right_shift.Tensor_Scalar: binary(p.INTEGER_BINARY["ShiftRightOp"]),
        **_overloads("eq ne lt le gt ge", "Tensor Scalar", comparison),
        **_overloads("logical_and logical_or logical_xor", "default", comparison),
        aten.frexp.Tensor: plain_unary(p.FrexpOp),
        aten.rsub.Scalar: reversed_difference,
        aten.rsub.Tensor: reversed_difference,
        aten.div.Tensor: division,
        aten.div.Scalar: division,
        aten.div.Tensor_mode: division,
        aten.div.Scalar_mode: division,
        aten.floor_divide.default: floor_division,
        aten.floor_divide.Scalar: floor_division,
        aten.pow.Tensor_Scalar: power,
        aten.pow.Tensor_Tensor: power,
        aten.pow.Scalar: power,
        aten.where.self: where,
        aten.clamp.default: clamp,
        aten.clamp.Tensor: clamp,
        aten.clamp_min.default: clamp_min,
        aten.clamp_min.Tensor: clamp_min,
        aten.clamp_max.default: clamp_max,
        aten.clamp_max.Tensor: clamp_max,
    }
)
COMPOSITES: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        **_overloads("silu mish hardswish hardsigmoid", "default", float_composite, c),
        **_overloads("frac", "default", lambda cls: only_floats(plain_unary(cls)), c),
        **_overloads("sinc", "default", float_unary, c),
        aten.special_entr.default: float_unary(c.UNARY["EntrOp"]),
        aten.relu.default: plain_unary(c.ReluOp),
        aten.sgn.default: plain_unary(c.SgnOp),
        aten.log_sigmoid_forward.default: log_sigmoid,
        aten.log_sigmoid_backward.default: log_sigmoid_backward,
        aten.leaky_relu.default: lambda e, x, slope=0.01: e(c.LeakyReluOp, x, negative_slope=slope) if type_of(x).element.is_float else None,
        aten.elu.default: float_composite(c.EluOp, "alpha", "scale", "input_scale"),
        aten.gelu.default: float_composite(c.GeluOp),
        aten.hardtanh.default: hardtanh,
        aten.softplus.default: float_composite(c.SoftplusOp, "beta", "threshold"),
        aten.threshold.default: threshold,
        aten.hardshrink.default: hardshrink,
        aten.softshrink.default: float_composite(c.SHRINKS["SoftshrinkOp"], "lambd"),
        aten.logit.default: lambda e, x, eps=None: e(c.LogitOp, floats(e, x), eps=eps),
        aten.glu.default: glu,
        aten.lerp.Scalar: lerp,
        aten.lerp.Tensor: lerp,
        aten.addcmul.default: scaled(c.SCALED["AddcmulOp"]),
        aten.addcdiv.default: scaled(c.SCALED["AddcdivOp"]),
        aten.xlogy.Tensor: xlogy("log"),
        aten.xlogy.Scalar_Other: xlogy("log"),
        aten.xlogy.Scalar_Self: xlogy("log"),
        **{overload: xlogy("log1p") for overload in _scalar_overloads(aten.special_xlog1py)},
        aten.logaddexp.default: common_floats(c.LogaddexpOp),
        aten.logaddexp2.default: common_floats(c.LogaddexpOp, base="2"),
        aten.nan_to_num.default: nan_to_num,
        aten.heaviside.default: lambda e, x, y: e(c.HeavisideOp, x, y) if type_of(x).element is type_of(y).element else None,
        aten.polygamma.default: lambda e, n, x: e(c.PolygammaOp, floats(e, x), n=n),
        aten.masked_fill.Scalar: masked_fill,
        aten.masked_fill.Tensor: masked_fill,
        aten.silu_backward.default: gradient_composite(c.FROM_X["SiluBackwardOp"]),
        aten.mish_backward.default: gradient_composite(c.FROM_X["MishBackwardOp"]),
        aten.hardswish_backward.default: gradient_composite(c.FROM_X["HardswishBackwardOp"]),
        aten.hardsigmoid_backward.default: gradient_composite(c.FROM_X["HardsigmoidBackwardOp"]),
        aten.sigmoid_backward.default: gradient_composite(c.FROM_OUTPUT["SigmoidBackwardOp"]),
        aten.tanh_backward.default: gradient_composite(c.FROM_OUTPUT["TanhBackwardOp"]),
        aten.threshold_backward.default: gradient_composite(c.ThresholdBackwardOp, "threshold"),
        aten.gelu_backward.default: gradient_composite(c.GeluBackwardOp),
        aten.hardtanh_backward.default: gradient_composite(c.HardtanhBackwardOp, "min", "max"),
        aten.leaky_relu_backward.default: gradient_composite(c.LeakyReluBackwardOp, "negative_slope", "is_result"),
        aten.softplus_backward.default: gradient_composite(c.SoftplusBackwardOp, "beta", "threshold"),
        aten.elu_backward.default: lambda e, g, alpha, scale, input_scale, is_result, x: e(
            c.EluBackwardOp, g, x, alpha=alpha, scale=scale, input_scale=input_scale, is_result=is_result
        ),
        aten.glu_backward.default: glu_backward,
        aten.hardshrink_backward.default: shrink_backward("hard"),
        aten.softshrink_backward.default: shrink_backward("soft"),
    }
)
