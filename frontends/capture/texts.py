"""Texts: `str`, `repr`, `ascii`, `format`, `%` and `str.format`, where what is shown may be shown by code of the program.

Plain values are shown by C code.  An object with a `__str__`, `__repr__` or `__format__` in Python is handed to C code as a `Shown`, which comes back to
the interpreter when it is asked; so the methods run in CPython's order, and the results are put together by CPython.
"""

from __future__ import annotations

import string
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.attributes import find_in_type, load_attr, lookup, python_method
from lect.frontends.capture.breaks import Crossing, UserError
from lect.frontends.capture.calls import call_function, call_pure
from lect.frontends.capture.class_checks import PROXIES
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.iteration import iterate, mapping_items
from lect.frontends.capture.numbers import RunTimeNumber
from lect.frontends.capture.operators import check_plain, without_address
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT

Kwargs = dict[str, Box]
Rule = Callable[[Tracer, list[Box], Kwargs], Box]
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
_METHODS = ("__str__", "__repr__", "__format__")
MAX_DEPTH = 200


class _SaysWrong:
    """An object whose text is no text."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __str__(self) -> str:
        return self.answer

    def __repr__(self) -> str:
        return self.answer

    def __format__(self, spec: str) -> str:
        return self.answer


class Shown:
    """What C code shows in the place of an object."""

    def __init__(self, t: Tracer, box: Box, around: frozenset[int] = frozenset()) -> None:
        self.t = t
        self.box = box
        self.around = around  # identities of the containers around it

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)

    def __format__(self, spec: str) -> str:
        return self._text(format, spec)

    def _text(self, function: Callable[..., str], *spec: str) -> Any:
        try:
            return text_of(self.t, function, self.box, *spec, around=self.around)
        except Exception as failure:  # exceptions of the program pass C code as `UserError`
            raise Crossing(failure) from None


def text_of(t: Tracer, function: Callable[..., str], box: Box, *spec: str, around: frozenset[int] = frozenset()) -> Any:
    """`str`, `repr`, `ascii` or `format` of a value.  Breaks for tensors, and for addresses in the texts of objects without a text of their own."""
    value = box[0]
    kind = type(value)
    if kind in SCALAR_TYPES or kind is RunTimeNumber:
        return run_real(function, t.leak(box), *spec)
    if kind is LT:
        raise t.stop("LB0019", "text of a tensor")
    t.guard_type(box)
    if kind in PROXIES:
        raise t.stop("LB0003", f"text of a {kind.__name__}")
    name = {str: "__str__", format: "__format__"}.get(function, "__repr__")
    method = python_method(t, kind, name)
    if method is not None:
        given = [box] if function is not format else [box, (spec[0] if spec else "", None)]
        made = t.leak(call_function(t, t.static(method), given, {}))
        if issubclass(type(made), str) and function is not ascii:
            return made
        return run_real(function, _SaysWrong(made), *spec)
    held = find_in_type(kind, name)
    if function is format and held is object.__format__:
        if spec and spec[0]:
            raise UserError(TypeError(f"unsupported format string passed to {kind.__name__}.__format__"))
        return text_of(t, str, box)
    if function is str and held is object.__str__ and python_method(t, kind, "__repr__") is not None:
        return text_of(t, repr, box)
    if issubclass(type(value), BaseException) and function is not format:
        return _of_exception(t, function, box)
    return _in_c(t, function, box, spec, around)


def _in_c(t: Tracer, function: Callable[..., str], box: Box, spec: tuple[str, ...], around: frozenset[int]) -> Any:
    """The text of what C code shows, and of containers, whose items the program may show."""
    value, source = box
    kind = type(value)
    if issubclass(type(value), type):
        if source is not None:
            t.guards.is_object(source, value)
        return run_real(function, value, *spec)
    t.register(box)
    if kind in _CONTAINERS and not _is_plain(t, t.now(box)):
        if id(value) in around or len(around) > MAX_DEPTH:
            raise t.stop("LB0019", "text of a container that contains itself")
        return run_real(function, _shown_container(t, box, around | {id(value)}), *spec)
    check_plain(t, t.now(box))
    return without_address(t, run_real(function, t.now(box), *spec))


def _is_plain(t: Tracer, value: Any, around: tuple[int, ...] = ()) -> bool:
    """True for containers of nothing that the program shows."""
    kind = type(value)
    if kind not in _CONTAINERS:
        return kind in SCALAR_TYPES or not (issubclass(type(value), BaseException) or any(lookup(t, kind, name).kind == "function" for name in _METHODS))
    if id(value) in around or len(around) > MAX_DEPTH:
        return True
    items = (*value.keys(), *value.values()) if kind is dict else value
    return all(_is_plain(t, item, (*around, id(value))) for item in items)


def _shown_container(t: Tracer, box: Box, around: frozenset[int]) -> Any:
    """A container that has the text of another one; `around` are the identities of those in which its items stand."""
    kind = type(box[0])
    if kind is dict:
        pairs = mapping_items(t, box)
        return _Parts("{", "}", [(shown(t, t.wrap(key), around), shown(t, item, around)) for key, item in pairs.items()])
    items = [shown(t, item, around) for item in iterate(t, box)]
    if kind in (list, tuple):
        return kind(items)
    if kind is deque:
        return deque(items, box[0].maxlen)
    return _Parts("{" if kind is set else "frozenset({", "}" if kind is set else "})", items)


class _Parts:
    """The text of a dictionary or set, whose items need no hashes for that."""

    def __init__(self, begin: str, end: str, items: list[Any]) -> None:
        self.begin, self.end, self.items = begin, end, items

    def __repr__(self) -> str:
        parts = [f"{item[0]!r}: {item[1]!r}" if type(item) is tuple else repr(item) for item in self.items]
        return self.begin + ", ".join(parts) + self.end


def shown(t: Tracer, box: Box, around: frozenset[int] = frozenset()) -> Any:
    """What C code shows for a value: a constant, or what comes back to ask."""
    value = box[0]
    return t.leak(box) if type(value) in SCALAR_TYPES else Shown(t, box, around)


def _of_exception(t: Tracer, function: Callable[..., str], box: Box) -> Any:
    """The text of an exception, which is made of its arguments."""
    value = box[0]
    kind = type(value)
    held = find_in_type(kind, "__str__" if function is str else "__repr__")
    args = iterate(t, load_attr(t, box, "args"))
    if held is KeyError.__str__ and len(args) == 1:
        return text_of(t, repr, args[0])
    if held in (BaseException.__str__, KeyError.__str__):
        return "" if not args else text_of(t, str, args[0]) if len(args) == 1 else text_of(t, repr, t.make_tuple(args))
    if held is BaseException.__repr__ and function is repr:
        return kind.__name__ + (f"({text_of(t, repr, args[0])})" if len(args) == 1 else text_of(t, repr, t.make_tuple(args)))
    if not t.is_fresh(value):
        raise t.stop("LB0019", f"text of a {kind.__name__}")
    if held is not BaseExceptionGroup.__str__ or type(value.message) is not str:  # which shows its message, and how many parts there are
        check_plain(t, value.args)
    return run_real(function, value)


def _text(function: Callable[..., str]) -> Rule:
    """str, repr, ascii and format."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if kwargs or (not args and function is not str) or (len(args) > 1 and function is not format):
            raise t.stop("LB0003", f"{function.__name__} with keywords or without an argument")
        if not args:
            return ("", None)
        spec = t.leak_all(args[1:])
        if spec and not isinstance(spec[0], str):
            run_real(format, None, *spec)
        return (text_of(t, function, args[0], *spec), None)

    return rule


# ---- templates -------------------------------------------------------------------------------------------------------


def percent(t: Tracer, template: Box, values: Box) -> Box | None:
    """`template % values` where the program shows some of the values; None for plain ones."""
    value = values[0]
    if type(value) is LT or _is_plain(t, t.now(values)):
        return None
    if type(value) is dict:
        given: Any = {key: shown(t, item) for key, item in mapping_items(t, values).items()}
    else:
        given = tuple([shown(t, item) for item in iterate(t, values)]) if issubclass(type(value), tuple) else shown(t, values)
    return (_filled(t, str.__mod__, t.leak(template), given), None)


def _format(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`template.format(...)`."""
    template = t.leak(args[0])
    given = [*args[1:], *kwargs.values()]
    if type(template) is not str or all(type(box[0]) is not LT and _is_plain(t, t.now(box)) for box in given):
        return call_pure(t, str.format, args, kwargs)
    fields = [name for _, name, _, _ in run_real(lambda: list(string.Formatter().parse(template))) if name]
    if any(sign in name for name in fields for sign in ".["):
        raise t.stop("LB0019", "a template that looks into an object")
    return (_filled(t, str.format, template, *[shown(t, box) for box in args[1:]], **{name: shown(t, box) for name, box in kwargs.items()}), None)


def _filled(t: Tracer, function: Callable[..., str], *args: Any, **kwargs: Any) -> Any:
    """What C code makes of a template.  Where it refuses a value, it would name the class of what stands in its place."""
    try:
        return run_real(_refusing, function, args, kwargs)
    except _Refused:
        raise t.stop("LB0019", "a template that does not fit its values") from None


class _Refused(BaseException):
    """C code has refused a value."""


def _refusing(function: Callable[..., str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except TypeError:
        raise _Refused from None


def _add_note(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`error.add_note(text)`."""
    error = args[0][0]
    if not t.is_fresh(error) or python_method(t, type(error), "__setattr__") is not None:
        raise t.stop("LB0004", "a note on an exception from outside of the frame")
    run_real(BaseException.add_note, error, *t.leak_all(args[1:]))
    t.made(error.__notes__)
    return (None, None)


TEXTS: Mapping[Any, Any] = MappingProxyType(
    {
        **{function: _text(function) for function in (str, repr, ascii, format)},
        str.format: _format,
        BaseException.add_note: _add_note,
    }
)
