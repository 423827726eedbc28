"""Groups of exceptions: splitting them by a condition, and what a `try` with `except*` raises at its end.

What C code does with a group is done here step by step, because it may call functions of the program: the condition, and the `derive` of a class of
its own.  Groups from outside of the trace are split whole or not at all; the trace breaks where their parts would be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.attributes import load_attr, lookup
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import run_real, store_attr
from lect.frontends.capture.operators import truth
from lect.frontends.capture.tracer import NONE, Box, Tracer

MAX_NESTING = 100
_NO_CONDITION = "an exception group is split by something that is no function, class or tuple of classes"
Matches = Callable[[Box], bool]


def box_of(t: Tracer, value: Any) -> Box:
    """The box of an exception that is found inside of another object."""
    return t.seen.get(id(value)) or (value, None)


def is_group(value: Any) -> bool:
    """True for groups of exceptions."""
    return issubclass(type(value), BaseExceptionGroup)


def of_classes(t: Tracer, classes: tuple[type, ...]) -> Matches:
    """The condition that an exception is of one of these classes."""

    def matches(box: Box) -> bool:
        mro = t.guard_type(box).__mro__
        return any(cls in mro for cls in classes)

    return matches


def parts_of(t: Tracer, box: Box) -> tuple[Any, ...]:
    """The exceptions of a group.  Breaks for a group from outside of the trace."""
    if not t.is_fresh(box[0]):
        raise t.stop("LB0007", "the parts of an exception group from outside of the frame")
    return BaseExceptionGroup.exceptions.__get__(box[0])  # type: ignore[attr-defined, no-any-return]


def split(t: Tracer, box: Box, matches: Matches, depth: int = 0) -> tuple[Box, Box]:
    """What of an exception matches, and what does not: None where that is nothing."""
    if depth > MAX_NESTING:
        raise t.stop("LB0031", f"exception groups nested deeper than {MAX_NESTING}")
    if matches(box):
        return box, NONE
    if not is_group(box[0]):
        return NONE, box
    parts = [split(t, box_of(t, error), matches, depth + 1) for error in parts_of(t, box)]
    kept, rest = ([pair[side] for pair in parts if pair[side][0] is not None] for side in (0, 1))
    return _subset(t, box, kept), _subset(t, box, rest)


def _subset(t: Tracer, box: Box, parts: list[Box]) -> Box:
    """A group like this one of some of its parts; None when there are none."""
    from lect.frontends.capture.calls import call

    if not parts:
        return NONE
    derived = call(t, load_attr(t, box, "derive"), [t.made([part[0] for part in parts])], {})
    group, new = box[0], derived[0]
    if not is_group(new):
        raise UserError(TypeError("derive must return an instance of BaseExceptionGroup"))
    if not t.is_fresh(new):
        raise t.stop("LB0004", "a derive that gives an exception group from outside of the frame")
    found = t.tracebacks.get(id(group))
    if found is not None:
        t.keep.append(new)
        t.tracebacks[id(new)] = found
    new.__context__, new.__cause__ = group.__context__, group.__cause__
    _copy_notes(t, box, derived)
    return derived


def _copy_notes(t: Tracer, box: Box, derived: Box) -> None:
    try:
        notes = load_attr(t, box, "__notes__")
    except UserError as raised:
        if not issubclass(type(raised.error), AttributeError):
            raise
        return
    if issubclass(type(notes[0]), list | tuple):
        t.register(notes)
        store_attr(t, derived, "__notes__", t.made(list(t.now(notes))))


def _condition(t: Tracer, box: Box) -> Matches:
    """What `split` and `subgroup` are given, as a function of boxes."""
    from lect.frontends.capture.calls import call

    value, source = box
    classes = value if issubclass(type(value), tuple) else (value,)
    if all(issubclass(type(cls), type) and issubclass(cls, BaseException) for cls in classes) and classes:
        guard_classes(t, box)
        return of_classes(t, classes)
    kind = t.guard_type(box)
    if issubclass(kind, type | tuple) or lookup(t, kind, "__call__").kind == "missing":
        run_real(BaseExceptionGroup.split, ExceptionGroup("", [ValueError()]), 0)  # which raises
        raise t.stop("LB0003", _NO_CONDITION)
    return lambda error: truth(t, call(t, box, [error], {}))


def guard_classes(t: Tracer, box: Box) -> None:
    """A class, or a tuple of classes, stays what it is."""
    if box[1] is not None:
        t.guards.is_object(box[1], box[0]) if issubclass(type(box[0]), type) else t.register(box)


def _split(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`group.split(condition)`."""
    return t.make_tuple(list(split(t, args[0], _condition(t, args[1]))))


def _subgroup(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`group.subgroup(condition)`.

    The rest is made of the parts that do not match, which `subgroup` does not do; so the parts are chosen here.
    """
    return _part(t, args[0], _condition(t, args[1]))


def _part(t: Tracer, box: Box, matches: Matches, depth: int = 0) -> Box:
    if depth > MAX_NESTING:
        raise t.stop("LB0031", f"exception groups nested deeper than {MAX_NESTING}")
    if matches(box):
        return box
    if not is_group(box[0]):
        return NONE
    found = [_part(t, box_of(t, error), matches, depth + 1) for error in parts_of(t, box)]
    return _subset(t, box, [part for part in found if part[0] is not None])


def _derive(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`group.derive(exceptions)` of the base class."""
    if not t.is_fresh(args[0][0]):
        raise t.stop("LB0007", "a group is derived from one from outside of the frame")
    return t.made(run_real(BaseExceptionGroup.derive, args[0][0], given_exceptions(t, args[1])))


def given_exceptions(t: Tracer, box: Box) -> Any:
    """The exceptions that a group is made of; what is no list or tuple breaks."""
    if type(box[0]) not in (list, tuple):
        raise t.stop("LB0003", f"an exception group made of a {type(box[0]).__name__}")
    t.register(box)
    return t.now(box)


def combined(t: Tracer, original: Box, raised: list[Any]) -> Box:
    """What a `try` with `except*` raises at its end: of the exception that it has caught, and what its handlers have raised and left over (or None)."""
    if not raised:
        return NONE
    if not is_group(original[0]):
        return box_of(t, raised[0]) if raised[0] is not None else NONE
    if not t.is_fresh(original[0]) or any(error is not None and not t.is_fresh(error) and id(error) in t.seen for error in raised):
        raise t.stop("LB0030", "except* looks at the tracebacks of exceptions from outside of the frame")
    errors = [error for error in raised if error is not None]
    kept = {id(leaf) for error in errors if _is_part(t, error, original[0]) for leaf in _leaves(t, error)}
    new = [error for error in errors if not _is_part(t, error, original[0])]
    rest = _part(t, original, lambda box: not is_group(box[0]) and id(box[0]) in kept) if kept else NONE
    if not new:
        return rest
    if rest[0] is not None:
        new.append(rest[0])
    made = box_of(t, new[0]) if len(new) == 1 else t.made(BaseExceptionGroup("", new))
    t.chained.add(id(made[0]))
    t.keep.append(made[0])
    return made


def _is_part(t: Tracer, error: Any, group: Any) -> bool:
    """True for a part of the group that was raised again as it was, and not anew."""
    same = is_group(error) and t.tracebacks.get(id(error)) is t.tracebacks.get(id(group))
    return same and error.__cause__ is group.__cause__ and error.__context__ is group.__context__


def _leaves(t: Tracer, error: Any) -> list[Any]:
    if not is_group(error):
        return [error]
    return [leaf for part in parts_of(t, box_of(t, error)) for leaf in _leaves(t, part)]


EXCEPTION_GROUPS: Mapping[Any, Any] = MappingProxyType(
    {BaseExceptionGroup.split: _split, BaseExceptionGroup.subgroup: _subgroup, BaseExceptionGroup.derive: _derive}
)
