"""What objects of `operator.itemgetter`, `attrgetter` and `methodcaller` hold: it cannot change, and `__reduce__` tells it."""

from __future__ import annotations

import functools
import operator
from typing import Any

GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def held_by(getter: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The keys or names of a getter, or the name of the method and what it is called with; by position, and by name."""
    maker, held = getter.__reduce__()
    if type(maker) is functools.partial:  # a method that is called with keywords
        return (*maker.args, *held), dict(maker.keywords)
    return held, {}


def contents_of(getter: Any) -> tuple[Any, ...]:
    """All that tells a getter from others of its class, one behind the other.  Raises TypeError for an object of another kind."""
    if type(getter) not in GETTERS:
        raise TypeError(f"a {type(getter).__name__} is no getter")
    held, named = held_by(getter)
    return (len(held), *[part for item in (*held, *[each for pair in named.items() for each in pair]) for part in _written_out(item)])


def _written_out(item: Any) -> tuple[Any, ...]:
    """An item as scalars; what stands in front of them tells a slice or a tuple from what it consists of."""
    if type(item) is slice:
        return ("slice", *[part for each in (item.start, item.stop, item.step) for part in _written_out(each)])
    if type(item) is tuple:
        return ("tuple", len(item), *[part for each in item for part in _written_out(each)])
    return ("", item)
