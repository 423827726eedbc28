"""Functions of one tensor of four elements that use protocols of classes and functions of the library; each is one graph."""

from __future__ import annotations

import bisect
import collections
import copy
import functools
import json
import math
import operator
import struct
import typing
import weakref
from collections.abc import Callable
from typing import Any

import torch

SETTINGS = {"dims": [1, 2], "act": "gelu"}
SORTED = [1, 5, 9]


class Thing:
    def factor(self):
        return 2


class Grown:
    """Says how it is copied."""

    def __init__(self, held):
        self.held = held

    def __deepcopy__(self, memo):
        return Grown([*copy.deepcopy(self.held, memo), 1])

    def __copy__(self):
        return Grown(self.held)


class Reduced:
    def __init__(self, a, b=0):
        self.a, self.b = a, b

    def __reduce__(self):
        return Reduced, (self.a,), {"b": self.b + 1}


class Stated:
    def __init__(self):
        self.a, self.function = 1, print

    def __getstate__(self):
        return {"a": self.a + 1}

    def __setstate__(self, state):
        self.a = state["a"] * 10


class Ring:
    """Contains itself."""

    def __init__(self):
        self.items, self.me = [1], self

    def __deepcopy__(self, memo):
        made = Ring.__new__(Ring)
        memo[id(self)] = made
        made.items, made.me = copy.deepcopy(self.items, memo), copy.deepcopy(self.me, memo)
        return made


class Named(dict):
    def __init__(self, *args):
        super().__init__(*args)
        self.names = [1]


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def copies_that_classes_make(x):
    first, second = Grown([1, 2]), Reduced([1], 3)
    deep, flat = copy.deepcopy(first), copy.copy(first)
    flat.held.append(5)
    again, other = copy.copy(second), copy.deepcopy(second)
    return x * len(deep.held) + len(first.held), deep.held, flat.held, again.a is second.a, again.b, other.a, other.b


def copies_with_states(x):
    return x * copy.copy(Stated()).a + copy.deepcopy(Stated()).a


def copies_of_rings(x):
    ring = Ring()
    made = copy.deepcopy(ring)
    both = copy.deepcopy([ring, ring, ring.items])
    return x * 2, made is not ring, made.me is made, made.items is not ring.items, both[0] is both[1], both[2] is both[0].items


def copies_of_derived_containers(x):
    names = Named({"a": [1]})
    names.more = 2
    deep, flat = copy.deepcopy(names), copy.copy(names)
    deep["a"].append(5)
    deep.names.append(3)
    return x * len(deep["a"]), dict(names), names.names, deep.names, deep.more, type(deep) is Named, flat.names is names.names, flat["a"] is names["a"]


def copies_with_tensors(x):
    made = copy.deepcopy(Reduced(x * 2))
    made.a.add_(1)
    return made.a, made.b


def dispatch_made_in_the_frame(x):
    @functools.singledispatch
    def chosen(value, x):
        return x

    @chosen.register
    def _(value: int, x):
        return x * value

    @chosen.register(str)
    def _(value, x):
        return x + len(value)

    @chosen.register(torch.Tensor)
    def _(value, x):
        return value - x

    return chosen(2, x) + chosen("ab", x) + chosen(1.5, x) + chosen(x * 3, x) + chosen(True, x), chosen.dispatch(bool) is chosen.dispatch(int)


def cache_made_in_the_frame(x):
    calls = []

    @functools.lru_cache(maxsize=2)
    def made(number):
        calls.append(number)
        return [number]

    first, second = made(1), made(1)
    made(2), made(3)
    third = made(1)
    first.append(5)
    return x * len(first), first is second, third is first, third, calls


def keys_of_caches(x):
    calls = []

    @functools.lru_cache(typed=True)
    def typed(number, other=1):
        calls.append(number)

    @functools.cache
    def plain(*numbers):
        calls.append(numbers)

    typed(1), typed(1.0), typed(1, other=1), typed(True), typed(1)
    plain(1), plain(1.0), plain(1, 2), plain(1.0, 2.0), plain(True), plain(1)
    return x * 2, calls


def cache_of_a_recursion(x):
    @functools.cache
    def fibonacci(number):
        return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

    @functools.cache
    def twice(tensor):
        return tensor * 2

    return twice(x) + twice(x) * fibonacci(10)


def cache_and_an_exception(x):
    calls = []

    @functools.cache
    def second_time(number):
        calls.append(number)
        if len(calls) < 2:
            raise ValueError(number)
        return number

    try:
        second_time(3)
    except ValueError:
        x = x + 1
    return x * second_time(3) * second_time(3), calls


def weak_containers(x):
    key = Thing()
    keys = weakref.WeakKeyDictionary()
    keys[key] = 3
    values = weakref.WeakValueDictionary(a=key, b=key)
    members = weakref.WeakSet([key])
    found = list(keys)[0] is key, values["a"] is key, values.get("z", 1), sorted(values), key in members, key in keys
    return x * keys[key] * len(values) + len(members), found, keys.pop(key), len(keys)


def weak_method(x):
    thing = Thing()
    return x * weakref.WeakMethod(thing.factor)()(), thing is not None


def order_made_in_the_frame(x):
    @functools.total_ordering
    class Ordered:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return self.value == other.value

        def __lt__(self, other):
            return self.value < other.value

    return x * (Ordered(1) <= Ordered(2)) + (Ordered(2) >= Ordered(1)), Ordered.__le__.__name__, Ordered(1) > Ordered(2)


def variables_by_name(x, a=1):
    b = 2

    def inner():
        return b

    c = 3
    found = locals()
    d = 4
    return x * found["c"] + d, list(found), "d" in locals(), "{a} {c}".format(**locals()), inner()


def json_texts(x):
    made = json.loads('{"a": [1, {"b": [2, 3]}], "c": null}')
    made["a"][1]["b"].append(4)
    try:
        json.dumps({1, 2})
    except TypeError as error:
        refused = str(error)
    return x * made["a"][1]["b"][2], made, json.dumps(made, sort_keys=True), json.dumps(SETTINGS, indent=1), refused


def sorted_lists(x):
    items = [1, 4]
    bisect.insort(items, 2)
    bisect.insort_left(items, 2)
    return x * bisect.bisect(items, 2) + bisect.bisect_left(SORTED, 5), items, bisect.bisect_right(SORTED, 9, 0, 2)


def indices_of_a_class(x):
    one = Index(1)
    found = [1, 2][one], (5, 6)[one], "ab"[one], range(3, 9)[one], collections.deque([7, 8])[one], b"ab"[one]
    try:
        [1][Index("a")]
    except TypeError as error:
        return x * operator.index(one), found, str(error)


def numbers_of_c(x):
    packed = struct.pack("<if", 3, 1.5)
    found = math.isnan(math.nan), math.copysign(1, -math.inf), struct.unpack("<if", packed), struct.calcsize("ii")
    return x * operator.call(len, [1, 2]) + math.isinf(math.inf), packed, found


def aliases_of_types(x):
    return x + 1, typing.get_origin(list[int]) is list, typing.get_args(dict[str, int])


PROGRAMS: tuple[Callable[..., Any], ...] = (
    copies_that_classes_make,
    copies_with_states,
    copies_of_rings,
    copies_of_derived_containers,
    copies_with_tensors,
    dispatch_made_in_the_frame,
    cache_made_in_the_frame,
    keys_of_caches,
    cache_of_a_recursion,
    cache_and_an_exception,
    weak_containers,
    weak_method,
    order_made_in_the_frame,
    variables_by_name,
    json_texts,
    sorted_lists,
    indices_of_a_class,
    numbers_of_c,
    aliases_of_types,
)
