"""Classes made without what `type.__new__` calls behind that, and unmade again.

The metaclass `type` makes the class, tells the values of its namespace their names (`__set_name__`), and tells the base class (`__init_subclass__`): both
may be code of the program, which the interpreter follows in its own way, and which residual code must not run a second time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import BuiltinFunctionType, MappingProxyType
from typing import Any

_LAST = "__lect_last__"  # a name that no program has


class _Stop(Exception):
    """Ends `type.__new__` when the class is complete."""


class _Catcher:
    """The first value of a namespace that is told its name: it takes the class and lets `type.__new__` do nothing more."""

    owner: Any = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner
        raise _Stop


def bare_class(metaclass: type, name: str, bases: tuple[type, ...], names: Mapping[str, Any]) -> type:
    """The class that `type.__new__` makes of these, before anything is told of it.  No value of `names` may have a `__set_name__`.

    Raises what `type.__new__` raises.
    """
    catcher = _Catcher()
    try:
        type.__new__(metaclass, name, bases, {**names, _LAST: catcher})
    except (_Stop, RuntimeError):  # which it is wrapped in up to Python 3.11
        if catcher.owner is None:
            raise
    made: type = catcher.owner
    type.__delattr__(made, _LAST)
    return made


class _Nothing:
    """What classes derive from that are let go of."""


def disown(classes: Iterable[type]) -> None:
    """Take classes, which nobody uses any more, out of the lists of subclasses of their bases: they stay there until the garbage collector comes."""
    for cls in classes:
        if any(base is not object for base in cls.__bases__):
            with suppress(TypeError):  # some layouts cannot be changed
                type.__dict__["__bases__"].__set__(cls, (_Nothing,))


def _prepare(function: Any, t: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`type.__prepare__` takes whatever it is given."""
    return t.made({})


def _init_subclass(function: Any, t: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if args or kwargs:
        from lect.frontends.capture.effects import run_real

        run_real(function, *[None for _ in args], **dict.fromkeys(kwargs))  # which refuses them
    return (None, None)


# Class methods in C that every class has, by name: the entry of the dictionary, and the rule.
_OF_TYPE: Mapping[str, tuple[Any, Callable[..., Any]]] = MappingProxyType(
    {"__prepare__": (type.__dict__["__prepare__"], _prepare), "__init_subclass__": (object.__dict__["__init_subclass__"], _init_subclass)}
)


def rule_of_type(function: Any) -> Callable[..., Any] | None:
    """The rule for a class method of `type` or `object` that is bound to some class; None for any other function."""
    known = _OF_TYPE.get(function.__name__) if type(function) is BuiltinFunctionType else None
    if known is None or not issubclass(type(function.__self__), type) or function != known[0].__get__(None, function.__self__):
        return None
    return functools.partial(known[1], function)
