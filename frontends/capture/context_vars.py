"""`contextvars.ContextVar`: read along the path `var.get()`, set as an effect; what is reset again inside of the call leaves none."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer

Kwargs = dict[str, Box]


class TracedToken:
    """What `set` gives in the trace.  It has slots, so nothing takes it out of the trace."""

    __slots__ = ("before", "effects", "used", "var")

    def __init__(self, var: Box, before: Box | None, effects: int) -> None:
        self.var = var
        self.before = before
        self.effects = effects
        self.used = False


def _checked(t: Tracer, box: Box) -> Any:
    var, source = box
    if type(var) is not ContextVar or source is None:
        raise t.stop("LB0003", "a context variable that was not reached by a path")
    t.guards.is_object(source, var)
    return var


def get(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`var.get()`, `var.get(default)`."""
    var = _checked(t, args[0])
    known = t.context.get(id(var))
    if known is not None:
        return known
    try:
        value = var.get()
    except LookupError:
        raise t.stop("LB0003", "a context variable without a value") from None
    source = args[0][1]
    assert source is not None
    return t.wrap(value, source.attr("get").step("call"))


def set_(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`var.set(value)`."""
    var = _checked(t, args[0])
    token = TracedToken(args[0], t.context.get(id(var)), len(t.effects))
    t.context[id(var)] = args[1]
    t.keep.append(var)
    t.effects.append(Effect(ContextVar.set, args[0], [t.leak(args[1])], {}, t.loc))
    return t.made(token)


def reset(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`var.reset(token)`."""
    var, token = _checked(t, args[0]), args[1][0]
    if type(token) is not TracedToken or token.used or token.var[0] is not var:
        raise t.stop("LB0003", "a context variable is reset with a token of another call")
    token.used = True
    t.effects[token.effects :] = [effect for effect in t.effects[token.effects :] if effect.target[0] is not var]
    if token.before is None:
        t.context.pop(id(var), None)
    else:
        t.context[id(var)] = token.before
    return NONE


CONTEXT_VARS: Mapping[Any, Any] = MappingProxyType({ContextVar.get: get, ContextVar.set: set_, ContextVar.reset: reset})
