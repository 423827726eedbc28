"""Between which two numbers the elements of an integer tensor lie, as far as the operations that made it tell.

An index that is known to lie in its dim needs no check when the graph runs.  Nothing is known of what a graph is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from lect.dialects.functional import creation, gather, pointwise, reduction, view
from lect.ir import Operation, ScalarType, Value
from lect.ir.symbolic import Expr

Bounds = tuple[int, int]
DEEPEST: Final = 24  # operations from the tensor to the end of the look
FARTHEST: Final = 1 << 31  # numbers beyond are taken for unknown, so that no sum or product wraps


def bounds_of(value: Value, depth: int = DEEPEST) -> Bounds | None:
    """The least and the greatest number that an element may be; None when that is not known."""
    rule = RULES.get(type(value.op)) if value.op is not None and depth else None  # type: ignore[arg-type]
    found = rule(value, depth - 1) if rule is not None else None
    return found if found is not None and -FARTHEST <= found[0] <= found[1] <= FARTHEST and _holds(value.type.element, found) else None  # type: ignore[attr-defined]


def lies_inside(index: Value, size: int, negative: bool) -> bool:
    """True when an index is known to be in 0..size-1, or from -size on if `negative`."""
    found = bounds_of(index) if type(size) is int else None
    return found is not None and found[0] >= (-size if negative else 0) and found[1] < size


def _holds(element: ScalarType, found: Bounds) -> bool:
    if element.kind not in ("signed", "unsigned"):
        return False
    low, bits = (0, element.bits) if element.kind == "unsigned" else (-(1 << element.bits - 1), element.bits - 1)
    return low <= found[0] and found[1] < 1 << bits


def _same(value: Value, depth: int) -> Bounds | None:
    return bounds_of(value.op.operands[0], depth)  # type: ignore[union-attr]


def _clamp(value: Value, depth: int) -> Bounds | None:
    """Both bounds are numbers, or one is and the other end is known already."""
    op: Any = value.op
    known = bounds_of(op.x, depth) or (-FARTHEST, FARTHEST)
    low = known[0] if op.min is None else max(known[0], int(op.min))
    high = known[1] if op.max is None else min(known[1], int(op.max))
    if op.low is not None or op.high is not None or (-FARTHEST in (low, high) or FARTHEST in (low, high)):
        return None
    return (min(low, high), max(low, high))


def _iota(value: Value, depth: int) -> Bounds | None:
    op: Any = value.op
    if type(op.size) is not int:
        return None
    ends = (int(op.start), int(op.start) + int(op.step) * max(0, op.size - 1))
    return (min(ends), max(ends))


def _full(value: Value, depth: int) -> Bounds | None:
    if type(value.op.value) is Expr:  # type: ignore[union-attr]
        return None  # a size
    number = int(value.op.value)  # type: ignore[union-attr]
    return (number, number)


def _pair(op: Any, depth: int) -> tuple[Bounds, Bounds] | None:
    """The bounds of both operands of a binary operation, in the order in which they are combined."""
    first = bounds_of(op.x, depth)
    second = (int(op.other), int(op.other)) if op.y is None else bounds_of(op.y, depth)
    if first is None or second is None:
        return None
    return (second, first) if op.reversed else (first, second)


def _add(value: Value, depth: int) -> Bounds | None:
    found = _pair(value.op, depth) if value.op.alpha == 1 and value.op.factor is None else None  # type: ignore[union-attr]
    return None if found is None else (found[0][0] + found[1][0], found[0][1] + found[1][1])


def _sub(value: Value, depth: int) -> Bounds | None:
    found = _pair(value.op, depth) if value.op.alpha == 1 and value.op.factor is None else None  # type: ignore[union-attr]
    return None if found is None else (found[0][0] - found[1][1], found[0][1] - found[1][0])


def _mul(value: Value, depth: int) -> Bounds | None:
    found = _pair(value.op, depth)
    if found is None:
        return None
    products = [one * other for one in found[0] for other in found[1]]
    return (min(products), max(products))


def _either(value: Value, depth: int) -> Bounds | None:
    """`where`: of one or the other."""
    first, second = [bounds_of(operand, depth) for operand in value.op.operands[1:]]  # type: ignore[union-attr]
    return None if first is None or second is None else (min(first[0], second[0]), max(first[1], second[1]))


def _place(value: Value, depth: int) -> Bounds | None:
    """A place along a dim, or in the whole operand."""
    op: Any = value.op
    shape = op.x.type.shape
    count = op.x.type.count if op.dim is None else shape[op.dim] if shape else 1
    if type(count) is not int:
        return None
    return (0, max(0, count - 1)) if value.index == len(op.results) - 1 else None


def _searched(value: Value, depth: int) -> Bounds | None:
    shape = value.op.boundaries.type.shape  # type: ignore[union-attr]
    return (0, shape[-1] if shape else 1) if not shape or type(shape[-1]) is int else None


RULES: Mapping[type[Operation], Callable[[Value, int], Bounds | None]] = MappingProxyType(
    {
        **dict.fromkeys((view.ReshapeOp, view.PermuteOp, view.ExpandOp, view.SliceOp, view.DiagonalOp, creation.CopyOp, creation.CastOp), _same),
        creation.TogetherOp: lambda value, depth: bounds_of(value.op.inputs[value.index], depth),  # type: ignore[union-attr]
        pointwise.ClampOp: _clamp,
        creation.IotaOp: _iota,
        creation.FullOp: _full,
        pointwise.SUMS["AddOp"]: _add,
        pointwise.SUMS["SubOp"]: _sub,
        pointwise.MIXED_BINARY["MulOp"]: _mul,
        pointwise.WhereOp: _either,
        **dict.fromkeys((*reduction.WHICH.values(), *reduction.WITH_INDEX.values(), reduction.SortOp), _place),
        gather.SearchsortedOp: _searched,
    }
)
