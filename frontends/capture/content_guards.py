"""Guards on what an object of C code holds, where a program may make it anew for each call: then its identity says nothing, and its contents all.

Such are bound methods of C (`items.append`), what `operator` makes, matches of patterns, frozensets, and instances of classes that derive from numbers and
texts.  What is reached through globals lasts and is known by its identity, which is one comparison.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, MappingProxyType, MethodDescriptorType, MethodWrapperType, ModuleType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any

from lect.dialects.guard.getters import GETTERS, contents_of
from lect.frontends.capture.scalars import SCALAR_TYPES

if TYPE_CHECKING:
    from lect.frontends.capture.sources import Source
    from lect.frontends.capture.tracer import Box, Tracer

BOUND_IN_C = (BuiltinFunctionType, MethodWrapperType)
_IN_C = (MethodDescriptorType, WrapperDescriptorType)
DERIVED = (int, float, complex, str, bytes)  # bases of classes whose instances are values, as members of an IntEnum


def is_passed_in(source: Source | None) -> bool:
    """True for what is reached through an argument: it may be another object in each call."""
    return source is not None and source.root.kind == "L"


def descriptor_of(function: Any) -> Any:
    """The method in C that is bound to an object; None for a function that is bound to none, or of which that is not known."""
    owner = getattr(function, "__self__", None)
    if type(function) not in BOUND_IN_C or owner is None or issubclass(type(owner), ModuleType | type) or type(owner).__name__ == "PyCapsule":
        return None
    found = [base.__dict__.get(function.__name__) for base in type(owner).__mro__]
    return next((entry for entry in found if type(entry) in _IN_C), None)


def method_in_c(t: Tracer, callee: Box) -> tuple[Any, Box] | None:
    """What a bound method of C that is passed in calls: the method of the class, and the object; None for other callables.

    The object and the name say all about it.  A class may hold two methods of one name in C, of which `super` finds the second: None then too.
    """
    value, source = callee
    if not is_passed_in(source) or t.is_fresh(value):
        return None
    descriptor, owner = descriptor_of(value), getattr(value, "__self__", None)
    if descriptor is None or sum(type(base.__dict__.get(value.__name__)) in _IN_C for base in _below_object(type(owner))) > 1:
        return None
    assert source is not None
    t.guards.type_is(source, type(value))
    t.guards.equals(source.attr("__name__"), value.__name__)
    box = t.wrap(owner, source.attr("__self__"))
    t.guard_type(box)
    if type(owner) in SCALAR_TYPES:
        t.leak(box)
    return descriptor, box


def _below_object(cls: type) -> tuple[type, ...]:
    return cls.__mro__[:-1]


def guard_contents(t: Tracer, box: Box) -> bool:
    """Guard what a passed in object of C holds; False, and nothing is guarded, where its identity has to do."""
    value, source = box
    guard = _GUARDS.get(type(value))
    if guard is None or source is None or not is_passed_in(source) or t.is_fresh(value):
        return False
    return guard(t, value, source)


def _getter(t: Tracer, value: Any, source: Source) -> bool:
    held = contents_of(value)
    place = source.step("contents")
    if not all(type(item) in SCALAR_TYPES for item in held):
        return False
    t.guards.type_is(source, type(value))
    t.guards.items(place, held)
    return True


def _match(t: Tracer, value: Any, source: Source) -> bool:
    if type(value.string) is not str:
        return False
    t.guards.type_is(source, type(value))
    t.guards.is_object(source.attr("re"), value.re)
    for name in ("string", "pos", "endpos", "lastindex"):
        t.guards.equals(source.attr(name), getattr(value, name))
    for number, span in enumerate(value.regs):
        t.guards.items(source.attr("regs").item(number), span)
    return True


def _frozenset(t: Tracer, value: Any, source: Source) -> bool:
    t.guards.type_is(source, frozenset)
    t.register((value, source))
    return True


_GUARDS: Mapping[type, Callable[[Any, Any, Any], bool]] = MappingProxyType({re.Match: _match, frozenset: _frozenset, **dict.fromkeys(GETTERS, _getter)})


def guard_value(t: Tracer, value: Any, source: Source) -> None:
    """An instance of a class that derives from a number or a text has this value: what its operators and methods in C give hangs on that."""
    if not is_passed_in(source) or issubclass(type(value), enum.Enum):
        t.guards.is_object(source, value)
        return
    t.guard_type((value, source))
    t.guards.equals(source.step("contents"), contents_of(value))
