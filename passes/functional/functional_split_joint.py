"""Split a joint graph into its forward and its backward, or one for each group of results, at the values that `keep` names.

    functional.func @f(%x: !t, %tangent: !t) {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = []}} {
      %0 = functional.exp(%x) {keep = "read by functional.mul"} : !t
      %1 = functional.mul(%tangent, %0) : !t
      functional.return(%0, %1)
    }
=>
    functional.func @f(%x: !t) {training = {results = 1}} {
      %0 = functional.exp(%x) : !t
      functional.return(%0)
    }
    functional.func @f.backward(%0: !t, %tangent: !t) {training = {kept = [["result", 0]], tangents = [0], gradients = [0]}} {
      %1 = functional.mul(%tangent, %0) : !t
      functional.return(%1)
    }

The backward computes again what it needs beyond kept values, down to inputs of the forward, each value where it is first read, so that what one layer
needs does not live while another one's gradients are computed.  It is handed an input or a result itself where autograd
would keep it in eager, so that writing to it in between is the error that it is there, and an input that gets a gradient in any case; everything else that
is kept has memory of its own.  Refused is
a `keep` too few: an operation that must not run twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.creation import CopyOp
from lect.dialects.functional.ops import FuncOp, ReturnOp
from lect.dialects.functional.symbols import declare_used
from lect.ir import Block, Builder, Context, Operation, PassFailure, Region, Value, is_removable
from lect.passes.base import Pass
from lect.passes.functional.functional_partition_min_cut import RECOMPUTE, may_recompute
from lect.passes.functional.joint_graph import KEEP, Group, JointGraph, joint_graphs, nbytes, structure
from lect.passes.functional.stated_sizes import sizes_stated, state_sizes, tellers

BACKWARD = ".backward"
Kept = tuple[str, int]


@dataclass(frozen=True)
class FunctionalSplitJoint(Pass):
    """Replace every joint graph by a forward and the backward of each group of results, which is called `.backward`, or `.backward0` and so on."""

    name: ClassVar[str] = "functional-split-joint"

    def run(self, op: Operation, ctx: Context) -> None:
        for graph in joint_graphs(op):
            split = _Split(_with_sizes(graph))
            backwards, forward = split.all()
            for func in (forward, *backwards):
                Builder.before(graph.func).insert(func)
            graph.func.erase()
            ctx.count("operations of the forward", len(forward.body))
            ctx.count("operations of the backward", sum(len(backward.body) for backward in backwards))
            ctx.count("operations computed twice", split.twice)
            ctx.count("bytes kept beside inputs and results", sum(nbytes(value) for value in split.returned))


def is_backward(op: Operation) -> bool:
    """True for a backward that was split off."""
    return isinstance(op, FuncOp) and op.training is not None and "kept" in op.training


def kept_results(op: Operation) -> list[Value]:
    """The results of an operation that `keep` names."""
    keep = op.attrs.get(KEEP)
    if keep is None:
        return []
    return [value for value, reason in zip(op.results, keep) if reason is not None] if type(keep) is tuple else list(op.results)


def backward_like(full: JointGraph, other: JointGraph) -> FuncOp:
    """The backward of `other`, a joint graph of the same forward with fewer tangents, in terms of what the forward of `full` keeps.

    Both must have been made by the same passes.  An input that `full` does not keep is asked for as `["input", n]`.  Raises `PassFailure` where an
    operation would have to run again that must not.
    """
    full, other = _with_sizes(full), _with_sizes(other)
    first = _Split(full)
    for group in full.groups:
        first.backward(group)
    known: dict[Any, int] = {}
    numbers = structure(full, known)
    by_number = {number: value for value, number in structure(other, known).items()}
    places = {by_number[numbers[value]]: place for value, place in first.places.items() if numbers[value] in by_number}
    (group,) = other.groups
    return _Split(other, places).backward(group)


def _with_sizes(graph: JointGraph) -> JointGraph:
    """The graph, with sizes stated for the backward."""
    return JointGraph(graph.func) if state_sizes(graph.func) else graph


class _Split:
    """One split.  `places` are given when the forward exists already: what the backward gets of each value that is kept."""

    def __init__(self, graph: JointGraph, places: dict[Value, Kept] | None = None) -> None:
        self.graph = graph
        self.stated = sizes_stated(graph.func)
        self.given = places
        self.places: dict[Value, Kept] = {}
        self.inputs = {value: number for number, value in enumerate(graph.inputs)}
        self.written = {op.target for op in graph.writes}
        self.returned: list[Value] = []  # what the forward returns behind its results
        self.twice = 0
        last = graph.end
        self.own_results: dict[Value, int] = {}  # results that have memory of their own
        for number, value in enumerate(graph.results):
            if last.aliases is None or last.aliases[number] is None:
                self.own_results.setdefault(value, number)

    # ---- the backward ------------------------------------------------------------------------------------------------

    def all(self) -> tuple[list[FuncOp], FuncOp]:
        """The backwards and the forward.  The operations of the joint graph are moved there; those that several need are copied."""
        graph = self.graph
        planned = [(group, *self._planned(group)) for group in graph.groups]
        forward, results = self._forward_ops(), graph.results
        needed = Counter(op for ops in (forward, *[ops for _, ops, _ in planned]) for op in ops)
        movable = {op for op, count in needed.items() if count == 1}
        names = [BACKWARD] if len(planned) == 1 else [f"{BACKWARD}{number}" for number in range(len(planned))]
        backwards = [self._backward(name, group, ops, leaves, movable) for name, (group, ops, leaves) in zip(names, planned)]
        return backwards, self._forward(forward, results)

    def backward(self, group: Group) -> FuncOp:
        """The backward of a group, with a copy of every operation; the joint graph stays as it is."""
        return self._backward(BACKWARD, group, *self._planned(group), frozenset())

    def _planned(self, group: Group) -> tuple[list[Operation], list[Value]]:
        """The operations of a backward, and the values that it is given, as `places` has them then."""
        ops, leaves = self._needed(group)
        for value in leaves:
            if value not in self.places:
                self.places[value] = self._place(value)
        leaves.sort(key=lambda value: self.places[value])
        return ops, leaves

    def _backward(self, name: str, group: Group, ops: list[Operation], leaves: list[Value], movable: Set[Operation]) -> FuncOp:
        graph, places = self.graph, self.places
        block = Block([value.type for value in [*leaves, *group.tangents]])
        mapping = dict(zip([*leaves, *group.tangents], block.args))
        for value, argument in mapping.items():
            argument.hint = value.hint
        for op in ops:
            own = _moved(op, mapping) if op in movable else op.clone(mapping)
            for attribute in (KEEP, RECOMPUTE):
                own.attrs.pop(attribute, None)
            block.append(own)
        values = [mapping.get(value, value) for value in group.gradients]
        block.append(ReturnOp(values, aliases=_gradient_aliases(block, values), loc=graph.end.loc))
        training: dict[str, Any] = {"kept": tuple([places[value] for value in leaves]), "tangents": group.results, "gradients": group.inputs}
        training |= {"again": True} if group.again else {}
        made = FuncOp(graph.func.sym_name + name, training=training, regions=[Region([block])], loc=graph.func.loc)
        declare_used(made, graph.func)
        return made

    def _needed(self, group: Group) -> tuple[list[Operation], list[Value]]:
        """The operations of a backward in order, and the values it is given beside tangents."""
        graph = self.graph
        backward_ops, forward_ops, tangents = graph.backward_ops, graph.forward_ops, set(group.tangents)
        own = backward_ops if len(graph.groups) == 1 else graph.behind(group)
        if self.given is not None:
            kept = set(self.given)
        else:
            kept = {value for op in graph.ops if KEEP in op.attrs and op not in backward_ops for value in kept_results(op)}
        needed = {value for value in group.gradients if value not in tangents}
        leaves: dict[Value, None] = {}
        ops: list[Operation] = []
        for op in reversed(graph.ops):
            if op in backward_ops:
                if needed.isdisjoint(op.results) and (is_removable(op) or op not in own):
                    continue
            else:
                wanted = [value for value in op.results if value in needed]
                leaves.update(dict.fromkeys(value for value in wanted if value in kept))
                if all(value in kept for value in wanted):
                    continue
                self._check_recompute(op)
                self.twice += op in forward_ops
            ops.append(op)
            needed.update(op.operands)
        self._check_alone(needed, tangents)
        leaves.update(dict.fromkeys(value for value in graph.inputs if value in needed))
        leaves.update(dict.fromkeys(tellers([*leaves, *tangents], ops, self.stated)))
        return self._late(ops[::-1]), list(leaves)

    def _check_alone(self, needed: Set[Value], tangents: Set[Value]) -> None:
        for value in self.graph.tangents:
            if value in needed and value not in tangents:
                raise PassFailure("a backward of one group of results reads the gradient of a result of another group", op=self.graph.func)

    def _late(self, ops: list[Operation]) -> list[Operation]:
        """The operations of a backward with each that is computed again directly in front of the first that reads it."""
        backward_ops = self.graph.backward_ops
        waiting = {op for op in ops if op not in backward_ops}
        found: list[Operation] = []
        for op in ops:
            if op in backward_ops:
                if waiting:
                    self._bring(op, waiting, found)
                found.append(op)
        found += [op for op in ops if op in waiting]  # what is a gradient itself
        return found

    def _bring(self, reader: Operation, waiting: set[Operation], found: list[Operation]) -> None:
        """Append what a reader needs of the waiting operations, operands first."""
        pending = [reader]
        while pending:
            needed = next((value.owner for value in pending[-1].operands if value.owner in waiting), None)
            if needed is not None:
                pending.append(needed)
                continue
            op = pending.pop()
            if op is not reader:
                waiting.discard(op)
                found.append(op)

    def _check_recompute(self, op: Operation) -> None:
        if op in self.graph.forward_ops and not may_recompute(op, "all"):
            raise PassFailure(f"'{op.name}' must not run again in the backward: what it gives has to be kept", op=op)

    def _place(self, value: Value) -> Kept:
        """What a value is that the backward is given."""
        graph = self.graph
        if self.given is not None:
            return self.given[value] if value in self.given else ("input", self.inputs[value])
        by_reference = value in graph.kept_by_eager
        if value in self.inputs and value not in self.written and (by_reference or value in graph.lent):
            place: Kept = ("input", self.inputs[value])
        elif value in self.own_results and value not in self.inputs and by_reference:
            place = ("result", self.own_results[value])
        else:
            place = ("kept", len(self.returned))
            self.returned.append(value)
        return place

    # ---- the forward -------------------------------------------------------------------------------------------------

    def _forward_ops(self) -> list[Operation]:
        """The operations of the forward in order."""
        graph = self.graph
        needed = set(self.returned)
        own = graph.forward_ops
        ops = []
        for op in reversed(graph.ops):
            if op in own or not needed.isdisjoint(op.results):
                ops.append(op)
                needed.update(op.operands)
        return ops[::-1]

    def _forward(self, ops: list[Operation], results: list[Value]) -> FuncOp:
        """The forward; what the backward needs stands behind the results."""
        graph = self.graph
        block = Block([value.type for value in graph.inputs])
        mapping = dict(zip(graph.inputs, block.args))
        for value, argument in mapping.items():
            argument.hint = value.hint
        for op in ops:
            own = _moved(op, mapping)
            for name in (KEEP, RECOMPUTE):
                own.attrs.pop(name, None)
            block.append(own)
        shown = {*self.inputs, *results}
        end = graph.end.loc
        kept = [mapping.get(value, value) for value in self.returned]  # in memory that the program never sees
        kept = [block.append(CopyOp(own, loc=end)).results[0] if value in shown else own for value, own in zip(self.returned, kept)]
        for write in graph.writes:
            block.append(_moved(write, mapping))
        values = [*[mapping.get(value, value) for value in results], *kept]
        aliases = graph.end.aliases
        stated = None if aliases is None else (*aliases[: len(results)], *[None] * len(kept))
        block.append(ReturnOp(values, aliases=stated if stated and any(stated) else None, loc=end))
        made = FuncOp(graph.func.sym_name, training={"results": len(results)}, regions=[Region([block])], loc=graph.func.loc)
        declare_used(made, graph.func, same_arguments=True)
        return made


def _moved(op: Operation, mapping: Mapping[Value, Value]) -> Operation:
    """The operation itself, out of its block, on other operands where there are some."""
    op.detach()
    for position, value in enumerate(op.operands):
        other = mapping.get(value)
        if other is not None:
            op.set_operand(position, other)
    return op


def _gradient_aliases(block: Block, values: list[Value]) -> Any:
    """A gradient that is a tangent, or another gradient, is that tensor, as in eager."""
    seen: dict[Value, int] = {}
    aliases: list[Any] = []
    for number, value in enumerate(values):
        if value.op is None:
            aliases.append(("input", value.index, 0))
        else:
            aliases.append(("result", seen[value], 0) if value in seen else None)
            seen.setdefault(value, number)
    return tuple(aliases) if any(aliases) else None
