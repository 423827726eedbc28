"""Integer expressions: sizes such as `s0 * 8` and index arithmetic such as `d0 * 128 + d1 floordiv 4`, in one algebra.

An expression is a polynomial, `const + sum(coefficient * atom * atom ...)`, over atoms: a size symbol `s0`, a dim of an index space `d0`, an index
loaded from memory `i0`, and floordiv, mod, min and max of expressions.  Division rounds down and divisors are positive.  Expressions are interned
and kept in one normal form, so `is` compares them.  Their text is read by `symbolic_text`.

What may be simplified further depends on ranges (`d0 mod 8` is `d0` where `d0 < 8`).  Ranges are no part of an expression: they are a `Ranges` object
that knows the sizes of the dims, and whose methods `floordiv`, `mod` and `substitute` use them.  Without knowledge use `UNBOUNDED`, in which dims and
size symbols are not negative and loaded indices are anything; the operators here and the parser do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Union

from .bounds import Bounds, divide, multiply
from .symbolic_division import check_divisor, divide_by_sum, factors_of
from .symbolic_refusal import NoNumber
from .symbolic_signs import never_negative

Monomial = tuple["Atom", ...]
Size = Union[int, "Expr"]

_LEAVES = {"d": 0, "i": 1, "s": 2}
_RANKS = {**_LEAVES, "floordiv": 3, "mod": 4, "min": 5, "max": 6}


class Atom:
    """One factor.  `kind` is 'd', 'i' or 's' with its `index`, or 'floordiv', 'mod', 'min', 'max' with `args`; `key` orders atoms."""

    __slots__ = ("args", "index", "key", "kind")
    kind: str
    index: int
    args: tuple[Expr, ...]
    key: tuple

    def __str__(self) -> str:
        if self.kind in _LEAVES:
            return f"{self.kind}{self.index}"
        if self.kind in ("min", "max"):
            return f"{self.kind}({', '.join(map(str, self.args))})"
        left, right = [str(a) if a.is_leaf else f"({a})" for a in self.args]
        return f"{left} {self.kind} {right}"

    __repr__ = __str__


class Expr(NoNumber):
    """`const + sum(coefficient * product of atoms)`; `terms` are (atoms, coefficient), largest coefficient first.  Immutable and interned."""

    __slots__ = ("_key", "const", "terms")
    const: int
    terms: tuple[tuple[Monomial, int], ...]

    @property
    def is_constant(self) -> bool:
        """True for a plain number."""
        return not self.terms

    @property
    def is_leaf(self) -> bool:
        """True for what needs no parentheses as an operand: a number or one symbol, dim or loaded index."""
        if not self.terms:
            return self.const >= 0
        atoms, coefficient = self.terms[0]
        return len(self.terms) == 1 and not self.const and coefficient == 1 and len(atoms) == 1 and atoms[0].kind not in ("floordiv", "mod")

    @property
    def atom(self) -> Atom | None:
        """The atom that this expression is, or None."""
        if self.const or len(self.terms) != 1:
            return None
        atoms, coefficient = self.terms[0]
        return atoms[0] if coefficient == 1 and len(atoms) == 1 else None

    def __add__(self, other: Size) -> Expr:
        if type(other) is int:
            return _intern(self.const + other, self.terms) if other else self
        if type(other) is not Expr:
            return self._no_arithmetic(other)
        if not other.terms:
            return self + other.const
        if not self.terms:
            return other + self.const
        table = dict(self.terms)
        for atoms, coefficient in other.terms:
            table[atoms] = table.get(atoms, 0) + coefficient
        return _sum(self.const + other.const, table)

    __radd__ = __add__

    def __mul__(self, other: Size) -> Expr:
        if type(other) is int:
            if other == 1:
                return self
            if other == 0:
                return ZERO
            terms = tuple([(atoms, coefficient * other) for atoms, coefficient in self.terms])
            return _intern(self.const * other, terms if other > 0 else tuple(sorted(terms, key=_term_key)))
        if type(other) is not Expr:
            return self._no_arithmetic(other)
        if not other.terms:
            return self * other.const
        if not self.terms:
            return other * self.const
        return _product(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Expr:
        return self * -1

    def __sub__(self, other: Size) -> Expr:
        return self + (-other)

    def __rsub__(self, other: Size) -> Expr:
        return (-self) + other

    def __floordiv__(self, other: Size) -> Expr:
        return UNBOUNDED.floordiv(self, other)

    def __mod__(self, other: Size) -> Expr:
        return UNBOUNDED.mod(self, other)

    @property
    def key(self) -> tuple:
        """Orders expressions; independent of the order in which they were made."""
        if self._key is None:  # type: ignore[has-type]
            self._key = (tuple([(tuple([a.key for a in atoms]), coefficient) for atoms, coefficient in self.terms]), self.const)
        return self._key

    def __str__(self) -> str:
        terms = sorted(self.terms, key=lambda term: term[1] < 0)
        pieces = [("-" if k < 0 else "+", _term_text(atoms, abs(k))) for atoms, k in terms]
        if self.const or not terms:
            constant_first = self.const > 0 and pieces and pieces[0][0] == "-"
            pieces.insert(0 if constant_first else len(pieces), ("-" if self.const < 0 else "+", str(abs(self.const))))
        if pieces[0][0] == "-" and terms:
            pieces[0] = ("-", _term_text(terms[0][0], -terms[0][1], True))  # a leading minus binds to the first factor alone
        out = pieces[0][1] if pieces[0][0] == "+" else "-" + pieces[0][1]
        return out + "".join([f" {sign} {text}" for sign, text in pieces[1:]])

    __repr__ = __str__


def _term_text(atoms: Monomial, coefficient: int, parentheses: bool = False) -> str:
    factors = [str(a) for a in atoms]
    if coefficient != 1 or len(atoms) > 1 or parentheses:
        factors = [f"({text})" if a.kind in ("floordiv", "mod") else text for a, text in zip(atoms, factors)]
    if coefficient != 1:
        factors.append(str(coefficient))
    return " * ".join(factors)


# ---- making --------------------------------------------------------------------------------------------------------

_ATOMS: dict[tuple, Atom] = {}
_EXPRS: dict[tuple, Expr] = {}


def _intern(const: int, terms: tuple[tuple[Monomial, int], ...]) -> Expr:
    found = _EXPRS.get((const, terms))
    if found is None:
        found = Expr()
        found.const = const
        found.terms = terms
        found._key = None  # type: ignore[assignment]
        _EXPRS[const, terms] = found
    return found


def _atom(kind: str, index: int = 0, args: tuple[Expr, ...] = ()) -> Atom:
    found = _ATOMS.get((kind, index, args))
    if found is None:
        found = Atom()
        found.kind, found.index, found.args = kind, index, args
        found.key = (_RANKS[kind], index, tuple([a.key for a in args]))
        _ATOMS[kind, index, args] = found
    return found


def _term_key(term: tuple[Monomial, int]) -> tuple:
    atoms, coefficient = term
    return (-coefficient, -len(atoms), [a.key for a in atoms])


def of_atom(atom: Atom) -> Expr:
    """An atom as an expression."""
    return _intern(0, (((atom,), 1),))


def monomial(atoms: Monomial, coefficient: int) -> Expr:
    """coefficient * atom * atom ..."""
    return _intern(0, ((atoms, coefficient),)) if atoms else _intern(coefficient, ())


def constant(value: Size) -> Expr:
    """`value` as an expression."""
    return _intern(value, ()) if type(value) is int else value  # type: ignore[return-value,arg-type]


def dim(position: int) -> Expr:
    """`d<position>`, a dim of the index space at hand."""
    return of_atom(_atom("d", position))


def loaded(position: int) -> Expr:
    """`i<position>`, an index that was loaded from memory."""
    return of_atom(_atom("i", position))


def symbol(position: int) -> Expr:
    """`s<position>`, a size that is known only at run time."""
    return of_atom(_atom("s", position))


def as_size(value: Size) -> Size:
    """A plain int where `value` is constant, else the expression: the form in which types hold sizes."""
    return value.const if isinstance(value, Expr) and not value.terms else value


def product(values: Iterable[Size]) -> Size:
    """The product, a plain int where constant."""
    out: Size = 1
    for value in values:
        out = out * value
    return as_size(out)


def _sum(const: int, table: dict[Monomial, int]) -> Expr:
    terms = [(atoms, coefficient) for atoms, coefficient in table.items() if coefficient]
    for atoms, _ in terms:
        for atom in atoms:
            if atom.kind == "mod":
                folded = _fold_division(const, dict(terms))
                return folded if folded is not None else _sorted(const, terms)
    return _sorted(const, terms)


def _sorted(const: int, terms: list[tuple[Monomial, int]]) -> Expr:
    if len(terms) > 1:
        terms.sort(key=_term_key)
    return _intern(const, tuple(terms))


def _fold_division(const: int, table: dict[Monomial, int]) -> Expr | None:
    """(x floordiv n) * n + x mod n  =>  x, also times a common factor, and for x = y floordiv m where the quotient is y floordiv (m * n)."""
    for atoms, coefficient in table.items():
        for position, atom in enumerate(atoms):
            if atom.kind != "mod":
                continue
            inner, divisor = atom.args
            rest = atoms[:position] + atoms[position + 1 :]
            quotient = UNBOUNDED.floordiv(inner, divisor) * divisor
            if len(quotient.terms) != 1 or quotient.const:
                continue
            (partner, scale) = quotient.terms[0]
            partner = _join(partner, rest)
            if table.get(partner) == scale * coefficient:
                remaining = {a: k for a, k in table.items() if a is not atoms and a != partner}
                factor = _intern(0, ((rest, coefficient),)) if rest else constant(coefficient)
                return _sum(const, remaining) + inner * factor
    return None


def _join(left: Monomial, right: Monomial) -> Monomial:
    return tuple(sorted(left + right, key=lambda a: a.key)) if right else left


def _product(left: Expr, right: Expr) -> Expr:
    table: dict[Monomial, int] = {}
    for atoms, coefficient in (*left.terms, ((), left.const)):
        for others, other in (*right.terms, ((), right.const)):
            joined = _join(atoms, others) if atoms else others
            table[joined] = table.get(joined, 0) + coefficient * other
    const = table.pop((), 0)
    return _sum(const, table)


# ---- ranges ----------------------------------------------------------------------------------------------------------


class Ranges:
    """What is known of the leaves: `dims[k]` is the size of `d<k>` (so 0 <= d<k> < size), `indices[k]` that of `i<k>`, `symbols[k]` the
    bounds (low, high) of `s<k>`, None for an open end.  Sizes may be expressions over symbols.
    """

    __slots__ = ("_bounds", "_quotients", "_remainders", "dims", "indices", "symbols")

    def __init__(self, dims: tuple[Size, ...] = (), indices: tuple[Size, ...] = (), symbols: Mapping[int, Bounds] | None = None) -> None:
        self.dims = dims
        self.indices = indices
        self.symbols = {} if symbols is None else symbols
        self._bounds: dict[Expr, Bounds] = {}
        self._quotients: dict[tuple[Expr, Size], Expr] = {}
        self._remainders: dict[tuple[Expr, Size], Expr] = {}

    # ---- bounds --------------------------------------------------------------------------------------------------

    def bounds(self, value: Size) -> Bounds:
        """The smallest and largest value (both inclusive), None where unknown."""
        if type(value) is int:
            return value, value
        found = self._bounds.get(value)  # type: ignore[arg-type]
        if found is None:
            low: int | None = value.const  # type: ignore[union-attr]
            high: int | None = low
            for atoms, coefficient in value.terms:  # type: ignore[union-attr]
                first, last = self._atom_bounds(atoms[0])
                for other in atoms[1:]:
                    first, last = multiply((first, last), self._atom_bounds(other))
                if coefficient < 0:
                    first, last = last, first
                low = None if low is None or first is None else low + coefficient * first
                high = None if high is None or last is None else high + coefficient * last
            found = self._bounds[value] = (low, high)  # type: ignore[index]
        return found

    def _size_of(self, atom: Atom) -> Size | None:
        table = self.dims if atom.kind == "d" else self.indices
        return table[atom.index] if atom.index < len(table) else None

    def _atom_bounds(self, atom: Atom) -> Bounds:
        kind = atom.kind
        if kind in ("d", "i"):
            size = self._size_of(atom)
            if size is None:
                return (0 if kind == "d" else None), None
            last = size if type(size) is int else self.bounds(size)[1]
            return 0, (None if last is None else max(last - 1, 0))  # type: ignore[operator,return-value]
        if kind == "s":
            return self.symbols.get(atom.index, (0, None))
        if kind == "mod":
            last = self.bounds(atom.args[1])[1]
            return 0, (None if last is None else last - 1)
        if kind == "floordiv":
            low, high = self.bounds(atom.args[0])
            divisor = self.bounds(atom.args[1])
            return divide(low, divisor, True), divide(high, divisor, False)
        pairs = [self.bounds(a) for a in atom.args]
        lows = [low for low, _ in pairs]
        highs = [high for _, high in pairs]
        if kind == "min":
            return (None if None in lows else min(lows)), min((h for h in highs if h is not None), default=None)  # type: ignore[type-var]
        return max((n for n in lows if n is not None), default=None), (None if None in highs else max(highs))  # type: ignore[type-var]

    def upper(self, value: Expr) -> Expr:
        """An expression that `value` never exceeds, in which dims and loaded indices are replaced by their extremes where they are known."""
        out = constant(value.const)
        for atoms, coefficient in value.terms:
            bounded = constant(coefficient)
            never_negative = all(low is not None and low >= 0 for low, _ in map(self._atom_bounds, atoms))
            for atom in atoms:
                bounded = bounded * (self._extreme_of(atom, coefficient > 0) if never_negative else of_atom(atom))
            out = out + bounded
        return out

    def _extreme_of(self, atom: Atom, largest: bool) -> Expr:
        """The largest or smallest value of a leaf that is not negative; the leaf itself when it has no size."""
        size = self._size_of(atom) if atom.kind in ("d", "i") else None
        if size is None:
            return of_atom(atom)
        return constant(size - 1) if largest else ZERO

    def less(self, left: Size, right: Size) -> bool | None:
        """Whether `left < right` always (True) or never (False) holds; None when unknown."""
        return self._sign(self.without_common_factor(constant(right) - left) - 1)

    def less_equal(self, left: Size, right: Size) -> bool | None:
        """Whether `left <= right` always or never holds; None when unknown."""
        return self._sign(constant(right) - left)

    def equal(self, left: Size, right: Size) -> bool | None:
        """Whether the two are always or never equal; None when unknown."""
        difference = constant(left) - right
        if difference is ZERO:
            return True
        if difference.is_constant or self._sign(difference - 1) or self._sign(-difference - 1):
            return False
        return None

    def _sign(self, difference: Expr) -> bool | None:
        """True when `difference` is never negative, False when it always is."""
        difference = self.without_common_factor(difference)
        low, high = self.bounds(difference)
        if low is not None and low >= 0:
            return True
        if high is not None and high < 0:
            return False
        if difference.terms and all(a.kind in _LEAVES for atoms, _ in difference.terms for a in atoms):
            if never_negative(-self.upper(-difference), self._atom_bounds):
                return True
            if never_negative(-self.upper(difference) - 1, self._atom_bounds):
                return False
        return None

    def without_common_factor(self, value: Expr) -> Expr:
        """An expression with the sign of this one: without the positive symbols that all its terms share."""
        for atom in value.terms[0][0] if not value.const and len(value.terms) > 1 else ():
            rests = [(without(atoms, (atom,)), k) for atoms, k in value.terms]
            if all(rest is not None for rest, _ in rests) and (self._atom_bounds(atom)[0] or 0) > 0:
                return self.without_common_factor(_sum(sum(k for rest, k in rests if not rest), {rest: k for rest, k in rests if rest}))
        return value

    def within(self, value: Expr, size: Size) -> bool:
        """True when `0 <= value < size` surely holds."""
        low, high = self.bounds(value)
        if low is None or low < 0:
            return False
        if type(size) is int:
            return high is not None and high < size
        return self.less(value, size) is True

    # ---- division ------------------------------------------------------------------------------------------------

    def floordiv(self, value: Size, divisor: Size) -> Expr:
        """`value floordiv divisor`, simplified as far as the ranges allow.  Raises ZeroDivisionError unless `divisor` can be positive."""
        value, divisor = constant(value), as_size(divisor)
        key = (value, divisor)
        found = self._quotients.get(key)
        if found is None:
            found = self._quotients[key] = self._floordiv(value, divisor)
        return found

    def _floordiv(self, value: Expr, divisor: Size) -> Expr:
        check_divisor(divisor)
        if divisor == 1:
            return value
        whole, rest = self._divide(value, divisor)
        if rest is ZERO or self.within(rest, divisor):
            return whole
        inner = rest.atom
        if inner is not None and inner.kind == "floordiv":
            return whole + self.floordiv(inner.args[0], inner.args[1] * divisor)
        if type(divisor) is int:
            if inner is not None and inner.kind == "mod" and inner.args[1].is_constant and inner.args[1].const % divisor == 0:
                return whole + self.mod(self.floordiv(inner.args[0], divisor), inner.args[1].const // divisor)
        quotient, multiple, _, _ = self._common(rest, divisor)
        if multiple is not None:
            return whole + self.floordiv(multiple, quotient)
        return whole + of_atom(_atom("floordiv", args=(rest, constant(divisor))))

    def _divide(self, value: Expr, divisor: Size) -> tuple[Expr, Expr]:
        """value = whole * divisor + rest; by a sum only where the rest is a remainder."""
        if type(divisor) is int or value is divisor or (len(divisor.terms) == 1 and not divisor.const):  # type: ignore[union-attr]
            return _divide(value, divisor)
        if not self.within(value, divisor):
            whole, rest = divide_by_sum(value, divisor)  # type: ignore[arg-type]
            if rest is ZERO or self.within(rest, divisor):
                return whole, rest
        return ZERO, value

    def mod(self, value: Size, divisor: Size) -> Expr:
        """`value mod divisor` (never negative), simplified as far as the ranges allow."""
        value, divisor = constant(value), as_size(divisor)
        key = (value, divisor)
        found = self._remainders.get(key)
        if found is None:
            found = self._remainders[key] = self._mod(value, divisor)
        return found

    def _mod(self, value: Expr, divisor: Size) -> Expr:
        check_divisor(divisor)
        if divisor == 1:
            return ZERO
        rest = self._divide(value, divisor)[1]
        if rest is ZERO or self.within(rest, divisor):
            return rest
        if type(divisor) is int:
            inner = rest.atom
            if inner is not None and inner.kind == "mod" and inner.args[1].is_constant and inner.args[1].const % divisor == 0:
                return self.mod(inner.args[0], divisor)
        quotient, multiple, factor, small = self._common(rest, divisor)
        if multiple is not None:
            return self.mod(multiple, quotient) * factor + small
        return of_atom(_atom("mod", args=(rest, constant(divisor))))

    def _common(self, value: Expr, divisor: Size) -> tuple[Size, Expr | None, Size, Expr]:
        """(divisor / factor, multiple, factor, small) with value = factor * multiple + small and 0 <= small < factor, for the largest factor above 1 that
        divides the divisor; None as the multiple when there is none."""
        if type(divisor) is int:
            for number in sorted({k for _, k in value.terms if k > 1 and divisor % k == 0}, reverse=True):
                multiple, small = _divide(value, number)
                if self.within(small, number):
                    return divisor // number, multiple, number, small
            return 1, None, 1, ZERO
        for factor in factors_of(value):
            quotient, rest = _divide(divisor, factor)  # type: ignore[arg-type]
            multiple, small = _divide(value, factor)
            if rest is ZERO and self.within(small, factor):
                return as_size(quotient), multiple, factor, small
        return 1, None, 1, ZERO

    # ---- min, max, substitution ----------------------------------------------------------------------------------

    def minimum(self, left: Size, right: Size) -> Expr:
        """The smaller of two."""
        return self._extreme("min", constant(left), constant(right))

    def maximum(self, left: Size, right: Size) -> Expr:
        """The larger of two."""
        return self._extreme("max", constant(left), constant(right))

    def _extreme(self, kind: str, left: Expr, right: Expr) -> Expr:
        kept: list[Expr] = []
        for value in (left, right):
            inner = value.atom
            for new in inner.args if inner is not None and inner.kind == kind else (value,):
                if not any(self._covers(kind, old, new) for old in kept):
                    kept = [old for old in kept if not self._covers(kind, new, old)]
                    kept.append(new)
        return kept[0] if len(kept) == 1 else of_atom(_atom(kind, args=tuple(sorted(kept, key=lambda a: a.key))))

    def _covers(self, kind: str, left: Expr, right: Expr) -> bool:
        """True when `right` adds nothing to an extreme that has `left`."""
        smaller, larger = (left, right) if kind == "min" else (right, left)
        return self.less_equal(smaller, larger) is True or self.less_equal(larger, smaller - 1) is False

    def substitute(self, value: Expr, table: Mapping[Atom, Expr]) -> Expr:
        """`value` with leaves replaced and everything above them simplified again under these ranges (which are those of the result)."""
        out = constant(value.const)
        for atoms, coefficient in value.terms:
            term = constant(coefficient)
            for atom in atoms:
                term = self._substitute_atom(atom, table) * term
            out = out + term
        return out

    def _substitute_atom(self, atom: Atom, table: Mapping[Atom, Expr]) -> Expr:
        found = table.get(atom)
        if found is not None:
            return found
        if not atom.args:
            return of_atom(atom)
        args = [self.substitute(a, table) for a in atom.args]
        if atom.kind == "floordiv":
            return self.floordiv(args[0], args[1])
        if atom.kind == "mod":
            return self.mod(args[0], args[1])
        out = args[0]
        for other in args[1:]:
            out = self._extreme(atom.kind, out, other)
        return out


def _divide(value: Expr, divisor: Size) -> tuple[Expr, Expr]:
    """value = whole * divisor + rest, with every term that is a multiple of the divisor in `whole`."""
    if type(divisor) is int:
        whole = tuple([(atoms, k // divisor) for atoms, k in value.terms if k % divisor == 0])
        rest = tuple([t for t in value.terms if t[1] % divisor])
        return _intern(value.const // divisor, whole), _intern(value.const % divisor, rest)
    if value is divisor:
        return constant(1), ZERO
    if divisor.const or len(divisor.terms) != 1:  # type: ignore[union-attr]
        return ZERO, value
    ((factors, scale),) = divisor.terms  # type: ignore[union-attr]
    whole_terms: dict[Monomial, int] = {}
    rest_terms: dict[Monomial, int] = {}
    for atoms, k in value.terms:
        left = without(atoms, factors) if k % scale == 0 else None
        if left is None:
            rest_terms[atoms] = k
        else:
            whole_terms[left] = k // scale
    extra = whole_terms.pop((), 0)
    return _sum(extra, whole_terms), _sum(value.const, rest_terms)


def without(atoms: Monomial, factors: Monomial) -> Monomial | None:
    left = list(atoms)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


class _AtLeastTwo(dict[int, Bounds]):
    """The bounds of every size symbol as long as no more is known: sizes 0 and 1 are never symbols."""

    def get(self, key: int, default: object = None) -> Bounds:  # type: ignore[override]
        return 2, None


ZERO = _intern(0, ())
ONE = _intern(1, ())
UNBOUNDED = Ranges()
SIZES = Ranges(symbols=_AtLeastTwo())


@lru_cache(maxsize=4096)
def ranges_of(dims: tuple[Size, ...], indices: tuple[Size, ...] = ()) -> Ranges:
    """The `Ranges` of an index space with these sizes; the same object for the same sizes, so that its memo tables are shared."""
    return Ranges(dims, indices)
