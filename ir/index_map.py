"""Index maps: from the point of an index space to where it stands in flat memory, `#loop.map<(d0, d1) -> (d0 * 128 + d1 floordiv 4)>`.

A buffer is flat memory in its physical order, so a map usually has one result, the flat offset.  Views compose by substitution: a reshape is
`delinearize(linearize(new dims), old sizes)`, after which the rules of `symbolic.Ranges` leave no division where none is needed.  What is left
names the points at which dims have to be split (`split_points`) for the map to become affine.  Dims of size 1 never occur in maps: they are 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from .attributes import Attribute, attr
from .diagnostics import ParseError
from .scanner import Scanner
from .symbolic import UNBOUNDED, ZERO, Atom, Expr, Ranges, Size, as_size, constant, dim, monomial, of_atom
from .symbolic_text import parse_expr


@attr("loop.map")
class IndexMap(Attribute):
    """`num_dims` dims d0, d1, ... and `num_indices` indices i0, i1, ... that were loaded from memory, to the expressions `results`."""

    num_dims: int
    results: tuple
    num_indices: int = 0

    @classmethod
    def normalize(cls, num_dims: int, results: Sequence[Size], num_indices: int) -> dict[str, object]:
        return {"num_dims": num_dims, "results": tuple([constant(r) for r in results]), "num_indices": num_indices}

    @property
    def offset(self) -> Expr:
        """The only result.  Raises ValueError when there is not exactly one."""
        (offset,) = self.results
        return offset

    def print_body(self) -> str:
        dims = ", ".join([f"d{k}" for k in range(self.num_dims)])
        indices = f"[{', '.join([f'i{k}' for k in range(self.num_indices)])}]" if self.num_indices else ""
        return f"({dims}){indices} -> ({', '.join(map(str, self.results))})"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> IndexMap:
        if scanner is None:
            raise ParseError("an index map is written <(d0, d1) -> (d0 * 8 + d1)>")
        dims = scanner.list_of(scanner.word, "(", ")")
        indices = scanner.list_of(scanner.word) if scanner.at("[") else []
        for letter, names in (("d", dims), ("i", indices)):
            if names != [f"{letter}{k}" for k in range(len(names))]:
                raise scanner.fail(f"{letter}0, {letter}1, ... in order before this")
        scanner.expect("->")
        leaves = {"d": len(dims), "i": len(indices), "s": 1 << 30}
        results = scanner.list_of(lambda: parse_expr(scanner, leaves), "(", ")")
        return cls(len(dims), tuple(results), len(indices))


@lru_cache(maxsize=1 << 16)
def flat_map(num_dims: int, offset: Expr, num_indices: int = 0) -> IndexMap:
    """The map to one flat offset."""
    return IndexMap(num_dims, (offset,), num_indices)


# ---- layouts ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def contiguous_strides(sizes: tuple[Size, ...]) -> tuple[Size, ...]:
    """Strides of a row-major array, in elements; sizes 0 count as 1, as in torch."""
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(sizes):
        strides.append(step)
        step = as_size(step * (max(size, 1) if type(size) is int else size))
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def space_dims(sizes: tuple[Size, ...]) -> tuple[Expr, ...]:
    """The dims of a space as expressions: d0, d1, ..., but 0 where the size is 1."""
    return tuple([ZERO if size == 1 else dim(k) for k, size in enumerate(sizes)])


def linearize(indices: Sequence[Expr], sizes: tuple[Size, ...]) -> Expr:
    """The flat offset in a row-major array of `sizes`."""
    return strided(indices, contiguous_strides(sizes))


def strided(indices: Sequence[Expr], strides: Sequence[Size], offset: Size = 0) -> Expr:
    """offset + sum(index * stride)."""
    return _strided(tuple(indices), tuple(strides), offset)


@lru_cache(maxsize=1 << 14)
def _strided(indices: tuple[Expr, ...], strides: tuple[Size, ...], offset: Size) -> Expr:
    out = constant(offset)
    for index, stride in zip(indices, strides):
        out = out + index * stride
    return out


@lru_cache(maxsize=1 << 14)
def delinearize(offset: Expr, sizes: tuple[Size, ...], ranges: Ranges) -> tuple[Expr, ...]:
    """The inverse of `linearize` on 0 <= offset < product(sizes); `ranges` are those of the leaves of `offset`."""
    out: list[Expr] = []
    leading = True
    for size, stride in zip(sizes, contiguous_strides(sizes)):
        if size == 1 or size == 0:
            out.append(ZERO)
            continue
        digit = ranges.floordiv(offset, stride)
        out.append(digit if leading else ranges.mod(digit, size))
        leading = False
    return tuple(out)


def substitute(value: Expr, replacements: Mapping[int, Expr] | Sequence[Expr], ranges: Ranges) -> Expr:
    """`value` with d<k> replaced by `replacements[k]`, simplified under `ranges`, those of the new leaves."""
    pairs = tuple(replacements.items()) if isinstance(replacements, Mapping) else tuple(enumerate(replacements))
    return _substituted(value, pairs, ranges)


@lru_cache(maxsize=1 << 15)
def _substituted(value: Expr, pairs: tuple[tuple[int, Expr], ...], ranges: Ranges) -> Expr:
    table: dict[Atom, Expr] = {dim(k).terms[0][0][0]: new for k, new in pairs}
    return ranges.substitute(value, table)


# ---- questions -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def dims_of(value: Expr) -> frozenset[int]:
    """Numbers of the dims that occur anywhere in an expression."""
    return frozenset(_leaves(value, "d"))


@lru_cache(maxsize=1 << 14)
def indices_of(value: Expr) -> frozenset[int]:
    """Numbers of the loaded indices that occur anywhere in an expression."""
    return frozenset(_leaves(value, "i"))


def _leaves(value: Expr, kind: str) -> Iterable[int]:
    for atoms, _ in value.terms:
        for atom in atoms:
            if atom.kind == kind:
                yield atom.index
            for inner in atom.args:
                yield from _leaves(inner, kind)


@lru_cache(maxsize=1 << 16)
def is_affine(value: Expr) -> bool:
    """True when no floordiv, mod, min or max of dims occurs and no dim is multiplied by another dim or a loaded index."""
    for atoms, _ in value.terms:
        others = [a for a in atoms if not is_size_atom(a)]
        if len(others) > 1 or any(a.args for a in others):
            return False
    return True


def is_size_atom(atom: Atom) -> bool:
    """Whether a factor is a size: a symbol, or a floordiv, mod, min or max of such and numbers."""
    return atom.kind == "s" or bool(atom.args) and all(is_size_atom(a) for argument in atom.args for atoms, _ in argument.terms for a in atoms)


def coefficient(value: Expr, position: int) -> Size | None:
    """The factor of d<position> (0 when it does not occur), or None when `value` is not linear in it."""
    total: Size = 0
    for atoms, factor in value.terms:
        if not any(a.kind == "d" and a.index == position for a in atoms):
            if any(position in dims_of(argument) for a in atoms for argument in a.args):
                return None
            continue
        others = list(atoms)
        others.remove(next(a for a in atoms if a.kind == "d" and a.index == position))
        if not all(map(is_size_atom, others)):
            return None
        term = constant(factor)
        for atom in others:
            term = term * of_atom(atom)
        total = term + total
    return as_size(total)


@lru_cache(maxsize=1 << 14)
def strides_of(value: Expr, rank: int) -> tuple[Size, tuple[Size, ...]] | None:
    """(offset, stride of each dim) when an expression over dims alone is affine, else None."""
    if not is_affine(value) or indices_of(value):
        return None
    strides: list[Size] = []
    offset = value
    for position in range(rank):
        stride = coefficient(value, position)
        if stride is None:
            return None
        strides.append(stride)
        offset = offset - dim(position) * stride
    return as_size(offset), tuple(strides)


def split_points(value: Expr, sizes: Sequence[Size], into: dict[int, set[Size]]) -> None:
    """Collect in `into[dim]` the inner sizes at which dims must be split for `value` to become affine (768 at 64 becomes 12 x 64)."""
    for atoms, _ in value.terms:
        for atom in atoms:
            if atom.kind in ("floordiv", "mod"):
                inner, divisor = atom.args
                if divisor.is_constant:
                    _split_points_of(inner, divisor.const, sizes, into)
                else:
                    _symbolic_split_points(inner, divisor, sizes, into)
            for argument in atom.args:
                split_points(argument, sizes, into)


def _symbolic_split_points(inner: Expr, divisor: Expr, sizes: Sequence[Size], into: dict[int, set[Size]]) -> None:
    """The same for a divisor that is known at run time: a dim is split where both divide without a rest, whatever the sizes are."""
    for atoms, factor in inner.terms:
        dims = [a for a in atoms if a.kind == "d"]
        if len(dims) != 1 or any(a.kind not in ("d", "s") for a in atoms) or factor <= 0:
            continue
        position = dims[0].index
        point = exact_quotient(divisor, monomial(tuple([a for a in atoms if a.kind == "s"]), factor))
        size = sizes[position]
        outer = None if point is None or point == 1 else exact_quotient(size, point)
        if outer is not None and outer != 1:
            into.setdefault(position, set()).add(point)  # type: ignore[arg-type]


def exact_quotient(size: Size, divisor: Size) -> Size | None:
    """size / divisor where that leaves no rest whatever the symbols are, else None."""
    if type(size) is int and type(divisor) is int:
        return size // divisor if divisor and size % divisor == 0 else None
    if type(size) is int:
        return None
    divisor = as_size(divisor)
    if type(divisor) is int and divisor <= 0:
        return None
    quotient = UNBOUNDED.floordiv(size, divisor)
    return as_size(quotient) if quotient * divisor is constant(size) else None


def _split_points_of(inner: Expr, divisor: int, sizes: Sequence[Size], into: dict[int, set[Size]]) -> None:
    for atoms, factor in inner.terms:
        if len(atoms) != 1 or atoms[0].kind != "d" or factor <= 0 or divisor % factor:
            continue
        position, point = atoms[0].index, divisor // factor
        size = sizes[position]
        if point > 1 and (point < size and size % point == 0 if type(size) is int else exact_quotient(size, point) is not None):
            into.setdefault(position, set()).add(point)


def common_refinement(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...] | None:
    """The coarsest factorisation that refines two of the same number, (8192, 768) and (8, 1024, 12, 64) give (8, 1024, 12, 64); None when there is none."""
    first = [size for size in left if size != 1]
    second = [size for size in right if size != 1]
    out: list[int] = []
    while first and second:
        a, b = first.pop(), second.pop()
        if max(a, b) % min(a, b):
            return None
        out.append(min(a, b))
        if a > b:
            first.append(a // b)
        elif b > a:
            second.append(b // a)
    return tuple(reversed(out)) if not first and not second else None
