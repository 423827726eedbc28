"""Where an item of a container from outside of the trace is found again: the source of `container[key]`."""

from __future__ import annotations

import enum
import weakref
from typing import TYPE_CHECKING, Any

import torch

from lect.dialects.guard.containers import compares_identity, elements, has, is_hashed_in_c, redefines
from lect.frontends.capture.content_guards import DERIVED
from lect.frontends.capture.identities import identify, known_by_place, may_be_anew, tell_tensor
from lect.frontends.capture.remade_objects import is_remade
from lect.frontends.capture.scalars import SCALAR_TYPES

if TYPE_CHECKING:
    from lect.frontends.capture.sources import Source
    from lect.frontends.capture.tracer import Tracer

_PATH_KEYS = frozenset({int, str, bool, type(None)})


def _is_literal(key: Any) -> bool:
    """True for a key that has a text."""
    kind = type(key)
    return kind in _PATH_KEYS or (kind is float and key == key) or (kind is tuple and all(_is_literal(item) for item in key))


def entry(t: Tracer, container: Any, source: Source, key: Any) -> Source:
    """The source of `container[key]`, for a container at `source`; a key without text is kept as an object.

    Below a tensor, below a key that Python code hashes or compares, and below one that is known by its place or contents, a value is found by its number:
    a guard runs no code of the program, and keeps no object that is made anew.
    """
    if issubclass(type(container), dict):
        if issubclass(type(key), torch.Tensor) or not is_hashed_in_c(key):
            number = next(number for number, found in enumerate(elements(container)) if found is key)
            guard_tensor_key(t, source.step("key", number), key)
            return source.step("value", number)
        if type(key) not in SCALAR_TYPES and needs_place(t, key):
            number, stored = next((number, found) for number, found in enumerate(elements(container)) if found is key or found == key)
            guard_key(t, source.step("key", number), stored)
            return source.step("value", number)
    step = "own" if redefines(type(container), "__getitem__") else "item"
    return source.step(step, key if _is_literal(key) else t.objects.ref(key))


def needs_place(t: Tracer, key: Any) -> bool:
    """True for a key of which another object may stand in another call: no guard may name this one."""
    kind = type(key)
    if kind in SCALAR_TYPES:
        return False
    if issubclass(kind, tuple):
        return any(needs_place(t, item) for item in key)
    if issubclass(kind, weakref.ref):  # it is looked for by what it refers to
        return key() is not None and needs_place(t, key())
    if kind is frozenset or (issubclass(kind, DERIVED) and not issubclass(kind, enum.Enum)):
        return True
    return known_by_place(t, key) is not None or may_be_anew(t, key) or is_remade(t, key)


def guard_key(t: Tracer, place: Source, key: Any) -> None:
    """At this place is this key, or one that equals it."""
    kind = type(key)
    if kind in SCALAR_TYPES:
        t.guards.equals(place, key)
    elif issubclass(kind, torch.Tensor):
        guard_tensor_key(t, place, key)
    elif issubclass(kind, tuple):
        t.guard_type((key, place))
        t.guards.length(place, len(key))
        for number, item in enumerate(key):
            guard_key(t, entry(t, key, place, number), item)
    elif issubclass(kind, weakref.ref) and key() is not None:
        t.guard_type((key, place))
        guard_key(t, place.step("referent"), key())
    else:
        box = t.wrap(key, place)
        identify(t, place if box[1] is None else box[1], key)


def guard_has_key(t: Tracer, container: Any, source: Source, key: Any) -> None:
    """Whether the dictionary or set at `source` has a key stays what it is; nothing but C code hashes and compares it."""
    place = known_by_place(t, key)
    if t.is_fresh(key) and compares_identity(type(key)):
        return  # nothing from outside has it
    if place is not None:
        t.guards.holds(source, place, has(container, key))
    elif needs_place(t, key):
        t.register((container, source), deep=False)
    else:
        t.guards.has_key(source, key, has(container, key))


def guard_tensor_key(t: Tracer, place: Source, key: Any) -> None:
    """The key of a dictionary at this place is this object, which nothing keeps alive for that; of tensors, it is like and unlike the others."""
    known = t.seen.get(id(key))
    found = known[1] if known is not None else None
    if found is not None:
        t.guards.same(place, found)
    if issubclass(type(key), torch.Tensor):
        tell_tensor(t, found or place, key)
    elif found is None:
        t.guards.is_object(place, key)


def place_now(t: Tracer, names: dict[Any, Any], source: Source | None, key: Any) -> Source | None:
    """The source of what a dictionary at `source` holds under `key` at this point of the trace; None for what the trace has put there.

    The copy that takes the writes to a namespace (instance dictionary, global variables) is made without a look at what it holds, so that an entry as it
    was before the call is only found again by its path.  The items of a container whose contents were registered are found without one.
    """
    if source is None or (id(names) in t.shadows and (id(names) in t.registered or not t.as_before(names, key))):
        return None
    return entry(t, names, source, key)


def guard_lookup(t: Tracer, names: dict[Any, Any], source: Source, key: Any) -> None:
    """Guard what C code is about to find under `key` in the copy of a namespace at `source`, of whose entries nothing may be known so far."""
    if id(names) not in t.registered and t.as_before(names, key):
        t.guards.has_key(source, key, key in names)
        if key in names:
            t.leak(t.wrap(names[key], place_now(t, names, source, key)))
