"""`exec` and `eval` of text in namespaces that are given: the text is compiled and followed, as the library does it for dataclasses and named tuples."""

from __future__ import annotations
import __future__

import builtins
import sys
import warnings
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, MappingProxyType
from typing import Any

from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.tracer import NONE, Box, Tracer

Kwargs = dict[str, Box]
_FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


def _rule(mode: str) -> Callable[[Tracer, list[Box], Kwargs], Box]:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if not 2 <= len(args) <= 3 or kwargs or args[1][0] is None:
            raise t.stop("LB0013", f"{mode} in the namespaces of the frame")
        code = _compiled(t, args[0], mode)
        names = args[1]
        space = args[2] if len(args) == 3 and args[2][0] is not None else names
        _check_globals(t, names, mode)
        t.guard_type(space)
        t.memo.switch_off()
        returned = t.code_table.run_body(t, t.made(FunctionType(code, names[0])), space)
        return returned if mode == "eval" else NONE

    return rule


def _compiled(t: Tracer, source: Box, mode: str) -> CodeType:
    """The code of a text, which is a constant from here on, or the code itself."""
    text = t.leak(source)
    if type(text) is CodeType and not text.co_freevars:
        return text
    if type(text) is not str:
        raise t.stop("LB0013", f"{mode} of a {type(text).__name__}")
    inherited = t.frame.program.code.co_flags & _FUTURE
    stripped = text.lstrip(" \t") if mode == "eval" else text
    return _code_of(t, stripped, "<string>", mode, inherited)


def _code_of(t: Tracer, *args: Any) -> CodeType:
    """What `compile(*args, True)` gives.  Breaks for a text that warns when it is compiled, which each call would tell of."""
    told: list[Any] = []
    filters, shows = warnings.filters, warnings._showwarnmsg  # type: ignore[attr-defined]
    warnings.filters, warnings._showwarnmsg = [("always", None, Warning, None, 0)], told.append  # type: ignore[attr-defined]
    try:
        code: CodeType = run_real(compile, *args, True)
    finally:
        warnings.filters, warnings._showwarnmsg = filters, shows  # type: ignore[attr-defined]
    if told:
        raise t.stop("LB0013", "a text that warns when it is compiled")
    return code


def _check_globals(t: Tracer, names: Box, mode: str) -> None:
    """Global names are those of a loaded module, or a dictionary made in the trace, which gets the builtins as CPython gives them to it."""
    value = names[0]
    if type(value) is not dict:
        if issubclass(type(value), dict):
            raise t.stop("LB0013", f"{mode} in a {type(value).__name__}")
        raise UserError(TypeError(f"{mode}() globals must be a dict, not {type(value).__name__}")) if mode == "exec" else t.stop("LB0013", mode)
    if t.is_fresh(value):
        if "__builtins__" not in value:
            value["__builtins__"] = t.static(builtins.__dict__)[0]
        elif value["__builtins__"] is not builtins and type(value["__builtins__"]) is not dict:
            raise t.stop("LB0013", f"{mode} with other builtins")
    elif not any(getattr(module, "__dict__", None) is value for module in [sys.modules.get(value.get("__name__", ""))]):
        raise t.stop("LB0013", f"{mode} in names that are no module's")


def _compile(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`compile(text, file, mode)`, which makes the same code each time."""
    if len(args) != 3 or kwargs or any(type(box[0]) is not str for box in args):
        raise t.stop("LB0013", "compile() of no text, or with flags")
    inherited = t.frame.program.code.co_flags & _FUTURE
    return (_code_of(t, *t.leak_all(args), inherited), None)


EVALUATED: Mapping[Any, Any] = MappingProxyType({exec: _rule("exec"), eval: _rule("eval"), compile: _compile})
