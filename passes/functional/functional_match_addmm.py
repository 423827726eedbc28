"""A product and a sum that nothing else would be fused with become one library call.

    %0 = functional.mm(%x, %y) : !functional.tensor<8x4xf32>
    %1 = functional.add(%0, %bias) : !functional.tensor<8x4xf32>       =>     %1 = functional.addmm(%bias, %x, %y)
    functional.return(%1)

Also with a factor in front of the product or the other operand (alpha, beta), as a difference, behind a reshape that keeps the last dim, and for `bmm`
(`baddbmm`).  The library starts each sum with the added number, where eager adds it to the sum: in f32 and f64 that is within the rounding of the sum itself,
whose order is not defined.  16-bit floats would be rounded once instead of twice, so they are matched when `numerics` is "fused".

A sum whose result pointwise operations or reductions read is left alone, as it costs nothing in their kernel.  Measured on a CPU (f32, one
thread): a sum of its own behind a product costs 5 to 35 % of the product, one in front of gelu nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.canonicalization import AddOp, MulOp, SubOp
from lect.dialects.functional.contraction import AddmmOp, BaddbmmOp, BmmOp, MmOp
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import ReshapeOp
from lect.ir import Context, Pattern, PatternSet, Rewriter, Value, apply_greedily
from lect.ir.types import f32, f64
from lect.passes.base import Pass, option
from lect.passes.functional.graphs import LIBRARY, VIEWS, functions, reads_from_memory, relaxed


@dataclass(frozen=True)
class FunctionalMatchAddmm(Pass):
    """Find products to which something is added."""

    name: ClassVar[str] = "functional-match-addmm"
    numerics: str = option("", "eager (f32 and f64 alone) or fused (16-bit floats too); the option of the compile when empty")

    def run(self, op: Any, ctx: Context) -> None:
        halves = relaxed(self.numerics, ctx)
        for func in functions(op):
            if any(isinstance(inner, MmOp | BmmOp) for inner in func.body):
                ctx.count("sums joined with products", apply_greedily(func, PatternSet([AddIntoProduct(halves)]), remove_dead=False))


@dataclass(frozen=True)
class AddIntoProduct(Pattern):
    """c + a * (x @ y)  =>  addmm(c, x, y) {alpha = a}"""

    halves: bool
    root = (AddOp, SubOp)

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        if op.y is None or len(op.operands) != 2 or op.x is op.y:
            return False
        element = op.output.type.element
        if not (element in (f32, f64) or (self.halves and element.is_half)) or op.output.type.is_empty:
            return False
        sign = -op.attrs.get("alpha", 1) if isinstance(op, SubOp) else op.attrs.get("alpha", 1)
        for product, added, alpha, beta in ((op.x, op.y, 1, sign), (op.y, op.x, sign, 1)):
            found = self.joined(op, product, added, alpha, beta)
            if found is not None:
                return self.replace(op, found, rewriter)
        return False

    def joined(self, op: Any, value: Value, added: Value, alpha: Any, beta: Any) -> Any:
        """(the call, whether its result is to be reshaped), or None."""
        value, factor = _without_factor(value)
        product: Any = value.op
        reshaped = isinstance(product, ReshapeOp) and len(product.output.users) == 1
        if reshaped:
            product = product.x.op
        if not isinstance(product, MmOp | BmmOp) or len(product.output.users) != 1 or value.type is not op.output.type:  # type: ignore[redundant-expr]
            return None
        rows: TensorType = added.type  # type: ignore[assignment]
        if reshaped and (rows.rank != 1 or value.type.shape[-1] != product.output.type.shape[-1]):
            return None
        if rows.rank > product.output.type.rank or not _is_at_hand(added) or not all(reads_from_memory(user) for user in op.output.users):
            return None
        if not product.x.type.shape[-1]:
            return None  # zeros, beside which -0.0 does not stay
        cls = AddmmOp if isinstance(product, MmOp) else BaddbmmOp
        return cls(added, product.x, product.y, beta=beta, alpha=alpha * factor, loc=op.loc), reshaped

    def replace(self, op: Any, found: Any, rewriter: Rewriter) -> bool:
        """Put the call in the place of the sum."""
        call, reshaped = found
        if not reshaped and call.output.type is not op.output.type:
            call.drop_operands()
            return False
        if not reshaped:
            rewriter.replace_with(op, call)
            return True
        rewriter.insert_before(op, call)
        rewriter.replace_with(op, ReshapeOp(call.output, op.output.type.shape, loc=op.loc))
        return True


def _without_factor(value: Any) -> tuple[Any, Any]:
    """A value and the number by which it is multiplied at last."""
    op = value.op
    factors: Any = MulOp
    if type(op) is factors and op.y is None and len(value.users) == 1 and op.x.type is value.type:
        return op.x, op.other
    return value, 1


def _is_at_hand(value: Any) -> bool:
    """True for inputs, views of them, and what a library made: anything else would have to be stored first."""
    while value.op is not None and value.op.name in VIEWS:
        value = value.op.x
    return value.op is None or value.op.name in LIBRARY
