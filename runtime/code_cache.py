"""The versions of one compiled function, most recently used first, and the call that picks one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from types import CodeType, FunctionType
from typing import Any

import torch

from lect.ir import Location
from lect.runtime.guards import HOLDS, Predicate
from lect.runtime.native_guards import NativeGuards
from lect.runtime.repeat import raised_in, show_line

VERSION_LIMIT = 8
MOST_RAISING = 2  # versions for calls that raise; each may be for one wrong argument, and they are not to take the place of others


class Version:
    """One way to run the function: when `predicate` holds, `run` takes the call.  `eager` says that `run` is the function itself."""

    __slots__ = ("eager", "graph_codes", "holds", "number", "parameters", "places", "predicate", "raises", "reason", "run")

    def __init__(self, number: int, predicate: Predicate, run: Callable[..., Any], eager: bool, reason: str) -> None:
        self.number = number
        self.predicate = predicate
        self.holds = predicate.holds
        self.run = run
        self.eager = eager
        self.reason = reason
        self.parameters: Any = None
        self.raises = False  # the program raises in such calls
        self.graph_codes: frozenset[CodeType] = frozenset()
        self.places: tuple[CodeType, Mapping[int, Location]] | None = None  # of a graph that runs through torch

    def may_repeat(self, error: Exception) -> bool:
        """True when an exception came out of the graph and nothing has changed, so that the call can be made again as the program is written.

        Else its traceback names the line of the program, where that is known.
        """
        if self.graph_codes and raised_in(error, self.graph_codes):
            return True
        if self.places is not None:
            show_line(error, *self.places)
        return False


class CodeCache:
    """All versions of one function.  Iteration is over a tuple, so that a call in another thread never sees a half-made list."""

    def __init__(self, function: FunctionType, limit: int = VERSION_LIMIT, native: NativeGuards | None = None) -> None:
        self.function = function
        self.native = native or NativeGuards(function, "python")
        self.limit = limit
        self.versions: tuple[Version, ...] = ()
        self.lock = RLock()
        self.made = 0
        self.gave_up = False

    def find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Version | None:
        """A version that holds for these arguments.  Raises TypeError when the arguments do not fit the function."""
        version = self.native.find(args, kwargs)
        return self.search(args, kwargs) if version is None else version

    def search(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Version | None:
        """`find` without native code, which learns from what is found here.

        No version holds in a mode that overrides torch functions, and it would see the question: guards read attributes of tensors.
        """
        if torch._C._len_torch_function_stack():
            return None
        for version in self.versions:
            if version.holds(*args, **kwargs) == HOLDS:
                if version is not self.versions[0]:
                    self._to_front(version)
                self.native.learn(version, args, kwargs)
                return version
        return None

    def failures(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Version, int]]:
        """Each version with the number of the guard that fails."""
        return [(version, version.holds(*args, **kwargs)) for version in self.versions]

    def _to_front(self, version: Version) -> None:
        with self.lock:
            others = tuple(other for other in self.versions if other is not version)
            if len(others) < len(self.versions):
                self.versions = (version, *others)

    def add(self, version: Version) -> None:
        """A new version, which is asked first from now on.  The oldest of those for calls that raise makes place when there are too many of these."""
        with self.lock:
            others = self.versions
            raising = [other for other in others if other.raises] if version.raises else []
            if len(raising) >= MOST_RAISING:
                others = tuple([other for other in others if other is not raising[-1]])
            self.versions = (version, *others)
            self.made += 1

    @property
    def full(self) -> bool:
        """True when no further version may be made."""
        return sum(not version.raises for version in self.versions) >= self.limit

    def clear(self) -> None:
        """Forget all versions."""
        with self.lock:
            self.versions = ()
            self.native.clear()
            self.gave_up = False
