"""Division of expressions by sizes that are expressions: by a sum of terms, and by a common factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import symbolic

if TYPE_CHECKING:
    from .symbolic import Expr, Monomial, Size


def check_divisor(divisor: Size) -> None:
    """Raise ZeroDivisionError for a number that divides nothing."""
    if type(divisor) is int and divisor <= 0:
        raise ZeroDivisionError(f"the divisor of an index expression is positive, got {divisor}")


def divide_by_sum(value: Expr, divisor: Expr) -> tuple[Expr, Expr]:
    """value = whole * divisor + rest for a divisor of several terms: long division by its leading term."""
    lead, scale = max(divisor.terms, key=_degree)
    whole, rest = symbolic.ZERO, value
    for atoms, _ in sorted(value.terms, key=_degree, reverse=True):
        k = next((coefficient for found, coefficient in rest.terms if found == atoms), 0)
        left = symbolic.without(atoms, lead) if k and k % scale == 0 else None
        if left is not None:
            step = symbolic.monomial(left, k // scale)
            whole, rest = whole + step, rest - step * divisor
    return whole, rest


def _degree(term: tuple[Monomial, int]) -> tuple[Any, ...]:
    return len(term[0]), [a.key for a in term[0]]


def factors_of(value: Expr) -> list[Size]:
    """The coefficients of the dims of an expression, numbers and sizes, the largest first, without 1."""
    found: dict[Size, tuple[int, int]] = {}
    for atoms, k in value.terms:
        sizes = tuple([a for a in atoms if a.kind == "s"])
        if k > 0 and (k > 1 or sizes):
            found[symbolic.as_size(symbolic.monomial(sizes, k))] = (len(sizes), k)
    return sorted(found, key=lambda factor: found[factor], reverse=True)
