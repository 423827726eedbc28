"""Pad the operands of matrix products so that rows begin at aligned addresses.

    %0 = functional.pad(%x) {pads = [[0, 0], [0, 1]]} : !functional.tensor<512x768xf16>        // %x is 512x767
    %1 = functional.pad(%y) {pads = [[0, 1], [0, 0]]} : !functional.tensor<768x512xf16>        // %y is 767x512
    %2 = functional.mm(%0, %1)                                                                  // instead of mm(%x, %y)

Libraries of a GPU load 16 bytes at once and use matrix units only when every row begins at a multiple of that: `alignment` elements, of which 0
stands for 16 bytes on a device of CUDA and for no padding elsewhere.  On a CPU a copy of the operands costs more than it gains (measured in f32:
512x1023x1023 takes 1.0 to 1.6 times as long as 512x1024x1024, and copying its operands as much again), so there it is off.  Products with a size below `least`
are left alone; sizes that are known only at run time are weighed as in the captured call, and are not padded.

The values are the same: the padding of the inner size meets padding, zero times zero, and sums take no notice of it; the padding of the outer sizes is cut off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.contraction import AddmmOp, BaddbmmOp, BmmOp, MmOp
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import PadOp, SliceOp
from lect.ir import Builder, Context, Operation, Value
from lect.ir.facts import facts_of
from lect.passes.base import Pass, option
from lect.passes.functional.graphs import functions, restated

PRODUCTS = (MmOp, BmmOp, AddmmOp, BaddbmmOp)


@dataclass(frozen=True)
class FunctionalPadMm(Pass):
    """Pad products to multiples of an alignment."""

    name: ClassVar[str] = "functional-pad-mm"
    alignment: int = option(0, "sizes become multiples of this; 0 is 16 bytes on a device of CUDA, and nothing elsewhere")
    least: int = option(256, "the least size of a product that is padded")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            for inner in [inner for inner in func.body if isinstance(inner, PRODUCTS)]:
                ctx.count("products padded", self.pad(inner))

    def pad(self, op: Any) -> bool:
        """Pad one product; False when it is aligned, too small, or not to be padded."""
        type: TensorType = op.output.type
        multiple = self.alignment or (16 // type.element.bytes if type.device.startswith("cuda") and type.element.is_float else 0)
        rows, inner, columns = op.x.type.shape[-2], op.x.type.shape[-1], op.y.type.shape[-1]
        hint = facts_of(op).hint
        if multiple < 2 or min(hint(rows), hint(inner), hint(columns)) < max(self.least, 1):
            return False
        extra = [-size % multiple if isinstance(size, int) else 0 for size in (rows, inner, columns)]
        if not any(extra):
            return False
        build = Builder.before(op)
        x = _padded(build, op.x, (extra[0], extra[1]))
        y = _padded(build, op.y, (extra[1], extra[2]))
        attrs = {name: value for name, value in op.attrs.items() if name != "strides"}
        operands = [x, y]
        if isinstance(op, AddmmOp | BaddbmmOp):
            sizes = op.added.type.shape[-2:]
            outer = tuple([more if size == full else 0 for size, full, more in zip(reversed(sizes), (columns, rows), (extra[2], extra[0]))])
            operands.insert(0, _padded(build, op.added, tuple(reversed(outer))))
        value = build.insert(op.__class__(*operands, **attrs, loc=op.loc)).output
        for dim, size in ((type.rank - 2, rows), (type.rank - 1, columns)):
            if value.type.shape[dim] != size:
                value = build.insert(SliceOp(value, dim, 0, size, loc=op.loc)).output
        if value.type is not type:
            restated(value.op, type)
        op.replace([value])
        return True


def _padded(build: Builder, value: Any, extra: tuple[int, ...]) -> Value:
    """A tensor with zeros behind its last dims."""
    if not any(extra):
        return value  # type: ignore[no-any-return]
    rank = value.type.rank
    pads = ((0, 0),) * (rank - len(extra)) + tuple([(0, more) for more in extra])
    return build.insert(PadOp(value, pads)).output  # type: ignore[no-any-return]
