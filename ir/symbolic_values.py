"""Questions about sizes, and sizes in the place of symbols."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from .symbolic import SIZES, Size, as_size, constant, symbol


def may_be_ordered(*sizes: Size) -> bool:
    """False when these surely do not grow from left to right: what a check of sizes asks, where guards may know more than that symbols are at least 2."""
    return all(SIZES.less_equal(left, right) is not False for left, right in pairwise(sizes))


def replace_symbols(size: Size, table: Mapping[int, Size]) -> Size:
    """The size with `table[n]` in the place of `s<n>`."""
    if type(size) is int:
        return size
    leaves = {symbol(number).terms[0][0][0]: constant(value) for number, value in table.items()}
    return as_size(SIZES.substitute(constant(size), leaves))
