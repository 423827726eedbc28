"""Containers in residual code.  Those with many items are filled one by one, as CPython's own compiler does it: the operand stack stays small."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lect.dialects.pyframe import building
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.ir import LectError, Value

if TYPE_CHECKING:
    from lect.frontends.capture.residual import ResidualBuilder

MOST_AT_ONCE = 30
Make = Callable[[Any], Value]


def list_of(b: ResidualBuilder, items: Collection[Any], make: Make) -> Value:
    """A list of what `make` gives for each item."""
    if len(items) <= MOST_AT_ONCE:
        return b.emit(building.BuildListOp([make(item) for item in items]))
    made = b.emit(building.BuildListOp([]))
    constants = _as_constant(b, items)
    if constants is not None:
        b.block.append(building.ListExtendOp(made, constants, loc=b.loc))
        return made
    for item in items:
        b.block.append(building.ListAppendOp(made, make(item), loc=b.loc))
    return made


def tuple_of(b: ResidualBuilder, items: Sequence[Any], make: Make) -> Value:
    """A tuple of what `make` gives for each item."""
    if len(items) <= MOST_AT_ONCE:
        return b.emit(building.BuildTupleOp([make(item) for item in items]))
    return b.emit(building.ListToTupleOp(list_of(b, items, make)))


def set_of(b: ResidualBuilder, items: Collection[Any], make: Make) -> Value:
    """A set of what `make` gives for each item, added in order."""
    if len(items) <= MOST_AT_ONCE:
        return b.emit(building.BuildSetOp([make(item) for item in items]))
    made = b.emit(building.BuildSetOp([]))
    for item in items:
        b.block.append(building.SetAddOp(made, make(item), loc=b.loc))
    return made


def dict_of(b: ResidualBuilder, items: Mapping[Any, Any], make: Make) -> Value:
    """A dict of what `make` gives for each key and item."""
    if len(items) <= MOST_AT_ONCE:
        return b.emit(building.BuildMapOp([make(each) for pair in items.items() for each in pair]))
    made = b.emit(building.BuildMapOp([]))
    for key, item in items.items():
        b.block.append(building.MapAddOp(made, make(key), make(item), loc=b.loc))
    return made


def _as_constant(b: ResidualBuilder, items: Collection[Any]) -> Value | None:
    """A constant tuple of the items; None when they are no constants."""
    if any(type(item) not in SCALAR_TYPES for item in items):
        return None
    try:
        return b.constant(tuple(items))
    except LectError:
        return None
