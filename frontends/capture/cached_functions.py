"""`functools.lru_cache`: functions from outside give what their caches hold, those that the frame makes are followed and remembered here.

A function from outside is called with plain values.  What its cache holds for them is the result: that it is still there is guarded, and the residual
code makes the call again, so that hits are counted and what was used last is kept.  Where the cache holds nothing, the function runs while the frame is
followed, and the residual code leaves out that one call.  Where it would raise or write to what the frame has read, which a trial says, it does not run:
the frame is cut in front of the call.
"""

from __future__ import annotations

import enum
import functools
import logging
import types
from collections import Counter, OrderedDict
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lect.dialects.guard.containers import mark_of_keywords, remembered, results_of
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.identities import check_lasting
from lect.frontends.capture.keys import check_held, key_of
from lect.frontends.capture.numbers import plain
from lect.frontends.capture.places import entry
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import Box, Effect, Tracer
from lect.frontends.capture.trials import UNKNOWN, try_call
from lect.frontends.tensors import LT

Kwargs = dict[str, Box]
WRAPPER = functools._lru_cache_wrapper
_KEYWORDS = object()  # stands between positional arguments and others in a key


class Cached:
    """A function that the frame has wrapped: `known` are results by key, the one used last at the end; `size` is how many are kept, None for all."""

    __slots__ = ("function", "known", "size", "typed")

    def __init__(self, function: Box, size: int | None, typed: bool) -> None:
        self.function = function
        self.size = size
        self.typed = typed
        self.known: OrderedDict[Any, Box] = OrderedDict()


class CallAgain:
    """In residual code: the call of a function with a cache, but for those that were made while frames were followed: `early` counts them by key."""

    __slots__ = ("called", "early", "key")

    def __init__(self, early: Counter[Any], key: Any, called: bool) -> None:
        self.early = early
        self.key = key
        self.called = called  # in the trace that it belongs to

    def __call__(self, wrapper: Any, /, *args: Any, **kwargs: Any) -> None:
        if not self.early or not self.early[self.key]:
            wrapper(*args, **kwargs)
        elif self.early[self.key] == 1:
            del self.early[self.key]
        else:
            self.early[self.key] -= 1


class RealTensors(TorchDispatchMode):
    """A block in which torch makes tensors with elements, for what outlives the trace.

    Where the graph so far has written to tensors or drawn random numbers, which only happens when it runs, the first call of torch cuts the frame instead.
    """

    def __init__(self, t: Tracer) -> None:
        super().__init__()
        self.t = t
        self.waits = t.graph.writes or t.mode.draws > 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False, or torch wraps every call in a function that imports its compiler."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if self.waits:
            raise self.t.stop("LB0003", "a cached function that calls torch, behind writes to tensors or random numbers")
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


def call_cached(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    """A call of a function with a cache."""
    value, source = callee
    if id(value) in t.cached:
        return call_made(t, value, args, kwargs)
    if source is not None and not t.is_fresh(value):
        check_lasting(t, source, value)
        t.guards.is_object(source, value)
    args, kwargs = [plain(box) for box in args], {name: plain(box) for name, box in kwargs.items()}
    given = [box[0] for box in (*args, *kwargs.values())]
    logs = any(issubclass(type(each), logging.Logger) for each in given)
    if t.is_fresh(value) or not all(_is_plain(each) or issubclass(type(each), logging.Logger) for each in given):
        raise t.stop("LB0003", f"the cached function {value.__qualname__} with arguments that are no plain values")
    key = _key_outside(t, value, args, kwargs)
    results = results_of(value)
    check_held(t, results)
    callee = t.static(value)
    assert callee[1] is not None
    place = callee[1].step("results")
    raw, named = t.leak_all(args), {name: t.leak(box) for name, box in kwargs.items()}
    early = t.code_table.called_early.setdefault(value, Counter())
    known = key in results
    if not known:
        _call_now(t, callee, key, raw, named, logs)
    returned, held = remembered(value, key), results[key]
    if not _is_followed(returned):
        raise t.stop("LB0003", f"the cached function {value.__qualname__}, which returns a {type(returned).__name__}")
    if not known:
        early[key] += 1
    where = entry(t, results, place, key)
    t.guards.equals(where, held) if type(held) in SCALAR_TYPES else t.guards.is_object(where, held)
    t.effects.append(Effect(CallAgain(early, key, not known), callee, raw, named, t.loc))
    return (returned, None) if type(returned) in SCALAR_TYPES or type(returned) is tuple else t.static(returned)


def _call_now(t: Tracer, callee: Box, key: Any, args: list[Any], kwargs: dict[str, Any], logs: bool) -> None:
    """Fill the cache.  Breaks where the function could see that the frame has written to something, and where it has raised in an earlier call."""
    value = callee[0]
    seen = [effect for effect in t.effects if type(effect.function) is not CallAgain and (not logs or issubclass(type(effect.target[0]), logging.Logger))]
    raised = t.code_table.raised.setdefault(value, set())
    if seen or key in raised or t.is_trial:
        raise t.stop("LB0003", f"the cached function {value.__qualname__}, which is called with these arguments for the first time")
    trial = try_call(t, value.__dict__.get("__wrapped__", value), args, kwargs)
    if trial.raises:
        raised.add(key)
        raise t.stop("LB0003", f"the cached function {value.__qualname__}, which raises")
    if trial.returned is not UNKNOWN and not _is_followed(trial.returned):
        kind = "Tensor" if type(trial.returned) is LT else type(trial.returned).__name__
        raise t.stop("LB0003", f"the cached function {value.__qualname__}, which returns a {kind}")  # the call behind the cut is the first one
    if any(id(target) in t.seen or (type(target) is dict and "__builtins__" in target) for target in trial.written):
        raise t.stop("LB0003", f"the cached function {value.__qualname__}, which writes to what the frame has read")
    for effect in t.effects:
        again = effect.function
        if type(again) is CallAgain and effect.target[0] is value and not again.called:  # what was used last is kept, so that the order counts
            again.called = True
            again.early[again.key] += 1
            run_real(value, *effect.args, **effect.kwargs)
    try:
        with RealTensors(t):  # what it returns is remembered for good
            run_real(value, *args, **kwargs)
    except UserError:
        raised.add(key)
        raise t.stop("LB0003", f"the cached function {value.__qualname__}, which raises") from None  # that is not remembered: it may return the next time
    if key not in results_of(value):
        raise t.stop("LB0003", f"the cached function {value.__qualname__}, which remembers nothing")


def _is_followed(returned: Any) -> bool:
    """True for what a frame may go on with: plain values, and lists and dictionaries of them."""
    if type(returned) in (list, dict):
        return all(_is_plain(item) for item in (*returned, *(returned.values() if type(returned) is dict else ())))
    return _is_plain(returned)


def _is_plain(value: Any) -> bool:
    """True for values that cannot change: scalars, classes, functions, members of enums, annotations, modules, and tuples of them."""
    if type(value) is tuple:
        return all(_is_plain(item) for item in value)
    if type(value) in SCALAR_TYPES or type(value).__module__ == "typing":
        return True
    return issubclass(type(value), type | enum.Enum | FunctionType | BuiltinFunctionType | types.GenericAlias | types.UnionType | types.ModuleType)


def _key_outside(t: Tracer, wrapper: Any, args: list[Box], kwargs: Kwargs) -> Any:
    """What the arguments of a function from outside are known by, as C code makes it."""
    parameters = wrapper.__dict__.get("cache_parameters")
    if type(parameters) is not FunctionType or parameters.__globals__ is not vars(functools) or functools._lru_cache_wrapper.cache_info(wrapper)[2] == 0:
        raise t.stop("LB0003", f"the cached function {wrapper.__qualname__}, of whose cache nothing is known")
    parts = [key_of(t, box) for box in args]
    named = [key_of(t, box) for box in kwargs.values()]
    typed = parameters()["typed"]
    if len(parts) == 1 and not kwargs and not typed and type(parts[0]) in (int, str):
        return parts[0]
    kinds = [type(part) for part in (*parts, *named)] if typed else []
    if kwargs:
        parts.append(mark_of_keywords(wrapper))
        for name, part in zip(kwargs, named):
            parts += [name, part]
    return (*parts, *kinds)


def make(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`functools._lru_cache_wrapper(function, maxsize, typed, cache_info)`."""
    size = t.leak(args[1])
    if kwargs or len(args) != 4 or not (size is None or type(size) is int):
        raise t.stop("LB0003", "a cache with other arguments than a size")
    made: Any = WRAPPER(args[0][0], size, bool(t.leak(args[2])), args[3][0])  # type: ignore[call-arg]
    t.cached[id(made)] = Cached(args[0], size, bool(t.leak(args[2])))
    return t.made(made)


def call_made(t: Tracer, wrapper: Any, args: list[Box], kwargs: Kwargs) -> Box:
    """A call of a function that the frame has wrapped."""
    from lect.frontends.capture.calls import call

    cache = t.cached[id(wrapper)]
    args, kwargs = [plain(box) for box in args], {name: plain(box) for name, box in kwargs.items()}
    key = _key(t, cache, args, kwargs)
    found = cache.known.get(key)
    if found is not None:
        cache.known.move_to_end(key)
        return found  # type: ignore[no-any-return]
    returned = call(t, cache.function, args, kwargs)
    if cache.size == 0:
        return returned
    if key not in cache.known and cache.size is not None and len(cache.known) >= cache.size:
        cache.known.popitem(last=False)
    cache.known.setdefault(key, (t.stored(returned), None) if type(returned[0]) is not tuple else returned)
    return returned


def _key(t: Tracer, cache: Cached, args: list[Box], kwargs: Kwargs) -> Any:
    """What the arguments are known by, as C code makes it."""
    if len(args) == 1 and not kwargs and not cache.typed and type(args[0][0]) in (int, str):
        return key_of(t, args[0])
    parts = [_part(t, box) for box in args]
    if kwargs:
        parts.append(_KEYWORDS)
        for name, box in kwargs.items():
            parts += [name, _part(t, box)]
    if cache.typed:
        parts += [type(box[0]) for box in (*args, *kwargs.values())]
    return tuple(parts)


def _part(t: Tracer, box: Box) -> Any:
    if type(box[0]) is LT:
        return ("tensor", id(box[0]))
    return key_of(t, box)


CACHED_FUNCTIONS: Mapping[Any, Any] = MappingProxyType({WRAPPER: make})
