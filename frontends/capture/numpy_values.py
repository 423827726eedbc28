"""numpy's numbers are immutable values like Python's own; functions of numpy that give one for plain numbers run for real.  Arrays break the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.objects import describe
from lect.frontends.capture.scalars import NUMPY_NUMBERS, SCALAR_TYPES, map_leaves

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer

_NAMES = "prod sum mean std var median max min amax amin argmax argmin round around clip isclose allclose array_equal count_nonzero lcm gcd".split()
_METHODS = (
    "item tolist is_integer conjugate __float__ __int__ __index__ __bool__ __complex__ __round__ __abs__ __neg__ __pos__ __hash__ __repr__ __str__ __format__"
).split()
FUNCTIONS = frozenset(getattr(numpy, name) for name in _NAMES)
METHODS = frozenset(vars(base)[name] for kind in NUMPY_NUMBERS for base in kind.__mro__[:-1] for name in _METHODS if name in vars(base))
ARRAYS = frozenset({numpy.ndarray})


def run_numpy(t: Tracer, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operator or a function on numbers of which one is numpy's.  Breaks where numpy would warn, and for arrays."""
    from lect.frontends.capture.effects import run_real

    try:
        with numpy.errstate(all="raise"):
            found = run_real(function, *args, **kwargs)
    except UserError as raised:
        if issubclass(type(raised.error), FloatingPointError):
            raise t.stop("LB0013", f"numpy warns: {raised.error}") from None
        raise
    if type(found) not in SCALAR_TYPES and not (type(found) is tuple and all(type(item) in SCALAR_TYPES for item in found)):
        raise t.stop("LB0003", f"{describe(function)} gives a {type(found).__module__}.{type(found).__qualname__}")
    return found


def is_numpy_function(value: Any) -> bool:
    """True for what `numpy_call` may call."""
    return issubclass(type(value), numpy.ufunc) or (type(value).__module__ == "numpy" and value in FUNCTIONS)


def numpy_call(t: Tracer, callee: Box, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """A function of numpy on numbers, and on lists and tuples of numbers."""
    value, source = callee
    if source is not None:
        t.guards.is_object(source, value)
    raw = [_plain(t, box, value) for box in args]
    return (run_numpy(t, value, *raw, **{name: _plain(t, box, value) for name, box in kwargs.items()}), None)


def _plain(t: Tracer, box: Box, function: Any) -> Any:
    value = box[0]
    if type(value) in SCALAR_TYPES:
        return t.leak(box)
    if type(value) in (list, tuple):
        t.guard_type(box)
        t.register(box)
        now = t.now(box)
        if all(type(item) in SCALAR_TYPES for item in now):
            return now
    raise t.stop("LB0003", f"{describe(function)} of a {type(value).__module__}.{type(value).__qualname__}")


def python_numbers(value: Any) -> Any:
    """An argument with Python's numbers in the place of numpy's."""
    return map_leaves(value, lambda leaf: leaf.item() if type(leaf) in NUMPY_NUMBERS else leaf)
