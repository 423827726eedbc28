"""Guards on what classes hold under a name.

A function or property is asked for as an attribute of the class, which is one read.  Anything else could answer for itself there (a descriptor gives
what its `__get__` gives), so the dictionaries along the MRO are asked: those in front lack the name, and the first that has it has this entry; and the
MRO is the same, which an assignment to `__bases__` changes.  Classes that cannot change are not asked.  Classes of torch are taken for what they are, but
for their special methods, which tools replace (`nn.Module.__call__`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

import torch

from lect.frontends.capture.remade_objects import guard_class, is_remade, take_entry
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.sources import Source
from lect.frontends.capture.tracer import Box, Tracer

# The class gives these as they are when it is asked for the attribute.
_THEMSELVES = frozenset({FunctionType, property, WrapperDescriptorType, MethodDescriptorType})
_MODULE = vars(type)["__module__"]
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def may_change(cls: type) -> bool:
    """True for a class whose entries a program may be expected to set: one that is not torch's and not written in C."""
    return not cls.__flags__ & _IMMUTABLE and not str(_MODULE.__get__(cls)).startswith("torch")


def decides(kind: str, name: str) -> bool:
    """True when an entry of this kind (of `Found`), or that there is none, says what a read or an operation does.

    Plain values and names that only instances have are read again by their own paths.
    """
    return kind not in ("plain", "missing", "written") or (name[:2] == "__" and name[-2:] == "__")


def guard_class_entry(t: Tracer, cls: type, name: str, entry: Any) -> None:
    """What a class holds, and decided what runs, is still the same; classes made in the trace cannot change behind its back."""
    if (cls, name) in t.guarded_entries:
        return
    t.guarded_entries.add((cls, name))
    remade = t.policy.remade and any(is_remade(t, base) for base in cls.__mro__)
    if not remade and type(entry) in _THEMSELVES and not t.is_fresh(cls) and _asked_plainly(type(cls), name):
        t.guards.is_object(t.static_source(cls).attr(name), entry)
    else:
        guard_entry(t, cls, cls.__mro__, name, entry)


def guard_method_of_torch(t: Tracer, cls: type, name: str, entry: FunctionType) -> None:
    """A special method in Python that a class of torch has or inherits is still the same: what is replaced there is replaced for all modules."""
    if (name[:2] != "__" and name != "_call_impl") or issubclass(cls, torch.Tensor):
        return
    base = next((base for base in cls.__mro__ if base.__dict__.get(name) is entry), None)
    if base is not None and (base, name) not in t.guarded_entries and not t.is_fresh(base):
        t.guarded_entries.add((base, name))
        t.guards.is_object(t.static_source(base).attr(name), entry)


def _asked_plainly(meta: type, name: str) -> bool:
    """True when an attribute of a class of this metaclass is the class's own entry, if it has one."""
    from lect.frontends.capture.attributes import MISSING, find_in_type

    if find_in_type(meta, "__getattribute__") is not type.__getattribute__:
        return False
    return find_in_type(type(find_in_type(meta, name)), "__set__") is MISSING


def guard_mro(t: Tracer, cls: type) -> None:
    """The classes that the attributes of a class are looked for in are the same, if they may change at all."""
    if (cls, "__mro__") in t.guarded_entries:
        return
    t.guarded_entries.add((cls, "__mro__"))
    if t.is_fresh(cls):
        for base in cls.__bases__:
            guard_mro(t, base)
    elif is_remade(t, cls):  # its bases are part of its shape
        t.static_source(cls)
    elif len(cls.__mro__) > 2 and may_change(cls):  # Python gives no other bases to a class that derives from `object` alone
        t.guards.mro(t.static_source(cls), cls.__mro__[1:-1])


def entry_place(t: Tracer, cls: type, bases: Sequence[type], name: str) -> Source | None:
    """The source of the first entry under `name` in these classes, a part of the MRO of `cls`; that those in front have none is guarded.

    None when no class has one, or one that cannot change.
    """
    guard_mro(t, cls)
    for base in bases:
        found = name in base.__dict__
        if may_change(base) and not t.is_fresh(base):
            entries = t.static_source(base).attr("__dict__")
            if found:
                return entries.item(name)
            t.guards.no_key(entries, name)
        elif found:
            return None
    return None


def guard_no_descriptor(t: Tracer, cls: type, name: str, kind: str, entry: Any) -> None:
    """Guard that no descriptor of a class takes what is written to `name` of an instance; `kind` is that of the entry now (see `Found`)."""
    if kind == "missing":
        guard_class_entry(t, cls, name, entry)
    elif kind == "plain" and (cls, f"={name}") not in t.guarded_entries:
        t.guarded_entries.add((cls, f"={name}"))
        place = entry_place(t, cls, cls.__mro__, name)
        if place is not None:
            guard_class(t, place, type(entry))


def plain_entry(t: Tracer, entry: Any, place: Source | None) -> Box:
    """The box of a plain value that a class holds at `place`, where a descriptor could stand later."""
    if place is not None and not issubclass(type(entry), torch.Tensor):
        guard_class(t, place, type(entry))
    return t.wrap(entry, place)


def guard_entry(t: Tracer, cls: type, bases: Sequence[type], name: str, entry: Any) -> None:
    """Guard that these classes, a part of the MRO of `cls`, have `entry` for their first entry under `name`, or go on having none."""
    place = entry_place(t, cls, bases, name)
    if place is None:
        return
    if t.policy.remade and is_remade(t, next(base for base in bases if name in base.__dict__)):
        take_entry(t, entry, place)
    elif type(entry) in SCALAR_TYPES:
        t.guards.equals(place, entry)
    else:
        t.guards.is_object(place, entry)
