"""ATen overloads whose kernels are a formula of a few operations, and gradients of that kind.

In 16-bit floats some of those kernels round once and some after each step, so most of these rules are for f32 and f64 (and integers) alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional import composite as c
from lect.dialects.functional import pointwise as p
from lect.dialects.functional import reduction as r
from lect.dialects.functional.gather import SearchsortedOp
from lect.frontends.tensors.lower.emitter import Emitter, Rule, type_of
from lect.frontends.tensors.lower.rules_blocks import dot
from lect.frontends.tensors.lower.rules_pointwise import binary, power
from lect.frontends.tensors.lower.rules_reductions import vector_norm
from lect.frontends.tensors.lower.rules_views import roll
from lect.ir import Value
from lect.ir.types import f32, f64, i32, i64

aten = torch.ops.aten
AddOp, SubOp, MulOp = p.SUMS["AddOp"], p.SUMS["SubOp"], p.MIXED_BINARY["MulOp"]
COMPARE, REAL = p.COMPARISONS, p.REAL_UNARY
FEW = 64


def is_wide(*values: Value) -> bool:
    """True for f32 and f64, in which nothing is rounded between the steps."""
    return all(type_of(value).element in (f32, f64) for value in values)


def in_degrees(factor: float) -> Rule:
    """deg2rad and rad2deg."""

    def rule(e: Emitter, x: Value) -> Any:
        return e(MulOp, e.to(x, e.result.element), other=factor) if e.result.element.is_float else None

    return rule


def rounded_to_decimals(e: Emitter, x: Value, *, decimals: int) -> Any:
    """round.decimals: scaled, rounded, scaled back, of halves in f32."""
    if type_of(x).element.is_half:
        return e.to(rounded_to_decimals(e, e.to(x, f32), decimals=decimals), type_of(x).element)
    if not is_wide(x):
        return None
    if decimals == 0:
        return e(REAL["RoundOp"], x)
    power = float(10 ** abs(decimals))
    if decimals > 0:
        return e(p.DivOp, e(REAL["RoundOp"], e(MulOp, x, other=power)), other=power)
    return e(MulOp, e(REAL["RoundOp"], e(p.DivOp, x, other=power)), other=power)


def least_common_multiple(e: Emitter, x: Value, y: Value) -> Any:
    """lcm: |x / gcd * y|, and 0 where the divisor is; narrow integers are computed in i32."""
    element = e.promote(x, y)
    if element is None or not element.is_integer:
        return None
    wide = i32 if element.bits < 32 else element
    first, second = e.to(e.to(x, element), wide), e.to(e.to(y, element), wide)
    divisor = e(p.INTEGER_BINARY["GcdOp"], first, second)
    nothing = e(COMPARE["EqOp"], divisor, other=0)
    safe = e(p.WhereOp, nothing, e.scalar(1, wide), divisor)
    product = e(REAL["AbsOp"], e(MulOp, e(p.DivOp, first, safe, mode="trunc"), second))
    return e.to(e(p.WhereOp, nothing, e.scalar(0, wide), product), element)


def times_power_of_two(e: Emitter, x: Value, exponent: Value) -> Any:
    """ldexp: the product with 2.0 ** exponent."""
    scale = power(e, 2.0, exponent)
    return None if scale is None else binary(MulOp, full_precision=True)(e, x, scale)


def multivariate_lgamma(e: Emitter, x: Value, count: int) -> Any:
    """mvlgamma: the sum of lgamma(x - j / 2) over j < count, in f32 of halves, and a constant."""
    element = e.result.element
    if not element.is_float or count > FEW:
        return None
    x, total = e.to(x, element), None
    for j in range(count - 1, -1, -1):
        term = e(p.FLOAT_UNARY["LgammaOp"], e(AddOp, x, other=-j / 2))
        term = e.to(term, f32) if element.is_half else term
        total = term if total is None else e(AddOp, total, term)
    assert total is not None
    return e(AddOp, e.to(total, element), other=e.computed_number(count * (count - 1) * math.log(math.pi) * 0.25, element))


def distance(e: Emitter, x: Value, y: Value, order: Any = 2) -> Any:
    """dist: the norm of the difference."""
    element = e.promote(x, y)
    if element is None or not element.is_float:
        return None
    difference = e(SubOp, e.to(x, element), e.to(y, element))
    return vector_norm(e, difference, order) if type_of(difference).count else None


def cross(e: Emitter, x: Value, y: Value, *, dim: int = -1) -> Any:
    """linalg_cross: products of the two other coordinates."""
    rank = e.result.rank
    kinds = type_of(x).element.kind in ("complex", "bool") or type_of(x).element is not type_of(y).element
    if kinds or not e.result.count:
        return None
    first, second = e.expand(x, e.result.shape), e.expand(y, e.result.shape)
    dims = [dim % rank]

    def turned(value: Value, by: int) -> Value:
        return roll(e, value, [by], dims)  # type: ignore[no-any-return]

    left = e(MulOp, turned(first, -1), turned(second, -2))
    return e(SubOp, left, e(MulOp, turned(first, -2), turned(second, -1)))


def member_of_few(e: Emitter, x: Any, few: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """isin with a few numbers: one comparison for each.  With many, eager sorts."""
    if not isinstance(x, Value) or not isinstance(few, Value) or not type_of(few).count or type_of(few).count > FEW:
        return None
    element = e.promote(x, few)
    if element is None or element.kind == "complex":
        return None
    column = e.reshape(e.to(x, element), (*type_of(x).shape, 1))
    found = e(COMPARE["EqOp"], column, e.reshape(e.to(few, element), (type_of(few).count,)))
    found = e(r.TESTS["AnyOp"], found, dims=(type_of(x).rank,))
    return e(p.BIT_UNARY["BitwiseNotOp"], found) if invert else found


def dropout_backward(e: Emitter, gradient: Value, mask: Value, scale: float) -> Any:
    """native_dropout_backward: where the mask let through, scaled; the scale makes integers floats, behind the product with the mask."""
    element, own = e.result.element, type_of(gradient).element
    if not element.is_float or own.kind == "complex":
        return None
    passed = e.to(mask, own)
    if own.is_float:
        return e(MulOp, gradient, e(MulOp, passed, other=scale))
    product = e(p.BIT_BINARY["BitwiseAndOp"], gradient, passed) if own.kind == "bool" else e(MulOp, gradient, passed)
    return e(MulOp, e.to(product, element), other=e.computed_number(scale, element))


def noisy_relu(e: Emitter, x: Value, noise: Value, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """rrelu_with_noise_functional outside of training: leaky_relu by the middle of the slopes; the noise stays as it is.

    In training it draws numbers, which `functional-seed-random` writes.
    """
    if training or not type_of(x).element.is_float:
        return None
    return e(c.LeakyReluOp, x, negative_slope=(lower + upper) / 2), e.fresh(noise)


def noisy_relu_backward(e: Emitter, gradient: Value, x: Value, noise: Value, lower: Any, upper: Any, training: bool, is_result: bool) -> Any:
    """rrelu_with_noise_backward: the noise is the slope; where all slopes are one, and outside of training, that of leaky_relu."""
    if len({type_of(value).element for value in (gradient, x, noise)}) > 1 or not type_of(x).element.is_float:
        return None
    if training and upper - lower > 1e-6:
        return e(MulOp, noise, gradient)
    return e(c.LeakyReluBackwardOp, gradient, x, negative_slope=(lower + upper) / 2, is_result=is_result)


def squared_error_backward(e: Emitter, gradient: Value, x: Value, target: Value, reduction: int) -> Any:
    """mse_loss_backward."""
    element = type_of(x).element
    same = len({type_of(value).element for value in (gradient, x, target)}) == 1
    if not same or not element.is_float or type_of(x).shape != type_of(target).shape or not type_of(x).count:
        return None
    factor = e.ratio(2.0, type_of(x).count if reduction == 1 else 1, element)
    return e(MulOp, e.times(e(SubOp, x, target), factor), gradient)


def bucketize(e: Emitter, x: Any, boundaries: Value, *, out_int32: bool = False, right: bool = False) -> Any:
    """bucketize.Tensor: searchsorted in one row."""
    if type_of(x).element is not type_of(boundaries).element or type_of(boundaries).rank != 1:
        return None
    return e(SearchsortedOp, boundaries, x, right=right, element=i32 if out_int32 else i64)


TABLE: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        aten.deg2rad.default: in_degrees(math.pi / 180),
        aten.rad2deg.default: in_degrees(180 / math.pi),
        aten.round.decimals: rounded_to_decimals,
        aten.lcm.default: least_common_multiple,
        aten.ldexp.Tensor: times_power_of_two,
        aten.mvlgamma.default: multivariate_lgamma,
        aten.dist.default: distance,
        aten.vdot.default: lambda e, x, y: dot(e, x, y) if type_of(x).element.kind not in ("bool", "complex") else None,
        aten.linalg_cross.default: cross,
        aten.isin.Tensor_Tensor: member_of_few,
        aten.native_dropout_backward.default: dropout_backward,
        aten.rrelu_with_noise_functional.default: noisy_relu,
        aten.rrelu_with_noise_backward.default: noisy_relu_backward,
        aten.mse_loss_backward.default: squared_error_backward,
        aten.bucketize.Tensor: bucketize,
    }
)
