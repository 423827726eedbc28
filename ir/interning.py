"""Frozen, interned value classes: what types and attributes are made of.

`interned` turns an annotated class into one whose instances are unique per field values, so `is` compares them and a dictionary keyed by
them never calls `__eq__`.  Fields may be given by position or by name; defaults work as in a dataclass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


# An integer is its own key: what equals it (True, 1.0) has a key with its class in front, and no attribute holds a class.
_OWN_KEY = frozenset({str, int, type(None)})


def literal_key(value: Any) -> Any:
    """A hashable key that tells apart what `==` does not: 1, 1.0 and True, 0.0 and -0.0, and that finds a NaN equal to itself."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is tuple or kind is list:
        return tuple([item if type(item) in _OWN_KEY else literal_key(item) for item in value])
    if kind is float:
        return (float, value.hex())
    if kind is complex:
        return (complex, value.real.hex(), value.imag.hex())
    if kind is dict:
        return (dict, tuple([(name, literal_key(item)) for name, item in value.items()]))
    if kind is bool:
        return (bool, value)
    return value


def _freeze(value: Any) -> Any:
    return tuple([_freeze(item) for item in value]) if type(value) is list else value


@dataclass_transform(frozen_default=True)
def interned(cls: type[T]) -> type[T]:
    """Class decorator: annotated names become the slots and constructor parameters of an interned class.

    A class may define `normalize(cls, **fields) -> dict` to bring fields to their canonical form (and to refuse wrong ones) before interning.
    """
    names = tuple(name for name in inspect.get_annotations(cls) if not name.startswith("_"))
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    table: dict[Any, Any] = {}
    normalize = getattr(cls, "normalize", None)
    count = len(names)

    def new(klass: type[T], *args: Any, **kwargs: Any) -> T:
        if kwargs or len(args) != count:
            args = _bind(klass, names, defaults, args, kwargs)
        if normalize is not None:
            args = tuple(normalize(**dict(zip(names, args))).values())
        key = tuple([value if type(value) in _OWN_KEY else literal_key(value) for value in args])
        found = table.get(key)
        return _made(klass, names, tuple([_freeze(value) for value in args]), table, key) if found is None else found

    def canonical(klass: type[T], *args: Any) -> T:
        """The instance with these fields, all given, which are normalized, and in which each number is an int."""
        found = table.get(args)
        return _made(klass, names, args, table, args) if found is None else found

    body = {name: value for name, value in cls.__dict__.items() if name not in defaults and name not in ("__dict__", "__weakref__")}
    body["__slots__"] = (*names, "_text")
    body["fields"] = names
    body["__new__"] = new
    body["canonical"] = classmethod(canonical)
    body["__setattr__"] = _refuse
    body["__reduce__"] = lambda self: (type(self), tuple(getattr(self, name) for name in names))
    body["__deepcopy__"] = lambda self, memo: self
    body["__copy__"] = lambda self: self
    metaclass: Any = type(cls)
    made = metaclass(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _made(klass: type[T], names: tuple[str, ...], args: tuple[Any, ...], table: dict[Any, Any], key: Any) -> T:
    """A new instance, entered in the table."""
    made = object.__new__(klass)
    put = object.__setattr__
    for name, value in zip(names, args):
        put(made, name, value)
    put(made, "_text", None)
    table[key] = made
    return made


def _bind(klass: type, names: tuple[str, ...], defaults: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> tuple:
    if len(args) > len(names):
        raise TypeError(f"{klass.__name__} takes {len(names)} fields ({', '.join(names)}), got {len(args)}")
    values = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names or name in values:
            raise TypeError(f"{klass.__name__} has no free field '{name}'; fields are {', '.join(names)}")
        values[name] = value
    missing = [name for name in names if name not in values and name not in defaults]
    if missing:
        raise TypeError(f"{klass.__name__} needs the field '{missing[0]}'")
    return tuple([values[name] if name in values else defaults[name] for name in names])


def _refuse(self: Any, name: str, value: Any) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: '{name}' cannot be set")


Decorator = Callable[[type[T]], type[T]]
