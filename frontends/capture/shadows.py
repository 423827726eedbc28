"""Copies that take the trace's writes to containers from outside, by the identity of the original.

What is appended to a container that the frame does not look into, or stored there under a name, waits: while it does, nothing about the contents is
guarded, so that a list that grows by one at each call, and a dictionary of the last activations, need no new version.  The first look makes the copy,
guards what the original holds but for what is overwritten, and does what waited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Set
from typing import Any

from lect.frontends.capture.scalars import SCALAR_TYPES


class Shadows(dict[int, Any]):
    """The table.  Every look-up of a container that has appends waiting makes its copy first.  `some` is False until something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.some = False
        self.hits = 0  # how often a copy was looked for and found
        self.waiting: dict[int, tuple[Callable[[Collection[Any]], Any], list[tuple[Any, list[Any]]]]] = {}

    def waits(self, original: Any) -> bool:
        """True while there is no copy of a container."""
        return not dict.__contains__(self, id(original))

    def defer(self, original: Any, make: Callable[[Collection[Any]], Any], function: Any, args: list[Any]) -> bool:
        """Let `function(copy, *args)` wait until the copy, which `make(keys that are overwritten)` gives, is asked for; False when there is one already."""
        if not self.waits(original):
            return False
        self.some = True
        self.waiting.setdefault(id(original), (make, []))[1].append((function, args))
        return True

    def _make(self, key: Any) -> None:
        if key in self.waiting:
            make, calls = self.waiting.pop(key)
            made = make({args[0] for function, args in calls if function is dict.__setitem__})
            for function, args in calls:
                function(made, *args)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.some = True
        dict.__setitem__(self, key, value)

    def __contains__(self, key: object) -> bool:
        if self.waiting:
            self._make(key)
        found = dict.__contains__(self, key)
        self.hits += found
        return found

    def __getitem__(self, key: int) -> Any:
        if self.waiting:
            self._make(key)
        self.hits += 1
        return dict.__getitem__(self, key)

    def get(self, key: int, default: Any = None) -> Any:
        """The copy, or `default`."""
        if self.waiting:
            self._make(key)
        found = dict.get(self, key, self)
        if found is self:
            return default
        self.hits += 1
        return found

    def ids(self) -> Set[Any]:
        """The identities of what has a copy, or one that waits to be made."""
        return dict.keys(self) if not self.waiting else dict.keys(self) | self.waiting.keys()

    def clear(self) -> None:
        """Drop everything."""
        self.waiting.clear()
        dict.clear(self)


def may_wait(function: Any, value: Any, args: list[Any]) -> bool:
    """True for an append, and for an item stored under a name, that tell nothing of what the container holds."""
    if function is dict.__setitem__:
        return type(value) is dict and type(args[0]) is str
    if function is deque.append:
        return type(value) is deque and value.maxlen is None
    return function is list.append and type(value) is list and len(args) == 1


def replaced(function: Any, value: Any, args: list[Any], kwargs: Mapping[str, Any]) -> Collection[Any]:
    """The keys or indices of a plain dictionary or list whose old items a method overwrites or drops without giving them to anybody."""
    if type(value) is dict and all(type(key) in SCALAR_TYPES for key in value):
        if function is dict.clear:
            return value.keys()
        if function is dict.__setitem__ and type(args[0]) in SCALAR_TYPES:
            return (args[0],)
        if function in (dict.update, dict.__ior__) and all(type(each) is dict and all(type(key) in SCALAR_TYPES for key in each) for each in args):
            return {*kwargs, *[key for each in args for key in each]}
    elif type(value) is list:
        if function is list.clear:
            return range(len(value))
        if function is list.__setitem__ and type(args[0]) is int and -len(value) <= args[0] < len(value):
            return (args[0] % len(value),)
    return ()
