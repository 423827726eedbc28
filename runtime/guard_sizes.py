"""What a predicate asks of tensors and numbers: metadata, ranges, and sizes with symbols, of which the first that has one gives its value."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from lect.dialects.fx.python_values import decode, dtype_of
from lect.ir import ScalarType
from lect.ir.symbolic import Atom, Expr, Size
from lect.ir.types import f64
from lect.runtime import guard_checks as checks
from lect.runtime import syntax


def has_symbols(value: Any) -> bool:
    """True when a size with symbols stands in lists of sizes."""
    return type(value) is Expr or (isinstance(value, tuple) and any(has_symbols(item) for item in value))


class BoundSizes:
    """The symbols that have a value, by number."""

    def __init__(self) -> None:
        self.bound: dict[int, str] = {}

    def bind(self, size: Size, found: ast.expr, temporary: Callable[[ast.expr], ast.Name]) -> list[ast.expr] | None:
        """Let a size that has a symbol without a value give it; what then must not hold.  None when there is nothing to bind.

        `temporary` makes a variable of the predicate.  It is not kept: the writer that it belongs to holds this object, and the values of the call.
        """
        if isinstance(size, int) or size.const or len(size.terms) != 1:
            return None
        atoms, factor = size.terms[0]
        if len(atoms) != 1 or atoms[0].kind != "s" or atoms[0].index in self.bound:
            return None
        value = temporary(found if factor == 1 else syntax.binary(found, ast.FloorDiv(), syntax.const(factor)))
        self.bound[atoms[0].index] = value.id
        return [] if factor == 1 else [syntax.compare(found, syntax.NOT_EQUAL, self.value(size))]

    def value(self, size: Size) -> ast.expr:
        """A size as an expression.  Raises `KeyError` for a symbol without a value."""
        if isinstance(size, int):
            return syntax.const(size)
        total: ast.expr | None = syntax.const(size.const) if size.const or not size.terms else None
        for atoms, factor in size.terms:
            term: ast.expr | None = syntax.const(factor) if factor != 1 else None
            for atom in atoms:
                value = self._atom(atom)
                term = value if term is None else syntax.binary(term, ast.Mult(), value)
            assert term is not None
            total = term if total is None else syntax.binary(total, ast.Add(), term)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> ast.expr:
        if atom.kind == "s":
            return syntax.name(self.bound[atom.index])
        args = [self.value(arg) for arg in atom.args]
        if atom.kind in ("floordiv", "mod"):
            return syntax.binary(args[0], ast.FloorDiv() if atom.kind == "floordiv" else ast.Mod(), args[1])
        test = syntax.compare(args[0], syntax.LESS if atom.kind == "min" else syntax.GREATER, args[1])
        return syntax.either(test, args[0], args[1])


def _is_not(left: ast.expr, right: ast.expr) -> ast.expr:
    return syntax.compare(left, syntax.IS_NOT, right)


def _differs(left: ast.expr, right: ast.expr) -> ast.expr:
    return syntax.compare(left, syntax.NOT_EQUAL, right)


def _on_another_device(w: Any, op: Any, found: ast.expr) -> ast.expr:
    if op.device == "cpu":
        return syntax.negated(syntax.attribute(found, "is_cpu"))
    return _differs(syntax.attribute(found, "device"), w.held(torch.device(op.device)))


def tensor_tests(w: Any, op: Any, read: ast.expr | None = None, wanted: Any = None) -> Iterable[ast.expr]:
    """What must not hold of a tensor, for the writer `w` of a predicate.  With `read`, that gives `wanted` in the place of sizes and strides."""
    if read is None and has_symbols((op.sizes, op.strides)):
        return _tests_with_symbols(w, op)
    found = w.value(op.object)
    cls = torch.Tensor if op.type == "torch.Tensor" else getattr(torch.nn, op.type.rpartition(".")[2])
    dtype = dtype_of(op.dtype) if isinstance(op.dtype, ScalarType) else decode(op.dtype, ())
    parts = [
        _is_not(w.call(type, found), w.held(cls)),
        _differs(syntax.attribute(found, "shape"), w.held(tuple(op.sizes))) if read is None else _differs(read, syntax.const(wanted)),
        _is_not(syntax.attribute(found, "dtype"), w.held(dtype)),
        *([_differs(syntax.call(syntax.attribute(found, "stride")), w.held(tuple(op.strides)))] if read is None else []),
        _on_another_device(w, op, found),
        _is_not(syntax.attribute(found, "requires_grad"), syntax.const(bool(op.requires_grad))),
        syntax.call(syntax.attribute(found, "is_neg")),
    ]
    if dtype.is_complex:
        parts.append(syntax.call(syntax.attribute(found, "is_conj")))
    if hasattr(torch.Tensor, "has_names"):  # up to torch 2.12
        parts.append(syntax.call(syntax.attribute(found, "has_names")))
    return [syntax.any_of(parts)]


def _tests_with_symbols(w: Any, op: Any) -> Iterator[ast.expr]:
    """The metadata, then one size after the other: the first that has a symbol gives its value."""
    found = w.value(op.object)
    yield from tensor_tests(w, op, syntax.call(syntax.attribute(found, "dim")), len(op.sizes))
    shape, strides = w.temporary(syntax.attribute(found, "shape")), w.temporary(syntax.call(syntax.attribute(found, "stride")))
    for values, sizes in ((shape, op.sizes), (strides, op.strides)):
        for dim, size in enumerate(sizes):
            value = syntax.item(values, syntax.const(dim))
            yield from size_tests(w, size, value) if values is shape else [_differs(value, w.sizes.value(size))]


def number_tests(w: Any, op: Any) -> Iterator[ast.expr]:
    """What must not hold of a number: one after the other, for its value as a size is read only behind the check of its class."""
    found = w.value(op.object)
    kind = float if op.element is f64 else int
    fails = [_is_not(w.call(type, found), w.held(kind))]
    low, high = checks.range_of(op.element)
    if op.fits is not None:
        narrow = checks.range_of(op.fits)
        low, high = max(low, narrow[0]), min(high, narrow[1])
    if op.size is not None:
        low, high = max(low, -checks.LARGEST_SIZE), min(high, checks.LARGEST_SIZE)
    if kind is int or high != float("inf"):
        outside = syntax.negated(syntax.between(w.held(low), found, w.held(high)))
        fails.append(outside if kind is int else syntax.all_of([outside, w.call(math.isfinite, found)]))
    yield syntax.any_of(fails)
    if op.size is not None:
        yield from size_tests(w, op.size, found)


def size_tests(w: Any, size: Size, found: ast.expr) -> list[ast.expr]:
    """What must not hold of an integer that is a size, to which it gives a symbol when that has no value yet."""
    known: list[ast.expr] | None = w.sizes.bind(size, found, w.temporary)
    return known if known is not None else [_differs(found, w.sizes.value(size))]


def symbolic_tests(w: Any, op: Any) -> list[ast.expr]:
    """What must not hold of a size with symbols."""
    size = w.temporary(w.sizes.value(op.size))
    tests = [] if op.low is None else [syntax.compare(size, syntax.LESS, syntax.const(op.low))]
    tests += [] if op.high is None else [syntax.compare(size, syntax.GREATER, syntax.const(op.high))]
    tests += [syntax.negated(size)] if op.differs else []
    return [syntax.any_of(tests)]
