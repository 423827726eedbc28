"""Rows for sizes with symbols: a table of a version with symbols holds for all sizes for which the guards do.

The first size that is a symbol gives its value, as in the predicate (`guard_sizes.py`); every other one is compared with what its expression gives.
"""

from __future__ import annotations

from typing import Any

from lect.backends.native_guards.selftest import sized_row
from lect.backends.native_guards.table import slot
from lect.ir.facts import only_symbol
from lect.ir.symbolic import Atom, Expr, Size
from lect.runtime.arming_places import Arming, Place, Unarmed

LEAST, MOST = -(2**63), 2**63 - 1


class SizeRows:
    """The slots of integers: those of symbols by their numbers, and those of expressions."""

    def __init__(self, a: Arming) -> None:
        self.a = a
        self.bound: dict[int, int] = {}
        self.made: dict[Any, int] = {}

    def tensor(self, op: Any, place: Place) -> None:
        """The rows for the metadata of a tensor.  Raises `Unarmed` for an expression without rows."""
        a, given = self.a, [*op.sizes, *op.strides]
        first, rank = a.slots, len(op.sizes)
        a.slots += 2 * rank
        a.rows.append(sized_row(place.operand, place.value, [size if type(size) is int else -1 for size in given], slot(first), a.where))
        for number, size in enumerate(given):
            if type(size) is Expr and not (number < rank and self._bind(size, first + number)):
                a.add("equal", slot(first + number), slot(self.value(size)))

    def number(self, op: Any, place: Place, low: int, high: int) -> None:
        """The rows for a number of the program that is a size.  Raises `Unarmed` like `tensor`."""
        found = self.a.slots
        self.a.slots += 1
        self.a.add("whole", place.operand, low, high, slot(found))
        if not self._bind(op.size, found):
            self.a.add("equal", slot(found), slot(self.value(op.size)))

    def condition(self, op: Any) -> None:
        """The rows for what was decided of a size.  Raises `Unarmed` like `tensor`."""
        place = slot(self.value(op.size))
        if op.low is not None or op.high is not None:
            self.a.add("range", place, LEAST if op.low is None else op.low, MOST if op.high is None else op.high)
        if op.differs:
            self.a.add("nonzero", place)

    def _bind(self, size: Expr, found: int) -> bool:
        """Let a size that has a symbol without a value give it; False when there is nothing to bind."""
        alone = None if size.const else only_symbol(size)
        if alone is None or alone[0] in self.bound:
            return False
        number, factor = alone
        if factor == 1:
            self.bound[number] = found
            return True
        if factor < 1:
            raise Unarmed
        self.bound[number] = self._row("floordiv", found, self.value(factor))
        return False  # it may leave a rest

    def value(self, size: Size) -> int:
        """The slot of an expression.  Raises `Unarmed`."""
        known = self.made.get(size)
        if known is None:
            known = self.made[size] = self._computed(size)
        return known

    def _computed(self, size: Size) -> int:
        if type(size) is int:
            place = self.a.slots
            self.a.slots += 1
            self.a.add("number", size, slot(place))
            return place
        total = self.value(size.const) if size.const or not size.terms else None  # type: ignore[union-attr]
        for atoms, factor in size.terms:  # type: ignore[union-attr]
            term = self.value(factor) if factor != 1 else None
            for atom in atoms:
                value = self._atom(atom)
                term = value if term is None else self._row("times", term, value)
            assert term is not None
            total = term if total is None else self._row("plus", total, term)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> int:
        if atom.kind == "s":
            if atom.index not in self.bound:
                raise Unarmed
            return self.bound[atom.index]
        if atom.kind not in ("floordiv", "mod"):
            raise Unarmed
        return self._row(atom.kind, self.value(atom.args[0]), self.value(atom.args[1]))

    def _row(self, kind: str, left: int, right: int) -> int:
        """The slot of what a row computes."""
        known = self.made.get((kind, left, right))
        if known is None:
            known = self.made[kind, left, right] = self.a.slots
            self.a.slots += 1
            self.a.add(kind, slot(left), slot(right), slot(known))
        return known
