"""Builtin functions that call a special method of their argument: `abs`, `round`, `divmod`, `pow`, `int`, `float`, `reversed`, `hash` and their like."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

from lect.frontends.capture.attributes import lookup, python_method
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.generators import IndexIterator
from lect.frontends.capture.identities import pin
from lect.frontends.capture.numbers import RunTimeNumber
from lect.frontends.capture.operators import binary
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.targets import name_of
from lect.frontends.capture.torch_calls import holds_tensor, torch_call
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT

Kwargs = dict[str, Box]
_NUMBERS = frozenset({*SCALAR_TYPES, RunTimeNumber})
Rule = Callable[[Tracer, list[Box], Kwargs], Box]


def _in_python(t: Tracer, box: Box, name: str) -> bool:
    """True for an object whose special method is Python code of its class."""
    kind = type(box[0])
    return kind not in _NUMBERS and kind is not LT and lookup(t, kind, name).kind == "function"


def _ask(t: Tracer, box: Box, name: str, *rest: Box) -> Box | None:
    """What the special method of the object's class gives, when that is Python code."""
    from lect.frontends.capture.calls import call_function

    kind = type(box[0])
    method = python_method(t, kind, name) if kind not in _NUMBERS and kind is not LT else None
    if method is None:
        return None
    t.guard_type(box)
    return call_function(t, t.static(method), [box, *rest], {})


def _pure(function: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        from lect.frontends.capture.calls import call_pure

        if not issubclass(type(function), type) and name_of(function) is not None and holds_tensor([box[0] for box in args]):
            return torch_call(t, function, args, kwargs)
        return call_pure(t, function, args, kwargs)

    return rule


def _one(function: Any, name: str) -> Rule:
    """A function of one object that gives what the method gives."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        found = _ask(t, args[0], name) if len(args) == 1 and not kwargs else None
        return _pure(function)(t, args, kwargs) if found is None else found

    return rule


def _reversed(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`reversed(x)`: what `__reversed__` gives, or an iterator over the items of an object of the program that has `__getitem__` and `__len__`."""
    if len(args) == 1 and not kwargs:
        found = _ask(t, args[0], "__reversed__")
        if found is not None:
            return found
        kind = type(args[0][0])
        if _in_python(t, args[0], "__getitem__") and _in_python(t, args[0], "__len__") and lookup(t, kind, "__reversed__").kind == "missing":
            length = t.code_table.specials[len](t, args, {})
            return t.made(IndexIterator(t, args[0], t.leak(length)))
    return _pure(reversed)(t, args, kwargs)


def _round(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    given = [*args, *([kwargs["ndigits"]] if "ndigits" in kwargs else [])]
    if not 1 <= len(given) <= 2 or kwargs.keys() - {"ndigits"}:
        return _pure(round)(t, args, kwargs)
    found = _ask(t, given[0], "__round__", *[box for box in given[1:] if box[0] is not None])
    return _pure(round)(t, args, kwargs) if found is None else found


def _divmod(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    if len(args) != 2 or kwargs:
        return _pure(divmod)(t, args, kwargs)
    left, right = args
    tries = [(left, "__divmod__", right), (right, "__rdivmod__", left)]
    if not any(_in_python(t, box, name) for box in args for name in ("__divmod__", "__rdivmod__")):
        return _pure(divmod)(t, args, kwargs)
    if type(left[0]) is type(right[0]):
        tries.pop()
    elif issubclass(type(right[0]), type(left[0])):
        tries.reverse()
    for box, name, other in tries:
        found = _ask(t, box, name, other)
        if found is not None and found[0] is not NotImplemented:
            return found
    kinds = f"'{type(left[0]).__name__}' and '{type(right[0]).__name__}'"
    raise UserError(TypeError(f"unsupported operand type(s) for divmod(): {kinds}"))


def _pow(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    of_program = any(_in_python(t, box, name) for box in args[:2] for name in ("__pow__", "__rpow__"))
    if not of_program or kwargs or len(args) not in (2, 3):
        return _pure(pow)(t, args, kwargs)
    if len(args) == 2:
        return binary(t, operator.pow, args[0], args[1])
    found = _ask(t, args[0], "__pow__", args[1], args[2])
    if found is None or found[0] is NotImplemented:
        raise t.stop("LB0003", "pow() with three arguments of a user object")
    return found


class _Gives:
    """An object whose special methods give a fixed answer, for what CPython makes of it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __int__(self) -> Any:
        return self.answer

    def __float__(self) -> Any:
        return self.answer

    def __hash__(self) -> Any:
        return self.answer


class _Index:
    """An object that is an index."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __index__(self) -> Any:
        return self.answer


def _number(function: Any, name: str) -> Rule:
    """`int`, `float` or `operator.index` of an object with the method `name`, or with `__index__`."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if len(args) != 1 or kwargs or type(args[0][0]) in _NUMBERS or type(args[0][0]) is LT or issubclass(type(args[0][0]), str | bytes):
            return _pure(function)(t, args, kwargs)
        for method, stand_in in ((name, _Gives), ("__index__", _Index)):
            if name == "__index__" and method == name:
                stand_in = _Index
            found = _ask(t, args[0], method)
            if found is None:
                if lookup(t, type(args[0][0]), method).kind != "missing":
                    break
                continue
            answer = t.leak(found)
            if type(answer) not in (int, float, bool):  # which CPython refuses, or warns of
                raise t.stop("LB0003", f"{method} gives a {type(answer).__name__}")
            return found if type(answer) is function else (run_real(function, stand_in(answer)), None)
        return _pure(function)(t, args, kwargs)

    return rule


def hash_of(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`hash(x)` of scalars, tuples, classes, functions, and objects with a `__hash__` in Python."""
    value = args[0][0]
    if type(value) in _NUMBERS:
        return (run_real(hash, t.leak(args[0])), None)
    if type(value) is tuple:
        from lect.frontends.capture.iteration import iterate

        return (run_real(hash, tuple([_Gives(hash_of(t, [item], {})[0]) for item in iterate(t, args[0])])), None)
    if lookup(t, type(value), "__hash__").value is None:  # as of a list, or of a class with an `__eq__` alone
        t.guard_type(args[0])
        run_real(hash, value)  # which raises
    found = _ask(t, args[0], "__hash__")
    if found is not None:
        answer = t.leak(found)
        if type(answer) is not int:
            raise t.stop("LB0003", f"__hash__ gives a {type(answer).__name__}")
        return (run_real(hash, _Gives(answer)), None)
    if issubclass(type(value), type | FunctionType) and not t.is_fresh(value):
        pin(t, value)
        return (run_real(hash, value), None)
    raise t.stop("LB0003", f"hash() of a {type(value).__name__}")


SPECIAL_METHODS: Mapping[Any, Rule] = MappingProxyType(
    {
        abs: _one(abs, "__abs__"),
        reversed: _reversed,
        math.floor: _one(math.floor, "__floor__"),
        math.ceil: _one(math.ceil, "__ceil__"),
        math.trunc: _one(math.trunc, "__trunc__"),
        round: _round,
        divmod: _divmod,
        pow: _pow,
        int: _number(int, "__int__"),
        float: _number(float, "__float__"),
        operator.index: _number(operator.index, "__index__"),
        hash: hash_of,
    }
)
