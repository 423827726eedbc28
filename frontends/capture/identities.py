"""Which object it is that C code compares, hashes or looks for: such an answer hangs on the identity of what the containers hold.

An object from outside is guarded to be this very one, until a version did not hold for another one of its class (`NumberPolicy.instances`): a program may
make it anew for each call.  Then all that decides is which of the objects that are compared are one and the same, and that is what is guarded.
"""

from __future__ import annotations

import functools
from collections import deque
from typing import TYPE_CHECKING, Any

from lect.dialects.guard.class_shapes import names_of_class
from lect.dialects.guard.containers import compares_identity, compares_in_c
from lect.frontends.capture.content_guards import DERIVED, guard_contents, is_passed_in
from lect.frontends.capture.scalars import DICT_VIEWS, SCALAR_TYPES
from lect.frontends.tensors import LT

if TYPE_CHECKING:
    from lect.frontends.capture.sources import Source
    from lect.frontends.capture.tracer import Tracer

_HOLDERS = (list, tuple, set, frozenset, deque, *DICT_VIEWS)
DEEPEST = 20


def pin(t: Tracer, value: Any, depth: int = 0) -> None:
    """Guard that the classes, functions and other objects in `value` are these very ones, where they came from outside of the trace."""
    kind = type(value)
    if kind in SCALAR_TYPES or kind is LT:
        check_nan(t, value)
        return
    if issubclass(type(value), _HOLDERS) or issubclass(type(value), dict):
        if depth < DEEPEST:
            for item in _held(value):
                pin(t, item, depth + 1)
    elif kind is functools.partial:
        for item in (value.func, *value.args, *value.keywords.values()):
            pin(t, item, depth + 1)
    else:
        known = t.seen.get(id(value))
        if known is not None and known[1] is not None:
            tell_tensor(t, known[1], value) if type(known[0]) is LT else identify(t, known[1], value)


def identify(t: Tracer, source: Source, value: Any) -> None:
    """Guard which object is at `source`: this very one, or one that is like and unlike the others that were identified."""
    if guard_contents(t, (value, source)) or (issubclass(type(value), DERIVED) and is_passed_in(source) and compares_in_c(type(value))):
        return  # equal ones are as good
    if not t.policy.instances or not may_be_anew(t, value):
        t.guards.is_object(source, value)
    else:
        tell_apart(t, source, value)


def tell_tensor(t: Tracer, source: Source, tensor: Any) -> None:
    """Guard which of the tensors that are looked for or looked at the one at `source` is: all that were told so differ (see `to_fx`)."""
    t.memo.disturb()
    known = t.told.setdefault(id(tensor), source)
    t.guards.same(source, known)


def tell_apart(t: Tracer, source: Source, value: Any) -> None:
    """Guard that the object at `source` is one of its class, and which of those that were told apart before it is; one that is not passed in is itself."""
    known = t.identified.get(id(value))
    if known is not None:
        t.guards.same(source, known)
        return
    passed = is_passed_in(source)
    t.guard_type((value, source)) if passed else t.guards.is_object(source, value)
    others = t.identified_kinds.setdefault(type(value), [])
    for other in others:
        if passed or is_passed_in(other):
            t.guards.distinct(source, other)
    t.identified[id(value)] = source
    others.append(source)


def may_be_anew(t: Tracer, value: Any) -> bool:
    """True for an instance of a class whose instances were found to be made anew, when nothing but its identity tells it from others."""
    kind = type(value)
    return names_of_class(kind) in t.policy.instances and compares_identity(kind)


def check_lasting(t: Tracer, source: Source | None, value: Any) -> None:
    """Break for an object whose identity alone says what an operation gives, when it is made anew for each call."""
    if t.policy.instances and is_passed_in(source) and may_be_anew(t, value):
        raise t.stop("LB0007", f"a {type(value).__name__} that is made anew for each call")


def known_by_place(t: Tracer, value: Any) -> Source | None:
    """Where an object is that was identified as like and unlike others, or by its shape; None for one that is known for itself."""
    found = t.seen[id(value)][1] if id(value) in t.guards.by_shape and id(value) in t.seen else t.identified.get(id(value))
    return found if is_passed_in(found) else None


def settle_order(t: Tracer, value: Any) -> None:
    """Break where the items of a set made in the trace are read in their order, when that hangs on where new objects are in memory."""
    if (t.identified or t.told) and issubclass(type(value), set | frozenset) and len(value) > 1:
        for item in value:
            if id(item) in t.told:
                t.guards.is_object(t.told[id(item)], item)
            if known_by_place(t, item) is not None:
                raise t.stop("LB0007", f"the order of a set of objects that are made anew for each call, such as a {type(item).__name__}")


def check_nan(t: Tracer, value: Any) -> None:
    """Break for a NaN: it equals nothing, so C code finds the very object alone, and no guard tells one NaN from another."""
    if type(value) in (float, complex) and value != value:
        raise t.stop("LB0019", "a NaN, which C code knows by its identity")


def _held(value: Any) -> Any:
    """The elements as C code finds them."""
    if issubclass(type(value), dict):
        return (*dict.keys(value), *dict.values(value))
    base: Any = next(base for base in _HOLDERS if issubclass(type(value), base))
    return base.__iter__(value)
