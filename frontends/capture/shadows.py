"""Copies that take the trace's writes to containers from outside, by the identity of the original.

What is appended to a container that the frame does not look into waits: while it does, nothing about the contents is guarded, so that a list that
grows by one at each call needs no new version.  The first look makes the copy, guards what the original holds, and appends.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any


class Shadows(dict[int, Any]):
    """The table.  Every look-up of a container that has appends waiting makes its copy first.  `some` is False until something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.some = False
        self.hits = 0  # how often a copy was looked for and found
        self.waiting: dict[int, tuple[Callable[[], Any], list[tuple[Any, list[Any]]]]] = {}

    def defer(self, original: Any, make: Callable[[], Any], function: Any, args: list[Any]) -> bool:
        """Let `function(copy, *args)` wait until the copy, which `make` gives, is asked for; False when there is one already."""
        if dict.__contains__(self, id(original)):
            return False
        self.some = True
        self.waiting.setdefault(id(original), (make, []))[1].append((function, args))
        return True

    def _make(self, key: Any) -> None:
        if key in self.waiting:
            make, calls = self.waiting.pop(key)
            made = make()
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
