"""Divide by one more than an exponential with a sigmoid, where kernels for a GPU may be approximate.

    %e = exp(neg(%u)); %s = add(1, %e); %y = div(%x, %s)   =>   %y = mul(%x, sigmoid(%u))

What a sigmoid divides by is known to be at least 1, so that it is printed with the hardware's reciprocal and power of two, some six instructions; a division of
any two numbers takes ten, and an exponential that keeps the least numbers seven.  This is silu, and a sigmoid that somebody wrote out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Context, Operation, Value
from lect.ir.types import f32
from lect.passes.base import Pass
from lect.passes.kernel.scalar_maker import Maker, erase_unused


@dataclass(frozen=True)
class KernelQuickSigmoids(Pass):
    """Replace x / (1 + exp(-u)) by x * sigmoid(u)."""

    name: ClassVar[str] = "kernel-quick-sigmoids"
    gpu_only: ClassVar[bool] = True

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.approximate]:
            for division in [inner for inner in func.walk() if inner.name in ("kernel.div", "kernel.reciprocal")]:
                exponential = _one_more_than_exponential(division.operands[-1])
                if exponential is not None:
                    _rewrite(division, exponential)
                    ctx.count("quotients replaced")


def _one_more_than_exponential(value: Value) -> Operation | None:
    """The exponential where the value is 1 + exp(u)."""
    op = value.op
    if op is None or op.name != "kernel.add" or element_of(value.type) is not f32:
        return None
    for one, other in (op.operands, op.operands[::-1]):
        if isinstance(one.op, kernel.ConstOp) and one.op.value == 1.0 and other.op is not None and other.op.name == "kernel.exp":
            return other.op
    return None


def _rewrite(division: Operation, exponential: Operation) -> None:
    make, power = Maker(division), exponential.operands[0]
    sum = division.operands[-1]
    negated = power.op is not None and power.op.name == "kernel.neg"
    sigmoid = make.op("sigmoid", power.op.operands[0] if negated else make.op("neg", power))  # type: ignore[union-attr]
    division.replace([sigmoid if division.name == "kernel.reciprocal" else make.op("mul", division.operands[0], sigmoid)])
    erase_unused(sum)
