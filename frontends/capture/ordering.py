"""Sorting by code of the program: objects with a `__lt__` in Python, `functools.cmp_to_key`, and heaps.

C code sorts.  What it compares is plain, or an `Ordered`, which comes back to the interpreter for each comparison, in the order of C code.
"""

from __future__ import annotations

import _heapq
import functools
import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.attributes import python_method
from lect.frontends.capture.breaks import Crossing
from lect.frontends.capture.effects import run_real, shadow_of
from lect.frontends.capture.numbers import RunTimeNumber
from lect.frontends.capture.operators import binary, check_plain, truth
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import Box, Effect, Tracer
from lect.frontends.tensors import LT

Kwargs = dict[str, Box]


class Ordered:
    """What C code compares in the place of an object."""

    def __init__(self, t: Tracer, box: Box) -> None:
        self.t = t
        self.box = box

    def __lt__(self, other: Any) -> bool:
        return self._less(self.box, other.box if type(other) is Ordered else self.t.wrap(other))

    def __gt__(self, other: Any) -> bool:
        """`other < self`, where what is plain has no answer."""
        return self._less(self.t.wrap(other), self.box)

    def _less(self, left: Box, right: Box) -> bool:
        try:
            return truth(self.t, binary(self.t, operator.lt, left, right))
        except Exception as failure:  # exceptions of the program pass C code as `UserError`
            raise Crossing(failure) from None


def is_ordered_in_python(t: Tracer, value: Any) -> bool:
    """True for an object whose class has a `__lt__` in Python."""
    kind = type(value)
    return kind not in SCALAR_TYPES and kind is not LT and kind is not RunTimeNumber and python_method(t, kind, "__lt__") is not None


class Compared:
    """The key that `functools.cmp_to_key` makes of an object, in Python so that it is followed."""

    __module__ = "functools"  # whose object it stands for
    __slots__ = ("compare", "obj")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, compare: Any, obj: Any) -> None:
        self.compare = compare
        self.obj = obj

    def __lt__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) > 0

    def __eq__(self, other: object) -> Any:
        return self.compare(self.obj, other.obj) == 0  # type: ignore[attr-defined]

    def __le__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) >= 0


def _key_of_comparison(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`functools.cmp_to_key(compare)`."""
    compare = args[0] if args else kwargs["mycmp"]
    return t.made(functools.partial(Compared, compare[0]))


def _heap(function: Any) -> Any:
    """A function of `heapq` on a list of plain values."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        target = args[0]
        if type(target[0]) is not list or kwargs:
            raise t.stop("LB0003", f"{function.__name__} of something else than a list")
        raw = t.stored_all(args[1:])
        if t.is_fresh(target[0]):
            heap = target[0]
        else:
            if target[1] is None and id(target[0]) not in t.seen:
                raise t.stop("LB0007", f"{function.__name__} of a list")
            heap = shadow_of(t, target)
        for item in (*heap, *raw):
            check_plain(t, item)
        returned = run_real(function, heap, *raw)
        if heap is not target[0]:
            t.mutated[id(target[0])] = target
            t.effects.append(Effect(function, target, raw, {}, t.loc))
        return t.wrap(returned)

    return rule


ORDERING: Mapping[Any, Any] = MappingProxyType(
    {
        functools.cmp_to_key: _key_of_comparison,
        **{getattr(_heapq, name): _heap(getattr(_heapq, name)) for name in "heapify heappop heappush heappushpop heapreplace".split()},
    }
)
