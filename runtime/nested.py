"""Functions called inside of a frame that runs eagerly: the frame hook sees them, and each is compiled on its own.

    nested = NestedFrames(function, settings, log, code_table, observe)
    eager = nested.region(eager)          # the function as written, with the hook armed around each call

A function is asked for when it is called with tensors, or with objects that hold them.  Its versions are entries of the hook: while the guards of
one hold, the residual code runs in the function's own frame.  What cannot be compiled runs as written, and what it calls is asked for in turn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import RLock
from types import CodeType, FunctionType
from typing import Any

import torch

from lect.frontends.capture.search_tensors import mentions_tensors
from lect.runtime.code_cache import VERSION_LIMIT, Version
from lect.runtime.continuation import Arming
from lect.runtime.events import EventLog
from lect.runtime.frame import CompiledFrame
from lect.runtime.frame_hook import DEFAULT, SETTLED, Hook, Outcome, call_arguments, flatten
from lect.runtime.graph_cache import GraphCache
from lect.runtime.guards import build_frame_guard
from lect.runtime.pipeline import Compiled, Observer, fallback, place_of
from lect.runtime.settings import Settings

KNOWN_CODES = 1024  # per region: beyond it the oldest is forgotten, so that a program that makes functions for ever stays flat
INSTANCES = 64  # modules of one class that are compiled one by one
CALLS_WITHOUT_TENSORS = 16  # after that many a function is not asked for again
REFUSALS_IN_A_ROW = 4  # each cost a trace; after that many a function runs as written when none of its versions holds

# Reasons that hold for every call of one function.
LASTING_REASONS = frozenset({"LB0009", "LB0022", "LB0026"})


class FrameVersion(Version):
    """A version that is an entry of the hook: `guard` is asked with the function and its flat arguments, `code` (None: as written) takes the frame."""

    __slots__ = ("code", "entered", "guard")

    code: CodeType | None
    guard: Callable[..., int]
    entered: bool


class NestedFrame(CompiledFrame):
    """The versions of one nested function."""

    in_place = True

    def _version(self, made: Compiled) -> Version:
        plain = super()._version(made)
        assert made.guards is not None and made.residual is not None
        version = FrameVersion(plain.number, plain.predicate, plain.run, plain.eager, plain.reason)
        pinned = any(op.name == "pyframe.load_resource" and op.attrs["id"] == "function" for op in made.residual.walk())
        version.guard = build_frame_guard(made.guards, self.function, made.residual.attrs, made.objects, made.bound, pinned and not plain.eager)
        version.entered = False
        version.code = None if plain.eager else flatten(plain.run.__code__)  # type: ignore[attr-defined]
        return version

    def _report(self, made: Compiled) -> None:
        """A function that does not compute with tensors is nothing to speak of when nobody asked to compile it."""
        if made.fallback is None or made.fallback.number != "LB0022":
            super()._report(made)

    def version_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> FrameVersion | None:
        """A version for this call, made when there is none; None when there can be none."""
        with self.cache.lock:
            version = self.cache.find(args, kwargs)
            if version is None and not self.cache.gave_up:
                version = self.new_version(args, kwargs)
        return version if isinstance(version, FrameVersion) else None


class _Known:
    """What is known of one code object: its frames by module instance and function, and how often it was called without tensors.

    A version that holds for all functions of the code is found by the hook itself, so only those that do not are counted by function.
    """

    __slots__ = ("code", "frames", "refusals", "without_tensors")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.frames: dict[int, dict[FunctionType, NestedFrame]] = {}
        self.without_tensors = 0
        self.refusals = 0


class HookedFrame(CompiledFrame):
    """A frame that arms the hook where it runs eagerly: as a whole, in the steps between its graphs, and in its rests."""

    def __init__(
        self,
        target: Any,
        function: FunctionType,
        eager: Callable[..., Any],
        settings: Settings,
        log: EventLog,
        code_table: Any,
        observe: Observer,
        graphs: GraphCache | None = None,
    ) -> None:
        super().__init__(target, function, eager, settings, log, code_table, observe, graphs)
        self.nested = NestedFrames(function, settings, log, code_table, observe, graphs)
        self.armed = self.nested.region(eager)
        if self.points is not None:
            self.points.arming = self.nested.arming()

    def forget(self) -> None:
        """Forget all versions, and those of the functions below."""
        super().forget()
        self.nested.clear()


class NestedFrames:
    """The functions called inside of `function` while it runs eagerly."""

    def __init__(
        self, function: FunctionType, settings: Settings, log: EventLog, code_table: Any, observe: Observer, graphs: GraphCache | None = None
    ) -> None:
        self.function = function
        self.settings = replace(settings, fullgraph=False)
        self.log = log
        self.code_table = code_table
        self.observe = observe
        self.graphs = graphs
        self.hook = Hook(self.look_up, log.add, function.__qualname__)
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._lock = RLock()
        self._own = [function.__code__]
        self.hook.set(function.__code__, DEFAULT)

    def region(self, eager: Callable[..., Any]) -> Callable[..., Any]:
        """`eager`, called with the hook armed."""
        if isinstance(eager, FunctionType):  # the function of lect's own that calls a module is passed through like the module's forward
            self._own.append(eager.__code__)
            self.hook.set(eager.__code__, DEFAULT)
        return self.hook.region(eager)

    def arming(self) -> Arming | None:
        """How the parts of a cut function run with the hook armed; None without the extension."""
        trigger = self.hook.trigger
        return None if trigger is None else Arming(trigger.call, lambda code: trigger.set(code, DEFAULT))

    def clear(self) -> None:
        """Forget all versions."""
        self._known.clear()
        self.hook.clear()
        for code in self._own:
            self.hook.set(code, DEFAULT)

    def look_up(self, code: CodeType, function: FunctionType, flat: tuple[Any, ...]) -> Outcome:
        """What the hook does with a call of which it knows nothing."""
        with self._lock:
            known = self._enter(code)
        if not mentions_tensors(flat):
            known.without_tensors += 1
            return DEFAULT if known.without_tensors >= CALLS_WITHOUT_TENSORS else None
        with self._lock:
            frame = self._frame(known, function, flat)
        if frame is None:
            return SETTLED
        version = frame.version_for(*call_arguments(code, flat))
        known.refusals = 0 if version is not None and not version.eager else known.refusals + 1
        if version is not None and version.reason in LASTING_REASONS:
            return DEFAULT
        if frame.cache.gave_up or known.refusals >= REFUSALS_IN_A_ROW:
            return SETTLED
        if version is None or version.entered:  # the latter when another thread was faster
            return None
        version.entered = True
        return version.guard, version.code

    def _enter(self, code: CodeType) -> _Known:
        known = self._known.get(id(code))
        if known is None:
            known = self._known[id(code)] = _Known(code)
            if len(self._known) > KNOWN_CODES:
                _, oldest = self._known.popitem(last=False)
                self.hook.set(oldest.code, None)
        return known

    def _frame(self, known: _Known, function: FunctionType, flat: tuple[Any, ...]) -> NestedFrame | None:
        instance = id(flat[0]) if flat and issubclass(type(flat[0]), torch.nn.Module) else 0
        frames = known.frames.setdefault(instance, {})
        frame = frames.get(function)
        if frame is None:
            limit = self.settings.options.get("version_limit", VERSION_LIMIT)
            if len(frames) >= limit or len(known.frames) > INSTANCES:
                what = f"{len(frames)} functions" if len(frames) >= limit else f"{INSTANCES} instances of {type(flat[0]).__qualname__}"
                self.log.add(fallback(function.__qualname__, "LB0027", f"{what} with one code object", place_of(function)))
                return None
            frame = NestedFrame(function, function, function, self.settings, self.log, self.code_table, self.observe, self.graphs)
            if frame.points is not None:
                frame.points.arming = self.arming()
            frames[function] = frame
        return frame

