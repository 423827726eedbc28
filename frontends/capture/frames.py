"""Frames that the program asks for: `sys._getframe`, of which the library wants to know the module that called it.

`TracedFrame` stands for a frame of the trace.  Its names, code and caller are known; looking further into it breaks.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.tracer import Box, Tracer

Kwargs = dict[str, Box]


class TracedFrame:
    """A frame of the trace, as an object of the program."""

    __slots__ = ("frame",)

    def __init__(self, frame: Any) -> None:
        self.frame = frame


def _frame_at(t: Tracer, args: list[Box]) -> Any:
    """The frame so many calls above the running one.  Breaks for those around the compiled function."""
    depth = t.leak(args[0]) if args else 0
    frame = t.frame
    while type(depth) is int and depth > 0 and frame is not None:
        frame, depth = frame.caller, depth - 1
    if type(depth) is not int or depth > 0 or frame is None:
        raise t.stop("LB0003", "a frame around the compiled function")
    return frame


def _get_frame(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return t.made(TracedFrame(_frame_at(t, args)))


def _module_name(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`sys._getframemodulename`: the module of the function that runs in a frame."""
    if kwargs:
        raise t.stop("LB0003", "sys._getframemodulename with a keyword")
    return (_frame_at(t, args).function[0].__module__, None)


def frame_attr(t: Tracer, box: Box, name: str) -> Box:
    """An attribute of a frame."""
    from lect.frontends.capture.effects import globals_box

    frame = box[0].frame
    if name == "f_globals":
        return globals_box(t, frame.globals, frame.globals_source)
    if name == "f_code":
        return t.static(frame.program.code)
    if name == "f_back" and frame.caller is not None:
        return t.made(TracedFrame(frame.caller))
    if name == "f_locals" and frame.namespace is not None:
        return frame.namespace  # type: ignore[no-any-return]
    if name == "f_locals" and sys.version_info < (3, 13):
        return _variables(t, frame)
    raise t.stop("LB0030", f"{name} of a frame")


def _variables(t: Tracer, frame: Any) -> Box:
    """The variables of a function that have a value, in the order of its code object."""
    from lect.frontends.capture.effects import load_cell

    cells = {name: load_cell(t, cell) for name, cell in frame.cells.items()}
    code = frame.program.code
    found = {**frame.locals, **cells}
    names = [name for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars) if found.get(name) is not None and name.isidentifier()]
    return t.made({name: t.stored(found[name]) for name in names})


def _locals(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`locals()`."""
    frame = t.frame
    return frame.namespace if frame.namespace is not None else _variables(t, frame)


FRAMES: Mapping[Any, Any] = MappingProxyType(
    {sys._getframe: _get_frame, builtins.locals: _locals, **({sys._getframemodulename: _module_name} if sys.version_info >= (3, 12) else {})}  # type: ignore[attr-defined]
)
