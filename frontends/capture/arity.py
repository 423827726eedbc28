"""How many arguments C functions take, so that a wrong call of one that has a rule of its own is CPython's TypeError.

A rule looks only at arguments that fit.  What does not fit is handed to the function itself, which refuses before it does anything.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

from lect.frontends.capture.effects import run_real
from lect.frontends.capture.tracer import Box, Tracer

Rule = Callable[[Tracer, list[Box], dict[str, Box]], Box]
ANY = 1 << 30
# (fewest, most, keywords) where `inspect.signature` knows nothing.
_KNOWN: Mapping[Any, tuple[int, int, bool]] = MappingProxyType(
    {
        getattr: (2, 3, False),
        iter: (1, 2, False),
        next: (1, 2, False),
        bool: (0, 1, False),
        vars: (0, 1, False),
        map: (2, ANY, False),
        functools.reduce: (2, 3, False),
        types.GeneratorType.send: (2, 2, False),
        types.GeneratorType.throw: (2, 4, False),
        types.GeneratorType.close: (1, 1, False),
    }
)


def with_arity(function: Any, rule: Rule) -> Rule:
    """`rule` for the calls that `function` accepts."""
    limits = _limits(function)
    if limits is None:
        return rule
    fewest, most, keywords = limits

    def checked(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        if not fewest <= len(args) <= most or (kwargs and not keywords):
            run_real(function, *[box[0] for box in args], **{name: box[0] for name, box in kwargs.items()})
            raise t.stop("LB0003", f"{getattr(function, '__qualname__', function)} with {len(args)} arguments")
        return rule(t, args, kwargs)

    return checked


def _limits(function: Any) -> tuple[int, int, bool] | None:
    """(fewest positional arguments when none is a keyword, most, keywords allowed); None when it is not known or Python binds."""
    if function in _KNOWN:
        return _KNOWN[function]
    if isinstance(function, FunctionType | type):
        return None
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    many = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keywords = any(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters)
    fewest = sum(p.kind is p.POSITIONAL_ONLY and p.default is p.empty for p in by_position)
    return fewest, ANY if many else len(by_position), keywords
