"""Making a training step: the forward with the graph, each backward when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from lect.dialects import make_context
from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.python_values import dtype_of
from lect.dialects.fx.ops import GraphOp
from lect.ir import Context, Operation, Value
from lect.passes.convert.fx_build_joint import FxBuildJoint
from lect.passes.functional.functional_split_joint import BACKWARD, backward_like
from lect.passes.functional.joint_graph import JointGraph, joint_graphs
from lect.passes.manager import PassManager, collector_off
from lect.passes.pipelines import PIPELINES
from lect.runtime.events import BackwardCompile, BackwardFallback, EventLog
from lect.runtime.failures import Failure, Lowering, is_internal, with_file
from lect.runtime.linking import interpreted, link_graph, module_of
from lect.runtime.machines import machine_of
from lect.runtime.random_replay import Draw, find_draws
from lect.runtime.residual import without_autocast
from lect.runtime.training import Backward, Layouts, SharedResult, TrainingStep, restored_inputs

Observer = Callable[[str, Operation], None]
SPLIT = "functional-split-joint"


def any_results_differentiable(graph: Operation) -> bool:
    """True when a result of a captured graph requires a gradient."""
    last = graph.body.last
    return last is not None and any(getattr(value.type, "requires_grad", False) for value in last.operands)


def take_training(module: Operation, graph: Operation, name: str, ctx: Context, observe: Observer, log: EventLog) -> Training | None:
    """Take the backward out of a module of functional functions, to be lowered when it is needed; None when there is none.

    `graph` are the captured calls, from which other backwards are made.
    """
    backward = next((op for op in module.body if isinstance(op, FuncOp) and op.sym_name.endswith(BACKWARD) and op.training is not None), None)
    if backward is None:
        return None
    forward = next(op for op in module.body if isinstance(op, FuncOp) and op.sym_name + BACKWARD == backward.sym_name)
    backward.detach()
    copy = forward.clone({})
    assert isinstance(graph, GraphOp) and isinstance(copy, FuncOp)
    return Training(name, graph, copy, backward, dict(ctx.options), bool(ctx.statistics.get("random calls")), observe, log)


@dataclass
class Training:
    """What is known of a training step behind the functional level."""

    name: str
    graph: GraphOp
    forward: FuncOp
    backward: FuncOp
    options: Mapping[str, Any]
    draws: bool
    observe: Observer
    log: EventLog

    def step(self, run: Callable[..., list[Any]], numbers: Mapping[int, torch.dtype]) -> TrainingStep:
        """The step with a linked forward; `numbers` are the arguments that are numbers."""
        forward, backward, graph = self.forward, self.backward, self.graph
        last = forward.body.last
        assert last is not None
        results = forward.training["results"]
        aliases = last.attrs.get("aliases") or (None,) * results
        wanted = [getattr(value.type, "requires_grad", False) for value in _returned(graph)]
        views = []
        for number, (alias, value) in enumerate(zip(aliases[:results], last.operands)):
            if alias is not None:
                kind, base, offset = alias
                views.append(SharedResult(number, kind, base, offset, value.type.shape, value.type.strides, wanted[number]))
        return TrainingStep(
            forward=run,
            results=results,
            differentiable=tuple([n for n in range(results) if wanted[n] and aliases[n] is None]),
            views=tuple(views),
            kept=backward.training["kept"],
            inputs=self._followed(),
            dtypes=dict(numbers),
            graph=graph,
            compiler=self.compile_backward,
            draws=self.find_draws if self.draws else None,
            restored=restored_inputs(forward),
        )

    def _followed(self) -> tuple[int, ...]:
        """The inputs that autograd connects to the results.

        One whose elements are only read, as by `item()`, gets no gradient.  It is not connected: the engine would run through what it was computed
        from all the same, which may have been freed long ago.
        """
        asking = [n for n, value in enumerate(self.graph.body.args) if getattr(value.type, "requires_grad", False)]
        reached = set(self.backward.training["gradients"])
        return tuple([n for n in asking if n in reached] or asking)

    @cached_property
    def _draws(self) -> tuple[Draw, ...]:
        module = module_of(self.graph.clone({}))
        ctx = make_context(options=self.options)
        PassManager.parse("fx-build-joint").run(module, ctx)
        (func,) = [op for op in module.body if isinstance(op, FuncOp)]
        draws = find_draws(func)
        return draws if self.options.get("rng", "counter") == "counter" else tuple([Draw(draw.overload, None) for draw in draws])

    def find_draws(self) -> tuple[Draw, ...]:
        """The random operators of the graph, found when they are first asked for."""
        return self._draws

    @collector_off()
    def compile_backward(self, tangents: tuple[int, ...], strides: Layouts | None) -> Backward | None:
        """The backward for gradients of these results, which lie with these strides, or as the results do.

        What a later stage refuses is interpreted operation by operation; None when there is no such backward.  Both are told by an event.
        """
        start = time.perf_counter()
        try:
            backward = self._functional(tangents, strides)
        except Exception as error:
            self._tell(error, Lowering(self.graph, ("aot",), self.options, {}, lambda module, ctx: self._functional(tangents, strides)))
            return None
        kept = backward.training
        layouts = [value.type for value in backward.body.args[len(kept["kept"]) :]]
        try:
            copy = backward.clone({})
            assert isinstance(copy, FuncOp)
            run = self._link(copy)
            self.log.add(BackwardCompile(self.name, time.perf_counter() - start, tangents))
        except Exception as error:
            self._tell(error, Lowering(backward, self._stages(), self.options, self._target(), link_graph))
            run = interpreted(module_of(backward))
        return Backward(run, kept["kept"], tangents, tuple([(type.shape, type.strides, dtype_of(type.element)) for type in layouts]), kept["gradients"])

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

    def _functional(self, tangents: tuple[int, ...], strides: Layouts | None) -> FuncOp:
        """The backward at the functional level."""
        first = self.backward
        stated = first.training["tangents"]
        own = tuple([argument.type.strides for number, argument in zip(stated, first.body.args[-len(stated) :]) if number in tangents])
        if strides in (None, own):
            strides = own
            if tangents == stated:
                copy = first.clone({})
                assert isinstance(copy, FuncOp)
                return copy
        return backward_like(self._full, self._joint(FxBuildJoint(tangents=tangents, strides=tuple([stride for each in strides for stride in each]))))

    @cached_property
    def _full(self) -> JointGraph:
        """The joint graph with all tangents, as the forward was made of."""
        return self._joint(FxBuildJoint())

    def _joint(self, build: FxBuildJoint) -> JointGraph:
        module = module_of(self.graph.clone({}))
        passes = PassManager.parse(",".join(PIPELINES["aot"])).configured(self.options).passes
        chosen = tuple([build if each.name == build.name else each for each in passes if each.name != SPLIT])
        PassManager(chosen).run(module, make_context(options=self.options))
        (joint,) = joint_graphs(module)
        return joint

    def _link(self, backward: FuncOp) -> Callable[..., list[Any]]:
        ctx = make_context(options=self.options)
        ctx.target.update(self._target())
        module = module_of(backward)
        for stage in self._stages():
            PassManager.parse(stage).run(module, ctx)
            self.observe(f"backward-{stage}", module)
        executable, run = link_graph(module, ctx)
        guarded = without_autocast(run)

        def call(*tensors: Any, keeps: Any = executable) -> list[Any]:
            return (guarded if (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")) else run)(*tensors)

        return call


def _returned(graph: GraphOp) -> list[Value]:
    last = graph.body.last
    assert last is not None
    return list(last.operands)
