"""Reading builtin containers past what a derived class redefines: a path must read what the trace read, and run no code of the program.

`OrderedDict` has an order of its own, so it stands before `dict`.
"""

from __future__ import annotations

import enum
import functools
import gc
import weakref
from collections import OrderedDict, deque
from collections.abc import Iterator
from itertools import islice
from types import FunctionType
from typing import Any

BASES = (OrderedDict, dict, list, tuple, set, frozenset, deque)
_EXACT = frozenset(BASES)
_HASHES = frozenset({enum.Enum.__hash__})  # in Python, of what cannot change
_PURE_MODULES = frozenset({"typing", "enum"})


def base_of(cls: type) -> Any:
    """The builtin container that `cls` is or derives from, or None."""
    return cls if cls in _EXACT else next((base for base in BASES if issubclass(cls, base)), None)


def redefines(cls: type, name: str) -> bool:
    """True when a special method of the class is Python code."""
    if cls in _EXACT:
        return False
    return type(next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)) is FunctionType


_OF_A_VIEW = "__contains__ __iter__ __len__ __getitem__ __reversed__ __eq__ __or__ __ror__ copy get keys items values".split()


def shown_in_c(mapping: Any) -> bool:
    """True when a `MappingProxyType` of this mapping runs no code of the program."""
    return issubclass(type(mapping), dict) and not any(redefines(type(mapping), name) for name in _OF_A_VIEW)


def compares_identity(cls: type) -> bool:
    """True when an instance equals none but itself."""
    found = [next(base.__dict__[name] for base in cls.__mro__ if name in base.__dict__) for name in ("__eq__", "__hash__")]
    return found[0] is object.__eq__ and found[1] is object.__hash__


def compares_in_c(cls: type) -> bool:
    """True when hash and equality are C code, or Python code of the library that only reads what never changes."""
    return cls.__module__ in _PURE_MODULES or not any(redefines(cls, name) and getattr(cls, name) not in _HASHES for name in ("__hash__", "__eq__"))


def is_hashed_in_c(key: Any) -> bool:
    """`compares_in_c` for a key.  A weak reference is hashed and compared as its object is, while that is alive."""
    if issubclass(type(key), weakref.ref):
        key = key()
    return compares_in_c(type(key))


def value_at(container: Any, number: int) -> Any:
    """The value under the key of that number of a dictionary, in the order of the builtin class; no key is hashed.  Raises IndexError."""
    base = base_of(type(container))
    if base is not dict and base is not OrderedDict:
        raise TypeError(f"a {type(container).__name__} is no dictionary")
    for value in islice(base.values(container), number, None):
        return value
    raise IndexError(number)


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


_BEHIND_LINKS = 6  # what a cache of functools holds behind its links: results, function, a mark, two classes, its instance dictionary


def _held_by(wrapper: Any) -> list[Any]:
    """What an object of `functools.lru_cache` refers to; each of its links, if it has some, is a key, a result and a class."""
    if type(wrapper) is not functools._lru_cache_wrapper:
        raise TypeError(f"a {type(wrapper).__name__} is no function with a cache")
    names = wrapper.__dict__  # which is made when it is first asked for
    found = gc.get_referents(wrapper)
    if len(found) <= _BEHIND_LINKS or found[-1] is not names or type(found[-_BEHIND_LINKS]) is not dict:
        raise TypeError("a cache of another kind")
    return found


def results_of(wrapper: Any) -> dict[Any, Any]:
    """What a function with a cache remembers, by the arguments: results, or links that hold them, each for one result.  Raises TypeError for others."""
    found: dict[Any, Any] = _held_by(wrapper)[-_BEHIND_LINKS]
    return found


def mark_of_keywords(wrapper: Any) -> Any:
    """What stands between arguments by position and by name in the keys of `results_of`."""
    return _held_by(wrapper)[2 - _BEHIND_LINKS]


def remembered(wrapper: Any, key: Any) -> Any:
    """The result for a key of `results_of`.  Raises KeyError when there is none."""
    found = _held_by(wrapper)
    results: dict[Any, Any] = found[-_BEHIND_LINKS]
    link = results[key]
    links = found[1:-_BEHIND_LINKS]
    if not links:
        return link
    own = next(own for own, each in results.items() if each is link)
    return next(links[number + 1] for number in range(0, len(links), 3) if links[number] is own)
