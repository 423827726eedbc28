"""Sizes that stand in a relation by which an expression is 0: two symbols that are one, and symbols that are multiples of a number.

    x + y                            s0 - s1 == 0                      s1 is s0
    x.view(-1, 4)                    s0 mod 4 == 0                     s0 is 4 * t
    x.view(-1, 4).sum(1) + y         s0 floordiv 4 - s1 == 0           s0 is 4 * t, and s1 is t
    x[: x.shape[0] // 4 * 4]         (s0 floordiv 4) * 4 - s0 == 0     s0 is 4 * t

It is found by the values at hand, and holds for all sizes that stand in the relation.  Calls with others have versions of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import NamedTuple

from lect.ir.facts import symbols_of
from lect.ir.symbolic import Atom, Expr, Size, as_size, constant, symbol
from lect.ir.symbolic_values import replace_symbols

LEAST = 2  # a symbol that is left is one too
DEEPEST = 4  # divisions in divisions


class Relation(NamedTuple):
    """First each symbol in `multiples` is so many times a new one of its number; then those of each pair are one."""

    multiples: dict[int, int]
    pairs: list[tuple[int, int]]


def relation_that_makes_zero(difference: Expr, hints: Mapping[int, int], known: Mapping[int, int]) -> Relation | None:
    """A relation of the symbols by which an expression is 0 for all values of those that are left; None when none is found.

    Symbols in `known` are so many times others already, of which the multiples of the relation are.
    """
    return _relation(*_multiplied(difference, hints, known), DEEPEST)


def _relation(difference: Expr, hints: Mapping[int, int], depth: int) -> Relation | None:
    if as_size(difference) == 0:
        return Relation({}, [])
    pairs = _pairs_of_products(difference, hints) or _pairs_by_value(difference, hints)
    if pairs:
        return Relation({}, pairs)
    if not depth:
        return None
    for multiples in (_of_two_terms(difference, hints), *[_of_division(*each, hints) for each in _divisions(difference)]):
        further = _relation(*_multiplied(difference, hints, multiples), depth - 1) if multiples else None
        if further is not None:
            numbers = {*multiples, *further.multiples}
            return Relation({number: multiples.get(number, 1) * further.multiples.get(number, 1) for number in numbers}, further.pairs)
    return None


def _multiplied(difference: Expr, hints: Mapping[int, int], multiples: Mapping[int, int]) -> tuple[Expr, Mapping[int, int]]:
    """An expression and the values at hand when symbols are so many times others."""
    if not multiples:
        return difference, hints
    rest = replace_symbols(difference, {number: symbol(number) * factor for number, factor in multiples.items()})
    return constant(rest), {number: hint // multiples.get(number, 1) for number, hint in hints.items()}


# ---- multiples -------------------------------------------------------------------------------------------------------


def _of_two_terms(difference: Expr, hints: Mapping[int, int]) -> dict[int, int]:
    """4 * s0 - 6 * s1: s0 is a multiple of 3, and s1 of 2."""
    if len(difference.terms) != 2 or difference.const or any(len(atoms) != 1 or atoms[0].kind != "s" for atoms, _ in difference.terms):
        return {}
    ((first,), one), ((second,), other) = difference.terms
    common = gcd(one, other)
    found = {first.index: abs(other) // common, second.index: abs(one) // common}
    return found if one * other < 0 and all(hints[number] % factor == 0 and hints[number] // factor >= LEAST for number, factor in found.items()) else {}


def _of_division(divided: Expr, divisor: int, hints: Mapping[int, int]) -> dict[int, int]:
    """s0 mod 4: s0 is a multiple of 4, or of 2 if it is not of 4."""
    found: dict[int, int] = {}
    for number in symbols_of(divided):
        factor = gcd(divisor, hints[number])
        if factor > 1 and hints[number] // factor >= LEAST:
            found[number] = factor
            divisor //= factor
    return found


def _divisions(size: Size) -> Iterator[tuple[Expr, int]]:
    """What is divided by an integer anywhere in an expression, and that; what stands inside of another division comes first."""
    for atoms, _ in constant(size).terms:
        for atom in atoms:
            yield from _of_atom(atom)


def _of_atom(atom: Atom) -> Iterator[tuple[Expr, int]]:
    for each in atom.args:
        yield from _divisions(each)
    if atom.kind in ("floordiv", "mod") and atom.args[1].is_constant:
        yield atom.args[0], atom.args[1].const


# ---- pairs -----------------------------------------------------------------------------------------------------------


def _pairs_by_value(difference: Expr, hints: Mapping[int, int]) -> list[tuple[int, int]]:
    """Pairs of symbols with the same value, some or all, that make the difference 0 when they are one: s0 - s1, or (s0 * s1) mod s2."""
    first: dict[int, int] = {}
    pairs = []
    for number in symbols_of(difference):
        known = first.setdefault(hints[number], number)
        if known != number:
            pairs.append((known, number))
    for some in (*[[pair] for pair in pairs], pairs):
        if some and replace_symbols(difference, {second: symbol(one) for one, second in some}) == 0:
            return some
    return []


def _pairs_of_products(difference: Expr, hints: Mapping[int, int]) -> list[tuple[int, int]]:
    """The pairs of a difference of two products: s0 * s1 - s2 * s3."""
    if len(difference.terms) != 2 or difference.const or difference.terms[0][1] != -difference.terms[1][1]:
        return []
    products = []
    for atoms, _ in difference.terms:
        if any(atom.kind != "s" for atom in atoms):
            return []
        products.append(sorted([atom.index for atom in atoms], key=lambda number: (hints[number], number)))
    pairs = [(min(pair), max(pair)) for pair in zip(*products) if pair[0] != pair[1]]
    equal = len(products[0]) == len(products[1]) and all(hints[first] == hints[second] for first, second in pairs)
    return pairs if equal else []
