"""Reading builtin containers past what a derived class redefines: a path must read what the trace read, and run no code of the program.

`OrderedDict` has an order of its own, so it stands before `dict`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from types import FunctionType
from typing import Any

BASES = (OrderedDict, dict, list, tuple, set, frozenset, deque)
_EXACT = frozenset(BASES)


def base_of(cls: type) -> Any:
    """The builtin container that `cls` is or derives from, or None."""
    return cls if cls in _EXACT else next((base for base in BASES if issubclass(cls, base)), None)


def redefines(cls: type, name: str) -> bool:
    """True when a special method of the class is Python code."""
    if cls in _EXACT:
        return False
    return type(next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)) is FunctionType


def own_item(container: Any, key: Any) -> Any:
    """`container[key]` as the builtin class reads it.  Raises what that raises, TypeError for other objects."""
    base = base_of(type(container))
    if base is None:
        raise TypeError(f"a {type(container).__name__} is no builtin container")
    return base.__getitem__(container, key)


def elements(container: Any) -> Iterator[Any]:
    """The elements (the keys of a dictionary) in the order of the builtin class."""
    base = base_of(type(container))
    return iter(container) if base is None else base.__iter__(container)


def count(container: Any) -> int:
    """The number of elements in the builtin class."""
    base = base_of(type(container))
    return len(container) if base is None else base.__len__(container)


def has(container: Any, key: Any) -> bool:
    """`key in container` as the builtin class answers it."""
    base = base_of(type(container))
    return key in container if base is None else base.__contains__(container, key)
