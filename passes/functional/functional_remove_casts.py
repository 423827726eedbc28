"""Remove casts that are taken back, and copies that nobody can tell from what they copy.

    %0 = functional.cast(%x) {to = f32} : !functional.tensor<4x8xf32>       // %x is bf16
    %1 = functional.permute(%0) {dims = [1, 0]} : ..                         =>     %2 = functional.permute(%x) {dims = [1, 0]}
    %2 = functional.cast(%1) {to = bf16} : ..

Only casts to a type that holds every number of the source are taken back (bf16 to f32, i32 to f64, but not i64 to f32), and only across operations that give
the same numbers in both types: those that move elements or choose among them, the sign, the absolute value.  Comparisons of two numbers that were widened
alike compare the numbers themselves.  A cast in front of a slice or an indexing converts only what is read.

A copy that the graph returns goes when what it copies was computed here, has its layout, and is returned nowhere else; a copy of a view stays, as the view
would keep more memory alive, and so does one of what an opaque call gives, which may be a view.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.canonicalization import AbsOp, NegOp, holds
from lect.dialects.functional.composite import ReluOp
from lect.dialects.functional.creation import CastOp, CopyOp
from lect.dialects.functional.gather import GatherOp, IndexOp
from lect.dialects.functional.ops import ReturnOp
from lect.dialects.functional.pointwise import COMPARISONS, EXTREMA, PREDICATES, WhereOp
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import CatOp, DiagonalOp, ExpandOp, PermuteOp, ReshapeOp, ReverseOp, SliceOp
from lect.ir import Context, Pattern, PatternSet, Rewriter, ScalarType, Value, apply_greedily
from lect.ir.symbolic import SIZES
from lect.passes.base import Pass
from lect.passes.functional.graphs import functions, rebuilt, sharing_results, shown_as, simplify

# Operations whose results are elements of the operands; the operands from which they come, None for all.
MOVES: tuple[Any, ...] = (ReshapeOp, PermuteOp, ExpandOp, SliceOp, DiagonalOp, ReverseOp, CatOp, CopyOp)
CHOICES: tuple[Any, ...] = (ReluOp, AbsOp, NegOp, WhereOp, *EXTREMA.values())
MAY_BE_VIEWS = frozenset(f"functional.{name}" for name in "reshape permute expand slice diagonal as_strided opaque".split())
ORDER = tuple(cls for name, cls in COMPARISONS.items())


@dataclass(frozen=True)
class FunctionalRemoveCasts(Pass):
    """Take casts back, convert less, and return results without copying them."""

    name: ClassVar[str] = "functional-remove-casts"

    def run(self, op: Any, ctx: Context) -> None:
        for func in functions(op):
            sharing = frozenset(sharing_results(func))
            patterns = [CastBack(sharing), CompareBeforeCast(), CastLater(sharing), CopyOfResult(sharing)]
            changes = apply_greedily(func, PatternSet(patterns))
            if changes:
                simplify(func)
            ctx.count("casts and copies removed", changes)


def widened_from(value: Value) -> Value | None:
    """x, where the value is cast(x) to a type that holds every number of x's and on the same device."""
    op = value.op
    if not isinstance(op, CastOp) or op.device is not None or not holds(op.x.type.element, op.to):
        return None
    return op.x


@dataclass(frozen=True)
class CastBack(Pattern):
    """cast(f(cast(x : A) : B) : B) : A  =>  f(x), where B holds every A and f moves or chooses elements"""

    sharing: frozenset[Value]
    root = CastOp

    def rewrite(self, op: CastOp, rewriter: Rewriter) -> bool:
        inner: Any = op.x.op
        if op.device is not None or op.output in self.sharing or not isinstance(inner, MOVES + CHOICES) or len(inner.output.users) != 1:
            return False
        first = 1 if isinstance(inner, WhereOp) else 0
        sources = [widened_from(value) for value in inner.operands[first:]]
        if not sources or any(source is None or source.type.element is not op.to for source in sources):  # type: ignore[union-attr]
            return False
        if not _keeps_numbers(inner, op.to):
            return False
        return _replace(op, inner, [*inner.operands[:first], *sources], rewriter)  # type: ignore[list-item]


def _keeps_numbers(op: Any, element: ScalarType) -> bool:
    """True when a number in an attribute is one of the element type, and the operation takes that type."""
    if isinstance(op, MOVES):
        return getattr(op, "device", None) is None
    number = op.attrs.get("other")
    if element.kind == "bool" or (element.kind == "unsigned" and isinstance(op, NegOp)):
        return False
    return number is None or is_exact(number, element)


def is_exact(number: Any, element: ScalarType) -> bool:
    """True for numbers that surely are of the type: zero, the infinities of a float type, and integers of a few bits."""
    if element.is_float and isinstance(number, float) and math.isinf(number):
        return True
    if number != number or number != int(number) or (number == 0 and math.copysign(1.0, number) < 0):
        return False
    return 0 <= number <= 127 or (element.kind != "unsigned" and -128 <= number < 0)


def _replace(op: CastOp, inner: Any, operands: list[Value], rewriter: Rewriter) -> bool:
    type: TensorType = op.output.type
    new = rebuilt(inner, operands, type)
    if new is None:
        return False
    new.loc = op.loc
    rewriter.replace_with(op, new)
    return True


@dataclass(frozen=True)
class CompareBeforeCast(Pattern):
    """compare(cast(x : A) : B, cast(y : A) : B)  =>  compare(x, y), and with a number of A; isnan, isinf and signbit of a float"""

    root = (*ORDER, *[PREDICATES[name] for name in ("IsnanOp", "IsinfOp", "SignbitOp", "LogicalNotOp")])

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        sources = [widened_from(value) for value in op.operands]
        element = sources[0].type.element if sources and sources[0] is not None else None  # type: ignore[attr-defined]
        if element is None or any(source is None or source.type.element is not element for source in sources):  # type: ignore[union-attr]
            return False
        if element.kind == "bool" or (type(op) is not PREDICATES["LogicalNotOp"] and len(op.operands) == 1 and not self.fits(op, element)):
            return False
        new = rebuilt(op, sources, op.output.type)  # type: ignore[arg-type]
        if new is None:
            return False
        rewriter.replace_with(op, new)
        return True

    def fits(self, op: Any, element: ScalarType) -> bool:
        """True when the comparison with a number, or the question, means the same for the narrow type."""
        number = op.attrs.get("other")
        if number is None:
            return element.is_float
        return is_exact(number, element) and not (element.is_integer and isinstance(number, float))


@dataclass(frozen=True)
class CastLater(Pattern):
    """slice(cast(x))  =>  cast(slice(x)), and index, gather, diagonal: what is not read is not converted"""

    sharing: frozenset[Value]
    root = (SliceOp, DiagonalOp, IndexOp, GatherOp)

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        cast = op.x.op
        type: TensorType = op.output.type
        if not isinstance(cast, CastOp) or cast.device is not None or op.output in self.sharing or not SIZES.less(type.count, op.x.type.count):
            return False
        if len(op.x.users) != 1:
            return False
        moved = rebuilt(op, [cast.x, *op.operands[1:]], type.with_element(cast.x.type.element))
        if moved is None:
            return False
        rewriter.insert_before(op, moved)
        new = CastOp(moved.output, to=cast.to, loc=cast.loc)
        rewriter.replace(op, shown_as(op, rewriter.insert_before(op, new).output, type))
        return True


@dataclass(frozen=True)
class CopyOfResult(Pattern):
    """return(copy(x : A) : A)  =>  return(x), where x was computed here and is returned once"""

    sharing: frozenset[Value]
    root = CopyOp

    def rewrite(self, op: CopyOp, rewriter: Rewriter) -> bool:
        x = op.x
        if x.op is None or x.type is not op.output.type or x.op.name in MAY_BE_VIEWS or x in self.sharing or op.output in self.sharing:
            return False
        if any(isinstance(user, ReturnOp) for user in x.users):
            return False
        returns = [user for user in op.output.users if isinstance(user, ReturnOp)]
        if not returns or returns[0].operands.count(op.output) != 1:
            return False
        rewriter.replace(op, x)
        return True
