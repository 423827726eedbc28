"""Attribute reads: CPython's protocol, followed by hand so that user code in it is traced and each decision is guarded."""

from __future__ import annotations

import threading
import types
import weakref
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, NamedTuple

import torch

from lect.frontends.capture.breaks import GraphBreak, UserError
from lect.frontends.capture.class_guards import decides, entry_place, guard_class_entry, guard_method_of_torch, may_change, plain_entry
from lect.frontends.capture.context_vars import TracedToken, token_attr
from lect.frontends.capture.frames import TracedFrame, frame_attr
from lect.frontends.capture.generators import IndexIterator, TracedGenerator, generator_attr
from lect.frontends.capture.gradients import read_grad
from lect.frontends.capture.numbers import plain
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.size_symbols import sized
from lect.frontends.capture.slots import empty_slot, is_slot
from lect.frontends.capture.sources import Source
from lect.frontends.capture.tracebacks import TracedTraceback, traceback_of
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.tensors import LT

MISSING = object()
_instance_attribute = object.__getattribute__
MODULE_GETATTR = torch.nn.Module.__getattr__
MODULE_PARTS = ("_parameters", "_buffers", "_modules")
# Read from a class as they are; their values cannot change while the class is the same object, or are guarded where they decide.
_TYPE_FACTS = frozenset({"__name__", "__qualname__", "__module__", "__mro__", "__bases__", "__doc__", "__basicsize__", "__annotations__"})
METADATA = frozenset(
    "shape dtype device ndim requires_grad is_cuda layout is_sparse is_quantized is_nested is_meta itemsize nbytes is_cpu is_mps is_xpu "
    "names is_sparse_csr is_mkldnn is_vulkan is_xla is_mtia is_ipu is_maia".split()
)
# Their attributes are those of another object, or of the running thread.
_LOOK_ELSEWHERE = (threading.local, weakref.ProxyType, weakref.CallableProxyType, types.GenericAlias)
_OF_ALIAS = frozenset({"__origin__", "__args__", "__parameters__"})
_REGISTRY: frozenset[type] = frozenset({torch._ops._Ops, torch._ops._OpNamespace, torch._ops.OpOverloadPacket})
_KINDS: Mapping[type, str] = MappingProxyType(
    {
        FunctionType: "function",
        types.MethodDescriptorType: "c_method",
        types.WrapperDescriptorType: "c_method",
        types.GetSetDescriptorType: "c_data",
        types.MemberDescriptorType: "c_data",
        classmethod: "classmethod",
        types.ClassMethodDescriptorType: "classmethod",
        staticmethod: "staticmethod",
        BuiltinFunctionType: "staticmethod",
        property: "property",
    }
)


class Found(NamedTuple):
    """What a class holds under a name: `kind` says how the descriptor behaves, `value` is the entry itself."""

    kind: str
    value: Any


def find_in_type(cls: type, name: str) -> Any:
    """The entry of the first class in the MRO that has `name`, or MISSING; no descriptor runs."""
    try:
        for base in cls.__mro__:
            entry = base.__dict__.get(name, MISSING)
            if entry is not MISSING:
                return entry
    except Exception:  # a key that is no name compares itself
        raise GraphBreak("LB0003", f"{cls.__name__}.{name}, beside an entry that runs code of the program when it is looked for") from None
    return MISSING


def lookup(t: Tracer, cls: type, name: str) -> Found:
    """`find_in_type` with the kind of what was found; remembered for the trace, during which classes do not change."""
    try:
        found = t.lookups.get((cls, name))
    except Exception:
        raise t.stop("LB0003", f"{cls.__name__}, a class that runs code of the program when it is compared") from None
    if found is None:
        written = _written_in_type(t, cls, name) if t.class_attrs else None
        if written is not None:
            return Found("written", written)
        entry = find_in_type(cls, name)
        found = t.lookups[cls, name] = Found(kind_of(entry), entry)
        if found.kind is ODD:
            raise t.stop("LB0003", f"the descriptor {cls.__name__}.{name}")
        if may_change(cls) and decides(found.kind, name):
            guard_class_entry(t, cls, name, entry)
        elif found.kind == "function":
            guard_method_of_torch(t, cls, name, entry)
        if found.kind in ("python_data", "python_other") and may_change(type(entry)):
            for half in _WRITERS:  # which decide whether the object's own attribute stands in front of it
                guard_class_entry(t, type(entry), half, find_in_type(type(entry), half))
    return found


def _written_in_type(t: Tracer, cls: type, name: str) -> Box | None:
    """What the trace has set under a name on the first class of the MRO that has it; None when that class was left alone."""
    for base in cls.__mro__:
        if (base, name) in t.class_attrs:
            return t.class_attrs[base, name]
        if name in base.__dict__:
            return None
    return None


_WRITERS = ("__set__", "__delete__")
_RUNS_PYTHON = frozenset({"python_data", "python_other", "property"})
ODD = "odd"  # a descriptor with one half only, or halves that are no functions
_IN_C = (types.WrapperDescriptorType, types.MethodDescriptorType)


def kind_of(entry: Any) -> str:
    if entry is MISSING:
        return "missing"
    kind = type(entry)
    known = _KINDS.get(kind)
    if known is not None:
        return known
    if issubclass(kind, property):
        return "property"
    getter, setter = find_in_type(kind, "__get__"), find_in_type(kind, "__set__")
    if setter is MISSING:
        setter = find_in_type(kind, "__delete__")
    if getter is MISSING and setter is MISSING:
        return "plain"
    if type(getter) is FunctionType and (setter is MISSING or type(setter) is FunctionType):
        return "python_data" if setter is not MISSING else "python_other"
    if type(getter) in _IN_C and (setter is MISSING or type(setter) in _IN_C):
        return "c_data" if setter is not MISSING else "c_other"
    return ODD


def python_method(t: Tracer, cls: type, name: str) -> FunctionType | None:
    """The Python function that implements a special method, or None."""
    found = lookup(t, cls, name)
    if found.kind in _RUNS_PYTHON or (found.kind == "staticmethod" and type(found.value) is staticmethod):
        raise t.stop("LB0003", f"{cls.__name__}.{name}, which is no plain method")
    return found.value if found.kind == "function" else None


def instance_dict(t: Tracer, value: Any) -> dict[str, Any] | None:
    """The instance dictionary as the trace sees it, or None."""
    try:
        found = _instance_attribute(value, "__dict__")
    except AttributeError:
        return None
    return t.shadows.get(id(found), found) if t.shadows.some else found


def load_attr(t: Tracer, box: Box, name: str) -> Box:
    """`value.name`.  Raises `UserError` with the AttributeError that the program would see."""
    if t.numbers:
        box = plain(box)
    value, source = box
    kind = type(value)
    if kind is LT:
        return tensor_attr(t, box, name)
    if kind is ModuleType:
        return module_attr(t, box, name)
    if kind is TracedGenerator:
        return generator_attr(t, box, name)
    if name == "__traceback__" and issubclass(type(value), BaseException):
        return traceback_of(t, value)
    if kind is IndexIterator:
        raise t.stop("LB0009", f"{name} of an iterator over a sequence")
    if kind is TracedTraceback:
        raise t.stop("LB0030", f"{name} of a traceback")
    if kind is TracedFrame:
        return frame_attr(t, box, name)
    if kind is TracedToken:
        return token_attr(t, box, name)
    if kind in _REGISTRY:
        return registry_attr(t, box, name)
    getter = t.getters.get(kind, MISSING)
    if getter is MISSING:
        getter = t.getters[kind] = find_in_type(kind, "__getattribute__") if kind not in SCALAR_TYPES else None
        if getter is not None and may_change(kind):
            guard_class_entry(t, kind, "__getattribute__", getter)
    if type(getter) is FunctionType:
        t.guard_type(box)
        return _with_fallback(t, box, name, getter)
    if getter is not None and type(getter) is not types.WrapperDescriptorType:
        raise t.stop("LB0003", f"an attribute of a {kind.__name__}, whose __getattribute__ is no function")
    return generic_attr(t, box, name)


def _with_fallback(t: Tracer, box: Box, name: str, getter: FunctionType) -> Box:
    from lect.frontends.capture.calls import call_function

    try:
        return call_function(t, t.static(getter), [box, (name, None)], {})
    except UserError as raised:
        fallback = python_method(t, type(box[0]), "__getattr__")
        if not issubclass(type(raised.error), AttributeError) or fallback is None:
            _say_what_is_missing(raised.error, name, box[0])
            raise
        return _call_getattr(t, fallback, box, name)


def _call_getattr(t: Tracer, hook: FunctionType, box: Box, name: str) -> Box:
    """What a `__getattr__` of the program gives."""
    from lect.frontends.capture.calls import call_function

    try:
        return call_function(t, t.static(hook), [box, (name, None)], {})
    except UserError as raised:
        _say_what_is_missing(raised.error, name, box[0])
        raise


def _say_what_is_missing(error: Any, name: str, value: Any) -> None:
    """Fill in what CPython adds to an AttributeError of the program that names nothing."""
    if issubclass(type(error), AttributeError) and error.name is None and error.obj is None:
        error.name, error.obj = name, value


def module_attr(t: Tracer, box: Box, name: str) -> Box:
    """An attribute of a Python module; a module-level `__getattr__` runs for real (it loads lazily)."""
    module, source = box
    names = t.shadows.get(id(module.__dict__), module.__dict__) if t.shadows.some else module.__dict__
    if source is None:
        source = t.static_source(module)
    if name in names:
        return t.wrap(names[name], source.attr(name) if t.as_before(module.__dict__, name) else None)
    if not t.as_before(module.__dict__, name):
        raise t.stop("LB0004", f"the attribute {name} of a module, which the frame has deleted")
    try:
        found = getattr(module, name)
    except AttributeError as error:
        t.guards.no_attr(source, name)
        hook = module.__dict__.get("__getattr__", MISSING)
        t.guards.no_attr(source, "__getattr__") if hook is MISSING else t.guards.is_object(source.step("dict").item("__getattr__"), hook)
        raise UserError(error) from None
    return t.wrap(found, source.attr(name))


def registry_attr(t: Tracer, box: Box, name: str) -> Box:
    """An attribute of `torch.ops`, of a namespace in it or of an operator; what is not there yet is looked up for real and stays."""
    value, source = box
    t.guard_type(box)
    try:
        found = getattr(value, name)
    except AttributeError:
        raise t.stop("LB0003", f"the operator {name}, which no library has registered so far") from None
    if type(found) is MethodType:
        return generic_attr(t, box, name)
    return t.wrap(found, (source or t.static_source(value)).attr(name))


def generic_attr(t: Tracer, box: Box, name: str, fallback: bool = True) -> Box:
    """`object.__getattribute__`, and `__getattr__` behind it when `fallback`."""
    value, source = box
    kind = t.guard_type(box)
    if kind is super:
        from lect.frontends.capture.supers import super_attr

        return super_attr(t, box, name)
    if kind is types.GenericAlias and name in _OF_ALIAS:
        found = getattr(value, name)
        return t.static(found) if source is None and issubclass(type(found), type) else t.wrap(found, source.attr(name) if source is not None else None)
    if issubclass(kind, _LOOK_ELSEWHERE):
        raise t.stop("LB0003", f"an attribute of a {kind.__name__}")
    if issubclass(kind, type):
        return type_attr(t, box, name)
    found = lookup(t, kind, name)
    if found.kind in ("property", "c_data", "python_data"):
        return _data_descriptor(t, box, name, found)
    names = instance_dict(t, value)
    if names is not None and source is None and not t.is_fresh(value) and not _is_static(value):
        raise t.stop("LB0007", f"attribute {name} of a {kind.__name__}")
    if names is not None and name in names:
        return t.wrap(names[name], _own_place(kind, source, name) if source is not None and _as_before(t, value, name) else None)
    if source is not None and names is not None and found.kind != "missing" and _as_before(t, value, name):
        t.guards.no_attr(source, name)
    if found.kind != "missing":
        return _class_entry(t, box, name, found)
    return _missing_attr(t, box, name, names, fallback)


def _as_before(t: Tracer, value: Any, name: str) -> bool:
    """True when an object has in its instance dictionary, if it has one, what it had there before the call."""
    if not t.shadows.some:
        return True
    try:
        return t.as_before(_instance_attribute(value, "__dict__"), name)
    except AttributeError:
        return True


def _own_place(kind: type, source: Source, name: str) -> Source:
    """Where an instance of `kind` has an attribute of its own: read past a `__getattribute__` of the program, which guards must not run."""
    if type(find_in_type(kind, "__getattribute__")) is not FunctionType:
        return source.attr(name)
    return source.step("dict").item(name)


def _is_static(value: Any) -> bool:
    return issubclass(type(value), FunctionType | MethodType | BuiltinFunctionType | BaseException | property)


def _data_descriptor(t: Tracer, box: Box, name: str, found: Found) -> Box:
    from lect.frontends.capture.calls import call

    value, source = box
    if found.kind == "property":
        guard_class_entry(t, type(value), name, found.value)
        return read_property(t, found.value, box)
    if found.kind == "python_data":
        getter = load_attr(t, t.static(found.value), "__get__")
        return call(t, getter, [box, (type(value), None)], {})
    if name == "__dict__":
        names = _instance_attribute(value, "__dict__")
        if t.is_fresh(value):
            t.made(names)
        return t.wrap(names, source.step("dict") if source is not None else None)
    if name == "__class__":
        t.leak(box)  # of a number or text nothing else tells the class
        return t.static(type(value))
    if type(value) is types.CellType and name == "cell_contents":
        from lect.frontends.capture.effects import read_cell_contents

        return read_cell_contents(t, box)
    if name == "__isabstractmethod__" and issubclass(type(value), property | classmethod | staticmethod):
        return _is_abstract(t, value)
    if (id(value), name) in t.written and is_slot(found.value):
        held = t.shadows[id(value), name]  # type: ignore[index]
        return held if held is not MISSING else empty_slot(value, name, found.value)
    try:
        read = read_in_c(found.value.__get__, value, type(value))
    except UserError:
        if source is not None and type(found.value) is types.MemberDescriptorType:
            raise t.stop("LB0007", f"{name}, a slot of a {type(value).__name__} in which nothing is") from None  # no guard looks into slots
        raise
    if source is not None and type(find_in_type(type(value), "__getattribute__")) is FunctionType:
        raise t.stop("LB0007", f"{name}, a slot of a {type(value).__name__}, whose attributes Python code reads")
    if read is None and name == "__context__" and id(value) in t.chained:
        t.found_unhandled()
    return t.wrap(read, source.attr(name) if source is not None and type(value) is not MethodType else None)


def read_property(t: Tracer, found: property, box: Box) -> Box:
    """What a property gives for an object."""
    from lect.frontends.capture.calls import call

    if found.fget is None:
        read_in_c(property.__get__, found, box[0], type(box[0]))  # which raises
    return call(t, t.static(found.fget), [box], {})


def _is_abstract(t: Tracer, value: Any) -> Box:
    """`__isabstractmethod__` of a descriptor: whether one of its functions says so."""
    from lect.frontends.capture.operators import truth

    for part in [value.fget, value.fset, value.fdel] if issubclass(type(value), property) else [value.__func__]:
        try:
            if part is not None and truth(t, load_attr(t, t.static(part), "__isabstractmethod__")):
                return (True, None)
        except UserError as raised:
            if not issubclass(type(raised.error), AttributeError):
                raise
    return (False, None)


def read_in_c(function: Any, *args: Any) -> Any:
    """What C code reads; what it raises is the program's."""
    try:
        return function(*args)
    except Exception as error:
        raise UserError(error) from None


def _class_entry(t: Tracer, box: Box, name: str, found: Found) -> Box:
    from lect.frontends.capture.calls import call

    value, source = box
    kind = type(value)
    if found.kind == "written":
        return found.value  # type: ignore[no-any-return]
    if found.kind == "function":
        guard_class_entry(t, kind, name, found.value)
        return bound_method(t, found.value, box)
    if found.kind == "plain":
        hidden = type(find_in_type(kind, "__getattribute__")) is FunctionType or not _as_before(t, value, name)
        if source is not None and not hidden:
            return t.wrap(found.value, source.attr(name))
        return plain_entry(t, found.value, _place_in_type(t, kind, name))
    if found.kind == "python_other":
        getter = load_attr(t, t.static(found.value), "__get__")
        return call(t, getter, [box, t.static(kind)], {})
    if find_in_type(type(found.value), "__get__") is MISSING:
        return (found.value, None)
    t.leak(box)  # a method of a number or text holds the value, and a scalar cannot be found again by its identity
    bound = found.value.__get__(value, kind)
    if type(bound) is MethodType and type(bound.__func__) is FunctionType:
        return bound_method(t, bound.__func__, t.static(bound.__self__))
    if found.kind == "staticmethod" and type(bound) is FunctionType:
        return t.static(bound)
    return (bound, None)


def _place_in_type(t: Tracer, cls: type, name: str) -> Source | None:
    """The source of an entry of a class, past what the metaclass has under that name; None for an entry of a class that the trace has made."""
    if not t.is_fresh(cls) and find_in_type(type(cls), name) is MISSING:
        return t.static_source(cls).attr(name)
    return entry_place(t, cls, cls.__mro__, name)


def forget_lookups(t: Tracer) -> None:
    """A class that the trace has made is changed."""
    for table in (t.lookups, t.getters, t.operators):
        table.clear()  # type: ignore[attr-defined]


def bound_method(t: Tracer, function: FunctionType, box: Box) -> Box:
    """A bound method made in the trace; function and object keep their origin."""
    t.static(function)
    method = MethodType(function, box[0])
    t.keep.append(method)
    return (method, None)


def _missing_attr(t: Tracer, box: Box, name: str, names: dict[str, Any] | None, fallback: bool) -> Box:
    value, source = box
    kind = type(value)
    guard_class_entry(t, kind, name, MISSING)
    hook = python_method(t, kind, "__getattr__") if fallback else None
    if hook is MODULE_GETATTR and names is not None:
        for part in MODULE_PARTS:
            members = names.get(part)
            if members is not None:
                members = t.shadows.get(id(members), members) if t.shadows.some else members
                if name in members:
                    if source is None or not t.as_before(names[part], name):
                        return t.wrap(members[name])
                    found = source.attr(name)
                    found.part = part
                    t.guards.no_attr(source, name)
                    return t.wrap(members[name], found)
        if source is not None and id(value) not in t.mutated:
            t.guards.no_part(source, name)
    elif hook is not None:
        if source is not None and names is not None and _as_before(t, value, name):
            t.guards.no_attr(source, name)
        return _call_getattr(t, hook, box, name)
    elif source is not None and names is not None and _as_before(t, value, name):
        t.guards.no_attr(source, name)
    if issubclass(type(value), FunctionType | MethodType | BuiltinFunctionType) and hasattr(value, name):
        return t.wrap(getattr(value, name), source.attr(name) if source is not None else None)
    raise UserError(AttributeError(f"'{kind.__name__}' object has no attribute '{name}'", name=name, obj=value))


def type_attr(t: Tracer, box: Box, name: str) -> Box:
    """`type.__getattribute__`: an attribute of a class."""
    from lect.frontends.capture.calls import call

    cls, source = box
    if source is None and not t.is_fresh(cls):
        source = t.static_source(cls)
    meta = lookup(t, type(cls), name)
    if meta.kind == "property":
        return read_property(t, meta.value, box)
    if meta.kind == "python_data":
        return call(t, load_attr(t, t.static(meta.value), "__get__"), [box, t.static(type(cls))], {})
    if name == "__class__":
        return t.static(type(cls))
    if name == "__flags__":
        return _flags(t, cls, source)
    if name == "__dict__" and meta.kind == "c_data":
        return t.made(_of_class(cls, name)) if source is None else t.wrap(_of_class(cls, name), source.attr(name))
    if name in _TYPE_FACTS:
        return t.wrap(_of_class(cls, name), source.attr(name)) if source is not None else _fact(t, cls, name)
    written = _written_in_type(t, cls, name) if t.class_attrs else None
    if written is not None:
        return written
    entry = find_in_type(cls, name)
    if entry is MISSING or kind_of(entry) not in ("function", "plain", "staticmethod"):
        guard_class_entry(t, cls, name, entry)
    if entry is MISSING:
        return _meta_entry(t, box, name, meta)
    return _own_entry(t, box, name, entry, source.attr(name) if source is not None else _place_in_type(t, cls, name))


def _fact(t: Tracer, cls: type, name: str) -> Box:
    """A fact about a class that the trace has made."""
    found = _of_class(cls, name)
    return t.made(found) if name == "__annotations__" and find_in_type(type(cls), name) is type.__dict__.get(name, MISSING) else t.wrap(found)


def _own_entry(t: Tracer, box: Box, name: str, entry: Any, place: Source | None) -> Box:
    """What a class gives for an entry of its own or of a base class, which `place` leads to."""
    from lect.frontends.capture.calls import call

    cls = box[0]
    kind = kind_of(entry)
    if kind == "function":
        return t.wrap(entry, place)
    if kind == "classmethod" and type(entry) is classmethod and type(entry.__func__) is FunctionType:
        return bound_method(t, entry.__func__, box if box[1] is not None or t.is_fresh(cls) else (cls, t.static_source(cls)))
    if kind == "staticmethod" and type(entry) is staticmethod:
        return t.wrap(entry.__func__, place.attr("__func__") if place is not None and place.kind == "item" else place)
    if kind == "property":
        return t.static(entry)
    if kind == "plain":
        return plain_entry(t, entry, place) if place is not None and place.kind == "item" else t.wrap(entry, place)
    if kind in ("python_data", "python_other") and not type(entry).__module__ == "enum":
        return call(t, load_attr(t, t.static(entry), "__get__"), [NONE, box], {})
    return t.wrap(_of_class(cls, name), place if kind == "c_data" or kind == "c_method" else None)


def _flags(t: Tracer, cls: type, source: Source | None) -> Box:
    """`cls.__flags__`.  Of its bits, that for caches of CPython changes by itself, and that for abstract classes with their methods."""
    if source is not None and "__abstractmethods__" in cls.__dict__:
        t.guards.is_object(source.attr("__abstractmethods__"), cls.__abstractmethods__)  # type: ignore[attr-defined]
    return (cls.__flags__, None)


def _of_class(cls: type, name: str) -> Any:
    """An attribute of a class that C code gives."""
    return read_in_c(getattr, cls, name)


def _meta_entry(t: Tracer, box: Box, name: str, meta: Found) -> Box:
    from lect.frontends.capture.calls import call, call_function

    cls = box[0]
    if meta.kind == "function":
        return bound_method(t, meta.value, box)
    if meta.kind == "python_other":
        return call(t, load_attr(t, t.static(meta.value), "__get__"), [box, t.static(type(cls))], {})
    if meta.kind != "missing":
        of_meta = meta.kind == "plain" and not t.is_fresh(cls)
        return t.wrap(_of_class(cls, name), t.static_source(cls).attr(name) if of_meta else None)
    hook = python_method(t, type(cls), "__getattr__")
    if hook is not None:
        return call_function(t, t.static(hook), [box, (name, None)], {})
    raise UserError(AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'", name=name, obj=cls))


def tensor_attr(t: Tracer, box: Box, name: str) -> Box:
    """An attribute of a traced tensor."""
    from lect.frontends.capture.data_aliases import data_attribute, read_data
    from lect.frontends.capture.tensor_methods import guard_tensor_method
    from lect.frontends.capture.torch_calls import torch_call

    value, source = box
    real = t.real_of.get(id(value))
    if name in METADATA:
        data_attribute(t, value, name)
        return (sized(t, getattr(value, name)), None)
    if name == "data":
        return read_data(t, box)
    if name == "is_leaf":
        if real is None or not real.requires_grad:
            return (value.is_leaf, None)
        known = t.seen[id(value)][1]
        if t.graph.gradients or known is None:
            raise t.stop("LB0016", "is_leaf of an input that requires gradients, behind a call that changes what autograd does with tensors")
        t.guards.equals(known.attr("is_leaf"), real.is_leaf)
        return (real.is_leaf, None)
    if name == "__class__":
        return t.static(type(real) if real is not None else torch.Tensor)
    if name == "grad":
        return read_grad(t, box)
    if name == "grad_fn" and not value.requires_grad:  # which is guarded for inputs
        return NONE
    if name in ("grad_fn", "__dict__", "_backward_hooks", "_version", "_base", "output_nr", "retains_grad"):
        raise t.stop("LB0016", name)
    if real is not None and name in real.__dict__:
        return t.wrap(real.__dict__[name], source.attr(name) if source is not None else None)
    found = lookup(t, torch.Tensor, name)
    if found.kind in ("c_data", "property"):
        guard_tensor_method(t, name)
        return torch_call(t, getattr, [box, (name, None)], {})
    if found.kind == "function" or found.kind == "c_method":
        guard_class_entry(t, torch.Tensor, name, found.value)
        method = MethodType(found.value, value)
        t.keep.append(method)
        return (method, None)
    if found.kind == "missing":
        t.guards.no_key(t.static_source(torch.Tensor).attr("__dict__"), name)
        if real is not None:
            t.guards.no_attr(source, name) if source is not None else None
        raise UserError(AttributeError(f"'Tensor' object has no attribute '{name}'", name=name, obj=None))
    raise t.stop("LB0016", name)
