"""Places in a dense array by the digits of their offset, one for each dim, and where they lie when the dims lie in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lect.ir.index_map import contiguous_strides, delinearize, is_affine, strided
from lect.ir.symbolic import Expr, Ranges, Size


@dataclass(frozen=True)
class Digits:
    """The sizes of the dims, outermost in memory first."""

    sizes: tuple[Size, ...]

    def strides(self, order: Sequence[int]) -> tuple[Size, ...]:
        """The steps of each dim when the dims lie in another order, `order[0]` outermost."""
        apart = contiguous_strides(tuple([self.sizes[k] for k in order]))
        return tuple([apart[list(order).index(k)] for k in range(len(self.sizes))])

    def moved(self, offset: Expr, ranges: Ranges, order: Sequence[int]) -> Expr | None:
        """Where what lay at `offset` lies in another order; None where that takes a division, which it does in every order or in none."""
        places = delinearize(offset, self.sizes, ranges)
        return strided(places, self.strides(order)) if all(map(is_affine, places)) else None
