"""Random programs of control flow give, raise and tell what they do uncompiled, with both triggers, with cuts and without."""

import contextlib
import functools
import linecache
import sys

import pytest
import torch

import lect
from lect.runtime import frame_hook
from tests.fuzz.control_programs import Writer

PROGRAMS, SLOW_PROGRAMS, TOGETHER = 12, 3000, 50
CALLS = ((0, 1), (0, 1), (3, 2), (2, 5))


@lect.disable
def cut(log, number):
    log.append(f"cut {number}")


def shown(value):
    """A value as text, with the types of its parts."""
    if isinstance(value, torch.Tensor):
        return [repr(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return type(value).__name__, [shown(item) for item in value]
    return repr(value) if isinstance(value, str | int | float | dict | type(None)) else type(value).__name__


@contextlib.contextmanager
def what_is_only_told():
    """Exceptions that nobody can catch, such as those of a generator that does not end when it is closed as garbage."""
    told, before = [], sys.unraisablehook
    sys.unraisablehook = lambda raised: told.append((type(raised.exc_value).__name__, str(raised.exc_value)))
    try:
        yield told
    finally:
        sys.unraisablehook = before


def outcome(function, a, b):
    """What a call gives or raises, with what is chained to it, and all that it tells."""
    log, xs = [], [1, 2, 3, 4]
    with what_is_only_told() as told:
        try:
            found = shown(function(torch.arange(3.0), log, a, b, xs))
        except Exception as error:
            found = []
            while error is not None:
                found.append((type(error).__name__, str(error), type(error.__cause__).__name__))
                error = error.__context__
    return found, shown(log), xs, told


def run(seed):
    """One program, all its calls compiled and not."""
    writer = Writer(seed, (0.0, 0.08, 0.2)[seed % 3])
    text, name = writer.program(), f"<control {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {"torch": torch, "contextlib": contextlib, "functools": functools, "cut": cut}
    exec(compile(text, name, "exec"), namespace)
    lect.reset()
    trigger = "hook" if seed % 2 and frame_hook.available() else "function"
    compiled = lect.compile(namespace["f"], options={"level": "fx", "trigger": trigger})
    for number, (a, b) in enumerate(CALLS):
        want, got = outcome(namespace["f"], a, b), outcome(compiled, a, b)
        assert want == got, f"seed {seed}, call {number}\n{text}"
    assert [event.detail for event in lect.events("fallback") if event.number == "LB0020"] == [], f"seed {seed}\n{text}"


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_program(seed):
    run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(PROGRAMS, PROGRAMS + SLOW_PROGRAMS, TOGETHER))
def test_many_programs(first):
    for seed in range(first, first + TOGETHER):
        run(seed)
