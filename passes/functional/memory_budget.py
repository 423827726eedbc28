"""What a forward keeps when it may not keep all that saves work: the cuts between keeping next to nothing and keeping what is not cheap.

A budget is a part of the way between two sums of bytes: those of the cut that computes again all that it may (0), and those of the cut that only
computes again what is cheap (1).  Between them the operations that are not cheap are taken in the order of the work that keeping a byte of their
results saves, as long as the cut in which these are not computed twice stays within the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from lect.dialects.functional import contraction
from lect.ir import Operation, Value
from lect.ir.facts import facts_of
from lect.passes.functional.joint_graph import JointGraph, nbytes

# The values to keep when these operations must not be computed again, among those that may be.
Cut = Callable[[Collection[Operation]], list[Value]]


@dataclass(frozen=True)
class Choice:
    """The values to keep, the operations that are not computed again for their work, and the bytes that were allowed."""

    kept: list[Value]
    spared: frozenset[Operation]
    limit: int


def choose(graph: JointGraph, costly: Sequence[Operation], cut: Cut, budget: float) -> Choice:
    """The cut for a budget between 0 and 1.  `costly` are the operations that may be computed again but are not cheap."""
    least, most = size(graph, cut(())), size(graph, cut(costly))
    limit = least + math.floor(budget * max(0, most - least))
    order = sorted(costly, key=lambda op: -worth(op))
    low, high = 0, len(order)
    while low < high:  # how many of the first fit: every one more can only make the cut larger
        middle = (low + high + 1) // 2
        if size(graph, cut(order[:middle])) <= limit:
            low = middle
        else:
            high = middle - 1
    spared = order[:low]
    kept = cut(spared)
    room = limit - size(graph, kept)
    more = []
    for op in order[low + 1 :]:
        if op_bytes(op) <= room:
            more.append(op)
            room -= op_bytes(op)
    if more and size(graph, found := cut([*spared, *more])) <= limit:
        kept, spared = found, [*spared, *more]
    return Choice(kept, frozenset(spared), limit)


def size(graph: JointGraph, kept: Sequence[Value]) -> int:
    """Bytes that a cut takes beside what lives anyway."""
    return sum(nbytes(value) for value in kept if value not in graph.kept_by_eager)


def op_bytes(op: Operation) -> int:
    """Bytes of the results that somebody reads."""
    return sum(nbytes(value) for value in op.results if value.users)


def worth(op: Operation) -> float:
    """Work for each byte of the results."""
    return work(op) / max(1, op_bytes(op))


def work(op: Any) -> int:
    """About the number of arithmetic operations: two for each pair of numbers that a product multiplies, else one for each number that is read."""
    hint = facts_of(op).hint
    if isinstance(op, contraction.MmOp | contraction.BmmOp | contraction.AddmmOp | contraction.BaddbmmOp):
        return hint(2 * op.output.type.count * op.x.type.shape[-1])
    if isinstance(op, contraction.ConvolutionOp):
        weight = op.weight.type
        positions = (op.x if op.transposed else op.output).type
        return 2 * hint(positions.count) // max(1, hint(positions.shape[1])) * hint(weight.count)
    if isinstance(op, contraction.AttentionOp):
        return hint(4 * op.query.type.count * op.key.type.shape[-2])
    return sum(hint(value.type.count) for value in op.operands)
