"""One `fx.graph` to one joint `functional.func`: the calls run again, then autograd's engine, both on tensors without elements under the recorder.

The engine is torch's own, so what it does (order of hooks of custom functions, in-place writes to views, accumulation) is what eager does; the
recorder writes the operations that its formulas call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import torch

from lect.dialects.functional.ops import FuncOp, OpaqueOp
from lect.dialects.fx.modes import autocast_as, autocast_of_words, autocast_off, kept_modes, without_saved_tensor_hooks
from lect.dialects.fx.ops import GraphOp
from lect.dialects.fx.ops import ReturnOp as FxReturnOp
from lect.frontends.tensors import plain_sizes
from lect.frontends.tensors.elements import type_of
from lect.frontends.tensors.errors import internal
from lect.frontends.tensors.lower.graph import Execution, functional_type
from lect.frontends.tensors.lower.groups import groups_of_results, keeps_tensors, nodes_behind, reads_nothing
from lect.frontends.tensors.lower.repeats import BOUND_TO_AUTOGRAD, build_repeated
from lect.frontends.tensors.lower.symbols import found_symbols, known_sizes, note_decisions, stated_symbols
from lect.frontends.tensors.lt import LT, layout_of, make_lt
from lect.frontends.tensors.torch_warnings import silent
from lect.ir import Block, Builder, Context, LectError, Operation, Region, Value
from lect.ir.symbolic import Size

RUN_BACKWARD: Any = torch.autograd.Variable._execution_engine.run_backward  # type: ignore[attr-defined]

@silent()
@autocast_off()
def build_joints(module: Operation, ctx: Context, tangents: Sequence[int] = (), strides: Sequence[Size] = (), autocast: tuple[str, ...] = ()) -> None:
    """Replace each `fx.graph` one of whose results requires a gradient.  Raises `LectError` at the call that cannot be differentiated so.

    A graph switches on the autocast of its calls itself; a backward runs with that which `autocast` says, also when it is made inside of the program's block.
    """
    for op in list(module.body):
        if isinstance(op, GraphOp) and any(getattr(value.type, "requires_grad", False) for value in returned(op).operands):
            joint, draws = build_joint(op, tangents, strides, autocast)
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


def build_joint(graph: GraphOp, tangents: Sequence[int] = (), strides: Sequence[Size] = (), autocast: tuple[str, ...] = ()) -> tuple[FuncOp, int]:
    """The joint function of one graph, which belongs to no module, and how many calls of it draw random numbers.

    `tangents` are the numbers of the results whose gradients will be given, all that can have one when it is empty; these are put into groups that share
    nothing.  Through the others nothing flows back, not even zeros.  `strides` are those of these gradients, one list behind the other; they lie as the
    results do when it is empty.  `autocast` is that around the backward, as devices with dtypes behind them.
    """
    end = returned(graph)
    repeated = build_repeated(graph, end, tuple(tangents), tuple(strides)) if not autocast else None
    built = repeated if repeated is not None else _build_whole(graph, end, tuple(tangents), strides, autocast=autocast)
    func = built[0]
    stated = func.training["tangents"]
    if tangents or (len(groups_of_results(func)) < 2 and not reads_nothing(func, stated)):
        return built
    return _build_whole(graph, end, (), strides, func, autocast)


@silent()
@autocast_off()
def casts_backwards(graph: GraphOp, autocast: tuple[str, ...]) -> bool:
    """True when some backward of a graph computes something else while autocast is on for these devices, each with its dtype behind it.

    Then torch casts what the engine asks it for by itself, such as the products of matrices that the forward had in f32.
    """
    end = returned(graph)
    plain, _ = _build_whole(graph, end, (), ())
    cast, _ = _build_whole(graph, end, (), (), autocast=autocast)
    return str(plain) != str(cast)


def _build_whole(
    graph: GraphOp, end: FxReturnOp, tangents: tuple[int, ...], strides: Sequence[Size], joint: FuncOp | None = None, autocast: tuple[str, ...] = ()
) -> tuple[FuncOp, int]:
    """What `build_joint` gives.  With the joint function of all results as one group, the engine runs for each group by itself.

    The engine finds autocast as `autocast` says.
    """
    run = _run_forward(graph, end, True) or _run_forward(graph, end, False)
    if run is None:
        raise LectError("what requires a gradient is not what the graph says", op=graph)
    with torch.enable_grad(), without_saved_tensor_hooks(), run.recorder, autocast_as(autocast_of_words(autocast)):
        training, values, aliases = _Backward(run, graph, end, strides).finish(tangents, joint)
    run.write_inputs()
    run.append_return(end, values, aliases)
    note_decisions(graph, run.sizes)
    symbols = stated_symbols(graph, run.sizes)
    return FuncOp(graph.sym_name, training=training, symbols=symbols, regions=[Region([run.emitter.block])], loc=graph.loc), run.recorder.draws


def _run_forward(graph: GraphOp, end: FxReturnOp, recording: bool) -> Execution | None:
    """The calls of a graph, run again with autograd on or off in front of the first; None when other results require gradients than the graph says."""
    block = Block([functional_type(graph, value.type) for value in graph.body.args])
    run = Execution(block, known_sizes(graph), found_symbols(graph))
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
    for tensor in [run.environment[value] for value in end.operands]:
        if tensor.requires_grad and tensor.is_leaf and all(tensor is not given for given in run.given):
            raise LectError("a tensor that the graph makes and returns gathers gradients itself, which is left to torch", op=end)
    return run


class _Backward:
    """What comes behind the last call of a graph."""

    def __init__(self, run: Execution, graph: GraphOp, end: FxReturnOp, strides: Sequence[Size]) -> None:
        self.strides = list(strides)
        self.run = run
        self.end = end
        self.graph = graph
        self.results = [run.environment[value] for value in end.operands]
        self.inputs = {number: run.environment[value] for number, value in enumerate(graph.body.args)}

    def finish(self, tangents: tuple[int, ...], joint: FuncOp | None) -> tuple[dict[str, Any], list[Any], list[Any]]:
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
        groups = [tuple(chosen)] if joint is None else groups_of_results(joint, self.results)
        again = () if joint is None else tuple([place for place, group in enumerate(groups) if not self._keeps(group)])
        last = run.emitter.block.last
        given = self._tangents(chosen)
        gradients: list[tuple[int, int, Value]] = []  # the group, the input and the value
        for place, group in enumerate(groups):
            own = {number: given[number] for number in group}
            found = self._gradients(own, place + 1 < len(groups)) if own else {}
            gradients += [(place, number, recorder.entry(tensor).value) for number, tensor in found.items()]
        held = self._held(last, aliases)
        inputs = tuple([number for _, number, _ in gradients])
        training = {"inputs": len(self.inputs), "results": len(values), "tangents": tuple(chosen), "gradients": inputs, "held": held}
        if len(groups) > 1:
            group_of = {number: place for place, group in enumerate(groups) for number in group}
            training["tangent_groups"] = tuple([group_of[number] for number in chosen])
            training["gradient_groups"] = tuple([place for place, _, _ in gradients])
        if again:
            training["again"] = again
        return training, [*values, *[value for _, _, value in gradients]], [*aliases, *[None] * len(gradients)]

    def _keeps(self, group: Sequence[int]) -> bool:
        """True when eager keeps a tensor for the backward of a result of the group."""
        return any(keeps_tensors(node) for number in group for node in nodes_behind(self.results[number]))

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
        if self.run.sizes is not None:
            offset = self.run.sizes.dim(offset)
        base = self.inputs[number] if kind == "input" else self.results[number]
        own = layout_of(self.results[position])
        if offset < 0 or own._replace(storage_offset=offset).reach > layout_of(base)._replace(storage_offset=0).reach:
            raise LectError("a result lies partly in the memory of another one, and autograd could not follow it", op=self.end)
        if self.results[position].requires_grad and not _is_shown(self.results[position], base):
            raise LectError("a result lies in the memory of another tensor, and its gradient is not that of a view", op=self.end)

    def _tangents(self, chosen: list[int]) -> dict[int, torch.Tensor]:
        """What stands for the gradients of these results, by number."""
        dims = sum(self.results[number].dim() for number in chosen)
        if self.strides and len(self.strides) != dims:
            raise LectError(f"the gradients that are given have {dims} dims together, got {len(self.strides)} strides", op=self.end)
        stated = iter(self.strides)
        return {number: self._tangent(number, tuple(islice(stated, self.results[number].dim())) if self.strides else None) for number in chosen}

    def _gradients(self, tangents: Mapping[int, torch.Tensor], again: bool) -> dict[int, torch.Tensor]:
        """The gradients of the inputs that get one, by number of the input, in the order in which the engine is done with them.

        `again` says that others will be asked for.
        """
        recorder = self.run.recorder
        outputs = tuple([self.results[number] for number in tangents])
        wanted = {number: tensor for number, tensor in self.inputs.items() if type(tensor) is LT and tensor.requires_grad}
        draws = recorder.draws
        again = again or self.run.sizes is not None  # what asks for plain sizes runs twice
        given = outputs, tuple(tangents.values()), again, False, tuple(wanted.values())
        done: dict[int, None] = {}
        hooks = [tensor.register_hook(lambda slope, number=number: done.setdefault(number)) for number, tensor in wanted.items()]
        try:
            found = plain_sizes.call(RUN_BACKWARD, given, {"allow_unreachable": True, "accumulate_grad": False})
        except LectError:
            raise
        except Exception as error:
            if recorder.failure is not None:
                raise recorder.failure from None
            message = (str(error).splitlines() or [""])[0]
            raise LectError(f"the backward of the graph raises {type(error).__name__}: {message}", op=self.end) from internal(error)
        finally:
            for hook in hooks:
                hook.remove()
        if recorder.draws != draws:
            raise LectError("the backward draws random numbers, whose place among those of the forward is not known", op=self.end)
        gradients = {number: tensor for number, tensor in zip(wanted, found) if tensor is not None}
        return {number: gradients[number] for number in (*done, *gradients) if number in gradients}

    def _tangent(self, number: int, strides: tuple[Size, ...] | None) -> torch.Tensor:
        """What stands for the gradient of a result: a new argument of the block."""
        result = self.results[number]
        if result.dtype.is_complex:
            raise LectError("the gradient of a complex result is left to torch", op=self.end)
        layout = layout_of(result)._replace(storage_offset=0)
        if strides is not None:
            layout = layout._replace(strides=strides if self.run.sizes is None else self.run.sizes.dims(strides))  # type: ignore[arg-type]
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
