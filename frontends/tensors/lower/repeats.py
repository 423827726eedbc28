"""The joint function of a graph whose calls repeat, as those of the layers of a model do: each kind of call is differentiated once, by itself.

A kind of call is its function, its arguments and the types of its operands.  The call runs once on stand-ins that are leaves of autograd, and the engine
runs from its results to them; what the recorder wrote both times is the plan of this kind (`recipes`), and is written again for all calls of it.  The
engine runs nodes in the reverse of the order in which calls made them, and those of one call stand together, so that the calls one by one in
reverse order give what it would give.  Where a gradient of an operand has already arrived from later calls, it takes part in the run, so that the engine
adds up in its own order.

Graphs with anything else than such calls are left to `joint`: writes to operands, regions, modes, numbers of run time, results that share memory, addresses
in storages, and whatever cannot be told from the call alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import torch

from lect.dialects.functional.gather import AsStridedScatterOp
from lect.dialects.functional.ops import FuncOp, OpaqueOp, ReturnOp
from lect.dialects.functional.view import AsStridedOp
from lect.dialects.fx.modes import MODE_CALLS, RANDOM_STATE_CALLS, autocast_state, kept_modes, without_saved_tensor_hooks
from lect.dialects.fx.ops import CallOp, GraphOp
from lect.dialects.fx.ops import ReturnOp as FxReturnOp
from lect.dialects.fx.python_values import OPERATORS
from lect.dialects.fx.types import TensorType as FxTensorType
from lect.frontends.tensors.elements import meta_of_type
from lect.frontends.tensors.lower.graph import Execution, functional_type
from lect.frontends.tensors.lower.recipes import Step, write, written
from lect.frontends.tensors.lower.symbols import known_sizes, note_decisions, stated_symbols, with_dims_of
from lect.frontends.tensors.lt import LT, make_lt
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.sizes import Sizes
from lect.ir import Block, Operation, Region, Type, Value, literal_key
from lect.ir.symbolic import Size

LEFT_ALONE: Final = MODE_CALLS | RANDOM_STATE_CALLS | {"builtins.setattr", "torch.Tensor.requires_grad_"}
FEWEST: Final = 16  # calls of a graph for which plans are worth their while
Types = tuple[Type | None, ...]


class Unlike(Exception):
    """A graph is not of the kind that this module takes."""


class Traced:
    """A tensor of the graph: what it holds, the memory that it lies in, and whether it requires a gradient."""

    __slots__ = ("requires_grad", "storage", "value")

    def __init__(self, value: Value, storage: object, requires_grad: bool) -> None:
        self.value = value
        self.storage = storage
        self.requires_grad = requires_grad


class Gradients(NamedTuple):
    """How the gradients of a call's operands are computed: positions among operands, values of the forward, given gradients and steps; None for none.

    `done` are the numbers of the operands in the order in which the engine is done with them.
    """

    steps: list[Step]
    positions: tuple[int | None, ...]
    done: tuple[int, ...]


class Plan:
    """One kind of call.  `same` says for each operand which earlier one is the same tensor (itself: none), `alike` which one holds the same value.

    `results` has for each result the operand that it is, or else None; `places` where its value and its memory stand.  `bindings` are (position of a
    value, number of a memory) of all tensors that the call made, where the memories are those of the operands and then new ones.
    """

    def __init__(self, op: CallOp, same: tuple[int, ...], alike: tuple[int, ...], operands: Sequence[Traced], sizes: Sizes | None) -> None:
        self.op = op
        self.sizes = sizes
        self.same = same
        self.alike = alike
        self.types = [traced.value.type for traced in operands]
        self.asks = [traced.requires_grad for traced in operands]
        self.gradients: dict[Any, Gradients] = {}
        self.run: Execution | None = None
        self._run_forward()

    def _run_forward(self) -> None:
        """Run the call on stand-ins.  Raises `Unlike`."""
        block = Block([type for number, type in enumerate(self.types) if self.alike[number] == number])
        arguments = iter(block.args)
        self.arguments: list[Value] = []
        run = self.run = Execution(block, self.sizes)
        self.leaves: list[LT] = []
        for number, value in enumerate(self.op.operands):
            self.arguments.append(next(arguments) if self.alike[number] == number else self.arguments[self.alike[number]])
            if self.same[number] == number:
                tensor = make_lt(self._meta(self.types[number])._replace(requires_grad=self.asks[number]))
                run.recorder.bind(tensor, self.arguments[number])
            else:
                tensor = self.leaves[self.same[number]]
            self.leaves.append(tensor)
            run.environment[value] = tensor
        with run.recorder:
            run.step(self.op)
            self.made = [run.environment[value] for value in self.op.results]
            self._check_results(run)
        found = written(block, None, block.args)
        if found is None:
            raise Unlike
        self.steps, positions, _ = found
        _check_steps(self.steps)
        self.draws = run.recorder.draws
        self._bind(run, positions)

    def _meta(self, type: Any) -> TensorMeta:
        meta = meta_of_type(type)
        return meta if self.sizes is None else with_dims_of(meta, self.sizes)

    def _check_results(self, run: Execution) -> None:
        if not self.made or len({id(tensor) for tensor in self.made}) < len(self.made):
            raise Unlike
        for leaf, value in zip(self.leaves, self.arguments):
            entry = run.recorder.entries[id(leaf)]
            if entry.value is not value or entry.storage.version or entry.storage.uncounted:
                raise Unlike  # the call writes to an operand
        for value, tensor in zip(self.op.results, self.made):
            # A small tensor of numbers that the call makes for real is a constant from here on.
            if not isinstance(tensor, torch.Tensor) or tensor.requires_grad is not value.type.requires_grad:
                raise Unlike
            if any(tensor is leaf and tensor.requires_grad is not asks for leaf, asks in zip(self.leaves, self.asks)):
                raise Unlike
            if tensor.requires_grad and tensor.is_leaf and not any(tensor is leaf for leaf in self.leaves):
                raise Unlike
            run.recorder.entry(tensor)  # as the call's own writes leave it

    def _bind(self, run: Execution, positions: dict[Value, int]) -> None:
        """Note which memory each tensor lies in."""
        entries = run.recorder.entries
        memories: dict[int, int] = {}
        for number, leaf in enumerate(self.leaves):
            memories.setdefault(id(entries[id(leaf)].storage), number)
        self.bindings: list[tuple[int, int]] = []
        for entry in entries.values():
            memory = memories.setdefault(id(entry.storage), len(self.leaves) + len(memories))
            self.bindings.append((positions[entry.value], memory))
        self.results = [next((number for number, leaf in enumerate(self.leaves) if leaf is tensor), None) for tensor in self.made]
        self.places = [(positions[entries[id(tensor)].value], memories[id(entries[id(tensor)].storage)]) for tensor in self.made]
        self.positions = positions

    def gradients_of(self, kind: tuple[Types, tuple[int, ...]], known: int) -> Gradients:
        """How to compute the gradients of the operands.  Raises `Unlike`.

        `kind` has the types of the gradients given for the results, and then of those that the operands have already, with None for none; then for each
        given one the position of the same value among all values, its own when it is new.  `known` is how many values there are in front of them.
        """
        found = self.gradients.get(kind)
        if found is None:
            if self.run is None:  # the engine has let go of what the last run had saved
                self._run_forward()
            assert self.run is not None
            with self.run.recorder:
                found = self.gradients[kind] = self._run_backward(self.run, kind, known)
            self.run = None
        return found

    def _run_backward(self, run: Execution, kind: tuple[Types, tuple[int, ...]], known: int) -> Gradients:
        block, recorder = run.emitter.block, run.recorder
        values = list(self.positions)  # in order: arguments, and what the steps gave
        if len(values) != known:
            raise Unlike
        roots, given = [], []
        places = iter(kind[1])
        for tensor, type in zip([*self.made, *self.leaves], kind[0]):
            if type is not None:
                place = next(places)
                value = values[place] if place < len(values) else block.add_arg(type)
                values.append(value)
                stand_in = make_lt(self._meta(type))
                recorder.bind(stand_in, value)
                roots.append(tensor)
                given.append(stand_in)
        last, draws = block.last, recorder.draws
        wanted = [number for number, leaf in enumerate(self.leaves) if leaf.requires_grad and self.same[number] == number]
        done: dict[int, None] = {}
        for number in wanted:
            self.leaves[number].register_hook(lambda slope, number=number: done.setdefault(number))
        found = torch.autograd.Variable._execution_engine.run_backward(  # type: ignore[attr-defined]
            tuple(roots), tuple(given), False, False, tuple([self.leaves[number] for number in wanted]), allow_unreachable=True, accumulate_grad=False
        )
        made = written(block, last, values)
        if made is None or recorder.draws != draws:
            raise Unlike
        steps, positions, _ = made
        _check_steps(steps)
        gradients: list[int | None] = [None] * len(self.leaves)
        for number, tensor in zip(wanted, found):
            if tensor is not None:
                gradients[number] = positions[recorder.entry(tensor).value]
        return Gradients(steps, tuple(gradients), tuple(done))


# The results of the first depend on whether autograd is on when it runs; the gradients of the second lie otherwise where torch differentiates traced tensors.
BOUND_TO_AUTOGRAD: Final = frozenset({"aten.mkldnn_rnn_layer.default", "aten.ormqr.default"})


def _check_steps(steps: Sequence[Step]) -> None:
    """Raises `Unlike` for an address in a storage, which stand-ins have no place in, and for what only torch can differentiate."""
    for step in steps:
        if step.cls is AsStridedOp or step.cls is AsStridedScatterOp:
            raise Unlike
        if step.cls is OpaqueOp and ("as_strided" in step.attrs["target"].leaf or step.attrs["target"].leaf in BOUND_TO_AUTOGRAD):
            raise Unlike


def repeated_calls(graph: GraphOp) -> list[CallOp] | None:
    """The calls of a graph, when there is nothing else and most are like others."""
    calls: list[CallOp] = []
    for op in graph.body:
        if isinstance(op, CallOp):
            name = op.target.leaf
            if name in LEFT_ALONE or name.startswith((OPERATORS, "torch.autograd.")):
                return None
            calls.append(op)
        elif not isinstance(op, FxReturnOp):
            return None
    if len(calls) < FEWEST or not all(isinstance(value.type, FxTensorType) for value in graph.body.args):
        return None
    return calls if 2 * len({_static_kind(op) for op in calls}) <= len(calls) else None


def first_places(items: Sequence[Any]) -> tuple[int, ...]:
    """For each item the first place of the same object."""
    firsts: dict[Any, int] = {}
    return tuple([firsts.setdefault(item, place) for place, item in enumerate(items)])


def _static_kind(op: CallOp) -> Any:
    types = tuple([value.type for value in op.operands]), tuple([value.type for value in op.results])
    return op.target, types, literal_key(op.args), literal_key(op.kwargs), literal_key(op.structure)


def build_repeated(graph: GraphOp, end: FxReturnOp, tangents: tuple[int, ...], strides: tuple[Size, ...] = ()) -> tuple[FuncOp, int] | None:
    """The joint function and how many calls of it draw random numbers; None when the graph is to be run as a whole, which may raise."""
    calls = repeated_calls(graph)
    if calls is None or any(enabled for _, enabled, _ in autocast_state()[:-1]):
        return None  # autocast casts a parameter once for all of its calls
    try:
        with kept_modes(), without_saved_tensor_hooks(), torch.enable_grad():
            joint = _Joint(graph, end, known_sizes(graph))
            built = joint.build(calls, tangents, strides)
    except Exception:  # what is wrong is found again, and told, by who runs the graph as a whole
        return None
    note_decisions(graph, joint.sizes)
    return built, joint.draws


class _Joint:
    """The work on one graph."""

    def __init__(self, graph: GraphOp, end: FxReturnOp, sizes: Sizes | None) -> None:
        self.graph = graph
        self.sizes = sizes
        self.end = end
        self.block = Block([functional_type(graph, value.type) for value in graph.body.args])
        self.tensors: dict[Value, Traced] = {}
        self.memories: dict[Value, list[object]] = {}  # of all tensors that hold a value
        self.plans: dict[Any, Plan] = {}
        self.draws = 0
        for value, argument in zip(graph.body.args, self.block.args):
            argument.hint = value.hint
            traced = self.tensors[value] = Traced(argument, object(), value.type.requires_grad)
            self.memories[argument] = [traced.storage]
        self.inputs = list(self.tensors.values())
        self.done: dict[Traced, None] = {}  # tensors whose gradient is there, in the order in which the engine adds the last part of each

    def build(self, calls: Sequence[CallOp], tangents: tuple[int, ...], strides: tuple[Size, ...]) -> FuncOp:
        """Write forward and backward.  Raises `Unlike`, and what a call raises."""
        done = [self.forward(op) for op in calls]
        results = [self.tensors[value] for value in self.end.operands]
        memories = [*[traced.storage for traced in results], *{traced.storage: None for traced in self.inputs}]
        if len(set(memories)) < len(memories):
            raise Unlike
        last = self.block.last
        gradients: dict[Traced, Value] = {}
        chosen = [number for number, traced in enumerate(results) if traced.requires_grad and (not tangents or number in tangents)]
        stated = iter(strides)
        for number in chosen:
            type = results[number].value.type
            if type.element.kind == "complex":
                raise Unlike
            if strides:
                type = type.with_strides(tuple(islice(stated, type.rank)))
            gradients[results[number]] = self.block.add_arg(type, "tangent")
        for plan, operands, made, values in reversed(done):
            self.backward(plan, operands, made, values, gradients)
        numbers = {traced: number for number, traced in enumerate(self.inputs) if traced.requires_grad and traced in gradients}
        found = {numbers[traced]: gradients[traced] for traced in (*self.done, *numbers) if traced in numbers}
        training = {
            "inputs": len(self.inputs),
            "results": len(results),
            "tangents": tuple(chosen),
            "gradients": tuple(found),
            "held": self.held(last, results) if chosen else (),
        }
        self.block.append(ReturnOp([*[traced.value for traced in results], *found.values()], loc=self.end.loc))
        symbols = stated_symbols(self.graph, self.sizes)
        return FuncOp(self.graph.sym_name, training=training, symbols=symbols, regions=[Region([self.block])], loc=self.graph.loc)

    def forward(self, op: CallOp) -> tuple[Plan, list[Traced], list[Traced], list[Value]]:
        """Write one call; its plan, its operands and results, and the values that it handles."""
        operands = [self.tensors[value] for value in op.operands]
        held = [traced.value for traced in operands]
        same, alike = first_places(operands), first_places(held)
        kind = _static_kind(op), same, alike
        plan = self.plans.get(kind)
        if plan is None:
            plan = self.plans[kind] = Plan(op, same, alike, operands, self.sizes)
        values = [value for number, value in enumerate(held) if alike[number] == number]
        write(self.block, op.loc, plan.steps, values)
        storages: dict[int, object] = {number: traced.storage for number, traced in enumerate(operands)}
        for position, memory in plan.bindings:
            storage = storages.get(memory)
            if storage is None:
                storage = storages[memory] = object()
            self.memories.setdefault(values[position], []).append(storage)
        made = []
        for value, number, (position, memory) in zip(op.results, plan.results, plan.places):
            traced = operands[number] if number is not None else Traced(values[position], storages[memory], value.type.requires_grad)
            self.tensors[value] = traced
            made.append(traced)
        self.draws += plan.draws
        return plan, operands, made, values

    def backward(self, plan: Plan, operands: list[Traced], made: list[Traced], values: list[Value], gradients: dict[Traced, Value]) -> None:
        """Write the gradients of one call's operands, on top of those that they have."""
        own = [None if number is not None else gradients.get(traced) for traced, number in zip(made, plan.results)]
        if all(value is None for value in own):
            return
        before = [gradients.get(traced) if traced.requires_grad and plan.same[number] == number else None for number, traced in enumerate(operands)]
        known = len(values)
        values = [*values, *[value for value in (*own, *before) if value is not None]]
        kind = tuple([None if value is None else value.type for value in (*own, *before)]), first_places(values)[known:]
        found = plan.gradients_of(kind, known)
        write(self.block, self.end.loc, found.steps, values)
        for traced, position in zip(operands, found.positions):
            if position is not None:
                gradients[traced] = values[position]
        for number in found.done:
            self.done.pop(operands[number], None)
            self.done[operands[number]] = None

    def held(self, last: Operation | None, results: list[Traced]) -> tuple[tuple[str, int], ...]:
        """The inputs and results in whose memory something lies that the operations behind `last` read."""
        read: set[object] = set()
        op = self.block.last
        while op is not last:
            assert op is not None
            for value in op.operands:
                read.update(self.memories.get(value, ()))
            op = op.prev
        inputs = [("input", number) for number, traced in enumerate(self.inputs) if traced.storage in read]
        return (*inputs, *[("result", number) for number, traced in enumerate(results) if traced.storage in read])
