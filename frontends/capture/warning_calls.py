"""`warnings.warn`, and warnings of torch's functions: effects, replayed in order by the residual code, which name the line of the program and its
module's registry.

What becomes of a warning is decided when the call runs, by the filters there are then.  But a frame is followed only while they make no error of it, and
no function of the program shows it, which is guarded.  The list that `catch_warnings(record=True)` gives is not read behind a warning before that is given.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Any

from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer

Kwargs = dict[str, Box]
_PARAMETERS = ("message", "category", "stacklevel", "source")
_IMPORTERS = ("importlib", "_bootstrap")  # frames that `warn` passes over have both in the names of their files


class WarnAt:
    """In residual code: warn for a line of a file, on behalf of the module with these globals."""

    __slots__ = ("filename", "line", "names")

    def __init__(self, filename: str, line: int, names: dict[str, Any]) -> None:
        self.filename = filename
        self.line = line
        self.names = names

    def __call__(self, category: type[Warning], message: str) -> None:
        registry = self.names.setdefault("__warningregistry__", {})
        module = self.names.get("__name__", "<string>")
        warnings.warn_explicit(message, category, self.filename, self.line, module, registry)


class WarnAbove:
    """In residual code: warn on behalf of a frame so many calls above the compiled function, between which lect's own do not count."""

    __slots__ = ("level",)

    def __init__(self, level: int) -> None:
        self.level = level

    def __call__(self, category: type[Warning], message: str) -> None:
        frame, level = sys._getframe(1), self.level
        while level and frame.f_back is not None:
            frame = frame.f_back
            level -= not str(frame.f_globals.get("__name__")).startswith("lect.")
        names = frame.f_globals if not level else vars(sys)
        WarnAt(frame.f_code.co_filename if not level else "sys", frame.f_lineno if not level else 1, names)(category, message)


class Raises:
    """Whether a warning would be raised: what the first filter says that fits.  Of one for callers of the frame, module and line are not known."""

    __slots__ = ("category", "line", "module", "text")

    def __init__(self, category: type[Warning], text: str, warn: WarnAt | WarnAbove) -> None:
        self.category = category
        self.text = text
        self.module = warn.names.get("__name__", "<string>") if isinstance(warn, WarnAt) else None
        self.line = warn.line if isinstance(warn, WarnAt) else None

    def __call__(self) -> bool:
        for action, message, category, module, line in warnings.filters:
            if not _fits(message, self.text) or not issubclass(self.category, category):
                continue
            unknown = self.line is None and (module is not None or line)
            if unknown and action != "error":
                continue
            if unknown or (_fits(module, self.module) and line in (0, self.line)):
                return bool(action == "error")
        return bool(warnings._defaultaction == "error")  # type: ignore[attr-defined]


class Registers:
    """In residual code: what a warning that no filter lets through does to the module that it is for."""

    __slots__ = ("warn",)

    def __init__(self, warn: WarnAt) -> None:
        self.warn = warn

    def __call__(self, category: type[Warning]) -> None:
        self.warn.names.setdefault("__warningregistry__", {})


def _decided(t: Tracer, category: type[Warning], text: str, warn: WarnAt | WarnAbove) -> str:
    """What a filter says of a warning that the frame itself has added, in front of all that were there; empty where there is none that fits."""
    now = t.shadows.get(id(vars(warnings))) if t.shadows.some else None
    filters = dict.get(now, "filters") if now is not None else None
    if type(filters) is not list or not t.is_fresh(filters) or not isinstance(warn, WarnAt):
        return ""
    before = {id(entry) for entry in warnings.filters}
    for entry in filters:
        if type(entry) is not tuple or len(entry) != 5 or id(entry) in before:
            return ""
        action, message, kind, module, line = entry
        if type(kind) is not type or t.is_fresh(kind):
            return ""
        if _fits(message, text) and issubclass(category, kind) and _fits(module, warn.names.get("__name__", "<string>")) and line in (0, warn.line):
            return str(action)
    return ""


def _fits(pattern: Any, text: Any) -> bool:
    """True when a part of a filter fits."""
    return pattern is None or (pattern == text if type(pattern) is str else pattern.match(text) is not None)


def check_shown(t: Tracer) -> None:
    """What shows warnings is Python's own, or writes them down in a list, which the frame has now written to.  Breaks for others."""
    place, shows = t.sources.module("warnings"), warnings._showwarnmsg_impl  # type: ignore[attr-defined]
    if warnings.showwarning is not warnings._showwarning_orig or not all(t.as_before(vars(warnings), name) for name in _SHOWING):  # type: ignore[attr-defined]
        raise t.stop("LB0013", "the program warns, and has a function of its own to show it")
    t.guards.is_object(place.attr("showwarning"), warnings.showwarning)
    if shows is _SHOWS:
        t.guards.is_object(place.attr("_showwarnmsg_impl"), shows)
        return
    written = getattr(shows, "__self__", None)
    if type(shows) is not BuiltinFunctionType or shows.__name__ != "append" or type(written) is not list:
        raise t.stop("LB0013", "the program warns, and has a function of its own to show it")
    place = place.attr("_showwarnmsg_impl")
    t.guards.type_is(place, BuiltinFunctionType)
    t.guards.equals(place.attr("__name__"), "append")
    box = t.wrap(written, place.attr("__self__"))
    t.guard_type(box)
    if id(written) in t.recorders:
        return
    if t.is_fresh(written) or id(written) in t.shadows.ids():
        raise t.stop("LB0013", "the program warns, and reads what is written down of it")
    t.mutated[id(written)] = box
    t.recorders.add(id(written))

    def read(_: Any) -> Any:
        raise t.stop("LB0013", "warnings are read that wait to be given")

    t.shadows.defer(written, read, list.append, [None])


_SHOWING = ("showwarning", "_showwarnmsg_impl", "_showwarning_orig")
_SHOWS = warnings._showwarnmsg_impl if isinstance(warnings._showwarnmsg_impl, FunctionType) else None  # type: ignore[attr-defined]


def _warn(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    given = {**dict(zip(_PARAMETERS, args)), **kwargs}
    message, category, source = (given.get(name, NONE) for name in ("message", "category", "source"))
    level = t.leak(given["stacklevel"]) if "stacklevel" in given else 1
    kind = category[0] if category[0] is not None else UserWarning
    known = len(args) <= len(_PARAMETERS) and not given.keys() - {*_PARAMETERS} and len(given) == len(args) + len(kwargs)
    plain = type(message[0]) is str and source[0] is None and type(kind) is type and issubclass(kind, Warning) and not t.is_fresh(kind)
    if not known or not plain or type(level) is not int:
        raise t.stop("LB0013", "the program warns")
    warn = _for_line(t, level)
    decided = _decided(t, kind, t.leak(message), warn)
    if decided in ("ignore", "error"):
        if category[1] is not None:
            t.guards.is_object(category[1], kind)
        if decided == "error":
            raise UserError(kind(t.leak(message)))
        t.effects.append(Effect(Registers(warn), t.static(kind), [], {}, t.loc))  # type: ignore[arg-type]
        return NONE
    if not t.as_before(vars(warnings), "filters"):
        raise t.stop("LB0013", "the program warns")
    raises = Raises(kind, t.leak(message), warn)
    if raises():
        raise t.stop("LB0013", "the program warns, and a filter makes an error of it")
    t.guards.equals(t.sources.kept(t.objects.number(raises)).step("call"), False)
    check_shown(t)
    target = t.static(kind) if category[1] is None else category
    if category[1] is not None:
        t.guards.is_object(category[1], kind)
    t.effects.append(Effect(warn, target, [t.leak(message)], {}, t.loc))
    return NONE


def warned_by_torch(t: Tracer, given: Any, in_python: bool) -> bool:
    """Warn for the line of the program that calls torch: in each call where a function in Python warns, now where C++ does, which may warn but once."""
    kind, text, loc = given.category, str(given.message), t.loc
    if not loc.known or t.is_fresh(kind):
        return False
    warn = WarnAt(t.frame.program.code.co_filename, loc.line, t.frame.globals)
    if _decided(t, kind, text, warn) == "ignore":
        return True
    if not t.as_before(vars(warnings), "filters"):
        return False
    raises = Raises(kind, text, warn)
    if raises():
        return False
    if not in_python:
        warn(kind, text)
        return True
    t.guards.equals(t.sources.kept(t.objects.number(raises)).step("call"), False)
    t.effects.append(Effect(warn, t.static(kind), [text], {}, loc))
    return True


def _for_line(t: Tracer, level: int) -> WarnAt | WarnAbove:
    """Who warns for the line `level` - 1 calls above the running one.  Breaks where the frames of the program are not those of the trace."""
    frame, loc = t.frame, t.loc
    while level > 1 and frame.caller is not None:
        frame, loc, level = frame.caller, frame.called_at, level - 1
    if any(part in frame.program.code.co_filename for part in _IMPORTERS):
        raise t.stop("LB0013", "the program warns while a module is imported")
    if level > 1:
        if frame.program.of_rest:
            raise t.stop("LB0013", "the program warns on behalf of the caller of a function that was cut")
        return WarnAbove(level - 1)
    if not loc.known:
        raise t.stop("LB0013", "the program warns for an unknown line")
    return WarnAt(frame.program.code.co_filename, loc.line, frame.globals)


class FiltersChanged:
    """In residual code: what was known of warnings that were given once counts no more."""

    __slots__ = ()

    def __call__(self, module: Any) -> None:
        module._filters_mutated()


def _filters_changed(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`warnings._filters_mutated()`, which `catch_warnings` and the functions that add filters call."""
    t.effects.append(Effect(FiltersChanged(), t.static(warnings), [], {}, t.loc))
    return NONE


WARNINGS: Mapping[Any, Any] = MappingProxyType({warnings.warn: _warn, warnings._filters_mutated: _filters_changed})  # type: ignore[attr-defined]
