"""Elementwise composites: formulas that eager computes in one pass and rounds once, at their end.

They stay one operation until loop lowering, where each expands inside one region of the precision that eager computes in.  Operands have one
element type, which is the result's.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from lect.dialects.functional.families import (
    ANY,
    FLOAT,
    REAL,
    Elementwise,
    FunctionalOp,
    Number,
    Types,
    common_element,
    dims_of,
    members,
    pointwise_type,
    require_kind,
    require_number,
    tensor_types,
)
from lect.dialects.functional.shapes import preserved_strides
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, OptionalOperand, Pure, Result, op, require

Numeric = (*Number, None)


class Composite(FunctionalOp):
    """Base: all operands are tensors of one element type, a float unless `kinds` says otherwise."""

    __slots__ = ()
    traits: ClassVar[tuple[Any, ...]] = (Pure, Elementwise)
    kinds = FLOAT

    def type_rule(self) -> Types:
        operands = tensor_types(self.operands)
        require_kind(self, operands[0], self.kinds)
        return pointwise_type(self, operands, common_element(self, operands))


class UnaryComposite(Composite):
    """One operand and no option."""

    __slots__ = ()
    x: Operand[TensorType]
    output: Result[TensorType]


UNARY = members(
    UnaryComposite,
    {
        "silu": "x * sigmoid(x).",
        "mish": "x * tanh(softplus(x)).",
        "hardswish": "x * clamp(x + 3, 0, 6) / 6.",
        "hardsigmoid": "clamp(x + 3, 0, 6) / 6.",
        "log_sigmoid": "log(sigmoid(x)) without overflow.",
        "entr": "-x * log(x); 0 at 0, -inf below.",
        "frac": "x - trunc(x).",
        "sinc": "sin(pi x) / (pi x); 1 at 0.",
    },
)


@op("functional.relu")
class ReluOp(Composite):
    """x where it is not below zero, else zero; NaN and -0.0 stay."""

    x: Operand[TensorType]
    output: Result[TensorType]
    kinds = REAL


@op("functional.sgn")
class SgnOp(Composite):
    """The sign, and for complex numbers x / |x|."""

    x: Operand[TensorType]
    output: Result[TensorType]
    kinds = ANY | {"complex"}


@op("functional.leaky_relu")
class LeakyReluOp(Composite):
    """x above zero, else x times the slope: a number, or a tensor `weight` (prelu)."""

    x: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    negative_slope: Attr[Number] = 0.01
    output: Result[TensorType]


@op("functional.elu")
class EluOp(Composite):
    """scale * x above zero, else scale * alpha * expm1(input_scale * x)."""

    x: Operand[TensorType]
    alpha: Attr[Number] = 1.0
    scale: Attr[Number] = 1.0
    input_scale: Attr[Number] = 1.0
    output: Result[TensorType]


@op("functional.gelu")
class GeluOp(Composite):
    """x times the normal distribution function of x, exact or by its tanh approximation."""

    x: Operand[TensorType]
    approximate: Attr[frozenset({"none", "tanh"})] = "none"
    output: Result[TensorType]


@op("functional.hardtanh")
class HardtanhOp(Composite):
    """x clamped to [min, max]; NaN stays."""

    x: Operand[TensorType]
    min: Attr[Number] = -1.0
    max: Attr[Number] = 1.0
    output: Result[TensorType]
    kinds = REAL


@op("functional.softplus")
class SoftplusOp(Composite):
    """log1p(exp(beta * x)) / beta, and x itself where beta * x is above the threshold."""

    x: Operand[TensorType]
    beta: Attr[Number] = 1.0
    threshold: Attr[Number] = 20.0
    output: Result[TensorType]


@op("functional.threshold")
class ThresholdOp(Composite):
    """x above the threshold, else `value`; NaN stays."""

    x: Operand[TensorType]
    threshold: Attr[Number]
    value: Attr[Number]
    output: Result[TensorType]
    kinds = REAL


class ShrinkTemplate(Composite):
    """One operand and `lambd`."""

    __slots__ = ()
    x: Operand[TensorType]
    lambd: Attr[Number] = 0.5
    output: Result[TensorType]


SHRINKS = members(
    ShrinkTemplate,
    {"hardshrink": "x, and 0 where |x| is not above lambd.", "softshrink": "x moved towards 0 by lambd, and 0 where |x| is not above it."},
)


@op("functional.logit")
class LogitOp(Composite):
    """log(x / (1 - x)), x first clamped to [eps, 1 - eps] when eps is given."""

    x: Operand[TensorType]
    eps: Attr[(float, int, None)] = None
    output: Result[TensorType]


@op("functional.glu")
class GluOp(Composite):
    """The first half along `dim` times the sigmoid of the second half."""

    x: Operand[TensorType]
    dim: Attr[int]
    output: Result[TensorType]
    traits = (Pure,)

    def type_rule(self) -> Types:
        x = self.x.type
        require_kind(self, x, FLOAT)
        (dim,) = dims_of(self, self.dim, x.rank, "dim")
        require(x.rank and x.shape[dim] % 2 == 0, self, "'{}' needs an even size along dim {}", self.name, dim)
        return x.like((*x.shape[:dim], x.shape[dim] // 2, *x.shape[dim + 1 :]))


@op("functional.lerp")
class LerpOp(Composite):
    """x + weight * (end - x), computed from the nearer end: the formula changes where |weight| reaches 0.5."""

    x: Operand[TensorType]
    end: Operand[TensorType]
    weight: OptionalOperand[TensorType]
    amount: Attr[Numeric] = None
    output: Result[TensorType]

    def verify(self) -> None:
        require((self.weight is None) != (self.amount is None), self, "'functional.lerp' takes a tensor 'weight' or the number 'amount'")


class ScaledTemplate(Composite):
    """Three operands and a number, or a 0-d tensor `factor` in its place."""

    __slots__ = ()
    x: Operand[TensorType]
    first: Operand[TensorType]
    second: Operand[TensorType]
    factor: OptionalOperand[TensorType]
    value: Attr[Number] = 1
    output: Result[TensorType]
    kinds = REAL

    def verify(self) -> None:
        if self.factor is not None:
            good = not self.factor.type.rank and self.value == 1
            require(good, self, "'factor' of '{}' must be a 0-d tensor in the place of 'value', got {}", self.name, self.factor.type)


SCALED = members(
    ScaledTemplate,
    {
        "addcmul": "x + value * first * second.  `factor` stands for value.",
        "addcdiv": "x + value * first / second.  `factor` stands for value.",
    },
)


@op("functional.xlogy")
class XlogyOp(Composite):
    """x * log(y), or x * log1p(y); 0 where x is 0, unless y is NaN."""

    x: Operand[TensorType]
    y: OptionalOperand[TensorType]
    other: Attr[Numeric] = None
    reversed: Attr[bool] = False
    logarithm: Attr[frozenset({"log", "log1p"})] = "log"
    output: Result[TensorType]

    def verify(self) -> None:
        require((self.y is None) != (self.other is None), self, "'functional.xlogy' takes a second tensor or the number 'other'")


@op("functional.logaddexp")
class LogaddexpOp(Composite):
    """log(exp(x) + exp(y)) without overflow, to base e or 2."""

    x: Operand[TensorType]
    y: Operand[TensorType]
    base: Attr[frozenset({"e", "2"})] = "e"
    output: Result[TensorType]


@op("functional.nan_to_num")
class NanToNumOp(Composite):
    """NaN and the infinities replaced; None takes 0 and the type's extreme finite numbers."""

    x: Operand[TensorType]
    nan: Attr[Numeric] = None
    posinf: Attr[Numeric] = None
    neginf: Attr[Numeric] = None
    output: Result[TensorType]
    kinds = ANY


@op("functional.heaviside")
class HeavisideOp(Composite):
    """0 below zero, 1 above, y at zero."""

    x: Operand[TensorType]
    y: Operand[TensorType]
    output: Result[TensorType]
    kinds = ANY


@op("functional.ldexp")
class LdexpOp(Composite):
    """x * 2**y, 2**y rounded first."""

    x: Operand[TensorType]
    y: Operand[TensorType]
    output: Result[TensorType]


@op("functional.polygamma")
class PolygammaOp(Composite):
    """The n-th derivative of digamma."""

    x: Operand[TensorType]
    n: Attr[int]
    output: Result[TensorType]


@op("functional.masked_fill")
class MaskedFillOp(FunctionalOp):
    """x, and `value` (a 0-d tensor, or the number `other`) where the mask (i1) holds: a selection."""

    x: Operand[TensorType]
    mask: Operand[TensorType]
    value: OptionalOperand[TensorType]
    other: Attr[Numeric] = None
    output: Result[TensorType]
    traits = (Pure, Elementwise)

    def type_rule(self) -> Types:
        require_kind(self, self.mask.type, frozenset({"bool"}))
        joined = pointwise_type(self, [self.x.type, self.mask.type], self.x.type.element)
        # A fresh copy of x is filled, so the mask has no say in the layout unless it broadcasts x.
        return joined.with_strides(preserved_strides(self.x.type.layout)) if joined.shape == self.x.type.shape else joined

    def verify(self) -> None:
        require((self.value is None) != (self.other is None), self, "'functional.masked_fill' takes a 0-d tensor or the number 'other'")
        if self.value is not None:
            require(self.value.type.rank == 0, self, "the value of 'functional.masked_fill' must be a 0-d tensor, got {}", self.value.type)
            common_element(self, [self.x.type, self.value.type])
        else:
            require_number(self, self.x.type.element, self.other, "other")


# ---- gradients -------------------------------------------------------------------------------------------------------


class GradientOfX(Composite):
    """The gradient of the result, and the operand of the forward operation."""

    __slots__ = ()
    gradient: Operand[TensorType]
    x: Operand[TensorType]
    output: Result[TensorType]


class GradientOfOutput(Composite):
    """The gradient of the result, and the result of the forward operation."""

    __slots__ = ()
    gradient: Operand[TensorType]
    result_value: Operand[TensorType]
    output: Result[TensorType]


FROM_X = members(
    GradientOfX,
    {
        "silu_backward": "Gradient of silu.",
        "mish_backward": "Gradient of mish.",
        "hardswish_backward": "Gradient of hardswish.",
        "hardsigmoid_backward": "Gradient of hardsigmoid.",
        "log_sigmoid_backward": "Gradient of log_sigmoid.",
    },
)
FROM_OUTPUT = members(GradientOfOutput, {"sigmoid_backward": "gradient * (1 - y) * y.", "tanh_backward": "gradient * (1 - y * y)."})


@op("functional.threshold_backward")
class ThresholdBackwardOp(Composite):
    """The gradient, and 0 where x is not above the threshold (also that of relu)."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    threshold: Attr[Number]
    output: Result[TensorType]
    kinds = REAL


@op("functional.gelu_backward")
class GeluBackwardOp(Composite):
    """Gradient of gelu."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    approximate: Attr[frozenset({"none", "tanh"})] = "none"
    output: Result[TensorType]


@op("functional.hardtanh_backward")
class HardtanhBackwardOp(Composite):
    """The gradient, and 0 where x is not strictly inside the bounds."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    min: Attr[Number] = -1.0
    max: Attr[Number] = 1.0
    output: Result[TensorType]


@op("functional.elu_backward")
class EluBackwardOp(Composite):
    """Gradient of elu, from its operand or (`is_result`) from its result."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    alpha: Attr[Number] = 1.0
    scale: Attr[Number] = 1.0
    input_scale: Attr[Number] = 1.0
    is_result: Attr[bool] = False
    output: Result[TensorType]


@op("functional.leaky_relu_backward")
class LeakyReluBackwardOp(Composite):
    """Gradient of leaky_relu by its operand."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    negative_slope: Attr[Number] = 0.01
    is_result: Attr[bool] = False
    output: Result[TensorType]


@op("functional.softplus_backward")
class SoftplusBackwardOp(Composite):
    """Gradient of softplus."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    beta: Attr[Number] = 1.0
    threshold: Attr[Number] = 20.0
    output: Result[TensorType]


@op("functional.glu_backward")
class GluBackwardOp(FunctionalOp):
    """Gradient of glu; it has x's shape."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    dim: Attr[int]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        common_element(self, [self.gradient.type, self.x.type])
        dims_of(self, self.dim, self.x.type.rank, "dim")
        return self.x.type.like(self.x.type.shape)


@op("functional.shrink_backward")
class ShrinkBackwardOp(Composite):
    """Gradient of hardshrink and softshrink: 0 where |x| is not above lambd."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    lambd: Attr[Number] = 0.5
    kind: Attr[frozenset({"hard", "soft"})] = "hard"
    output: Result[TensorType]


globals().update({**UNARY, **SHRINKS, **SCALED, **FROM_X, **FROM_OUTPUT})


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The classes made above are read by name."""
