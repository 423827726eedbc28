"""Objects that the program makes of classes: `__new__` and `__init__`, in Python and in C."""

from __future__ import annotations

import collections
import functools
import weakref
from types import FunctionType
from typing import Any

import torch

from lect.dialects.guard.containers import redefines
from lect.frontends.capture import calls, policy
from lect.frontends.capture.attributes import MISSING, find_in_type, lookup, python_method
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.data_aliases import NEW_VARIABLE, make_variable
from lect.frontends.capture.effects import items_to_add, run_real
from lect.frontends.capture.exception_groups import given_exceptions
from lect.frontends.capture.iteration import iterate_raw
from lect.frontends.capture.keys import check_key
from lect.frontends.capture.numbers import plain
from lect.frontends.capture.objects import describe
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.slots import NOT_MADE
from lect.frontends.capture.targets import name_of
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.capture.value_objects import VALUES, make_value
from lect.frontends.capture.weak_references import LIBRARY
from lect.frontends.tensors import LT

Kwargs = dict[str, Box]


def call_type(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    """Make an object of a class."""
    cls = callee[0]
    if cls in policy.PURE_TYPES:
        return calls.call_pure(t, cls, args, kwargs)
    if cls is functools.partial:
        keywords = {name: t.leak(box) for name, box in kwargs.items()}
        _register_partial(t, args[0])
        return t.made(run_real(functools.partial, args[0][0], *t.leak_all(args[1:]), **keywords))
    if cls is weakref.ref and len(args) == 1 and not kwargs:
        return (run_real(weakref.ref, args[0][0]), None)
    if name_of(cls) is not None or issubclass(cls, torch.Tensor):
        raise t.stop("LB0005", f"a {cls.__name__} is made")
    t.static(cls)
    meta = python_method(t, type(cls), "__call__")
    if meta is not None:
        return calls.call_function(t, t.static(meta), [callee, *args], kwargs)
    if find_in_type(cls, "__del__") is not MISSING:
        raise t.stop("LB0018", describe(cls))
    made = allocate(t, callee, args, kwargs)
    if cls in type(made[0]).__mro__:
        initialize(t, made, args, kwargs)
    return made


def allocate(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    cls = callee[0]
    new = lookup(t, cls, "__new__").value
    new = new.__func__ if issubclass(type(new), staticmethod) else new
    if type(new) is FunctionType:
        return calls.call_function(t, t.static(new), [callee, *args], kwargs)
    return new_object(t, new, cls, args, kwargs)


def new_object(t: Tracer, new: Any, cls: type, args: list[Box], kwargs: Kwargs) -> Box:
    """`new(cls, *args)` for a `__new__` written in C."""
    if not issubclass(type(cls), type):
        run_real(new, cls)  # which raises
        raise t.stop("LB0003", f"{new.__qualname__} of no class")
    if new is object.__new__:
        return t.made(run_real(type.__call__ if cls.__flags__ & NOT_MADE else object.__new__, cls))
    if new is type.__new__:
        return t.code_table.specials[new](t, [(cls, None), *args], kwargs)  # type: ignore[no-any-return]
    if issubclass(cls, dict | list | set | collections.deque):
        return t.made(run_real(new, cls))
    if issubclass(cls, BaseException):
        groups = new is BaseExceptionGroup.__new__ and len(args) == 2
        return t.made(run_real(new, cls, *([t.leak(args[0]), given_exceptions(t, args[1])] if groups else t.leak_all(args))))
    if issubclass(cls, tuple) and len(args) <= 1 and not kwargs:
        return t.made(run_real(new, cls, *[tuple(iterate_raw(t, box)) for box in args]))
    if issubclass(cls, frozenset) and not kwargs:
        return t.made(run_real(new, cls, *[hashed(t, t.now(box) if _has_hashes(t, box) else iterate_raw(t, box)) for box in args]))
    if issubclass(cls, int | str | float) and not kwargs and all(type(box[0]) in SCALAR_TYPES for box in args):
        return t.made(run_real(new, cls, *t.leak_all(args)))
    if issubclass(cls, weakref.ref) and not kwargs and 1 <= len(args) <= 2:
        return _make_reference(t, new, cls, args)
    if cls in VALUES:
        return make_value(t, cls, args, kwargs)
    if new is NEW_VARIABLE:
        return make_variable(t, args, kwargs)
    raise t.stop("LB0003", f"making a {describe(cls)}")


MOST_WATCHED = 128  # objects that are looked for at each call of a weak container, among all that the frame holds


def nothing_to_do(referent: Any) -> None:
    """Stands for the function that a weak reference of the library calls when its object goes: see `check_alive`."""


def _make_reference(t: Tracer, new: Any, cls: type, args: list[Box]) -> Box:
    """A weak reference, with the function that it calls in the end if that is one of the library's own."""
    called = args[1][0] if len(args) == 2 else None
    if called is None:
        return t.made(run_real(new, cls, args[0][0]))
    if type(called) is not FunctionType or called.__module__ not in LIBRARY:
        raise t.stop("LB0018", "a weak reference that calls a function when its object goes")
    if t.is_fresh(args[0][0]) or type(args[0][0]) is LT:
        t.weakly.append(args[0][0])
        if len(t.weakly) > MOST_WATCHED:
            raise t.stop("LB0031", f"weak containers of more than {MOST_WATCHED} objects made in the frame")
    return t.made(run_real(new, cls, args[0][0], nothing_to_do))


def initialize(t: Tracer, made: Box, args: list[Box], kwargs: Kwargs) -> None:
    """`made.__init__(*args)`."""
    cls = type(made[0])
    init = lookup(t, cls, "__init__").value
    if type(init) is FunctionType:
        returned = calls.call_function(t, t.static(init), [made, *args], kwargs)[0]
        if returned is not None:
            raise UserError(TypeError(f"__init__() should return None, not '{type(returned).__name__}'"))
    elif init is object.__init__:
        new = lookup(t, cls, "__new__").value
        if (args or kwargs) and new is object.__new__:
            raise UserError(TypeError(f"{cls.__name__}() takes no arguments"))
    elif issubclass(type(made[0]), tuple | int | str | float | frozenset) or init is type.__init__:
        return
    elif issubclass(cls, weakref.ref) or cls in VALUES:  # which were given all when they were made
        return
    elif t.is_fresh(made[0]) and issubclass(type(made[0]), dict | list | set | collections.deque | BaseException):
        call_c_init(t, init, made, args, kwargs)
    else:
        raise t.stop("LB0003", f"initializing a {describe(cls)}")


_READABLE = frozenset({list, tuple, dict, set, frozenset, collections.deque, collections.OrderedDict, str, bytes, range, int, float, bool, type(None)})


def call_c_init(t: Tracer, init: Any, made: Box, args: list[Box], kwargs: Kwargs) -> None:
    """Run the `__init__` of a builtin container or exception on an object that the trace has made."""
    args, kwargs = [plain(box) for box in args], {name: plain(box) for name, box in kwargs.items()}
    for box in args:
        if type(box[0]) is LT and not issubclass(type(made[0]), BaseException):
            raise t.stop("LB0002", f"a {type(made[0]).__name__} made of a tensor")
        t.leak(box) if type(box[0]) in SCALAR_TYPES else t.register(box)
    filled = issubclass(type(made[0]), dict | list | set | collections.deque)
    items = 1 if issubclass(type(made[0]), collections.defaultdict) else 0  # behind its factory
    raw = [items_to_add(t, made[0], box) if filled and number == items and type(box[0]) not in _READABLE else t.now(box) for number, box in enumerate(args)]
    if issubclass(type(made[0]), set):
        hashed(t, raw[0] if raw else ())
    elif issubclass(type(made[0]), dict) and len(raw) > items and type(raw[items]) in (list, tuple):
        hashed(t, [pair[0] for pair in raw[items] if issubclass(type(pair), tuple | list) and pair])
    run_real(init, made[0], *raw, **{name: t.leak(box) for name, box in kwargs.items()})


def _has_hashes(t: Tracer, box: Box) -> bool:
    """True for a container that knows the hashes of its items; what C code reads of it is then registered."""
    if not issubclass(type(box[0]), dict | set | frozenset) or redefines(type(box[0]), "__iter__"):
        return False
    t.register(box)
    return True


def hashed(t: Tracer, items: Any) -> Any:
    """Items to put into a set or to use as keys; breaks when C code would run code of the program to hash them."""
    if issubclass(type(items), list | tuple | collections.deque):
        for item in items:
            check_key(t, item)
    return items


def _register_partial(t: Tracer, box: Box) -> None:
    """C code takes a partial apart: make what is in it findable."""
    value, source = box
    if type(value) is functools.partial and source is not None:
        t.guard_type(box)
        _register_partial(t, t.wrap(value.func, source.attr("func")))
        for name in ("args", "keywords"):
            t.register(t.wrap(getattr(value, name), source.attr(name)))
