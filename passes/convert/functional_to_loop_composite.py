"""Elementwise composites: the formulas of eager's kernels, in one region of the precision in which eager computes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import composite
from lect.dialects.functional.shapes import is_contiguous, is_several
from lect.ir import Operation
from lect.ir.types import f16, f32, i1
from lect.passes.convert.functional_to_loop_base import Body, Num
from lect.passes.convert.functional_to_loop_pointwise import Formula, rounded, sign_of, truth

LARGEST: Mapping[str, float] = MappingProxyType({"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308})


def logistic(x: Num) -> Num:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + (-x).op("exp"))


def within(x: Num, low: float, high: float) -> Num:
    """x clamped; NaN stays, and of equal operands the second is taken, so that a zero within the bounds keeps its sign."""
    return x.const(high).op("minimum", x.const(low).op("maximum", x))


# ---- activations -----------------------------------------------------------------------------------------------------


def _silu(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return x / (1 + (-x).op("exp"))


def _mish(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return x * x.op("exp").op("log1p").op("tanh")


def _hardswish(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return x * within(x + 3, 0, 6) / 6


def _hardsigmoid(body: Body, op: Any) -> Num:
    return within(body.read(op.x) + 3, 0, 6) / 6


def _log_sigmoid(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return x.op("minimum", 0) - (-x.op("abs")).op("exp").op("log1p")


def _relu(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    if op.x.type.device != "cpu":
        return x.op("maximum", 0)  # of -0 a GPU makes 0
    return x if x.type.kind == "unsigned" else (x < 0).choose(0, x)


def _leaky_relu(body: Body, op: Any) -> Num | None:
    x = body.read(op.x)
    if op.weight is None:
        return (x > 0).choose(x, x * op.negative_slope)
    return (x > 0).choose(x, body.read(op.weight) * x)


def _elu(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    below = (x * op.input_scale).op("expm1") * (x.const(op.alpha) * op.scale)
    return (x >= 0).choose(x * op.scale, below)


def _gelu(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    if op.approximate == "tanh":
        cube = x * x * x
        inner = (x + cube * 0.044715) * (math.sqrt(2) * (2 / math.sqrt(math.pi)) * 0.5)
        return x * 0.5 * (1 + inner.op("tanh"))
    result = x * 0.5 * (1 + (x * math.sqrt(0.5)).op("erf"))
    return result + 0.0 if _without_negative_zeros(op.x.type) else result


def _without_negative_zeros(type: Any) -> bool:
    """True where eager's gelu is that of oneDNN, which gives +0 for what rounds to zero."""
    return type.element is f32 and is_several(type.count) and is_contiguous(type.shape, type.strides) and type.device == "cpu"


def _hardtanh(body: Body, op: Any) -> Num:
    return within(body.read(op.x), op.min, op.max)


def _softplus(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    scaled = x * op.beta
    return (scaled > op.threshold).choose(x, scaled.op("exp").op("log1p") / op.beta)


def _threshold(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return (x <= op.threshold).choose(op.value, x)


def _hardshrink(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    limit = rounded(x.const(op.lambd), op.x.type.element)
    return ((x >= -limit) & (x <= limit)).choose(0, x)


def _softshrink(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return (x > op.lambd).choose(x - op.lambd, (x < -op.lambd).choose(x + op.lambd, x * 0))


def _glu(body: Body, op: Any) -> Num:
    half = op.x.type.shape[op.dim] // 2
    second = list(body.indices)
    second[op.dim] = second[op.dim] + half
    return body.read(op.x) * logistic(body.read(op.x, tuple(second)))


# ---- others ----------------------------------------------------------------------------------------------------------


def _entr(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    value = (x > 0).choose(-x * rounded(x.op("log"), op.x.type.element), x.equals(0).choose(0, x.const(-math.inf)))
    return x.op("isnan").choose(x, value)


def _frac(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return x - x.op("trunc")


def _sinc(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    angle = x * math.pi
    return x.equals(0).choose(1, angle.op("sin") / angle)


def _sgn(body: Body, op: Any) -> Num:
    return sign_of(body.read(op.x))


def _lerp(body: Body, op: Any) -> Num:
    x, end = body.read(op.x), body.read(op.end)
    weight = body.read(op.weight) if op.weight is not None else body.const(op.amount, x.type)
    difference = end - x
    return (weight.op("abs") < 0.5).choose(x + weight * difference, end - difference * (1 - weight))


def _factor(body: Body, op: Any, x: Num) -> Num:
    return x.const(op.value) if op.factor is None else body.read(op.factor)


def _addcmul(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return x + _factor(body, op, x) * body.read(op.first) * body.read(op.second)


def _addcdiv(body: Body, op: Any) -> Num | None:
    x = body.read(op.x)
    return x + _factor(body, op, x) * body.read(op.first) / body.read(op.second) if x.type.is_float else None


def _xlogy(body: Body, op: Any) -> Num | None:
    x = body.read(op.x)
    y = body.read(op.y) if op.y is not None else x.const(op.other)
    x, y = (y, x) if op.reversed else (x, y)
    logarithm = rounded(y.op(op.logarithm), op.x.type.element)  # halves are rounded in between
    return y.op("isnan").choose(y, x.equals(0).choose(0, x * logarithm))


def _logaddexp(body: Body, op: Any) -> Num:
    x, y = body.read(op.x), body.read(op.y)
    larger = x.op("maximum", y)
    gap = -(x - y).op("abs")
    exp, log = ("exp", "log1p") if op.base == "e" else ("exp2", "log2")
    tail = gap.op(exp).op(log) if op.base == "e" else (1 + gap.op(exp)).op(log)
    return (x.op("isinf") & x.equals(y)).choose(x, larger + tail)


def _nan_to_num(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    if not x.type.is_float:
        return x
    largest = LARGEST[op.x.type.element.spelling]
    nan = 0.0 if op.nan is None else op.nan
    above = largest if op.posinf is None else op.posinf
    below = -largest if op.neginf is None else op.neginf
    finite = x.equals(math.inf).choose(above, x.equals(-math.inf).choose(below, x))
    return x.op("isnan").choose(nan, finite)


def _heaviside(body: Body, op: Any) -> Num:
    x, y = body.read(op.x), body.read(op.y)
    step = truth(x) if x.type is i1 else (x > 0).cast(x.type)
    return (~truth(x)).choose(y, step)


def _masked_fill(body: Body, op: Any) -> Num:
    x = body.read(op.x, raw=True)
    value = body.read(op.value, raw=True) if op.value is not None else body.const(op.other, x.type)
    return body.read(op.mask).choose(value, x)


# ---- gradients -------------------------------------------------------------------------------------------------------


def _sigmoid_backward(body: Body, op: Any) -> Num:
    y, gradient = body.read(op.result_value), body.read(op.gradient)
    if op.output.type.element is f16:
        return rounded(gradient * rounded(1 - y, f16), f16) * y
    return gradient * (1 - y) * y


def _tanh_backward(body: Body, op: Any) -> Num:
    y = body.read(op.result_value)
    return body.read(op.gradient) * (1 - y * y)


def _threshold_backward(body: Body, op: Any) -> Num:
    gradient = body.read(op.gradient)
    return (body.read(op.x) <= op.threshold).choose(0, gradient)


def _log_sigmoid_backward(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    small = rounded((-x.op("abs")).op("exp"), op.x.type.element)
    below = x < 0
    return (below.choose(1, x.const(0)) - below.choose(1, x.const(-1)) * (small / (1 + small))) * body.read(op.gradient)


def _silu_backward(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    sigmoid = logistic(x)
    return body.read(op.gradient) * sigmoid * (1 + x * (1 - sigmoid))


def _gelu_backward(body: Body, op: Any) -> Num:
    x, gradient = body.read(op.x), body.read(op.gradient)
    if op.approximate == "tanh":
        scale = math.sqrt(2) * (2 / math.sqrt(math.pi)) * 0.5
        square = x * x
        inner = ((x + square * x * 0.044715) * scale).op("tanh")
        slope = (1 + square * (3 * 0.044715)) * scale
        left = (1 + inner) * 0.5
        return gradient * (left + x * 0.5 * (1 - inner * inner) * slope)
    density = (x * x * -0.5).op("exp") * (2 / math.sqrt(math.pi) * math.sqrt(0.5) * 0.5)
    return gradient * ((1 + (x * math.sqrt(0.5)).op("erf")) * 0.5 + x * density)


def _mish_backward(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    tanh = x.op("exp").op("log1p").op("tanh")
    return body.read(op.gradient) * (tanh + x * logistic(x) * (1 - tanh * tanh))


def _hardswish_backward(body: Body, op: Any) -> Num:
    x, gradient = body.read(op.x), body.read(op.gradient)
    return (x <= -3).choose(0, (x < 3).choose(gradient * (x / 3 + 0.5), gradient))


def _hardsigmoid_backward(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return ((x > -3) & (x < 3)).choose(body.read(op.gradient) * (1 / 6), 0)


def _hardtanh_backward(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    return ((x > op.min) & (x < op.max)).choose(body.read(op.gradient), 0)


def _elu_backward(body: Body, op: Any) -> Num:
    x, gradient = body.read(op.x), body.read(op.gradient)
    slope = x.const(op.alpha) * op.scale
    below = gradient * op.input_scale
    below = below * (x + slope) if op.is_result else below * slope * (x * op.input_scale).op("exp")
    return (x > 0).choose(gradient * op.scale, below)


def _leaky_relu_backward(body: Body, op: Any) -> Num:
    gradient = body.read(op.gradient)
    return (body.read(op.x) > 0).choose(gradient, gradient * op.negative_slope)


def _softplus_backward(body: Body, op: Any) -> Num:
    gradient = body.read(op.gradient)
    scaled = body.read(op.x) * op.beta
    power = scaled.op("exp")
    return (scaled > op.threshold).choose(gradient, gradient * power / (power + 1))


def _shrink_backward(body: Body, op: Any) -> Num:
    x = body.read(op.x)
    limit = rounded(x.const(op.lambd), op.x.type.element)
    return ((x >= -limit) & (x <= limit)).choose(0, body.read(op.gradient))


def _glu_backward(body: Body, op: Any) -> Num:
    """The sigmoid of the second half is rounded, as eager keeps it in the result for a while."""
    half = op.x.type.shape[op.dim] // 2
    along = body.indices[op.dim]
    first = body.index(along) < half

    def at(value: Any, ahead: int, behind: int) -> Num:
        """An element as far from this one as it is in the first half, and in the second."""
        points = [(*body.indices[: op.dim], along + step, *body.indices[op.dim + 1 :]) for step in (ahead, behind)]
        return first.choose(body.read(value, points[0], masks=[first]), body.read(value, points[1], masks=[~first]))

    gradient = at(op.gradient, 0, -half)
    gate = rounded(logistic(at(op.x, half, 0)), op.x.type.element)
    return first.choose(gate * gradient, (1 - gate) * gate * at(op.x, 0, -half) * gradient)


def _logit(body: Body, op: Any) -> Num:
    """Halves are rounded at each step."""
    element = op.x.type.element
    x = body.read(op.x)
    if op.eps is not None:
        x = x.op("maximum", rounded(x.const(op.eps), element)).op("minimum", rounded(x.const(1 - op.eps), element))
    return rounded(x / rounded(1 - x, element), element).op("log")


FORMULAS: Mapping[type[Operation], Formula] = MappingProxyType(
    {
        composite.SiluOp: _silu,
        composite.MishOp: _mish,
        composite.HardswishOp: _hardswish,
        composite.HardsigmoidOp: _hardsigmoid,
        composite.LogSigmoidOp: _log_sigmoid,
        composite.EntrOp: _entr,
        composite.FracOp: _frac,
        composite.SincOp: _sinc,
        composite.ReluOp: _relu,
        composite.SgnOp: _sgn,
        composite.LeakyReluOp: _leaky_relu,
        composite.EluOp: _elu,
        composite.GeluOp: _gelu,
        composite.HardtanhOp: _hardtanh,
        composite.SoftplusOp: _softplus,
        composite.ThresholdOp: _threshold,
        composite.HardshrinkOp: _hardshrink,
        composite.SoftshrinkOp: _softshrink,
        composite.GluOp: _glu,
        composite.LerpOp: _lerp,
        composite.AddcmulOp: _addcmul,
        composite.AddcdivOp: _addcdiv,
        composite.XlogyOp: _xlogy,
        composite.LogaddexpOp: _logaddexp,
        composite.NanToNumOp: _nan_to_num,
        composite.HeavisideOp: _heaviside,
        composite.MaskedFillOp: _masked_fill,
        composite.SigmoidBackwardOp: _sigmoid_backward,
        composite.TanhBackwardOp: _tanh_backward,
        composite.ThresholdBackwardOp: _threshold_backward,
        composite.SiluBackwardOp: _silu_backward,
        composite.LogSigmoidBackwardOp: _log_sigmoid_backward,
        composite.GeluBackwardOp: _gelu_backward,
        composite.MishBackwardOp: _mish_backward,
        composite.HardswishBackwardOp: _hardswish_backward,
        composite.HardsigmoidBackwardOp: _hardsigmoid_backward,
        composite.HardtanhBackwardOp: _hardtanh_backward,
        composite.EluBackwardOp: _elu_backward,
        composite.LeakyReluBackwardOp: _leaky_relu_backward,
        composite.SoftplusBackwardOp: _softplus_backward,
        composite.ShrinkBackwardOp: _shrink_backward,
        composite.GluBackwardOp: _glu_backward,
        composite.LogitOp: _logit,
    }
)
