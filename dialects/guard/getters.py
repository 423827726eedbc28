"""What objects of C hold that cannot change: `operator.itemgetter`, `attrgetter` and `methodcaller`, of which `__reduce__` tells it, and the number or text
that an instance is of a class that derives from such."""

from __future__ import annotations

import functools
import operator
from typing import Any

_PLAIN = tuple([(cls, getattr(cls, f"__{name}__")) for cls, name in zip((int, float, complex, str, bytes), ("index", "float", "complex", "str", "bytes"))])
GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def held_by(getter: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The keys or names of a getter, or the name of the method and what it is called with; by position, and by name."""
    maker, held = getter.__reduce__()
    if type(maker) is functools.partial:  # a method that is called with keywords
        return (*maker.args, *held), dict(maker.keywords)
    return held, {}


def contents_of(value: Any) -> Any:
    """The number or text that an instance of a class derived from such is, past what its class redefines; of a getter, all that tells it from others of its
    class, one behind the other.  Raises TypeError for an object of another kind."""
    plain = next((read for base, read in _PLAIN if issubclass(type(value), base)), None)
    if plain is not None:
        return plain(value)
    if type(value) not in GETTERS:
        raise TypeError(f"of a {type(value).__name__} it is not known what it holds")
    held, named = held_by(value)
    return (len(held), *[part for item in (*held, *[each for pair in named.items() for each in pair]) for part in _written_out(item)])


def _written_out(item: Any) -> tuple[Any, ...]:
    """An item as scalars; what stands in front of them tells a slice or a tuple from what it consists of."""
    if type(item) is slice:
        return ("slice", *[part for each in (item.start, item.stop, item.step) for part in _written_out(each)])
    if type(item) is tuple:
        return ("tuple", len(item), *[part for each in item for part in _written_out(each)])
    return ("", item)
