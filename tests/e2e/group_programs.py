"""Functions of one tensor with `except*`, each cut at every operation too."""

from __future__ import annotations

import contextlib
from typing import Any

import torch


class Coded(ExceptionGroup):
    """A group that keeps its code when it is split."""

    def __new__(cls, message, errors, code=0):
        made = super().__new__(cls, message, errors)
        made.code = code
        return made

    def derive(self, errors):
        return Coded(self.message, errors, self.code)


def shape_of(error: BaseException | None) -> Any:
    """What can be said of an exception: its class, arguments, notes, causes and parts."""
    if error is None:
        return None
    parts = [shape_of(part) for part in error.exceptions] if isinstance(error, BaseExceptionGroup) else []
    notes = list(getattr(error, "__notes__", []))
    return type(error).__name__, str(error), notes, parts, shape_of(error.__cause__), type(error.__context__).__name__, error.__suppress_context__


def fail(x, kind, text="inside"):
    if x.dim():
        raise kind(text)
    return x


def several():
    return ExceptionGroup("several", [ValueError(1), ExceptionGroup("inner", [TypeError(2), KeyError("k"), ValueError(3)]), OSError(4)])


def split_in_parts(x):
    seen = []
    try:
        raise several()
    except* ValueError as group:
        seen.append(shape_of(group))
        x = x * len(group.exceptions)
    except* (TypeError, KeyError) as group:
        seen.append(shape_of(group))
        x = x + len(group.exceptions[0].exceptions)
    except* OSError:
        x = x - 1
    return x, seen


def rest_is_raised(x):
    seen = []
    try:
        try:
            raise several()
        except* ValueError:
            x = x + 1
    except ExceptionGroup as group:
        seen.append(shape_of(group))
    return x, seen


def nothing_matches(x):
    caught = None
    try:
        try:
            raise several()
        except* IndexError:
            x = x + 1
    except ExceptionGroup as group:
        caught = shape_of(group)
    return x * 2, caught


def plain_exception(x):
    caught = None
    try:
        x = fail(x, ValueError)
    except* ValueError as group:
        caught = type(group).__name__, shape_of(group.exceptions[0])[:2]
        x = x * 3
    return x, caught


def plain_exception_that_passes(x):
    try:
        try:
            x = fail(x, KeyError)
        except* ValueError:
            x = x * 3
    except KeyError as error:
        return x * 2, shape_of(error)
    return x, None


def handler_raises(x):
    seen = []
    try:
        try:
            raise several()
        except* ValueError:
            raise IndexError("new")  # noqa: B904
        except* TypeError as group:
            raise LookupError("other") from group
    except ExceptionGroup as group:
        seen.append(shape_of(group))
        x = x + len(group.exceptions)
    return x, seen


def handler_raises_its_part_again(x):
    seen = []
    try:
        try:
            raise several()
        except* ValueError:
            raise
        except* OSError:
            x = x + 1
    except ExceptionGroup as group:
        seen.append(shape_of(group))
    return x, seen


def handler_raises_its_part_anew(x):
    seen = []
    try:
        try:
            raise several()
        except* ValueError as group:
            raise group
        except* OSError:
            x = x + 1
    except ExceptionGroup as group:
        seen.append(shape_of(group))
    return x, seen


def handler_raises_its_part_below(x):
    def again():
        raise  # noqa: PLE0704

    seen = []
    try:
        try:
            raise several()
        except* ValueError:
            again()
    except ExceptionGroup as group:
        seen.append(shape_of(group))
    return x + 1, seen


def group_of_its_own_class(x):
    seen = []
    try:
        try:
            raise Coded("coded", [ValueError(1), TypeError(2)], 7)
        except* ValueError as group:
            x = x + group.code
    except Coded as group:
        seen.append((shape_of(group), group.code))
    return x, seen


def notes_and_causes(x):
    seen = []
    group = ExceptionGroup("noted", [ValueError(1), TypeError(2)])
    group.add_note("a note")
    try:
        try:
            raise group from RuntimeError("cause")
        except* ValueError as part:
            part.add_note("another")
            seen.append(shape_of(part))
    except ExceptionGroup as rest:
        seen.append(shape_of(rest))
    return x + len(seen), seen


def otherwise_and_finally(x):
    for number in range(3):
        try:
            if number == 1:
                raise ExceptionGroup("one", [ValueError(number)])
            x = x + number
        except* ValueError:
            x = x * 2
        else:
            x = x - 1
        finally:
            x = x + 0.5
    return x


def in_a_loop(x):
    last = False
    for number in range(4):
        try:
            if number % 2:
                raise ExceptionGroup("odd", [ValueError(number), KeyError(number)])
            x = x + 1
        except* ValueError as group:
            x = x + group.exceptions[0].args[0]
            if number == 3:
                last = True
        except* KeyError:
            x = torch.relu(x)
    return x, last


def handler_in_a_with(x):
    log = []

    @contextlib.contextmanager
    def noted():
        try:
            yield
        except* ValueError as group:
            log.append(shape_of(group))

    with noted():
        x = x + 1
        raise ExceptionGroup("with", [ValueError(5)])
    return x * 2, log


def split_by_hand(x):
    group = several()
    match, rest = group.split(ValueError)
    chosen = group.subgroup(lambda error: isinstance(error, KeyError))
    both = group.split((OSError, KeyError))
    return x * len(match.exceptions), [shape_of(each) for each in (match, rest, chosen, *both)], group.subgroup(IndexError)


def no_such_condition(x):
    try:
        several().split(3)
    except TypeError as error:
        return x + 1, str(error)
    return x, None


def nested_handlers(x):
    shape = None
    try:
        try:
            raise several()
        except* ValueError:
            try:
                raise ExceptionGroup("second", [ValueError(8), KeyError(9)])
            except* KeyError:
                x = x + 1
    except* (ValueError, TypeError, KeyError, OSError) as group:
        shape = shape_of(group)
        x = x * 2
    return x, shape


def wrong_pattern(x):
    try:
        try:
            raise ValueError(1)
        except* ExceptionGroup:
            x = x + 1
    except TypeError as error:
        return x * 2, str(error)
    return x, None


PROGRAMS = [
    split_in_parts,
    rest_is_raised,
    nothing_matches,
    plain_exception,
    plain_exception_that_passes,
    handler_raises,
    handler_raises_its_part_again,
    handler_raises_its_part_anew,
    handler_raises_its_part_below,
    group_of_its_own_class,
    notes_and_causes,
    otherwise_and_finally,
    in_a_loop,
    handler_in_a_with,
    split_by_hand,
    no_such_condition,
    nested_handlers,
    wrong_pattern,
]
