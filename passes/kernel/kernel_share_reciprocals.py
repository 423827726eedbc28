"""Divide the exponentials of a softmax by multiplying with one reciprocal a row, where kernels for a GPU may be approximate.

    %s = reduce(%e) {kind = "sum"}; %y = div(%e, %s)   =>   %s = reduce(%e) {kind = "sum"}; %r = reciprocal(%s); %y = mul(%e, %r)

A division takes several instructions for each element, a product one.  The sum of exp(x - max(x)) is between 1 and the number of elements, so that its
reciprocal neither overflows nor vanishes; other divisors may be anything, and divisions by them stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import axes_of
from lect.ir import Context, Operation, Value
from lect.passes.base import Pass


@dataclass(frozen=True)
class KernelShareReciprocals(Pass):
    """Multiply with the reciprocal of a sum of exponentials instead of dividing by it."""

    name: ClassVar[str] = "kernel-share-reciprocals"
    gpu_only: ClassVar[bool] = True

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.approximate]:
            reciprocals: dict[Value, Value] = {}
            for division in [inner for inner in func.walk() if inner.name == "kernel.div"]:
                number, divisor = division.operands
                if axes_of(divisor.type) < axes_of(number.type) and is_softmax_sum(divisor):
                    if divisor not in reciprocals:
                        reciprocals[divisor] = _behind(divisor, kernel.scalar_op("reciprocal")(divisor, loc=division.loc))
                    product = kernel.scalar_op("mul")(number, reciprocals[divisor], loc=division.loc)
                    division.parent.insert_before(division, product)  # type: ignore[union-attr]
                    division.replace(list(product.results))
                    ctx.count("divisions replaced")


def _behind(value: Value, made: Operation) -> Value:
    op = value.op
    assert op is not None and op.parent is not None
    return op.parent.insert_before(op.next, made).results[0]


def is_softmax_sum(value: Value) -> bool:
    """Whether a value is a sum of exp(x - m) for the greatest x as m, at once or by a loop."""
    op = value.op
    if not isinstance(op, kernel.ReduceOp) or op.kind != "sum":
        return False
    summand = _summand(op.tile)
    if isinstance(summand.op, kernel.SelectOp):
        summand = summand.op.when_true
    exponential = summand.op
    if exponential is None or exponential.name != "kernel.exp":
        return False
    shifted = exponential.operands[0].op
    return shifted is not None and shifted.name == "kernel.sub" and _is_greatest(shifted.operands[1])


def _summand(tile: Value) -> Value:
    """What is added up in a tile: itself, or what a loop adds to what it carries."""
    loop = tile.op
    if not isinstance(loop, kernel.ForOp):
        return tile
    last = loop.body.last
    assert last is not None
    following = last.operands[tile.index].op
    if following is not None and following.name == "kernel.add" and following.operands[0] is loop.body.args[1 + tile.index]:
        return following.operands[1]
    return tile


def _is_greatest(value: Value) -> bool:
    return isinstance(value.op, kernel.ReduceOp) and value.op.kind == "max"
