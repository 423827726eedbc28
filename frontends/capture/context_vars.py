"""`contextvars.ContextVar`: read along the path `var.get()`, set as an effect; what is reset again inside of the call leaves none.

`copy_context` gives a `TracedContext`: what is set while a function runs in it stays in it, and leaves no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token, copy_context
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.identities import tell_apart
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


def token_attr(t: Tracer, box: Box, name: str) -> Box:
    """`token.name`."""
    token = box[0]
    if name == "var":
        return token.var  # type: ignore[no-any-return]
    if name == "old_value" and token.before is not None:
        return token.before  # type: ignore[no-any-return]
    raise t.stop("LB0003", f"{name} of the token of a context variable")


def a_token() -> Token[Any]:
    """A token of no variable of the program."""
    none: ContextVar[Any] = ContextVar("none")
    return copy_context().run(none.set, None)


class Inside(dict[int, Box]):
    """The variables that were set in a context of their own, by identity."""


class TracedContext:
    """A copy of the context, made in the trace.  Rules stand for its methods."""

    __slots__ = ("entered", "values")

    def __init__(self, values: dict[int, Box]) -> None:
        self.values = Inside(values)
        self.entered = False

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Call a function in the context."""
        raise AssertionError("a rule stands for it")

    def copy(self) -> Any:
        """A copy of the context."""
        raise AssertionError("a rule stands for it")

    def __getitem__(self, var: Any) -> Any:
        raise AssertionError("a rule stands for it")

    def __contains__(self, var: Any) -> bool:
        raise AssertionError("a rule stands for it")

    def get(self, var: Any, default: Any = None) -> Any:
        """The value of a variable."""
        raise AssertionError("a rule stands for it")

    def _list(self) -> Any:
        raise AssertionError("a rule stands for it")

    __len__ = __iter__ = keys = items = _list  # type: ignore[assignment]


def _copy(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`contextvars.copy_context()`."""
    return t.made(TracedContext(t.context))


def _copy_again(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`context.copy()`."""
    return t.made(TracedContext(args[0][0].values))


def _held(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """The value that the frame has set."""
    found = args[0][0].values.get(id(args[1][0])) if len(args) > 1 else None
    if found is None:
        raise t.stop("LB0003", "what a context holds that the frame has not set")
    return found  # type: ignore[no-any-return]


def _holds(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`var in context`."""
    _held(t, args, kwargs)
    return (True, None)


def _run(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`context.run(function, ...)`."""
    from lect.frontends.capture.calls import call

    context = args[0][0]
    if context.entered or len(args) < 2:
        raise t.stop("LB0003", "a context that is entered twice, or with nothing to call")
    outside, t.context, context.entered = t.context, context.values, True
    try:
        return call(t, args[1], args[2:], kwargs)
    finally:
        t.context, context.entered = outside, False


def _checked(t: Tracer, box: Box) -> Any:
    var, source = box
    if type(var) is not ContextVar or source is None:
        raise t.stop("LB0003", "a context variable that was not reached by a path")
    tell_apart(t, source, var)
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
    place = source.attr("get").step("call")
    t.guards.present(place)  # reading it raises where there is none, and the program may have asked with a default
    return t.wrap(value, place)


def set_(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`var.set(value)`."""
    var = _checked(t, args[0])
    token = TracedToken(args[0], t.context.get(id(var)), len(t.effects))
    t.context[id(var)] = args[1]
    t.keep.append(var)
    if type(t.context) is not Inside:
        t.effects.append(Effect(ContextVar.set, args[0], [t.stored(args[1])], {}, t.loc))
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


CONTEXT_VARS: Mapping[Any, Any] = MappingProxyType(
    {ContextVar.get: get, ContextVar.set: set_, ContextVar.reset: reset, copy_context: _copy, TracedContext.run: _run, TracedContext.copy: _copy_again}
    | {TracedContext.__getitem__: _held, TracedContext.get: _held, TracedContext.__contains__: _holds, TracedContext._list: _held}
)
