"""Scalar operations: one table of names, arities and meanings for every dialect that computes element by element.

`loop` applies them to single numbers, `kernel` to tiles.  `declare` makes the operation classes of one dialect from the table, so a scalar
operation has one name, one type rule and one meaning at both levels.

Meaning.  A float operation rounds once to its element type; NaN, infinities and signed zeros are IEEE's.  A 16-bit float never computes in
16 bits: it is cast to f32, computed, and cast back, and that cast is the rounding.  Integers wrap around.  Integer division by zero, and the
one quotient that does not fit, give some value and never trap.  Comparisons with NaN are false, `ne` is true.

Random numbers are functions too: `philox32` and `philox64` give words of the counter-based generator Philox 4x32-10 (Salmon, Moraes, Dror, Shaw:
Parallel random numbers: as easy as 1, 2, 3; SC 2011).  Their operands are a key, the number of a stream and the number of a word in it, so a number
that is computed again is the same number.  Block b of a stream is the generator's output of four 32-bit words for the key's two halves and the counter
whose low 64 bits are b and whose high 64 bits are the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lect.ir import Operand, Operation, Pure, Result, ScalarType, Type, VerifyError, op, require
from lect.ir.types import f32, i1, i64

FLOATS = frozenset({"float"})
INTEGERS = frozenset({"signed", "unsigned", "index"})
NUMBERS = FLOATS | INTEGERS
BITS = INTEGERS | {"bool"}
ANY = NUMBERS | {"bool"}


@dataclass(frozen=True)
class ScalarOp:
    """One row: operands are `arity` values of one element type whose kind is in `kinds`; the result has that type, or is i1 if `predicate`.

    `element` is the one element type that the operation takes, where it does not take all of its kinds.
    """

    name: str
    arity: int
    kinds: frozenset[str]
    doc: str
    predicate: bool = False
    element: ScalarType | None = None

    def takes(self, element: ScalarType) -> bool:
        """Whether operands may have this element type."""
        return element.kind in self.kinds and self.element in (None, element)


def _rows(arity: int, kinds: frozenset[str], predicate: bool = False, element: ScalarType | None = None, **docs: str) -> list[ScalarOp]:
    return [ScalarOp(name.rstrip("_"), arity, kinds, doc, predicate, element) for name, doc in docs.items()]


SPECIAL_UNARY: Mapping[str, str] = MappingProxyType(
    {
        "erfinv": "The number whose error function is the operand.",
        "erfcx": "exp(x * x) * erfc(x).",
        "ndtri": "The number up to which the normal distribution has the operand as its share.",
        "log_ndtr": "Logarithm of the normal distribution function.",
        "lgamma": "Logarithm of the absolute value of the gamma function.",
        "digamma": "Logarithmic derivative of the gamma function.",
        "trigamma": "Derivative of digamma.",
        "i0": "Modified Bessel function I0; NaN at the infinities.",
        "i0e": "exp(-|x|) * I0(x).",
        "i1": "Modified Bessel function I1; NaN at the infinities.",
        "i1e": "exp(-|x|) * I1(x).",
        "bessel_j0": "Bessel function J0.",
        "bessel_j1": "Bessel function J1.",
        "bessel_y0": "Bessel function Y0; NaN below 0.",
        "bessel_y1": "Bessel function Y1; NaN below 0.",
        "modified_bessel_k0": "Modified Bessel function K0; NaN below 0.",
        "modified_bessel_k1": "Modified Bessel function K1; NaN below 0.",
        "scaled_modified_bessel_k0": "exp(x) * K0(x).",
        "scaled_modified_bessel_k1": "exp(x) * K1(x).",
        "spherical_bessel_j0": "sin(x) / x; 1 at 0.",
        "airy_ai": "Airy function Ai; 0 above 103.892, NaN at the infinities.",
        "frexp_mantissa": "m in x = m * 2**e with 0.5 <= |m| < 1; zeros, infinities and NaN as they are.",
        "frexp_exponent": "e in x = m * 2**e, as a float; 0 for zeros, infinities and NaN.",
    }
)
_POLYNOMIAL = "polynomial of degree `rhs`, cut to an integer, at `lhs`; 0 for degrees below 0."
SPECIAL_BINARY: Mapping[str, str] = MappingProxyType(
    {
        "zeta": "Hurwitz zeta function: the sum of (rhs + k)**-lhs over k >= 0.",
        "igamma": "Lower regularised incomplete gamma function P(lhs, rhs).",
        "igammac": "Upper regularised incomplete gamma function, 1 - P(lhs, rhs).",
        "nextafter": "The next number after the first operand towards the second.",
        **{f"chebyshev_polynomial_{letter}": f"Chebyshev's {letter.upper()} {_POLYNOMIAL}" for letter in "tuvw"},
        **{f"shifted_chebyshev_polynomial_{letter}": f"Chebyshev's {letter.upper()} of 2 x - 1: {_POLYNOMIAL}" for letter in "tuvw"},
        "hermite_polynomial_h": f"Hermite's (the physicists') {_POLYNOMIAL}  NaN above degree 128 in f32 and 512 in f64.",
        "hermite_polynomial_he": f"Hermite's (the statisticians') {_POLYNOMIAL}  NaN above degree 128 in f32 and 512 in f64.",
        "laguerre_polynomial_l": f"Laguerre's {_POLYNOMIAL}",
        "legendre_polynomial_p": f"Legendre's {_POLYNOMIAL}",
    }
)
SPECIAL = frozenset(SPECIAL_UNARY) | frozenset(SPECIAL_BINARY) | {"nextafter_bf16", "gcd"}
"""Operations that a printer makes from `backends.special`."""

TABLE: MappingProxyType[str, ScalarOp] = MappingProxyType(
    {
        row.name: row
        for row in [
            *_rows(
                2,
                NUMBERS,
                add="Sum.",
                sub="Difference.",
                mul="Product.",
                floor_div="Quotient rounded towards minus infinity.",
                trunc_div="Quotient rounded towards zero.",
                remainder="Remainder with the sign of the divisor (Python's `%`).",
                fmod="Remainder with the sign of the dividend (C's `%`).",
            ),
            *_rows(
                2,
                ANY,
                maximum="The greater operand; NaN if one is NaN.",
                minimum="The lesser operand; NaN if one is NaN.",
            ),
            *_rows(
                2,
                FLOATS,
                div="Quotient.",
                fmax="The greater operand; the other one if one is NaN.",
                fmin="The lesser operand; the other one if one is NaN.",
                pow="The first operand to the power of the second, as C's pow.",
                atan2="Angle of the point (second, first).",
                hypot="Square root of the sum of squares, without overflow in between.",
                copysign="The first operand with the sign of the second.",
            ),
            *_rows(
                2,
                BITS,
                and_="Bitwise and.",
                or_="Bitwise or.",
                xor="Bitwise exclusive or.",
            ),
            *_rows(
                2,
                INTEGERS,
                shl="Shift left; 0 when the amount is negative or not less than the width.",
                shr="Shift right, keeping the sign; an amount that is negative or too great counts as the width less one.",
            ),
            *_rows(
                2,
                ANY,
                True,
                eq="Equal.",
                ne="Not equal; true when one is NaN.",
                lt="Less than.",
                le="Less than or equal.",
                gt="Greater than.",
                ge="Greater than or equal.",
            ),
            *_rows(3, FLOATS, fma="first * second + third, rounded once."),
            *_rows(
                3,
                frozenset({"signed"}),
                element=i64,
                philox32="Word `third` of stream `second` under the key `first`, in 0..2^32-1: word third mod 4 of block third div 4.",
                philox64="Words 2 * third (the low half) and 2 * third + 1 of stream `second` under the key `first`, as 64 bits.",
            ),
            *_rows(1, BITS, not_="Bitwise complement."),
            *_rows(1, NUMBERS, neg="The operand with the other sign.", abs="Absolute value.", sign="-1, 0 or 1; 0 for NaN and for zeros of either sign."),
            *_rows(1, FLOATS, True, isnan="True for NaN.", isinf="True for either infinity."),
            *_rows(1, FLOATS, False, None, **SPECIAL_UNARY),
            *_rows(2, FLOATS, False, None, **SPECIAL_BINARY),
            *_rows(2, FLOATS, element=f32, nextafter_bf16="nextafter of numbers that bf16 holds, among those."),
            *_rows(2, INTEGERS, gcd="Greatest common divisor, not negative but for the least integer."),
            *_rows(
                1,
                FLOATS,
                exp="e to the operand.",
                exp2="2 to the operand.",
                expm1="e to the operand, less 1.",
                log="Natural logarithm.",
                log2="Logarithm to base 2.",
                log10="Logarithm to base 10.",
                log1p="Natural logarithm of 1 plus the operand.",
                sqrt="Square root.",
                rsqrt="1 divided by the square root, each rounded.",
                reciprocal="1 divided by the operand.",
                sin="Sine.",
                cos="Cosine.",
                tan="Tangent.",
                asin="Inverse sine.",
                acos="Inverse cosine.",
                atan="Inverse tangent.",
                sinh="Hyperbolic sine.",
                cosh="Hyperbolic cosine.",
                tanh="Hyperbolic tangent.",
                asinh="Inverse hyperbolic sine.",
                acosh="Inverse hyperbolic cosine.",
                atanh="Inverse hyperbolic tangent.",
                erf="Error function.",
                erfc="1 less the error function.",
                sigmoid="1 / (1 + exp(-x)).",
                floor="Rounded towards minus infinity.",
                ceil="Rounded towards infinity.",
                trunc="Rounded towards zero.",
                round="Rounded to the nearest integer, ties to even.",
            ),
        ]
    }
)
HEAVY = frozenset(
    (
        "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid pow atan2 hypot philox32 philox64"
    ).split()
) | (SPECIAL - {"nextafter", "nextafter_bf16", "frexp_mantissa", "frexp_exponent"})
"""Operations that cost more than a memory access to the first cache."""


def neutral(kind: str, element: ScalarType) -> bool | int | float:
    """What changes nothing in a fold of this kind ("sum", "max", ...)."""
    if element.kind == "bool":
        return kind in ("all", "min", "prod")
    if kind in ("sum", "any", "xor"):
        return 0.0 if element.is_float else 0
    if kind in ("prod", "all"):
        return 1.0 if element.is_float else 1
    if element.is_float:
        return float("-inf") if kind in ("max", "logaddexp") else float("inf")
    lowest = 0 if element.kind == "unsigned" else -(1 << element.bits - 1)
    return lowest if kind == "max" else lowest + (1 << element.bits) - 1


ElementOf = Callable[[Type], ScalarType]
Join = Callable[[Operation, Sequence[Type], ScalarType], Type]
OPERAND_NAMES = (("value",), ("lhs", "rhs"), ("first", "second", "third"))


def declare(dialect: str, element_of: ElementOf, join: Join) -> dict[str, type[Operation]]:
    """Operation classes `<dialect>.<name>` for the whole table, keyed by their class names (`AddOp`).

    `element_of` gives the element type of an operand's type; `join(op, operand types, element)` the result type with that element, raising
    `VerifyError` when the operands do not go together.
    """
    return {_class_name(row.name): _declare(dialect, row, element_of, join) for row in TABLE.values()}


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) + "Op"


def _declare(dialect: str, row: ScalarOp, element_of: ElementOf, join: Join) -> type[Operation]:
    def infer(self: Operation) -> tuple[Type, ...]:
        types = [value.type for value in self.operands]
        return (join(self, types, i1 if row.predicate else _located(element_of, self, types[0])),)

    def verify(self: Operation) -> None:
        element = element_of(self.operands[0].type)
        for value in self.operands:
            if element_of(value.type) is not element:
                elements = ", ".join([str(element_of(each.type)) for each in self.operands])
                require(False, self, "'{}' needs operands of one element type, got {}", self.name, elements)
        if not row.takes(element):
            require(False, self, "'{}' takes {}, got {}", self.name, row.element or _kinds_text(row.kinds), element)

    names = OPERAND_NAMES[row.arity - 1]
    body: dict[str, Any] = {
        "__doc__": row.doc,
        "__module__": __name__,
        "__annotations__": {**dict.fromkeys(names, Operand), "output": Result},
        "traits": (Pure,),
        "infer": infer,
        "verify": verify,
    }
    return op(f"{dialect}.{row.name}")(type(_class_name(row.name), (Operation,), body))


def _located(element_of: ElementOf, operation: Operation, type: Type) -> ScalarType:
    """The element type, or an error about the operation."""
    try:
        return element_of(type)
    except VerifyError as error:
        raise VerifyError(error.message, op=operation) from None


def _kinds_text(kinds: frozenset[str]) -> str:
    words = [word for kind, word in (("float", "floats"), ("signed", "integers"), ("bool", "i1")) if kind in kinds]
    return " or ".join(words)
