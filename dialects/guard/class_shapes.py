"""What a class is made of: two classes of one shape come from one class statement that runs again and again.

The shape is all that C code decides on: metaclass, name, bases, names in their order, what kind of entry each is, and the code of functions.  Values, the
variables around functions and their defaults are no part of it: they are read along paths.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

_ABSTRACT = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT
_OF_TYPE = vars(type)
_NAME, _QUALNAME, _MODULE, _BASES, _ENTRIES = (_OF_TYPE[name].__get__ for name in ("__name__", "__qualname__", "__module__", "__bases__", "__dict__"))
Names = tuple[str, str]


def names_of_class(cls: type) -> Names:
    """The module and the qualified name, as the class has them whatever its metaclass says."""
    return str(_MODULE(cls)), str(_QUALNAME(cls))


def names_of_function(function: FunctionType) -> Names:
    """The same of a function."""
    return str(function.__module__), function.__qualname__


def codes_of(entry: Any) -> tuple[CodeType, ...]:
    """The code of the functions that an entry of a class consists of."""
    parts = parts_of(entry)
    return tuple([part.__code__ for _, part in parts if type(part) is FunctionType])


def parts_of(entry: Any) -> list[tuple[str, Any]]:
    """The objects below an entry of a class that C code calls, by attribute; an empty text stands for the entry itself."""
    kind = type(entry)
    if kind is FunctionType:
        return [("", entry)]
    if kind is property:
        return [(name, getattr(entry, name)) for name in ("fget", "fset", "fdel")]
    return [("__func__", entry.__func__)] if kind in (staticmethod, classmethod) else []


class Shape:
    """The shape of a class.  `is_made_anew` says of which bases the shape counts too; other classes are themselves."""

    __slots__ = ("abstract", "bases", "entries", "meta", "names")

    def __init__(self, cls: type, is_made_anew: Callable[[type], bool]) -> None:
        self.meta = weakref.ref(type(cls))
        self.names = (_NAME(cls), *names_of_class(cls))
        self.abstract = cls.__flags__ & _ABSTRACT
        self.bases = tuple([Shape(base, is_made_anew) if is_made_anew(base) else weakref.ref(base) for base in _BASES(cls)])
        self.entries = _entries(cls)

    def fits(self, cls: Any) -> bool:
        """True for a class of this shape."""
        if type(cls) is not self.meta() or (_NAME(cls), *names_of_class(cls)) != self.names or cls.__flags__ & _ABSTRACT != self.abstract:
            return False
        bases = _BASES(cls)
        if len(bases) != len(self.bases):
            return False
        for base, wanted in zip(bases, self.bases):
            if not (wanted.fits(base) if type(wanted) is Shape else wanted() is base):  # type: ignore[operator]
                return False
        return _entries(cls) == self.entries


def _entries(cls: type) -> tuple[tuple[str, weakref.ref[type] | None, tuple[CodeType, ...]], ...]:
    """Name, class and code of each entry; instances of the class itself, as the members of an enum, have no class."""
    return tuple([(name, weakref.ref(type(entry)) if type(entry) is not cls else None, codes_of(entry)) for name, entry in _ENTRIES(cls).items()])
