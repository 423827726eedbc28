"""Rules for attributes, items, operators, calls and functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from lect.dialects.guard.builtin_names import OWN
from lect.frontends.capture.attributes import load_attr as read_attr
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call
from lect.frontends.capture.effects import delete_attr, delete_item, load_cell, store_attr, store_item
from lect.frontends.capture.iteration import iterate, mapping_items
from lect.frontends.capture.operators import BINARY, COMPARE, UNARY, binary, contains, is_same, load_item, truth, unary
from lect.frontends.capture.rules.variables import read_builtin
from lect.frontends.capture.supers import make_super, super_attr
from lect.frontends.capture.tracer import Box


def load_attr(frame: Any, op: Any) -> None:
    frame.t.frame = frame
    frame.env[op.results[0]] = read_attr(frame.t, frame.env[op.operands[0]], op.attrs["attr"])


def load_super_attr(frame: Any, op: Any) -> None:
    t = frame.t
    cls, me = frame.env[op.operands[1]], frame.env[op.operands[2]]
    if frame.env[op.operands[0]][0] is not super:
        raise t.stop("LB0001", "a global variable named super")
    frame.env[op.results[0]] = super_attr(t, make_super(t, cls, me), op.attrs["attr"])


def store_attr_rule(frame: Any, op: Any) -> None:
    frame.t.frame = frame
    store_attr(frame.t, frame.env[op.operands[0]], op.attrs["attr"], frame.env[op.operands[1]])


def delete_attr_rule(frame: Any, op: Any) -> None:
    delete_attr(frame.t, frame.env[op.operands[0]], op.attrs["attr"])


def load_item_rule(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = load_item(frame.t, frame.env[op.operands[0]], frame.env[op.operands[1]])


def store_item_rule(frame: Any, op: Any) -> None:
    container, key, item = [frame.env[value] for value in op.operands]
    store_item(frame.t, container, key, item)


def delete_item_rule(frame: Any, op: Any) -> None:
    delete_item(frame.t, frame.env[op.operands[0]], frame.env[op.operands[1]])


def binary_rule(frame: Any, op: Any) -> None:
    left, right = op.operands
    frame.env[op.results[0]] = binary(frame.t, BINARY[op.attrs["operator"]], frame.env[left], frame.env[right])


def compare_rule(frame: Any, op: Any) -> None:
    left, right = op.operands
    frame.env[op.results[0]] = binary(frame.t, COMPARE[op.attrs["operator"]], frame.env[left], frame.env[right])


def unary_rule(frame: Any, op: Any) -> None:
    box = frame.env[op.operands[0]]
    operator = op.attrs["operator"]
    if operator == "bool":
        frame.env[op.results[0]] = (truth(frame.t, box), None)
    elif operator == "not":
        frame.env[op.results[0]] = (not truth(frame.t, box), None)
    else:
        frame.env[op.results[0]] = unary(frame.t, UNARY[operator], box)


def contains_rule(frame: Any, op: Any) -> None:
    found = contains(frame.t, frame.env[op.operands[0]], frame.env[op.operands[1]])
    frame.env[op.results[0]] = (found != op.attrs.get("invert", False), None)


def is_rule(frame: Any, op: Any) -> None:
    same = is_same(frame.t, frame.env[op.operands[0]], frame.env[op.operands[1]])
    frame.env[op.results[0]] = (same != op.attrs.get("invert", False), None)


def call_rule(frame: Any, op: Any) -> None:
    env, t = frame.env, frame.t
    t.frame = frame
    callee = env[op.operands[0]]
    args = [env[value] for value in op.operands[1:]]
    keywords = op.attrs.get("keywords")
    kwargs: dict[str, Box] = {}
    if keywords:
        split = len(args) - len(keywords)
        kwargs = dict(zip(keywords, args[split:]))
        del args[split:]
    if callee[0] is super and not args:
        env[op.results[0]] = _zero_argument_super(frame)
    else:
        env[op.results[0]] = call(t, callee, args, kwargs)


def _zero_argument_super(frame: Any) -> Box:
    t = frame.t
    args = frame.program.signature.args
    if not args:
        raise UserError(RuntimeError("super(): no arguments"))
    me = load_cell(t, frame.cells[args[0]]) if args[0] in frame.cells else frame.locals.get(args[0])
    if me is None:
        raise UserError(RuntimeError("super(): arg[0] deleted"))
    if "__class__" not in frame.cells:
        raise UserError(RuntimeError("super(): __class__ cell not found"))
    cls = load_cell(t, frame.cells["__class__"])
    if cls is None:
        raise UserError(RuntimeError("super(): empty __class__ cell"))
    return make_super(t, cls, me)


def call_ex_rule(frame: Any, op: Any) -> None:
    env, t = frame.env, frame.t
    t.frame = frame
    kwargs: dict[str, Box] = {}
    if op.kwargs is not None:
        for name, box in mapping_items(t, env[op.kwargs]).items():
            if type(name) is not str:
                if type(env[op.callee][0]) is not FunctionType:
                    raise t.stop("LB0003", "a keyword argument that is no string")
                raise UserError(TypeError("keywords must be strings"))
            kwargs[name] = box
    env[op.results[0]] = call(t, env[op.callee], iterate(t, env[op.args]), kwargs)


def make_function(frame: Any, op: Any) -> None:
    t, env = frame.t, frame.env
    code = env[op.code][0]
    assert issubclass(type(code), CodeType)
    closure = env[op.closure][0] if op.closure is not None else None
    function = FunctionType(code, frame.globals, code.co_name, None, closure)
    function.__qualname__ = code.co_qualname
    if op.defaults is not None:
        function.__defaults__ = tuple(t.stored_all(iterate(t, env[op.defaults])))
    if op.keyword_defaults is not None:
        function.__kwdefaults__ = dict(env[op.keyword_defaults][0])
    if op.annotations is not None:
        flat = env[op.annotations][0]
        function.__annotations__ = dict(zip(flat[::2], flat[1::2])) if issubclass(type(flat), tuple) else dict(flat)
    env[op.results[0]] = t.made(function)


def import_name(frame: Any, op: Any) -> None:
    t = frame.t
    level, names = frame.env[op.operands[0]][0], frame.env[op.operands[1]][0]
    package = frame.globals.get("__package__") or frame.globals.get("__name__", "")
    parts = package.split(".")
    base = parts[: len(parts) - level + 1] if level else []
    full = ".".join([*base, op.attrs["id"]] if op.attrs["id"] else base)
    if full not in sys.modules:
        raise t.stop("LB0011", full)
    _imports_itself(frame, full)
    module: ModuleType = __import__(op.attrs["id"], frame.globals, None, names, level)
    found = full if names or level else full.partition(".")[0]
    if sys.modules.get(found) is not module:
        raise t.stop("LB0011", f"{full}, which is not what is loaded under its name")
    if not frame.globals.get("__name__", "").startswith("torch."):
        t.guards.is_object(t.sources.module("sys").attr("modules").item(found), module)
    frame.env[op.results[0]] = t.wrap(module, t.sources.module(found))


def _imports_itself(frame: Any, name: str) -> None:
    """Break where an import statement calls a function of the program."""
    importer = read_builtin(frame, "__import__")
    if importer is None or importer[0] is not OWN["__import__"]:
        if importer is not None and importer[1] is not None:
            frame.t.guards.is_object(importer[1], importer[0])
        raise frame.t.stop("LB0011", f"{name}, by another __import__")


def import_from(frame: Any, op: Any) -> None:
    t = frame.t
    module = frame.env[op.operands[0]]
    try:
        found = read_attr(t, module, op.attrs["id"])
    except UserError:
        name = f"{module[0].__name__}.{op.attrs['id']}"
        if name not in sys.modules:
            raise t.stop("LB0011", name) from None
        found = t.wrap(sys.modules[name], t.sources.module(name))
    frame.env[op.results[0]] = found


RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "pyframe.load_attr": load_attr,
        "pyframe.load_super_attr": load_super_attr,
        "pyframe.store_attr": store_attr_rule,
        "pyframe.delete_attr": delete_attr_rule,
        "pyframe.load_item": load_item_rule,
        "pyframe.store_item": store_item_rule,
        "pyframe.delete_item": delete_item_rule,
        "pyframe.binary": binary_rule,
        "pyframe.compare": compare_rule,
        "pyframe.unary": unary_rule,
        "pyframe.contains": contains_rule,
        "pyframe.is": is_rule,
        "pyframe.call": call_rule,
        "pyframe.call_ex": call_ex_rule,
        "pyframe.make_function": make_function,
        "pyframe.import_name": import_name,
        "pyframe.import_from": import_from,
    }
)
