"""Making a training step: the forward with the graph, each backward when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from lect.dialects import make_context
from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.python_values import dtype_of
from lect.dialects.fx.ops import GraphOp
from lect.frontends.tensors.lower.joint import casts_backwards
from lect.ir import Context, Operation
from lect.ir.collector import collector_off
from lect.passes.convert.fx_build_joint import FxBuildJoint
from lect.passes.functional.functional_split_joint import backward_like, is_backward
from lect.passes.functional.joint_graph import JointGraph, joint_graphs
from lect.passes.instrument import RoundTripError
from lect.passes.manager import PassManager
from lect.passes.pipelines import PIPELINES
from lect.passes.tuning import TUNING
from lect.runtime.events import BackwardCompile, BackwardFallback, EventLog
from lect.runtime.failures import Failure, Lowering, is_internal, with_file
from lect.runtime.graph_cache import Place, Restored
from lect.runtime.graph_copies import copied, refuse_new_sizes
from lect.runtime.graph_texts import TextError
from lect.runtime.linking import interpreted, link_graph, module_of
from lect.runtime.machines import machine_of
from lect.runtime.random_replay import Draw, draws_of
from lect.runtime.residual import without_autocast
from lect.runtime.training import Backward, Group, Layouts, RunBackward, TrainingStep
from lect.runtime.training_facts import GroupFacts, StepFacts, backward_from_json, backward_to_json, facts_of
from lect.runtime.tuning_records import records_for, tuner_of
from lect.runtime.watch import Watch

SPLIT = "functional-split-joint"


def any_results_differentiable(graph: Operation) -> bool:
    """True when a result of a captured graph requires a gradient."""
    last = graph.body.last
    return last is not None and any(getattr(value.type, "requires_grad", False) for value in last.operands)


def take_training(module: Operation, graph: Operation, name: str, ctx: Context, watch: Watch, log: EventLog, place: Place | None) -> Training | None:
    """Take the backward out of a module of functional functions, to be lowered when it is needed; None when there is none.

    `graph` are the captured calls, from which other backwards are made; `place` is where the lowered graph lies in the cache.
    """
    backwards = _take_backwards(module)
    if not backwards:
        return None
    (forward,) = [op for op in module.body if isinstance(op, FuncOp)]
    copy = forward.clone({})
    assert isinstance(graph, GraphOp) and isinstance(copy, FuncOp)
    facts = facts_of(graph, copy, backwards, bool(ctx.statistics.get("random calls")))
    return Training(name, graph, facts, lambda: backwards, dict(ctx.options), watch, log, place)


def restore_training(told: Any, graph: Operation, name: str, ctx: Context, watch: Watch, log: EventLog, place: Place) -> Training | None:
    """The training step of a graph out of the cache, with the facts that were told there; None when there were none.

    The functional backward is made again, of the captured graph, when one is asked for that the cache does not have.
    """
    if told is None:
        return None
    assert isinstance(graph, GraphOp)
    options = dict(ctx.options)

    def again() -> list[FuncOp]:
        module = copied(graph)
        PassManager.parse("aot").configured(options).run(module, make_context(options=options))
        return _take_backwards(module)

    return Training(name, graph, StepFacts.from_json(told), again, options, watch, log, place)


def _take_backwards(module: Operation) -> list[FuncOp]:
    """The backwards of a module, one for each group of results; they are taken out of it."""
    backwards = [op for op in module.body if isinstance(op, FuncOp) and is_backward(op)]
    for backward in backwards:
        backward.detach()
    return backwards


@dataclass
class Training:
    """What is known of a training step behind the functional level; `functional` gives the backward for all results of each group."""

    name: str
    graph: GraphOp
    facts: StepFacts
    functional: Callable[[], list[FuncOp]]
    options: Mapping[str, Any]
    watch: Watch
    log: EventLog
    place: Place | None

    def step(self, run: Callable[..., list[Any]], numbers: Mapping[int, torch.dtype]) -> TrainingStep:
        """The step with a linked forward; `numbers` are the arguments that are numbers."""
        facts = self.facts
        return TrainingStep(
            forward=run,
            results=facts.results,
            groups=tuple([Group(group.results, group.kept, group.inputs, group.again) for group in facts.groups]),
            views=facts.views,
            dtypes=dict(numbers),
            graph=self.graph,
            compiler=self.compile_backward,
            casts=self.casts,
            draws=self.find_draws if facts.draws else None,
            restored=facts.restored,
            found=facts.found,
        )

    @cached_property
    def _draws(self) -> tuple[Draw, ...]:
        return draws_of(self.graph, self.options)

    def find_draws(self) -> tuple[Draw, ...]:
        """The random operators of the graph, found when they are first asked for."""
        return self._draws

    @collector_off()
    def casts(self, autocast: tuple[str, ...]) -> bool:
        """True when autocast for these devices and dtypes around a backward changes what it computes."""
        try:
            return casts_backwards(self.graph, autocast)
        except Exception:  # what is wrong is found again, and told, where the backward is compiled
            return True

    @collector_off()
    def compile_backward(self, tangents: tuple[int, ...], strides: Layouts | None, autocast: tuple[str, ...] = ()) -> Backward | None:
        """The backward for gradients of these results, which lie with these strides, or as the results do; with this autocast around it.

        What a later stage refuses is interpreted operation by operation; None when there is no such backward.  Both are told by an event.
        """
        start = time.perf_counter()
        strides = self._own_strides(tangents) if strides is None else strides
        place = self._place(tangents, strides, autocast)
        ctx = self._context()
        found: Backward | None = place.restore(ctx, lambda kept: self._restored(kept, ctx)) if place is not None else None
        if found is not None:
            self.log.add(BackwardCompile(self.name, time.perf_counter() - start, tangents))
            return found
        try:
            backward = self._functional(tangents, strides, autocast)
        except Exception as error:
            self._tell(error, Lowering(self.graph, ("aot",), self.options, {}, lambda module, ctx: self._functional(tangents, strides, autocast)))
            return None
        made = _backward_of(backward, tangents)
        try:
            copy = backward.clone({})
            assert isinstance(copy, FuncOp)
            run = self._link(copy, made, place)
            if self.watch.check is not None:
                run = self.watch.check.backward(backward, Lowering(backward, self._stages(), self.options, self._target(), link_graph), run)
            self.log.add(BackwardCompile(self.name, time.perf_counter() - start, tangents))
        except (TextError, RoundTripError):
            raise
        except Exception as error:
            self._tell(error, Lowering(backward, self._stages(), self.options, self._target(), link_graph))
            interpreter = interpreted(module_of(backward))
            return replace(made, run=lambda tensors: interpreter(*tensors))
        return replace(made, run=run)

    def compile_all_backwards(self) -> None:
        """Compile the backward of each group of results, for gradients of all of them."""
        for group in self.facts.groups:
            self.compile_backward(group.results, None)

    def _place(self, tangents: tuple[int, ...], strides: Layouts, autocast: tuple[str, ...]) -> Place | None:
        """Where the lowered backward lies in the cache; it is made for the machine as it is now."""
        if self.place is None:
            return None
        lines = [f"backward of {list(tangents)}, which lie with {[list(map(str, each)) for each in strides]}"]
        lines += ["autocast " + " ".join(autocast)] if autocast else []
        return self.place.beside("\n".join([*lines, *[f"backward target {name} = {value!r}" for name, value in sorted(self._target().items())]]))

    def _own_strides(self, tangents: tuple[int, ...]) -> Layouts:
        """How the gradients of these results lie when they lie as the results do."""
        group = self._group(tangents)
        return tuple([strides for number, strides in zip(group.results, group.strides) if number in tangents])

    def _group(self, tangents: tuple[int, ...]) -> GroupFacts:
        """The group that these results are of."""
        return next(group for group in self.facts.groups if tangents[0] in group.results)

    def _context(self) -> Context:
        ctx = make_context(options=self.options)
        ctx.resources["log"] = self.log
        ctx.target.update(self._target())
        if self.options.get("level", "native") == "native":
            ctx.resources[TUNING] = records_for(ctx.target, self.options, self.log.tuning)
        return ctx

    def _restored(self, found: Restored, ctx: Context) -> Backward:
        """A backward out of the cache."""
        executable, run = link_graph(found.module, ctx, found.code, consuming=True)
        return backward_from_json(found.facts["backward"], _without_autocast(run, executable))

    def _tell(self, error: Exception, lowering: Lowering) -> None:
        """The event for a backward that is not compiled; with a file that replays it when that is a failure of lect."""
        if not is_internal(error):
            self.log.add(BackwardFallback(self.name, error.message))  # type: ignore[attr-defined]
            return
        failure = Failure.of(self.name, "backward", error, lowering)
        self.log.add(with_file(BackwardFallback(self.name, failure.summary, "LB0020"), failure.file_of_lowering(self.log.files)))

    def _stages(self) -> tuple[str, ...]:
        return {"functional": (), "loop": ("loop",), "native": ("loop", "kernel")}[self.options.get("level", "native")]

    def _target(self) -> dict[str, Any]:
        native = self.options.get("level", "native") == "native"
        return machine_of(self.graph) if native else {}

    def _functional(self, tangents: tuple[int, ...], strides: Layouts, autocast: tuple[str, ...] = ()) -> FuncOp:
        """The backward at the functional level."""
        group = self._group(tangents)
        if (tangents, strides) == (group.results, group.strides) and not autocast:
            copy = self.functional()[self.facts.groups.index(group)].clone({})
            assert isinstance(copy, FuncOp)
            return copy
        lying = tuple([str(stride) for each in strides for stride in each])
        return backward_like(self._full, self._joint(FxBuildJoint(tangents=tangents, strides=lying, autocast=autocast)))

    @cached_property
    def _full(self) -> JointGraph:
        """The joint graph with all tangents, as the forward was made of."""
        return self._joint(FxBuildJoint())

    def _joint(self, build: FxBuildJoint) -> JointGraph:
        module = copied(self.graph)
        passes = PassManager.parse(",".join(PIPELINES["aot"])).configured(self.options).passes
        chosen = tuple([build if each.name == build.name else each for each in passes if each.name != SPLIT])
        PassManager(chosen).run(module, make_context(options=self.options))
        refuse_new_sizes(module, self.graph)
        (joint,) = joint_graphs(module)
        return joint

    def _link(self, backward: FuncOp, made: Backward, place: Place | None) -> RunBackward:
        ctx = self._context()
        if place is not None:
            ctx.resources["code_store"] = place.objects
        module, watch = module_of(backward), self.watch.backward()
        tuner = tuner_of(self.name, self.graph, ctx, self.log)
        try:
            for stage in self._stages():
                if tuner is not None:
                    tuner.before(stage, module)
                PassManager.parse(stage).configured(self.options).run(module, ctx, watch.instruments(stage))
                watch.observe(f"backward-{stage}", module)
            watch.linked(module, ctx)
            executable, run = link_graph(module, ctx, consuming=True)
            watch.finish()
        except (TextError, RoundTripError):
            raise
        except Exception as error:
            watch.refused(error)
            raise
        if place is not None:
            place.keep(module, ctx, {"backward": backward_to_json(made)}, executable.kernels)
        return _without_autocast(run, executable)


def _without_autocast(run: Callable[..., list[Any]], executable: Any) -> RunBackward:
    """A backward that runs with autocast off; `executable` lives as long as it does."""
    guarded = without_autocast(run)

    def call(tensors: list[Any], keeps: Any = executable) -> list[Any]:
        return (guarded if (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")) else run)(tensors)

    return call


def _backward_of(func: FuncOp, tangents: tuple[int, ...]) -> Backward:
    """What is known of a backward at the functional level, which cannot run yet."""
    known = func.training
    layouts = [value.type for value in func.body.args[len(known["kept"]) :]]
    return Backward(_no_run, known["kept"], tangents, tuple([(type.shape, type.strides, dtype_of(type.element)) for type in layouts]), known["gradients"])


def _no_run(tensors: list[Any]) -> list[Any]:
    raise AssertionError("a backward is linked before it runs")
