"""`operator.itemgetter`, `attrgetter` and `methodcaller`: objects of C that hold keys, names and arguments, and read through the interpreter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.guard.getters import GETTERS as KINDS
from lect.dialects.guard.getters import held_by
from lect.frontends.capture.attributes import load_attr
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import Box, Tracer

Rule = Callable[[Tracer, list[Box], dict[str, Box]], Box]


def _make(kind: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        raw, named = t.leak_all(args), {name: t.leak(box) for name, box in kwargs.items()}
        if not all(_is_plain(value) for value in (*raw, *named.values())):
            raise t.stop("LB0003", f"making an operator.{kind.__name__} of what is no plain value")
        return t.made(run_real(kind, *raw, **named))

    return rule


def _is_plain(value: Any) -> bool:
    if type(value) is slice:
        return all(_is_plain(part) for part in (value.start, value.stop, value.step))
    return type(value) in SCALAR_TYPES or (type(value) is tuple and all(_is_plain(item) for item in value))


def rule_of(value: Any) -> Rule | None:
    """How such an object is called; None for other objects, and for those that hold what is no plain value."""
    kind = type(value)
    if kind not in KINDS:
        return None
    held, named = held_by(value)
    if not all(_is_plain(item) for item in (*held, *named.values())):
        return None
    read = {operator.itemgetter: _item, operator.attrgetter: _attribute}.get(kind)

    def rule(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        from lect.frontends.capture.calls import call

        if len(args) != 1 or kwargs:
            run_real(value, *[None for _ in args], **dict.fromkeys(kwargs))  # which raises
        if read is None:
            given: list[Box] = [(item, None) for item in held[1:]]
            return call(t, load_attr(t, args[0], held[0]), given, {name: (item, None) for name, item in named.items()})
        found = [read(t, args[0], key) for key in held]
        return found[0] if len(found) == 1 else t.make_tuple(found)

    return rule


def _item(t: Tracer, box: Box, key: Any) -> Box:
    from lect.frontends.capture.operators import load_item

    return load_item(t, box, (key, None))


def _attribute(t: Tracer, box: Box, names: str) -> Box:
    for name in names.split("."):
        box = load_attr(t, box, name)
    return box


GETTERS: Mapping[Any, Rule] = MappingProxyType({kind: _make(kind) for kind in KINDS})
