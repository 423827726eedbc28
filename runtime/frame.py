"""One compiled function: finds the version for a call, and makes a new one when there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from lect.backends.results import OtherSize
from lect.dialects.guard.types import PathAttr
from lect.frontends.capture.api import Rest, bind_parameters
from lect.frontends.capture.assumptions import MESSAGE
from lect.frontends.capture.interpreter import decode_code
from lect.frontends.capture.numbers import Learned, NumberPolicy
from lect.ir import LectError
from lect.ir.collector import collector_off
from lect.runtime.code_cache import VERSION_LIMIT, CodeCache, Version
from lect.runtime.continuation import REST_VERSIONS, ResumePoints
from lect.runtime.events import Compile, EventLog, Fallback, NotNative, Recompile, Trace
from lect.runtime.explain_miss import explain_miss
from lect.runtime.failures import Failure, with_file
from lect.runtime.graph_cache import GraphCache, Objects
from lect.runtime.guards import HOLDS, build_predicate
from lect.runtime.module_calls import call_of, does_more
from lect.runtime.native_guards import NativeGuards
from lect.runtime.numbers import changed_numbers, value_that_differs
from lect.runtime.pipeline import Compiled, Observer, break_event, compile_call, fallback, place_of
from lect.runtime.remade_objects import learn
from lect.runtime.settings import Settings
from lect.runtime.sizes import changed_sizes

# Reasons that are no fault of the program, so that `fullgraph=True` does not raise for them.
NEVER_RAISED = frozenset({"LB0012", "LB0020", "LB0022", "LB0025", "LB0027"})


# Reasons to run a frame eagerly that are as good for each frame below it.
SHARED_REASONS = frozenset({"LB0012", "LB0022", "LB0025"})

# Reasons that hold for every call of the function.
NEVER_COMPILED = frozenset({"LB0009", "LB0026", "LB0031"})

DEFAULT_GUARDS = "native"
CHANGED = object()
MOST_FAILURES = 8  # of lect itself, of one function
WRONG_ASSUMPTIONS = 8  # of branches that raise; each costs a run of the graph
MOST_VALUES_OF_CALLS = 4  # likewise of what is another one in each call of the function itself
MOST_VALUES = 3  # of what is another one in each turn of a loop, in a rest, that get versions of their own
MOST_FOLLOWED = 300_000  # basic blocks in the rests of one function: about 13 seconds
MOST_IN_VAIN = 100_000  # of these in rests that call no torch function


class CompileError(LectError):
    """What `fullgraph=True` raises when a frame cannot be compiled as a whole."""

    __module__ = "lect"  # as programs name it


class CompiledFrame:
    """The versions of `function`.  `target` is what is traced (a function or a module), `eager` what runs instead, both called with the full arguments."""

    in_place = False  # versions run in the frame of the function itself

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
        self.target = target
        self.function = function
        self.eager = eager
        self.settings = settings
        self.log = log
        self.code_table = code_table
        self.observe = observe
        self.graphs = graphs
        store = Objects(graphs.store) if graphs is not None else None
        native = NativeGuards(function, settings.options.get("guards", DEFAULT_GUARDS), self._no_native_guards, store)
        self.cache = CodeCache(function, settings.options.get("version_limit", VERSION_LIMIT), native)
        self.numbers = self._new_policy()
        self.assumed_wrongly = 0
        self.failed = 0  # compiles that ended in an error of lect
        whole = settings.fullgraph or settings.options.get("breaks") == "eager"
        self.points: ResumePoints | None = None if whole else ResumePoints(self._frame_of_rest, self.in_place)
        self.calls: CompiledFrame | None = None  # of the module as a whole, while that does more than its forward
        self.armed: Callable[..., Any] | None = None  # `eager` such that the functions below are seen

    def _new_policy(self) -> NumberPolicy:
        """What is a number or a symbol of run time, before any call; torch itself, which runs graphs at the level fx, takes integers for sizes."""
        policy = NumberPolicy(arguments=self.settings.dynamic is True)
        policy.sizes.never = self.settings.dynamic is False or self.settings.options.get("level") == "fx"
        policy.assumes = not self.in_place  # where a graph raises in place of the function, the call cannot be made again
        return policy

    def _frame_of_rest(self, rest: Rest, eager: Callable[..., Any], armed: Callable[..., Any] | None) -> CompiledFrame:
        """The frame of a rest of this function, which shares the resume points."""
        frame = self._kind_of_rest()(rest, rest.function, eager, self.settings, self.log, self.code_table, self.observe, self.graphs)
        frame.points = self.points
        frame.armed = armed
        frame.cache.limit *= REST_VERSIONS
        return frame

    def _kind_of_rest(self) -> Callable[..., CompiledFrame]:
        return CompiledFrame

    def miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call for which no version holds: compile one, or run eagerly."""
        if isinstance(self.target, torch.nn.Module) and (does_more(self.target) or type(self.target).forward is not self.function):
            return self._call_module(args, kwargs)
        cache = self.cache
        with cache.lock:
            version = None if cache.gave_up else cache.find(args, kwargs)
            if version is None and not cache.gave_up:
                version = self.new_version(args, kwargs)
        try:
            if version is None:
                return self.eager(*args, **kwargs)
            try:
                return version.run(*args, **kwargs)
            except Exception as error:
                if not version.may_repeat(error):
                    raise
                raised = f"{type(error).__name__}: {error}"
            return self.repeat(raised, args, kwargs)
        finally:
            args, kwargs = (), {}  # an exception that leaves may be one of them, and its traceback holds this frame

    def repeat(self, raised: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call again whose graph raised and changed nothing: as it is written, so that it has the program's effects and exception."""
        if raised.startswith(OtherSize.__name__):
            self.log.add(fallback(self.function.__qualname__, "LB0002", raised, place_of(self.function), "run"))
            self._assumed_wrongly()
        elif raised.startswith("LectError"):
            front = args[1:] if isinstance(self.target, torch.nn.Module) else args
            self._fail(Failure(self.function.__qualname__, "run", raised[:80], f"the graph raised {raised}", ()), front, kwargs)
        else:
            self.log.add(fallback(self.function.__qualname__, "LB0012", f"the graph raised {raised}", place_of(self.function), "run"))
            if raised.endswith(MESSAGE):
                self._assumed_wrongly()
        try:
            return self.eager(*args, **kwargs)
        finally:
            args, kwargs = (), {}  # as in `miss`

    def _assumed_wrongly(self) -> None:
        self.assumed_wrongly += 1
        if self.numbers.assumes and self.assumed_wrongly >= WRONG_ASSUMPTIONS:
            self.numbers.assumes = False  # from now on the frame is cut there
            self.cache.clear()

    def _no_native_guards(self, reason: str) -> None:
        self.log.add(NotNative(self.function.__qualname__, "guards are", reason))

    def _fail(self, failure: Failure, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Tell of a failure of lect, with the file that replays it."""
        event = fallback(self.function.__qualname__, "LB0020", failure.summary, failure.location, failure.stage)
        self.log.add(with_file(event, failure.file(self.log.files, self.target, args, kwargs, self.settings.options)))

    def _call_module(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.calls is None:
            function = call_of(self.target)
            self.calls = type(self)(function, function, self.eager, self.settings, self.log, self.code_table, self.observe, self.graphs)
        version = self.calls.cache.find(args, kwargs)
        return self.calls.miss(args, kwargs) if version is None else version.run(*args, **kwargs)

    def new_version(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Version | None:
        """A version that is compiled for this call; None when it runs eagerly, as it does where lect fails outside of what `compile_call` catches.

        Raises `LectError` where the user has asked for it, and warnings that the program makes errors.
        """
        try:
            return self._make(args, kwargs)
        except (LectError, Warning):
            raise
        except Exception as error:
            self._fail(Failure.of(self.function.__qualname__, "compile", error), args[1:] if isinstance(self.target, torch.nn.Module) else args, kwargs)
        self.failed += 1
        if self.failed >= MOST_FAILURES:
            self.cache.gave_up = True
        return None

    @collector_off()
    def _make(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Version | None:
        asks, known = self.cache.versions and not torch._C._len_torch_function_stack(), self.numbers.learned()
        if isinstance(self.target, Rest) and self.points is not None:
            self.points.prepare(self.numbers, self.target.code)
        if self._is_spent() or (asks and not self._report_misses(args, kwargs)):
            return None
        version = self._compile(args, kwargs, known)
        # What a guard reads may change while the call is followed: another thread writes, the collector lets go of what a weak reference refers to.
        return self._compile(args, kwargs, known, again=True) if version is CHANGED else version  # type: ignore[return-value]

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any], known: Learned, again: bool = False) -> Version | object | None:
        """A version for this call; None when it runs eagerly, CHANGED when the new version does not hold, which is an error when it comes `again`.

        `known` is what earlier calls have taught: what does not fit in a call that raises says nothing about others.
        """
        cache, name = self.cache, self.function.__qualname__
        front = args[1:] if isinstance(self.target, torch.nn.Module) else args
        options, graphs = self.settings.options, self.graphs
        made = compile_call(self.target, front, kwargs, self.code_table(), options, self.observe, self.numbers, self.points, self.log, graphs)
        if made.raises:
            self.numbers.go_back_to(known)
        if self.points is not None and isinstance(self.target, Rest):
            self.points.count(made.followed, made.statistics.get("torch calls", 0))
        self._report(made)
        if made.fallback is not None and self.settings.fullgraph and made.fallback.number not in NEVER_RAISED:
            raise CompileError(_sentence(made.fallback), hint=made.fallback.hint)
        if made.guards is None or made.residual is None:
            cache.gave_up = made.fallback is not None and made.fallback.number in NEVER_COMPILED
            self._run_armed_when_given_up()
            return None
        try:
            version = self._version(made)
            failed = version.holds(*args, **kwargs)
        except Exception as error:  # a guard that cannot be built is an error of lect, and eager is always right
            self._fail(Failure.of(name, "guards", error), front, kwargs)
            return None
        if failed != HOLDS:
            if made.fallback is None and not again:
                return CHANGED
            if made.fallback is None:
                miss = explain_miss(self.function, version.number, version.predicate.conditions, failed, made.bound, version.predicate.objects)
                self._fail(Failure(name, "guards", miss.guard, f"a new version does not hold for its own call: {miss.text()}", ()), front, kwargs)
            return None
        cache.add(version)
        if self.settings.options.get("guards") == "both":
            cache.native.learn(version, args, kwargs)
        refused = getattr(getattr(made.run, "executable", None), "refused", "")
        if refused:
            self.log.add(NotNative(name, "the host program is", refused))
        if made.fallback is None:
            through_torch = made.note.number if made.note is not None else ""
            self.log.add(Compile(name, version.number, tuple(made.stages), through_torch, made.seeded))
        return version

    def _version(self, made: Compiled) -> Version:
        assert made.guards is not None and made.residual is not None
        predicate = build_predicate(made.guards, self.function, made.residual.attrs, made.objects, made.bound)
        reason = made.fallback.number if made.fallback is not None else ""
        eager = self.eager if self.armed is None or reason in SHARED_REASONS else self.armed
        run = eager if made.run is None else made.run
        version = Version(self.cache.made, predicate, run, made.run is None, reason)
        version.graph_codes, version.places, version.raises = made.graph_codes, made.places, made.raises
        return version

    def _is_spent(self) -> bool:
        """True for a rest of a function whose rests have been followed for long enough: a loop that is cut in many places would be followed again and
        again, from each to the next."""
        points = self.points
        if points is None or not isinstance(self.target, Rest) or (points.followed <= MOST_FOLLOWED and points.in_vain <= MOST_IN_VAIN):
            return False
        self.cache.gave_up = True
        self._run_armed_when_given_up()
        reason = f"{points.followed} basic blocks were followed behind the cuts of one function"
        self.log.add(fallback(self.function.__qualname__, "LB0031", reason, place_of(self.function)))
        return True

    def _run_armed_when_given_up(self) -> None:
        if self.cache.gave_up and self.armed is not None:
            self.eager = self.armed

    def forget(self) -> None:
        """Forget all versions."""
        self.cache.clear()
        self.calls = None
        self.numbers, self.assumed_wrongly, self.failed = self._new_policy(), 0, 0
        if self.points is not None:
            self.points.clear()

    def _report(self, made: Compiled) -> None:
        tell_of(made, self.function.__qualname__, self.log)

    def _report_misses(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Say why no version holds; False when no further version may be made."""
        cache, name = self.cache, self.function.__qualname__
        bound = self._bind(args, kwargs)
        reason = ""
        differ: Counter[tuple[PathAttr, bool] | None] = Counter()
        for version, failed in cache.failures(args, kwargs):
            event = explain_miss(self.function, version.number, version.predicate.conditions, failed, bound, version.predicate.objects)
            self.log.add(event)
            learn(self.numbers, version.predicate, failed, self.function, bound)
            differ[value_that_differs(version.predicate, failed)] += 1
            reason = reason or event.text()
        if cache.full:
            cache.gave_up = True
            self._run_armed_when_given_up()
            self.log.add(fallback(name, "LB0027", f"{len(cache.versions)} versions; {reason}", place_of(self.function)))
            return False
        if self.points is not None:
            most, code = (MOST_VALUES, self.target.code) if isinstance(self.target, Rest) else (MOST_VALUES_OF_CALLS, self.function.__code__)
            found = [each for each, count in differ.items() if each is not None and count >= most]
            self.points.leave_to_steps(self.numbers, code, found)
        self.log.add(Recompile(name, len(cache.versions), reason, self._learn_numbers(args, kwargs, bound), self._learn_sizes(bound)))
        return True

    def _learn_sizes(self, bound: dict[str, Any] | None) -> tuple[str, ...]:
        """Make sizes that have changed since a version was compiled symbols; the new ones, with both sizes."""
        policy = self.numbers.sizes
        if policy.never or bound is None:
            return ()
        new = {}
        for version in [version for version in self.cache.versions if not version.raises]:
            for path, sizes in changed_sizes(version.predicate.conditions, self.function, bound).items():
                if path not in policy.dynamic and path not in policy.by_value:
                    new[path] = sizes
        policy.dynamic |= new.keys()
        return tuple(sorted([f"{path.print_body()} was {wanted} and is {found}" for path, (wanted, found) in new.items()]))

    def _learn_numbers(self, args: tuple[Any, ...], kwargs: dict[str, Any], bound: dict[str, Any] | None) -> tuple[str, ...]:
        """Make numbers that alone have changed since a version was compiled numbers of run time; the paths of the new ones."""
        if self.settings.dynamic is False or bound is None:
            return ()
        known = set(self.numbers.run_time)
        for version in self.cache.versions:
            self.numbers.run_time |= changed_numbers(version.predicate, args, kwargs, self.function, bound)
        new = self.numbers.run_time - known - self.numbers.by_value
        return tuple(sorted(path.print_body() for path in new))

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        try:
            return bind_parameters(self.function, decode_code(self.function.__code__)[0], args, kwargs)
        except Exception:
            return None


def tell_of(made: Compiled, name: str, log: EventLog) -> None:
    """The events of a compile: what was followed, what stands in the way, and where the frame is cut."""
    if made.statistics:
        counts = made.statistics
        seconds = dict(made.stages).get("capture", 0.0)
        log.add(Trace(name, seconds, counts.get("frames inlined", 0), counts.get("torch calls", 0), counts.get("guards", 0), counts.get("effects", 0)))
    reason = made.fallback or made.note
    if reason is not None:
        log.add(reason)
    if made.fallback is None and made.cut is not None:
        log.add(break_event(name, made.cut))


def _sentence(event: Fallback) -> str:
    place = f"{event.location}: " if event.location else ""
    calls = "".join(f"\n  {call}" for call in event.calls)
    return f"{place}{event.function} cannot be compiled as one graph: {event.number} {event.title}: {event.detail}{calls}"
