"""`functools.lru_cache`: functions from outside are called for real with plain values, those that the frame makes are followed and remembered here."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lect.frontends.capture.keys import key_of
from lect.frontends.capture.numbers import plain
from lect.frontends.capture.tracer import Box, Tracer
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
