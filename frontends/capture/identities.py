"""Which object it is that C code compares, hashes or prints: such an answer hangs on the identity of what the containers hold."""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

from lect.frontends.capture.scalars import DICT_VIEWS, SCALAR_TYPES
from lect.frontends.capture.tracer import Tracer
from lect.frontends.tensors import LT

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
            t.guards.is_object(known[1], value)


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
