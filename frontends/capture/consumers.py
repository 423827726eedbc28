"""Rules for C functions that iterate or call back, step by step as C does: what the program's Python code does in between stays in order.

`special_table` takes them in.  Lazy ones (`map`, `zip`, `itertools`) run for real and are handed `Callback` and generator objects.
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.guard.arithmetic import sum_from
from lect.frontends.capture.calls import call, call_pure, pure_argument
from lect.frontends.capture.effects import mutate, run_real, shadow_of
from lect.frontends.capture.generators import ITSELF, Callback, Exhausted
from lect.frontends.capture.iteration import each, get_iter, get_next, iterate
from lect.frontends.capture.numbers import RunTimeNumber, apply
from lect.frontends.capture.operators import binary, check_plain, truth
from lect.frontends.capture.ordering import Ordered, is_ordered_in_python
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer

Kwargs = dict[str, Box]
Rule = Callable[[Tracer, list[Box], Kwargs], Box]
Work = Callable[[Tracer, list[Box], Kwargs], Any]


def _leak(t: Tracer, box: Box) -> Any:
    return t.stored(box)


def _comparable(t: Tracer, box: Box) -> Any:
    """A key for C code to compare."""
    value = t.leak(box)
    check_plain(t, value)
    return value


def _calling(callee: Box, after: Callable[[Tracer, Box], Any]) -> Work:
    return lambda t, args, kwargs: after(t, call(t, callee, args, kwargs))


def _itself(after: Callable[[Tracer, Box], Any]) -> Work:
    return lambda t, args, kwargs: after(t, args[0])


def _added(t: Tracer, args: list[Box], kwargs: Kwargs) -> Any:
    return t.stored(binary(t, operator.add, args[0], args[1]))


def callback(t: Tracer, callee: Box, after: Callable[[Tracer, Box], Any], optional: bool = False) -> Box:
    """A box with what C code calls in place of `callee`; for None that is the identity when it is `optional`."""
    return (Callback(t, _itself(after) if optional and callee[0] is None else _calling(callee, after), callee), None)


_OPTIONAL = frozenset({builtins.filter, itertools.filterfalse, itertools.groupby})


def _lazy(function: Any, position: int, keyword: str, after: Callable[[Tracer, Box], Any], without: Work | None = None) -> Rule:
    """An iterator in C that calls its argument number `position`, which may be called `keyword`; `without` is what it calls when there is none."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        args, kwargs = list(args), dict(kwargs)
        given = args[position] if position < len(args) else kwargs.get(keyword, NONE)
        stand_in: Box = (Callback(t, without, NONE), None) if without is not None and given[0] is None else callback(t, given, after, function in _OPTIONAL)
        if position < len(args):
            args[position] = stand_in
        elif position:
            kwargs[keyword] = stand_in
        return call_pure(t, function, args, kwargs)

    return rule


def _chained(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """chain.from_iterable; what it iterates over in turn may be the program's too."""
    inner: Box = (Callback(t, lambda t, args, kwargs: pure_argument(t, itertools.chain, args[0]), ITSELF), None)
    return call_pure(t, itertools.chain.from_iterable, [call_pure(t, map, [inner, args[0]], {})], {})


def _starred(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """itertools.starmap; C would make a tuple of each item."""
    row: Box = (Callback(t, lambda t, args, kwargs: tuple(t.leak_all(iterate(t, args[0]))), ITSELF), None)
    return call_pure(t, itertools.starmap, [callback(t, args[0], _leak), call_pure(t, map, [row, args[1]], {})], {})


def _tee(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    source = pure_argument(t, zip, args[0])
    made = run_real(itertools.tee, source, *t.leak_all(args[1:]))
    return t.make_tuple([t.made(each_one) for each_one in made])


def _accumulated(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """itertools.accumulate; what it begins with may be anything, and is like an item in front of the others."""
    initial = kwargs.get("initial", NONE)
    if initial[0] is not None and args:
        first = t.make_tuple([initial])
        args = [call_pure(t, itertools.chain, [first, get_iter(t, args[0])], {}), *args[1:]]
        kwargs = {name: box for name, box in kwargs.items() if name != "initial"}
    return _RUNNING(t, args, kwargs)


_RUNNING = _lazy(itertools.accumulate, 1, "func", _leak, _added)


def called_until(t: Tracer, callee: Box, sentinel: Box) -> Box:
    """`iter(callee, sentinel)`."""
    if not callable(callee[0]):
        run_real(iter, callee[0], sentinel[0])
    return t.made(run_real(iter, callback(t, callee, _comparable)[0], _comparable(t, sentinel)))


COMPENSATED = sys.version_info >= (3, 12)
_NUMBERS = frozenset({int, float, bool})


def _sum(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    total = args[1] if len(args) > 1 else kwargs.get("start", (0, None))
    if issubclass(type(total[0]), str | bytes | bytearray):
        run_real(sum, [], t.leak(total))
    items: Iterable[Box] = each(t, args[0])
    if COMPENSATED:
        total, items = _sum_of_numbers(t, total, items)
    for item in items:
        total = binary(t, operator.add, total, item)
    return total


def _sum_of_numbers(t: Tracer, total: Box, items: Iterable[Box]) -> tuple[Box, Iterable[Box]]:
    """The sum of the numbers in front, and the other items.  Floats are added by `sum` itself, which since 3.12 keeps track of what rounding loses."""
    numbers, rest, items = [total], [], iter(items)
    if type(total[0]) in _NUMBERS or type(total[0]) is RunTimeNumber:
        for item in items:
            if type(item[0]) not in _NUMBERS and type(item[0]) is not RunTimeNumber:
                rest.append(item)
                break
            numbers.append(item)
    if any(type(box[0].value if type(box[0]) is RunTimeNumber else box[0]) is float for box in numbers):
        added = apply(t, sum_from, numbers) or (run_real(sum_from, *t.leak_all(numbers)), None)
        return added, itertools.chain(rest, items)
    return total, itertools.chain(numbers[1:], rest, items)


def _extreme(function: Callable[..., Any], better: Callable[..., Any]) -> Rule:
    """min and max."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if not args or set(kwargs) - {"key", "default"} or (len(args) > 1 and "default" in kwargs):
            return call_pure(t, function, args, kwargs)  # which raises
        key = kwargs.get("key", NONE)
        best: Box | None = None
        best_key: Box = NONE
        for box in each(t, args[0]) if len(args) == 1 else args:
            its_key = box if key[0] is None else call(t, key, [box], {})
            if best is None or truth(t, binary(t, better, its_key, best_key)):
                best, best_key = box, its_key
        if best is None:
            if "default" not in kwargs:
                run_real(function, ())
            return kwargs["default"]
        return best

    return rule


def _quantifier(stop: bool) -> Rule:
    """any and all."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        iterator = get_iter(t, args[0])
        while True:
            try:
                item = get_next(t, iterator)
            except Exhausted:
                return (not stop, None)
            if truth(t, item) == stop:
                return (stop, None)

    return rule


def _reduce(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    total = args[2] if len(args) > 2 else None
    for box in each(t, args[1]):
        total = box if total is None else call(t, args[0], [total, box], {})
    if total is None:
        run_real(functools.reduce, operator.add, ())
    assert total is not None
    return total


def _sorted(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    key = kwargs.get("key", NONE)
    if key[0] is None and not _ordered_in_python(t, args[0]):
        return call_pure(t, sorted, args, {name: box for name, box in kwargs.items() if name != "key"})
    items = t.leak_all(iterate(t, args[0]))
    return t.made(run_real(sorted, items, **_order(t, kwargs)))


def _ordered_in_python(t: Tracer, items: Box) -> bool:
    """True for a list or tuple with an object in it that the program compares."""
    return type(items[0]) in (list, tuple) and any(is_ordered_in_python(t, item) for item in t.now(items))


def _sort_key(t: Tracer, box: Box) -> Any:
    return Ordered(t, box) if is_ordered_in_python(t, box[0]) else _comparable(t, box)


def _order(t: Tracer, kwargs: Kwargs) -> dict[str, Any]:
    """Keyword arguments of sorting, for C."""
    raw: dict[str, Any] = {"key": callback(t, kwargs.get("key", NONE), _sort_key, optional=True)[0]}
    if "reverse" in kwargs:
        raw["reverse"] = truth(t, kwargs["reverse"])
    return raw


def _sort(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """list.sort; the replay stores the outcome, since it must not call the key function again."""
    target = args[0]
    if kwargs.get("key", NONE)[0] is None and "reverse" not in kwargs and not _ordered_in_python(t, target):
        return mutate(t, list.sort, args, {name: box for name, box in kwargs.items() if name != "key"})
    order = _order(t, kwargs)
    if t.is_fresh(target[0]):
        run_real(list.sort, target[0], **order)
        return NONE
    if target[1] is None and id(target[0]) not in t.seen:
        raise t.stop("LB0007", "sort of a list")
    shadow = shadow_of(t, target)
    t.mutated[id(target[0])] = target
    run_real(list.sort, shadow, **order)
    t.effects.append(Effect(list.__setitem__, target, [slice(None), t.made(list(shadow))[0]], {}, t.loc))
    return NONE


def _count(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """How a `Counter` counts."""
    for item in iterate(t, args[1]):
        before = call(t, (dict.get, None), [args[0], item, (0, None)], {})
        mutate(t, dict.__setitem__, [args[0], item, binary(t, operator.add, before, (1, None))], {})
    return NONE


CONSUMERS: Mapping[Any, Rule] = MappingProxyType(
    {
        sum: _sum,
        min: _extreme(min, operator.lt),
        max: _extreme(max, operator.gt),
        any: _quantifier(True),
        all: _quantifier(False),
        functools.reduce: _reduce,
        sorted: _sorted,
        list.sort: _sort,
        collections._count_elements: _count,  # type: ignore[attr-defined]
        map: _lazy(map, 0, "", _leak),
        filter: _lazy(builtins.filter, 0, "", truth),
        itertools.filterfalse: _lazy(itertools.filterfalse, 0, "", truth),
        itertools.takewhile: _lazy(itertools.takewhile, 0, "", truth),
        itertools.dropwhile: _lazy(itertools.dropwhile, 0, "", truth),
        itertools.starmap: _starred,
        itertools.chain.from_iterable: _chained,
        itertools.tee: _tee,
        itertools.accumulate: _accumulated,
        itertools.groupby: _lazy(itertools.groupby, 1, "key", _comparable),
    }
)
