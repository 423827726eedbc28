"""Take the statistics of a batch normalisation apart from what they are used for.

    %0, %mean, %rstd, %2, %3 = functional.batch_norm(%x, %m, %v, %w; %b) {training = true, ..}        // %0 is 8x4x6x6
=>
    %0, %mean, %rstd, %2, %3 = functional.batch_norm(%x, %m, %v, %w; %b) {training = true, ..}        // %0 has no reader any more
    %4 = functional.mul(%rstd, %w)
    %5 = functional.mul(%mean, %4)
    %6 = functional.sub(%b, %5)
    %7 = functional.reshape(%4) {shape = [4, 1, 1]}
    %8 = functional.mul(%x, %7)
    %9 = functional.reshape(%6) {shape = [4, 1, 1]}
    %10 = functional.add(%8, %9)                                                                      // instead of %0

In training the statistics are folds over the whole batch and what is left is elementwise.  Apart, a backward computes the elementwise part again from
two numbers a channel, and an activation behind it joins it in one kernel.  These are the steps by which eager computes the result, so its values are
the same; on a GPU they are others, `%w * (%x - %mean) * %rstd + %b`.  Halves, and parameters of another type than what is normalised, are left alone, as
eager rounds them elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.canonicalization import AddOp, MulOp, SubOp
from lect.dialects.functional.normalization import BatchNormOp
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import ReshapeOp
from lect.ir import Builder, Context, Operation, Value
from lect.passes.base import Pass
from lect.passes.functional.graphs import functions, restated


@dataclass(frozen=True)
class FunctionalSplitBatchNorm(Pass):
    """Normalise by operations of their own behind the statistics of a batch."""

    name: ClassVar[str] = "functional-split-batch-norm"

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            for inner in [inner for inner in func.body if isinstance(inner, BatchNormOp)]:
                if inner.training and inner.output.users and is_plain(inner):
                    inner.output.replace_all_uses(_normalised(inner))
                    ctx.count("normalisations split")


def is_plain(op: BatchNormOp) -> bool:
    """True for a normalisation that is computed in the one type that all its operands have, f32 or f64, of at least one element."""
    x: TensorType = op.x.type
    numbers = (op.running_mean, op.running_var, op.weight, op.bias)
    return not x.element.is_half and not x.is_empty and all(value is None or value.type.element is x.element for value in numbers)


def _normalised(op: BatchNormOp) -> Value:
    """x * (rstd * weight) + (bias - mean * (rstd * weight)), behind `op`; on a GPU weight * (x - mean) * rstd + bias, as eager has it there."""
    build = Builder.after(op)
    column = (op.x.type.shape[1],) + (1,) * (op.x.type.rank - 2)

    def emit(cls: Any, *operands: Any, **attrs: Any) -> Any:
        return build.insert(cls(*operands, loc=op.loc, **attrs)).results[0]

    if op.x.type.device != "cpu":
        result = build.insert(restated(SubOp(op.x, emit(ReshapeOp, op.mean, column), loc=op.loc), op.output.type)).results[0]
        for cls, number in ((MulOp, op.weight), (MulOp, op.rstd), (AddOp, op.bias)):
            if number is not None:
                result = build.insert(restated(cls(result, emit(ReshapeOp, number, column), loc=op.loc), op.output.type)).results[0]
        return result  # type: ignore[no-any-return]
    scale = op.rstd if op.weight is None else emit(MulOp, op.rstd, op.weight)
    shift = emit(MulOp, op.mean, scale)
    product = build.insert(restated(MulOp(op.x, emit(ReshapeOp, scale, column), loc=op.loc), op.output.type)).results[0]
    end = SubOp if op.bias is None else AddOp
    shift = shift if op.bias is None else emit(SubOp, op.bias, shift)
    return build.insert(restated(end(product, emit(ReshapeOp, shift, column), loc=op.loc), op.output.type)).results[0]  # type: ignore[no-any-return]
