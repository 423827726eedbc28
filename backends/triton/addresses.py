"""Index maps as Triton expressions.

Index tiles are i32.  An offset that can leave i32 is computed in i64 from its leaves on; loaded numbers count as i64 always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import LectError, Operation, Value
from lect.ir.index_map import IndexMap
from lect.ir.symbolic import Atom, Expr, Ranges, of_atom, ranges_of

MOST = (1 << 31) - 1
Use = Callable[[Value], str]


def extent_of(value: Value) -> int | None:
    """The number that an index stays below, dead lanes included; None where it is not known."""
    op = value.op
    if isinstance(op, kernel.ProgramIdOp):
        return int(kernel.function_of(op).grid[op.dim])
    if isinstance(op, kernel.LanesOp):
        func = kernel.function_of(op)
        block = func.blocks.size(op.axis)
        extent = int(kernel.axis_of(op, op.axis).extent)
        return -(-extent // block) * block
    if value.is_argument and isinstance(value.block.parent_op, kernel.ForOp):  # type: ignore[union-attr]
        loop = value.block.parent_op  # type: ignore[union-attr]
        return int(kernel.axis_of(loop, loop.axis).extent)
    return None


def ranges(indices: Sequence[Value]) -> Ranges | None:
    """The ranges of the dims of a map whose operands are `indices`; None when one is not known."""
    extents = [extent_of(value) for value in indices]
    return ranges_of(tuple([max(extent or 0, 1) for extent in extents])) if None not in extents else None


def fits(map: IndexMap, indices: Sequence[Value]) -> bool:
    """Whether every number that is computed on the way is an i32: all sums of terms, also those that are divided."""
    known = ranges(indices[: map.num_dims])
    return known is not None and _greatest(map.offset, known) <= MOST


def _greatest(value: Expr, known: Ranges) -> float:
    """A bound of the absolute value of every partial sum of an expression and of those inside of it; loaded numbers count as 1."""
    total: float = abs(value.const)
    inner: float = 0
    for atoms, factor in value.terms:
        size: float = abs(factor)
        for atom in atoms:
            low, high = known.bounds(of_atom(atom)) if atom.kind != "i" else (0, 1)
            size *= max(abs(low), abs(high)) if low is not None and high is not None else float("inf")
            inner = max([inner, *[_greatest(argument, known) for argument in atom.args]])
        total += size
    return max(total, inner)


class MapPrinter:
    """Prints the result of one map.  `use` gives the text of an operand; `floors` collects whether divisions of negative numbers occur."""

    def __init__(self, op: Operation, map: IndexMap, indices: Sequence[Value], use: Use) -> None:
        self.op = op
        self.map = map
        self.indices = indices
        self.use = use
        self.wide = not fits(map, indices)
        self.calls: set[str] = set()

    def text(self) -> str:
        """The expression."""
        return self._sum(self.map.offset)

    def _sum(self, value: Expr) -> str:
        terms = [self._term(atoms, factor) for atoms, factor in value.terms]
        if value.const or not terms:
            terms.append(str(value.const))
        out = terms[0]
        for term in terms[1:]:
            out += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
        return out

    def _term(self, atoms: Sequence[Atom], factor: int) -> str:
        factors = [self._atom(atom) for atom in atoms]
        if factor == -1:
            return f"-1 * {' * '.join(factors)}"
        return " * ".join([*factors, *([str(factor)] if factor != 1 else [])])

    def _atom(self, atom: Atom) -> str:
        if atom.kind in ("d", "i"):
            value = self.indices[atom.index + (self.map.num_dims if atom.kind == "i" else 0)]
            text = self.use(value)
            narrow = self.wide if atom.kind == "d" else element_of(value.type).bits < 64
            return f"{text}.to(tl.int64)" if narrow and not text.isdigit() else text
        if atom.kind == "s":
            raise LectError(f"the size {atom} must be known for GPU code", op=self.op)
        left, right = [self._sum(argument) for argument in atom.args]
        if atom.kind in ("min", "max"):
            return f"tl.{atom.kind}imum({left}, {right})"
        if self._natural(atom.args[0]):
            return f"({_enclosed(left)} {'//' if atom.kind == 'floordiv' else '%'} {_enclosed(right)})"
        name = "floor_quotient" if atom.kind == "floordiv" else "floor_remainder"
        self.calls.add(name)
        return f"{name}({left}, {right})"

    def _natural(self, value: Expr) -> bool:
        """Whether no value of the dims makes an expression negative."""
        known: Any = ranges(self.indices[: self.map.num_dims])
        if known is None:
            return False
        low, _ = known.bounds(value)
        return low is not None and low >= 0


def _enclosed(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"
