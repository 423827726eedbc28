"""Rules for functions of the standard library that would otherwise look into objects from C: copies, identities, signatures."""

from __future__ import annotations

import copy
import copyreg
import inspect
from abc import ABCMeta
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import torch

from lect.dialects.guard.containers import elements
from lect.frontends.capture.attributes import MISSING, find_in_type, instance_dict, load_attr
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.iteration import iterate, mapping_items
from lect.frontends.capture.keys import hashed_in_python
from lect.frontends.capture.numbers import RunTimeNumber
from lect.frontends.capture.objects import describe
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.sources import Source
from lect.frontends.capture.torch_calls import torch_call
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.tensors import LT, layout_of

Kwargs = dict[str, Box]
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made by Python code
_NEW_OBJECT: Any = copyreg.__newobj__  # type: ignore[attr-defined]
# Copied by reference.
_ATOMS = (type, FunctionType, BuiltinFunctionType, torch.dtype, torch.device, range)
# A class that defines one of these says itself how it is copied.
_COPY_HOOKS = (*("__deepcopy__", "__copy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__new__"),)
_ASKED = ("__reduce_ex__", "__reduce__", "__getstate__")  # of an object by name, which a class may answer in Python


def deepcopy(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`copy.deepcopy(x, memo)`: plain data are copied here, and the code of `copy` is followed for objects that have a say in it."""
    memo = (args[1] if len(args) > 1 else kwargs.get("memo")) or NONE
    own = memo[0] is None or (type(memo[0]) is dict and t.is_fresh(memo[0]))
    if len(args) > 2 or set(kwargs) - {"memo"} or not own:
        return t.code_table.inline(t, t.static(copy.deepcopy), args, kwargs)  # type: ignore[no-any-return]
    if memo[0] is not None:
        return _deep(t, args[0], memo[0])
    made = t.made({})[0]
    t.memos.add(id(made))
    return _deep(t, args[0], made)


def _known(t: Tracer, value: Any) -> Box:
    """The box of a copy that a memo holds."""
    return t.seen.get(id(value)) or (value, None)


def _deep(t: Tracer, box: Box, memo: dict[int, Any]) -> Box:
    made: Any
    value = box[0]
    kind = type(value)
    if kind in SCALAR_TYPES or kind is RunTimeNumber:
        return (t.stored(box), None)
    if id(value) in memo:
        return _known(t, memo[id(value)])
    if issubclass(type(value), _ATOMS):
        t.register(box)
        return box
    if kind is tuple:
        items = iterate(t, box)
        copies = [_deep(t, item, memo) for item in items]
        if id(value) in memo:  # it contains itself
            return _known(t, memo[id(value)])
        if all(copy[0] is item[0] for copy, item in zip(copies, items)):
            return box
        made = t.make_tuple(copies)
        memo[id(value)] = made[0]
        return _kept_alive(t, value, memo)
    if kind is LT:
        if id(memo) not in t.memos:  # torch notes more in there than the copy
            raise t.stop("LB0003", "copy.deepcopy of a tensor with a memo of the program")
        made = _deep_tensor(t, box, memo)
        memo[id(value)] = made[0]
        return _kept_alive(t, value, memo)
    t.guard_type(box)
    if kind is list:
        made = []
        memo[id(value)] = t.made(made)[0]
        made.extend(_deep(t, item, memo)[0] for item in iterate(t, box))
    elif kind is dict:
        made = {}
        memo[id(value)] = t.made(made)[0]
        made.update({key: _deep(t, item, memo)[0] for key, item in mapping_items(t, box).items()})
    elif (kind is set or kind is frozenset) and not hashed_in_python(elements(t.now(box))):
        made = run_real(kind, [_deep(t, item, memo)[0] for item in iterate(t, box)])
        memo[id(value)] = t.made(made)[0]
    elif not _is_plain_class(t, value):
        return t.code_table.inline(t, t.static(copy.deepcopy), [box, (memo, None)], {})  # type: ignore[no-any-return]
    else:
        _ask(t, box)
        made = object.__new__(kind)
        copied = t.made(made)
        memo[id(value)] = made
        _ask_for_none(t, copied, "__setstate__")
        if load_attr(t, copied, "__dict__")[0] is not instance_dict(t, made):
            raise t.stop("LB0003", f"copy.deepcopy of a {describe(value)}")
        for name, item in mapping_items(t, load_attr(t, box, "__dict__")).items():
            made.__dict__[name] = _deep(t, item, memo)[0]
    return _kept_alive(t, value, memo)


def _kept_alive(t: Tracer, value: Any, memo: dict[int, Any]) -> Box:
    """The copy of `value`, which the memo holds, as `copy` does it, so that nothing else gets its id."""
    originals = memo.get(id(memo))
    if originals is None:
        originals = memo[id(memo)] = t.made([])[0]
    originals.append(value)
    return _known(t, memo[id(value)])


def _deep_tensor(t: Tracer, box: Box, memo: dict[int, Any]) -> Box:
    """A tensor with memory of its own.  Breaks for one that shares memory, which its copy would share with other copies, and for parameters."""
    tensor = box[0]
    real = t.real_of.get(id(tensor))
    layout = layout_of(tensor)
    whole = layout.storage_offset == 0 and (real is None or real.untyped_storage().nbytes() == real.numel() * real.itemsize)
    others = [each for each in (t.real_of.get(key) for key in memo) if each is not None and each is not real]
    whole = whole and (real is None or all(each.untyped_storage().data_ptr() != real.untyped_storage().data_ptr() for each in others))
    is_view = tensor._is_view() or id(tensor) in t.repeats.views
    if tensor.requires_grad or not tensor.is_leaf or is_view or not whole or type(real) not in (torch.Tensor, type(None)):
        raise t.stop("LB0003", "copy.deepcopy of a tensor that shares memory, requires gradients or is a parameter")
    return torch_call(t, torch.clone, [box], {})


def _is_plain_class(t: Tracer, value: Any) -> bool:
    """True for an object that its class has no say about, and that holds nothing but its dictionary.  Breaks for what has memory of its own in C."""
    kind = type(value)
    if issubclass(type(value), ModuleType | MethodType | torch.nn.Module | torch.Tensor) or kind is LT:
        raise t.stop("LB0003", f"copy.deepcopy of a {describe(value)}")
    own = [name for name in _COPY_HOOKS if find_in_type(kind, name) not in (MISSING, getattr(object, name, MISSING))]
    return not (own or type(instance_dict(t, value)) is not dict or _has_slots(kind))


def _lies_in_python(cls: type) -> bool:
    """True for a class whose objects hold a dictionary, and at most the items of a list or dictionary besides."""
    return all(base in (object, list, dict) or base.__flags__ & _HEAP_TYPE for base in cls.__mro__) and not any(
        base.__dict__.get("__slots__") or base.__dict__.get("__slotnames__") for base in cls.__mro__
    )


def reduce_ex(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`object.__reduce_ex__(x, protocol)`, as C does it for the protocols since 2."""
    from lect.frontends.capture.calls import call, call_method

    box = args[0]
    kind = t.guard_type(box)
    if find_in_type(kind, "__reduce__") is not object.__dict__["__reduce__"]:
        return call_method(t, box, "__reduce__", [])
    protocol = t.leak(args[1]) if len(args) == 2 else 0
    if type(protocol) is not int or protocol < 2 or not _lies_in_python(kind) or find_in_type(kind, "__getnewargs_ex__") is not MISSING:
        raise t.stop("LB0003", f"the parts of a {describe(box[0])} for a copy")
    given = _new_arguments(t, box) if find_in_type(kind, "__getnewargs__") is not MISSING else []
    state = call_method(t, box, "__getstate__", [])
    items = call(t, t.static(iter), [box], {}) if issubclass(kind, list) else NONE
    pairs = call(t, t.static(iter), [call_method(t, box, "items", [])], {}) if issubclass(kind, dict) else NONE
    return t.make_tuple([t.static(_NEW_OBJECT), t.make_tuple([t.static(kind), *given]), state, items, pairs])


def _new_arguments(t: Tracer, box: Box) -> list[Box]:
    """What `__getnewargs__` of an object gives."""
    from lect.frontends.capture.calls import call_method

    given = call_method(t, box, "__getnewargs__", [])
    if not issubclass(type(given[0]), tuple):
        raise UserError(TypeError(f"__getnewargs__ should return a tuple, not '{type(given[0]).__name__}'"))
    return iterate(t, given)


def get_state(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`object.__getstate__(x)`: the dictionary, None for an empty one."""
    box = args[0]
    if not _lies_in_python(t.guard_type(box)):
        raise t.stop("LB0003", f"the state of a {describe(box[0])} for a copy")
    names = load_attr(t, box, "__dict__")
    held = mapping_items(t, names)
    return names if held else NONE


def _ask(t: Tracer, box: Box) -> None:
    """Ask an object for what copying looks up on it, as its class may answer in Python.  Breaks for other answers than those of `object`."""
    value = box[0]
    _ask_for_none(t, box, "__deepcopy__")
    for name in _ASKED:
        try:
            found = load_attr(t, box, name)[0]
        except UserError as raised:
            if not issubclass(type(raised.error), AttributeError):
                raise
            found = None  # which `copy` takes for an answer too
        if getattr(found, "__self__", None) is not value or type(found) is not BuiltinFunctionType or found.__name__ != name:
            raise t.stop("LB0003", f"copy.deepcopy of a {describe(value)}, whose {name} is its own")


def _ask_for_none(t: Tracer, box: Box, name: str) -> None:
    try:
        load_attr(t, box, name)
    except UserError as raised:
        if issubclass(type(raised.error), AttributeError):
            return
        raise
    raise t.stop("LB0003", f"copy.deepcopy of a {describe(box[0])}, which has a {name}")


def _has_slots(cls: type) -> bool:
    return any(base.__dict__.get("__slots__") or base.__dict__.get("__slotnames__") for base in cls.__mro__) or cls.__basicsize__ > _Plain.__basicsize__


class _Plain:
    """A class whose objects hold nothing besides their dictionary."""


class Identity(int):
    """What `id()` gave: good as a key and for comparing, and of no meaning outside of the trace."""


def identity(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`id(x)`, the object being the same one whenever it comes from outside."""
    value, source = args[0]
    if type(value) in SCALAR_TYPES or type(value) is LT:
        raise t.stop("LB0013", f"id() of a {type(value).__name__}")
    if source is not None:
        t.guards.is_object(source, value)
    return t.made(Identity(id(value)))


def _guard_signature(t: Tracer, function: Any, source: Source) -> None:
    """Guard what `inspect.signature` reads of a function: its code, defaults, annotations, and the names by which it says something else."""
    t.guards.is_object(source.attr("__code__"), function.__code__)
    for name in ("__defaults__", "__kwdefaults__", "__annotations__"):
        held, place = getattr(function, name), source.attr(name)
        if held is None:
            t.guards.equals(place, None)
        else:
            t.register(t.wrap(held, place))
    for name in ("__signature__", "__wrapped__", "__text_signature__"):
        if name not in function.__dict__:
            t.guards.no_attr(source, name)
        else:
            t.guards.is_object(source.step("dict").item(name), function.__dict__[name])
    inner = function.__dict__.get("__wrapped__")
    if type(inner) is FunctionType:
        _guard_signature(t, inner, t.static_source(inner))


def signature(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`inspect.signature(f)` of a Python function or method, or of a class that the trace has made."""
    value = args[0][0]
    function = value.__func__ if issubclass(type(value), MethodType) else value
    of_class = t.is_fresh(value) and type(value) in (type, ABCMeta)
    if len(args) != 1 or kwargs or not (of_class or type(function) is FunctionType):
        raise t.stop("LB0003", f"inspect.signature of a {describe(value)}")
    if args[0][1] is not None:
        t.guards.is_object(args[0][1], value) if value is function else t.guards.is_object(args[0][1].attr("__func__"), function)
    if not of_class and not t.is_fresh(function):
        _guard_signature(t, function, t.static_source(function))
    made = run_real(inspect.signature, value)
    t.made(made.parameters)
    t.keep.append(made)
    return t.made(made)


COPYING: Mapping[Any, Any] = MappingProxyType(
    {
        copy.deepcopy: deepcopy,
        object.__reduce_ex__: reduce_ex,
        object.__getstate__: get_state,  # type: ignore[attr-defined]
        id: identity,
        inspect.signature: signature,
    }
)
