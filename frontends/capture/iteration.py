"""Iteration: C iterators run for real over registered containers, tensors iterate over their first dim."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import is_not
from types import GeneratorType
from typing import Any

import torch

from lect.dialects.guard.containers import base_of, count, elements
from lect.frontends.capture.attributes import MISSING, find_in_type, lookup, python_method
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.generators import Exhausted, IndexIterator, TracedGenerator, known, resume
from lect.frontends.capture.keys import hashed_in_python, key_of
from lect.frontends.capture.numbers import plain
from lect.frontends.capture.operators import load_item
from lect.frontends.capture.places import entry
from lect.frontends.capture.scalars import DICT_VIEWS, SCALAR_TYPES
from lect.frontends.capture.torch_calls import torch_call
from lect.frontends.capture.tracer import CONTAINERS, Box, Tracer
from lect.frontends.tensors import LT

COMPARED_AGAIN = 200  # items of a container, behind each comparison of one of them
MAX_ITEMS = 1_000_000  # of iterators in one trace: some seconds
_SHALLOW = (list, tuple)  # a loop over them gets the items themselves
_ITERABLE: tuple[type, ...] = (*CONTAINERS, tuple, frozenset, range, *DICT_VIEWS)


def get_iter(t: Tracer, box: Box, in_loop: bool = False) -> Box:
    """`iter(x)`; `in_loop` says that nothing but a loop of the program asks for items, so that no C code reads what lies in them."""
    from lect.frontends.capture.calls import call_function

    box = plain(box)
    value, source = box
    kind = t.guard_type(box)
    if kind is LT:
        if not value.dim():
            raise UserError(TypeError("iteration over a 0-d tensor"))
        return t.made(iter(torch_call(t, torch.Tensor.unbind, [box], {})[0]))
    if kind is TracedGenerator or kind is IndexIterator:
        return box
    method = python_method(t, kind, "__iter__")
    if method is not None:
        made = call_function(t, t.static(method), [box], {})
        if find_in_type(type(made[0]), "__next__") is MISSING:
            raise UserError(TypeError(f"iter() returned non-iterator of type '{type(made[0]).__name__}'"))
        return made
    if find_in_type(kind, "__iter__") is None:
        raise UserError(TypeError(f"'{kind.__name__}' object is not iterable"))
    if lookup(t, kind, "__iter__").kind == "missing" and lookup(t, kind, "__getitem__").kind != "missing":
        return t.made(IndexIterator(t, box))
    if find_in_type(kind, "__next__") is not MISSING and (source is not None or not t.is_fresh(value)):
        raise t.stop("LB0009", "an iterator made outside of the compiled frame is advanced")
    if kind in SCALAR_TYPES:
        t.leak(box)
    elif not t.is_fresh(value) and not issubclass(type(value), _ITERABLE):
        raise t.stop("LB0003", f"iteration over a {kind.__module__}.{kind.__qualname__}")
    if in_loop and kind is dict and source is not None and id(value) not in t.shadows and all(type(key) in SCALAR_TYPES for key in value):
        t.register_keys(value, source)
    else:
        t.register(box, deep=not in_loop or kind not in _SHALLOW)
    t.check_current(value)
    made = run_real(iter, t.in_order(box))
    if made is value:
        return box
    t.derive(made, [value] if id(value) not in t.shadows else [])
    return t.made(made)


def get_next(t: Tracer, box: Box) -> Box:
    """`next(x)`; raises `Exhausted` at the end."""
    from lect.frontends.capture.calls import call_function

    t.asked += 1
    if t.asked > MAX_ITEMS:
        raise t.stop("LB0031", f"more than {MAX_ITEMS} items are asked for one by one")
    box = plain(box)
    value, source = box
    if type(value) is TracedGenerator:
        return resume(t, value)
    if type(value) is IndexIterator:
        return value.step()
    method = python_method(t, type(value), "__next__")
    if method is not None:
        try:
            return call_function(t, t.static(method), [box], {})
        except UserError as raised:
            if issubclass(type(raised.error), StopIteration):
                raise Exhausted(t.wrap(raised.error.value), raised.error) from None
            raise
    if not t.is_fresh(value):
        raise t.stop("LB0009", "an iterator made outside of the compiled frame is advanced")
    t.check_current(value)
    try:
        return known(t, run_real(next, value))
    except UserError as raised:
        if issubclass(type(raised.error), StopIteration):
            raise Exhausted from None
        raise


def acts_when_released(t: Tracer, box: Box) -> bool:
    """True for an iterator from outside of the trace that may run code of the program when it is released: a suspended generator, or one of a class."""
    value, source = box
    if source is None or t.is_fresh(value):
        return False
    if type(value) is GeneratorType:
        t.memo.disturb()
        return value.gi_suspended
    return all(find_in_type(type(value), name) is not MISSING for name in ("__next__", "__del__"))


def iterate(t: Tracer, box: Box, limit: int | None = None) -> list[Box]:
    """All elements of an iterable, at most one more than `limit`."""
    value, source = box
    kind = type(value)
    if kind is tuple and source is None:
        known = t.tuples.get(id(value))
        return list(known[1]) if known is not None else [t.wrap(item) for item in value]
    if (kind is tuple or kind is list) and source is not None and id(value) not in t.shadows:
        t.guard_type(box)
        t.guards.length(source, len(value))
        return [t.wrap(item, source.item(number)) for number, item in enumerate(value)]
    iterator = get_iter(t, box)
    found: list[Box] = []
    while limit is None or len(found) <= limit:
        try:
            found.append(get_next(t, iterator))
        except Exhausted:
            break
    return found


def each(t: Tracer, box: Box) -> Iterator[Box]:
    """The elements of an iterable one by one, for code that does something in between."""
    if type(box[0]) is tuple or type(box[0]) is list:
        yield from iterate(t, box)
        return
    iterator = get_iter(t, box)
    while True:
        try:
            item = get_next(t, iterator)
        except Exhausted:
            return
        yield item


def each_compared(t: Tracer, box: Box) -> Iterator[Box]:
    """`each` for code that compares the elements.  Breaks when a comparison has changed a list or deque: C code then goes on with what is there."""
    if not issubclass(type(box[0]), list | deque):
        yield from each(t, box)
        return
    before = list(elements(t.now(box)))
    for item in each(t, box):
        yield item
        now = t.now(box)
        if count(now) != len(before) or (len(before) <= COMPARED_AGAIN and any(map(is_not, before, elements(now)))):
            raise t.stop("LB0003", "a search in a container that is changed meanwhile")


def is_python_iterable(t: Tracer, kind: type) -> bool:
    """True when iterating over an instance runs code of the program."""
    if kind is TracedGenerator:
        return True
    if any(python_method(t, kind, name) is not None for name in ("__iter__", "__next__")):
        return True
    return python_method(t, kind, "__getitem__") is not None and lookup(t, kind, "__iter__").kind == "missing"


def is_lazy(t: Tracer, kind: type) -> bool:
    """True for iterables whose items come to be while they are asked for: what asks may be seen in between."""
    return find_in_type(kind, "__next__") is not MISSING or is_python_iterable(t, kind)


def as_list(t: Tracer, box: Box) -> list[Any]:
    """The raw elements, asked for as `list(iterable)` does: after `iter` a guess at the length, whose TypeError does not matter."""
    from lect.frontends.capture.calls import call_function

    iterator = get_iter(t, box)
    hint = next((found for found in (python_method(t, type(box[0]), name) for name in ("__len__", "__length_hint__")) if found is not None), None)
    if hint is not None:
        try:
            call_function(t, t.static(hint), [box], {})
        except UserError as raised:
            if not issubclass(type(raised.error), TypeError):
                raise
    return t.stored_all(list(each(t, iterator)))


def iterate_raw(t: Tracer, box: Box) -> list[Any]:
    """The raw values of `iterate`."""
    return t.stored_all(iterate(t, box))


def mapping_items(t: Tracer, box: Box) -> dict[Any, Box]:
    """The items of a mapping, for `{**mapping}`."""
    return dict(mapping_pairs(t, box))


def mapping_pairs(t: Tracer, box: Box) -> list[tuple[Any, Box]]:
    """The keys and items of a mapping, for `**mapping`; a mapping of the program may have a key several times."""
    from lect.frontends.capture.calls import call_method

    value, source = box
    t.guard_type(box)
    if issubclass(type(value), dict) and python_method(t, type(value), "keys") is None:
        if hashed_in_python(elements(t.now(box))):
            raise t.stop("LB0003", "a mapping with keys that are hashed by Python code")
        if source is None or id(value) in t.shadows:
            t.register(box)
            now = t.now(box)
            return [(key, t.wrap(value)) for key, value in base_of(type(now)).items(now)]
        t.register_keys(value, source)
        return [(key, t.wrap(item, entry(t, value, source, key))) for key, item in base_of(type(value)).items(value)]
    keys = iterate(t, call_method(t, box, "keys", []))
    return [(key_of(t, key), load_item(t, box, key)) for key in keys]
