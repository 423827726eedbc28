"""Tracebacks of exceptions that leave compiled functions: the frames of the program, below the one of lect that was called."""

from __future__ import annotations

import contextlib
import os
from types import TracebackType

_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep
_BETWEEN = frozenset({contextlib.__file__})  # what stands between two frames of lect
_CHAIN = 16  # exceptions behind one another that are looked at


def hide_own_frames(error: BaseException) -> None:
    """Take lect's frames out of the traceback of an exception that is about to leave a function of lect, but for that function's own, which is the
    first; and out of the tracebacks of the exceptions behind it."""
    behind: BaseException | None = error
    for _ in range(_CHAIN):
        if behind is None:
            return
        first = behind.__traceback__
        if behind is not error:
            first = behind.__traceback__ = _shown(first)
        while first is not None:
            following = _shown(first.tb_next)
            if following is not first.tb_next:
                first.tb_next = following
            first = following
        behind = behind.__cause__ or behind.__context__


def _shown(trace: TracebackType | None) -> TracebackType | None:
    """The first entry that is no frame of lect, or of what a frame of lect calls to call another one."""
    shown = begin = trace
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(_FOLDER):
            shown = trace.tb_next
        elif shown is begin or file not in _BETWEEN:
            break
        trace = trace.tb_next
    return shown
