"""Binding the arguments of an inlined call to the parameters of the function."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from lect.frontends.capture.arity import does_not_bind
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.sources import Source
from lect.frontends.capture.tracer import Box, Tracer


class Signature:
    """The parameters of a `pyframe.func`; `named` are those that keywords may give."""

    __slots__ = ("args", "keyword_only", "named", "varargs", "varkw")

    def __init__(self, func: Any) -> None:
        self.args: tuple[str, ...] = func.args
        self.keyword_only: tuple[str, ...] = func.keyword_only
        self.named = frozenset((*func.args[func.positional_only :], *func.keyword_only))
        self.varargs: str | None = func.varargs
        self.varkw: str | None = func.varkw


def bind_arguments(t: Tracer, callee: Box, func: Signature, args: list[Box], kwargs: dict[str, Box]) -> dict[str, Box]:
    """Values of the parameters of a function, by CPython's rules, the TypeError of those that do not bind included."""
    function = callee[0]
    names = func.args
    bound = dict(zip(names, args))
    if len(args) > len(names):
        if func.varargs is None:
            raise does_not_bind(function, args, kwargs)
        bound[func.varargs] = t.make_tuple(args[len(names) :])
    elif func.varargs is not None:
        bound[func.varargs] = ((), None)
    extra: dict[str, Any] = {}
    for name, box in kwargs.items():
        if name in func.named and name not in bound:
            bound[name] = box
        elif func.varkw is not None and name not in func.named:
            extra[name] = t.stored(box)
        else:
            raise does_not_bind(function, args, kwargs)
    complete = len(bound) == len(names) + len(func.keyword_only) + (func.varargs is not None)
    if not complete and not _bind_defaults(t, callee, func, bound):
        raise does_not_bind(function, args, kwargs)
    if func.varkw is not None:
        bound[func.varkw] = t.made(extra)
    return bound


def keeps_its_code(t: Tracer, callee: Box) -> None:
    """Guard that a function of the program has the code that is followed: tools that reload modules give functions other code."""
    function, source = callee
    if source is None or id(function) in t.kept_codes or t.is_fresh(function) or (function.__module__ or "").startswith("torch."):
        return
    t.kept_codes.add(id(function))
    t.guards.is_object(source.attr("__code__"), function.__code__)


def _bind_defaults(t: Tracer, callee: Box, func: Signature, bound: dict[str, Box]) -> bool:
    """Give parameters their defaults; False when one has none."""
    function, source = callee
    if t.is_fresh(function) or (function.__module__ or "").startswith("torch."):
        source = None
    defaults = function.__defaults__ or ()
    for position, name in enumerate(func.args, -len(func.args)):  # counted from the end, where defaults stand however many there are
        if name not in bound:
            if -position > len(defaults):
                _guard_missing(t, source and source.attr("__defaults__"), function.__defaults__)
                return False
            bound[name] = _default(t, defaults[position], source and source.attr("__defaults__").item(position))
    keyword_defaults = function.__kwdefaults__ or {}
    for name in func.keyword_only:
        if name not in bound:
            if name not in keyword_defaults:
                _guard_missing(t, source and source.attr("__kwdefaults__"), function.__kwdefaults__, name)
                return False
            bound[name] = _default(t, keyword_defaults[name], source and source.attr("__kwdefaults__").item(name))
    return True


def _guard_missing(t: Tracer, source: Source | None, defaults: Any, name: str | None = None) -> None:
    """Guard that the defaults of a function go on to lack one."""
    if source is None:
        return
    if defaults is None:
        t.guards.equals(source, None)
    elif name is None:
        t.guards.length(source, len(defaults))
    else:
        t.guards.has_key(source, name, False)


def _default(t: Tracer, value: Any, source: Any) -> Box:
    if source is None and type(value) not in SCALAR_TYPES and not t.is_fresh(value):
        return t.static(value) if issubclass(type(value), type | FunctionType) else t.wrap(value)
    return t.wrap(value, source)
