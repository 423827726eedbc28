"""Containers in residual code.  Those with many items are filled one by one, as CPython's own compiler does it: the operand stack stays small."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lect.dialects.pyframe import building
from lect.frontends.capture.breaks import GraphBreak
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
    """A set of what `make` gives for each item, added in order.  Breaks for one that would then be iterated over in another order."""
    check_order(b, items)
    if len(items) <= MOST_AT_ONCE:
        return b.emit(building.BuildSetOp([make(item) for item in items]))
    made = b.emit(building.BuildSetOp([]))
    for item in items:
        b.block.append(building.SetAddOp(made, make(item), loc=b.loc))
    return made


def check_order(b: ResidualBuilder, items: Collection[Any]) -> None:
    """Break for a set that has another order when its items are added anew: that hangs on what was in it before.

    The same size and order are enough, unless something was taken out of it, which leaves a trace in C.  Nothing is known of items that are hashed by
    their identity.
    """
    anew = type(items)(tuple(items))  # type: ignore[call-arg]
    alike = list(anew) == list(items) and anew.__sizeof__() == items.__sizeof__() and id(items) not in b.t.dented
    if not alike and all(_is_hashed_by_value(item) for item in items):
        stop = GraphBreak("LB0008", "a set whose order of iteration hangs on how it was filled", b.loc)
        stop.values.append(items)
        raise stop


def _is_hashed_by_value(item: Any) -> bool:
    return all(map(_is_hashed_by_value, item)) if type(item) is tuple else type(item) in SCALAR_TYPES


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
