"""Memory stays flat over a million compiled calls and ten thousand compiled functions that die, with both triggers."""

import gc
import sys
import types

import pytest
import torch

import lect
from lect.frontends.capture import interpreter
from lect.runtime.entry import RUNTIME
from tests.unit.frame_hook.support import resident

CALLS = 1_000_000
FUNCTIONS = 10_000
MIB = 1 << 20
SOURCE = "def f(x):\n    return x * {number}.5 + 1\ndef eager(x):\n    sys.stdout.write('')\n    return f(x)"


@pytest.fixture(autouse=True)
def fresh(trigger):
    lect.reset()
    yield
    lect.reset()


def made(number):
    """A function that no one else has, and one that calls it and cannot be followed."""
    names = {"sys": sys}
    exec(SOURCE.format(number=number), names)
    return names["f"], names["eager"]


def growth(run, rounds, warm):
    """(bytes, objects) of this process that `run(rounds)` adds, behind rounds that fill caches.  Events, which are bounded, do not count."""
    run(warm)
    RUNTIME.log.clear()
    gc.collect()
    memory, objects = resident(), len(gc.get_objects())
    run(rounds)
    RUNTIME.log.clear()
    gc.collect()
    return resident() - memory, len(gc.get_objects()) - objects


def options_of(eager):
    return {"level": "fx", **({"breaks": "eager"} if eager else {})}


def compiled_calls(eager):
    compiled = lect.compile(made(3)[eager], options=options_of(eager))
    x = torch.ones(4)

    def run(rounds):
        for _ in range(rounds):
            compiled(x)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("eager", [False, True], ids=["compiled", "below a frame that runs eagerly"])
def test_calls_leave_nothing(eager):
    memory, objects = growth(compiled_calls(eager), CALLS, 1000)
    assert memory < 4 * MIB
    assert objects < 100


def compile_functions(eager):
    x = torch.ones(4)

    def run(rounds):
        for number in range(rounds):
            fn = made(number)[eager]
            assert lect.compile(fn, options=options_of(eager))(x)[0] == number + 1.5

    return run


@pytest.mark.slow
@pytest.mark.parametrize("eager", [False, True], ids=["compiled", "below a frame that runs eagerly"])
def test_functions_that_died_leave_nothing(eager):
    memory, objects = growth(compile_functions(eager), FUNCTIONS, 4500)
    assert memory < 16 * MIB
    assert objects < 2000


def test_exceptions_that_cross_frames_keep_no_frame_of_the_interpreter():
    def third(names, key):
        return names[key]

    def second(names, key):
        return third(names, key)

    def fn(x):
        found = 0
        for key in ("a", "b", "c"):
            try:
                found += second({"b": 2}, key)
            except KeyError:
                found += 10
        return x + found

    x = torch.ones(3)
    gc.collect()
    gc.disable()
    try:
        assert torch.equal(lect.compile(fn, options={"level": "fx"}, fullgraph=True)(x), x + 22)
        left = [each for each in gc.get_objects() if type(each) is types.FrameType and each.f_code is interpreter.run.__code__]
        assert left == []
    finally:
        gc.enable()
