"""Choose what a forward keeps for its backward, and write down why.

    functional.func @f(%x: !t, %w: !u, %tangent: !t) {training = {..}} {
      %0 = functional.mm(%x, %w) : !t                        %0 = functional.mm(%x, %w) {keep = "functional.mm is not computed twice"} : !t
      %1 = functional.tanh(%0) : !t                  =>      %1 = functional.tanh(%0) : !t
      %2 = functional.exp(%1) : !t                           %2 = functional.exp(%1) : !t
      %3 = functional.mul(%tangent, %2) : !t                 %3 = functional.mul(%tangent, %2) : !t
      ..                                                     ..

The kept values are a minimum cut between what the forward has and what operations behind a tangent read.  A kept value costs its bytes; an input or a
result that autograd holds in eager too costs next to nothing.  An input that it does not keep would have to be copied, as the program may write to it
between forward and backward; one that gets a gradient is lent to the backward where that keeps less than anything else, and writing to it is an error.
What is computed again is as little as that cost allows.  Computed again are elementwise operations, views, and normalisations and softmaxes, which read
their operand once more; products, reductions, scans, random numbers and opaque calls are not.  Inside of checkpointed regions, marked by `recompute`,
everything is but random numbers and opaque calls.

On a GPU a value that lies in memory for a product of the forward, and must do so for one of the backward, is kept too: to compute it again takes reading
what it comes from and writing it, while a product waits (`stored`).

With a `memory_budget` below 1 the forward keeps less: that part of the bytes between the cut that computes everything again that may be and the one
above.  What is computed twice then is what takes the least work for each byte (see `memory_budget`).

`keep` may be edited: `functional-split-joint` cuts where it stands.  An operation with several results has a list, with none for what is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.functional import contraction, creation, normalization, reduction, view
from lect.dialects.functional.creation import RandintOp, RandnOp, RandOp
from lect.dialects.functional.families import Elementwise
from lect.ir import Context, Operation, PassFailure, Value, is_removable
from lect.passes.base import Pass, option
from lect.passes.functional.joint_graph import KEEP, VIEWS, JointGraph, joint_graphs, nbytes
from lect.passes.functional.max_flow import INFINITE, FlowNetwork
from lect.passes.functional.memory_budget import Choice, choose, work

CHEAP = VIEWS | {
    creation.CastOp,
    creation.CopyOp,
    creation.FullOp,
    creation.IotaOp,
    view.CatOp,
    view.PadOp,
    view.ReverseOp,
    normalization.LayerNormOp,
    normalization.GroupNormOp,
    reduction.SoftmaxOp,
    reduction.LogSoftmaxOp,
}
PRODUCTS = frozenset(
    {
        contraction.MmOp,
        contraction.BmmOp,
        contraction.AddmmOp,
        contraction.BaddbmmOp,
        contraction.AttentionOp,
        contraction.AttentionBackwardOp,
        contraction.ConvolutionOp,
        contraction.ConvolutionBackwardOp,
    }
)  # which read their operands in memory
RANDOM = frozenset({RandOp, RandnOp, RandintOp})
KINDS = ("none", "cheap", "all")
STORED = ("gpu", "always", "never")
RECOMPUTE = "recompute"


@dataclass(frozen=True)
class FunctionalPartitionMinCut(Pass):
    """Set `keep` on the operations of joint graphs whose results the backward needs."""

    name: ClassVar[str] = "functional-partition-min-cut"
    recompute: str = option("cheap", "what may be computed again: none (views alone), cheap operations, or all but random numbers and opaque calls")
    memory_budget: float = option(1.0, "the part, from 0 to 1, of the bytes kept beyond the least possible")
    stored: str = option("gpu", "where to keep, with `recompute` cheap, what products of both forward and backward read in memory: gpu, always or never")

    def run(self, op: Operation, ctx: Context) -> None:
        if self.stored not in STORED:
            raise PassFailure(f"'stored' of {self.name} is one of {', '.join(STORED)}, got '{self.stored}'")
        if self.recompute not in KINDS:
            raise PassFailure(f"'recompute' of {self.name} is one of {', '.join(KINDS)}, got '{self.recompute}'")
        if not 0 <= self.memory_budget <= 1:
            raise PassFailure(f"'memory_budget' of {self.name} is between 0 and 1, got {self.memory_budget}")
        for graph in joint_graphs(op):
            choice = self._within_budget(graph) if self.memory_budget < 1 else None
            stored = self._stored(graph) if choice is None else frozenset()
            for value in _Cut(graph, self.recompute, stored).kept() if choice is None else choice.kept:
                reason = _reason(graph, value, self.recompute, stored) if choice is None else _reason_within(graph, value, choice, self.memory_budget)
                _mark(value, reason)
                ctx.count("values kept")
                ctx.count("bytes kept", nbytes(value))

    def _stored(self, graph: JointGraph) -> frozenset[Operation]:
        """Operations whose results lie in memory for products of the forward and of the backward."""
        if self.stored == "never" or self.recompute != "cheap":
            return frozenset()
        return frozenset([op for op in graph.ops if self._is_stored(graph, op)])

    def _is_stored(self, graph: JointGraph, op: Operation) -> bool:
        if graph.is_backward(op) or type(op) in VIEWS or op.attrs.get(RECOMPUTE) or not may_recompute(op, self.recompute):
            return False
        if self.stored == "gpu" and all(value.type.device == "cpu" for value in op.results):  # type: ignore[attr-defined]
            return False
        readers = products_that_read(op)
        return any(graph.is_backward(reader) for reader in readers) and any(reader in graph.forward_ops for reader in readers)

    def _within_budget(self, graph: JointGraph) -> Choice:
        costly = [op for op in graph.ops if not graph.is_backward(op) and not may_recompute(op, self.recompute) and may_recompute(op, "all")]
        return choose(graph, costly, lambda spared: _Cut(graph, "all", frozenset(spared)).kept(), self.memory_budget)


def may_recompute(op: Operation, kind: str) -> bool:
    """True when the backward may compute `op` again."""
    if not is_removable(op) or type(op) in RANDOM:
        return False
    if op.attrs.get(RECOMPUTE) or kind == "all":
        return True
    if type(op) is normalization.BatchNormOp:
        return kind == "cheap" and not op.training
    return type(op) in VIEWS or (kind == "cheap" and (type(op) in CHEAP or Elementwise in op.traits))


def products_that_read(op: Operation) -> list[Operation]:
    """Products that read a result of an operation as it is, or through views."""
    found: list[Operation] = []
    pending = list(op.results)
    while pending:
        for user in pending.pop().users:
            if type(user) in VIEWS:
                pending += user.results
            elif type(user) in PRODUCTS:
                found.append(user)
    return found


class _Cut:
    """The flow network of one graph: each value is an edge as wide as keeping it costs."""

    def __init__(self, graph: JointGraph, kind: str, spared: frozenset[Operation] = frozenset()) -> None:
        self.graph = graph
        self.kind = kind
        self.spared = spared
        self.network = FlowNetwork()
        self.source, self.sink = self.network.node(), self.network.node()
        self.nodes: dict[Value, tuple[int, int]] = {}
        self.written = {op.target for op in graph.writes}

    def kept(self) -> list[Value]:
        """The results of operations to keep, in order."""
        pending = list(self.graph.read_by_backward)
        for value in pending:
            self._node(value)
        while pending:
            pending += self._feed(pending.pop())
        self.network.maximize(self.source, self.sink)
        near = self.network.sink_side(self.sink)
        cut = {value for value, (start, end) in self.nodes.items() if near[end] and not near[start] and value.op is not None}
        return [value for op in self.graph.ops for value in op.results if value in cut]

    def _node(self, value: Value) -> tuple[int, int]:
        """The ends of a value's edge.  What cannot be computed again begins at the source, what the backward reads ends at the sink."""
        found = self.nodes.get(value)
        if found is None:
            op = value.op
            again = op is not None and op not in self.spared and may_recompute(op, self.kind)
            start = self.network.node() if again else self.source
            end = self.sink if value in self.graph.read_by_backward else self.network.node()
            found = self.nodes[value] = start, end
            self.network.edge(start, end, self._cost(value))
        return found

    def _feed(self, value: Value) -> list[Value]:
        """Connect a value with what it is computed from; operands that are seen for the first time."""
        start, op = self.nodes[value][0], value.op
        if start == self.source:
            return []
        assert op is not None
        if not op.operands:
            self.network.edge(self.source, start, 0)  # nothing is needed to compute it again
        new = []
        for operand in dict.fromkeys(op.operands):
            if operand not in self.nodes:
                new.append(operand)
            end = self._node(operand)[1]
            if end != self.sink:  # what the backward reads is there
                self.network.edge(end, start, INFINITE)
        return new

    def _cost(self, value: Value) -> int:
        """Bytes that keeping a value takes, times four, so that ties can be told apart."""
        op = value.op
        size = 4 * max(1, nbytes(value))
        if value in self.graph.kept_by_eager and value not in self.written:
            return 1  # it lives anyway, and that it must not be written to is known
        if op is None:
            return size + 1 if value in self.graph.lent else 2 * size
        if op.attrs.get(RECOMPUTE) and all(user.attrs.get(RECOMPUTE) or self.graph.is_backward(user) for user in value.users):
            return 1000 * size
        return size + (type(op) in VIEWS or _widens_input(op))  # rather what it shows than the view itself, which would have to be copied


def _widens_input(op: Operation) -> bool:
    """Whether an operation only makes an input wider: a copy of the input is half as long to read for the backward."""
    return isinstance(op, creation.CastOp) and op.x.op is None and op.x.type.element.bits < op.to.bits


def _mark(value: Value, reason: str) -> None:
    op = value.op
    assert op is not None
    if len(op.results) == 1:
        op.attrs[KEEP] = reason
        return
    listed = list(op.attrs.get(KEEP, (None,) * len(op.results)))
    listed[value.index] = reason
    op.attrs[KEEP] = tuple(listed)


def _reason(graph: JointGraph, value: Value, kind: str, stored: frozenset[Operation] = frozenset()) -> str:
    op = value.op
    assert op is not None
    if op in stored:
        return "read in memory by a product of the forward and by one of the backward"
    if not may_recompute(op, kind):
        return f"{op.name} is not computed twice"
    reader = graph.read_by_backward.get(value)
    if reader is not None:
        return f"read by {reader}, and what it is computed from is no smaller"
    return "the smallest of what the backward can be computed from"


def _reason_within(graph: JointGraph, value: Value, choice: Choice, budget: float) -> str:
    """The reason under a memory budget."""
    op = value.op
    assert op is not None
    if op not in choice.spared:
        return _reason(graph, value, "all")
    return f"{op.name} takes {work(op)} operations, and is not computed twice within {budget} of the memory, {choice.limit} bytes"
