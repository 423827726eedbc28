"""Sizes of inputs that are symbols of the trace.

The policy of the frame says which sizes are: those at paths such as `L["x"]:size(1)` that are among its run-time numbers.  A tensor read along such a path
has a stand-in whose sizes are symbols (`frontends/tensors/sizes.py`), and reading its shape gives run-time numbers that know their expression.

    def f(x):                        L["x"] is s0 x 8, x.shape[0] is the number s0
        return x.view(-1, 4)         the result is (s0 * 2) x 4
        if x.shape[0] > 100: ...     guarded: 100 - s0 >= 0, with this line

What is found equal or a multiple (`size_relations.py`), and what has to be a number, is noted in the policy, and the frame is followed once more with one
symbol for both, or with an integer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from lect.dialects.functional.shapes import contiguous_strides
from lect.dialects.guard.types import PathAttr
from lect.frontends.capture.guards import tensor_attributes
from lect.frontends.capture.numbers import LONGEST, RunTimeNumber, apply_to_values, computed
from lect.frontends.capture.size_policy import Constant, place_of
from lect.frontends.capture.size_relations import LEAST, relation_that_makes_zero
from lect.frontends.capture.sources import Source
from lect.frontends.tensors import LT, TensorMeta, layout_of, meta_of
from lect.frontends.tensors.marks import marks_of
from lect.frontends.tensors.sizes import ARITHMETIC, COMPARISONS, Decision, Dim, SizeNode, Sizes, is_bound, without_common_factor
from lect.ir import Location
from lect.ir.facts import only_symbol, symbols_of
from lect.ir.symbolic import Expr, Size, as_size, constant, symbol

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer


class SizeSymbols:
    """The symbols of one trace: `sizes` computes with them, `sources` says where each is read, and `lines` where each decision was taken.

    `unsettled` says that the trace is to be begun anew with what the policy has learned.
    """

    def __init__(self, t: Tracer) -> None:
        self.t = t
        self.sizes = Sizes(self._needed, self._equal, self._small)
        self.sizes.decided = self._note
        self.sources: list[Any] = []  # a `Source`, or a `FoundSize`
        self.factors: list[int] = []  # what is read there is so many times the symbol
        self.multiples: dict[int, int] = {}  # by symbol: how many times another one it is in the next trace
        self.found: set[int] = set()  # symbols that a call of the graph finds
        self.open: list[int] = []  # those of the running call
        self.nonzeros: dict[Any, Box] = {}  # what calls of `nonzero` gave
        self.places: dict[Any, Box] = {}  # where masks are true, a tensor for each dim
        self.lines: list[Location] = []
        self.origins: list[Location] = []  # by symbol: the line that read the tensor
        self.marks: dict[int, tuple[Any, str]] = {}  # by symbol: the bounds that the program marked it with, and the text of that
        self.numbers: dict[Expr, RunTimeNumber] = {}
        self.operands: dict[Expr, RunTimeNumber] = {}
        self.passed: dict[int, int] = {}  # by symbol: the argument of the graph that is its value
        self.by_path: dict[PathAttr, Expr] = {}
        self.of_shape: dict[tuple[int, ...], list[Size]] = {}  # the sizes of the first tensor of integers with some shape
        self.unsettled = False

    def __bool__(self) -> bool:
        return bool(self.sources)

    def close(self) -> None:
        """Let go of the trace."""
        self.sizes.needed = self.sizes.equal = self.sizes.small = self.sizes.decided = None
        self.numbers.clear()
        self.operands.clear()
        self.sources.clear()
        self.by_path.clear()
        self.of_shape.clear()
        self.places.clear()
        self.nonzeros.clear()

    # ---- inputs ------------------------------------------------------------------------------------------------------

    def of_input(self, tensor: torch.Tensor, source: Source) -> tuple[TensorMeta, dict[str, Any]] | None:
        """The metadata of the stand-in of an input with symbols, and what the guard says; None when all its sizes are integers."""
        policy = self.t.policy.sizes
        if not policy.may_have_symbols(tensor):
            return None
        places = {dim: source.step("size", dim) for dim in range(tensor.dim())}
        given = _is_given(source)
        places = {dim: place for dim, place in places.items() if policy.is_symbol(tensor, place.path(), dim, given)}
        if not places:
            return None
        policy.in_use = True
        meta = meta_of(tensor)
        shape: list[Size] = list(meta.shape)
        alike = self._shape_alike(tensor, places) if given else shape
        for dim, place in places.items():
            shape[dim] = self._symbol(place, meta.shape[dim], policy.bounds(tensor, dim), alike[dim])
            self._note_mark(place, shape[dim], tensor, dim)
        if not any(type(size) is Expr for size in alike):
            alike[:] = shape
        strides = _strides(meta, shape)
        attributes = {**tensor_attributes(tensor), "sizes": tuple(shape), "strides": strides}
        dims = self.sizes.dims
        return meta._replace(shape=dims(tuple(shape)), strides=dims(strides)), attributes

    def _note_mark(self, place: Source, size: Size, tensor: torch.Tensor, dim: int) -> None:
        """What the program says of a size that it has marked."""
        marks = marks_of(tensor)
        if dim in marks.dynamic:
            self.t.policy.sizes.marked[place.path()] = marks.text(dim)
            if marks.dynamic[dim] != (None, None):
                (number,) = symbols_of(size)
                self.marks[number] = (self.sizes.bounds[number], marks.text(dim))

    def _shape_alike(self, tensor: torch.Tensor, places: Mapping[int, Source]) -> list[Size]:
        """The sizes of an earlier argument of integers with this shape: tokens, targets and masks go together, so it is taken that these are the same in
        every call, with a guard, instead of following the frame once more when that is found.  Calls in which they are not have a version of their own.
        """
        shape = list(tensor.shape)
        if tensor.dim() < 2 or len(places) < 2 or tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            return shape
        policy = self.t.policy.sizes
        if any(policy.bounds(tensor, dim) != (LEAST, None) for dim in places):
            return shape
        return self.of_shape.setdefault(tuple(shape), shape)

    def _symbol(self, place: Source, value: int, bounds: tuple[int, int | None], alike: Size) -> Size:
        policy, path = self.t.policy.sizes, place.path()
        root, factor = policy.root_of(path), policy.factors.get(path, 1)
        found = self.by_path.get(root)
        factor = factor if value > 0 else -factor
        if found is not None and self.sizes.hint(found) * factor != value:
            root, found = path, None  # they are not equal any more
        if found is None and type(alike) is Expr:
            number, times = only_symbol(alike) or (0, 0)
            if times == factor:
                self.by_path[root] = symbol(number)
            return alike
        if found is None:
            low, high = bounds
            if value % factor or value // factor < LEAST or (high is not None and high < LEAST * factor):
                factor = 1 if value > 0 else -1
            found = self.by_path[root] = self.sizes.add(value // factor, max(LEAST, -(-low // factor)), None if high is None else high // factor)
            self.factors.append(factor)
            self.sources.append(place)
            self.origins.append(self.t.loc)
        return found * factor

    def of_number(self, value: int, source: Source) -> RunTimeNumber | None:
        """An integer of the program that is a size, a bound or a position of torch; None where it is one of this value."""
        policy = self.t.policy.sizes
        if not policy.number_is_symbol(source.path(), value):
            return None
        policy.in_use = True
        size = self._symbol(source, value, (LEAST, None), value)
        self.t.guards.sized(source, value, constant(size))
        found = self.number(size)
        assert type(found) is RunTimeNumber
        return found

    def may_be_size(self, number: RunTimeNumber) -> bool:
        """In the next trace the integers of the program that a number is computed from are sizes with symbols, when they may be."""
        policy = self.t.policy
        if policy.sizes.off or policy.sizes.never:
            return False
        leaves = [leaf for leaf in number.leaves() if leaf.size is None]
        if not leaves or not all(type(leaf.value) is int and isinstance(leaf.origin, Source) for leaf in leaves):
            return False
        paths = {leaf.origin.path() for leaf in leaves}  # type: ignore[union-attr]
        if not paths.isdisjoint(policy.sizes.by_value):
            return False
        policy.sizes.numbers |= paths
        self.unsettled = True
        return True

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def number(self, size: Size) -> Any:
        """A size as the program sees it: an int, or a number of run time."""
        size = as_size(size)
        if type(size) is int:
            return size
        found = self.numbers.get(size)  # type: ignore[arg-type]
        if found is None:
            found = self.numbers[size] = self._number(size)  # type: ignore[arg-type, index]
        return found

    def _number(self, size: Expr) -> RunTimeNumber:
        alone = only_symbol(size) if not size.const else None
        if alone is not None and self.factors[alone[0]] == alone[1]:
            found = self._read(alone[0], size)
        elif alone is not None and alone[1] == 1:
            factor = self.factors[alone[0]]
            found = self._apply(operator.floordiv, self.number(size * factor), factor)
        else:
            found = self._computed(size)
        found.size = size
        return found

    def _read(self, number: int, size: Expr) -> RunTimeNumber:
        """A size as it is read from its tensor."""
        source = self.sources[number]
        if number in self.found and source.tensor is None:
            self.make_break(number, "it is asked for while it is found")
        found = self.t.numbers.get(source)
        if found is None:
            found = self.t.numbers[source] = RunTimeNumber(self.t, self.sizes.hint(size), source, LONGEST)
        return found

    def _computed(self, size: Expr) -> RunTimeNumber:
        """A number that is computed as the expression says."""
        total: Any = size.const
        for atoms, factor in size.terms:
            term: Any = factor
            for atom in atoms:
                if atom.kind == "s":
                    value: Any = self.number(symbol(atom.index))
                else:
                    left, right = [self.number(arg) for arg in atom.args]
                    value = self._apply(operator.floordiv if atom.kind == "floordiv" else operator.mod, left, right)
                term = value if type(term) is int and term == 1 else self._apply(operator.mul, term, value)
            total = term if type(total) is int and total == 0 else self._apply(operator.add, total, term)
        assert type(total) is RunTimeNumber
        return RunTimeNumber(self.t, self.sizes.hint(size), total.origin, LONGEST)

    def _apply(self, function: Callable[..., Any], left: Any, right: Any) -> Any:
        if type(left) is int and type(right) is int:
            return function(left, right)
        if self.found and any(self.is_found(side) for side in (left, right)):
            return computed(self.t, function, (left, right))
        return apply_to_values(self.t, function, function.__name__, (left, right))[0]

    def operand(self, value: Any) -> Any:
        """An argument of a function that computes with numbers: a size stands there for its value, as any number of run time does."""
        if not is_size(value) or self.is_found(value):
            return value  # the graph computes with a size that it finds
        found = self.operands.get(value.size)
        if found is None:
            found = self.operands[value.size] = RunTimeNumber(self.t, value.value, value.origin, value.bits)
        return found

    def with_numbers(self, value: Any) -> Any:
        """A shape, a size, or a tuple of such, as the program sees it."""
        kind = type(value)
        if kind is Dim or (kind is torch.SymInt and type(value.node) is SizeNode):
            return self.number(value.node.expr)
        if kind is torch.Size:
            return torch.Size([self.with_numbers(item) for item in value])
        return tuple([self.with_numbers(item) for item in value]) if kind is tuple else value

    # ---- what decides ------------------------------------------------------------------------------------------------

    def is_found(self, value: Any) -> bool:
        """True for a number that hangs on a size which the graph finds."""
        return bool(self.found) and is_size(value) and not self.found.isdisjoint(symbols_of(value.size))

    def make_break(self, number: int, reason: str) -> None:
        """In the next trace the frame is cut in front of the call that finds a size."""
        source = self.sources[number]
        self.t.policy.sizes.needed.setdefault(place_of(source.loc), Constant(reason, self.t.loc))
        self.unsettled = True

    def _note(self, decision: Decision) -> None:
        self.lines.append(self.t.loc)
        found = self.found.intersection(symbols_of(decision.size)) if self.found else ()
        if found and not is_bound(decision):
            for number in found:
                self.make_break(number, "its value decides something")

    def _needed(self, size: Expr) -> int:
        """The sizes in an expression are constants in the next trace."""
        self._pin(size, "its value is needed")
        return self.sizes.hint(size)

    def _small(self, size: Expr) -> int:
        """A size of 0 or 1: the sizes in the expression are constants in the next trace, and in other calls with these values."""
        self._hold(size, "")
        return self.sizes.hint(size)

    def _pin(self, size: Expr, reason: str) -> None:
        for number in symbols_of(size):
            self._make_constant(number, reason)

    def _hold(self, size: Expr, reason: str) -> None:
        """The sizes in an expression are constants where they have the values at hand."""
        for number in symbols_of(size):
            if number in self.found:
                self.make_break(number, reason or "a size of 0 or 1 comes of it")
                continue
            value = self._value(number)
            self.t.policy.sizes.at_values.setdefault((self.sources[number].path(), value), Constant(reason, self.t.loc, value))
        self.unsettled = True

    def _make_constant(self, number: int, reason: str) -> None:
        if number in self.found:
            self.make_break(number, reason)
            return
        self.t.policy.sizes.by_value.setdefault(self.sources[number].path(), Constant(reason, self.t.loc, self._value(number)))
        self.unsettled = True

    def _value(self, number: int) -> int:
        """The size at hand of which a symbol stands for the value."""
        return self.sizes.hints[number] * self.factors[number]

    def refuse(self, name: str, error: Exception, values: Any) -> None:
        """A call cannot be followed with symbols: the sizes of its tensors are constants in the next trace, all when it has none."""
        found: set[int] = {number for value in leaves_of(values) for number in _symbols_of(value)} or set(range(len(self.sources)))
        found = self.found.intersection(found) or found
        reason = f"{name} needs it ({(str(error).splitlines() or [''])[0][:160]})"
        for number in found:
            self._make_constant(number, reason)

    def _equal(self, left: Size, right: Size) -> None:
        """Two sizes are equal by their values: two symbols are one in the next trace, and others are constants."""
        difference = without_common_factor(constant(left) - right)
        found = self.found.intersection(symbols_of(difference))
        for number in found:
            self.make_break(number, f"{left} == {right} is asked")
        if found:
            return
        relation = relation_that_makes_zero(difference, self.sizes.hints, self.multiples)
        if relation is None:
            self._hold(difference, f"{difference} == 0 holds for it" if right == 0 else f"{left} == {right} holds for it")
            return
        policy = self.t.policy.sizes
        for number, factor in relation.multiples.items():
            policy.multiply(self.sources[number].path(), factor)
            self.multiples[number] = self.multiples.get(number, 1) * factor
        for first, second in relation.pairs:
            one, other = policy.root_of(self.sources[first].path()), policy.root_of(self.sources[second].path())
            if one != other:
                policy.same[other] = one
        self.unsettled = True

    # ---- guards ------------------------------------------------------------------------------------------------------

    def conditions(self) -> list[tuple[Expr, int | None, int | None, bool, Location, str]]:
        """What the guards say: bounds of each symbol, and what was decided about expressions."""
        sizes = self.sizes
        lines: dict[int, Location] = dict(enumerate(self.origins))
        others = []
        for decision, loc in zip(sizes.decisions, self.lines):
            alone = only_symbol(decision.size)
            if not self.found.isdisjoint(symbols_of(decision.size)):
                continue  # the graph checks it
            if alone is not None and not decision.differs:
                lines[alone[0]] = loc
            else:
                others.append((decision.size, decision.low, decision.high, decision.differs, loc, ""))
        bounds = []
        for number in range(len(self.sources)):
            if number not in self.found:
                marked, why = self.marks.get(number, (None, ""))
                bounds.append((symbol(number), *sizes.bounds[number], False, lines[number], why if marked == sizes.bounds[number] else ""))
        return [*bounds, *others]

    def pass_numbers(self) -> None:
        """The symbols that are integers of the program, and no sizes of tensors, are arguments of the graph."""
        for number, source in enumerate(self.sources):
            if number not in self.found and source.kind != "size":
                self.passed[number] = self.t.graph.place_of(self.operand(self.number(symbol(number))))

    def declared(self) -> dict[str, Any] | None:
        """The attribute `symbols` of the graph."""
        if not self.sources:
            return None
        out = {}
        for number in range(len(self.sources)):
            low, high = self.sizes.bounds[number]
            facts = {"hint": self.sizes.hints[number], "min": low}
            if high is not None:
                facts["max"] = high
            if number in self.passed:
                facts["argument"] = self.passed[number]
            out[f"s{number}"] = facts
        return out


def _is_given(source: Source) -> bool:
    """True for a tensor among the arguments, in containers and in objects such as a cache; those of modules keep their sizes."""
    node: Source | None = source
    while node is not None:
        if node.kind not in ("L", "item", "own", "attr", "dict") or (node.guarded_type is not None and issubclass(node.guarded_type, torch.nn.Module)):
            return False
        node = node.base
    return True


def _strides(meta: TensorMeta, shape: list[Size]) -> tuple[Size, ...]:
    """The strides of an input with symbols: products of its sizes where it is dense in some order of its dims, else the integers at hand."""
    order = sorted(range(len(shape)), key=lambda dim: (-meta.strides[dim], dim))
    if tuple(contiguous_strides([meta.shape[dim] for dim in order])) != tuple([meta.strides[dim] for dim in order]):
        return meta.strides
    steps: Any = contiguous_strides([shape[dim] for dim in order])  # type: ignore[misc]
    found: list[Size] = [0] * len(shape)
    for dim, step in zip(order, steps):
        found[dim] = step
    return tuple(found)


def apply_to_sizes(t: Tracer, name: str, args: tuple[Any, ...]) -> Box | None:
    """A function of arithmetic applied to sizes and integers; None when it has no symbolic form."""
    values: list[Size] = []
    for arg in args:
        size = arg.size if type(arg) is RunTimeNumber else arg
        if size is None or (type(arg) is not RunTimeNumber and type(arg) is not int):
            return None
        values.append(size)
    if name == "neg":
        return (t.symbols.number(-constant(values[0])), None)
    if len(values) != 2:
        return None
    if name in COMPARISONS:
        return (COMPARISONS[name](t.symbols.sizes, constant(values[0]), constant(values[1])), None)
    function = ARITHMETIC.get(name)
    if function is None or (name in ("floordiv", "mod") and t.symbols.sizes.hint(values[1]) <= 0):
        return None
    return (t.symbols.number(function(t.symbols.sizes, constant(values[0]), constant(values[1]))), None)


def sized(t: Tracer, value: Any) -> Any:
    """A value that torch gave, with numbers of run time in the place of sizes with symbols."""
    return t.symbols.with_numbers(value) if t.symbols else value


def is_size(value: Any) -> bool:
    """True for a number of run time that is a size with symbols."""
    return type(value) is RunTimeNumber and value.size is not None


def leaves_of(value: Any) -> Iterator[Any]:
    """What stands in lists, tuples, slices and dictionaries."""
    if type(value) is slice:
        value = (value.start, value.stop, value.step)
    if isinstance(value, tuple | list):
        for item in value:
            yield from leaves_of(item)
    elif type(value) is dict:
        yield from leaves_of(tuple(value.values()))
    else:
        yield value


def _symbols_of(value: Any) -> tuple[int, ...]:
    """The symbols in the sizes of a traced tensor, or in a size."""
    if type(value) is LT:
        meta = layout_of(value)
        return tuple([number for size in (*meta.shape, *meta.strides) if type(size) is Dim for number in symbols_of(size.node.expr)])
    return symbols_of(value.size) if is_size(value) else ()
