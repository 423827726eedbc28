"""Arithmetic of bounds: (low, high), both inclusive, None for an open end."""

from __future__ import annotations

Bounds = tuple["int | None", "int | None"]


def multiply(left: Bounds, right: Bounds) -> Bounds:
    """Bounds of a product."""
    if left[0] is not None and right[0] is not None and left[0] >= 0 and right[0] >= 0:
        high = None if left[1] is None or right[1] is None else left[1] * right[1]
        return left[0] * right[0], high
    if None in left or None in right:
        return None, None
    corners = [a * b for a in left for b in right]  # type: ignore[operator,return-value]
    return min(corners), max(corners)


def divide(value: int | None, divisor: Bounds, low: bool) -> int | None:
    """A bound of value floordiv divisor, when `value` is a bound of the same side."""
    if value is None:
        return None
    smallest, largest = divisor
    smallest = max(1, smallest) if smallest is not None else 1
    towards_zero = (value >= 0) is low
    if not towards_zero:
        return value // smallest
    return value // largest if largest is not None else (0 if value >= 0 else -1)
