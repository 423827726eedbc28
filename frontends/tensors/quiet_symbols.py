"""Keeps torch's Python meta kernels from importing symbolic algebra.

Many of them ask `guard_or_false(a == b)` and the like of torch's module for symbolic sizes, which they import when they are called, and which takes
longer than a whole compile of ours.  Sizes are plain numbers here, or those of `sizes.py`, which decide when they are asked: for both these functions do
nothing.  While a meta kernel runs, small modules of the same names stand where those would be imported from.  For any other thread, any other name and any
argument that is symbolic in torch's own way they hand out what the true module has; once that is loaded they are never used again.
"""

from __future__ import annotations

import importlib
import operator
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from types import MappingProxyType, ModuleType
from typing import Any, Final

import torch

from lect.frontends.tensors.size_truths import Truth
from lect.frontends.tensors.sizes import SizeNode

SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
OURS: Final = (SizeNode, Truth)  # which answer every question by themselves


def _unchanged(value: Any) -> Any:
    return value


def _all(*values: Any) -> Any:
    return reduce(operator.and_, values)


def _any(*values: Any) -> Any:
    return reduce(operator.or_, values)


def _equal(x: Any, y: Any) -> Any:
    if isinstance(x, tuple | list) and isinstance(y, tuple | list):
        return len(x) == len(y) and all(map(_equal, x, y))
    return x == y


class _NoExpression:
    """Stands for the base class of symbolic expressions: nothing is one."""


PLAIN: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "torch.fx.experimental.symbolic_shapes": MappingProxyType(
            {
                **dict.fromkeys(("guard_or_false", "guard_or_true", "guard_size_oblivious", "statically_known_true", "guard_int", "expect_true"), _unchanged),
                "guarding_hint_or_throw": _unchanged,
                "has_guarding_hint": lambda value: True,
                "has_hint": lambda value: True,
                "size_hint": _unchanged,
                "is_nested_int": lambda value: False,
                "free_unbacked_symbols": lambda value: set(),
                "sym_and": _all,
                "sym_or": _any,
                "sym_eq": _equal,
            }
        ),
        "torch.utils._sympy.functions": MappingProxyType({"Max": lambda *values: max(values), "Min": lambda *values: min(values)}),
        "sympy": MappingProxyType({"Basic": _NoExpression}),
    }
)


class StandIn(ModuleType):
    """A module that answers for another in the threads that are inside `without_symbols`, and hands out what the true one has in all others."""

    def __init__(self, name: str, switch: _Switch) -> None:
        super().__init__(name)
        self.__dict__["_switch"] = switch
        del self.__dict__["__spec__"]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        plain = PLAIN[self.__name__].get(name)
        if plain is None or not self._switch.here():
            return getattr(self._switch.true_module(self.__name__), name)
        return plain if isinstance(plain, type) else self._for_plain_numbers(name, plain)

    def _for_plain_numbers(self, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*values: Any) -> Any:
            if any(isinstance(value, SYMBOLIC) and type(value.node) not in OURS for value in values):
                return getattr(self._switch.true_module(self.__name__), name)(*values)
            return plain(*values)

        return ask


class _Switch:
    """Puts the stand-ins where modules are looked for while any thread is inside, and takes them away again."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.inside: dict[int, int] = {}  # thread -> how deep
        self.modules = {name: StandIn(name, self) for name in PLAIN}

    def here(self) -> bool:
        """True in a thread that is inside."""
        return threading.get_ident() in self.inside

    def enter(self) -> None:
        with self.lock:
            me = threading.get_ident()
            self.inside[me] = self.inside.get(me, 0) + 1
            for name, module in self.modules.items():
                sys.modules.setdefault(name, module)

    def leave(self) -> None:
        with self.lock:
            me = threading.get_ident()
            self.inside[me] -= 1
            if not self.inside[me]:
                del self.inside[me]
            if not self.inside:
                self._remove()

    def _remove(self) -> None:
        for name, module in self.modules.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]

    def true_module(self, name: str) -> ModuleType:
        """The module that a stand-in stands for, loaded now if it was not."""
        with self.lock:
            self._remove()
            return importlib.import_module(name)


@contextmanager
def without_symbols() -> Iterator[None]:
    """Inside, in this thread, torch's Python meta kernels find the stand-ins."""
    _SWITCH.enter()
    try:
        yield
    finally:
        _SWITCH.leave()


_SWITCH: Final = _Switch()

__all__ = ["without_symbols"]
