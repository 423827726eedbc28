"""The public entry: `compile`, `explain`, `reset`, `disable`, `events`.  The only file that reads environment variables."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import torch

from lect.frontends.capture.api import python_function
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.disabled import is_disabled
from lect.frontends.capture.interpreter import CodeTable
from lect.frontends.capture.objects import describe
from lect.frontends.tensors.marks import mark_dynamic, mark_static
from lect.ir import LectError, Operation
from lect.runtime import frame_hook, machinery, reporting
from lect.runtime.cache_commands import Cache
from lect.runtime.events import CacheProblem, Event, EventLog, Fallback, TuningProblem
from lect.runtime.explain import Explanation, explain_call
from lect.runtime.failure_files import FailureFiles
from lect.runtime.frame import CompiledFrame, CompileError
from lect.runtime.graph_cache import GraphCache
from lect.runtime.graphs.table import table as recordings
from lect.runtime.module_calls import call_of
from lect.runtime.modules import wrap_module
from lect.runtime.nested import HookedFrame
from lect.runtime.pipeline import fallback
from lect.runtime.settings import Environment, Settings, level_of, own_name
from lect.runtime.store import Store
from lect.runtime.tracebacks import hide_own_frames
from lect.runtime.tuning_records import TuningStore
from lect.runtime.watch import is_watched

if TYPE_CHECKING:
    from lect.runtime.report.recording import Recorder

assert machinery, "what a first call needs is loaded"
__all__ = ["CompileError", "cache", "compile", "disable", "events", "explain", "mark_dynamic", "mark_static", "reset"]


class Runtime:
    """What all compiled functions of the process share."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.log = EventLog(FailureFiles(environment.dump))
        self.frames: weakref.WeakSet[CompiledFrame] = weakref.WeakSet()
        self._table: CodeTable | None = None
        self._override_folders: set[Path] = set()
        self.graphs: GraphCache | None = None
        if environment.cache is not None:
            store = Store(environment.cache, environment.cache_limit, lambda reason: self.log.add(CacheProblem("cache", reason)))
            self.graphs = GraphCache(store, self.log)
        self.log.tuning = TuningStore(self.graphs.store if self.graphs is not None else None, lambda reason: self.log.add(TuningProblem("tuning", reason)))
        if kinds := reporting.kinds_of(environment.log):
            reporting.write_text(self.log, kinds)
        if environment.log_file is not None:
            reporting.write_json(self.log, kinds or reporting.kinds_of("all"), environment.log_file)
        reporting.show_progress(self.log, environment.progress)
        if environment.override is not None:
            self.warn_at_exit(Path(environment.override).expanduser().absolute())
        if environment.report is not None:
            self.report_at_exit(environment.report)

    def code_table(self) -> CodeTable:
        """What is known of code objects, made when first needed."""
        if self._table is None:
            self._table = CodeTable()
        return self._table

    def record(self) -> Recorder:
        """Record all compiles from now on."""
        from lect.runtime.report.recording import Recorder

        return Recorder(self.log)

    def report_at_exit(self, path: Path) -> None:
        """Record all compiles from now on, and write the report of them when the process ends; `%p` in the path is the number of the process."""
        from lect.runtime.report.page import write_report

        recorder, path = self.record(), Path(own_name(str(path)))

        def write() -> None:
            try:
                write_report(recorder, path)
            except LectError as error:
                print(f"lect: {error.message}", file=sys.stderr)

        atexit.register(write)

    def warn_at_exit(self, folder: Path) -> None:
        """Say on standard error, when the process ends, which edited texts in the folder no compile has used since it was first named here."""
        if folder in self._override_folders:
            return
        from lect.runtime.overrides import unused_texts

        self._override_folders.add(folder)
        tell = unused_texts(folder, self.log)

        def write() -> None:
            try:
                for event in tell():
                    print(f"lect: {event.text()}", file=sys.stderr)
            except LectError as error:
                print(f"lect: {error.message}", file=sys.stderr)

        atexit.register(write)

    def observe(self, stage: str, module: Operation) -> None:
        """Told of each level of each compile."""

    def reset(self) -> None:
        """Forget all versions, recordings, decoded code and events."""
        for frame in list(self.frames):
            frame.forget()
        recordings().forget()
        self._table = None
        self.log.clear()


RUNTIME = Runtime(Environment.read(os.environ))

cache = Cache(os.environ)
"""What compiles left on disk: `cache.ls()`, `cache.why(a, b)`, `cache.gc()`, `cache.export(path)`, `cache.load(path)`."""


def compile(
    fn_or_module: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    mode: str | None = "default",
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
    backend: str | None = None,
) -> Any:
    """Compile a function or an `nn.Module`; the result is called like the original and gives the same values.

    As a decorator with arguments it takes none in front.  Compilation happens at the first call, and again when a guard fails.  Where the
    function cannot be followed it is cut, and what cannot be compiled runs eagerly; an event says why, and `fullgraph=True` raises `CompileError` instead.
    Numbers and sizes of tensors are constants of the first version, and known at run time as soon as they alone have changed; with `dynamic=True` those of
    the arguments are so from the start, with `dynamic=False` never.  `backend` is for programs that name one of `torch.compile`: "inductor" is what lect
    does anyway, "eager" and "aot_eager" are levels with a reference interpreter.  Raises `LectError` for a mode, an option, a backend or a value that does
    not exist.
    """
    mode, defaults, level = mode or "default", RUNTIME.environment.options, level_of(backend)
    if level is not None and isinstance(options, Mapping | None):
        options = {"level": level, **(options or {})}
    settings = Settings.check(fullgraph, dynamic, mode, {**defaults, **(options or {})} if isinstance(options, Mapping | None) else options)
    if fn_or_module is None:
        return lambda fn: compile(fn, fullgraph=fullgraph, dynamic=dynamic, mode=mode, options=options, disable=disable)
    if not callable(fn_or_module):
        raise TypeError(f"lect.compile takes a function or a module, got {type(fn_or_module).__name__}")
    if disable or RUNTIME.environment.disabled:
        return fn_or_module
    try:
        return _compiled(fn_or_module, settings)
    except LectError:
        raise
    except Exception as error:  # of lect, or of an object whose attributes raise
        name = fn_or_module.__qualname__ if isinstance(fn_or_module, FunctionType) else type(fn_or_module).__qualname__
        return _refuse(fn_or_module, fallback(name, "LB0020", f"{type(error).__name__}: {str(error)[:300]}"), settings)


def _compiled(fn_or_module: Any, settings: Settings) -> Any:
    """The callable that stands for a function, method, module or object with a `__call__`."""
    original = getattr(fn_or_module, "_lect_original", None)
    if original is not None and not isinstance(fn_or_module, type):
        bound = type(fn_or_module) is MethodType  # which shows the attributes of its function
        fn_or_module = MethodType(original, fn_or_module.__self__) if bound else original
    try:
        function, front = python_function(fn_or_module)
    except GraphBreak as stop:
        if isinstance(fn_or_module, torch.nn.Module) and isinstance(type(fn_or_module).__call__, FunctionType):
            return _make(fn_or_module, call_of(fn_or_module), (fn_or_module,), settings)
        name = getattr(fn_or_module, "__qualname__", type(fn_or_module).__qualname__)
        return _object_with_call(fn_or_module, settings) or _refuse(fn_or_module, fallback(name, stop.number, stop.detail), settings)
    if is_disabled(function):
        return _refuse(fn_or_module, fallback(function.__qualname__, "LB0028", describe(function)), settings)
    return _make(fn_or_module, function, front, settings)


def _object_with_call(target: Any, settings: Settings) -> Any:
    """A compiled `__call__` for an object whose class defines it in Python."""
    method = next((base.__dict__["__call__"] for base in type(target).__mro__ if "__call__" in base.__dict__), None)
    if isinstance(target, torch.nn.Module | type) or not isinstance(method, FunctionType):
        return None
    bound = MethodType(method, target)
    return _make(bound, method, (target,), settings)


def _refuse(target: Any, event: Fallback, settings: Settings) -> Any:
    RUNTIME.log.add(event)
    return target


def _make(target: Any, function: FunctionType, front: tuple[Any, ...], settings: Settings) -> Any:
    is_module = isinstance(target, torch.nn.Module)
    eager = call_of(target) if is_module else function  # a later `__call__` of its class is the one that runs
    forward = getattr(type(target), "forward", None) if is_module else None  # the class of a TorchScript module gives none
    traced = target if forward is function else function
    watched = is_watched(settings.options) or RUNTIME.log.recorder is not None
    graphs = RUNTIME.graphs if settings.options.get("cache", True) and not watched else None
    if settings.options.get("override"):
        RUNTIME.warn_at_exit(Path(settings.options["override"]))
    frame = _frame_kind(function, settings)(traced, function, eager, settings, RUNTIME.log, RUNTIME.code_table, RUNTIME.observe, graphs)
    RUNTIME.frames.add(frame)
    run = _runner(frame)
    if is_module:
        return wrap_module(target, run, lambda module: _again(module, settings))
    if front:
        bound = functools.partial(run, *front)
        functools.update_wrapper(bound, target)
        bound._lect_original = target  # type: ignore[attr-defined]
        return bound
    functools.update_wrapper(run, target)
    run._lect_original = target  # type: ignore[attr-defined]
    return run


def _again(target: Any, settings: Settings) -> Any:
    """Compile another object in the same way."""
    return compile(target, fullgraph=settings.fullgraph, dynamic=settings.dynamic, mode=settings.mode, options=settings.options)


def _frame_kind(function: FunctionType, settings: Settings) -> type[CompiledFrame]:
    """With the trigger `hook`, frames that let functions below them be compiled on their own."""
    if settings.options.get("trigger", RUNTIME.environment.trigger) != "hook":
        return CompiledFrame
    refused = frame_hook.refusal(function.__qualname__)
    if refused is not None:
        RUNTIME.log.add(refused)
        return CompiledFrame
    return HookedFrame


def _runner(frame: CompiledFrame) -> Callable[..., Any]:
    """The function that stands for the compiled one: a hit costs one look-up and the guards."""
    cache, eager, native = frame.cache, frame.eager, frame.cache.native

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            version = native.find(args, kwargs)
            if version is None:
                fits = True
                try:
                    version = cache.search(args, kwargs)
                except TypeError:  # the arguments do not fit the function, whose own error, raised outside of this handler, is the right one
                    fits = False
                if not fits:
                    return eager(*args, **kwargs)
                if version is None:
                    return frame.miss(args, kwargs)
            try:
                return version.run(*args, **kwargs)
            except Exception as error:
                if not version.may_repeat(error):
                    raise
                raised = f"{type(error).__name__}: {error}"
            return frame.repeat(raised, args, kwargs)
        except BaseException as error:
            hide_own_frames(error)
            raise

    return run


def record() -> Recorder:
    """Record all compiles of this process from now on, for a report.  Functions that were compiled before keep taking graphs from the cache."""
    return RUNTIME.record()


def explain(fn: Any) -> Callable[..., Explanation]:
    """`explain(fn)(*args)` says what a compile of this call gives: graphs, breaks, guards, effects, times, and why not when it cannot be.

    The call runs only when the graph breaks.
    """
    target = getattr(fn, "_lect_original", fn)
    return lambda *args, **kwargs: explain_call(target, args, kwargs)


def reset() -> None:
    """Forget all compiled versions, recordings of device work and events; functions stay compiled functions and start anew."""
    RUNTIME.reset()


def disable(fn: Any = None) -> Any:
    """A function that is never compiled and never inlined into a compiled one.  Usable as a decorator, with or without parentheses."""
    if fn is None:
        return disable
    target = getattr(fn, "_lect_original", fn)

    @functools.wraps(target)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        return target(*args, **kwargs)

    disabled._lect_disabled = True  # type: ignore[attr-defined]
    return disabled


def events(*kinds: str) -> list[Event]:
    """The events so far, oldest first; with names, only those kinds
    (`"trace"`, `"guard miss"`, `"recompile"`, `"fallback"`, `"note"`, `"compile"`, `"cache"`)."""
    return RUNTIME.log.events(kinds)
