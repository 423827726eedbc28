"""Attributes of `super()` objects: what the classes behind one class in the MRO of another hold under a name."""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

from lect.frontends.capture.attributes import MISSING, bound_method, find_in_type, kind_of, load_attr, read_in_c, read_property
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call
from lect.frontends.capture.class_guards import entry_place, guard_entry, plain_entry
from lect.frontends.capture.tracer import NONE, Box, Tracer

_PROXY_PARTS = tuple(vars(super)[name] for name in ("__thisclass__", "__self__", "__self_class__"))  # which a class may have too


def make_super(t: Any, cls: Box, me: Box) -> Box:
    """The object that `super(cls, me)` gives."""
    try:
        proxy = super(cls[0], me[0])
    except TypeError as error:
        raise UserError(error) from None
    t.keep.append(proxy)
    return (proxy, None)


def super_attr(t: Tracer, box: Box, name: str) -> Box:
    """An attribute of a `super()` object."""
    proxy, source = box
    if source is not None:
        raise t.stop("LB0007", f"{name} of a super object that was made outside")
    start, owner, cls = [part.__get__(proxy) for part in _PROXY_PARTS]
    mro = cls.__mro__ if cls is not None else ()
    if any((base, name) in t.class_attrs for base in mro):
        raise t.stop("LB0004", f"super().{name}, which the frame has set")
    behind = mro[mro.index(start) + 1 :] if mro else ()
    entry: Any = next((base.__dict__[name] for base in behind if name in base.__dict__), MISSING)
    if entry is MISSING or name == "__class__":
        guard_entry(t, cls, behind, name, MISSING) if entry is MISSING and mro else None
        return _of_proxy(t, proxy, name)
    of_instance = owner is not cls
    me = t.wrap(owner)
    kind = kind_of(entry)
    if kind == "plain":
        return plain_entry(t, entry, entry_place(t, cls, behind, name))
    guard_entry(t, cls, behind, name, entry)
    if kind == "function":
        return bound_method(t, entry, me) if of_instance else t.static(entry)
    if kind == "property":
        return read_property(t, entry, me) if of_instance else t.static(entry)
    if kind in ("python_data", "python_other"):
        return call(t, load_attr(t, t.static(entry), "__get__"), [me if of_instance else NONE, t.static(cls)], {})
    if kind == "classmethod" and type(entry) is classmethod:
        return bound_method(t, entry.__func__, t.static(cls))  # type: ignore[arg-type]
    if kind == "staticmethod" and type(entry) is staticmethod:
        return t.static(entry.__func__)
    if kind in ("c_method", "c_data", "classmethod", "staticmethod", "c_other") and find_in_type(type(entry), "__get__") is not MISSING:
        return (read_in_c(entry.__get__, owner if of_instance else None, cls), None)
    return (entry, None) if issubclass(type(entry), BuiltinFunctionType) else t.static(entry)


def _of_proxy(t: Tracer, proxy: Any, name: str) -> Box:
    """An attribute of the `super()` object itself."""
    if name == "__self__":
        return t.wrap(proxy.__self__)
    found = read_in_c(object.__getattribute__, proxy, name)
    return t.static(found) if issubclass(type(found), type) else (found, None)
