"""Keys of dictionaries and sets: what a look-up decides on is guarded, and C never runs code of the program for it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch

from lect.dialects.guard.containers import compares_in_c, elements, is_hashed_in_c
from lect.frontends.capture import policy
from lect.frontends.capture.identities import check_nan, identify, pin
from lect.frontends.capture.numbers import RunTimeNumber, plain
from lect.frontends.capture.places import entry
from lect.frontends.capture.scalars import DICT_VIEWS, SCALAR_TYPES
from lect.frontends.capture.tracer import MAX_NESTING, Box, Tracer
from lect.frontends.tensors import LT


def key_of(t: Tracer, box: Box) -> Any:
    """The raw key of a look-up: scalars are guarded by value, other objects by identity.  Breaks when C would run Python code or needs a tensor."""
    box = plain(box)
    check_key(t, box[0])
    _guard(t, box)
    return box[0]


def check_key(t: Tracer, key: Any, depth: int = 0) -> None:
    """Break when a look-up in C would run Python code or needs a tensor's identity."""
    kind = type(key)
    if kind in SCALAR_TYPES:
        check_nan(t, key)
        return
    if kind is RunTimeNumber:
        key.needed()
    elif issubclass(kind, tuple) and compares_in_c(kind):
        if depth > MAX_NESTING:
            raise t.stop("LB0003", f"a key of tuples nested deeper than {MAX_NESTING}")
        for item in key:
            check_key(t, item, depth + 1)
    elif issubclass(kind, weakref.ref) and key() is not None:
        check_key(t, key(), depth)  # it is hashed and compared as its object is
    elif kind is LT or not is_hashed_in_c(key):
        raise t.stop("LB0003", f"a look-up with a {kind.__name__} as key")


def hashed_in_python(keys: Iterable[Any]) -> bool:
    """True when one of the keys is hashed or compared by code of the program.  Tensors are not: they are hashed by identity."""
    keys = list(keys)
    kinds = {kind for kind in set(map(type, keys)) if kind not in SCALAR_TYPES and not issubclass(kind, torch.Tensor)}
    if any(issubclass(kind, weakref.ref) for kind in kinds) and not all(is_hashed_in_c(key) for key in keys if issubclass(type(key), weakref.ref)):
        return True
    return not all(map(compares_in_c, kinds))


def check_compared(t: Tracer, containers: Iterable[Any]) -> None:
    """Break when code of the program would compare what is in these containers as keys."""
    for value in containers:
        if issubclass(type(value), (dict, set, frozenset, list, tuple, *DICT_VIEWS)) and hashed_in_python(elements(value)):
            raise t.stop("LB0003", "a comparison of keys that are compared by Python code")


def check_held(t: Tracer, container: Any) -> None:
    """Break when a look-up in a dictionary or set may run code of the program, which compares one of its keys."""
    if id(container) not in t.compared:  # what is added to it later is looked at then
        check_compared(t, [container])
        if t.is_fresh(container):  # a copy, say, of whose items nothing was asked
            pin(t, list(elements(container)))
        t.compared.add(id(container))
        t.keep.append(container)


def check_look_up(t: Tracer, function: Any, args: list[Box], raw: list[Any]) -> None:
    """What a C function that only reads looks for in dictionaries and sets is guarded, and compared by no code of the program."""
    if function in policy.READ_ONE and len(raw) > 1:
        check_held(t, raw[0])
        key_of(t, args[1])
    elif function in policy.COMPARES_ITEMS:
        check_compared(t, raw)
    elif function in policy.HASHING:
        check_compared(t, raw[:1])
    elif function in policy.PAIRING and raw and not (function is dict and type(raw[0]) is dict):  # whose copy hashes nothing
        check_compared(t, [keys_added(raw[0])])


def keys_added(items: Any) -> list[Any]:
    """The keys of a dictionary, or the first objects of pairs; what is no pair is left out."""
    if issubclass(type(items), dict):
        return list(dict.keys(items))
    given = items if issubclass(type(items), (list, tuple, set, frozenset, *DICT_VIEWS)) else ()
    return [pair[0] for pair in given if issubclass(type(pair), tuple | list) and pair]


def _guard(t: Tracer, box: Box) -> None:
    value, source = box
    kind = type(value)
    if kind in SCALAR_TYPES or kind is RunTimeNumber:
        t.leak(box)
    elif issubclass(kind, tuple) and source is None:
        for inner in t.tuples[id(value)][1] if id(value) in t.tuples else ():
            _guard(t, inner)
    elif source is not None and issubclass(kind, tuple):
        t.guard_type(box)
        t.guards.length(source, len(value))
        for number, item in enumerate(value):
            _guard(t, t.wrap(item, entry(t, value, source, number)))
    elif source is not None and kind is not LT:
        identify(t, source, value)
    elif issubclass(kind, weakref.ref):  # it is looked for by what it refers to
        known = t.seen.get(id(value()))
        if known is not None and known[1] is not None and type(known[0]) is not LT:
            identify(t, known[1], known[0])
