"""The operations of a loop function as a graph that stays sorted while nodes merge.

Nodes are nests, library calls and the return; an edge says which buffer one makes and the other reads, or that of two calls one has its turn behind the
other (see `keeps_its_turn`).  `position` is a topological order.  A merge of two nodes touches only what lies between them in that order, so asking
whether they may merge costs no more than that window.
"""

from __future__ import annotations

from lect.dialects.loop.library import keeps_its_turn
from lect.dialects.loop.ops import ExternOp, FuncOp
from lect.ir import Operation, Value


class FusionGraph:
    """The graph of one function; `order` has None where a node was merged away."""

    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.order: list[Operation | None] = list(func.body)
        self.position: dict[Operation, int] = {op: k for k, op in enumerate(func.body)}
        self.successors: dict[Operation, dict[Operation, Value | None]] = {op: {} for op in func.body}
        self.predecessors: dict[Operation, dict[Operation, Value | None]] = {op: {} for op in func.body}
        self.between: set[Operation] = set()
        last: ExternOp | None = None
        for op in func.body:
            for value in op.operands:
                if isinstance(value.owner, Operation):
                    self.successors[value.owner][op] = value
                    self.predecessors[op][value.owner] = value
            if isinstance(op, ExternOp) and keeps_its_turn(op.callee.leaf):
                if last is not None:
                    self.successors[last].setdefault(op, None)
                    self.predecessors[op].setdefault(last, None)
                last = op

    def detour(self, first: Operation, last: Operation) -> tuple[Operation, Value | None] | None:
        """The last step (node, buffer if it is one) of a path from `first` to `last` through a third node, or None.  Fills `between` for `merge`."""
        limit = self.position[last]
        seen: set[Operation] = set()
        pending = [op for op in self.successors[first] if op is not last]
        while pending:
            op = pending.pop()
            if op in seen or self.position[op] > limit:
                continue
            seen.add(op)
            for following, buffer in self.successors[op].items():
                if following is last:
                    return op, buffer
                pending.append(following)
        self.between = seen
        return None

    def merge(self, first: Operation, last: Operation, new: Operation) -> None:
        """Let `new`, which has taken over their results, stand for both.  `detour(first, last)` must have been None just before."""
        start, end = self.position[first], self.position[last]
        window = self.order[start + 1 : end]
        early = [op for op in window if op is not None and op not in self.between]
        late = [op for op in window if op is not None and op in self.between]
        moved: list[Operation | None] = [*early, new, *late]
        self.order[start : end + 1] = [None] * (end + 1 - start - len(moved)) + moved
        for place in range(start, end + 1):
            op = self.order[place]
            if op is not None:
                self.position[op] = place
        for old in (first, last):
            del self.position[old]
            for forward, backward in ((self.successors, self.predecessors), (self.predecessors, self.successors)):
                for op in forward.pop(old):
                    backward[op].pop(old, None)
        self.successors[new], self.predecessors[new] = {}, {}
        for value in new.operands:
            if isinstance(value.owner, Operation):
                self.successors[value.owner][new] = self.predecessors[new][value.owner] = value
        for value in new.results:
            for user in value.users:
                if user in self.position:
                    self.successors[new][user] = self.predecessors[user][new] = value

    def write_order(self) -> None:
        """Put the operations of the function into the order of the graph."""
        self.func.body.move_all([op for op in self.order if op is not None])
