"""Calls: user functions are inlined, torch functions recorded, C functions run when a table allows it."""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import operator
import re
import types
import weakref
from decimal import Decimal
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import torch

from lect.dialects.guard.containers import has, own_item
from lect.frontends.capture import making, module_calls, policy, scripted
from lect.frontends.capture.attributes import MISSING, find_in_type, load_attr, lookup, python_method
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.cached_functions import call_cached
from lect.frontends.capture.class_objects import rule_of_type
from lect.frontends.capture.content_guards import BOUND_IN_C, guard_contents, method_in_c
from lect.frontends.capture.disabled import is_disabled
from lect.frontends.capture.effects import mutate, run_real, stored_key
from lect.frontends.capture.generators import Callback, IterableForC, TracedGenerator
from lect.frontends.capture.getters import rule_of as rule_of_getter
from lect.frontends.capture.identities import pin
from lect.frontends.capture.iteration import as_list, get_iter, is_lazy, is_python_iterable, iterate, iterate_raw, mapping_items
from lect.frontends.capture.keys import check_held, check_key, check_look_up, key_of
from lect.frontends.capture.known_calls import known_number
from lect.frontends.capture.numbers import RunTimeNumber, apply, plain
from lect.frontends.capture.numpy_values import is_numpy_function, numpy_call
from lect.frontends.capture.objects import describe
from lect.frontends.capture.operators import check_plain, dict_item, holds_key, without_address
from lect.frontends.capture.places import guard_has_key, place_now
from lect.frontends.capture.scalars import DICT_VIEWS, SCALAR_TYPES
from lect.frontends.capture.targets import name_of
from lect.frontends.capture.torch_callees import stands_whole
from lect.frontends.capture.torch_calls import holds_tensor, torch_call
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.capture.value_objects import check_given, is_value
from lect.frontends.capture.weak_references import read_reference
from lect.frontends.tensors import LT

C_FUNCTIONS = (
    BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)
_UNBOUND = (types.ModuleType, type)
_IMMUTABLE: tuple[type, ...] = (type, enum.Enum, range, slice, torch.Size, re.Pattern, re.Match)
_OF_DECIMALS = (int, float, complex, str, hash)  # which ask no context
Kwargs = dict[str, Box]


def call(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    """`callee(*args, **kwargs)`."""
    callee = plain(callee) if t.numbers else callee
    value, source = callee
    kind = type(value)
    if kind is FunctionType:
        if source is not None and not t.is_fresh(value):
            t.guards.is_object(source, value)
        if source is None and not t.is_fresh(value) and id(value) not in t.seen and not (value.__module__ or "").startswith(("torch.", "lect.")):
            raise t.stop("LB0007", describe(value))
        return call_function(t, callee, args, kwargs)
    if kind is MethodType:
        return _call_method_object(t, callee, args, kwargs)
    bound = method_in_c(t, callee) if kind in BOUND_IN_C else None
    if bound is not None:
        return call_c(t, bound[0], [bound[1], *args], kwargs)
    special = _special(t, value)
    if special is not None:
        if source is not None and not guard_contents(t, callee):
            t.guards.is_object(source, value)
        return special(t, args, kwargs)
    if issubclass(type(value), C_FUNCTIONS):
        if source is not None:
            t.guards.is_object(source, value)
        return call_c(t, value, args, kwargs)
    if issubclass(type(value), type):
        if source is not None:
            t.guards.is_object(source, value)
        return making.call_type(t, callee, args, kwargs)
    if kind is functools.partial:
        return _call_partial(t, callee, args, kwargs)
    if issubclass(kind, weakref.ref) and not args and not kwargs and find_in_type(kind, "__call__") is weakref.ref.__dict__["__call__"]:
        return read_reference(t, callee)
    if kind is functools._lru_cache_wrapper:
        return call_cached(t, callee, args, kwargs)
    if kind is scripted.KIND:
        return call_function(t, scripted.function_of(t, callee, args, kwargs), args, kwargs)
    return _call_object(t, callee, args, kwargs)


def _special(t: Tracer, value: Any) -> Any:
    if type(value) is types.MethodWrapperType and issubclass(type(value.__self__), type):
        rule = t.code_table.specials.get(value.__objclass__.__dict__.get(value.__name__))
        return None if rule is None else lambda t, args, kwargs: rule(t, [t.static(value.__self__), *args], kwargs)
    if issubclass(type(value), C_FUNCTIONS) or type(value) in (type, FunctionType, functools._lru_cache_wrapper, type(torch.Generator)):
        return t.code_table.specials.get(value) or rule_of_type(value)
    return rule_of_getter(value)


def call_method(t: Tracer, box: Box, name: str, args: list[Box]) -> Box:
    """`box.name(*args)`."""
    return call(t, load_attr(t, box, name), args, {})


def _call_method_object(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    value, source = callee
    function = value.__func__
    if source is not None:
        t.guard_type(callee)
        me = t.wrap(value.__self__, source.attr("__self__"))
        return call(t, t.wrap(function, source.attr("__func__")), [me, *args], kwargs)
    me = t.wrap(value.__self__)
    special = _special(t, function)
    if special is not None:
        return special(t, [me, *args], kwargs)
    if type(function) is FunctionType:
        return call_function(t, t.static(function) if not t.is_fresh(function) else (function, None), [me, *args], kwargs)
    return call(t, (function, None), [me, *args], kwargs)


def _call_partial(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    value, source = callee
    t.guard_type(callee)

    def part(name: str) -> Box:
        return t.wrap(getattr(value, name), source.attr(name) if source is not None else None)

    merged = {str(name): box for name, box in mapping_items(t, part("keywords")).items()}
    merged.update(kwargs)
    return call(t, part("func"), iterate(t, part("args")) + args, merged)


def _call_object(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    value, source = callee
    kind = type(value)
    if name_of(value) is not None:
        if source is not None:
            t.guards.is_object(source, value)
        return torch_call(t, value, args, kwargs)
    if is_numpy_function(value):
        return numpy_call(t, callee, args, kwargs)
    t.guard_type(callee)
    original = find_in_type(kind, "_lect_original")
    if original is not MISSING:
        return call(t, t.wrap(original, source.step("type").attr("_lect_original") if source is not None else None), args, kwargs)
    found = lookup(t, kind, "__call__")
    if found.value is module_calls.MODULE_CALL:
        return module_calls.call_module(t, callee, args, kwargs)
    if found.kind == "function":
        return call_function(t, t.static(found.value), [callee, *args], kwargs)
    if found.kind == "missing":
        raise UserError(TypeError(f"'{kind.__name__}' object is not callable"))
    raise t.stop("LB0003", describe(value))


# ---- Python functions ------------------------------------------------------------------------------------------------


def call_function(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    """Call a Python function: by a rule of its own, recorded when it is torch's, else inlined."""
    function = callee[0]
    special = t.code_table.specials.get(function)
    if special is not None:
        return special(t, args, kwargs)
    special = t.code_table.made_by_torch.get(function.__code__)
    if special is not None:
        t.memo.switch_off()
        return special(t, callee, args, kwargs)
    if is_disabled(function):
        raise t.stop("LB0028", describe(function))
    original = function.__dict__.get("_lect_original")
    if original is not None:
        return call(t, t.static(original), args, kwargs)
    if is_leaf(function) and stands_whole(t, function):
        return torch_call(t, function, args, kwargs)
    return t.code_table.inline(t, callee, args, kwargs)


def is_leaf(function: FunctionType) -> bool:
    """True for Python functions of torch that the graph calls by name."""
    module = function.__module__ or ""
    if not module.startswith("torch.") or function in policy.FOLLOWED:
        return False
    return any(module == leaf or module.startswith(leaf + ".") for leaf in policy.LEAF_MODULES) and name_of(function) is not None


# ---- C functions -----------------------------------------------------------------------------------------------------


def call_c(t: Tracer, function: Any, args: list[Box], kwargs: Kwargs) -> Box:
    """Call a function written in C."""
    owner = getattr(function, "__self__", None)
    if issubclass(type(function), BOUND_IN_C) and _is_instance_method(function, owner):
        descriptor = _descriptor_of(function, owner)
        if descriptor is not function:
            return call_c(t, descriptor, [t.wrap(owner), *args], kwargs)
    special = _special(t, function)
    if special is not None:
        return special(t, args, kwargs)
    if name_of(function) is not None and not (function in policy.PURE and not holds_tensor([box[0] for box in args])):
        return torch_call(t, function, args, kwargs)
    if function in policy.MUTATORS:
        return mutate(t, function, args, kwargs)
    if function in policy.PURE:
        return call_pure(t, function, args, kwargs)
    if type(function) is BuiltinFunctionType and function.__name__ == "__new__" and issubclass(type(owner), type):
        return making.new_object(t, function, args[0][0], args[1:], kwargs)
    raise t.stop("LB0003", describe(function))


def _is_instance_method(function: Any, owner: Any) -> bool:
    if owner is None or issubclass(type(owner), _UNBOUND):
        return False
    return type(owner).__name__ != "PyCapsule"


def _descriptor_of(function: Any, owner: Any) -> Any:
    for base in type(owner).__mro__:
        entry = base.__dict__.get(function.__name__)
        if issubclass(type(entry), types.MethodDescriptorType | types.WrapperDescriptorType):
            return entry
    return function


# Callables in C, which may compare what they are given; a `functools.partial` is unlike any of the table.
_COMPARING = (type, BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType, functools.partial)


def call_pure(t: Tracer, function: Any, args: list[Box], kwargs: Kwargs) -> Box:
    """Run a C function that only reads; what it reads is guarded, what it would call back is refused."""
    if (t.numbers or function in (int, float)) and not kwargs:
        computed = _on_numbers(t, function, args)
        if computed is not None:
            return computed
    if args and args[0][1] is not None and issubclass(type(args[0][0]), dict) and not kwargs:
        if function is dict.get and len(args) in (2, 3):
            return _sourced_get(t, args)
        if function is dict.__getitem__ and len(args) == 2:
            t.guard_type(args[0])
            return dict_item(t, args[0], args[1])
        if function is dict.__contains__ and len(args) == 2:
            t.guard_type(args[0])
            return (holds_key(t, args[1], args[0]), None)
    raw = [pure_argument(t, function, box) for box in args]
    names_only = function in (dict, collections.OrderedDict, types.SimpleNamespace)
    raw_kwargs = {name: t.leak(box) if names_only else pure_argument(t, function, box) for name, box in kwargs.items()}
    check_look_up(t, function, args, raw)
    if function not in policy.OF_NUMBERS:  # they look at values alone
        _pin_what_decides(t, function, raw, raw_kwargs)
    if function is sorted and kwargs.keys() <= {"reverse"} and raw and _distinct_first_items(raw[0]):
        return t.made(run_real(sorted, raw[0], **raw_kwargs))
    if function in (sorted, min, max, list.index, list.count, list.__contains__) or getattr(function, "__name__", "") in ("__eq__", "__ne__", "__lt__"):
        for value in raw:
            check_plain(t, list(value) if issubclass(type(value), dict) and function in (sorted, min, max) else value)
    if function in (str.join, str.__mod__, str.format):
        for value in raw[1:]:
            check_plain(t, value)
    for value in raw:
        t.check_current(value)
    returned = run_real(function, *raw, **raw_kwargs)
    if type(returned) is str:
        return (without_address(t, returned, raw), None)
    box = t.result(returned, 1)
    if hasattr(type(returned), "__next__") or issubclass(type(returned), DICT_VIEWS):
        t.derive(returned, raw)
    return box


def _pin_what_decides(t: Tracer, function: Any, raw: list[Any], raw_kwargs: dict[str, Any]) -> None:
    """Guard which objects they are that a function compares or hashes."""
    if function not in policy.MOVERS or (function in policy.CALLBACKS and raw and issubclass(type(raw[0]), _COMPARING) and raw[0] not in policy.MOVERS):
        for value in (*raw, *raw_kwargs.values()):
            pin(t, value)
    if function in policy.PAIRING and raw and issubclass(type(raw[0]), list | tuple):
        for pair in raw[0]:
            pin(t, tuple(pair)[:1] if issubclass(type(pair), list | tuple) else pair)


def _on_numbers(t: Tracer, function: Any, args: list[Box]) -> Box | None:
    """Arithmetic with numbers of run time; None when it is something else."""
    if function in (int, float) and len(args) == 1 and type(args[0][0]) is LT:
        found = t.elements.number(args[0][0])
        return None if found is None else apply(t, function, [found]) or (run_real(function, t.leak(found)), None)
    if function is divmod and len(args) == 2:
        parts = [apply(t, part, args) for part in (operator.floordiv, operator.mod)]
        return t.make_tuple([part for part in parts if part is not None]) if None not in parts else None
    if function is operator.truth or function is operator.not_:
        return None
    return apply(t, function, args) if args else None


def _distinct_first_items(value: Any) -> bool:
    """True for pairs whose first items are distinct strings or ints, as those of a dictionary: sorting them compares these alone."""
    if type(value) not in (DICT_VIEWS[2], list, tuple) or not all(type(pair) is tuple and pair for pair in value):
        return False
    keys = [pair[0] for pair in value]
    return {type(key) for key in keys} in ({str}, {int}) and len(set(keys)) == len(keys)


def pure_argument(t: Tracer, function: Any, box: Box) -> Any:
    """What a C function that only reads gets for a box."""
    value, source = box
    kind = type(value)
    if kind in SCALAR_TYPES or kind is RunTimeNumber:
        return t.leak(box)
    if kind is LT:
        if function in (enumerate, zip, list, tuple) and value.dim():
            return get_iter(t, box)[0]
        if function in (int, float, complex, range):
            return known_number(t, value)
        if function in policy.PURE_TYPES and function not in (int, float, complex, bytes, list, tuple, set, dict, frozenset, range, slice, itertools.repeat):
            raise t.stop("LB0002", f"{describe(function)} of a tensor")
        if function in (bytes, list, tuple, set, frozenset, dict):
            raise t.stop("LB0002", f"{describe(function)} of a tensor")
        return value
    if kind is Callback or kind is object:
        return value
    t.guard_type(box)
    if is_value(value) and (kind is not Decimal or function in _OF_DECIMALS):
        check_given(t, box, describe(function))
        return value
    if is_lazy(t, kind):
        given = _for_consumer(t, function, box)
        if given is not MISSING:
            return given
    if issubclass(type(value), (list, tuple, dict, set, frozenset, collections.deque, *DICT_VIEWS)):
        t.register(box)
        return t.in_order(box) if function in policy.IN_ORDER else t.now(box)
    if issubclass(type(value), FunctionType | MethodType):
        if function in policy.CALLBACKS:
            raise t.stop("LB0003", f"{describe(function)} with a Python function")
        return value
    if function in policy.CALLBACKS and python_method(t, kind, "__call__") is not None:
        raise t.stop("LB0003", f"{describe(function)} with an object that is called")
    for name in policy.CALLED_BY_C:
        method = python_method(t, kind, name)
        if method is not None and kind.__module__ != "enum" and method.__module__ != "enum":
            raise t.stop("LB0003", f"{describe(function)} of a {kind.__name__}")
    if t.is_fresh(value) or issubclass(type(value), _IMMUTABLE):
        if source is not None and issubclass(type(value), type | enum.Enum | re.Pattern | re.Match) and not guard_contents(t, box):
            t.guards.is_object(source, value)
        return value
    raise t.stop("LB0003", f"{describe(function)} of a {kind.__module__}.{kind.__qualname__}")


def _for_consumer(t: Tracer, function: Any, box: Box) -> Any:
    """What C code iterates over in place of a lazy iterable; MISSING for one that it may have itself and for a function that is not known to iterate."""
    if function in policy.LAZY:
        if type(box[0]) is TracedGenerator:
            return box[0]
        return IterableForC(t, box) if is_python_iterable(t, type(box[0])) else MISSING
    if function in policy.LISTING:
        return as_list(t, box)
    if function in policy.HASHING:
        items = iterate_raw(t, box)
        for item in items:
            check_key(t, item)
        return items
    if function in policy.PAIRING:
        if lookup(t, type(box[0]), "keys").kind != "missing":
            return {key: t.leak(item) for key, item in mapping_items(t, box).items()}
        pairs = iterate_raw(t, box)
        for pair in pairs:
            if not issubclass(type(pair), tuple | list) or len(pair) != 2:
                raise t.stop("LB0003", f"{describe(function)} of items that are no pairs")
            check_key(t, pair[0])
        return pairs
    return MISSING


def _sourced_get(t: Tracer, args: list[Box]) -> Box:
    container, key = args[0], args[1]
    value, source = container
    t.guard_type(container)
    now = t.now(container)
    if type(key[0]) is LT:
        t.register(container)
        raw = stored_key(t, now, key[0])
    else:
        raw = key_of(t, key)
    check_held(t, now)
    assert source is not None
    if not has(now, raw):
        if not issubclass(type(raw), torch.Tensor):
            guard_has_key(t, value, source, raw)
        return args[2] if len(args) > 2 else NONE
    return t.wrap(own_item(now, raw), place_now(t, value, source, raw))
