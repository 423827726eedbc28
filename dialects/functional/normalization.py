"""Normalisations and losses.

Statistics are computed in f32 for halves and rounded as eager rounds them, which on a GPU it does not do for a layer or batch norm.  Parameters may be
of another float type than the operand where eager allows it; the statistics then have the parameters' type.
"""

from typing import Any

from lect.dialects.functional.families import FLOAT, FunctionalOp, Number, Types, common_element, dims_of, require_kind, tensor_types
from lect.dialects.functional.shapes import broadcast, pointwise_strides
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, Operation, OptionalOperand, Result, ScalarType, op, require
from lect.ir.types import f32


def statistics_element(x: TensorType, *parameters: Any) -> ScalarType:
    """Element type of a mean: the operand's, or f32 when halves meet f32 parameters."""
    mixed = any(parameter is not None and parameter.type.element is f32 for parameter in parameters)
    return f32 if mixed and x.element.is_half else x.element


def kept_element(x: TensorType, element: ScalarType) -> ScalarType:
    """Element type of the statistics that a forward keeps: on a GPU those of halves are f32."""
    return f32 if x.device.startswith("cuda") and element.is_half else element


def kept_rank(op: Operation, x: TensorType, normalized: tuple[int, ...]) -> int:
    """Number of dims in front of the normalised ones.  Raises `VerifyError`."""
    kept = x.rank - len(normalized)
    require(kept >= 0 and x.shape[kept:] == tuple(normalized), op, "'{}' normalises {}, which does not end {}", op.name, list(normalized), list(x.shape))
    return kept


@op("functional.layer_norm")
class LayerNormOp(FunctionalOp):
    """(x - mean) * rstd * weight + bias over the trailing dims `normalized`, with the mean and rstd = 1 / sqrt(var + eps)."""

    x: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    bias: OptionalOperand[TensorType]
    normalized: Attr[tuple]
    eps: Attr[Number]
    output: Result[TensorType]
    mean: Result[TensorType]
    rstd: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        require_kind(self, x, FLOAT)
        kept = kept_rank(self, x, self.normalized)
        for parameter in tensor_types((self.weight, self.bias)):
            require(parameter.shape == self.normalized, self, "parameters of '{}' must have the shape {}", self.name, list(self.normalized))
        element = kept_element(x, statistics_element(x, self.weight, self.bias))
        statistics = x.like(x.shape[:kept] + (1,) * len(self.normalized), element)
        return x.like(x.shape), statistics, statistics


@op("functional.layer_norm_backward")
class LayerNormBackwardOp(FunctionalOp):
    """Gradients of the operand, the weight and the bias; the last two have the shape `normalized`."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    mean: Operand[TensorType]
    rstd: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    normalized: Attr[tuple]
    x_gradient: Result[TensorType]
    weight_gradient: Result[TensorType]
    bias_gradient: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        common_element(self, [self.gradient.type, x])
        kept_rank(self, x, self.normalized)
        parameter = x.like(self.normalized, self.weight.type.element if self.weight is not None else None)
        return x.like(x.shape), parameter, parameter


@op("functional.group_norm")
class GroupNormOp(FunctionalOp):
    """As layer_norm over each of `groups` groups of channels (dim 1) with all spatial dims; statistics have the shape (N, groups)."""

    x: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    bias: OptionalOperand[TensorType]
    groups: Attr[int]
    eps: Attr[Number]
    output: Result[TensorType]
    mean: Result[TensorType]
    rstd: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        require_kind(self, x, FLOAT)
        good = x.rank >= 2 and self.groups > 0 and x.shape[1] % self.groups == 0
        require(good, self, "'{}' cannot divide the channels of {} into {} groups", self.name, x, self.groups)
        statistics = x.like((x.shape[0], self.groups), statistics_element(x, self.weight, self.bias))
        return x.like(x.shape), statistics, statistics


@op("functional.group_norm_backward")
class GroupNormBackwardOp(FunctionalOp):
    """Gradients of the operand, the weight and the bias."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    mean: Operand[TensorType]
    rstd: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    groups: Attr[int]
    x_gradient: Result[TensorType]
    weight_gradient: Result[TensorType]
    bias_gradient: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        common_element(self, [self.gradient.type, x])
        require(x.rank >= 2, self, "'{}' needs a channel dim, got {}", self.name, x)
        parameter = x.like((x.shape[1],), self.weight.type.element if self.weight is not None else None)
        return x.like(x.shape), parameter, parameter


@op("functional.batch_norm")
class BatchNormOp(FunctionalOp):
    """As layer_norm over all dims but the channels (dim 1).

    In training the statistics are the batch's, they are results two and three (the second as 1 / sqrt(var + eps)), and results four and five are
    the running ones moved towards them by `momentum`.  Otherwise the running ones are used, results two and three are empty and the others equal
    the operands.
    """

    x: Operand[TensorType]
    running_mean: Operand[TensorType]
    running_var: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    bias: OptionalOperand[TensorType]
    training: Attr[bool]
    momentum: Attr[Number]
    eps: Attr[Number]
    output: Result[TensorType]
    mean: Result[TensorType]
    rstd: Result[TensorType]
    new_running_mean: Result[TensorType]
    new_running_var: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        require_kind(self, x, FLOAT)
        require(x.rank >= 2, self, "'{}' needs a channel dim, got {}", self.name, x)
        running = self.running_mean.type
        saved = running.like((x.shape[1],), kept_element(x, running.element)) if self.training else running.like((0,))
        return x.like(x.shape), saved, saved, running, self.running_var.type


@op("functional.batch_norm_backward")
class BatchNormBackwardOp(FunctionalOp):
    """Gradients of the operand, the weight and the bias."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    mean: Operand[TensorType]
    rstd: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    training: Attr[bool]
    eps: Attr[Number]
    x_gradient: Result[TensorType]
    weight_gradient: Result[TensorType]
    bias_gradient: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        common_element(self, [self.gradient.type, x])
        require(x.rank >= 2, self, "'{}' needs a channel dim, got {}", self.name, x)
        parameter = x.like((x.shape[1],), self.weight.type.element if self.weight is not None else None)
        return x.like(x.shape), parameter, parameter


@op("functional.weight_norm")
class WeightNormOp(FunctionalOp):
    """v * (g / norm(v)) with the 2-norm over all dims but `dim`, and that norm."""

    v: Operand[TensorType]
    g: Operand[TensorType]
    dim: Attr[int]
    output: Result[TensorType]
    norm: Result[TensorType]

    def type_rule(self) -> Types:
        common_element(self, [self.v.type, self.g.type])
        dims_of(self, self.dim, self.v.type.rank, "dim")
        return self.v.type.like(self.v.type.shape), self.g.type.like(self.g.type.shape, f32 if self.g.type.element.is_half else None)


@op("functional.weight_norm_backward")
class WeightNormBackwardOp(FunctionalOp):
    """Gradients of v and g."""

    gradient: Operand[TensorType]
    v: Operand[TensorType]
    g: Operand[TensorType]
    norm: Operand[TensorType]
    dim: Attr[int]
    v_gradient: Result[TensorType]
    g_gradient: Result[TensorType]

    def type_rule(self) -> Types:
        dims_of(self, self.dim, self.v.type.rank, "dim")
        return self.v.type.like(self.v.type.shape), self.g.type.like(self.g.type.shape)


# ---- losses ----------------------------------------------------------------------------------------------------------

REDUCTIONS = frozenset({"none", "mean", "sum"})


class _Loss(FunctionalOp):
    """Base: the elementwise loss of broadcast operands, kept, averaged or summed."""

    __slots__ = ()

    def type_rule(self) -> Types:
        types = tensor_types(self.operands)
        require_kind(self, types[0], FLOAT)
        element = common_element(self, types)
        if self.reduction != "none":  # type: ignore[attr-defined]
            return types[0].like((), element)
        shape = broadcast([type.shape for type in types])
        return types[0].like(shape, element, pointwise_strides([type.layout for type in types[:2]], shape))


@op("functional.mse")
class MseOp(_Loss):
    """(x - target) ** 2."""

    x: Operand[TensorType]
    target: Operand[TensorType]
    reduction: Attr[REDUCTIONS] = "mean"
    output: Result[TensorType]


@op("functional.huber")
class HuberOp(_Loss):
    """Quadratic below delta and linear above; `smooth` divides by delta (smooth_l1)."""

    x: Operand[TensorType]
    target: Operand[TensorType]
    delta: Attr[Number] = 1.0
    smooth: Attr[bool] = False
    reduction: Attr[REDUCTIONS] = "mean"
    output: Result[TensorType]


@op("functional.bce")
class BceOp(_Loss):
    """Binary cross entropy of probabilities; logarithms are not below -100."""

    x: Operand[TensorType]
    target: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    reduction: Attr[REDUCTIONS] = "mean"
    output: Result[TensorType]


@op("functional.bce_with_logits")
class BceWithLogitsOp(_Loss):
    """Binary cross entropy of logits."""

    x: Operand[TensorType]
    target: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    pos_weight: OptionalOperand[TensorType]
    reduction: Attr[REDUCTIONS] = "mean"
    output: Result[TensorType]


@op("functional.soft_margin")
class SoftMarginOp(_Loss):
    """log1p(exp(-target * x))."""

    x: Operand[TensorType]
    target: Operand[TensorType]
    reduction: Attr[REDUCTIONS] = "mean"
    output: Result[TensorType]


@op("functional.nll")
class NllOp(FunctionalOp):
    """-x at the target's class times the weight of that class, 0 where the target is `ignore_index`, and the total weight.

    Classes are dim 1 of a batch; the mean divides by the total weight, which gives NaN when all targets are ignored.
    """

    x: Operand[TensorType]
    target: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    reduction: Attr[REDUCTIONS] = "mean"
    ignore_index: Attr[int] = -100
    output: Result[TensorType]
    total_weight: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        require_kind(self, x, FLOAT)
        require_kind(self, self.target.type, frozenset({"signed", "unsigned"}))
        kept = self.reduction == "none" and x.rank > 1
        return x.like(self.target.type.shape if kept else ()), x.like(())


@op("functional.nll_backward")
class NllBackwardOp(FunctionalOp):
    """Gradient of nll; it has x's shape."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    target: Operand[TensorType]
    total_weight: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    reduction: Attr[REDUCTIONS] = "mean"
    ignore_index: Attr[int] = -100
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return self.x.type.like(self.x.type.shape)
