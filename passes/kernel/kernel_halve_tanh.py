"""Compute half of one more than a hyperbolic tangent as a quotient, where kernels for a GPU may be approximate.

    %t = tanh(%u); %s = add(1, %t); %h = mul(%x, 0.5); %y = mul(%h, %s)   =>   %e = exp(mul(%u, -2)); %y = div(%x, add(1, %e))

(1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u)): one exponential and one division, for which a GPU has instructions, where tanh is some twenty.  The quotient is also
the nearer one for u far below zero, where 1 + tanh(u) loses its digits.  This is the tanh form of gelu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Context, Operation, Value
from lect.passes.base import Pass


@dataclass(frozen=True)
class KernelHalveTanh(Pass):
    """Replace (x / 2) * (1 + tanh(u)) by x / (1 + exp(-2 u))."""

    name: ClassVar[str] = "kernel-halve-tanh"
    gpu_only: ClassVar[bool] = True

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.approximate]:
            for product in [inner for inner in func.walk() if inner.name == "kernel.mul"]:
                if _rewrite(product):
                    ctx.count("tangents replaced")


def _rewrite(product: Operation) -> bool:
    for half, shifted in (product.operands, product.operands[::-1]):
        x, tangent = _times(half, 0.5), _plus_one(shifted)
        if x is not None and tangent is not None and shifted.has_one_use() and tangent.has_one_use():
            product.replace([_quotient(product, x, tangent)])
            _erase(shifted, tangent, half)
            return True
    return False


def _quotient(before: Operation, x: Value, tangent: Value) -> Value:
    """x / (1 + exp(-2 u)) in front of an operation, for the u of tanh(u)."""
    block, scalar, element = before.parent, kernel.scalar_op, element_of(x.type)
    assert block is not None and tangent.op is not None

    def insert(made: Operation) -> Value:
        made.loc = before.loc
        return block.insert_before(before, made).results[0]

    factor = insert(kernel.ConstOp(-2.0, result_types=[element]))
    one = insert(kernel.ConstOp(1.0, result_types=[element]))
    exponential = insert(scalar("exp")(insert(scalar("mul")(tangent.op.operands[0], factor))))
    return insert(scalar("div")(x, insert(scalar("add")(exponential, one))))


def _erase(*values: Value) -> None:
    for value in values:
        if not value.users and value.op is not None:
            value.op.erase()


def _constant(value: Value) -> object:
    return value.op.value if isinstance(value.op, kernel.ConstOp) else None


def _times(value: Value, factor: float) -> Value | None:
    """x where the value is x * factor."""
    op = value.op
    if op is None or op.name != "kernel.mul":
        return None
    first, second = op.operands
    return first if _constant(second) == factor else second if _constant(first) == factor else None


def _plus_one(value: Value) -> Value | None:
    """tanh(u) where the value is 1 + tanh(u)."""
    op = value.op
    if op is None or op.name != "kernel.add":
        return None
    first, second = op.operands
    found = first if _constant(second) == 1.0 else second if _constant(first) == 1.0 else None
    return found if found is not None and found.op is not None and found.op.name == "kernel.tanh" else None
