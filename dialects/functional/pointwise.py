"""Elementwise primitives: unary, binary, and the few with three operands.

Operands have one element type, which is the result's (but for predicates, whose result is i1).  A binary operation takes a second tensor, or a
Python number `other` in its place; `reversed` puts the number in front, `other - x`.
"""

from typing import TYPE_CHECKING, Any

from lect.dialects.functional.families import (
    ANY,
    BITS,
    EVERY,
    FLOAT,
    INTEGER,
    REAL,
    Elementwise,
    FunctionalOp,
    Number,
    Types,
    common_element,
    members,
    pointwise_type,
    require_kind,
    require_number,
    tensor_types,
)
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, OptionalOperand, Pure, Result, ScalarType, op, require
from lect.ir.types import i1, i32

Numeric = (*Number, None)


class UnaryTemplate(FunctionalOp):
    """One operand; `kinds` are the element types it may have, `predicate` gives i1."""

    __slots__ = ()
    x: Operand[TensorType]
    output: Result[TensorType]
    traits = (Pure, Elementwise)
    kinds = EVERY
    predicate = False

    def type_rule(self) -> Types:
        require_kind(self, self.x.type, self.kinds)
        return pointwise_type(self, [self.x.type], i1 if self.predicate else self.x.type.element)


class _FloatUnary(UnaryTemplate):
    __slots__ = ()
    kinds = FLOAT


class _RealUnary(UnaryTemplate):
    __slots__ = ()
    kinds = REAL


class _BitUnary(UnaryTemplate):
    __slots__ = ()
    kinds = BITS


class _Predicate(UnaryTemplate):
    __slots__ = ()
    kinds = ANY
    predicate = True


for _template in (_FloatUnary, _RealUnary, _BitUnary, _Predicate):
    _template.__annotations__ = UnaryTemplate.__annotations__

FLOAT_UNARY = members(
    _FloatUnary,
    {
        "reciprocal": "1 / x.",
        "sqrt": "Square root.",
        "rsqrt": "1 / sqrt(x).",
        "exp": "e to the x.",
        "exp2": "2 to the x.",
        "expm1": "exp(x) - 1 without cancellation.",
        "log": "Natural logarithm.",
        "log2": "Logarithm to base 2.",
        "log10": "Logarithm to base 10.",
        "log1p": "log(1 + x) without cancellation.",
        "sin": "Sine.",
        "cos": "Cosine.",
        "tan": "Tangent.",
        "asin": "Inverse sine.",
        "acos": "Inverse cosine.",
        "atan": "Inverse tangent.",
        "sinh": "Hyperbolic sine.",
        "cosh": "Hyperbolic cosine.",
        "tanh": "Hyperbolic tangent.",
        "asinh": "Inverse hyperbolic sine.",
        "acosh": "Inverse hyperbolic cosine.",
        "atanh": "Inverse hyperbolic tangent.",
        "erf": "Error function.",
        "erfc": "1 - erf(x) without cancellation.",
        "erfinv": "Inverse of erf.",
        "erfcx": "exp(x * x) * erfc(x).",
        "ndtri": "Inverse of the normal distribution function.",
        "log_ndtr": "Logarithm of the normal distribution function.",
        "lgamma": "Logarithm of the absolute value of the gamma function.",
        "digamma": "Logarithmic derivative of the gamma function.",
        "sigmoid": "1 / (1 + exp(-x)).",
    },
)
REAL_UNARY = members(
    _RealUnary,
    {
        "abs": "Absolute value; the least integer stays.",
        "neg": "-x; the least integer stays.",
        "floor": "The greatest integer that is not above x.",
        "ceil": "The least integer that is not below x.",
        "round": "The nearest integer, ties to even.",
        "trunc": "The integer part.",
    },
)
BIT_UNARY = members(_BitUnary, {"bitwise_not": "All bits flipped; the complement for i1."})
PREDICATES = members(
    _Predicate,
    {
        "logical_not": "True for zeros.",
        "isnan": "True for NaN.",
        "isinf": "True for the infinities.",
        "signbit": "True for numbers with a minus sign, -0.0 among them.",
    },
)
SIGN = members(UnaryTemplate, {"sign": "-1, 0 or 1; zeros and NaN give 0."})


@op("functional.frexp")
class FrexpOp(FunctionalOp):
    """Mantissa and exponent: x = mantissa * 2**exponent with 0.5 <= |mantissa| < 1."""

    x: Operand[TensorType]
    mantissa: Result[TensorType]
    exponent: Result[TensorType]
    traits = (Pure, Elementwise)

    def type_rule(self) -> Types:
        require_kind(self, self.x.type, FLOAT)
        mantissa = pointwise_type(self, [self.x.type], self.x.type.element)
        return mantissa, mantissa.with_element(i32)


# ---- two operands ----------------------------------------------------------------------------------------------------


class BinaryTemplate(FunctionalOp):
    """Two tensors, or one and a number.

    `mixed` says that a 0-d second operand beside a first one with dims may have another element type: it is read at full precision.
    """

    __slots__ = ()
    x: Operand[TensorType]
    y: OptionalOperand[TensorType]
    other: Attr[Numeric] = None
    reversed: Attr[bool] = False
    output: Result[TensorType]
    traits = (Pure, Elementwise)
    kinds = ANY
    predicate = False
    mixed = False
    number_is_tensor = True

    def type_rule(self) -> Types:
        operands = tensor_types((self.x, self.y))
        element = binary_element(self, operands, self.mixed)
        return pointwise_type(self, operands, i1 if self.predicate else element, self.y is None and self.number_is_tensor)

    def verify(self) -> None:
        verify_number(self)


def binary_element(op: Any, operands: list[TensorType], mixed: bool) -> ScalarType:
    """The element type that operands share.  Raises `VerifyError`."""
    free = mixed and len(operands) == 2 and operands[0].rank and not operands[1].rank
    element = common_element(op, operands[:1] if free else operands)
    require(element.kind in op.kinds or element.kind == "complex", op, "'{}' takes no {}", op.name, element)
    return element


def verify_number(op: Any) -> None:
    """The second operand is a tensor or a number, not both; a number in front is one."""
    if op.y is not None:
        require(op.other is None, op, "'{}' takes a second tensor or the number 'other', not both", op.name)
        require(not op.reversed, op, "'reversed' of '{}' needs the number 'other'", op.name)
    else:
        require(op.other is not None, op, "'{}' needs a second tensor or the number 'other'", op.name)
        if op.x.type.element.kind != "complex":
            require_number(op, op.x.type.element, op.other, "other")


class _Comparison(BinaryTemplate):
    __slots__ = ()
    predicate = True
    kinds = ANY


class _FloatBinary(BinaryTemplate):
    __slots__ = ()
    kinds = FLOAT


class _RealBinary(BinaryTemplate):
    __slots__ = ()
    kinds = REAL


class _Power(BinaryTemplate):
    __slots__ = ()
    kinds = REAL
    number_is_tensor = False


class _BitBinary(BinaryTemplate):
    __slots__ = ()
    kinds = BITS


class _IntegerBinary(BinaryTemplate):
    __slots__ = ()
    kinds = INTEGER


class _MixedBinary(BinaryTemplate):
    __slots__ = ()
    mixed = True


def _inherit(*templates: type[FunctionalOp]) -> None:
    """Fields are declared once, in the base of the templates."""
    for template in templates:
        template.__annotations__ = BinaryTemplate.__annotations__
        for field in ("other", "reversed"):
            setattr(template, field, BinaryTemplate.__dict__[field])


_inherit(_Comparison, _FloatBinary, _RealBinary, _Power, _BitBinary, _IntegerBinary, _MixedBinary)


class AlphaTemplate(BinaryTemplate):
    """Sums whose second operand is multiplied by the number `alpha` first, or by the 0-d tensor `factor`."""

    __slots__ = ()
    x: Operand[TensorType]
    y: OptionalOperand[TensorType]
    factor: OptionalOperand[TensorType]
    other: Attr[Numeric] = None
    alpha: Attr[Number] = 1
    reversed: Attr[bool] = False
    output: Result[TensorType]

    def verify(self) -> None:
        verify_number(self)
        if self.factor is not None:
            require(self.y is not None and self.alpha == 1, self, "'factor' of '{}' needs a second tensor, and no 'alpha'", self.name)
            good = not self.factor.type.rank and self.factor.type.element is self.x.type.element
            require(good, self, "'factor' of '{}' must be a 0-d tensor of {}, got {}", self.name, self.x.type.element, self.factor.type)


SUMS = members(AlphaTemplate, {"add": "x + alpha * y; `or` for i1.  `factor` stands for alpha.", "sub": "x - alpha * y.  `factor` stands for alpha."})
MIXED_BINARY = members(_MixedBinary, {"mul": "x * y; `and` for i1."})
MODULO = members(
    _RealBinary,
    {
        "remainder": "x modulo y, with the sign of y (Python's %).",
        "fmod": "x modulo y, with the sign of x (C's fmod).",
    },
)
POWER = members(
    _Power,
    {
        "pow": "x to the power of y.  The numbers 2, 3 and -2 are products, 0.5, -0.5 and -1 are sqrt, rsqrt and reciprocal; in f16 2 alone is one.",
    },
)
FLOAT_BINARY = members(
    _FloatBinary,
    {
        "atan2": "Angle of the point (y, x) whose ordinate is the first operand.",
        "hypot": "sqrt(x * x + y * y) without overflow in between.",
        "copysign": "|x| with the sign of y.",
        "nextafter": "The next number after x towards y.",
        "zeta": "Hurwitz zeta function of x and y.",
        "igamma": "Lower regularised incomplete gamma function.",
        "igammac": "Upper regularised incomplete gamma function.",
    },
)
EXTREMA = members(
    BinaryTemplate,
    {
        "maximum": "The greater operand; NaN if one is.",
        "minimum": "The lesser operand; NaN if one is.",
        "fmax": "The greater operand; the other one if one is NaN.",
        "fmin": "The lesser operand; the other one if one is NaN.",
    },
)
BIT_BINARY = members(_BitBinary, {"bitwise_and": "Bitwise and.", "bitwise_or": "Bitwise or.", "bitwise_xor": "Bitwise exclusive or."})
INTEGER_BINARY = members(
    _IntegerBinary,
    {
        "shift_left": "x shifted left; 0 when y is negative or not below the width.",
        "shift_right": "x shifted right with its sign; the sign alone when y is not below the width.",
        "gcd": "Greatest common divisor, not negative.",
    },
)
COMPARISONS = members(
    _Comparison,
    {
        "eq": "Equal.",
        "ne": "Not equal; true if one is NaN.",
        "lt": "x below y.",
        "le": "x not above y.",
        "gt": "x above y.",
        "ge": "x not below y.",
        "logical_and": "Both differ from zero.",
        "logical_or": "One differs from zero.",
        "logical_xor": "Exactly one differs from zero.",
    },
)


@op("functional.div")
class DivOp(BinaryTemplate):
    """x / y rounded by `mode`: not at all, to the floor, or towards zero.  Integers take the last two alone, and raise for a zero divisor."""

    x: Operand[TensorType]
    y: OptionalOperand[TensorType]
    other: Attr[Numeric] = None
    mode: Attr[frozenset({"true", "floor", "trunc"})] = "true"
    reversed: Attr[bool] = False
    output: Result[TensorType]
    kinds = REAL
    mixed = True

    def verify(self) -> None:
        verify_number(self)
        require(self.mode != "true" or not self.output.type.element.is_integer, self, "'functional.div' of integers needs the mode floor or trunc")


BESSEL_KINDS = frozenset(
    "i0 i0e i1 i1e j0 j1 y0 y1 modified_i0 modified_i1 modified_k0 modified_k1 scaled_modified_k0 scaled_modified_k1 spherical_j0 airy_ai".split()
)
POLYNOMIALS = frozenset(
    "chebyshev_t chebyshev_u chebyshev_v chebyshev_w hermite_h hermite_he laguerre_l legendre_p shifted_chebyshev_t shifted_chebyshev_u "
    "shifted_chebyshev_v shifted_chebyshev_w".split()
)


@op("functional.bessel")
class BesselOp(FunctionalOp):
    """A Bessel function, or the Airy function."""

    x: Operand[TensorType]
    kind: Attr[BESSEL_KINDS]
    output: Result[TensorType]
    traits = (Pure, Elementwise)

    def type_rule(self) -> Types:
        require_kind(self, self.x.type, FLOAT)
        return pointwise_type(self, [self.x.type], self.x.type.element)


@op("functional.orthopoly")
class OrthopolyOp(BinaryTemplate):
    """An orthogonal polynomial at x of degree y."""

    x: Operand[TensorType]
    y: OptionalOperand[TensorType]
    kind: Attr[POLYNOMIALS]
    other: Attr[Numeric] = None
    reversed: Attr[bool] = False
    output: Result[TensorType]
    kinds = FLOAT


# ---- three operands --------------------------------------------------------------------------------------------------


@op("functional.where")
class WhereOp(FunctionalOp):
    """x where the condition (i1) holds, y elsewhere: a selection, so a NaN that is not selected does not show."""

    condition: Operand[TensorType]
    x: Operand[TensorType]
    y: Operand[TensorType]
    output: Result[TensorType]
    traits = (Pure, Elementwise)

    def type_rule(self) -> Types:
        require(self.condition.type.element is i1, self, "the condition of '{}' must have elements i1, got {}", self.name, self.condition.type.element)
        element = common_element(self, [self.x.type, self.y.type])
        return pointwise_type(self, [self.condition.type, self.x.type, self.y.type], element)


@op("functional.clamp")
class ClampOp(FunctionalOp):
    """x, or the bound it would pass; `high` wins where the bounds cross.  NaN stays, and a NaN bound gives NaN."""

    x: Operand[TensorType]
    low: OptionalOperand[TensorType]
    high: OptionalOperand[TensorType]
    min: Attr[Numeric] = None
    max: Attr[Numeric] = None
    output: Result[TensorType]
    traits = (Pure, Elementwise)

    def type_rule(self) -> Types:
        operands = tensor_types((self.x, self.low, self.high))
        return pointwise_type(self, operands, common_element(self, operands))

    def verify(self) -> None:
        for operand, number, name in ((self.low, self.min, "min"), (self.high, self.max, "max")):
            require(operand is None or number is None, self, "'functional.clamp' takes a tensor or the number '{}', not both", name)
            if number is not None:
                require_number(self, self.x.type.element, number, name)


globals().update({**FLOAT_UNARY, **REAL_UNARY, **BIT_UNARY, **PREDICATES, **SIGN, **SUMS, **MIXED_BINARY, **MODULO, **POWER, **FLOAT_BINARY, **EXTREMA})
globals().update({**BIT_BINARY, **INTEGER_BINARY, **COMPARISONS})


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The classes made above are read by name."""
