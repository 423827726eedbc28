"""Sizes with symbols in a training step: what they are in one call, and how gradients lie that come back for it.

A gradient may lie in any way.  What a backward is compiled for has to hold for all sizes, so its strides are written with symbols where that is possible:

    a result of s0 x 8    (8, 1) is (8, 1)      (1, 5) in a call with s0 = 5 is (1, s0)      (0, 0) is (0, 0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from lect.dialects.functional.symbols import Place
from lect.ir.facts import value_of
from lect.ir.symbolic import Expr, Size

Sizes = tuple[Size, ...]
Numbers = tuple[int, ...]


def numbers_of(places: Mapping[int, Place], arguments: Sequence[Any]) -> dict[int, int]:
    """The value of each symbol in a call with these arguments."""
    found = {}
    for number, (argument, dim, divisor) in places.items():
        value = arguments[argument]
        found[number] = (int(value) if dim is None else value.shape[dim]) // divisor
    return found


def at(sizes: Sizes, numbers: Mapping[int, int]) -> Numbers:
    """Sizes, strides or offsets of one call."""
    return tuple([value_of(size, numbers) if type(size) is Expr else size for size in sizes])  # type: ignore[misc]


def layout_with_symbols(shape: Sizes, own: Sizes, numbers: Mapping[int, int], tensor: torch.Tensor) -> Sizes:
    """The strides of a tensor of this shape, written with symbols; `own` are those that it most likely has.

    A tensor that is dense in some order of its dims has products of sizes; one that is expanded has 0 in dims beside that.  Other strides are left as they are.
    """
    strides = tensor.stride()
    if at(own, numbers) == strides:
        return own
    found: list[Size] = list(strides)
    step: Size = 1
    for dim in sorted(range(len(shape)), key=lambda dim: (strides[dim], -dim)):
        if strides[dim]:
            found[dim] = step
            step = step * shape[dim]
    symbolic = tuple(found)
    return symbolic if at(symbolic, numbers) == strides else strides
