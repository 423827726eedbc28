"""Floats that are computed from sizes with symbols: the `2 / (n - 1)` by which torch's own code scales a gradient.

torch makes a float of a size by asking its node, and computes on with the nodes that it is given.  What comes of that is a number of run time like any other,
of which is known how it is computed; what is written for it computes it so, in f64 as Python and C++ do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import ceil, floor
from types import MappingProxyType
from typing import Any

from lect.dialects.functional.creation import FullOp
from lect.dialects.functional.pointwise import AddOp, DivOp, MulOp, SubOp
from lect.frontends.tensors.numbers import NumberNode
from lect.frontends.tensors.size_truths import Truth
from lect.frontends.tensors.sizes import SizeNode, Sizes
from lect.ir import Value
from lect.ir.types import f64, i64

FUNCTIONS: Mapping[str, tuple[Callable[[float, float], float], Any]] = MappingProxyType(
    {"add": (operator.add, AddOp), "sub": (operator.sub, SubOp), "mul": (operator.mul, MulOp), "truediv": (operator.truediv, DivOp)}
)


class SizeFloat(NumberNode):
    """`function` (a key of `FUNCTIONS`) of two operands, each another such number or a float; without a function it is the size `left` as a float."""

    def __init__(self, left: Any, function: str = "", right: Any = None) -> None:
        super().__init__(1.5)
        self.left = left
        self.function = function
        self.right = right

    def need(self) -> float:
        """The value, for which the sizes are needed."""
        if not self.function:
            return float(self.left.int_())
        left, right = [side.need() if isinstance(side, SizeFloat) else side for side in (self.left, self.right)]
        return FUNCTIONS[self.function][0](left, right)

    def accept(self, dtypes: Any, special: Any = ()) -> bool:
        """Where the elements are floats, and no number is special."""
        return not special and all(dtype.is_floating_point for dtype in dtypes)

    def write(self, e: Any) -> Value:
        """A 0-d tensor of f64 that holds the number, written with an emitter."""
        if not self.function:
            return e.to(e(FullOp, shape=(), value=self.left.expr, element=i64), f64)  # type: ignore[no-any-return]
        sides = [side.write(e) if isinstance(side, SizeFloat) else e(FullOp, shape=(), value=side, element=f64) for side in (self.left, self.right)]
        return e(FUNCTIONS[self.function][1], *sides)  # type: ignore[no-any-return]

    def _shifted(self) -> tuple[SizeNode, float] | None:
        """The number as a size and a float that is added to it; None where it is something else."""
        if not self.function:
            return self.left, 0.0
        if self.function in ("add", "sub") and isinstance(self.left, SizeFloat) and not isinstance(self.right, SizeFloat):
            below = self.left._shifted()
            return None if below is None else (below[0], FUNCTIONS[self.function][0](below[1], self.right))
        return None

    def _compared(self, other: Any, ask: Callable[[Sizes, Any, float], bool], plain: Callable[[float, float], bool]) -> bool:
        """`ask(sizes, size, bound)` where the number is a size and more; else by its value."""
        side, found = _side(other), self._shifted()
        if found is None or isinstance(side, SizeFloat):
            return plain(self.need(), side.need() if isinstance(side, SizeFloat) else side)
        node, shift = found
        return ask(node.env, node.expr, side - shift)

    # The rest is what torch calls.
    def is_constant(self) -> bool:
        return False

    def le(self, other: Any) -> Truth:
        return Truth(lambda: self._compared(other, lambda env, size, bound: env.less_equal(size, floor(bound)), operator.le), lambda: None)

    def ge(self, other: Any) -> Truth:
        return Truth(lambda: self._compared(other, lambda env, size, bound: env.less_equal(ceil(bound), size), operator.ge), lambda: None)

    def lt(self, other: Any) -> Truth:
        return self.ge(other).sym_not()

    def gt(self, other: Any) -> Truth:
        return self.le(other).sym_not()

    def eq(self, other: Any) -> Truth:
        return Truth(lambda: self._compared(other, lambda env, size, bound: bound.is_integer() and env.same(size, int(bound)), operator.eq), lambda: None)

    def ne(self, other: Any) -> Truth:
        return self.eq(other).sym_not()

    def wrap_float(self, value: float) -> Constant:
        return Constant(value)

    def wrap_int(self, value: int) -> Constant:
        return Constant(float(value))

    def sym_float(self) -> SizeFloat:
        return self

    def _combined(self, function: str, other: Any) -> SizeFloat:
        return SizeFloat(_side(self), function, _side(other))

    def add(self, other: Any) -> SizeFloat:
        return self._combined("add", other)

    def sub(self, other: Any) -> SizeFloat:
        return self._combined("sub", other)

    def mul(self, other: Any) -> SizeFloat:
        return self._combined("mul", other)

    def truediv(self, other: Any) -> SizeFloat:
        return self._combined("truediv", other)

    float_truediv = truediv

    def neg(self) -> SizeFloat:
        return SizeFloat(-1.0, "mul", self)

    def clone(self) -> SizeFloat:
        return self


class Constant(SizeFloat):
    """A float that torch combines with one of ours."""

    def __init__(self, value: float) -> None:
        super().__init__(value)
        self.example = float(value)

    def need(self) -> float:
        return float(self.left)


def _side(node: Any) -> Any:
    """A node as an operand."""
    if isinstance(node, Constant):
        return node.need()
    if isinstance(node, SizeFloat):
        return node
    if isinstance(node, SizeNode):
        return SizeFloat(node)
    return node.guard_float("", 0)


def float_of(node: SizeNode) -> Any:
    """The node of a size as a float."""
    return SizeFloat(node)


__all__ = ["SizeFloat", "float_of"]
