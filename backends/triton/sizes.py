"""Kernels with sizes as parameters: which version of one a launch takes.

A version is for all sizes that are alike in three things: which of them are multiples of 16 (then Triton reads 16 bytes at once along strides that are
sizes), whether all that is computed of them fits i32, and the blocks that cover rows which are taken whole.  It is compiled when the first launch needs it;
the first is that of the sizes at which the program was captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lect.backends.triton.addresses import MOST, fits_for
from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.fitting import blocks_for
from lect.ir import Operation, Value
from lect.ir.facts import Facts, value_of
from lect.ir.index_map import IndexMap

ALIGNMENT = 16


class Fit(NamedTuple):
    """What a version takes for granted: the block of each axis, that everything fits i32, and which sizes are multiples of 16."""

    blocks: tuple[int, ...]
    narrow: bool
    multiples: tuple[bool, ...]


def fit_of(func: kernel.FuncOp, values: Sequence[int]) -> Fit:
    """The version for values of the sizes s0, s1, ..."""
    return Fit(tuple(blocks_for(func, values).values()), is_narrow(func, values), tuple([not value % ALIGNMENT for value in values]))


def hinted(func: kernel.FuncOp) -> tuple[int, ...]:
    """The sizes of the call that was captured."""
    facts = Facts.of(func.symbols)
    return tuple([facts.fact(number).hint for number in range(len(func.symbols or ()))])


def is_narrow(func: kernel.FuncOp, values: Sequence[int]) -> bool:
    """Whether every number that the kernel computes of these sizes is an i32."""
    table = dict(enumerate(values))
    if any(value_of(axis.extent, table) + blocks >= MOST for axis, (_, blocks) in zip(func.axes.axes, func.blocks.sizes)):
        return False
    return all(fits_for(map, indices, values) for map, indices in _maps(func))


def _maps(func: kernel.FuncOp) -> list[tuple[IndexMap, Sequence[Value]]]:
    found = []
    for op in func.walk():
        map = op.attrs.get("map")
        if isinstance(map, IndexMap):
            found.append((map, _indices(op)))
    return found


def _indices(op: Operation) -> Sequence[Value]:
    return op.indices  # type: ignore[attr-defined,no-any-return]
