"""What the passes over joint graphs ask of one: which values hang on tangents, and what autograd itself would keep."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lect.dialects.functional import view
from lect.dialects.functional.ops import FuncOp, ReturnOp, WriteOp
from lect.ir import Operation, Value, is_removable, literal_key
from lect.ir.facts import facts_of

# Operations whose result shows the memory of its operand, when torch can show it so.
VIEWS = frozenset({view.ReshapeOp, view.PermuteOp, view.ExpandOp, view.SliceOp, view.DiagonalOp, view.AsStridedOp})
KEEP = "keep"


@dataclass(frozen=True)
class Group:
    """Results that share something in the backward: their numbers and tangents, and the inputs and gradients that these lead to.

    `again` says that eager keeps nothing for them.
    """

    results: tuple[int, ...]
    tangents: tuple[Value, ...]
    inputs: tuple[int, ...]
    gradients: tuple[Value, ...]
    again: bool


@dataclass(frozen=True)
class JointGraph:
    """A `functional.func` with a forward and its backward."""

    func: FuncOp

    @property
    def inputs(self) -> list[Value]:
        """The arguments of the forward."""
        return list(self.func.body.args[: self.func.training["inputs"]])

    @property
    def tangents(self) -> list[Value]:
        """The gradients that will be given."""
        return list(self.func.body.args[self.func.training["inputs"] :])

    @cached_property
    def end(self) -> ReturnOp:
        """The return."""
        last = self.func.body.last
        assert isinstance(last, ReturnOp)
        return last

    @property
    def results(self) -> list[Value]:
        """What the forward gives."""
        return list(self.end.operands[: self.func.training["results"]])

    @property
    def gradients(self) -> list[Value]:
        """What the backward gives."""
        return list(self.end.operands[self.func.training["results"] :])

    @cached_property
    def groups(self) -> list[Group]:
        """The groups of results; each has a backward of its own."""
        stated = self.func.training
        of_tangents = stated.get("tangent_groups", (0,) * len(stated["tangents"]))
        of_gradients = stated.get("gradient_groups", (0,) * len(stated["gradients"]))
        found = []
        for number in sorted({*of_tangents, *of_gradients}) or [0]:
            ends = [(result, tangent) for result, tangent, group in zip(stated["tangents"], self.tangents, of_tangents) if group == number]
            starts = [(input, gradient) for input, gradient, group in zip(stated["gradients"], self.gradients, of_gradients) if group == number]
            found.append(Group(*_columns(ends), *_columns(starts), number in stated.get("again", ())))
        return found

    @cached_property
    def ops(self) -> list[Operation]:
        """The operations in order, without writes and return."""
        return [op for op in self.func.body if not isinstance(op, WriteOp | ReturnOp)]

    @cached_property
    def writes(self) -> list[WriteOp]:
        """The writes to inputs."""
        return [op for op in self.func.body if isinstance(op, WriteOp)]

    @cached_property
    def backward_values(self) -> set[Value]:
        """Values that hang on a tangent."""
        return set(self.tangents).union(*[op.results for op in self.backward_ops])

    @cached_property
    def backward_ops(self) -> set[Operation]:
        """Operations with an operand that hangs on a tangent, the return and writes among them."""
        values = set(self.tangents)
        found = set()
        for op in self.func.body:
            if not values.isdisjoint(op.operands):
                found.add(op)
                values.update(op.results)
        return found

    @cached_property
    def forward_ops(self) -> set[Operation]:
        """Operations that the forward must run: those of its results and writes, and those that are no pure function of their operands."""
        needed = {value for value in self.results if value not in self.backward_values}
        needed.update(op.value for op in self.writes)
        found: set[Operation] = set()
        for op in reversed(self.ops):
            if not needed.isdisjoint(op.results) or (not is_removable(op) and not self.is_backward(op)):
                found.add(op)
                needed.update(op.operands)
        return found

    def behind(self, group: Group) -> set[Operation]:
        """Operations that hang on a tangent of one group."""
        values = set(group.tangents)
        found = set()
        for op in self.ops:
            if op in self.backward_ops and not values.isdisjoint(op.operands):
                found.add(op)
                values.update(op.results)
        return found

    def is_backward(self, op: Operation) -> bool:
        """True for an operation that has a tangent behind it."""
        return op in self.backward_ops

    @cached_property
    def read_by_backward(self) -> dict[Value, str]:
        """Values that do not hang on tangents, but that an operation that does reads, or that are gradients; who reads each first."""
        found: dict[Value, str] = {}
        for op in self.ops:
            if self.is_backward(op):
                for value in op.operands:
                    if value not in self.backward_values:
                        found.setdefault(value, op.name)
        for value in self.gradients:
            if value not in self.backward_values:
                found.setdefault(value, "return")
        return found

    @cached_property
    def kept_by_eager(self) -> set[Value]:
        """Inputs and results that autograd keeps in eager: a program that writes to them between forward and backward gets an error there."""
        found = {"input": self.inputs, "result": self.results}
        return {found[kind][number] for kind, number in self.func.training["held"]}

    @cached_property
    def lent(self) -> set[Value]:
        """Inputs that get a gradient and that the graph does not write to: the backward may be handed them themselves.

        Eager lets a program write to one between forward and backward where its own formulas do not read it, under `no_grad` at least; here that is the error
        that autograd has for a tensor that it saved.
        """
        return {self.inputs[number] for number in self.func.training["gradients"]} - {op.target for op in self.writes}


def _columns(pairs: list[tuple[int, Value]]) -> tuple[tuple[int, ...], tuple[Value, ...]]:
    return tuple([number for number, _ in pairs]), tuple([value for _, value in pairs])


def joint_graphs(module: Operation) -> list[JointGraph]:
    """The joint graphs of a module."""
    return [JointGraph(op) for op in module.body if isinstance(op, FuncOp) and op.training is not None and "inputs" in op.training]


def structure(graph: JointGraph, known: dict[Any, int]) -> dict[Value, int]:
    """A number for each value that hangs on no tangent.  Values of graphs numbered with the same `known` are computed alike when their numbers are equal.

    Operations that are no pure functions of their operands are told apart by their order.
    """
    numbers: dict[Value, int] = {}
    for position, value in enumerate(graph.inputs):
        numbers[value] = known.setdefault(("argument", position), len(known))
    impure = 0
    for op in graph.ops:
        if graph.is_backward(op):
            continue
        impure += not is_removable(op)
        attrs = tuple([(name, literal_key(value)) for name, value in op.attrs.items() if name != KEEP])
        operands = tuple([numbers[value] for value in op.operands])
        key = (type(op), op.name, operands, attrs, tuple([value.type for value in op.results]), 0 if is_removable(op) else impure)
        for value in op.results:
            numbers[value] = known.setdefault((key, value.index), len(known))
    return numbers


def nbytes(value: Value) -> int:
    """Bytes of a value's elements, for the sizes at hand."""
    type = value.type
    count = type.count  # type: ignore[attr-defined]
    if not isinstance(count, int):
        count = facts_of(value.owner if value.owner.is_operation else value.owner.parent_op).hint(count)
    return count * max(1, type.element.bits // 8)  # type: ignore[attr-defined, no-any-return]
