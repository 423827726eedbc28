"""Rules for `yield` and `yield from`: what suspends a frame, and how it goes on.

A rule that suspends the frame gives no next block.  `RESUMED` says what an operation does when its frame goes on with what was sent or thrown in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.attributes import load_attr
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call, call_method
from lect.frontends.capture.generators import Exhausted, TracedGenerator, close, resume
from lect.frontends.capture.iteration import get_iter, get_next
from lect.frontends.capture.rules.control import enter
from lect.frontends.capture.tracer import NONE, Box
from lect.ir import Block


def yield_(frame: Any, op: Any) -> None:
    frame.generator.suspend(op, frame.env[op.operands[0]])


def after_yield(frame: Any, op: Any) -> Block:
    generator = frame.generator
    if generator.error is not None:
        raise UserError(generator.error)
    return enter(frame, op.then, op.then_operands, generator.sent)


def yield_from(frame: Any, op: Any) -> Block | None:
    t = frame.t
    t.frame = frame
    if op.standing:
        frame.generator.delegate = frame.env[op.operands[0]]
        frame.generator.suspend(op, NONE)
        return None
    inner = frame.generator.delegate = get_iter(t, frame.env[op.operands[0]])
    return _delegate(frame, op, get_next, t, inner)


def after_yield_from(frame: Any, op: Any) -> Block | None:
    frame.t.frame = frame
    if frame.generator.error is not None:
        return _delegate(frame, op, _throw, frame.t, frame.generator)
    return _delegate(frame, op, _send, frame.t, frame.generator)


def _delegate(frame: Any, op: Any, step: Callable[..., Box], *args: Any) -> Block | None:
    """Hand out what the inner iterator gives, or go on behind the `yield from` when it has ended."""
    generator = frame.generator
    try:
        value = step(*args)
    except Exhausted as end:
        generator.delegate = None
        return enter(frame, op.then, op.then_operands, end.value)
    except UserError:
        generator.delegate = None
        raise
    generator.suspend(op, value)
    return None


def _send(t: Any, generator: TracedGenerator) -> Box:
    sent, inner = generator.sent, generator.delegate
    assert inner is not None
    if type(inner[0]) is TracedGenerator:
        return resume(t, inner[0], sent)
    if sent[0] is None:
        return get_next(t, inner)
    return _ending(t, call_method, t, inner, "send", [sent])


def _throw(t: Any, generator: TracedGenerator) -> Box:
    error, inner = generator.error, generator.delegate
    assert error is not None and inner is not None
    if issubclass(type(error), GeneratorExit):
        if type(inner[0]) is TracedGenerator:
            close(t, inner[0])
        else:
            _close_foreign(t, inner)
        raise UserError(error)
    if type(inner[0]) is TracedGenerator:
        return resume(t, inner[0], NONE, error)
    returned = _ending(t, _call_if_there, t, inner, "throw", [t.made(error)])
    if returned is None:
        raise UserError(error)
    return returned


def _close_foreign(t: Any, inner: Box) -> None:
    """Call `close` of an iterator that has it; an error in looking for it is written to the standard error and goes no further."""
    try:
        method = _method_if_there(t, inner, "close")
    except UserError as raised:
        raise t.stop("LB0013", f"looking for `close` raises {type(raised.error).__name__}") from None
    if method is not None:
        call(t, method, [], {})


def _method_if_there(t: Any, box: Box, name: str) -> Box | None:
    try:
        return load_attr(t, box, name)
    except UserError as raised:
        if issubclass(type(raised.error), AttributeError):
            return None
        raise


def _call_if_there(t: Any, box: Box, name: str, args: list[Box]) -> Box | None:
    method = _method_if_there(t, box, name)
    return None if method is None else call(t, method, args, {})


def _ending(t: Any, step: Callable[..., Any], *args: Any) -> Any:
    """A call of a method of an iterator: the program's StopIteration is the end."""
    try:
        return step(*args)
    except UserError as raised:
        if issubclass(type(raised.error), StopIteration):
            raise Exhausted(t.wrap(raised.error.value)) from None
        raise


RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({"pyframe.yield": yield_, "pyframe.yield_from": yield_from})
RESUMED: Mapping[str, Callable[[Any, Any], Block | None]] = MappingProxyType({"pyframe.yield": after_yield, "pyframe.yield_from": after_yield_from})
