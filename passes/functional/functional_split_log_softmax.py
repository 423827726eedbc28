"""Take the log-softmax of a loss apart, so that it need not be stored.

    %0 = functional.log_softmax(%x) {dim = 1}                  // 8x50000, read by functional.nll alone
=>
    %0 = functional.amax(%x) {dims = [1], keepdim = true}      // 8x1
    %1 = functional.sub(%x, %0)
    %2 = functional.exp(%1)
    %3 = functional.sum(%2) {dims = [1], keepdim = true}       // 8x1
    %4 = functional.log(%3)
    %5 = functional.sub(%1, %4)                                // instead of %0

A loss reads one element a row, and its backward computes all of them again from two numbers a row and from what is there anyway.  These are the steps by
which the whole is computed, so its values are the same.  A log-softmax that something else reads is left alone: it is stored anyway.  So is one of halves on a
CPU, where eager rounds the sum and its logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.creation import CastOp
from lect.dialects.functional.normalization import NllBackwardOp, NllOp
from lect.dialects.functional.pointwise import FLOAT_UNARY, SUMS
from lect.dialects.functional.reduction import ACCUMULATE, EXTREMA, SOFTMAX_GRADIENTS, LogSoftmaxOp
from lect.dialects.functional.view import ReshapeOp
from lect.ir import Builder, Context, Operation, Value
from lect.ir.types import f32
from lect.passes.base import Pass
from lect.passes.functional.graphs import functions, restated

READERS = (NllOp, NllBackwardOp, SOFTMAX_GRADIENTS["LogSoftmaxBackwardOp"])


@dataclass(frozen=True)
class FunctionalSplitLogSoftmax(Pass):
    """Compute the log-softmax of a loss from two numbers a row."""

    name: ClassVar[str] = "functional-split-log-softmax"

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            for inner in [inner for inner in func.body if isinstance(inner, LogSoftmaxOp)]:
                if is_only_of_a_loss(inner):
                    inner.replace([apart(inner)])
                    ctx.count("log-softmax taken apart")


def is_only_of_a_loss(op: LogSoftmaxOp) -> bool:
    """Whether nothing but a loss and its backward reads a log-softmax, and it is computed in one type."""
    x, output = op.x.type, op.output.type
    halves = output.element.is_half
    same = (halves and x.element is output.element and x.device != "cpu") or (not halves and (x.element is output.element or x.element.is_half))
    return same and x.rank > 0 and not x.is_empty and only_losses_read(op.output)


def only_losses_read(value: Value) -> bool:
    """Whether nothing but losses and their backwards read a value, in one shape of it or another."""
    users = list(value.users)
    return bool(users) and all(isinstance(user, READERS) or (isinstance(user, ReshapeOp) and only_losses_read(user.output)) for user in users)


def apart(op: LogSoftmaxOp) -> Value:
    """The steps, in front of a log-softmax."""
    build = Builder.before(op)
    output = op.output.type
    wide = f32 if output.element.is_half else output.element

    def emit(cls: Any, *operands: Any, **attrs: Any) -> Any:
        return build.insert(cls(*operands, loc=op.loc, **attrs)).results[0]

    x = op.x if op.x.type.element is wide else emit(CastOp, op.x, wide)
    shifted = emit(SUMS["SubOp"], x, emit(EXTREMA["AmaxOp"], x, (op.dim,), True))
    total = emit(ACCUMULATE["SumOp"], emit(FLOAT_UNARY["ExpOp"], shifted), (op.dim,), True)
    last: Any = SUMS["SubOp"](shifted, emit(FLOAT_UNARY["LogOp"], total), loc=op.loc)
    if wide is not output.element:
        last = CastOp(build.insert(last).results[0], output.element, loc=op.loc)
    return build.insert(restated(last, output)).results[0]  # type: ignore[no-any-return]
