"""Objects of C that are values: dates, times, durations, decimal numbers, and layouts of bytes.  They cannot change, so they are computed with while the
frame is followed, and made again from what they hold.

One that is passed in may be another one in each call, such as the time when something began: what is done with it is a break, and one version stands for
all.  What asks the clock or the machine's time zone is left to the call (`datetime.now()`, `astimezone()`).  A decimal number is computed with when the
result is exact: then the context of the moment decides nothing but how many digits there may be, which is guarded, and no flag of it is set.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable, Mapping
from types import ClassMethodDescriptorType, MappingProxyType, MethodDescriptorType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any

from lect.frontends.capture.content_guards import is_passed_in
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import Box, Tracer

if TYPE_CHECKING:
    from lect.frontends.capture.residual import ResidualBuilder
    from lect.ir import Value

Kwargs = dict[str, Box]
Rule = Callable[[Tracer, list[Box], Kwargs], Box]
_LOCAL = frozenset("pack_into iter_unpack now today utcnow fromtimestamp utcfromtimestamp astimezone timestamp strptime strftime __format__ timetuple".split())
_LEFT = frozenset({"__init__", "__new__", "__getattribute__", "__repr__", "__str__"})  # others see to these
VALUES = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, struct.Struct)
_CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def is_value(value: Any) -> bool:
    """True for such an object; not for one with a time zone that is an object of the program, whose code makes its texts and sums."""
    if type(value) not in VALUES:
        return False
    zone = value.tzinfo if type(value) in (datetime.datetime, datetime.time) else None
    return zone is None or type(zone) is datetime.timezone


def check_given(t: Tracer, box: Box, what: str) -> None:
    """A value that lasts is known by its identity.  Breaks for one that is passed in."""
    value, source = box
    if source is not None and is_passed_in(source):
        raise t.stop("LB0003", f"{what} of a {type(value).__module__}.{type(value).__qualname__}")
    if source is not None:
        t.guards.is_object(source, value)


def is_known(t: Tracer, value: Any) -> bool:
    """True for a value inside of a container that is made in the trace, or lasts."""
    box = t.seen.get(id(value))
    if box is not None and not t.is_fresh(value):
        check_given(t, box, "what stands in a container")
        return True
    return t.is_fresh(value)


def value_call(t: Tracer, function: Any, args: list[Box], kwargs: Kwargs | None = None) -> Box:
    """Run a function of C on such objects and plain values.  Breaks for others among the arguments, and for decimal numbers where digits are lost."""
    given = {name: _given(t, function, box) for name, box in (kwargs or {}).items()}
    raw = [_given(t, function, box) for box in args]
    if any(type(value) is decimal.Decimal for value in (*raw, *given.values())) or function is decimal.Decimal:
        returned = _in_context(t, function, raw, given)
    else:
        returned = run_real(function, *raw, **given)
    if type(returned) in VALUES and not any(returned is value for value in (*raw, *given.values())):
        return t.made(returned)
    return t.result(returned, 1)


def _given(t: Tracer, function: Any, box: Box) -> Any:
    value = t.leak(box)
    kind = type(value)
    if is_value(value):
        check_given(t, box, getattr(function, "__qualname__", "a function"))
        return value
    t.guard_type(box)
    plain = kind in SCALAR_TYPES or (kind is tuple and all(type(item) in SCALAR_TYPES for item in value))
    if not plain and not (issubclass(kind, type) and kind is type):
        raise t.stop("LB0003", f"{getattr(function, '__qualname__', 'a function')} with a {kind.__module__}.{kind.__qualname__}")
    return value


def _in_context(t: Tracer, function: Any, raw: list[Any], given: dict[str, Any]) -> Any:
    """The result in the context of the moment, which is guarded.  Breaks where it would be told of something, such as lost digits."""
    now = decimal.getcontext()
    place = t.sources.module("decimal").attr("getcontext").step("call")
    for name in _CONTEXT:
        t.guards.equals(place.attr(name), getattr(now, name))
    with decimal.localcontext(now) as ctx:
        ctx.clear_flags()
        ctx.clear_traps()
        returned = function(*raw, **given)
        told = any(ctx.flags.values())
    if told:
        raise t.stop("LB0003", "arithmetic with decimal numbers that is not exact")
    return returned


def make_value(t: Tracer, cls: type, args: list[Box], kwargs: Kwargs) -> Box:
    """`timedelta(hours=2)` and its like."""
    return value_call(t, cls, args, kwargs)


def _method(function: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        return value_call(t, function, args, kwargs)

    return rule


def _methods() -> Mapping[Any, Rule]:
    """The methods that look at nothing but their arguments."""
    found: dict[Any, Rule] = {}
    for cls in VALUES:
        for name, entry in vars(cls).items():
            if name in _LOCAL or (name.startswith("__") and not isinstance(entry, WrapperDescriptorType)):
                continue
            if isinstance(entry, MethodDescriptorType | WrapperDescriptorType) and name not in _LEFT:
                found[entry] = _method(entry)
            elif isinstance(entry, ClassMethodDescriptorType):
                found[getattr(cls, name)] = _method(getattr(cls, name))
    return found


def rebuilt_value(b: ResidualBuilder, value: Any) -> Value:
    """The same value made anew."""
    maker, parts = value.__reduce__()[:2] if type(value) is not struct.Struct else (struct.Struct, (value.format,))
    return b.call(maker, *[b.value(part) for part in parts])


VALUE_METHODS: Mapping[Any, Rule] = MappingProxyType(dict(_methods()))
VALUE_MAKERS: Mapping[type, Callable[[ResidualBuilder, Any], Value]] = MappingProxyType(dict.fromkeys(VALUES, rebuilt_value))

__all__ = ["VALUES", "VALUE_MAKERS", "VALUE_METHODS", "check_given", "is_value", "make_value", "value_call"]
