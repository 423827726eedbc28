"""What is known of size symbols: bounds, a divisor, and the value that they had when the program was captured.

A function declares its symbols in the attribute `symbols`:

    {symbols = {s0 = {hint = 197, min = 2, max = 4096, multiple = 8, argument = 0, dim = 1}, s1 = {hint = 3, argument = 2, dim = 0, divisor = 4}}}

`hint` is a number to weigh with and proves nothing.  The others always hold: `min` (2 when left out), `max` (none), `multiple` (1).  A symbol is the size of
dim `dim` of argument `argument`, or the number that this argument holds where `dim` is left out, divided by `divisor` without a rest.  Of a symbol that
is not declared nothing is known, and its hint is 64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .bounds import Bounds
from .interning import literal_key
from .symbolic import UNBOUNDED, Atom, Expr, Ranges, Size, as_size, constant, symbol

if TYPE_CHECKING:
    from .operation import Operation

HINT = 64
KEYS = ("hint", "min", "max", "multiple", "argument", "dim", "divisor")


class Fact(NamedTuple):
    """What is known of one symbol."""

    hint: int = HINT
    min: int = 2
    max: int | None = None
    multiple: int = 1
    argument: int | None = None
    dim: int | None = None
    divisor: int = 1


UNDECLARED = Fact(min=0)


class Facts:
    """What is known of some symbols, by their numbers."""

    __slots__ = ("_ranges", "symbols")

    def __init__(self, symbols: Mapping[int, Fact]) -> None:
        self.symbols = symbols
        self._ranges = Ranges(symbols={number: (fact.min, fact.max) for number, fact in symbols.items()})

    @staticmethod
    def of(declared: Mapping[str, Any] | None) -> Facts:
        """The facts that an attribute `symbols` states; the same object for the same text."""
        if not declared:
            return NOTHING
        known = _OF_OBJECT.get(id(declared))
        if known is not None and known[0] is declared:
            return known[1]
        found = _stated(literal_key(declared))
        if len(_OF_OBJECT) >= MOST_OBJECTS:
            _OF_OBJECT.clear()
        _OF_OBJECT[id(declared)] = (declared, found)
        return found

    def fact(self, number: int) -> Fact:
        """What is known of `s<number>`."""
        return self.symbols.get(number, UNDECLARED)

    def bounds(self, size: Size) -> Bounds:
        """The least and the greatest value of a size, None for an open end."""
        return (size, size) if type(size) is int else self._ranges.bounds(size)

    def ranges_of(self, dims: tuple[Size, ...]) -> Ranges:
        """The ranges of an index space with these sizes."""
        return Ranges(dims, symbols=self._ranges.symbols)

    def at_least(self, size: Size, least: int) -> bool:
        """Whether a size is surely not below a number."""
        low = size if type(size) is int else self.bounds(size)[0]
        return low is not None and low >= least  # type: ignore[operator]

    def divisible(self, size: Size, by: int) -> bool:
        """Whether a size is surely a multiple of a number."""
        if type(size) is int:
            return size % by == 0
        terms = [(k, atoms) for atoms, k in size.terms]  # type: ignore[union-attr]
        return size.const % by == 0 and all(self._multiple(k, atoms) % by == 0 for k, atoms in terms)  # type: ignore[union-attr]

    def _multiple(self, factor: int, atoms: Iterable[Atom]) -> int:
        for atom in atoms:
            factor *= self.fact(atom.index).multiple if atom.kind == "s" else 1
        return factor

    def hint(self, size: Size) -> int:
        """The value that a size had when the program was captured."""
        return size if type(size) is int else value_of(size, {number: self.fact(number).hint for number in symbols_of(size)})  # type: ignore[return-value,arg-type]


@lru_cache(maxsize=512)
def _stated(key: Any) -> Facts:
    symbols = {}
    for name, entries in key[1]:
        symbols[int(name[1:])] = Fact(**dict(entries[1]))
    return Facts(symbols)


NOTHING = Facts({})
MOST_OBJECTS = 64
_OF_OBJECT: dict[int, tuple[Any, Facts]] = {}  # attributes are never changed, and asked for again and again; each is kept, so that its id stays its own


def facts_of(op: Operation) -> Facts:
    """What the function around an operation, or the operation itself, declares."""
    cursor: Operation | None = op
    while cursor is not None:
        declared = cursor.attrs.get("symbols")
        if declared is not None:
            return Facts.of(declared)
        cursor = cursor.parent_op
    return NOTHING


def problem_of(declared: Mapping[str, Any]) -> str | None:
    """What is wrong with an attribute `symbols`, as a sentence; None when nothing is."""
    for name, entries in declared.items():
        if not (name[:1] == "s" and name[1:].isdigit() and name == f"s{int(name[1:])}"):
            return f"'symbols' names size symbols as s0, got '{name}'"
        if type(entries) is not dict or not set(entries) <= set(KEYS) or not all(type(value) is int and value >= 0 for value in entries.values()):
            return f"what 'symbols' says of {name} are numbers for {', '.join(KEYS)}"
        if 0 in (entries.get("multiple"), entries.get("divisor")) or entries.get("max", entries.get("min", 2)) < entries.get("min", 2):
            return f"what 'symbols' says of {name} holds for no size"
    return None


# ---- values ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def only_symbol(size: Expr) -> tuple[int, int] | None:
    """(number, factor) of `factor * s<number> + constant`; None for other expressions."""
    if len(size.terms) != 1 or len(size.terms[0][0]) != 1 or size.terms[0][0][0].kind != "s":
        return None
    return size.terms[0][0][0].index, size.terms[0][1]


def symbols_of(size: Size) -> tuple[int, ...]:
    """The numbers of the symbols that occur anywhere in an expression, in order."""
    return () if type(size) is int else tuple(sorted(set(_symbols(size))))  # type: ignore[arg-type]


def _symbols(value: Expr) -> Iterable[int]:
    for atoms, _ in value.terms:
        for atom in atoms:
            if atom.kind == "s":
                yield atom.index
            for inner in atom.args:
                yield from _symbols(inner)


def value_of(size: Size, values: Mapping[int, int]) -> int:
    """The value of an expression over symbols for values of these.  Raises KeyError for a symbol without one."""
    if type(size) is int:
        return size
    total = size.const  # type: ignore[union-attr]
    for atoms, factor in size.terms:  # type: ignore[union-attr]
        for atom in atoms:
            factor *= _atom_value(atom, values)
        total += factor
    return total


def _atom_value(atom: Atom, values: Mapping[int, int]) -> int:
    if atom.kind == "s":
        return values[atom.index]
    first, *others = [value_of(argument, values) for argument in atom.args]
    if atom.kind == "floordiv":
        return first // others[0]
    if atom.kind == "mod":
        return first % others[0]
    return min(first, *others) if atom.kind == "min" else max(first, *others)


def renamed(size: Size, numbers: Mapping[int, int]) -> Size:
    """A size with other numbers of its symbols."""
    return substituted(size, {old: symbol(new) for old, new in numbers.items()})


def substituted(size: Size, values: Mapping[int, Size]) -> Size:
    """A size with `values[n]` in the place of `s<n>`."""
    if type(size) is int:
        return size
    table = {symbol(number).terms[0][0][0]: constant(value) for number, value in values.items()}
    return as_size(UNBOUNDED.substitute(size, table))  # type: ignore[arg-type]


def declared(facts: Facts, numbers: Mapping[int, int]) -> dict[str, dict[str, int]]:
    """The attribute `symbols` of a function that knows some symbols, by their numbers there, under other numbers."""
    out: dict[str, dict[str, int]] = {}
    for old, new in sorted(numbers.items(), key=lambda pair: pair[1]):
        fact = facts.fact(old)
        entries = {"hint": fact.hint}
        entries.update({name: value for name, value, default in (("min", fact.min, 2), ("multiple", fact.multiple, 1)) if value != default})
        if fact.max is not None:
            entries["max"] = fact.max
        out[f"s{new}"] = entries
    return out


