"""Signs of expressions over sizes: `s0 * s1 - s1` is never negative where every size is at least 2, which bounds of its terms do not tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import symbolic

if TYPE_CHECKING:
    from .symbolic import Atom, Bounds, Expr


def never_negative(value: Expr, bounds: Callable[[Atom], Bounds]) -> bool:
    """Whether an expression is surely not negative: written as what its atoms exceed their least values by, it has no negative coefficient."""
    total = symbolic.constant(value.const)
    for atoms, factor in value.terms:
        term = symbolic.constant(factor)
        for atom in atoms:
            low = bounds(atom)[0]
            if low is None:
                return False
            term = term * (symbolic.of_atom(atom) + low)
        total = total + term
    return total.const >= 0 and all(factor >= 0 for _, factor in total.terms)
