"""Python functions of libraries that models call so often that following their code would be a good part of a capture.

Each rule does what the function's code does, in one step, and asks for the same guards.  Where the arguments are not those that the rule is about, the
code is followed.  The rules hang on the functions themselves: what a program puts in their place is followed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.frontends.capture.attributes import MODULE_GETATTR, MODULE_PARTS, find_in_type, instance_dict, load_attr, lookup
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import generic_store_attr, store_item
from lect.frontends.capture.iteration import mapping_items
from lect.frontends.capture.operators import is_same, truth
from lect.frontends.capture.tracer import NONE, Box, Tracer

Module = torch.nn.Module
MODULE_FILE = torch.nn.modules.module
Rule = Callable[[Tracer, list[Box], dict[str, Box]], Box]
Shortcut = Callable[[Tracer, list[Box]], "Box | None"]
# What a module is made with: the names in their order, and the class of each container, or the value.
MADE_WITH: tuple[tuple[str, Any], ...] = tuple((name, type(value) if isinstance(value, dict | set) else value) for name, value in vars(Module()).items())


def _shortcut(function: Any, count: int, rule: Shortcut) -> Rule:
    """The rule for calls with `count` arguments by position; where it gives None, the code of the function is followed."""

    def call(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        given = rule(t, args) if len(args) == count and not kwargs else None
        return t.code_table.inline(t, t.static(function), args, kwargs) if given is None else given

    return call


def _fields(t: Tracer, args: list[Box]) -> Box | None:
    """`dataclasses.fields`: the fields of a dataclass or of an instance that are no pseudo-fields."""
    library = t.static(dataclasses)
    try:
        table = load_attr(t, args[0], t.leak(load_attr(t, library, "_FIELDS")))
    except UserError:
        return None
    if type(table[0]) is not dict:
        return None
    wanted = load_attr(t, library, "_FIELD")
    found = mapping_items(t, table).values()
    if any(type(field) is not dataclasses.Field for field, _ in found):
        return None
    return t.make_tuple([field for field in found if is_same(t, load_attr(t, field, "_field_type"), wanted)])


def _init(t: Tracer, args: list[Box]) -> Box | None:
    """`Module.__init__` of a new module behind whose `Module` no class of the program comes: its attributes are set as those of an object are."""
    kind = type(args[0][0])
    behind = kind.__mro__[kind.__mro__.index(Module) + 1 :] if Module in kind.__mro__ else ()
    if behind != (object,) or not t.is_fresh(args[0][0]) or t.leak(load_attr(t, args[0], "call_super_init")) is not False:
        return None
    for name, made in MADE_WITH:
        generic_store_attr(t, args[0], name, t.made(made()) if issubclass(type(made), type) else (made, None))
    return NONE


def _add_module(t: Tracer, args: list[Box]) -> Box | None:
    """`Module.add_module` on a new module, under a name that nothing else has, while no hook looks on."""
    (value, source), (name, where), (child, _) = args
    kind = type(value)
    names = instance_dict(t, value) if t.is_fresh(value) and issubclass(type(value), Module) else None
    if names is None or source is not None or type(name) is not str or where is not None or not name or "." in name:
        return None
    tables = [names.get(table) for table in MODULE_PARTS]
    plain = find_in_type(kind, "__getattr__") is MODULE_GETATTR and find_in_type(kind, "__getattribute__") is object.__getattribute__
    if not plain or not all(type(table) is dict and t.is_fresh(table) for table in tables):
        return None
    if name in names or lookup(t, kind, name).kind != "missing" or any(name in table for table in tables):  # type: ignore[operator]
        return None
    if not issubclass(t.guard_type(args[2]), Module) or truth(t, load_attr(t, t.static(MODULE_FILE), "_global_module_registration_hooks")):
        return None
    store_item(t, (tables[-1], None), args[1], args[2])
    return NONE


SHORTCUTS: Mapping[Any, Rule] = MappingProxyType(
    {
        dataclasses.fields: _shortcut(dataclasses.fields, 1, _fields),
        Module.__init__: _shortcut(Module.__init__, 1, _init),  # type: ignore[arg-type]
        Module.add_module: _shortcut(Module.add_module, 3, _add_module),  # type: ignore[arg-type]
    }
)
