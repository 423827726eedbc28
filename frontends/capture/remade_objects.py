"""Classes and functions that a program makes anew for each call: they are known by their shape and the paths to them, not by their identity.

One is taken for such when a version did not hold as another one of the same name was there (`NumberPolicy.remade`).  Then a class is read along the path
on which it was met, as the class of an object say; that the class there has this shape is guarded, its functions are read along paths, and their code is
part of the shape.  Of a function the code and the globals are guarded, and the rest is read along its path too.  What is reached in another way breaks
the graph.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from lect.dialects.guard.class_shapes import Shape, codes_of, names_of_class, names_of_function, parts_of
from lect.frontends.capture.disabled import DISABLED

if TYPE_CHECKING:
    from lect.frontends.capture.sources import Source
    from lect.frontends.capture.tracer import Tracer


_MARKS = (*DISABLED, "_lect_original")  # which decide how a function is called


def is_remade(t: Tracer, value: Any) -> bool:
    """True for a class or function that is not known by its identity."""
    if not t.policy.remade or t.is_fresh(value):
        return False
    if type(value) is FunctionType:
        return names_of_function(value) in t.policy.remade
    return issubclass(type(value), type) and names_of_class(value) in t.policy.remade


def meet(t: Tracer, value: Any, source: Source) -> None:
    """A class or function that is not known by its identity is read for the first time, along `source`."""
    if type(value) is FunctionType:
        t.guards.type_is(source, FunctionType)
        if id(value) not in t.of_remade:  # else its code is part of a shape
            t.guards.is_object(source.attr("__code__"), value.__code__)
        t.guards.is_object(source.attr("__globals__"), value.__globals__)
        for mark in _MARKS:
            if mark not in value.__dict__:
                t.guards.no_attr(source, mark)
    else:
        _meet_class(t, value, source)
    for other in t.remade:
        known = t.seen[id(other)][1]
        if known is not None and type(other) is type(value):
            t.guards.distinct(source, known)
    t.remade.append(value)
    t.guards.by_shape.add(id(value))


def _meet_class(t: Tracer, cls: type, source: Source) -> None:
    for number, base in enumerate(cls.__bases__):
        if is_remade(t, base):
            t.wrap(base, source.attr("__bases__").item(number))
    t.guards.class_like(source, Shape(cls, lambda base: is_remade(t, base)))
    for entry in cls.__dict__.values():
        for _, part in parts_of(entry):
            if not t.is_fresh(part):
                t.of_remade.add(id(part))


def guard_class(t: Tracer, source: Source, cls: type) -> None:
    """The object at `source` is an instance of exactly this class."""
    if is_remade(t, cls):
        t.wrap(cls, source.step("type"))
    else:
        t.guards.type_is(source, cls)


def check_found(t: Tracer, value: Any) -> None:
    """Break for an object that belongs to the class of one call, where it was not reached by a path."""
    if id(value) in t.of_remade or is_remade(t, value):
        raise t.stop("LB0007", "a class or function that is made anew for each call")


def take_entry(t: Tracer, entry: Any, place: Source) -> None:
    """An entry of a class that is known by its shape: it and its functions are found along paths."""
    guard_class(t, place, type(entry))
    for name, part in (("", entry), *parts_of(entry)):
        t.guards.by_shape.add(id(part))
        t.wrap(part, place.attr(name) if name else place)
    for code in codes_of(entry):
        t.guards.by_shape.add(id(code))
        t.keep.append(code)
