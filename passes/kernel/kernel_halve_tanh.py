"""Compute half of one more than a hyperbolic tangent as a sigmoid, where kernels for a GPU may be approximate.

    %t = tanh(%u); %s = add(1, %t); %h = mul(%x, 0.5); %y = mul(%h, %s)   =>   %y = mul(%x, sigmoid(mul(%u, 2)))
    .. where %u is (%v + a * %v * %v * %v) * b                            =>   %y = mul(%x, sigmoid(mul(%v, fma(mul(%v, %v), 2 * a * b, 2 * b))))

(1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u)): one exponential and one division, for which a GPU has instructions, where tanh is some twenty.  The sigmoid is also
the nearer one for u far below zero, where 1 + tanh(u) loses its digits.  This is the tanh form of gelu, which is then bound by memory: its cubic takes three
operations instead of six.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Context, Operation, Value
from lect.passes.base import Pass
from lect.passes.kernel.scalar_maker import Maker, erase_unused


@dataclass(frozen=True)
class KernelHalveTanh(Pass):
    """Replace (x / 2) * (1 + tanh(u)) by x * sigmoid(2 u)."""

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
            make = Maker(product)
            product.replace([make.op("mul", x, make.op("sigmoid", _doubled(make, tangent.op.operands[0])))])  # type: ignore[union-attr]
            erase_unused(shifted, tangent, half)
            return True
    return False


def _doubled(make: Maker, u: Value) -> Value:
    """2 * u, by fewer operations where u is (v + a * v * v * v) * b."""
    type = element_of(u.type)
    v, a, b = _cubic(u)
    if v is None:
        return make.op("mul", u, make.const(2.0, type))
    return make.op("mul", v, make.op("fma", make.op("mul", v, v), make.const(2 * a * b, type), make.const(2 * b, type)))


def _cubic(u: Value) -> tuple[Value | None, float, float]:
    """v, a and b where a value is (v + a * v * v * v) * b."""
    sum, b = _scaled(u)
    if sum is not None and sum.op is not None and sum.op.name == "kernel.add":
        for v, cube in (sum.op.operands, sum.op.operands[::-1]):
            power, a = _scaled(cube)
            if power is not None and _factors(power) == [v, v, v]:
                return v, a, b
    return None, 0.0, 0.0


def _scaled(value: Value) -> tuple[Value | None, float]:
    """x and c where the value is x * c for a number c."""
    op = value.op
    if op is not None and op.name == "kernel.mul":
        for x, constant in (op.operands, op.operands[::-1]):
            number = _constant(constant)
            if isinstance(number, float):
                return x, number
    return None, 0.0


def _factors(value: Value) -> list[Value]:
    """The factors of a product of up to three, or the value."""
    op = value.op
    if op is None or op.name != "kernel.mul":
        return [value]
    return [factor for each in op.operands for factor in (each.op.operands if each.op is not None and each.op.name == "kernel.mul" else [each])]


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
