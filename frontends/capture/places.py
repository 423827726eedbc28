"""Where an item of a container from outside of the trace is found again: the source of `container[key]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from lect.dialects.guard.containers import elements, is_hashed_in_c, redefines

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

    Below a tensor, and below a key that Python code hashes or compares, a value is found by its number: a guard runs no code of the program.
    """
    if issubclass(type(key), torch.Tensor) or (issubclass(type(container), dict) and not is_hashed_in_c(key)):
        number = next(number for number, found in enumerate(elements(container)) if found is key)
        guard_tensor_key(t, source.step("key", number), key)
        return source.step("value", number)
    step = "own" if redefines(type(container), "__getitem__") else "item"
    return source.step(step, key if _is_literal(key) else t.objects.ref(key))


def guard_tensor_key(t: Tracer, place: Source, key: Any) -> None:
    """The key of a dictionary at this place is this object, which nothing keeps alive for that."""
    known = t.seen.get(id(key))
    if known is not None and known[1] is not None:
        t.guards.same(place, known[1])
    else:
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
