"""Rules for `match`: what a pattern asks of its subject, in CPython's order and with its errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.attributes import load_attr, python_method
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call, call_method
from lect.frontends.capture.iteration import iterate
from lect.frontends.capture.keys import key_of
from lect.frontends.capture.operators import contains, load_item
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.tensors import LT

_SEQUENCE, _MAPPING, _MATCHES_ITSELF = 1 << 5, 1 << 6, 1 << 22  # Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING, _Py_TPFLAGS_MATCH_SELF


def get_len(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = call(frame.t, (len, None), [frame.env[op.operands[0]]], {})


def _of_kind(flag: int) -> Callable[[Any, Any], None]:
    def rule(frame: Any, op: Any) -> None:
        kind = frame.t.guard_type(frame.env[op.operands[0]])
        frame.env[op.results[0]] = (kind is not LT and bool(kind.__flags__ & flag), None)

    return rule


def match_keys(frame: Any, op: Any) -> None:
    t = frame.t
    subject, keys = [frame.env[value] for value in op.operands]
    seen: set[Any] = set()
    found = []
    for key in iterate(t, keys):
        raw = key_of(t, key)
        if raw in seen:
            raise UserError(ValueError(f"mapping pattern checks duplicate key ({raw!r})"))
        seen.add(raw)
        value = _value_of(t, subject, key)
        if value is None:
            frame.env[op.results[0]] = NONE
            return
        found.append(value)
    frame.env[op.results[0]] = t.make_tuple(found)


def _value_of(t: Tracer, subject: Box, key: Box) -> Box | None:
    """The value under a key, which CPython asks `get` for; None when there is none."""
    if python_method(t, type(subject[0]), "get") is None:
        return load_item(t, subject, key) if contains(t, key, subject) else None
    nothing = object()
    value = call_method(t, subject, "get", [key, t.made(nothing)])
    return None if value[0] is nothing else value


def match_class(frame: Any, op: Any) -> None:
    t = frame.t
    subject, cls, names = [frame.env[value] for value in op.operands]
    kind, count = cls[0], op.attrs["count"]
    if not issubclass(type(kind), type):
        raise UserError(TypeError(f"called match pattern must be a {'class' if sys.version_info >= (3, 12) else 'type'}"))
    matched: list[Box] | None = None
    if call(t, (isinstance, None), [subject, cls], {})[0]:
        matched = _parts(t, subject, cls, count, [t.leak(name) for name in iterate(t, names)])
    frame.env[op.results[0]] = NONE if matched is None else t.make_tuple(matched)


def _parts(t: Tracer, subject: Box, cls: Box, count: int, keywords: list[str]) -> list[Box] | None:
    """What the patterns in the brackets of a class pattern are matched with; None when an attribute is missing."""
    kind = cls[0]
    found: list[Box] = []
    names = _positional(t, cls) if count else ()
    itself = names is None
    allowed = 1 if names is None else len(names)
    if count > allowed:
        plural = "" if allowed == 1 else "s"
        raise UserError(TypeError(f"{kind.__name__}() accepts {allowed} positional sub-pattern{plural} ({count} given)"))
    if itself:
        found.append(subject)
    seen: set[str] = set()
    for name in (*(names or ())[:count], *keywords):
        if type(name) is not str:
            raise UserError(TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})"))
        if name in seen:
            raise UserError(TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {name!r}"))
        seen.add(name)
        try:
            found.append(load_attr(t, subject, name))
        except UserError as raised:
            if not issubclass(type(raised.error), AttributeError):
                raise
            return None
    return found


def _positional(t: Tracer, cls: Box) -> tuple[Any, ...] | None:
    """`__match_args__` of a class; None for one of which the subject itself is the only positional part."""
    try:
        box = load_attr(t, cls, "__match_args__")
    except UserError as raised:
        if not issubclass(type(raised.error), AttributeError):
            raise
        return None if cls[0].__flags__ & _MATCHES_ITSELF else ()
    t.guard_type(box)
    if type(box[0]) is not tuple:
        raise UserError(TypeError(f"{cls[0].__name__}.__match_args__ must be a tuple (got {type(box[0]).__name__})"))
    return tuple([t.leak(name) for name in iterate(t, box)])


RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "pyframe.get_len": get_len,
        "pyframe.match_mapping": _of_kind(_MAPPING),
        "pyframe.match_sequence": _of_kind(_SEQUENCE),
        "pyframe.match_keys": match_keys,
        "pyframe.match_class": match_class,
    }
)
