"""Take exponentials that only a sum needs by the instruction that a GPU has for powers of two.

    %d = sub(%x, %max); %e = exp(%d); .. %s = sum of %e      =>      %e = exp2(mul(%d, 1.4426950408889634)) ..

The product is rounded, which is off by |d| * 2^-24 of the power.  Below the maximum of its row no term of the sum is greater than 1, and e^d * |d| is nowhere
more than 0.37, so the sum, which is at least 1, is off by less than its own last digits.  Exponentials of which anything else is made stay as they are, and so
do those of numbers that no maximum was taken off.  This is the sum of a log-softmax and of a logsumexp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Context, Operation, Value
from lect.ir.types import f32
from lect.passes.base import Pass

PASSES_ON = frozenset({"kernel.select", "kernel.add", "kernel.mul"})


@dataclass(frozen=True)
class KernelSpeedExponentials(Pass):
    """Replace exp by exp2 in sums of exponentials below a maximum."""

    name: ClassVar[str] = "kernel-speed-exponentials"
    gpu_only: ClassVar[bool] = True

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.target == "cuda" and not inner.approximate]:
            for inner in [inner for inner in func.walk() if inner.name == "kernel.exp"]:
                if element_of(inner.results[0].type) is f32 and _is_below_maximum(inner.operands[0]) and _is_only_summed(inner.results[0]):
                    _rewrite(inner)
                    ctx.count("exponentials replaced")


def _is_below_maximum(value: Value) -> bool:
    """Whether a number is x - m for the maximum m of a row, or what stands for it where there is none."""
    op = value.op
    if op is None or op.name != "kernel.sub":
        return False
    most = op.operands[1].op
    if isinstance(most, kernel.SelectOp):
        most = most.when_false.op
    return isinstance(most, kernel.ReduceOp) and most.kind == "max"


def _is_only_summed(value: Value) -> bool:
    """Whether all that is made of a number are sums, in which it may be scaled and left out."""
    pending, seen, summed = [value], {value}, False
    while pending:
        for user in pending.pop().users:
            found: list[Value] = []
            if isinstance(user, kernel.ReduceOp) and user.kind == "sum":
                summed = True
            elif isinstance(user, kernel.YieldOp):
                found = _carried(user, seen)
            elif isinstance(user, kernel.ForOp):
                found = [user.body.args[1 + k] for k, initial in enumerate(user.initial) if initial in seen]
            elif user.name in PASSES_ON:
                found = list(user.results)
            else:
                return False
            pending += [each for each in found if each not in seen]
            seen.update(found)
    return summed


def _carried(end: kernel.YieldOp, seen: set[Value]) -> list[Value]:
    """What a loop carries of what is seen: in its body, and its result."""
    loop = end.parent_op
    assert isinstance(loop, kernel.ForOp)
    places = [k for k, value in enumerate(end.values) if value in seen]
    return [each for k in places for each in (loop.body.args[1 + k], loop.results[k])]


def _rewrite(op: Operation) -> None:
    block = op.parent
    assert block is not None

    def insert(made: Operation) -> Value:
        made.loc = op.loc
        return block.insert_before(op, made).results[0]

    factor = insert(kernel.ConstOp(math.log2(math.e), result_types=[f32]))
    op.replace([insert(kernel.scalar_op("exp2")(insert(kernel.scalar_op("mul")(op.operands[0], factor))))])
