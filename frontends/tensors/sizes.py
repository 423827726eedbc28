"""Sizes that are known only at run time, as torch's C++ code and our shape functions compute with them.

A `Dim` is a `torch.SymInt` whose node is one of ours: an expression over size symbols (`ir/symbolic.py`) and the `Sizes` that it belongs to.  Arithmetic
makes other expressions.  A comparison is decided at once: by what is known of the symbols, else by the values that they have in the traced call (the
hints), and then it is remembered as a `Decision`, which has to hold in every call that uses what was traced.  Every symbol is at least 2, and so is every
size with symbols that a tensor has: sizes 0 and 1 are never symbols.

Whatever needs a number (`int(n)`, `range(n)`, an operator without a symbolic form) raises `SymbolicSizeError`, or what `needed` of the owner does about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import gcd
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from lect.frontends.tensors.size_truths import Truth
from lect.ir import SymbolicSizeError
from lect.ir.facts import only_symbol, symbols_of, value_of
from lect.ir.symbolic import SIZES, UNBOUNDED, Expr, Ranges, Size, as_size, constant, symbol
from lect.ir.symbolic_values import replace_symbols

LEAST = 2
MOST_ASSUMED, LEAST_ASSUMED = 16, 64  # a size that a graph finds may be assumed to be as large as the first, and no larger than the second or more
ENDLESS = 1 << 61  # no size comes near to it: it stands for "to the end" in a slice
Bounds = tuple["int | None", "int | None"]


Question = Callable[["Sizes", Size, Size], "bool | None"]


class Decision(NamedTuple):
    """`size` is not below `low`, not above `high`, and (with `differs`) not 0: decided by the hints."""

    size: Expr
    low: int | None
    high: int | None
    differs: bool = False


class Sizes:
    """The symbols of one trace, what is known of them, and what was decided.

    `needed` is called with a size whose value is asked for, and gives it; `small` likewise with one of a tensor that is below 2; `equal` with two sizes that
    were found equal by their hints.  They may note that the trace has to be begun anew with what they learned; without them such a question is refused.
    """

    def __init__(
        self,
        needed: Callable[[Expr], int] | None = None,
        equal: Callable[[Size, Size], None] | None = None,
        small: Callable[[Expr], int] | None = None,
    ) -> None:
        self.needed = needed
        self.equal = equal
        self.small = small
        self.hints: dict[int, int] = {}
        self.bounds: dict[int, Bounds] = {}
        self.decisions: list[Decision] = []
        self.decided: Callable[[Decision], None] | None = None  # told of each decision
        self._ranges = Ranges(symbols=self.bounds)
        self._terms: dict[Expr, tuple[int | None, int | None]] = {}  # bounds of sums without their constant, by decisions
        self._different: set[Expr] = set()
        self._dims: dict[Expr, Dim] = {}
        self._nodes: dict[Expr, SizeNode] = {}
        self._known: dict[tuple[Question, Size, Size], bool] = {}  # answers, which stay what they are however much more is learned

    def add(self, hint: int, low: int = LEAST, high: int | None = None) -> Expr:
        """A new symbol."""
        number = len(self.hints)
        self.hints[number] = hint
        self.bounds[number] = (low, high)
        return symbol(number)

    def dim(self, size: Size) -> Dim | int:
        """A size as shape functions take it: an int where it is constant."""
        size = as_size(size)
        if type(size) is int:
            return size
        found = self._dims.get(size)  # type: ignore[arg-type]
        if found is None:
            found = self._dims[size] = Dim(self.node(size))  # type: ignore[arg-type, index]
        return found

    def dims(self, value: Any) -> Any:
        """What holds sizes, with a `Dim` for each expression: lists, dictionaries of arguments, slices."""
        kind = type(value)
        if kind is Expr:
            return self.dim(value)
        if kind is tuple or kind is list:
            return kind([self.dims(item) for item in value])
        if kind is dict:
            return {name: self.dims(item) for name, item in value.items()}
        if kind is slice:
            return slice(self.dims(value.start), self.dims(value.stop), self.dims(value.step))
        if kind is torch.Size:
            return torch.Size(self.dims(tuple(value)))
        return value

    def node(self, size: Size) -> SizeNode:
        """A size as torch takes it."""
        expr = constant(size)
        found = self._nodes.get(expr)
        if found is None:
            found = self._nodes[expr] = SizeNode(self, expr)
        return found

    def hint(self, size: Size) -> int:
        """The value in the traced call."""
        return value_of(size, self.hints)

    # ---- questions ---------------------------------------------------------------------------------------------------

    def known_range(self, size: Size) -> Bounds:
        """Bounds of a size by all that is known."""
        if type(size) is int:
            return size, size
        low, high = self._ranges.bounds(size)
        expr = constant(size)
        offset = expr.const
        learned = self._terms.get(expr - offset)
        for sign, (first, last) in ((1, learned or (None, None)), (-1, self._terms.get(-(expr - offset), (None, None)))):
            if sign < 0:
                first, last = (None if last is None else -last), (None if first is None else -first)
            low = low if first is None else first + offset if low is None else max(low, first + offset)
            high = high if last is None else last + offset if high is None else min(high, last + offset)
        return low, high

    def less_equal(self, left: Size, right: Size) -> bool:
        """Whether left <= right; decided when it is not known."""
        found = self.known_less_equal(left, right)
        if found is not None:
            return found
        size = without_common_factor(constant(right) - left)
        if self.hint(size) >= 0:
            self._decide(Decision(size, 0, None))
            return True
        self._decide(Decision(size, None, -1))
        return False

    def known_less_equal(self, left: Size, right: Size) -> bool | None:
        """Whether left <= right; None when that is not known."""
        return self._kept(Sizes._less_equal, left, right)

    def _less_equal(self, left: Size, right: Size) -> bool | None:
        size = as_size(constant(right) - left)
        if type(size) is int:
            return size >= 0
        if abs(size.const) > ENDLESS:  # type: ignore[union-attr]
            return size.const > 0  # type: ignore[union-attr]
        size = without_common_factor(size)  # type: ignore[arg-type]
        low, high = self.known_range(size)
        if low is not None and low >= 0:
            return True
        return False if high is not None and high < 0 else self._ranges.less_equal(0, size)

    def same(self, left: Size, right: Size) -> bool:
        """Whether left == right; decided when it is not known."""
        found = self.known_same(left, right)
        if found is not None:
            return found
        size = without_common_factor(constant(left) - right)
        if self.hint(size) == 0:
            if self.equal is None:
                raise SymbolicSizeError(f"{left} == {right} holds for the sizes at hand, and not for all").of(left, right)
            self.equal(left, right)
            return True
        self._decide(Decision(size, None, None, True))
        return False

    def known_same(self, left: Size, right: Size) -> bool | None:
        """Whether left == right; None when that is not known."""
        return self._kept(Sizes._equal_sizes, left, right)

    def _kept(self, find: Question, left: Size, right: Size) -> bool | None:
        """The answer to a question about two sizes; one that is known is asked for once."""
        found = self._known.get((find, left, right))
        if found is None:
            found = find(self, left, right)
            if found is not None:
                self._known[find, left, right] = found
        return found

    def _equal_sizes(self, left: Size, right: Size) -> bool | None:
        size = as_size(constant(left) - right)
        if type(size) is int:
            return size == 0
        size = without_common_factor(size)  # type: ignore[arg-type]
        low, high = self.known_range(size)
        if (low is not None and low > 0) or (high is not None and high < 0) or size in self._different or -size in self._different:
            return False
        return self._ranges.equal(size, 0)

    def _decide(self, decision: Decision) -> None:
        self.learn(decision)
        self.decisions.append(decision)
        if self.decided is not None:
            self.decided(decision)

    def learn(self, decision: Decision) -> None:
        """From here on what a decision says is known."""
        size, low, high, differs = decision
        if differs:
            self._different.add(size)
            return
        alone = only_symbol(size)
        if alone is not None:
            number, factor = alone
            self._tighten(number, factor, None if low is None else low - size.const, None if high is None else high - size.const)
            return
        rest = size - size.const
        first, last = self._terms.get(rest, (None, None))
        if low is not None:
            first = low - size.const if first is None else max(first, low - size.const)
        if high is not None:
            last = high - size.const if last is None else min(last, high - size.const)
        self._terms[rest] = (first, last)

    @staticmethod
    def declared(symbols: Mapping[str, Mapping[str, int]] | None) -> Sizes:
        """The sizes of a graph, with what its attribute `symbols` says of them."""
        found = Sizes()
        for name, facts in (symbols or {}).items():
            number = int(name[1:])
            found.hints[number] = facts["hint"]
            found.bounds[number] = (facts.get("min", LEAST), facts.get("max"))
        return found

    def _tighten(self, number: int, factor: int, low: int | None, high: int | None) -> None:
        if factor < 0:
            factor, low, high = -factor, (None if high is None else -high), (None if low is None else -low)
        first, last = self.bounds[number]
        if low is not None:
            least = -(-low // factor)
            first = least if first is None else max(first, least)
        if high is not None:
            last = high // factor if last is None else min(last, high // factor)
        self.bounds[number] = (first, last)
        self._ranges = Ranges(symbols=self.bounds)

    def value(self, size: Expr) -> int:
        """The value of a size, which is needed.  Raises `SymbolicSizeError` when nobody gives it."""
        if not size.terms:
            return size.const
        if self.needed is None:
            raise SymbolicSizeError(f"the size {size} is known only at run time, and a number is needed").of(size)
        return self.needed(size)

    def of_tensor(self, size: Size) -> Size:
        """A size that a tensor has: at least 2, or an integer."""
        size = as_size(size)
        if type(size) is int:
            return size
        if self.hint(size) < LEAST:
            return (self.value if self.small is None else self.small)(size)  # type: ignore[arg-type]
        low = self.known_range(size)[0]
        if low is None or low < LEAST:
            self._decide(Decision(size - LEAST, 0, None))  # type: ignore[arg-type]
        return size

    def floordiv(self, left: Size, right: Size) -> Size:
        """left // right; the divisor is positive."""
        if self.known_less_equal(right, 0) is not False:
            right = self.value(constant(right))
        _, left, right = _reduced(left, right)
        return as_size(self._ranges.floordiv(left, right))

    def mod(self, left: Size, right: Size) -> Size:
        """left % right; the divisor is positive."""
        if self.known_less_equal(right, 0) is not False:
            right = self.value(constant(right))
        common, left, right = _reduced(left, right)
        return as_size(self._ranges.mod(left, right) * common)

    def minimum(self, left: Size, right: Size) -> Size:
        """The smaller one; which that is, is decided."""
        return as_size(left) if self.less_equal(left, right) else as_size(right)

    def maximum(self, left: Size, right: Size) -> Size:
        """The larger one; which that is, is decided."""
        return as_size(right) if self.less_equal(left, right) else as_size(left)


def is_bound(decision: Decision) -> bool:
    """True when a decision says that one symbol is not small, or not large, which a graph that finds its value can check there."""
    alone = only_symbol(decision.size)
    if alone is None or decision.differs:
        return False
    factor, (low, high) = alone[1], [None if bound is None else bound - decision.size.const for bound in (decision.low, decision.high)]
    if factor < 0:
        factor, low, high = -factor, None if high is None else -high, None if low is None else -low
    return (low is None or -(-low // factor) <= MOST_ASSUMED) and (high is None or high // factor >= LEAST_ASSUMED)


def without_common_factor(size: Expr) -> Expr:
    """An expression that is positive, zero or negative where this one is: without the symbols and the integer by which all its terms can be divided."""
    out = SIZES.without_common_factor(size)
    factor = gcd(out.const, *[k for _, k in out.terms])
    return out if factor <= 1 else constant(SIZES.floordiv(out, factor))


def _reduced(left: Size, right: Size) -> tuple[Size, Size, Size]:
    """What two sizes have in common as a factor, and both divided by it: s0, 32 and s1 for 32 * s0 and s0 * s1.  Symbols are positive."""
    common: Expr = constant(1)
    terms = [*constant(left).terms, *constant(right).terms]
    if not terms or constant(left).const or constant(right).const:
        return 1, left, right
    for atom in set(terms[0][0]):
        if atom.kind == "s":
            for _ in range(min(atoms.count(atom) for atoms, _ in terms)):
                common = common * symbol(atom.index)
    return (common, UNBOUNDED.floordiv(left, common), UNBOUNDED.floordiv(right, common)) if common.terms else (1, left, right)


class SizeNode:
    """The node of a size: what torch's C++ code calls."""

    __slots__ = ("env", "expr", "products", "sums")

    def __init__(self, env: Sizes, expr: Expr) -> None:
        self.env = env
        self.expr = expr
        self.sums: dict[SizeNode, SizeNode] = {}  # torch asks for the same ones again for each tensor
        self.products: dict[SizeNode, SizeNode] = {}

    def is_int(self) -> bool:
        return True

    has_hint = is_int

    def is_float(self) -> bool:
        return False

    is_symbolic = is_bool = is_nested_int = is_float  # torch's Python code would look for symbols of its own in what is symbolic

    def is_constant(self) -> bool:
        return not self.expr.terms

    def constant_int(self) -> int | None:
        return None if self.expr.terms else self.expr.const

    maybe_as_int = constant_int

    def nested_int(self) -> None:
        return None

    def wrap_int(self, value: int) -> SizeNode:
        return self.env.node(value)

    def wrap_bool(self, value: bool) -> Truth:
        return Truth(lambda: value, lambda: value)

    def clone(self) -> SizeNode:
        return self

    def int_(self) -> int:
        return self.env.value(self.expr)

    def guard_int(self, file: str, line: int) -> int:
        return self.env.value(self.expr)

    def _graph_repr(self) -> str:
        return self.expr.__str__()

    def sym_float(self) -> Any:
        from lect.frontends.tensors.size_floats import float_of  # which computes with sizes

        return float_of(self)

    def int_truediv(self, other: SizeNode) -> Any:
        return self.sym_float().truediv(other)

    def sym_sum(self, others: list[SizeNode]) -> SizeNode:
        total: Size = 0
        for other in others:
            total = total + other.expr
        return self.env.node(total)

    def add(self, other: SizeNode) -> SizeNode:
        found = self.sums.get(other)
        if found is None:
            found = self.sums[other] = self.env.node(self.expr + other.expr)
        return found

    def sub(self, other: SizeNode) -> SizeNode:
        return self.env.node(self.expr - other.expr)

    def mul(self, other: SizeNode) -> SizeNode:
        found = self.products.get(other)
        if found is None:
            found = self.products[other] = self.env.node(self.expr * other.expr)
        return found

    def neg(self) -> SizeNode:
        return self.env.node(-self.expr)

    def floordiv(self, other: SizeNode) -> SizeNode:
        return self.env.node(self.env.floordiv(self.expr, other.expr))

    int_floordiv = floordiv

    def mod(self, other: SizeNode) -> SizeNode:
        return self.env.node(self.env.mod(self.expr, other.expr))

    def sym_min(self, other: SizeNode) -> SizeNode:
        return self.env.node(self.env.minimum(self.expr, other.expr))

    def sym_max(self, other: SizeNode) -> SizeNode:
        return self.env.node(self.env.maximum(self.expr, other.expr))

    def eq(self, other: SizeNode) -> Truth:
        return Truth(lambda: self.env.same(self.expr, other.expr), lambda: self.env.known_same(self.expr, other.expr))

    def ne(self, other: SizeNode) -> Truth:
        return self.eq(other).sym_not()

    def le(self, other: SizeNode) -> Truth:
        return Truth(lambda: self.env.less_equal(self.expr, other.expr), lambda: self.env.known_less_equal(self.expr, other.expr))

    def ge(self, other: SizeNode) -> Truth:
        return other.le(self)

    def lt(self, other: SizeNode) -> Truth:
        return other.le(self).sym_not()

    def gt(self, other: SizeNode) -> Truth:
        return self.le(other).sym_not()

    def _is_contiguous(self, sizes: list[SizeNode], strides: list[SizeNode]) -> Truth:
        raise SymbolicSizeError("torch asks for the layout of a tensor in a way that has no symbolic form")

    is_contiguous = is_channels_last_contiguous_2d = is_channels_last_contiguous_3d = _is_contiguous
    is_channels_last_strides_2d = is_channels_last_strides_3d = is_non_overlapping_and_dense = is_non_overlapping_and_dense_indicator = _is_contiguous

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise SymbolicSizeError(f"the size {self.expr} is known only at run time, and a number is needed ({name})").of(self.expr)

    str = __str__ = _graph_repr


class Dim(torch.SymInt):
    """A size with symbols.  Equal sizes of one trace are one object, and hashing is by identity, so that metadata with sizes can be keys."""

    node: SizeNode

    def _other(self, other: Any) -> Size | None:
        kind = type(other)
        if kind is int or kind is Expr:
            return other  # type: ignore[no-any-return]
        return other.node.expr if isinstance(other, torch.SymInt) and type(other.node) is SizeNode else None

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return not self.node.env.same(self.node.expr, 0)

    def __int__(self) -> int:
        return self.node.int_()

    __index__ = __int__

    def __repr__(self) -> str:
        return str(self.node.expr)

    __str__ = __repr__


def _arithmetic(function: Callable[[Sizes, Size, Size], Size]) -> tuple[Any, Any]:
    def forward(self: Dim, other: Any) -> Any:
        value = self._other(other)
        return NotImplemented if value is None else self.node.env.dim(function(self.node.env, self.node.expr, value))

    def backward(self: Dim, other: Any) -> Any:
        value = self._other(other)
        return NotImplemented if value is None else self.node.env.dim(function(self.node.env, value, self.node.expr))

    return forward, backward


def _comparison(function: Callable[[Sizes, Size, Size], bool]) -> Any:
    def compare(self: Dim, other: Any) -> Any:
        value = self._other(other)
        return NotImplemented if value is None else function(self.node.env, self.node.expr, value)

    return compare


ARITHMETIC: Mapping[str, Callable[[Sizes, Any, Any], Size]] = MappingProxyType(
    {
        "add": lambda env, a, b: a + b,
        "sub": lambda env, a, b: a - b,
        "mul": lambda env, a, b: a * b,
        "floordiv": Sizes.floordiv,
        "mod": Sizes.mod,
    }
)
COMPARISONS: Mapping[str, Callable[[Sizes, Any, Any], bool]] = MappingProxyType(
    {
        "eq": Sizes.same,
        "ne": lambda env, a, b: not env.same(a, b),
        "le": Sizes.less_equal,
        "ge": lambda env, a, b: env.less_equal(b, a),
        "lt": lambda env, a, b: not env.less_equal(b, a),
        "gt": lambda env, a, b: not env.less_equal(a, b),
    }
)
for _name, _function in ARITHMETIC.items():
    _forward, _backward = _arithmetic(_function)
    setattr(Dim, f"__{_name}__", _forward)
    setattr(Dim, f"__r{_name}__", _backward)
for _name, _compare in COMPARISONS.items():
    setattr(Dim, f"__{_name}__", _comparison(_compare))
Dim.__neg__ = lambda self: self.node.env.dim(-self.node.expr)  # type: ignore[assignment]
Dim.__hash__ = object.__hash__  # type: ignore[assignment]


def size_of(value: Any) -> Any:
    """A size as types and attributes hold it: an int or an expression; lists of sizes likewise.  Anything else is left as it is."""
    kind = type(value)
    if kind is Dim:
        return value.node.expr
    if kind is torch.SymInt and type(value.node) is SizeNode:
        return as_size(value.node.expr)
    if kind is tuple or kind is list or kind is torch.Size:
        return tuple([size_of(item) for item in value])
    return value


def dim_of(value: Any) -> Any:
    """A size as shape functions take it, where torch has made one of a node of ours."""
    return value.node.env.dim(value.node.expr) if type(value) is torch.SymInt and type(value.node) is SizeNode else value


def with_dims(value: Any) -> Any:
    """The arguments of an operator with a `Dim` for each size that torch has made of a node of ours; other symbolic numbers stay."""
    kind = type(value)
    if kind is torch.SymInt and type(value.node) is SizeNode:
        return value.node.env.dim(value.node.expr)
    if kind is tuple or kind is list:
        return kind([with_dims(item) for item in value])
    if kind is torch.Size:
        return tuple([with_dims(item) for item in value])
    return value


def has_sizes(values: Iterable[Any]) -> bool:
    """True when a size with symbols is among the values."""
    return any(type(value) is Dim for value in values)


__all__ = ["Decision", "Dim", "SizeNode", "Sizes", "dim_of", "has_sizes", "is_bound", "replace_symbols", "size_of", "symbols_of", "with_dims"]
