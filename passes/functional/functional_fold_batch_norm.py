"""Put batch normalisation in evaluation into the filters of the convolution in front of it.

    %0 = functional.convolution(%x, %w, %c) {..} : ..                          %s = rsqrt(var + eps) * weight
    %1, .. = functional.batch_norm(%0, %mean, %var, %weight, %bias)     =>     %v = %w * %s;  %d = (%c - mean) * %s + bias
                  {training = false, eps = 1e-05, ..}                          %1 = functional.convolution(%x, %v, %d) {..}

Parameters are inputs of a graph, for a program may change them between two calls, so the new filters are computed in each call.  That pays when there are
fewer of their elements than of the result's (the filters are read and written once, where the result would be), and when the normalisation is a pass over
memory of its own: a pointwise operation behind it takes it into its kernel for nothing.  So it is done where a library call or the end of the graph
reads the result, and the result has at least `ratio` times as many elements as the filters.

The products are rounded otherwise, so this needs `numerics` to be "fused".  Transposed convolutions, statistics of another type than the filters, and
normalisation in training stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.canonicalization import AddOp, MulOp, SubOp
from lect.dialects.functional.contraction import ConvolutionOp
from lect.dialects.functional.normalization import BatchNormOp
from lect.dialects.functional.pointwise import FLOAT_UNARY
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import ReshapeOp
from lect.ir import Builder, Context, Operation, Value
from lect.ir.facts import facts_of
from lect.passes.base import Pass, option
from lect.passes.functional.graphs import functions, reads_from_memory, relaxed, restated

RsqrtOp = FLOAT_UNARY["RsqrtOp"]


@dataclass(frozen=True)
class FunctionalFoldBatchNorm(Pass):
    """Fold batch normalisation into convolutions where it pays."""

    name: ClassVar[str] = "functional-fold-batch-norm"
    numerics: str = option("", "eager (nothing is done) or fused; the option of the compile when empty")
    ratio: float = option(2.0, "how many elements the result must have for each element of the filters")

    def run(self, op: Operation, ctx: Context) -> None:
        if not relaxed(self.numerics, ctx):
            return
        for func in functions(op):
            for inner in [inner for inner in func.body if isinstance(inner, BatchNormOp)]:
                if self.pays(inner):
                    fold(inner)
                    ctx.count("normalisations folded")

    def pays(self, op: BatchNormOp) -> bool:
        """True for a normalisation that can be folded and is a pass of its own."""
        x = op.x
        convolution: Any = x.op
        if op.training or not isinstance(convolution, ConvolutionOp) or convolution.transposed or len(x.users) != 1:
            return False
        if any(value.users for value in op.results[1:]):
            return False
        numbers = (op.running_mean, op.running_var, op.weight, op.bias)
        if any(value is not None and value.type.element is not x.type.element for value in numbers) or op.output.type is not x.type:
            return False
        facts = facts_of(op)
        return facts.hint(x.type.count) >= self.ratio * facts.hint(convolution.weight.type.count) and all(reads_from_memory(user) for user in op.output.users)


def fold(op: BatchNormOp) -> None:
    """Rewrite one normalisation and its convolution."""
    convolution: Any = op.x.op
    build = Builder.before(op)

    def emit(cls: Any, *operands: Any, **attrs: Any) -> Value:
        return build.insert(cls(*operands, loc=op.loc, **attrs)).results[0]  # type: ignore[no-any-return]

    scale = emit(RsqrtOp, emit(AddOp, op.running_var, other=op.eps))
    if op.weight is not None:
        scale = emit(MulOp, scale, op.weight)
    filters: TensorType = convolution.weight.type
    column = emit(ReshapeOp, scale, (filters.shape[0],) + (1,) * (filters.rank - 1))
    weight = build.insert(restated(MulOp(convolution.weight, column, loc=op.loc), filters)).results[0]
    shift = op.running_mean if convolution.bias is None else emit(SubOp, op.running_mean, convolution.bias)
    shift = emit(MulOp, shift, scale)
    if op.bias is not None:
        bias = emit(SubOp, op.bias, shift)
    else:
        bias = emit(MulOp, shift, other=-1)
    attrs = {name: value for name, value in convolution.attrs.items() if name != "operand_segments"}
    strides = attrs.pop("strides", None)
    new = ConvolutionOp(convolution.x, weight, bias, **attrs, loc=convolution.loc)
    if strides is not None:
        new = restated(new, op.output.type)
    op.output.replace_all_uses(build.insert(new).output)
    for result, value in zip(op.results[3:], (op.running_mean, op.running_var)):
        result.replace_all_uses(value)
    op.erase()
    convolution.erase()
