"""Sizes that are known only when a host program runs: a word of its memory for each, and the rows that compute them.

Each expression is computed once.  What takes several sizes (a layout) reads them from words that lie together.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from lect.backends.native_guards.table import Row
from lect.ir import LectError, Operation
from lect.ir.symbolic import Atom, Expr, Size

ARITHMETIC = MappingProxyType({"floordiv": "quotient", "mod": "remainder", "min": "least", "max": "greatest"})


class Number(NamedTuple):
    """A word of a program's memory, by its place among such words."""

    place: int

    def __str__(self) -> str:
        return f"n{self.place}"


class Numbers:
    """The numbers of one program; `rows` is where their rows go."""

    def __init__(self, rows: list[Row], func: Operation) -> None:
        self.rows = rows
        self.func = func
        self.count = 0
        self._known: dict[Any, Number] = {}
        self._arrays: dict[tuple[Size, ...], Number] = {}

    def new(self, count: int = 1) -> Number:
        """Words that lie together; the first."""
        self.count += count
        return Number(self.count - count)

    def define(self, symbol: int) -> Number:
        """The word of a size symbol, which a row fills."""
        made = self._known["s", symbol] = self.new()
        return made

    def of(self, size: Size) -> Number:
        """The word that holds a size.  Raises `LectError` for a symbol that the program does not define."""
        found = self._known.get(size)
        if found is None:
            found = self._known[size] = self._sum(size) if isinstance(size, Expr) and size.terms else self._constant(int(size))
        return found

    def array(self, sizes: Sequence[Size]) -> Number:
        """Words that lie together and hold sizes; the first."""
        sizes = tuple(sizes)
        found = self._arrays.get(sizes)
        if found is None:
            words = [self.of(size) for size in sizes]
            found = self._arrays[sizes] = self.new(len(sizes))
            self.rows.append(("gather", [found, len(words), *words]))
        return found

    def _constant(self, value: int) -> Number:
        made = self.new()
        self.rows.append(("set", [made, value]))
        return made

    def _apply(self, kind: str, left: Number, right: Number) -> Number:
        made = self.new()
        self.rows.append((kind, [made, left, right]))
        return made

    def _sum(self, size: Expr) -> Number:
        total = self.of(size.const) if size.const else None
        for atoms, factor in size.terms:
            term = self._atom(atoms[0])
            for atom in atoms[1:]:
                term = self._apply("times", term, self._atom(atom))
            if factor != 1:
                term = self._apply("times", term, self.of(factor))
            total = term if total is None else self._apply("plus", total, term)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> Number:
        if atom.kind == "s":
            if ("s", atom.index) not in self._known:
                raise LectError(f"the host program does not say what the size {atom} is", op=self.func)
            return self._known["s", atom.index]
        first, *others = [self.of(argument.const if argument.is_constant else argument) for argument in atom.args]
        for other in others:
            first = self._apply(ARITHMETIC[atom.kind], first, other)
        return first
