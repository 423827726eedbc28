"""Rules for `except*`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.attributes import load_attr
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call
from lect.frontends.capture.exception_groups import combined, guard_classes, is_group, of_classes
from lect.frontends.capture.iteration import iterate
from lect.frontends.capture.tracer import NONE, Box


def match_exc_group(frame: Any, op: Any) -> None:
    t = frame.t
    error, pattern = frame.env[op.operands[0]], frame.env[op.operands[1]]
    guard_classes(t, pattern)
    classes = pattern[0] if issubclass(type(pattern[0]), tuple) else (pattern[0],)
    if not all(issubclass(type(cls), type) and issubclass(cls, BaseException) for cls in classes):
        raise UserError(TypeError("catching classes that do not inherit from BaseException is not allowed"))
    if any(issubclass(cls, BaseExceptionGroup) for cls in classes):
        raise UserError(TypeError("catching ExceptionGroup with except* is not allowed. Use except instead."))
    match, rest = _matched(frame, error, pattern, classes)
    if match[0] is not None:
        t.caught = match[0]
    frame.env[op.results[0]], frame.env[op.results[1]] = rest, match


def _matched(frame: Any, error: Box, pattern: Box, classes: tuple[type, ...]) -> tuple[Box, Box]:
    """What of an exception the classes match, as a group, and the rest."""
    t = frame.t
    if error[0] is None:
        return NONE, NONE
    if of_classes(t, classes)(error):
        return (error if is_group(error[0]) else t.made(BaseExceptionGroup("", [error[0]]))), NONE
    if not is_group(error[0]):
        return NONE, error
    t.frame = frame
    pair = call(t, load_attr(t, error, "split"), [pattern], {})
    if not issubclass(type(pair[0]), tuple) or len(pair[0]) < 2:
        raise t.stop("LB0003", "a split of an exception group that gives no pair")
    match, rest, *_ = iterate(t, pair)
    return match, rest


def combine_exc_group(frame: Any, op: Any) -> None:
    t = frame.t
    t.frame = frame
    frame.env[op.results[0]] = combined(t, frame.env[op.operands[0]], list(t.now(frame.env[op.operands[1]])))


RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({"pyframe.match_exc_group": match_exc_group, "pyframe.combine_exc_group": combine_exc_group})
