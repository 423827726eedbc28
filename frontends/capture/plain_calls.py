"""Functions of the library that only compute with plain data, some of them in C with the help of objects that nobody sees: JSON, searches in sorted lists.

They run for real on data without tensors and without objects of the program; what they read is guarded.
"""

from __future__ import annotations

import bisect
import json
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.effects import mutate, run_real
from lect.frontends.capture.operators import check_plain
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import NONE, Box, Tracer

Kwargs = dict[str, Box]
Rule = Callable[[Tracer, list[Box], Kwargs], Box]
_CONTAINERS = (list, dict, tuple)


def plain_data(t: Tracer, box: Box) -> Any:
    """The raw value of a box for code that only reads it.  Breaks for tensors and objects of the program in it."""
    if type(box[0]) in SCALAR_TYPES:
        return t.leak(box)
    t.guard_type(box)
    t.register(box)
    value = t.now(box)
    check_plain(t, value)
    return value


def made_of_data(t: Tracer, value: Any) -> Box:
    """The box of containers that C code has made, all of which are new."""
    if type(value) in (list, dict):
        t.made(value)
    if type(value) in _CONTAINERS:
        for item in value.values() if type(value) is dict else value:
            made_of_data(t, item)
    return (value, None)


def _of_data(function: Callable[..., Any], keywords: frozenset[str]) -> Rule:
    """The rule for a function of one argument that has these keywords with plain values."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if len(args) != 1 or not set(kwargs) <= keywords:
            return t.code_table.inline(t, t.static(function), args, kwargs)  # type: ignore[no-any-return]
        returned = run_real(function, plain_data(t, args[0]), **{name: plain_data(t, box) for name, box in kwargs.items()})
        return made_of_data(t, returned)

    return rule


def _search(function: Callable[..., int]) -> Rule:
    """The rule for a search in a sorted list."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if not 2 <= len(args) <= 4 or not set(kwargs) <= {"lo", "hi"}:
            raise t.stop("LB0003", f"bisect.{function.__name__} with a key")
        raw = [plain_data(t, box) for box in args]
        return (run_real(function, *raw, **{name: plain_data(t, box) for name, box in kwargs.items()}), None)

    return rule


def _insertion(function: Callable[..., int]) -> Rule:
    """The rule for an insertion at the place that a search finds."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        place = _search(function)(t, args, kwargs)
        if type(args[0][0]) is not list:
            raise t.stop("LB0003", f"an insertion into a {type(args[0][0]).__name__}")
        mutate(t, list.insert, [args[0], place, args[1]], {})
        return NONE

    return rule


def _call(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`operator.call(function, *args)`."""
    from lect.frontends.capture.calls import call

    return call(t, args[0], args[1:], kwargs)


_DUMPS = frozenset("skipkeys ensure_ascii check_circular allow_nan indent separators sort_keys".split())
PLAIN_CALLS: Mapping[Any, Rule] = MappingProxyType(
    {
        json.dumps: _of_data(json.dumps, _DUMPS),
        json.loads: _of_data(json.loads, frozenset()),
        bisect.bisect_left: _search(bisect.bisect_left),
        bisect.bisect_right: _search(bisect.bisect_right),
        bisect.insort_left: _insertion(bisect.bisect_left),
        bisect.insort_right: _insertion(bisect.bisect_right),
        operator.call: _call,
    }
)
