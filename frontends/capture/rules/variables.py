"""Rules for variables and constants."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping
from types import CellType, FunctionType, MappingProxyType
from typing import Any

from lect.dialects.guard.builtin_names import OWN
from lect.dialects.pyframe.attributes import to_python
from lect.frontends.capture.attributes import find_in_type
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import delete_global, globals_box, load_cell, store_cell, store_global
from lect.frontends.capture.iteration import acts_when_released
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.sources import Source
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.capture.weak_references import is_watched


def load_local(frame: Any, op: Any) -> None:
    box = frame.locals.get(op.attrs["id"])
    if box is None:
        name = op.attrs["id"]
        raise UserError(UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value"))
    frame.env[op.results[0]] = box


def store_local(frame: Any, op: Any) -> None:
    variables, name = frame.locals, op.attrs["id"]
    before = variables.get(name)
    if before is not None and before[1] is not None:
        _let_go(frame, name, before)
    variables[name] = frame.env[op.operands[0]]


def _let_go(frame: Any, name: str, box: Box) -> None:
    """A variable is deleted or gets another value; a finaliser of what it held runs then."""
    value, source = box
    if source is None or type(value) in SCALAR_TYPES or "." in name:  # what is passed on to a resume function goes on to live
        return
    # What a rest was given is held by its variables, what the function itself was given by its caller.
    watched = frame.program.of_rest and not source.chain and source.kind == "L" and is_watched(value)
    if watched or type(find_in_type(type(value), "__del__")) is FunctionType or acts_when_released(frame.t, box):
        raise frame.t.stop("LB0018", f"the variable {name} lets go of a {type(value).__name__}")


def delete_local(frame: Any, op: Any) -> None:
    name = op.attrs["id"]
    before = frame.locals.get(name)
    if before is not None:
        _let_go(frame, name, before)
    if frame.locals.pop(name, None) is None:
        raise UserError(UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value"))


def save_local(frame: Any, op: Any) -> None:
    """The box of what is saved is the box of the variable, or that of its cell; None when the variable has no value."""
    frame.env[op.results[0]] = (_variables_with(frame, op).pop(op.attrs["id"], None), None)


def restore_local(frame: Any, op: Any) -> None:
    saved = frame.env[op.operands[0]][0]
    if saved is None:
        _variables_with(frame, op).pop(op.attrs["id"], None)
    else:
        _variables_with(frame, op)[op.attrs["id"]] = saved


def _variables_with(frame: Any, op: Any) -> dict[str, Box]:
    """The table of the frame that has the variable of `op`: an inlined comprehension may have a cell of its own in the place of one."""
    name = op.attrs["id"]
    return frame.cells if name in frame.program.cells or name in frame.program.free else frame.locals


def make_cell(frame: Any, op: Any) -> None:
    frame.cells[op.attrs["id"]] = frame.t.made(CellType())


def load_global(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = read_global(frame, op.attrs["id"])


def read_global(frame: Any, name: str) -> Box:
    """A global variable as the trace sees it, else a builtin."""
    box = _read_global(frame, name)
    if frame.t.log is not None:
        frame.t.log.fixed(box)
    return box


def _read_global(frame: Any, name: str) -> Box:
    t = frame.t
    names = frame.globals
    if type(names) is not dict:
        raise t.stop("LB0003", f"{name}, a global name in a {type(names).__name__}")
    now = t.shadows.get(id(names), names) if t.shadows.some else names
    module = module_of(t, names)
    if name in now:
        if not t.as_before(names, name):
            return t.wrap(now[name])
        if module is not None:
            return t.wrap(now[name], module.attr(name))
        source = globals_of(frame)[1]
        return t.wrap(now[name], source.item(name) if source is not None else None)
    if not t.is_fresh(names) and name not in names and not names.get("__name__", "").startswith("torch."):
        if module is not None:
            t.guards.no_attr(module, name)
        else:
            t.guards.has_key(globals_of(frame)[1], name, False)
    found = read_builtin(frame, name)
    if found is None:
        raise UserError(NameError(f"name '{name}' is not defined", name=name))
    return found


def read_builtin(frame: Any, name: str) -> Box | None:
    """What a name that is no global variable stands for in the builtins of the frame's function; None when it stands for nothing."""
    t = frame.t
    function, source = frame.function
    held = function.__builtins__
    if type(held) is not dict:
        raise t.stop("LB0003", f"{name}, a name in builtins that are no dictionary")
    now = t.shadows.get(id(held), held) if t.shadows.some else held
    found = now.get(name, frame)
    before = t.as_before(held, name)
    if held is globals()["__builtins__"]:  # those of lect's own functions, which stay as they are
        return None if found is frame else t.without_path(found)
    if held is not vars(builtins):
        box = t.wrap(held, source.attr("__builtins__")) if source is not None else t.static(held)
        if found is frame:
            t.guards.has_key(box[1], name, False) if before and box[1] is not None else None
            return None
        return t.wrap(found, box[1].item(name) if before and box[1] is not None else None)
    if found is OWN.get(name, frame) and found is not frame:
        t.guards.builtin(name)
        return t.without_path(found)
    if found is frame:
        t.guards.no_attr(t.sources.module("builtins"), name) if before else None
        return None
    return t.wrap(found, t.sources.module("builtins").attr(name) if before else None)


def module_of(t: Tracer, names: dict[str, Any]) -> Source | None:
    """The loaded module whose dictionary this is, if it is one."""
    if id(names) not in t.namespaces:
        module = sys.modules.get(names.get("__name__", ""))
        found = t.sources.module(module.__name__) if module is not None and module.__dict__ is names else None
        t.namespaces[id(names)] = found
    return t.namespaces[id(names)]


def globals_of(frame: Any) -> Box:
    """The box of the frame's globals."""
    t = frame.t
    names = frame.globals
    module = module_of(t, names)
    if module is not None:
        return globals_box(t, names, (names, module.step("dict")))
    function, source = frame.function
    if source is not None:
        return globals_box(t, names, (names, source.attr("__globals__")))
    return globals_box(t, names, None)


def store_global_rule(frame: Any, op: Any) -> None:
    store_global(frame.t, globals_of(frame), op.attrs["id"], frame.env[op.operands[0]])


def delete_global_rule(frame: Any, op: Any) -> None:
    t, names, name = frame.t, frame.globals, op.attrs["id"]
    if type(names) is not dict:
        raise t.stop("LB0003", f"{name}, a global name in a {type(names).__name__}")
    if name in (t.shadows.get(id(names), names) if t.shadows.some else names):
        delete_global(t, globals_of(frame), name)
        return
    if not t.is_fresh(names) and name not in names:
        t.guards.has_key(globals_of(frame)[1], name, False)
    raise UserError(NameError(f"name '{name}' is not defined", name=name))


def _empty_cell(frame: Any, name: str) -> NameError:
    """What reading a variable raises that nested functions share and that has no value: another error in the function that it belongs to."""
    if name in frame.program.cells:
        return UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
    return NameError(f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope", name=name)


def load_deref(frame: Any, op: Any) -> None:
    box = load_cell(frame.t, frame.cells[op.attrs["id"]])
    if box is None:
        raise UserError(_empty_cell(frame, op.attrs["id"]))
    frame.env[op.results[0]] = box


def store_deref(frame: Any, op: Any) -> None:
    store_cell(frame.t, frame.cells[op.attrs["id"]], frame.env[op.operands[0]])


def delete_deref(frame: Any, op: Any) -> None:
    store_cell(frame.t, frame.cells[op.attrs["id"]], None)


def load_cell_rule(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = frame.cells[op.attrs["id"]]


def bind_cell(frame: Any, op: Any) -> None:
    frame.cells[op.attrs["id"]] = frame.env[op.operands[0]]


def load_place(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = (None, None)


def load_const(frame: Any, op: Any) -> None:
    value = op.attrs["value"]
    if type(value) not in _PLAIN:
        codes = frame.program.codes
        value = to_python(value, lambda symbol: codes[symbol.leaf])
    frame.env[op.results[0]] = (value, None)


def load_assertion_error(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = (AssertionError, None)


def drop(frame: Any, op: Any) -> None:
    """The trace keeps objects alive to its end; where releasing one runs code of the program, it has to happen for real."""
    if acts_when_released(frame.t, frame.env[op.operands[0]]):
        raise frame.t.stop("LB0009", "a generator made outside of the compiled frame is left")


def load_build_class(frame: Any, op: Any) -> None:
    found = read_builtin(frame, "__build_class__")
    if found is None or found[0] is not OWN["__build_class__"]:
        if found is not None and found[1] is not None:
            frame.t.guards.is_object(found[1], found[0])
        raise frame.t.stop("LB0010", "a class statement with another __build_class__")
    frame.env[op.results[0]] = found


_PLAIN = frozenset({int, str, float, bool, type(None)})
RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "pyframe.load_local": load_local,
        "pyframe.store_local": store_local,
        "pyframe.delete_local": delete_local,
        "pyframe.save_local": save_local,
        "pyframe.restore_local": restore_local,
        "pyframe.load_global": load_global,
        "pyframe.store_global": store_global_rule,
        "pyframe.delete_global": delete_global_rule,
        "pyframe.load_deref": load_deref,
        "pyframe.store_deref": store_deref,
        "pyframe.delete_deref": delete_deref,
        "pyframe.load_cell": load_cell_rule,
        "pyframe.bind_cell": bind_cell,
        "pyframe.make_cell": make_cell,
        "pyframe.load_place": load_place,
        "pyframe.load_const": load_const,
        "pyframe.load_assertion_error": load_assertion_error,
        "pyframe.load_build_class": load_build_class,
        "pyframe.drop": drop,
    }
)
