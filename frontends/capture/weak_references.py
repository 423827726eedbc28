"""Weak references: whether what one refers to is alive hangs on who holds it, and a trace holds everything that it has seen.

So a reference is read only where its object is known to be held: by what the running frames reach, or from outside of the trace as before.  Elsewhere the
graph breaks, and the reference is asked behind the cut, where lifetimes are real.
"""

from __future__ import annotations

import gc
import types
import weakref
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any

from lect.frontends.capture.attributes import find_in_type
from lect.frontends.capture.generators import TracedGenerator
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT
from lect.ir import Block

REFERENCES = (weakref.ref, weakref.ProxyType, weakref.CallableProxyType)
_OUTLIVE = (type, types.ModuleType)  # what lives on without the variables of a frame
LIBRARY = ("weakref", "_weakrefset")
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.CodeType)
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
SEARCHED = 5_000  # objects, until it is unknown whether one is held
LISTED = 1_000  # items of a container that are looked at


def read_reference(t: Tracer, reference: Box) -> Box:
    """`reference()` for a plain weak reference.  Breaks when its object may be held by the trace alone."""
    value, source = reference
    t.guard_type(reference)
    found = weakref.ref.__call__(value)  # also where a class derived from it has another way of being called
    if found is not None and not _is_held(t, found):
        raise t.stop("LB0018", f"a weak reference to a {type(found).__name__} that may be alive no more")
    own = type(find_in_type(type(value), "__call__")) is types.FunctionType
    return t.wrap(found, source.step("referent" if own else "call") if source is not None else None)


def is_watched(value: Any, given: Collection[int] = (), inside: bool = True) -> bool:
    """True when letting go of a value may be seen: it is a weak reference, or there is one to it, or it has a finaliser, or a container holds such a thing.

    Of an object whose identity is among `given`, to which the next operation may make one, the same is said.
    """
    kind = type(value)
    if kind in SCALAR_TYPES or issubclass(kind, _OUTLIVE):
        return False
    if issubclass(kind, REFERENCES):
        return True
    if type(find_in_type(kind, "__del__")) is types.FunctionType:
        return True
    if kind.__weakrefoffset__ and (weakref.getweakrefcount(value) or (kind is not LT and id(value) in given)):
        return True
    return inside and kind in _CONTAINERS and any(is_watched(item, given, False) for item in _items(value))


def within_reach(values: Collection[Any]) -> set[int]:
    """The identities of objects that an operation which is given these values finds in them."""
    found: set[int] = set()
    waiting = deque(values)
    while waiting and len(found) < LISTED:
        value = waiting.popleft()
        if id(value) not in found and type(value) not in SCALAR_TYPES and not issubclass(type(value), (*_OUTLIVE, *_CODE)):
            found.add(id(value))
            waiting.extend(() if type(value) is LT else gc.get_referents(value))
    return found


def _items(container: Any) -> Iterator[Any]:
    if len(container) <= LISTED:
        yield from container
        if type(container) is dict:
            yield from container.values()


def _is_held(t: Tracer, value: Any) -> bool:
    """True when something besides the trace holds a value."""
    if type(value) is not LT and not t.is_fresh(value) and not _has_let_go(t):
        return True
    return issubclass(type(value), _OUTLIVE) or any(each is value for each in _reached(t))


def check_alive(t: Tracer, function: Any, args: list[Box]) -> None:
    """Break in front of a call of the library's weak containers when an object that one has seen may be alive no more: it would have been taken out."""
    if function.__module__ in LIBRARY:
        held = set(map(id, _reached(t, [box[0] for box in args])))
        gone = next((value for value in t.weakly if id(value) not in held), None)
        if gone is not None:
            raise t.stop("LB0018", f"a weak container of a {type(gone).__name__} that may be alive no more")


def _has_let_go(t: Tracer) -> bool:
    """True when a write of the trace has taken an object out of something that exists before it."""
    shadows: dict[Any, Any] = t.shadows
    if not t.shadows.some and not t.cells:
        return False
    if any(type(key) is tuple for key in dict.keys(shadows)):  # slots
        return True
    for original in t.keep:
        if type(original) is types.CellType:
            now = t.cells.get(id(original))
            if id(original) in t.cells and _lacks(original, [] if now is None else now[:1]):
                return True
        elif dict.__contains__(shadows, id(original)) and _lacks(original, gc.get_referents(dict.__getitem__(shadows, id(original)))):
            return True
    return False


def _lacks(original: Any, now: Collection[Any]) -> bool:
    kept = set(map(id, now))
    return any(id(each) not in kept for each in gc.get_referents(original) if type(each) not in SCALAR_TYPES and not issubclass(type(each), _OUTLIVE))


def _reached(t: Tracer, given: Collection[Any] = ()) -> Iterator[Any]:
    """Objects that the variables and operand stacks of the running frames hold, what is `given` to a call, and what the program holds through them."""
    waiting: deque[Any] = deque(given)
    frame = t.frame
    while frame is not None:
        waiting.extend(_held_by_frame(frame))
        frame = frame.caller
    waiting.extend([effect.args for effect in t.effects])
    seen: set[int] = set()
    while waiting and len(seen) < SEARCHED:
        value = waiting.popleft()
        if id(value) in seen or type(value) in SCALAR_TYPES or issubclass(type(value), _OUTLIVE):
            continue
        seen.add(id(value))
        yield value
        if type(value) is types.CellType and id(value) in t.cells:
            waiting.extend((t.cells[id(value)] or ())[:1])
        elif type(value) is TracedGenerator:
            waiting.extend(_held_by_frame(value.frame))
        elif type(value) is not LT:
            waiting.extend(gc.get_referents(dict.get(t.shadows, id(value), value)))


def _held_by_frame(frame: Any) -> Iterator[Any]:
    for boxes in (frame.locals, frame.cells):
        for box in boxes.values():
            if box is not None:
                yield box[0]
    yield from _on_the_stack(frame.env)
    yield frame.function[0]


def _on_the_stack(env: dict[Any, Box]) -> Iterator[Any]:
    """Of the values of a block those that something behind the running operation uses; a call does not hold what it was given."""
    block = next((value.owner if isinstance(value.owner, Block) else value.owner.parent for value in env), None)
    running = False
    for op in block or ():
        if running:
            for value in op.operands:
                if value in env and type(env[value]) is tuple:
                    yield env[value][0]
        running = running or (bool(op.results) and op.results[0] not in env)
