"""How many arguments functions take: the TypeError of CPython for wrong calls of C functions with rules of their own, and of Python functions.

A rule looks only at arguments that fit.  What does not fit is handed to the function itself, which refuses before it does anything.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

from lect.frontends.capture.breaks import UserError
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
        object.__new__: (1, ANY, True),
        object.__init__: (1, ANY, True),
        type.__call__: (1, ANY, True),
        functools.reduce: (2, 3, False),
        itertools.starmap: (2, 2, False),
        itertools.tee: (1, 2, False),
        itertools.chain.from_iterable: (1, 1, False),
        types.GeneratorType.send: (2, 2, False),
        types.GeneratorType.throw: (2, 4, False),
        types.GeneratorType.close: (1, 1, False),
    }
)


def with_arity(function: Any, rule: Rule) -> Rule:
    """`rule` for the calls that `function` accepts.  Which these are is looked up at the first call: of some hundred functions a program calls few."""
    known = False
    fewest, most, keywords = 0, ANY, True

    def checked(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        nonlocal known, fewest, most, keywords
        if not known:
            fewest, most, keywords = _limits(function) or (fewest, most, keywords)
            known = True
        if not fewest <= len(args) <= most or (kwargs and not keywords):
            run_real(function, *[box[0] for box in args], **{name: box[0] for name, box in kwargs.items()})
            raise t.stop("LB0003", f"{getattr(function, '__qualname__', function)} with {len(args)} arguments")
        return rule(t, args, kwargs)

    return checked


def _limits(function: Any) -> tuple[int, int, bool] | None:
    """(fewest positional arguments when none is a keyword, most, keywords allowed); None when it is not known or Python binds."""
    if function in _KNOWN:
        return _KNOWN[function]
    if issubclass(type(function), FunctionType | type):
        return None
    text = getattr(function, "__text_signature__", None)
    found = _limits_of_text(text, function) if type(text) is str else None
    if found is not None:
        return found
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    many = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keywords = any(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters)
    fewest = sum(p.kind is p.POSITIONAL_ONLY and p.default is p.empty for p in by_position)
    return fewest, ANY if many else len(by_position), keywords


def _limits_of_text(text: str, function: Any) -> tuple[int, int, bool] | None:
    """What `_limits` gives for a function of C, from its `__text_signature__`; None where it is not plain.  `inspect` would compile the text."""
    names = text[1:-1].split(", ") if text != "()" else []
    if not text.startswith("(") or not text.endswith(")") or any(mark in text[1:-1] for mark in "()[]{}<>'\"\n"):
        return None
    if names and names[0].startswith("$"):
        bound = getattr(function, "__self__", None) is not None
        names = names[1:] if bound else [names[0][1:], *names[1:]]
        alone = 0 if bound else 1  # the object of a method, which is never a keyword
    else:
        alone = 0
    alone = max(alone, names.index("/")) if "/" in names else alone
    names = [name for name in names if name != "/"]
    star = next((place for place, name in enumerate(names) if name.startswith("*")), len(names))
    fewest = sum("=" not in name for name in names[:alone])
    by_keyword = names[alone:star] + [name for name in names[star:] if name != "*" and (name.startswith("**") or not name.startswith("*"))]
    many = any(name.startswith("*") and not name.startswith("**") and name != "*" for name in names)
    return fewest, ANY if many else star, bool(by_keyword)


_EMPTY = (lambda: None).__code__
_SUSPENDS = 0x2A0  # flags of generators and coroutines


def does_not_bind(function: FunctionType, args: list[Box], kwargs: dict[str, Box]) -> UserError:
    """CPython's TypeError for arguments that do not fit: that of a function with the same parameters that does nothing."""
    code = function.__code__
    flags = code.co_flags & ~_SUSPENDS
    empty = code.replace(
        co_code=_EMPTY.co_code, co_consts=_EMPTY.co_consts, co_names=(), co_exceptiontable=b"", co_linetable=_EMPTY.co_linetable, co_flags=flags
    )
    same_parameters = FunctionType(empty, {}, function.__name__, function.__defaults__, tuple([types.CellType() for _ in code.co_freevars]))
    same_parameters.__kwdefaults__, same_parameters.__qualname__ = function.__kwdefaults__, function.__qualname__
    try:
        same_parameters(*[None for _ in args], **dict.fromkeys(kwargs))
    except TypeError as error:
        error.__traceback__ = error.__context__ = None
        return UserError(error)
    raise AssertionError("the arguments fit")
