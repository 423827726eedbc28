"""Index maps as Triton expressions.

Index tiles are i32.  An offset that can leave i32 is computed in i64 from its leaves on; loaded numbers count as i64 always.  Sizes that are parameters are
i32 in a version of a kernel in which everything fits, else i64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Value
from lect.ir.facts import Facts, symbols_of
from lect.ir.index_map import IndexMap
from lect.ir.symbolic import Atom, Expr, Ranges, Size, as_size, of_atom, ranges_of

MOST = (1 << 31) - 1
Use = Callable[[Value], str]


def extent_of(value: Value) -> Size | None:
    """The number that an index stays below, dead lanes included; None where it is not known."""
    op = value.op
    if isinstance(op, kernel.ProgramIdOp):
        return kernel.function_of(op).grid[op.dim]  # type: ignore[no-any-return]
    if isinstance(op, kernel.LanesOp):
        func = kernel.function_of(op)
        block = func.blocks.size(op.axis)
        return as_size((kernel.axis_of(op, op.axis).extent + (block - 1)) // block * block)
    if value.is_argument and isinstance(value.block.parent_op, kernel.ForOp):  # type: ignore[union-attr]
        loop = value.block.parent_op  # type: ignore[union-attr]
        return kernel.axis_of(loop, loop.axis).extent
    return None


def ranges(indices: Sequence[Value]) -> Ranges | None:
    """The ranges of the dims of a map whose operands are `indices`; None when one is not known."""
    extents = [extent_of(value) for value in indices]
    if None in extents:
        return None
    return ranges_of(tuple([max(extent, 1) if type(extent) is int else extent for extent in extents]))  # type: ignore[misc]


def fits(map: IndexMap, indices: Sequence[Value]) -> bool:
    """Whether every number that is computed on the way is an i32: all sums of terms, also those that are divided."""
    known = ranges(indices[: map.num_dims])
    return known is not None and _greatest(map.offset, known) <= MOST


def fits_for(map: IndexMap, indices: Sequence[Value], values: Sequence[int]) -> bool:
    """The same where the sizes s0, s1, ... have these values."""
    known = ranges(indices[: map.num_dims])
    return known is not None and _greatest(map.offset, Ranges(known.dims, symbols={k: (size, size) for k, size in enumerate(values)})) <= MOST


def is_symbolic(map: IndexMap, indices: Sequence[Value]) -> bool:
    """Whether a map or the extent of one of its dims has sizes that are parameters."""
    return bool(symbols_of(map.offset)) or any(isinstance(extent_of(value), Expr) for value in indices[: map.num_dims])


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
    """Prints the result of one map.  `use` gives the text of an operand, `sizes` are the parameters for sizes, and `narrow` says that they and all that is
    computed of them is i32; `calls` collects the functions for divisions of negative numbers."""

    def __init__(self, func: kernel.FuncOp, map: IndexMap, indices: Sequence[Value], use: Use, sizes: Sequence[str], narrow: bool) -> None:
        self.map = map
        self.indices = indices
        self.use = use
        self.sizes = sizes
        self.facts = Facts.of(func.symbols)
        self.wide = not (narrow if is_symbolic(map, indices) else fits(map, indices))
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
            return self.sizes[atom.index]
        left, right = [self._sum(argument) for argument in atom.args]
        if atom.kind in ("min", "max"):
            return f"tl.{atom.kind}imum({left}, {right})"
        if self._natural(atom.args[0]):
            return f"({enclosed(left)} {'//' if atom.kind == 'floordiv' else '%'} {enclosed(right)})"
        name = "floor_quotient" if atom.kind == "floordiv" else "floor_remainder"
        self.calls.add(name)
        return f"{name}({left}, {right})"

    def _natural(self, value: Expr) -> bool:
        """Whether no value of the dims makes an expression negative."""
        known = ranges(self.indices[: self.map.num_dims])
        if known is None:
            return False
        bounds: Any = {number: (fact.min, fact.max) for number, fact in self.facts.symbols.items()}
        low, _ = (Ranges(known.dims, symbols=bounds) if bounds else known).bounds(value)
        return low is not None and low >= 0


def enclosed(text: str) -> str:
    """An expression as an operand of anything."""
    return text if text.isidentifier() or text.isdigit() or _is_enclosed(text) else f"({text})"


def _is_enclosed(text: str) -> bool:
    """Whether one pair of parentheses is around all of it."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return letter == ")" and place == len(text) - 1
    return False
