"""Rules for control flow, iteration, exceptions and `with`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.assumptions import decide
from lect.frontends.capture.attributes import bound_method, generic_attr, instance_dict, lookup
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call
from lect.frontends.capture.class_guards import guard_mro
from lect.frontends.capture.generators import Exhausted
from lect.frontends.capture.iteration import get_iter, get_next
from lect.frontends.capture.operators import truth
from lect.frontends.capture.tracebacks import chain, traceback_of
from lect.frontends.capture.tracer import Box
from lect.frontends.tensors import LT
from lect.ir import Block


def enter(frame: Any, block: Block, operands: Any, *extra: Box) -> Block:
    """Go to `block` with the values of `operands` and `extra` for its arguments."""
    values = [frame.env[value] for value in operands]
    frame.env = dict(zip(block.args, (*values, *extra)))
    return block


def way(op: Any, number: int) -> tuple[Block, list[Any]]:
    """The successor of this number, and the operands for it: what the accessors of the operation give, which this is called too often for."""
    sizes = op.attrs["operand_segments"]
    group = len(sizes) - len(op.definition.successors) + number
    start = sum(sizes[:group])
    return op.successors[number], op.operands[start : start + sizes[group]]


def branch(frame: Any, op: Any) -> Block:
    return enter(frame, *way(op, 0))


def cond_branch(frame: Any, op: Any) -> Block:
    box = frame.env[op.operands[0]]
    if op.attrs.get("test") == "none":
        taken = box[0] is None
        if box[1] is not None:
            frame.t.guards.equals(box[1], None) if taken else frame.t.guards.not_none(box[1])
    else:
        taken = truth(frame.t, box) if type(box[0]) is not LT else decide(frame, op, box)
    return enter(frame, *way(op, 0 if taken else 1))


def for_iter(frame: Any, op: Any) -> Block:
    try:
        item = get_next(frame.t, frame.env[op.operands[0]])
    except Exhausted:
        return enter(frame, *way(op, 1))
    return enter(frame, *way(op, 0), item)


def return_(frame: Any, op: Any) -> None:
    frame.returned = frame.env[op.operands[0]]


def get_iter_rule(frame: Any, op: Any) -> None:
    frame.t.frame = frame
    frame.env[op.results[0]] = get_iter(frame.t, frame.env[op.operands[0]], in_loop=True)


def raise_(frame: Any, op: Any) -> None:
    t = frame.t
    if op.exception is None:
        handled = t.handled()
        if handled is None:
            t.found_unhandled()
            raise UserError(RuntimeError("No active exception to reraise"))
        raise UserError(handled)
    t.guard_type(frame.env[op.exception])
    error = _instance(t, frame.env[op.exception])
    if not issubclass(type(error), BaseException):
        raise UserError(TypeError("exceptions must derive from BaseException"))
    if op.cause is not None:
        cause = _instance(t, frame.env[op.cause])
        if cause is not None and not issubclass(type(cause), BaseException):
            raise UserError(TypeError("exception causes must derive from BaseException"))
        if not t.is_fresh(error):
            raise t.stop("LB0004", "an exception from outside of the frame gets a cause")
        error.__cause__ = cause
    chain(t, error)
    raise UserError(error)


def _instance(t: Any, box: Box) -> Any:
    """The exception that `raise` and its cause are given: an instance, or a class to call."""
    if not issubclass(type(box[0]), type) or not issubclass(box[0], BaseException):
        return box[0]
    made = call(t, box, [], {})[0]
    if not issubclass(type(made), BaseException):
        raise UserError(TypeError(f"calling {box[0]!r} should have returned an instance of BaseException, not {type(made)!r}"))
    return made


def reraise(frame: Any, op: Any) -> None:
    frame.t.guard_type(frame.env[op.exception])
    raise UserError(frame.env[op.exception][0])


def push_exc(frame: Any, op: Any) -> None:
    t = frame.t
    frame.env[op.results[0]] = (t.caught, None)
    t.caught = frame.env[op.operands[0]][0]


def pop_exc(frame: Any, op: Any) -> None:
    frame.t.caught = frame.env[op.operands[0]][0]


def load_place(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = (None, None)


def load_exc(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = (frame.t.handled(), None)


def match_exc(frame: Any, op: Any) -> None:
    t = frame.t
    t.guard_type(frame.env[op.operands[0]])
    error, pattern = frame.env[op.operands[0]][0], frame.env[op.operands[1]]
    if pattern[1] is not None:
        t.guards.is_object(pattern[1], pattern[0]) if issubclass(type(pattern[0]), type) else t.register(pattern)
    classes = pattern[0] if issubclass(type(pattern[0]), tuple) else (pattern[0],)
    if not all(issubclass(type(cls), type) and issubclass(cls, BaseException) for cls in classes):
        raise UserError(TypeError("catching classes that do not inherit from BaseException is not allowed"))
    guard_mro(t, type(error))
    frame.env[op.results[0]] = (any(cls in type(error).__mro__ for cls in classes), None)


def with_enter(frame: Any, op: Any) -> None:
    t = frame.t
    t.frame = frame
    manager = frame.env[op.operands[0]]
    enter_it = _special_method(frame, manager, "__enter__")
    leave = _special_method(frame, manager, "__exit__", " (missed __exit__ method)")
    entered = call(t, enter_it, [], {})
    frame.env[op.results[0]] = leave
    frame.env[op.results[1]] = entered


def _special_method(frame: Any, manager: Box, name: str, without: str = "") -> Box:
    t = frame.t
    kind = t.guard_type(manager)
    found = lookup(t, kind, name)
    if found.kind == "missing":
        raise UserError(TypeError(f"'{kind.__name__}' object does not support the context manager protocol{without}"))
    if found.kind == "function":
        return bound_method(t, found.value, manager)
    if name in (instance_dict(t, manager[0]) or ()):
        raise t.stop("LB0003", f"a {name} that its class holds and an object hides")
    return generic_attr(t, manager, name, fallback=False)  # past a `__getattribute__` and `__getattr__` of the class


def with_exit(frame: Any, op: Any) -> None:
    frame.t.guard_type(frame.env[op.exception])
    error = frame.env[op.exception][0]
    arguments: list[Box] = [(type(error), None), (error, None), traceback_of(frame.t, error, handled=True)]
    frame.env[op.results[0]] = call(frame.t, frame.env[op.exit], arguments, {})


RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "pyframe.branch": branch,
        "pyframe.cond_branch": cond_branch,
        "pyframe.for_iter": for_iter,
        "pyframe.return": return_,
        "pyframe.raise": raise_,
        "pyframe.reraise": reraise,
        "pyframe.push_exc": push_exc,
        "pyframe.pop_exc": pop_exc,
        "pyframe.load_exc": load_exc,
        "pyframe.load_place": load_place,
        "pyframe.match_exc": match_exc,
        "pyframe.with_enter": with_enter,
        "pyframe.with_exit": with_exit,
        "pyframe.get_iter": get_iter_rule,
    }
)
