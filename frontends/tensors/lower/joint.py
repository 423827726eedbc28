"""One `fx.graph` to one joint `functional.func`: the calls run again, then autograd's engine, both on tensors without elements under the recorder.

The engine is torch's own, so what it does (order of hooks of custom functions, in-place writes to views, accumulation) is what eager does; the
recorder writes the operations that its formulas call.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch

from lect.dialects.functional.ops import FuncOp, OpaqueOp
from lect.dialects.fx.modes import kept_modes, without_saved_tensor_hooks
from lect.dialects.fx.ops import GraphOp
from lect.dialects.fx.ops import ReturnOp as FxReturnOp
from lect.frontends.tensors.elements import type_of
from lect.frontends.tensors.errors import internal
from lect.frontends.tensors.lower.graph import Execution, functional_type
from lect.frontends.tensors.lower.repeats import BOUND_TO_AUTOGRAD, build_repeated
from lect.frontends.tensors.lt import LT, layout_of, make_lt
from lect.ir import Block, Builder, Context, LectError, Operation, Region, Value


def build_joints(module: Operation, ctx: Context, tangents: Sequence[int] = (), strides: Sequence[int] = ()) -> None:
    """Replace each `fx.graph` one of whose results requires a gradient.  Raises `LectError` at the call that cannot be differentiated so."""
    for op in list(module.body):
        if isinstance(op, GraphOp) and any(getattr(value.type, "requires_grad", False) for value in returned(op).operands):
            joint, draws = build_joint(op, tangents, strides)
            ctx.count("random calls", draws)
            Builder.before(op).insert(joint)
            op.erase()
            ctx.count("graphs differentiated")
            ctx.count("operations", sum(1 for _ in joint.body))


def returned(graph: GraphOp) -> FxReturnOp:
    """The return of a graph."""
    last = graph.body.last
    assert isinstance(last, FxReturnOp)
    return last


def build_joint(graph: GraphOp, tangents: Sequence[int] = (), strides: Sequence[int] = ()) -> tuple[FuncOp, int]:
    """The joint function of one graph, which belongs to no module, and how many calls of it draw random numbers.

    `tangents` are the numbers of the results whose gradients will be given, all that can have one when it is empty.  Through the others nothing flows
    back, not even zeros.  `strides` are those of these gradients, one list behind the other; they lie as the results do when it is empty.
    """
    end = returned(graph)
    repeated = build_repeated(graph, end, tuple(tangents), tuple(strides))
    if repeated is not None:
        return repeated
    run = _run_forward(graph, end, True) or _run_forward(graph, end, False)
    if run is None:
        raise LectError("what requires a gradient is not what the graph says", op=graph)
    with torch.enable_grad(), without_saved_tensor_hooks(), run.recorder:
        training, values, aliases = _Backward(run, graph, end, strides).finish(tuple(tangents))
    run.write_inputs()
    run.append_return(end, values, aliases)
    return FuncOp(graph.sym_name, training=training, regions=[Region([run.emitter.block])], loc=graph.loc), run.recorder.draws


def _run_forward(graph: GraphOp, end: FxReturnOp, recording: bool) -> Execution | None:
    """The calls of a graph, run again with autograd on or off in front of the first; None when other results require gradients than the graph says."""
    block = Block([functional_type(graph, value.type) for value in graph.body.args])
    run = Execution(block)
    for number, (value, argument) in enumerate(zip(graph.body.args, block.args)):
        argument.hint = value.hint
        run.add_input(number, value, argument)
    with kept_modes(), without_saved_tensor_hooks(), torch.set_grad_enabled(recording), run.recorder, run.blocks:
        for op in graph.body:
            if op is end:
                break
            run.step(op)
            for value in op.results:
                stated = getattr(value.type, "requires_grad", None)
                if stated is None:
                    continue
                tensor = run.environment[value]
                if tensor.requires_grad is not stated:
                    return None
                if stated and tensor.is_leaf and all(tensor is not given for given in run.given):
                    raise LectError("a tensor that the graph makes gathers gradients itself, which is left to torch", op=op)
    return run


class _Backward:
    """What comes behind the last call of a graph."""

    def __init__(self, run: Execution, graph: GraphOp, end: FxReturnOp, strides: Sequence[int]) -> None:
        self.strides = list(strides)
        self.run = run
        self.end = end
        self.graph = graph
        self.results = [run.environment[value] for value in end.operands]
        self.inputs = {number: run.environment[value] for number, value in enumerate(graph.body.args)}

    def finish(self, tangents: tuple[int, ...]) -> tuple[dict[str, Any], list[Any], list[Any]]:
        """The attribute `training`, all values to return, and whose memory they lie in."""
        run, recorder = self.run, self.run.recorder
        run.emitter.loc, recorder.operation = self.end.loc, self.end
        for op in run.emitter.block:
            if isinstance(op, OpaqueOp) and op.target.leaf in BOUND_TO_AUTOGRAD:
                raise LectError(f"{op.target.leaf} is left to torch when it is differentiated", op=op)
        entries = [recorder.entry(tensor) for tensor in self.results]
        aliases = run.place_results(self.end, entries)
        for position, alias in enumerate(aliases):
            self._check_alias(position, alias)
        values = [entry.value for entry in entries]
        able = [number for number, tensor in enumerate(self.results) if tensor.requires_grad and aliases[number] is None]
        chosen = [number for number in able if not tangents or number in tangents]
        last = run.emitter.block.last
        gradients = self._gradients(chosen) if chosen else {}
        held = self._held(last, aliases)
        gradient_values = [recorder.entry(tensor).value for tensor in gradients.values()]
        training = {"inputs": len(self.inputs), "results": len(values), "tangents": tuple(chosen), "gradients": tuple(gradients), "held": held}
        return training, [*values, *gradient_values], [*aliases, *[None] * len(gradient_values)]

    def _held(self, last: Operation | None, aliases: list[Any]) -> tuple[tuple[str, int], ...]:
        """The inputs and results in whose memory something lies that operations behind `last`, those of the backward, read.  Autograd kept it for that."""
        read: set[Value] = set()
        op = self.run.emitter.block.last
        while op is not last:
            assert op is not None
            read.update(op.operands)
            op = op.prev
        entries = self.run.recorder.entries
        memory = {id(entry.storage) for entry in entries.values() if entry.value in read}
        tensors = [(number, tensor) for number, tensor in self.inputs.items() if type(tensor) is LT]
        inputs = [("input", number) for number, tensor in tensors if id(entries[id(tensor)].storage) in memory]
        own = [number for number, alias in enumerate(aliases) if alias is None]
        return (*inputs, *[("result", number) for number in own if id(entries[id(self.results[number])].storage) in memory])

    def _check_alias(self, position: int, alias: Any) -> None:
        """A result that lies in the memory of another one is shown there as a view, which has to be a part of it and hang on it."""
        if alias is None:
            return
        kind, number, offset = alias
        base = self.inputs[number] if kind == "input" else self.results[number]
        own = layout_of(self.results[position])
        if offset < 0 or own._replace(storage_offset=offset).reach > layout_of(base)._replace(storage_offset=0).reach:
            raise LectError("a result lies partly in the memory of another one, and autograd could not follow it", op=self.end)
        if self.results[position].requires_grad and not _is_shown(self.results[position], base):
            raise LectError("a result lies in the memory of another tensor, and its gradient is not that of a view", op=self.end)

    def _gradients(self, chosen: list[int]) -> dict[int, torch.Tensor]:
        """The gradients of the inputs that get one, by number of the input."""
        recorder = self.run.recorder
        outputs = [self.results[number] for number in chosen]
        dims = sum(tensor.dim() for tensor in outputs)
        if self.strides and len(self.strides) != dims:
            raise LectError(f"the gradients that are given have {dims} dims together, got {len(self.strides)} strides", op=self.end)
        stated = iter(self.strides)
        given = [self._tangent(number, tuple(islice(stated, tensor.dim())) if self.strides else None) for number, tensor in zip(chosen, outputs)]
        wanted = {number: tensor for number, tensor in self.inputs.items() if type(tensor) is LT and tensor.requires_grad}
        draws = recorder.draws
        try:
            found = torch.autograd.Variable._execution_engine.run_backward(  # type: ignore[attr-defined]
                tuple(outputs), tuple(given), False, False, tuple(wanted.values()), allow_unreachable=True, accumulate_grad=False
            )
        except LectError:
            raise
        except Exception as error:
            if recorder.failure is not None:
                raise recorder.failure from None
            message = (str(error).splitlines() or [""])[0]
            raise LectError(f"the backward of the graph raises {type(error).__name__}: {message}", op=self.end) from internal(error)
        if recorder.draws != draws:
            raise LectError("the backward draws random numbers, whose place among those of the forward is not known", op=self.end)
        return {number: tensor for number, tensor in zip(wanted, found) if tensor is not None}

    def _tangent(self, number: int, strides: tuple[int, ...] | None) -> torch.Tensor:
        """What stands for the gradient of a result: a new argument of the block."""
        result = self.results[number]
        if result.dtype.is_complex:
            raise LectError("the gradient of a complex result is left to torch", op=self.end)
        layout = layout_of(result)._replace(storage_offset=0)
        layout = layout if strides is None else layout._replace(strides=strides)
        argument = self.run.emitter.block.add_arg(type_of(layout))
        argument.hint = "tangent"
        tensor = make_lt(layout)
        self.run.recorder.bind(tensor, argument)
        return tensor




def _is_shown(view: torch.Tensor, base: torch.Tensor) -> bool:
    """True when autograd goes from a tensor to another one whose memory it shows through torch's own functions with one operand, as views are."""
    end = base.grad_fn if base.grad_fn is not None else None
    node: Any = view.grad_fn
    while node is not None and node is not end:
        following = [after for after, _ in node.next_functions if after is not None]
        if isinstance(node, torch.autograd.function.BackwardCFunction) or len(following) > 1:
            return False
        if end is None and getattr(node, "variable", None) is base:
            return True
        node = following[0] if following else None
    return node is not None and node is end
