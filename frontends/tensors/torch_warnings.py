"""Warnings of torch's functions while these run on tensors without elements.

They would name the line of lect that makes the call, which is nothing to a user, and be given once more by each level that makes it again.  So inside of
`taking` what a warning of this thread whose line is one of lect's goes to somebody who knows the program.  What the filters leave out reaches nobody.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import lect

Take = Callable[[Any, bool], bool]
"""Called with a `warnings.WarningMessage` and whether a function in Python gave it; True when it is dealt with."""
OWN: Final = (os.path.dirname(lect.__file__) + os.sep, "<lect ")  # files of lect, and texts that it runs


class _Hook:
    """Stands where Python looks for what shows a warning, while any thread is inside."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.takers: dict[int, list[Take]] = {}  # by thread, the innermost last
        self.shows: Any = None

    def enter(self, take: Take) -> None:
        with self.lock:
            if not self.takers:
                self.shows, warnings._showwarnmsg = warnings._showwarnmsg, self.show  # type: ignore[attr-defined]
            self.takers.setdefault(threading.get_ident(), []).append(take)

    def leave(self) -> None:
        me = threading.get_ident()
        with self.lock:
            self.takers[me].pop()
            if not self.takers[me]:
                del self.takers[me]
            if not self.takers and warnings._showwarnmsg == self.show:  # type: ignore[attr-defined]
                warnings._showwarnmsg = self.shows  # type: ignore[attr-defined]

    def show(self, message: Any) -> None:
        takers = self.takers.get(threading.get_ident())
        if takers and message.filename.startswith(OWN):
            _forget(message.filename)
            caller: FrameType | None = sys._getframe(1)
            while caller is not None and caller.f_code.co_filename == warnings.__file__:
                caller = caller.f_back
            if takers[-1](message, caller is not None and not caller.f_code.co_filename.startswith(OWN)):
                return
        self.shows(message)


_HOOK: Final = _Hook()


def _forget(filename: str) -> None:
    """Let the same line of lect warn again: it makes the calls of all programs."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == filename:
            vars(module).pop("__warningregistry__", None)


@contextmanager
def taking(take: Take) -> Iterator[None]:
    """Inside, in this thread, warnings that name a line of lect go to `take`."""
    _HOOK.enter(take)
    try:
        yield
    finally:
        _HOOK.leave()


def told_before(run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`, whose functions of torch have warned when the program was followed; what C++ warns of is about the tensors at hand."""

    def call(*args: Any) -> Any:
        with taking(lambda message, in_python: in_python):
            return run(*args)

    return call


@contextmanager
def silent() -> Iterator[None]:
    """Inside, in this thread, warnings that name a line of lect are dropped: the program has been warned when it was followed."""
    with taking(lambda message, in_python: True):
        yield
