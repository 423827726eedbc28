"""Python's `random`: numbers that a generator from outside draws are numbers of run time, drawn in order.

Nothing is drawn while tracing.  The number of a draw is what a copy of the generator gives that does all calls of the frame so far: `Peek` makes the copy
and does the calls.  Its call is the source of the number, so guards look at the numbers to come without drawing them, and residual code reads them.  The
calls themselves are effects: they leave the generator in the state that eager leaves it in.  A generator that the frame makes draws for real.
"""

from __future__ import annotations

import _random
import random
import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.effects import run_real
from lect.frontends.capture.identities import check_lasting
from lect.frontends.capture.making import initialize
from lect.frontends.capture.numbers import LONGEST
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer

Kwargs = dict[str, Box]
Rule = Callable[[Tracer, list[Box], Kwargs], Box]
MOST = 64  # calls of one frame: each look at a number does all those in front of it
_STATE, _SET_STATE = _random.Random.getstate, _random.Random.setstate


class Calls:
    """The calls that a frame makes to a generator, in order."""

    __slots__ = ("generator", "made")

    def __init__(self, generator: Any) -> None:
        self.generator = weakref.ref(generator)
        self.made: list[tuple[Any, tuple[Any, ...]]] = []

    def after(self, count: int) -> Any:
        """What call number `count` would give now.  Raises ReferenceError when the generator is gone."""
        generator = self.generator()
        if generator is None:
            raise ReferenceError("a generator of random numbers that is gone")
        copy = _random.Random()
        _SET_STATE(copy, _STATE(generator))
        returned = None
        for function, args in self.made[:count]:
            returned = function(copy, *args)
        return returned


class Peek:
    """Gives the number that a call of the frame will draw, without drawing it."""

    __slots__ = ("calls", "count")

    def __init__(self, calls: Calls, count: int) -> None:
        self.calls = calls
        self.count = count

    def __call__(self) -> Any:
        return self.calls.after(self.count)


def _generator(t: Tracer, box: Box) -> Box:
    """The box of a generator from outside; that of the module is found without a path."""
    value, source = box
    if source is None and id(value) not in t.seen and value is random._inst:  # type: ignore[attr-defined]
        return t.static(value)
    if source is None:
        raise t.stop("LB0007", "a generator of random numbers")
    check_lasting(t, source, value)
    t.guards.is_object(source, value)
    return box


def _drawing(function: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        value = args[0][0]
        raw = t.leak_all(args[1:])
        if kwargs or any(type(each) not in SCALAR_TYPES for each in raw):
            raise t.stop("LB0003", f"{function.__name__} of a generator with unusual arguments")
        if t.is_fresh(value):
            if function is _random.Random.seed and (not raw or raw[0] is None):
                raise t.stop("LB0013", "a seed that the system draws")
            return (run_real(function, value, *raw), None)
        return _outside(t, function, _generator(t, args[0]), raw)

    return rule


def _outside(t: Tracer, function: Any, box: Box, raw: list[Any]) -> Box:
    """A call of a generator from outside."""
    calls = t.draws.get(id(box[0]))
    if calls is None:
        calls = t.draws[id(box[0])] = Calls(box[0])
    if len(calls.made) >= MOST:
        raise t.stop("LB0003", f"more than {MOST} calls of a generator of random numbers")
    if function is _random.Random.seed and (not raw or raw[0] is None):
        raise t.stop("LB0013", "a seed that the system draws")
    run_real(function, _random.Random(), *raw)  # which raises for wrong arguments
    calls.made.append((function, tuple(raw)))
    t.effects.append(Effect(function, box, raw, {}, t.loc))
    if function is _random.Random.seed:
        return NONE
    peek = Peek(calls, len(calls.made))
    source = t.sources.kept(t.objects.number(peek)).step("call")
    value = peek()
    if type(value) is int and value.bit_length() > LONGEST:
        raise t.stop("LB0003", "a random integer of more than 63 bits")
    source.run_time = t.policy.allows(source.path())
    return t.wrap(value, source)


def _made(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`random.Random(seed)`."""
    made = t.made(_random.Random.__new__(random.Random))
    initialize(t, made, args, kwargs)
    return made


def _state(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    raise t.stop("LB0003", "the state of a generator of random numbers")


RANDOM_DRAWS: Mapping[Any, Any] = MappingProxyType(
    {
        **{getattr(_random.Random, name): _drawing(getattr(_random.Random, name)) for name in ("random", "getrandbits", "seed")},
        _STATE: _state,
        _SET_STATE: _state,
        random.Random: _made,
    }
)
