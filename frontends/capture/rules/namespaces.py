"""Rules for the names of a class body, which lie in the namespace that its metaclass has prepared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import delete_item, load_cell, store_item
from lect.frontends.capture.operators import holds_key, load_item
from lect.frontends.capture.rules.variables import read_global
from lect.frontends.capture.tracer import Box


def _namespace(frame: Any) -> Box:
    if frame.namespace is None:
        raise frame.t.stop("LB0001", "a name in the namespace of a module")
    found: Box = frame.namespace
    return found


def _in_mapping(frame: Any, mapping: Box, name: str) -> Box | None:
    """`mapping[name]`, None when there is no such key; a plain dictionary is asked for it, another mapping has to raise KeyError."""
    t, key = frame.t, (name, None)
    if type(mapping[0]) is dict:
        return load_item(t, mapping, key) if holds_key(t, key, mapping) else None
    try:
        return load_item(t, mapping, key)
    except UserError as raised:
        if not issubclass(type(raised.error), KeyError):
            raise
        return None


def load_name(frame: Any, op: Any) -> None:
    name = op.attrs["id"]
    found = _in_mapping(frame, _namespace(frame), name)
    frame.env[op.results[0]] = read_global(frame, name) if found is None else found


def store_name(frame: Any, op: Any) -> None:
    store_item(frame.t, _namespace(frame), (op.attrs["id"], None), frame.env[op.operands[0]])


def delete_name(frame: Any, op: Any) -> None:
    name = op.attrs["id"]
    try:
        delete_item(frame.t, _namespace(frame), (name, None))
    except UserError as raised:
        if not issubclass(type(raised.error), Exception):
            raise
        raise UserError(NameError(f"name '{name}' is not defined", name=name)) from None


def load_locals(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = _namespace(frame)


def load_from_dict_or_deref(frame: Any, op: Any) -> None:
    name = op.attrs["id"]
    found = _in_mapping(frame, frame.env[op.operands[0]], name)
    if found is None:
        found = load_cell(frame.t, frame.cells[name])
    if found is None:
        raise UserError(NameError(f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope", name=name))
    frame.env[op.results[0]] = found


def load_from_dict_or_globals(frame: Any, op: Any) -> None:
    found = _in_mapping(frame, frame.env[op.operands[0]], op.attrs["id"])
    frame.env[op.results[0]] = read_global(frame, op.attrs["id"]) if found is None else found


def setup_annotations(frame: Any, op: Any) -> None:
    names = _namespace(frame)
    if _in_mapping(frame, names, "__annotations__") is None:
        store_item(frame.t, names, ("__annotations__", None), frame.t.made({}))


RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "pyframe.load_name": load_name,
        "pyframe.store_name": store_name,
        "pyframe.delete_name": delete_name,
        "pyframe.load_locals": load_locals,
        "pyframe.load_from_dict_or_deref": load_from_dict_or_deref,
        "pyframe.load_from_dict_or_globals": load_from_dict_or_globals,
        "pyframe.setup_annotations": setup_annotations,
    }
)
