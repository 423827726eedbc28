"""Exceptions of the trace: their context, as CPython chains it, and their tracebacks.

The frames of a trace are no frames of Python, so an exception that was raised in one has no traceback that the program could be shown.  A
`TracedTraceback` stands for it: it is there, it is handed on, and looking into it breaks.
"""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer
from lect.ir import Location


class TracedTraceback:
    """Stands for the traceback of an exception that was raised in the trace, by the line `loc`."""

    __slots__ = ("loc",)

    def __init__(self, loc: Location) -> None:
        self.loc = loc


def as_raised(error: BaseException, line: int) -> BaseException:
    """An exception that a trace has raised, with a traceback if it has none: an entry for the frame that calls this, at `line`.

    What handles an exception counts on one; CPython itself does for `with`.  The entry has no instruction, whose own line would be shown in its place.
    """
    if error.__traceback__ is None:
        error.__traceback__ = types.TracebackType(None, sys._getframe(1), -1, line)
    return error


def note_raise(t: Tracer, error: BaseException, again: bool = False) -> None:
    """An exception is on its way through a frame.  The first time it is new, and what was handled meanwhile is its context.

    Each frame adds to its traceback, unless the exception is raised `again` as it is.
    """
    if id(error) in t.tracebacks:
        if not again and t.is_fresh(error):
            t.tracebacks[id(error)] = TracedTraceback(t.loc)
        return
    if id(error) not in t.chained and (t.is_fresh(error) or id(error) not in t.seen):
        chain(t, error, made_by_c=True)
    t.keep.append(error)
    t.tracebacks[id(error)] = TracedTraceback(t.loc)
    known = t.seen.get(id(error))
    if known is not None and not t.is_fresh(error) and known[1] is not None:
        t.effects.append(Effect(as_raised, known, [t.loc.line], {}, t.loc))


def chain(t: Tracer, error: BaseException, made_by_c: bool = False) -> None:
    """Set the context of an exception that is being raised to the one being handled, and break a cycle that this would make.

    What C code raised has lect's own state for its context until then.
    """
    t.chained.add(id(error))
    t.keep.append(error)
    handled = t.handled()
    if handled is None and not t.is_fresh(error) and id(error) in t.seen:
        t.found_unhandled()  # else it would get a context, here and now
    if handled is None or handled is error:
        if made_by_c and not _is_of_program(t, error.__context__):
            error.__context__ = None
        return
    if not t.is_fresh(error) and id(error) in t.seen:
        raise t.stop("LB0004", "an exception from outside of the frame gets a context")
    seen: set[int] = set()
    each = handled
    while each.__context__ is not None and id(each) not in seen:
        seen.add(id(each))
        if each.__context__ is error:
            each.__context__ = None
            break
        each = each.__context__
    error.__context__ = handled


def _is_of_program(t: Tracer, error: BaseException | None) -> bool:
    return error is not None and (id(error) in t.tracebacks or t.is_fresh(error) or id(error) in t.seen)


def traceback_of(t: Tracer, error: BaseException, handled: bool = False) -> Box:
    """`error.__traceback__`; an exception that is `handled` was raised, so it has one."""
    found = t.tracebacks.get(id(error))
    if found is None and handled:
        t.keep.append(error)
        found = t.tracebacks[id(error)] = TracedTraceback(t.loc)
    if found is not None:
        return (found, None)
    if not t.is_fresh(error) and id(error) not in t.without_traceback:
        raise t.stop("LB0030", "the traceback of an exception from outside")
    return NONE


def set_traceback(t: Tracer, error: BaseException, value: Any) -> None:
    """`error.__traceback__ = value`."""
    if not t.is_fresh(error):
        if type(value) is TracedTraceback and t.tracebacks.get(id(error)) is value:
            return  # it has kept its own: nothing was raised for real
        _replay(t, error, value)
    if type(value) is TracedTraceback:
        t.tracebacks[id(error)] = value
    elif value is None:
        t.tracebacks.pop(id(error), None)
        if t.is_fresh(error):
            error.__traceback__ = None
    elif issubclass(type(value), types.TracebackType):
        raise t.stop("LB0030", "an exception gets a traceback from outside")
    else:
        raise UserError(TypeError("__traceback__ must be a traceback or None"))


def _replay(t: Tracer, error: BaseException, value: Any) -> None:
    """An exception from outside loses its traceback."""
    target = t.seen.get(id(error))
    if value is not None or target is None:
        raise t.stop("LB0004", "the traceback of an exception from outside is set")
    t.effects.append(Effect(BaseException.with_traceback, target, [None], {}, t.loc))
    t.without_traceback.add(id(error))


def a_traceback() -> types.TracebackType:
    """A real traceback, for questions about its class."""
    try:
        raise ValueError
    except ValueError as error:
        assert error.__traceback__ is not None
        return error.__traceback__


def _with_traceback(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`error.with_traceback(traceback)`."""
    set_traceback(t, args[0][0], args[1][0])
    return args[0]


def _clear_frames(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`traceback.clear_frames`: the frames of the trace hold nothing any more."""
    if type(args[0][0]) is not TracedTraceback and args[0][0] is not None:
        raise t.stop("LB0030", "frames of a traceback from outside are cleared")
    return NONE


TRACEBACKS: Mapping[Any, Any] = MappingProxyType({BaseException.with_traceback: _with_traceback, traceback.clear_frames: _clear_frames})
