"""Take the mask of a relu's gradient from what the kernels of a backward read anyway.

    %0 = functional.add(%n, %b)                     // the batch norm of %x, written out
    %1 = functional.relu(%0)
    ..
    %2 = functional.threshold_backward(%g, %1) {threshold = 0}
    %3, %4, %5 = functional.batch_norm_backward(%2, %x, ..)
=>
    %2 = functional.threshold_backward(%g, %0) {threshold = 0}

relu(x) is above zero where x is, and NaN where that is.  The kernels of the norm's backward read %x, from which they compute %0 again with some numbers a
channel; so they need not read %1.  A GPU has arithmetic to spare for that.  Where %0 takes more than %x that is as large (the sum with a shortcut), reading
%1 is no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.functional.composite import ReluOp, ThresholdBackwardOp
from lect.dialects.functional.families import Elementwise
from lect.dialects.functional.normalization import BatchNormBackwardOp
from lect.ir import Context, Operation, PassFailure, Value
from lect.passes.base import Pass, option
from lect.passes.functional.joint_graph import VIEWS, JointGraph, joint_graphs, nbytes

WHERE = ("gpu", "always", "never")


@dataclass(frozen=True)
class FunctionalRecomputeMasks(Pass):
    """Mask gradients in front of a batch norm's backward by the operand of a relu instead of its result."""

    name: ClassVar[str] = "functional-recompute-masks"
    where: str = option("gpu", "on which devices: gpu, always or never")
    longest: int = option(12, "operations that are computed again")
    small: int = option(16, "how many times smaller than the mask is what does not count as reading")

    def run(self, op: Operation, ctx: Context) -> None:
        if self.where not in WHERE:
            raise PassFailure(f"'where' of {self.name} is one of {', '.join(WHERE)}, got '{self.where}'")
        if self.where == "never":
            return
        for graph in joint_graphs(op):
            for inner in [inner for inner in graph.ops if isinstance(inner, ThresholdBackwardOp)]:
                relu = inner.x.op
                if isinstance(relu, ReluOp) and (self.where == "always" or inner.output.type.device != "cpu") and self._reads_less(graph, inner, relu):
                    inner.set_operand(1, relu.x)
                    ctx.count("masks computed again")

    def _reads_less(self, graph: JointGraph, op: ThresholdBackwardOp, relu: ReluOp) -> bool:
        """Whether the operand of the relu is computed from what every reader of the gradient reads."""
        norms = [reader for reader in op.output.users if isinstance(reader, BatchNormBackwardOp) and reader.gradient is op.output]
        if op.threshold != 0 or graph.is_backward(relu) or not norms or len(norms) != len(op.output.users):
            return False
        leaves = self._leaves(relu.x)
        return leaves is not None and all(leaves <= {norm.x} for norm in norms)

    def _leaves(self, value: Value) -> set[Value] | None:
        """The large values from which elementwise operations compute a value; None when there are too many operations."""
        least, found, count = nbytes(value) // self.small, set(), 0
        pending, seen = [value], {value}
        while pending:
            each = pending.pop()
            op = each.op
            if op is None or not (type(op) in VIEWS or Elementwise in op.traits):
                if nbytes(each) > least:
                    found.add(each)
                continue
            count += 1
            if count > self.longest:
                return None
            for operand in op.operands:
                if operand not in seen:
                    seen.add(operand)
                    pending.append(operand)
        return found
