"""Locks of threads.  While tracing nothing is locked; taking and releasing a lock is replayed among the effects, so that the writes between the two
happen under it.  What was read before it was taken is checked by guards, without it.

A lock that the trace has made is taken and released for real: no other thread knows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.effects import run_real
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer

Rule = Callable[[Tracer, list[Box], dict[str, Box]], Box]
_LOCK, _RLOCK = type(threading.Lock()), type(threading.RLock())


def _replayed(method: Any, answer: Box, arguments: int = 1) -> Rule:
    """Note the call of a lock's method, which C calls with so many arguments; the forms with more of them may fail or answer otherwise."""

    def rule(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        lock, source = args[0]
        if len(args) != arguments or kwargs:
            raise t.stop("LB0003", f"{method.__name__} of a lock with arguments")
        if t.is_fresh(lock):
            return _for_real(t, method, lock)
        if source is None and id(lock) not in t.seen:
            raise t.stop("LB0007", "a lock")
        t.effects.append(Effect(method, args[0], [], {}, t.loc))
        return answer

    return rule


def _for_real(t: Tracer, method: Any, lock: Any) -> Box:
    """Take or release a lock that the trace has made.  Breaks where the program would wait for itself."""
    if method.__name__ != "acquire":
        return (run_real(method, lock), None)
    if not method(lock, blocking=False):
        raise t.stop("LB0003", "a lock that the frame has taken is waited for")
    return (True, None)


def _made(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`RLock()`, also as `threading.RLock` calls it."""
    return t.made(run_real(_RLOCK, *t.leak_all(args), **{name: t.leak(box) for name, box in kwargs.items()}))


def _made_simple(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`threading.Lock()`."""
    return t.made(run_real(threading.Lock, *t.leak_all(args), **{name: t.leak(box) for name, box in kwargs.items()}))


def _table() -> Mapping[Any, Rule]:
    table: dict[Any, Rule] = {_RLOCK: _made, threading.Lock: _made_simple}
    for cls in (_LOCK, _RLOCK):
        for name in ("acquire", "__enter__"):
            table[cls.__dict__[name]] = _replayed(cls.__dict__["acquire"], (True, None))
        for name in ("release", "__exit__"):
            table[cls.__dict__[name]] = _replayed(cls.__dict__["release"], NONE, 4 if name == "__exit__" else 1)
    return MappingProxyType(table)


LOCKS = _table()
