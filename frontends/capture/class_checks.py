"""`isinstance` and `issubclass`, asked as CPython asks: what a metaclass, a `__class__` or a `__bases__` of the program answers is code of the program.

C code answers alone where it would run no such code: for real classes without a check of their own, and objects that tell what class they are of.
"""

from __future__ import annotations

import sys
import types
import typing
import weakref
from abc import ABCMeta
from collections.abc import Iterator
from contextvars import Context, Token
from types import FunctionType
from typing import Any

import torch

from lect.frontends.capture.attributes import MISSING, find_in_type, instance_dict, load_attr, python_method
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.class_guards import guard_class_entry, guard_mro, may_change
from lect.frontends.capture.context_vars import TracedContext, TracedToken, a_token
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.frames import TracedFrame
from lect.frontends.capture.generators import TracedGenerator
from lect.frontends.capture.identities import pin
from lect.frontends.capture.iteration import iterate
from lect.frontends.capture.numbers import RunTimeNumber
from lect.frontends.capture.operators import is_same, truth
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.torch_calls import MAX_NESTING
from lect.frontends.capture.tracebacks import TracedTraceback, a_traceback
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.tensors import LT

# Modules whose metaclasses and hooks answer as C code does, whoever asks.
_HONEST = ("abc", "torch", "typing", "enum", "_collections_abc", "collections", "contextlib", "os", "numbers", "importlib")
_INSTANCE, _SUBCLASS = "__instancecheck__", "__subclasscheck__"
_MANY_BASES = 10_000  # one behind the other
PROXIES = (weakref.ProxyType, weakref.CallableProxyType)


def class_of(t: Tracer, box: Box) -> type:
    """`type(x)`, the real class of a traced tensor included."""
    value = box[0]
    if type(value) is LT:
        real = t.real_of.get(id(value))
        return type(real) if real is not None else torch.Tensor
    if type(value) is TracedGenerator:
        return types.GeneratorType
    if type(value) is TracedTraceback:
        return types.TracebackType
    if type(value) is TracedFrame:
        return types.FrameType
    if type(value) is TracedContext:
        return Context
    if type(value) is TracedToken:
        return Token
    if type(value) is RunTimeNumber:
        return type(value.value)
    if box[1] is not None and type(value) in SCALAR_TYPES:
        t.guards.equals(box[1], value)
    return t.guard_type(box)


def stand_in(t: Tracer, box: Box) -> Any:
    """An object for which isinstance answers as for the real one."""
    value = box[0]
    if type(value) is TracedGenerator:
        return (_ for _ in ())
    if type(value) is TracedTraceback:
        return a_traceback()
    if type(value) is TracedFrame:
        return sys._getframe()
    if type(value) is TracedContext:
        return Context()
    if type(value) is TracedToken:
        return a_token()
    if type(value) is RunTimeNumber:
        return value.value
    if type(value) is not LT:
        return value
    real = t.real_of.get(id(value))
    if real is not None:
        return real
    return torch.empty(0, device="meta")


def is_instance(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`isinstance(x, classes)`."""
    if type(args[0][0]) in PROXIES:
        raise t.stop("LB0003", f"isinstance of a {type(args[0][0]).__name__}")
    class_of(t, args[0])
    classes, source = args[1]
    if source is not None:
        t.guards.is_object(source, classes) if issubclass(type(classes), type) else t.register(args[1])
    pin(t, classes)
    return (_check(t, _INSTANCE, args[0], args[1]), None)


def is_subclass(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`issubclass(cls, classes)`."""
    for value, source in args:
        if source is not None and issubclass(type(value), type):
            t.guards.is_object(source, value)
        pin(t, value)
    return (_check(t, _SUBCLASS, args[0], args[1]), None)


def _check(t: Tracer, name: str, subject: Box, classes: Box, depth: int = 0) -> bool:
    """The answer of `isinstance` (`name` is `__instancecheck__`) or `issubclass` for one class or a tuple of classes."""
    raw, asked = stand_in(t, subject), classes[0]
    if _tells_its_class(raw, name) and _answers_in_c(t, asked, name):
        answer: bool = run_real(isinstance if name == _INSTANCE else issubclass, raw, asked)
        _guard_answer(t, name, subject, raw, asked, answer)
        return answer
    if name == _INSTANCE and type(raw) is asked:
        return True
    if depth > MAX_NESTING:
        raise t.stop("LB0003", f"classes in tuples that are nested deeper than {MAX_NESTING}")
    if issubclass(type(asked), tuple):
        return any(_check(t, name, subject, part, depth + 1) for part in iterate(t, classes))
    method = python_method(t, type(asked), name)
    if method is not None and not (issubclass(type(asked), type) and type(asked).__module__.startswith(_HONEST)):
        from lect.frontends.capture.calls import call_function

        return truth(t, call_function(t, t.static(method), [t.static(asked) if issubclass(type(asked), type) else classes, subject], {}))
    if issubclass(type(asked), types.UnionType):
        return any(_check(t, name, subject, t.static(part), depth + 1) for part in asked.__args__)
    if issubclass(type(asked), type):
        if not _answers_in_c(t, asked, name):
            raise t.stop("LB0003", f"the __subclasshook__ of {asked.__name__}")
        return _of_real_class(t, name, subject, raw, classes)
    return _of_object(t, name, subject, classes)


def _tells_its_class(raw: Any, name: str) -> bool:
    """True when C code need not ask the program for the class of a subject."""
    kind = type(raw)
    if name == _SUBCLASS:
        return issubclass(type(raw), type) or kind in SCALAR_TYPES or kind is types.GenericAlias or kind.__module__ == "typing"
    if kind in SCALAR_TYPES or issubclass(kind, torch.Tensor):
        return True
    return find_in_type(kind, "__class__") is object.__dict__["__class__"] and type(find_in_type(kind, "__getattribute__")) is not FunctionType


def _answers_in_c(t: Tracer, asked: Any, name: str, depth: int = 0) -> bool:
    """True when C code, or code of the standard library that reads nothing else, answers for one class, a union, or a tuple of classes."""
    kind = type(asked)
    if issubclass(type(asked), type):
        if kind is type:
            return True
        if not kind.__module__.startswith(_HONEST) and python_method(t, kind, name) is not None:
            return False
        hook = find_in_type(asked, "__subclasshook__") if issubclass(kind, ABCMeta) else MISSING
        function = hook.__func__ if isinstance(hook, classmethod | staticmethod) else hook
        return type(function) is not FunctionType or function.__module__.startswith(_HONEST)
    if issubclass(type(asked), tuple):
        return depth < MAX_NESTING and all(_answers_in_c(t, part, name, depth + 1) for part in asked)
    if kind is types.UnionType:
        return all(_answers_in_c(t, part, name, depth + 1) for part in asked.__args__)
    return kind in SCALAR_TYPES or kind is types.GenericAlias or kind.__module__ == "typing"


def _of_real_class(t: Tracer, name: str, subject: Box, raw: Any, classes: Box) -> bool:
    """The answer for a class that asks the subject, which may be no class, or says itself of what class it is."""
    asked = classes[0]
    if name == _SUBCLASS:
        if issubclass(type(asked), ABCMeta):
            return run_real(issubclass, None, asked)  # which raises
        return _is_derived(t, subject, classes) if _is_class(t, subject, (object(), int)) else False
    abstract = issubclass(type(asked), ABCMeta)
    if not abstract and _derives(t, type(raw), asked):
        return True
    try:
        says = load_attr(t, subject, "__class__")[0]
    except UserError as raised:
        if abstract or not issubclass(type(raised.error), AttributeError):
            raise
        return False
    return any(issubclass(type(cls), type) and _derives(t, cls, asked) for cls in ([says, type(raw)] if abstract else [says]))


def _derives(t: Tracer, cls: type, asked: type) -> bool:
    """`issubclass` of real classes."""
    answer: bool = run_real(issubclass, cls, asked)
    _guard_answer(t, _SUBCLASS, NONE, cls, asked, answer)
    return answer


# The attributes by which these classes know tensors of other classes.
_MARKS = ((torch.nn.Parameter, "_is_param"), (torch.nn.Buffer, "_is_buffer"))


def _guard_mark(t: Tracer, subject: Box, raw: Any, mark: str) -> None:
    """Guard whether a tensor bears a mark, and that it is as true as it was."""
    assert subject[1] is not None
    if mark in raw.__dict__:
        t.guards.truth(subject[1].attr(mark), bool(raw.__dict__[mark]))
    else:
        t.guards.no_attr(subject[1], mark)


def _guard_answer(t: Tracer, name: str, subject: Box, raw: Any, asked: Any, answer: bool) -> None:
    """Guard what an answer that C code gave hangs on: the MRO of the subject's class, and classes registered with abstract ones."""
    cls = type(raw) if name == _INSTANCE else raw
    if not issubclass(type(cls), type):
        return
    guard_mro(t, cls)
    parts = list(_parts(asked))
    for part in parts:
        if getattr(part, "_is_protocol", False) and type(part).__module__.startswith("typing"):
            _guard_members(t, cls, subject, part)
        elif not answer and issubclass(type(part), ABCMeta) and not t.is_fresh(part) and not t.is_fresh(cls):
            t.guards.no_subclass(t.static_source(cls), t.static_source(part))
        elif name == _INSTANCE and subject[1] is not None and issubclass(cls, torch.Tensor):
            for marked, mark in _MARKS:
                if part is marked:
                    _guard_mark(t, subject, raw, mark)
    if name == _INSTANCE and not answer and may_change(cls):
        guard_class_entry(t, cls, "__getattribute__", find_in_type(cls, "__getattribute__"))  # it may say that the object is of another class


def _parts(asked: Any) -> Iterator[type]:
    """The classes in a class, union or tuple."""
    if issubclass(type(asked), type):
        yield asked
    else:
        for part in asked if issubclass(type(asked), tuple) else asked.__args__ if type(asked) is types.UnionType else ():
            yield from _parts(part)


def _guard_members(t: Tracer, cls: type, subject: Box, protocol: Any) -> None:
    """Guard which of the members of a protocol an object and its class have."""
    members = getattr(protocol, "__protocol_attrs__", None) or typing._get_protocol_attrs(protocol)  # type: ignore[attr-defined]
    for name in sorted(members):
        entry = find_in_type(cls, name)
        guard_class_entry(t, cls, name, entry)
        if entry is MISSING and subject[1] is not None and instance_dict(t, subject[0]) is not None:
            t.guards.has_key(subject[1].step("dict"), name, name in object.__getattribute__(subject[0], "__dict__"))


def _of_object(t: Tracer, name: str, subject: Box, classes: Box) -> bool:
    """The answer for an object that has bases like a class."""
    if name == _SUBCLASS:
        _is_class(t, subject, (object(), int))
        _is_class(t, classes, (int, object()))
        return _is_derived(t, subject, classes)
    if _bases_of(t, classes) is None:
        run_real(isinstance, None, object())  # which raises
    try:
        says = load_attr(t, subject, "__class__")
    except UserError as raised:
        if not issubclass(type(raised.error), AttributeError):
            raise
        return False
    return _is_derived(t, says, classes)


def _is_class(t: Tracer, box: Box, wrong: tuple[Any, Any]) -> bool:
    """True for what has bases; otherwise the TypeError of `issubclass` for such arguments as `wrong`."""
    if not issubclass(type(box[0]), type) and _bases_of(t, box) is None:
        run_real(issubclass, *wrong)
    return True


def _bases_of(t: Tracer, box: Box) -> list[Box] | None:
    """`box.__bases__` if it is a tuple, None when there is none."""
    try:
        bases = load_attr(t, box, "__bases__")
    except UserError as raised:
        if issubclass(type(raised.error), AttributeError):
            return None
        raise
    return iterate(t, bases) if issubclass(type(bases[0]), tuple) else None


def _is_derived(t: Tracer, derived: Box, classes: Box, depth: int = 0) -> bool:
    """True when `classes` is among `derived`, its bases, and theirs."""
    if depth > MAX_NESTING:
        raise t.stop("LB0003", f"bases of bases deeper than {MAX_NESTING}")
    for _ in range(_MANY_BASES):
        if is_same(t, derived, classes):
            return True
        bases = _bases_of(t, derived)
        if not bases:
            return False
        if len(bases) > 1:
            return any(_is_derived(t, base, classes, depth + 1) for base in bases)
        derived = bases[0]
    raise t.stop("LB0003", f"more than {_MANY_BASES} bases")
