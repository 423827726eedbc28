"""The body of the pass `pyframe-to-fx`: follow the function on the live call, and write guards, graph and residual frame."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from lect.dialects.pyframe.control import FuncOp
from lect.frontends.capture.api import LiveFrame
from lect.frontends.capture.breaks import GraphBreak, Refused, UserError
from lect.frontends.capture.calls import check_hooks
from lect.frontends.capture.dead_effects import visible_effects
from lect.frontends.capture.interpreter import CodeTable, Frame, Program, call_frame
from lect.frontends.capture.modes import checked_modes, enter_found_modes, global_state
from lect.frontends.capture.numbers import NumberPolicy, needed_for_value
from lect.frontends.capture.residual import ResidualBuilder
from lect.frontends.capture.sources import Source
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT, propagating
from lect.ir import Context, Location, Operation, PassFailure

RECURSION_LIMIT = 12_000
MAX_PAIRS = 64  # of objects that are compared one by one


def run(module: Operation, ctx: Context) -> None:
    """Replace the first `pyframe.func` of `module` by a guard set, a graph (when it calls torch) and the residual function.

    Leaves the live objects that the result names in `ctx.resources["objects"]`.  What is known of the frame's numbers is in `ctx.resources["numbers"]`:
    when the value of a run-time number is needed, the frame is followed once more with that number as a constant.  Raises `Refused` when the frame
    cannot be captured.
    """
    live = ctx.resources.get("frame")
    func = next((op for op in module.body if isinstance(op, FuncOp)), None)
    if not isinstance(live, LiveFrame) or func is None:
        raise PassFailure("pyframe-to-fx follows a function on a live call, and there is none", hint="start from --capture FILE.py:FUNCTION")
    policy = ctx.resources.get("numbers") or NumberPolicy()
    while not _follow(module, func, live, policy, ctx):
        ctx.count("traces begun anew")


def _follow(module: Operation, func: FuncOp, live: LiveFrame, policy: NumberPolicy, ctx: Context) -> bool:
    """Follow the frame once; False when a run-time number has to be a constant, which the policy says from now on."""
    table: CodeTable = ctx.resources["code_table"]
    t = Tracer(table, policy)
    try:
        global_state()
        enter_found_modes(t)
        with _quiet(), propagating() as t.mode:
            t.known.attach(t.mode)
            returned = _trace(t, func, live)
        if _has_needed_values(t):
            return False
        _write(t, module, func, global_state(t), returned, ctx)
        return True
    except GraphBreak as stop:
        if _has_needed_values(t):
            return False
        if not stop.loc.known:
            stop.loc = t.loc
        _leave_guards(t, func, ctx)
        raise Refused(stop) from None
    except Exception:
        _leave_guards(t, func, ctx)
        raise
    finally:
        t.close()


def _has_needed_values(t: Tracer) -> bool:
    t.policy.by_value |= needed_for_value(t)
    return bool(t.pinned)


def _leave_guards(t: Tracer, func: FuncOp, ctx: Context) -> None:
    """The guards asked for so far: while they hold, following the frame would end in the same place."""
    with suppress(GraphBreak, Exception):
        t.guards.global_state(global_state(t))
        ctx.resources["partial_guards"] = t.guards.finish(f"{func.attrs['sym_name']}.guards", func.loc)
        ctx.resources["function_op"] = func
        ctx.resources["objects"] = t.objects.objects


def _trace(t: Tracer, func: FuncOp, live: LiveFrame) -> Box:
    function = live.function
    callee = t.wrap(function, t.sources.function)
    if t.policy.arguments:
        _mark_arguments(t, func, live.bound)
    bound = {name: t.wrap(value, t.sources.local(name)) for name, value in live.bound.items()}
    if live.of_module:
        check_hooks(t, _first_argument(t, func, bound))
    try:
        returned = call_frame(t, Frame(t, Program(func, live.codes), callee, bound))
    except UserError as raised:
        error = raised.error
        raise GraphBreak("LB0012", f"{type(error).__name__} leaves the frame: {_short(error)}", raised.loc) from None
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


def _write(t: Tracer, module: Operation, func: FuncOp, state: dict[str, Any], returned: Box, ctx: Context) -> None:
    name = func.attrs["sym_name"]
    loc = func.loc if func.loc.known else Location(func.file, func.first_line, None, func.qualified_name)
    builder = ResidualBuilder(t, func, f"{name}.graph")
    t.effects = visible_effects(t)
    residual = builder.build(returned, loc)
    t.guards.loc = loc
    t.guards.global_state(state)
    reason = _why_gradients(t, builder.outputs)
    through_torch = _guard_overlap(t, reason)
    _guard_identities(t)
    block = module.body
    block.insert_before(func, t.guards.finish(f"{name}.guards", loc))
    if t.graph.calls:
        block.insert_before(func, t.graph.finish(f"{name}.graph", builder.outputs, loc))
    block.insert_before(func, residual)
    for _, generator in builder.generators.values():
        block.insert_before(func, generator.func)
    func.erase()
    ctx.resources["objects"] = t.objects.objects
    ctx.resources["through_torch"] = through_torch
    ctx.count("frames inlined", t.calls)
    ctx.count("torch calls", t.graph.calls)
    ctx.count("guards", len(t.guards.entries))
    ctx.count("effects", len(t.effects))


def _why_gradients(t: Tracer, outputs: list[LT]) -> str:
    """What autograd must record the graph for; empty when it need not."""
    if any(tensor.requires_grad for tensor in outputs):
        return "an output requires gradients"
    if any(_recorded_write(each.traced) for each in t.inputs):
        return "an input that is written requires gradients"
    return ""


def _recorded_write(tensor: LT) -> bool:
    """True when autograd records what was written to an input."""
    return tensor.requires_grad and tensor.grad_fn is not None and tensor._version > 0


def _guard_identities(t: Tracer) -> None:
    """Objects that were written to must not be found under a second path."""
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


def _guard_overlap(t: Tracer, gradients: str) -> tuple[str, str] | None:
    """Why torch must run the graph call by call, if it must: the number and words of a reason.

    Inputs of a lowered graph that writes must not overlap.  Torch does not mind, unless a write makes an input require gradients: then another that
    shares its memory does too, and the trace would not know.
    """
    writes = t.graph.writes and len(t.inputs) > 1
    turned = any(each.traced.requires_grad and not t.real_of[id(each.traced)].requires_grad for each in t.inputs)
    if writes and (turned or not gradients):
        if _overlapping(t):
            if turned:
                raise GraphBreak("LB0023", "two inputs share memory, and a write makes one require gradients")
            return "LB0023", "two inputs share memory and the graph writes in place"
        t.guards.no_overlap([each.source for each in t.inputs])
    return ("LB0021", gradients) if gradients else None


def _overlapping(t: Tracer) -> bool:
    tensors = [t.real_of[id(each.traced)] for each in t.inputs]
    storages = [tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()]
    return len(set(storages)) != len(storages)


@contextmanager
def _quiet() -> Iterator[None]:
    """No garbage collection, deep Python recursion, and torch's modes as they were behind it."""
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    gc.disable()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        with checked_modes():
            yield
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()
