"""Reading along the steps of a source, and asking what a guard asks, on objects that a trace has not read: nothing here runs code of the program.

Everything says False, or raises `Differs`, rather than to guess: then the call is followed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard.containers import BASES, count, elements, has, own_item, results_of
from lect.frontends.capture.attributes import MISSING, MODULE_PARTS, find_in_type
from lect.frontends.capture.guards import tensor_attributes
from lect.frontends.capture.module_calls import MODULE_HOOKS, OWN_CALLS
from lect.frontends.capture.repeats import PLAIN
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.tensors import LT, layout_of, meta_of

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Tracer

_instance_attribute = object.__getattribute__


class Differs(Exception):
    """An object is not what it has to be for a call to be made again, or cannot be read without running code of the program."""


def names_of(value: Any) -> dict[str, Any] | None:
    """The instance dictionary, or None."""
    try:
        found: dict[str, Any] = _instance_attribute(value, "__dict__")
    except AttributeError:
        return None
    return found


def read_steps(value: Any, steps: tuple[tuple[str, Any], ...], part: str | None) -> Any:
    """What the steps lead to; `part` is the table of a module that has the last of them.  Raises `Differs`, and what reading raises."""
    last = len(steps) - 1
    for number, (kind, key) in enumerate(steps):
        value = _attribute(value, key, part if number == last else None) if kind == "attr" else _step(value, kind, key)
    return value


def _step(value: Any, kind: str, key: Any) -> Any:
    if kind == "dict":
        return _instance_attribute(value, "__dict__")
    if kind == "type":
        return type(value)
    if kind == "results":
        return results_of(value)
    if type(key) is ObjectRef or not issubclass(type(value), BASES):
        raise Differs
    if kind in ("item", "own"):
        return own_item(value, key)
    if kind in ("nth", "key"):
        return list(elements(value))[key]
    if kind == "value" and issubclass(type(value), dict):
        return own_item(value, list(elements(value))[key])
    raise Differs


def _attribute(value: Any, name: str, part: str | None) -> Any:
    kind = type(value)
    entry = find_in_type(kind, name)
    if entry is not MISSING and _is_data_in_c(type(entry)):
        return entry.__get__(value, kind)
    names = names_of(value)
    if names is not None and name in names:
        return names[name]
    if part is not None and names is not None:
        if entry is not MISSING or next((table for table in MODULE_PARTS if name in (names.get(table) or ())), None) != part:
            raise Differs
        return names[part][name]
    if entry is MISSING or find_in_type(type(entry), "__get__") is not MISSING or issubclass(kind, type):
        raise Differs
    return entry


def _is_data_in_c(kind: type) -> bool:
    return kind.__name__ in ("getset_descriptor", "member_descriptor")


def untouched(t: Tracer, value: Any) -> bool:
    """True when the trace has not written to the object, its instance dictionary, or the tables of a module."""
    key = id(value)
    if key in t.mutated or key in t.cells or key in t.fresh:
        return False
    if not t.shadows.some:
        return True
    held = t.shadows.ids()
    if key in held:
        return False
    names = names_of(value) if not issubclass(type(value), type) else None
    if names is None:
        return True
    return id(names) not in held and not any(id(names[table]) in held for table in MODULE_PARTS if table in names)


# ---- comparing -------------------------------------------------------------------------------------------------------


def same_scalar(old: Any, new: Any) -> bool:
    """Equal type and value; 0.0 and -0.0 differ.  False for kinds of which that is not known."""
    kind = type(old)
    if type(new) is not kind:
        return False
    if kind is float:
        return bool(old.hex() == new.hex())
    return (kind in PLAIN or kind is bytes) and bool(old == new)


class TensorFacts:
    """All that a trace sees of a real tensor, whose stand-in has the layout `layout`."""

    __slots__ = ("guard", "inference", "layout", "leaf", "meta", "names")

    def __init__(self, tensor: torch.Tensor, layout: Any) -> None:
        self.layout = layout
        self.meta = meta_of(tensor)
        self.guard = tensor_attributes(tensor)
        self.leaf = tensor.is_leaf
        self.inference = tensor.is_inference()
        self.names = tuple(tensor.__dict__)

    def fit(self, t: Tracer, new: torch.Tensor) -> bool:
        """True when they are those of another tensor of the same class too."""
        if new.layout is not torch.strided or new.is_quantized or new.is_nested or new.is_conj() or new.is_neg():
            return False
        if meta_of(new) != self.meta or new.is_leaf != self.leaf or new.is_inference() != self.inference or tuple(new.__dict__) != self.names:
            return False
        known = t.seen.get(id(new))
        if known is None:
            return True
        stand_in = known[0]
        return type(stand_in) is LT and known[1] is not None and layout_of(stand_in) == self.layout and stand_in.requires_grad == self.meta.requires_grad


# ---- guards ----------------------------------------------------------------------------------------------------------


def _no_attr(value: Any, name: str) -> bool:
    names = names_of(value)
    return names is None or name not in names


def _no_part(value: Any, name: str) -> bool:
    names = names_of(value)
    return names is not None and name not in names and not any(name in (names.get(table) or ()) for table in MODULE_PARTS)


def _no_hooks(value: Any, payload: None) -> bool:
    names = names_of(value)
    return names is not None and not any(names[table] for table in MODULE_HOOKS) and not any(name in names for name in OWN_CALLS)


def _items(value: Any, expected: tuple[Any, ...]) -> bool:
    found = list(elements(value)) if issubclass(type(value), BASES) else None
    return found is not None and len(found) == len(expected) and all(same_scalar(old, new) for old, new in zip(expected, found))


def _has_key(value: Any, payload: tuple[Any, bool]) -> bool:
    key, present = payload
    return issubclass(type(value), BASES) and bool(has(value, key)) == present


def _truth(value: Any, expected: bool) -> bool:
    return type(value) in (*BASES, OrderedDict) and bool(value) == expected


# Whether the condition of a guard holds for a value that has the class of the one it was asked for, and for a scalar its value too.
CONDITIONS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "equals": lambda value, payload: type(value) in SCALAR_TYPES,
        "type_is": lambda value, payload: type(value) is payload,
        "is": lambda value, payload: value is payload,
        "not_none": lambda value, payload: value is not None,
        "present": lambda value, payload: True,
        "truth": _truth,
        "no_attr": _no_attr,
        "no_part": _no_part,
        "no_hooks": _no_hooks,
        "length": lambda value, payload: issubclass(type(value), BASES) and count(value) == payload,
        "keys": _items,
        "items": _items,
        "has_key": _has_key,
    }
)
