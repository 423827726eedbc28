"""Compute one more than an error function by an exponential and a polynomial, where kernels for a GPU may be approximate.

    %e = erf(%u); %s = add(1, %e)   =>   %t = 1 / (1 + 0.3275911 |u|); %p = a polynomial of %t times exp(-u^2); %s = %u < 0 ? %p : 2 - %p

1 + erf(u) is erfc(-u).  The polynomial (Abramowitz and Stegun 7.1.26) is off by 1.5e-7 times the exponential, so far below zero the result keeps digits that
1 + erf(u) loses; for gelu of halves it is nowhere farther from the exact number than that is.  It takes an exponential and a quotient, for which a GPU has
instructions, and ten operations more, where erf is some thirty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Context, Operation, Value
from lect.ir.types import f32
from lect.passes.base import Pass
from lect.passes.kernel.scalar_maker import Maker

QUICK = "what is below 2^-126 may be zero"
SLOPE = 0.3275911
COEFFICIENTS = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)  # of the highest power first


@dataclass(frozen=True)
class KernelQuickErf(Pass):
    """Replace 1 + erf(u) by a polynomial times an exponential."""

    name: ClassVar[str] = "kernel-quick-erf"
    gpu_only: ClassVar[bool] = True

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.approximate]:
            for sum in [inner for inner in func.walk() if inner.name == "kernel.add"]:
                error = _error_function(sum)
                if error is not None:
                    sum.replace([_Steps(sum).complement(error.operands[0])])
                    if not error.results[0].users:
                        error.erase()
                    ctx.count("error functions replaced")


def _error_function(sum: Operation) -> Operation | None:
    """The erf of a sum of it and 1."""
    for one, value in (sum.operands, sum.operands[::-1]):
        if isinstance(one.op, kernel.ConstOp) and one.op.value == 1.0 and value.op is not None and value.op.name == "kernel.erf":
            return value.op if element_of(value.type) is f32 else None
    return None


class _Steps(Maker):
    """Writes the error function's complement in front of an operation."""

    def number(self, value: float) -> Value:
        """A constant."""
        return self.const(value, f32)

    def quick(self, name: str, *operands: Value) -> Value:
        """An operation by the hardware's instructions for normal numbers: quotients and powers below 2^-126 are zero, which no digit of the result shows."""
        made = kernel.scalar_op(name)(*operands)
        made.attrs["quick"] = QUICK
        return self.insert(made)

    def complement(self, u: Value) -> Value:
        """erfc(-u)."""
        one = self.number(1.0)
        t = self.quick("div", one, self.op("fma", self.op("abs", u), self.number(SLOPE), one))
        first, *rest = [self.number(value) for value in COEFFICIENTS]
        series = first
        for coefficient in rest:
            series = self.op("fma", series, t, coefficient)
        tail = self.op("mul", self.op("mul", series, t), self.quick("exp", self.op("neg", self.op("mul", u, u))))
        return self.insert(kernel.SelectOp(self.op("lt", u, self.number(0.0)), tail, self.op("sub", self.number(2.0), tail)))
