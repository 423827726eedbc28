"""Kernels with sizes as parameters: which version of one a launch takes.

A version is for all sizes that are alike in three things: which of those that occur in addresses are multiples of 8 (then Triton reads 16 bytes at once along
strides that are sizes), whether all that is computed of them fits i32, and the blocks that cover rows which are taken whole, with how many eighths of a block
the row fills: what is behind it is not computed, and where it fills all nothing is masked.  It is compiled when the first launch needs it; the first is that
of the sizes at which the program was captured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lect.backends.triton.addresses import MOST, fits_for
from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.fitting import blocks_for, open_axes
from lect.ir import Operation, Value
from lect.ir.facts import Facts, symbols_of, value_of
from lect.ir.index_map import IndexMap

MULTIPLE = 8
EIGHTHS = 8


class Fit(NamedTuple):
    """What a version takes for granted: the block of each axis, what rows that are taken whole do not reach, that everything fits i32, and of each size a
    number that it is a multiple of."""

    blocks: tuple[int, ...]
    limits: tuple[tuple[str, int], ...]
    narrow: bool
    multiples: tuple[int, ...]


def fit_of(func: kernel.FuncOp, values: Sequence[int]) -> Fit:
    """The version for values of the sizes s0, s1, ..."""
    blocks, relevant = blocks_for(func, values), in_addresses(func)
    multiples = tuple([MULTIPLE if number in relevant and not value % MULTIPLE else 1 for number, value in enumerate(values)])
    return Fit(tuple(blocks.values()), limits_for(func, blocks, values), is_narrow(func, values), multiples)


def limits_for(func: kernel.FuncOp, blocks: Mapping[str, int], values: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """For each axis that is taken whole, where that says something: so many eighths of the block as its indices need, and the block where they fill it."""
    table, found = dict(enumerate(values)), []
    for name in open_axes(func):
        part = max(blocks[name] // EIGHTHS, 1)
        extent = value_of(func.axes.find(name).extent, table)  # type: ignore[union-attr]
        limit = -(-extent // part) * part
        if limit < blocks[name] or extent == blocks[name]:
            found.append((name, limit))
    return tuple(found)


def in_addresses(func: kernel.FuncOp) -> frozenset[int]:
    """The sizes that occur in addresses, and those along which neighbouring elements lie."""
    found = {number for map, _ in _maps(func) for number in symbols_of(map.offset)}
    axis = func.axes.find(func.vector) if func.vector is not None else None
    return frozenset(found.union(symbols_of(axis.extent) if axis is not None else ()))


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
