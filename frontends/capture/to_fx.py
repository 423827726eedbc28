"""The body of the pass `pyframe-to-fx`: follow the function on the live call, and write guards, graph and residual frame."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from lect.dialects.fx.modes import kept_modes, without_saved_tensor_hooks
from lect.dialects.pyframe.control import FuncOp
from lect.frontends.capture.api import LiveFrame, cell_parameter, rest_parameters
from lect.frontends.capture.arguments import keeps_its_code
from lect.frontends.capture.breaks import FrameState, GraphBreak, Reached, Refused, Stop, UserError
from lect.frontends.capture.cut import CutWriter, chain_of
from lect.frontends.capture.dead_effects import visible_effects
from lect.frontends.capture.found_sizes import find_size
from lect.frontends.capture.generator_states import is_state, states_to_set
from lect.frontends.capture.gradient_hooks import check_hooked
from lect.frontends.capture.graph import refuses_writes
from lect.frontends.capture.inference import blocks_closed
from lect.frontends.capture.interpreter import Frame, Program, call_frame
from lect.frontends.capture.modes import changed_modes, current_modes, enter_found_modes, global_state
from lect.frontends.capture.module_calls import check_hooks
from lect.frontends.capture.numbers import NumberPolicy, needed_for_value
from lect.frontends.capture.output_order import bases_first
from lect.frontends.capture.residual import ResidualBuilder, Returned
from lect.frontends.capture.resume import resume_function
from lect.frontends.capture.sources import Source
from lect.frontends.capture.tracer import MAX_DEPTH, Box, Tracer
from lect.frontends.capture.warning_calls import warned_by_torch
from lect.frontends.tensors import LT, propagating
from lect.frontends.tensors.torch_warnings import taking
from lect.ir import UNKNOWN, Block, Context, Location, Operation, PassFailure, Region
from lect.ir.collector import collector_off

RECURSION_LIMIT = 12_000
MAX_PAIRS = 64  # of objects that are compared one by one
MAX_TRACES = 16
TOO_LONG = "LB0031"
MAX_CHAIN = 50  # of frames that are left at a cut: going on in their rests needs more of the interpreter's stack than they did


def run(module: Operation, ctx: Context) -> None:
    """Replace the first `pyframe.func` of `module` by a guard set, a graph (when it calls torch) and the residual function.

    Where the program cannot be followed, the residual function ends in steps and resume functions, which are added to the module, unless
    `ctx.resources["whole"]` is set.  Leaves the live objects that the result names in `ctx.resources["objects"]` and what a cut needs in
    `ctx.resources["cut"]`.  What is known of the frame's numbers is in `ctx.resources["numbers"]`: when the value of a run-time number is needed, the
    frame is followed once more with that number as a constant.  Raises `Refused` when the frame cannot be captured.
    """
    live = ctx.resources.get("frame")
    func = next((op for op in module.body if isinstance(op, FuncOp)), None)
    if not isinstance(live, LiveFrame) or func is None:
        raise PassFailure("pyframe-to-fx follows a function on a live call, and there is none", hint="start from --capture FILE.py:FUNCTION")
    whole = live.rest.resume.base if live.rest is not None else None
    code = live.rest.code if live.rest is not None else live.function.__code__
    with collector_off():
        search = Search(ctx, module, func, live, Program(func, live.codes, code, live.part, whole))
        try:
            search.run()
        finally:
            search.close()
            del search  # and what the trace made, before the collector looks


class Search:
    """Traces of one call, each up to an earlier moment, until one ends where all that is alive can be made real.

    `stop` is the moment at which the next trace ends, `reason` the first break.  When the value of a run-time number turns out to be needed, the search
    begins anew with that number as a constant.
    """

    def __init__(self, ctx: Context, module: Operation, func: FuncOp, live: LiveFrame, program: Program) -> None:
        self.ctx = ctx
        self.module = module
        self.func = func
        self.live = live
        self.program = program
        self.whole = bool(ctx.resources.get("whole"))
        self.policy = ctx.resources.get("numbers") or NumberPolicy(ctx.resources.get("run_time_numbers", False))
        self.stop: Stop | None = None
        self.watched = False
        self.reason: GraphBreak | None = None
        self.first: Tracer | None = None  # the trace that broke there

    def run(self) -> None:
        """Trace until the module is written.  Raises `Refused`."""
        for _ in range(MAX_TRACES):
            if self.attempt():
                return
            self.ctx.count("traces begun anew")
        if self.policy.in_steps:
            self.policy.use_no_steps()
            self._begin_anew()
            self.run()
            return
        if self.first is not None:
            self._leave_guards(self.first)
        raise Refused(self.reason or GraphBreak("LB0029", "no place was found where the frame can be left", self.func.loc))

    def close(self) -> None:
        """Let go of all objects of the program."""
        if self.first is not None:
            self.first.close()

    def attempt(self) -> bool:
        """Trace once; True when the module is written, False when another trace has to end at `stop`.  Raises `Refused`."""
        t = Tracer(self.ctx.resources["code_table"], self.policy)
        t.stop_at, t.births = self.stop, {} if self.watched else None
        try:
            return self._attempt(t)
        except (NeedsValues, ToldOtherwise):
            return self._begin_anew()
        except GraphBreak as stop:
            if stop.number != TOO_LONG and _needs_values(t):
                return self._begin_anew()
            if self._had_steps(stop):
                return self._begin_anew()
            if not stop.loc.known:
                stop.loc = t.loc
            if stop.number != TOO_LONG:
                self._leave_guards(self.first or t)
            raise Refused(self._both(stop)) from None
        except Exception:
            self._leave_guards(self.first or t)
            raise
        finally:
            self.ctx.count("blocks entered", t.entered)
            if t is not self.first:
                t.close()

    def _had_steps(self, stop: GraphBreak) -> bool:
        """True when a cut for a step that looks at something cannot be made: there are none from now on."""
        if "LB0032" not in (stop.number, self.reason.number if self.reason is not None else "") or not self.policy.uses_steps:
            return False
        self.policy.use_no_steps()
        return True

    def _begin_anew(self) -> bool:
        self.close()
        self.stop, self.watched, self.reason, self.first = None, False, None, None
        return False

    def _both(self, stop: GraphBreak) -> GraphBreak:
        """The first break, with what kept the frame from being left there."""
        first = self.reason
        if first is None or first is stop:
            return stop
        return first.instead(f"{first.detail}; the frame cannot be left there: {stop.detail}")

    def _attempt(self, t: Tracer) -> bool:
        global_state()
        enter_found_modes(t)
        found, returned, chain = current_modes(), None, None
        try:
            t.deepest = _calls_left(MAX_DEPTH)
            with _quiet(), propagating() as t.mode, blocks_closed(t), taking(functools.partial(warned_by_torch, t)):
                t.known.attach(t.mode)
                t.mode.found = functools.partial(find_size, t)
                returned = _trace(t, self.func, self.live, self.program)
                if t.inference:
                    raise t.stop("LB0014", "the frame leaves inference mode on")
        except Reached as reached:
            self._give_up_inference(t)
            chain, left_out = chain_of(t, reached.frames)
            reached.let_go()
            if left_out:
                return self._earlier(t, reached, chain[-1].stop)
        except GraphBreak as stop:
            self._give_up_inference(t)
            if stop.number == "LB0012" and t.asked_compiling and self.policy.compiling:
                self.policy.compiling = False
                raise ToldOtherwise from None
            if not stop.frames or stop.number == TOO_LONG:
                raise
            chain, _ = chain_of(t, stop.frames)
            moment = chain[-1].stop
            stop.let_go()
            if len(chain) > MAX_CHAIN:
                raise GraphBreak(TOO_LONG, f"{stop.number} {stop.reason.title}, in {len(chain)} calls around each other: {stop.detail}", stop.loc) from None
            return self._earlier(t, stop, moment)
        if _needs_values(t):
            raise NeedsValues
        t.left_modes = changed_modes(found, t.left_modes)
        try:
            with _deep():
                _write(t, self, global_state(t), returned, chain)
        except GraphBreak as stop:
            if stop.number == TOO_LONG:
                raise
            watch = t.births is None and stop.values and not self.whole
            born = None if watch else self._birth(t, stop)
            stop.let_go()
            return self._earlier(t, stop, born)
        return True

    def _give_up_inference(self, t: Tracer) -> None:
        """A frame that is left inside of a block of inference mode is followed once more, with the block entered natively."""
        if t.left_inference and self.policy.inference:
            self.policy.inference = False
            raise ToldOtherwise from None

    def _birth(self, t: Tracer, stop: GraphBreak) -> Stop | None:
        """The moment when an object was made that cannot be made again."""
        for value in stop.values:
            for moment in (t.births or {}).get(id(value), ()):
                if self.stop is None or moment < self.stop:
                    return Stop(*moment)
        raise stop

    def _earlier(self, t: Tracer, stop: GraphBreak, moment: Stop | None) -> bool:
        """The next trace ends at `moment`, or like this one but watched.  Raises `stop` when it cannot be."""
        if _needs_values(t):
            raise NeedsValues
        if not stop.loc.known:
            stop.loc = t.loc
        if self.whole or (moment is not None and self.stop is not None and moment >= self.stop):
            raise stop
        if self.reason is None:
            self.reason, self.first = stop, t
        self.watched = True
        if moment is not None:
            self.stop = moment
        return False

    def _leave_guards(self, t: Tracer) -> None:
        """The guards asked for so far: while they hold, following the frame would end in the same place."""
        with suppress(GraphBreak, Exception):
            ctx, func = self.ctx, self.func
            t.guards.global_state(global_state(t))
            ctx.resources["partial_guards"] = t.guards.finish(f"{func.attrs['sym_name']}.guards", func.loc, t.symbols.conditions())
            attrs = dict(func.attrs)
            if self.live.rest is not None:
                attrs["args"] = rest_parameters(self.live.rest.resume)
            ctx.resources["function_op"] = FuncOp.create(attrs=attrs, regions=[Region([Block()])], loc=func.loc)
            ctx.resources["objects"] = t.objects.objects


class ToldOtherwise(Exception):
    """The program raises, and it was told that it is compiled; uncompiled it may take another way, which the next trace follows."""


class NeedsValues(Exception):
    """The value of a run-time number is needed, which has to be a constant in the next trace."""


def _needs_values(t: Tracer) -> bool:
    """True when the frame has to be followed once more with what the policy now says."""
    t.policy.by_value |= needed_for_value(t)
    t.policy.repeats = t.policy.repeats and not t.repeats.misjudged
    return bool(t.pinned) or t.repeats.misjudged or t.symbols.unsettled


def _trace(t: Tracer, func: FuncOp, live: LiveFrame, program: Program) -> Box:
    """Follow the call to its end: what it returns."""
    function = live.function
    callee = t.wrap(function, t.sources.function)
    if live.rest is None:
        keeps_its_code(t, callee)
    if t.policy.arguments:
        _mark_arguments(t, func, live.bound)
    bound = {name: t.wrap(value, t.sources.local(name)) for name, value in live.bound.items()}
    cells = None
    if live.rest is not None:
        cells = {name: bound.pop(cell_parameter(name)) for name in func.free}
    if live.of_module:
        check_hooks(t, _first_argument(t, func, bound))
    try:
        returned = call_frame(t, Frame(t, program, callee, bound, cells))
    except UserError as raised:
        error = raised.error
        raise GraphBreak("LB0012", f"{type(error).__name__} leaves the frame: {_short(error)}", raised.loc) from None
    t.left_modes = current_modes()
    assert returned is not None
    return returned


def _mark_arguments(t: Tracer, func: FuncOp, bound: dict[str, Any]) -> None:
    """Every number among the arguments is a run-time number, unless its value is known to be needed."""
    sources = [t.sources.local(name) for name in bound if name not in (func.varargs, func.varkw)]
    if func.varargs is not None:
        sources += [t.sources.local(func.varargs).item(number) for number in range(len(bound[func.varargs]))]
    if func.varkw is not None:
        sources += [t.sources.local(func.varkw).item(name) for name in bound[func.varkw]]
    for source in sources:
        source.run_time = t.policy.allows(source.path())


def _first_argument(t: Tracer, func: FuncOp, bound: dict[str, Box]) -> Box:
    """What stands in front of the call's arguments, also when the function takes them all as `*args`."""
    if func.args:
        return bound[func.args[0]]
    values, source = bound[func.varargs]  # type: ignore[index]
    assert source is not None
    return t.wrap(values[0], source.item(0))


def _short(error: BaseException) -> str:
    try:
        return str(error).partition("\n")[0][:200]
    except Exception:
        return "(its text cannot be made)"


def _write(t: Tracer, search: Search, state: dict[str, Any], returned: Box | None, chain: list[FrameState] | None) -> None:
    module, func, ctx, live = search.module, search.func, search.ctx, search.live
    name = func.attrs["sym_name"]
    loc = func.loc if func.loc.known else Location(func.file, func.first_line, None, func.qualified_name)
    parameters = {"args": rest_parameters(live.rest.resume)} if live.rest is not None else {}
    if t.graph.calls:
        t.symbols.pass_numbers()
    builder = ResidualBuilder(t, func, f"{name}.graph", parameters)
    check_hooked(t)
    states_to_set(t)
    t.effects = visible_effects(t)
    builder.left_modes = t.left_modes
    cut = None
    if chain is None:
        assert returned is not None
        residual = builder.build(Returned(builder, returned), loc)
    else:
        assert search.reason is not None
        root = name if live.rest is None else live.rest.root
        writer = CutWriter(builder, chain, search.reason, root)
        residual = builder.build(writer, loc)
        cut = writer.cut
    t.guards.loc = loc
    t.guards.global_state(state)
    builder.outputs = bases_first(t, builder.outputs, builder.results)
    reason = _why_gradients(t, builder.outputs)
    if reason == DIFFERENTIATED and ctx.options.get("autograd", "compiled") == "compiled":
        reason = ""  # the pipeline builds the backward too
    through_torch = _guard_overlap(t, reason) or _made_for_inference(builder.outputs) or _refused_write(search.reason, builder.outputs)
    _guard_identities(t)
    block = module.body
    block.insert_before(func, t.guards.finish(f"{name}.guards", loc, t.symbols.conditions()))
    if t.graph.calls:
        block.insert_before(func, t.graph.finish(f"{name}.graph", builder.outputs, loc, t.symbols.declared()))
    block.insert_before(func, residual)
    for _, generator in builder.generators.values():
        block.insert_before(func, generator.func)
    if cut is not None:
        for step, _ in cut.steps.values():
            block.insert_before(func, step)
        for symbol, (resume, _) in cut.resumes.items():
            block.insert_before(func, resume_function(resume, symbol).func)
    func.erase()
    ctx.resources["objects"] = t.objects.objects
    ctx.resources["cut"] = cut
    ctx.resources["called"] = t.guards.called
    ctx.resources["graph_numbers"] = {place: number.paths() for place, number in enumerate(t.graph.places) if number is not None}
    ctx.resources["graph_sizes"] = {number: source.path() for number, source in enumerate(t.symbols.sources) if isinstance(source, Source)}
    ctx.resources["through_torch"] = through_torch
    ctx.resources["assumed"] = bool(t.assumed)
    on_cpu = all(tensor.device.type == "cpu" for tensor in (*(each.traced for each in t.inputs), *builder.outputs))
    ctx.resources["other_generators"] = bool(t.generator_states or t.draws) or not on_cpu
    ctx.resources["draws"], ctx.resources["writes"] = t.mode.draws > 0, t.graph.writes
    ctx.count("frames inlined", t.calls)
    ctx.count("torch calls", t.graph.calls)
    ctx.count("torch calls repeated", t.repeats.given)
    ctx.count("guards", len(t.guards.entries))
    ctx.count("effects", len(t.effects))
    if cut is not None:
        ctx.count("graph breaks")


DIFFERENTIATED = "an output requires gradients"


def _why_gradients(t: Tracer, outputs: list[LT]) -> str:
    """What autograd must record the graph for; empty when it need not."""
    if any(leaf is tensor for leaf in t.graph.leaves for tensor in outputs):
        return "a tensor that the graph makes gathers gradients itself"
    if t.graph.gradients:
        return "a call changes what autograd does with a tensor"
    if any(_recorded_write(each.traced) for each in t.inputs):
        return "an input that is written requires gradients"
    if not any(tensor.requires_grad for tensor in outputs):
        return ""
    return DIFFERENTIATED if any(each.traced.requires_grad for each in t.inputs) else "a tensor that the graph makes requires gradients"


def _recorded_write(tensor: LT) -> bool:
    """True when autograd records what was written to an input."""
    return tensor.requires_grad and tensor.grad_fn is not None and tensor._version > 0


def _guard_identities(t: Tracer) -> None:
    """Objects that were written to must not be found under a second path, and tensors that were told from each other must not be one."""
    if len(t.told) > 1:
        t.guards.all_distinct(list(t.told.values()))
    written: dict[type, dict[Source, Any]] = {}
    for value, source in t.mutated.values():
        if source is not None:
            written.setdefault(type(value), {})[source] = value
    for kind, members in written.items():
        found = {b[1]: b[0] for b in t.seen.values() if type(b[0]) is kind and b[1] is not None and b[1].kind != "O"}
        if len(members) * len(found) > MAX_PAIRS:
            t.guards.all_distinct(list({**members, **found}))
            continue
        for source, value in members.items():
            for other, its_value in found.items():
                if its_value is not value:
                    t.guards.distinct(source, other)


def _guard_overlap(t: Tracer, gradients: str) -> tuple[str, ...] | None:
    """Why torch must run the graph call by call, if it must: the number and words of a reason, and the place of the first write.

    Inputs of a lowered graph that writes must not overlap.  Torch does not mind, unless a write makes an input require gradients: then another that
    shares its memory does too, and the trace would not know.
    """
    writes = t.graph.writes and len(t.inputs) > 1
    turned = any(each.traced.requires_grad and not t.real_of[id(each.traced)].requires_grad for each in t.inputs)
    if writes and (turned or not gradients or t.elements.used):
        loc = t.graph.first_write or UNKNOWN
        if _overlapping(t):
            if t.elements.used:
                raise GraphBreak("LB0023", "two inputs share memory, and a number in one is read behind a write", loc)
            if turned:
                raise GraphBreak("LB0023", "two inputs share memory, and a write makes one require gradients", loc)
            return "LB0023", "two inputs share memory and the graph writes in place", str(loc) if loc.known else ""
        t.guards.no_overlap([each.source for each in t.inputs if not is_state(each.source)])
    return ("LB0021", gradients) if gradients else None


def _made_for_inference(outputs: list[LT]) -> tuple[str, str] | None:
    """A reason to run the graph through torch: tensors made in inference mode stay what they are outside of it."""
    if torch.is_inference_mode_enabled() or not any(tensor.is_inference() for tensor in outputs):
        return None
    return "LB0025", "an output was made in inference mode"


def _refused_write(reason: GraphBreak | None, outputs: list[LT]) -> tuple[str, str] | None:
    """A reason to run the graph through torch: what raises behind it may write to a view that autograd guards, and names the function that made it."""
    if reason is None or reason.number != "LB0012" or not any(refuses_writes(tensor) for tensor in outputs):
        return None
    return "LB0012", "a call behind the graph raises and is given a view that autograd lets nobody write to"


def _overlapping(t: Tracer) -> bool:
    tensors = [t.real_of[id(each.traced)] for each in t.inputs if not is_state(each.source)]
    storages = [tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()]
    return len(set(storages)) != len(storages)


def _calls_left(most: int) -> int:
    """How many calls in calls the program may make here, at most `most`."""
    frame, left = sys._getframe(), sys.getrecursionlimit()
    while frame is not None and left > 0:
        frame, left = frame.f_back, left - 1  # type: ignore[assignment]
    return min(most, left)


@contextmanager
def _quiet() -> Iterator[None]:
    """Deep Python recursion, and torch's modes as they were behind it."""
    with _deep(), kept_modes(), without_saved_tensor_hooks():
        yield


@contextmanager
def _deep() -> Iterator[None]:
    """Deep Python recursion: what is followed and made again is nested less deep than the program's own calls may be, but takes more of ours."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
