"""Functions made by `reprlib.recursive_repr`, and by the like of it in `dataclasses`: `__repr__`s that answer "..." inside of themselves.

They take down in a set which objects of which thread are being shown.  Here the frames of the trace tell that.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, MappingProxyType
from typing import Any

from lect.frontends.capture.calls import call
from lect.frontends.capture.tracer import Box, Tracer

Rule = Callable[[Tracer, Box, list[Box], dict[str, Box]], Box]


def _variable(t: Tracer, callee: Box, name: str) -> Box:
    """A variable of the function around `callee`."""
    function, source = callee
    if source is None and not t.is_fresh(function):
        source = t.static_source(function)
    number = function.__code__.co_freevars.index(name)
    place = source.attr("__closure__").item(number).attr("cell_contents") if source is not None else None
    return t.wrap(function.__closure__[number].cell_contents, place)


def _shown(t: Tracer, callee: Box, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """Show an object, unless that is what is being done."""
    shown, inner = _variable(t, callee, "repr_running"), _variable(t, callee, "user_function")
    if len(args) != 1 or kwargs or shown[0]:
        raise t.stop("LB0003", "a recursive __repr__ that is running outside of the compiled function")
    if shown[1] is not None:
        t.guards.length(shown[1], 0)
    frame = t.frame
    while frame is not None:
        if frame.function[0] is inner[0] and frame.locals.get(frame.program.signature.args[0], (frame,))[0] is args[0][0]:
            filled = "fillvalue" in callee[0].__code__.co_freevars
            return _variable(t, callee, "fillvalue") if filled else ("...", None)
        frame = frame.caller
    return call(t, inner, args, {})


def _codes() -> dict[CodeType, Rule]:
    made: Any = [reprlib.recursive_repr()(lambda self: "")]
    if hasattr(dataclasses, "_recursive_repr"):
        made.append(dataclasses._recursive_repr(lambda self: ""))
    return {function.__code__: _shown for function in made if type(function) is FunctionType}


RECURSIVE_REPRS: Mapping[CodeType, Rule] = MappingProxyType(_codes())
