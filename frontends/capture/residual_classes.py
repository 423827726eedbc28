"""Residual code for what a class statement makes: classes, and the functions and descriptors in them, which refer to each other in circles.

A class is made bare, with its names in their order; its entries follow when everything else is made (`ResidualBuilder.settle`), so that functions whose
cells hold the class, and objects of the class, may stand among them.
"""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import gc
import threading
import types
from _collections import _tuplegetter  # type: ignore[import-not-found]
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from lect.dialects.pyframe import building
from lect.dialects.pyframe import ops as py
from lect.frontends.capture.attributes import MISSING, find_in_type
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.class_objects import bare_class
from lect.frontends.capture.objects import describe
from lect.frontends.capture.value_objects import VALUE_MAKERS
from lect.ir import Value

if TYPE_CHECKING:
    from lect.frontends.capture.residual import ResidualBuilder

_AT_ONCE = frozenset({"__module__", "__slots__"})  # `type.__new__` looks at them; what else it looks at is set behind it
_SETTABLE = frozenset({"__module__", "__doc__", "__annotations__", "__abstractmethods__", "__type_params__"})  # entries like any others
_OF_ABC, _OF_AUTOGRAD = frozenset({"_abc_impl", "__abstractmethods__"}), "_backward_cls"
_LOCK, _RLOCK = type(threading.Lock()), type(threading.RLock())
_FUNCTION_META = type(torch.autograd.Function)


def class_value(builder: ResidualBuilder, cls: type) -> Value:
    """A class that the trace has made."""
    meta = type(cls)
    if find_in_type(meta, "mro") is not type.__dict__["mro"] or type(cls.__dict__) is not types.MappingProxyType:
        raise GraphBreak("LB0008", describe(cls), builder.loc)
    entries: dict[str, Any] = {}
    names: list[Value] = []
    behind = False  # what was set when the class had been made
    for name, entry in cls.__dict__.items():
        if _is_automatic(cls, name, entry):
            behind = True
            continue
        if name not in _SETTABLE and find_in_type(type(find_in_type(meta, name)), "__set__") is not MISSING:
            raise GraphBreak("LB0008", f"{describe(cls)}, whose own {name} hides that of all classes", builder.loc)
        entries[name] = entry
        if not behind:
            names += [builder.constant(name), builder.value(entry) if name in _AT_ONCE else builder.constant(None)]
    names += [builder.constant("__qualname__"), builder.constant(cls.__qualname__)]
    bases = builder.emit(building.BuildTupleOp([builder.value(base) for base in cls.__bases__]))
    made = builder.call(bare_class, builder.value(meta), builder.constant(cls.__name__), bases, builder.emit(building.BuildMapOp(names)))
    builder.pending.append((cls, lambda: _fill(builder, cls, made, entries)))
    return made


def _is_automatic(cls: type, name: str, entry: Any) -> bool:
    """True for what `type.__new__` puts into every class, and for slots."""
    kind = type(entry)
    if kind is types.MemberDescriptorType:
        return entry.__objclass__ is cls
    return kind is types.GetSetDescriptorType and entry.__objclass__ is cls and name in ("__dict__", "__weakref__")


def _fill(builder: ResidualBuilder, cls: type, made: Value, entries: dict[str, Any]) -> None:
    abstract = "_abc_impl" in cls.__dict__
    autograd = issubclass(type(cls), _FUNCTION_META) and _OF_AUTOGRAD in cls.__dict__
    for name, entry in entries.items():
        if name in _AT_ONCE or (abstract and name in _OF_ABC) or (autograd and name == _OF_AUTOGRAD):
            continue
        value = builder.value(entry)
        builder.call(type.__setattr__, made, builder.constant(name), value)
        if issubclass(type(entry), property) and builder.t.is_fresh(entry):
            builder.call(property.__set_name__, value, made, builder.constant(name))  # type: ignore[attr-defined]
    if abstract:
        builder.call(_abc._abc_init, made)
    if autograd:
        empty = builder.emit(building.BuildTupleOp([]))
        builder.call(_FUNCTION_META.__init__, made, builder.constant(cls.__name__), empty, builder.constant(None))


def function_wrapper(builder: ResidualBuilder, value: Any) -> Value:
    """A `staticmethod` or `classmethod`; `type.__new__` makes one of some functions itself."""
    made = builder.t.is_fresh(value) or builder.t.is_fresh(value.__func__)
    return builder.call(type(value), builder.value(value.__func__)) if made else builder.resource(value)


def property_value(builder: ResidualBuilder, value: property) -> Value:
    """A property, with the text that it has in the place of its getter's."""
    if not builder.t.is_fresh(value):
        return builder.resource(value)
    parts = [builder.value(part) for part in (value.fget, value.fset, value.fdel)]
    inherited = value.fget is not None and value.__doc__ == value.fget.__doc__
    return builder.call(property, *parts, builder.value(None if inherited else value.__doc__))


def lock_value(builder: ResidualBuilder, value: Any) -> Value:
    """A lock that nobody holds."""
    if not builder.t.is_fresh(value):
        return builder.resource(value)
    again = type(value) is _RLOCK
    if value._is_owned() if again else value.locked():
        raise GraphBreak("LB0008", f"{describe(value)} that is held", builder.loc)
    return builder.call(_RLOCK if again else threading.Lock)


def names_of_class(builder: ResidualBuilder, value: types.MappingProxyType) -> Value:
    """The names of a class that the trace has made, as the class shows them; no other view of a mapping can be made again."""
    for cls in builder.t.classes:
        if gc.get_referents(cls.__dict__)[0] is gc.get_referents(value)[0]:
            return builder.emit(py.LoadAttrOp(builder.value(cls), "__dict__"))
    raise GraphBreak("LB0008", describe(value), builder.loc)


def slots_of(value: Any) -> dict[str, Any]:
    """What is in the slots of an object.  Breaks for a slot that another entry of the class hides."""
    kind, found = type(value), {}
    for base in kind.__mro__:
        for name, entry in base.__dict__.items():
            if type(entry) is not types.MemberDescriptorType or entry.__objclass__ is not base:
                continue
            try:
                held = entry.__get__(value, kind)
            except AttributeError:
                continue
            if find_in_type(kind, name) is not entry:
                raise GraphBreak("LB0008", f"a {kind.__name__} with a hidden slot {name}")
            found[name] = held
    return found


def fill_cell(builder: ResidualBuilder, cell: types.CellType, contents: Any) -> Value:
    """A cell that gets its contents when everything else is made: it may hold what refers to it."""
    made = builder.call(types.CellType)

    def fill() -> None:
        builder.block.append(py.StoreAttrOp(made, builder.value(contents), "cell_contents", loc=builder.loc))

    builder.pending.append((cell, fill))
    return made


MAKERS: Mapping[type, Callable[[ResidualBuilder, Any], Value]] = types.MappingProxyType(
    {
        staticmethod: function_wrapper,
        classmethod: function_wrapper,
        property: property_value,
        _tuplegetter: lambda builder, value: builder.call(_tuplegetter, *[builder.constant(each) for each in value.__reduce__()[1]]),
        types.MappingProxyType: names_of_class,
        _LOCK: lock_value,
        _RLOCK: lock_value,
        **VALUE_MAKERS,
    }
)
