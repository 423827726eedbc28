"""One compile: from a call to a version of the function, through all pipelines."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import CodeType, MappingProxyType
from typing import Any

import torch

from lect.dialects import make_context
from lect.dialects.fx.ops import GraphOp
from lect.dialects.fx.python_values import dtype_of
from lect.dialects.fx.types import NumberType
from lect.frontends.capture.api import DoesNotBind, Rest, open_frame
from lect.frontends.capture.breaks import REASONS, Refused
from lect.frontends.capture.cut import Cut
from lect.frontends.capture.interpreter import CodeTable
from lect.frontends.capture.numbers import NumberPolicy
from lect.frontends.capture.size_policy import Constant
from lect.frontends.tensors.errors import NumberNeeded
from lect.frontends.tensors.lower.symbols import found_symbols
from lect.frontends.tensors.torch_warnings import told_before
from lect.ir import UNKNOWN, Context, LectError, Location, Operation
from lect.ir.collector import collector_off, let_go
from lect.passes.instrument import RoundTripError
from lect.passes.manager import PassManager
from lect.passes.tuning import TUNING
from lect.runtime.checking import Check
from lect.runtime.continuation import ResumePoints, cut_resources, going_on
from lect.runtime.events import Break, EventLog, Fallback, Note, Passes, StageBegins, StaticSizes
from lect.runtime.failure_files import FailureFiles
from lect.runtime.failures import Failure, Lowering, is_internal, with_file
from lect.runtime.graph_cache import GraphCache, Place, Restored
from lect.runtime.graph_copies import keep_with_sizes
from lect.runtime.graph_texts import TextError
from lect.runtime.linking import link_graph
from lect.runtime.machines import machine_of
from lect.runtime.sizes import needed_sizes, what_to_do
from lect.runtime.stored_sizes import decisions_from_json, decisions_to_json, symbolic_guards
from lect.runtime.training_compile import Training, any_results_differentiable, restore_training, take_training
from lect.runtime.tuning_records import records_for, tuner_of
from lect.runtime.watch import Observer, Watch

STAGES = ("aot", "loop", "kernel")
RAISED = "LB0012"
FOUND = "found"  # stands for all sizes that elements decide
# Level at which the graph runs -> how many stages lead there.
REACHED: Mapping[str, int] = MappingProxyType({"fx": 0, "functional": 1, "loop": 2, "native": 3})


@dataclass
class Compiled:
    """What a compile gives: guards, the function to call instead, and what was measured.

    `fallback` is set when the frame runs eagerly; then `run` is None and the guards (which may be None too) say for which calls that was found out.
    `note` is set when torch runs the graph, because autograd shall record it or because a later stage refused it.  `seeded` is how many random
    operators of the graph have lect's numbers and not eager's.
    """

    guards: Operation | None = None
    residual: Operation | None = None
    objects: Sequence[Any] = ()
    run: Callable[..., Any] | None = None
    bound: Mapping[str, Any] = field(default_factory=dict)
    stages: list[tuple[str, float]] = field(default_factory=list)
    statistics: dict[str, int] = field(default_factory=dict)
    fallback: Fallback | None = None
    note: Note | None = None
    seeded: int = 0
    cut: Cut | None = None
    needed: tuple[frozenset[int], Location] = (frozenset(), UNKNOWN)  # the size symbols whose values a stage needed, and where
    failure: Failure | None = None  # of lect itself, until its file is written
    numbers: Mapping[int, Any] = field(default_factory=dict)  # the graph's arguments that are numbers, and their dtypes
    constants: tuple[int, ...] = ()  # the graph's arguments whose value a lowering needs
    begins: Callable[[str], None] = field(default=lambda stage: None)  # told of each stage
    followed: int = 0  # basic blocks that were entered while the frame was followed
    places: tuple[CodeType, Mapping[int, Location]] | None = None  # the lines of a graph that runs through torch
    training: Training | None = None  # what compiles its backwards
    graph_codes: frozenset[CodeType] = frozenset()  # set when the call may be made again, as written, if the graph raises

    @property
    def raises(self) -> bool:
        """True when an exception of the program ended the capture."""
        return (self.fallback.number if self.fallback is not None else self.cut.reason.number if self.cut is not None else "") == RAISED


@collector_off()
def compile_call(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    table: CodeTable,
    options: Mapping[str, Any],
    observe: Observer,
    numbers: NumberPolicy | None = None,
    points: ResumePoints | None = None,
    log: EventLog | None = None,
    graphs: GraphCache | None = None,
) -> Compiled:
    """Compile `fn` for this call.  Never raises for what the program does: what cannot be compiled comes back as a fallback.

    `numbers` says which numbers are of run time, and learns which cannot be.  `points` are the resume points of the function; without them a frame is
    compiled as a whole or not at all.  `log` is told of what is compiled later, when the first backward comes, and keeps the files of failures.  `graphs`
    holds graphs that were lowered before.
    """
    log, numbers = log or EventLog(), numbers or NumberPolicy()
    ctx = make_context(options=options)
    ctx.resources.update(code_table=table, numbers=numbers, points=points, whole=points is None, log=log)
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    again = partial(compile_call, fn, args, kwargs, table, options, observe, numbers, points, log, graphs)
    made = Compiled(begins=lambda stage: log.tell(StageBegins(name, stage)))
    watch = Watch.of(name, options, observe, log, fn)
    stage, numbers.sizes.in_use, numbers.sizes.finds = "capture", False, False
    try:
        module = _timed(made, "capture", lambda: _capture(fn, args, kwargs, ctx, watch))
        _take_capture(made, module, ctx)
        observe("capture", module)
        _only_residual(made, module)
        if not made.statistics.get("torch calls"):
            stage = "emit"
            _link_without_graph(made, ctx, name, fn, watch)
            return made
        captured = find_graph(module)
        made.note = _why_through_torch(name, ctx)
        if made.note is None:
            made.numbers = number_places(captured := captured.clone({}))
            _lower(module, captured, name, made, ctx, watch, log, graphs)
        if _learns_constants(made, ctx, numbers) or _gives_up_symbols(made, ctx, captured, name, numbers, log):
            return again()
        stage = "emit"
        made.run = made.run or _timed(made, "emit", lambda: _link_through_torch(captured, made, ctx))
        if _assumed_in_vain(made, ctx, numbers):
            return again()
    except DoesNotBind as error:
        made.fallback = fallback(name, "LB0012", str(error), place_of(fn))
    except (TextError, RoundTripError):
        raise
    except Exception as error:
        if stage == "emit":
            watch.refused(error, by_torch=True)
        if _goes_on(error, made, ctx, name, stage, numbers, log):
            return again()
    finally:
        _end(made, ctx)
    watch.finish(made.fallback is None and made.note is None)
    _write_failure(made, log.files, fn, args, kwargs, options)
    return made


def _link_without_graph(made: Compiled, ctx: Context, name: str, fn: Any, watch: Watch) -> None:
    watch.keep_record()
    if made.cut is None and not ctx.options.get("without_graph"):  # which tests of the capture alone ask for
        made.fallback = fallback(name, "LB0022", "no torch function was called on a tensor", place_of(fn))
    else:
        made.run = _timed(made, "emit", lambda: _link_residual(made, ctx, None, False))


def _end(made: Compiled, ctx: Context) -> None:
    """Tell that a compile is over; what outlives it must not hold the call's objects."""
    made.followed = ctx.statistics.get("blocks entered", 0)
    made.begins("")
    for resource in ("called", "frame", "objects", "partial_guards", "function_op", "cut", "points"):
        ctx.resources.pop(resource, None)


def _write_failure(made: Compiled, files: FailureFiles, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Mapping[str, Any]) -> None:
    """When lect failed, the file that replays it, named by the event."""
    failure, made.failure = made.failure, None
    if failure is None:
        return
    kept = failure.file(files, fn, args, kwargs, options)
    if made.fallback is not None:
        made.fallback = with_file(made.fallback, kept)
    elif made.note is not None:
        made.note = note(with_file(made.note, kept))


def _timed(made: Compiled, stage: str, work: Callable[[], Any]) -> Any:
    made.begins(stage)
    start = time.perf_counter()
    try:
        return work()
    finally:
        made.stages.append((stage, time.perf_counter() - start))


def _capture(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ctx: Context, watch: Watch) -> Operation:
    module = open_frame(fn, args, kwargs, ctx)
    PassManager.parse("capture").run(module, ctx, watch.instruments("capture"))
    return module


def _take_capture(made: Compiled, module: Operation, ctx: Context) -> None:
    for op in module.body:
        if op.name == "guard.set":
            made.guards = op
        elif op.name == "pyframe.func" and made.residual is None:
            made.residual = op
    made.objects = ctx.resources["objects"]
    made.bound = ctx.resources["frame"].bound
    made.statistics = dict(ctx.statistics)
    made.cut = ctx.resources["cut"]


def _only_residual(made: Compiled, module: Operation) -> None:
    """Take the steps and resume functions of a cut out: later stages have nothing to do with them."""
    for op in list(module.body):
        if op.name == "pyframe.func" and op is not made.residual:
            op.detach()


def _take_partial(made: Compiled, ctx: Context) -> None:
    """The guards that were asked for until the frame was refused: while they hold, it would be refused again."""
    if made.guards is None:
        made.guards = ctx.resources.get("partial_guards")
        made.residual = ctx.resources.get("function_op")
        made.objects = ctx.resources.get("objects", ())
        frame = ctx.resources.get("frame")
        made.bound = frame.bound if frame is not None else {}


def _why_through_torch(name: str, ctx: Context) -> Note | None:
    """The reason for which this graph is not lowered, known from the capture."""
    reason = ctx.resources.get("through_torch")
    return note(fallback(name, *reason)) if reason else None


def _lower(
    module: Operation, graph: Operation, name: str, made: Compiled, ctx: Context, watch: Watch, log: EventLog, graphs: GraphCache | None
) -> None:
    """Lower the graph as far as the option `level` says and link it.  What a stage refuses becomes the note of `made`, and nothing is linked.

    `graph` is a copy of it, for the backwards that are compiled later.
    """
    stage = STAGES[0]
    level = ctx.options.get("level", "native")
    training = None
    if level == "fx" and any_results_differentiable(graph):
        made.note = note(fallback(name, "LB0021", "the option level = fx has no backward"))
        return
    try:
        place, captured = None, len(symbolic_guards(made.guards))
        if level == "native":
            ctx.target.update(machine_of(graph))
            ctx.resources[TUNING] = records_for(ctx.target, ctx.options, log.tuning)
            place = graphs.place_of(name, graph, made.guards, ctx) if graphs is not None else None
        if place is not None and _timed(made, "cache", lambda: _restore(place, graph, made, ctx, watch, log)):
            return
        ctx.resources["code_store"] = place.objects if place is not None else None
        tuner = tuner_of(name, graph, ctx, log)
        keep_with_sizes(graph, made.guards)
        for stage in STAGES[: REACHED[level]]:
            if tuner is not None:
                _timed(made, "tuning", lambda: tuner.before(stage, module))  # noqa: B023  # called at once
            manager, instruments = PassManager.parse(stage).configured(ctx.options), watch.instruments(stage)
            steps = _timed(made, stage, lambda: manager.run(module, ctx, instruments))  # noqa: B023  # called at once
            log.add(Passes(name, stage, tuple([(step.name, step.seconds) for step in steps])))
            watch.observe(stage, module)
            if stage == STAGES[0]:
                keep_with_sizes(graph, made.guards)  # with what was decided meanwhile
                training = made.training = take_training(module, graph, name, ctx, watch, log, place)
        stage = "emit"
        watch.linked(module, ctx)
        watch.checks(graph, ctx, STAGES[: REACHED[level]])
        made.run = _timed(made, "emit", lambda: _link(module, made, ctx, training, check=watch.check))
        made.seeded = ctx.statistics.get("random operators seeded", 0)
        if place is not None:
            decided = decisions_to_json(symbolic_guards(made.guards)[captured:])
            facts = {"training": training.facts.to_json() if training is not None else None, "decided": decided}
            compiled = made.run.__dict__["executable"].kernels
            _timed(made, "cache", lambda: place.keep(module, ctx, facts, compiled))
    except (TextError, RoundTripError):
        raise
    except NumberNeeded as error:
        watch.refused(error)
        made.constants = error.arguments
        made.note = note(_reason(made, name, stage, error))
        let_go(error)
    except Exception as error:
        watch.refused(error)
        made.needed = needed_sizes(error)
        lowering = Lowering(graph, STAGES[: REACHED[level]], dict(ctx.options), dict(ctx.target), link_graph)
        made.note = note(_reason(made, name, stage, error, lowering))
        let_go(error)


def _restore(place: Place, graph: Operation, made: Compiled, ctx: Context, watch: Watch, log: EventLog) -> bool:
    """Link the graph as it lies in the cache; False when it is not there."""

    def use(found: Restored) -> Callable[..., Any]:
        training = restore_training(found.facts["training"], graph, place.name, ctx, watch, log, place)
        made.seeded = ctx.statistics.get("random operators seeded", 0)
        decided = decisions_from_json(found.facts["decided"], graph)
        run = _link(found.module, made, ctx, training, found.code)
        for op in decided:
            made.guards.body.append(op)  # type: ignore[union-attr]
        return run

    made.run = place.restore(ctx, use)
    return made.run is not None


def _assumed_in_vain(made: Compiled, ctx: Context, numbers: NumberPolicy) -> bool:
    """True when a check of a branch that raises would not lead to the program's exception, as the call cannot be made again; then nothing is assumed."""
    if not ctx.resources["assumed"] or made.graph_codes:
        return False
    numbers.assumes = False
    return True


def _learns_constants(made: Compiled, ctx: Context, numbers: NumberPolicy | None) -> bool:
    """Numbers of run time that a lowering cannot take are constants from now on; False when there are none."""
    if numbers is None or not made.constants:
        return False
    known = len(numbers.by_value)
    for place in made.constants:
        numbers.by_value |= ctx.resources["graph_numbers"].get(place, frozenset())
    return len(numbers.by_value) > known


def _learns_sizes(made: Compiled, ctx: Context, graph: Operation, numbers: NumberPolicy) -> bool:
    """Sizes whose values a lowering needed are compiled as at hand from now on; False when that is not known of any more."""
    assert made.note is not None
    symbols, loc = made.needed
    known = numbers.sizes.by_value
    paths = [path for number, path in ctx.resources.get("graph_sizes", {}).items() if number in symbols and path not in known]
    hints = {path: number for number, path in ctx.resources.get("graph_sizes", {}).items()}
    symbols_of_graph = graph.attrs["symbols"]
    known.update((path, Constant(made.note.detail or made.note.title, loc, symbols_of_graph[f"s{hints[path]}"]["hint"])) for path in paths)
    made.failure = None if paths else made.failure
    return bool(paths)


def _gives_up_symbols(made: Compiled, ctx: Context, graph: Operation, name: str, numbers: NumberPolicy | None, log: EventLog) -> bool:
    """A graph with symbols for sizes that is not compiled to its end is compiled for the sizes at hand, as all later ones of this function."""
    if not made.raises:
        _report_static_sizes(name, numbers, log)
    if made.note is None or numbers is None or not graph.attrs.get("symbols"):
        return False
    assert isinstance(graph, GraphOp)
    if found_symbols(graph) and not numbers.sizes.never_found:
        numbers.sizes.never_found = made.note.detail or made.note.title
        log.add(StaticSizes(name, FOUND, numbers.sizes.never_found, made.note.location))
        made.failure = None
        return True
    if _learns_sizes(made, ctx, graph, numbers):
        return True
    numbers.sizes.off = made.note.detail or made.note.title
    log.add(StaticSizes(name, "all", numbers.sizes.off, made.note.location))
    made.failure = None
    return True


def _goes_on(error: Exception, made: Compiled, ctx: Context, name: str, stage: str, numbers: NumberPolicy, log: EventLog) -> bool:
    """True when the compile is to be made again without symbols for sizes; else the call has a fallback, for what stopped the compile."""
    without_symbols = _goes_on_without_symbols(error, name, numbers, log)
    if not without_symbols:
        made.fallback = _reason(made, name, stage, error)
        _take_partial(made, ctx)
    let_go(error)
    return without_symbols


def _goes_on_without_symbols(error: Exception, name: str, numbers: NumberPolicy, log: EventLog) -> bool:
    """A failure of a compile with symbols for sizes may be because of them: the sizes at hand are tried, now and in all later compiles.  What has a number
    of its own, such as an exception of the program or a break, is none."""
    sizes = numbers.sizes
    if not sizes.in_use or sizes.off or isinstance(error, Refused):
        return False
    if sizes.finds and not sizes.never_found:
        sizes.never_found = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
        log.add(StaticSizes(name, FOUND, sizes.never_found, ""))
        return True
    sizes.off = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
    log.add(StaticSizes(name, "all", sizes.off, ""))
    return True


def _report_static_sizes(name: str, numbers: NumberPolicy | None, log: EventLog) -> None:
    """Tell of sizes that could be symbols and are not, each once."""
    if numbers is None:
        return
    sizes = numbers.sizes
    told = [*sizes.by_value.items(), *[(path, constant) for (path, _), constant in sizes.at_values.items() if constant.reason]]
    for path, constant in told:
        if path not in sizes.reported:
            sizes.reported.add(path)
            place, marked = str(constant.loc) if constant.loc.known else "", sizes.marked.get(path, "")
            log.add(StaticSizes(name, path.print_body(), constant.reason, place, constant.value, marked, what_to_do(constant.reason)))


def note(event: Fallback) -> Note:
    """The reason of a fallback as that of a graph that runs through torch."""
    return Note(event.function, event.number, event.title, event.detail, event.location, event.hint, event.stage, file=event.file, replay=event.replay)


def fallback(name: str, number: str, detail: str, location: str = "", stage: str = "capture") -> Fallback:
    """The event for a reason of the table."""
    reason = REASONS[number]
    return Fallback(name, number, reason.title, detail, location, reason.hint, stage)


def place_of(fn: Any) -> str:
    """Where the code of a function, of the rest of one or of a module's forward begins, as `file:line`; empty for what is no Python code."""
    function = fn.function if isinstance(fn, Rest) else type(fn).forward if isinstance(fn, torch.nn.Module) else fn
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if isinstance(code, CodeType) else ""


def break_event(name: str, cut: Cut) -> Break:
    """The event for a cut."""
    stop, reason = cut.reason, cut.reason.reason
    return Break(name, stop.number, reason.title, stop.detail, str(stop.loc) if stop.loc.known else "", reason.hint, cut.frames)


def _reason(made: Compiled, name: str, stage: str, error: Exception, lowering: Lowering | None = None) -> Fallback:
    """The event for what a stage raised: a break, a refusal, or a failure of lect, which `made` keeps until its file is written."""
    refused = isinstance(error, LectError)
    place = str(error.loc) if refused and error.loc.known else ""  # type: ignore[attr-defined]
    if isinstance(error, Refused):
        return replace(fallback(name, error.number, error.detail, place), calls=error.calls)
    if not is_internal(error):
        return fallback(name, "LB0024", error.message, place, stage)  # type: ignore[attr-defined]
    made.failure = Failure.of(name, stage, error, lowering)
    return fallback(name, "LB0020", error.message if refused else made.failure.summary, place or made.failure.location, stage)  # type: ignore[attr-defined]


def _link(
    module: Operation, made: Compiled, ctx: Context, training: Training | None, code: Any = None, check: Check | None = None
) -> Callable[..., Any]:
    """The residual function with its graph, ready to be called like the function itself."""
    from lect.runtime.executable import find_host_function
    from lect.runtime.repeat import changes_nothing_before_it_raises, with_random_state_kept
    from lect.runtime.residual import with_numbers, without_autocast
    from lect.runtime.training import refuse_to_keep

    executable, graph = link_graph(module, ctx, code, seen=training.facts.results if training is not None else None)
    keeps_state = ctx.resources["draws"] and ctx.resources["assumed"] and not ctx.resources["other_generators"]
    may_repeat = keeps_state or not ctx.resources["draws"]
    if executable is not None and may_repeat and changes_nothing_before_it_raises(find_host_function(module, None)):
        made.graph_codes = executable.codes
    if training is not None:
        if may_repeat and not ctx.resources["writes"]:
            made.graph_codes |= {refuse_to_keep.__code__}
        graph = training.step(without_autocast(graph) if autocast_is_on(made.guards) else graph, made.numbers)
    else:
        if ctx.options.get("level") != "fx":
            graph = with_numbers(graph, made.numbers)
        if autocast_is_on(made.guards):
            graph = without_autocast(graph)
    grad = any_grad(made.guards) and training is None
    if check is not None:
        check.seeded = bool(ctx.statistics.get("random operators seeded"))
        made.graph_codes = frozenset()  # what the check raises is no reason to make the call again
        graph = check.graph_call(graph) if training is None else check.step_call(graph, training.facts.groups)
    native = executable.native if executable is not None else None
    if native is not None and graph is native.run and grad:
        graph, grad = native.quiet, False  # which turns gradients off by itself
    run = _link_residual(made, ctx, with_random_state_kept(graph) if keeps_state else graph, grad)
    run.__dict__["executable"] = executable  # keeps the native code alive as long as the function
    return run


def _link_through_torch(graph: Operation, made: Compiled, ctx: Context) -> Callable[..., Any]:
    """The residual function with the calls of its graph as Python."""
    from lect.backends import python_fx

    program = python_fx.load(graph)
    run = _link_residual(made, ctx, told_before(program.run), False)
    made.places = (program.run.__code__, program.places)  # type: ignore[attr-defined]
    if not (ctx.resources["draws"] or ctx.resources["writes"]):
        made.graph_codes = frozenset([program.run.__code__])  # type: ignore[attr-defined]
    run.__dict__["executable"] = program
    return run


def _link_residual(made: Compiled, ctx: Context, graph: Callable[..., list[Any]] | None, grad: bool) -> Callable[..., Any]:
    """The residual function as a function, with its steps and resume points when it is cut."""
    from lect.runtime.residual import link_residual

    assert made.residual is not None
    frame, points = ctx.resources["frame"], ctx.resources["points"]
    in_place = points is not None and points.in_place and frame.rest is None
    others = cut_resources(made.cut, points, in_place) if made.cut is not None else {}
    run = link_residual(made.residual, frame.function, graph, made.objects, grad, others)
    return run if made.cut is None or in_place or frame.rest is not None else going_on(run)


def number_places(graph: Operation) -> dict[int, Any]:
    """The positions of the arguments of a graph that are Python numbers, and the dtype in which lower levels hold them."""
    types = [value.type for value in graph.body.args]
    return {place: dtype_of(type.element) for place, type in enumerate(types) if isinstance(type, NumberType)}


def find_graph(module: Operation) -> Operation:
    """The captured graph of a module."""
    return next(op for op in module.body if op.name == "fx.graph")


def autocast_is_on(guards: Operation | None) -> bool:
    """True when autocast is on in the calls that these guards let through."""
    if guards is None:
        return False
    return any(op.name == "guard.global_state" and any(switch[1] for switch in op.attrs.get("autocast", ())[:-1]) for op in guards.body)


def any_grad(guards: Operation | None) -> bool:
    """True when autograd is on in the calls that these guards let through."""
    if guards is None:
        return True
    return any(op.name == "guard.global_state" and op.attrs.get("grad") for op in guards.body)
