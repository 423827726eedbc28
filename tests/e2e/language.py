"""Small functions over one tensor, each with a corner of the language: classes, protocols, exceptions, patterns."""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class Point:
    __match_args__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Base:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k


class Derived(Base):
    def __init__(self, k):
        super().__init__(k + 1)
        self.z = 1

    def __call__(self, x):
        return super().__call__(x) + self.z


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Fallback:
    def __getattr__(self, name):
        return len(name)


class Descriptor:
    def __get__(self, instance, owner):
        return lambda x: x * 7


class Described:
    value = Descriptor()


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return 2

    def __exit__(self, *error):
        self.log.append(error[0] is None)
        return True


class Failure(Exception):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Table(dict):
    def __init__(self, **items):
        super().__init__(**items)
        self.note = 1


class Items(list):
    def first(self):
        return self[0]


@torch.no_grad()
def decorated(x):
    return x * 2


def patterns(x):
    out = []
    for value in ({"a": 1, "b": x}, [x, 1, 2], (1,), Point(1, x), "s", 5, None, {"a": 3}):
        match value:
            case {"a": 1, "b": tensor}:
                out.append(tensor + 1)
            case [tensor, *rest] if rest:
                out.append(tensor * len(rest))
            case Point(a, b=tensor):
                out.append(tensor + a)
            case str(text):
                out.append(text)
            case int():
                out.append("int")
            case None:
                out.append(None)
            case {"a": key, **rest}:
                out.append((key, rest))
            case _:
                out.append("other")
    return out


def inheritance(x):
    return Derived(2)(x), Base.__call__(Base(3), x)


def slots(x):
    made = Slotted(x)
    made.b = 2
    return made.a * made.b


def attribute_protocols(x):
    return Fallback().foo * x, Described().value(x)


def context_managers(x):
    log: list = []
    with Manager(log) as k:
        x = x + k
    with Manager(log):
        x = x + 1
        raise ValueError
    with torch.enable_grad():
        y = x * 2
    return x, y, log, decorated(x)


def nested_handlers(x):
    try:
        try:
            raise KeyError("a")
        except ValueError:
            return x
        finally:
            x = x + 1
    except KeyError as error:
        return x * 2, error.args


def chained_exceptions(x):
    try:
        try:
            raise ValueError("in")
        except ValueError as error:
            raise Failure("out", 3) from error
    except Failure as error:
        return x * error.code, str(error), str(error.__cause__), error.args


def finally_overrides(x):
    for step in range(3):
        try:
            if step == 1:
                continue
            x = x + step
        finally:
            x = x * 2
    return x


def container_subclasses(x):
    table = Table(a=x)
    table["b"] = x + 1
    items = Items([1])
    items.append(x)
    return table["a"] + table["b"], len(table), items[1] + items.first()


def closures_in_loops(x):
    def outer(k):
        def inner(y):
            return y * k

        return inner

    return [function(x) for function in [outer(i) for i in range(3)]]


def iteration_tools(x):
    for a, b in itertools.product([1, 2], (3,)):
        x = x * a + b
    chained = torch.cat(list(itertools.chain([x], [x + 1])))
    return chained, functools.reduce(operator.mul, [x, 2, 3]), [row.sum() for row in x], [a + b for a, b in zip(x, x)]


def integer_arithmetic(x):
    n = x.shape[0]
    return x * (n // 3) + n**2, x * -n, x * (n % 3), x * float(n), x * int(2.7), round(2.567, 1), divmod(n, 3), math.sqrt(n)


def assignment_expression(x):
    if (n := x.shape[0]) > 2:
        x = x * n
    return x, n


def augmented_dictionary(x):
    d = {"a": x}
    d |= {"b": x + 1}
    d["a"], d["c"] = d.pop("b"), d["a"]
    return d, list(d)


def sets_and_queues(x):
    numbers = {1, 2} | {3}
    numbers.discard(1)
    queue = collections.deque([x], maxlen=2)
    queue.append(x + 1)
    queue.append(x + 2)
    return x * len(numbers), sorted(numbers), list(queue), frozenset([1, 2])


def enumerations(x):
    return x * Level.HIGH.value, Level["LOW"].name, Level(1) is Level.LOW


def positional_and_keyword_only(x):
    def function(a, /, b, *, c=1):
        return a + b * c

    return function(x, 2), function(x, b=2, c=3), function(*(x,), **{"b": 1})


def method_objects(x):
    add = x.add
    return add(1), torch.Tensor.mul(x, 2), x.T, x.mT @ x


def writes_to_new_tensors(x):
    y = torch.zeros_like(x)
    y = y + x
    y = torch.where(y > 0, y, 0.0)
    return y, (x > 0) & (x < 1), ~(x > 0), (x.long() << 1) | 1


def metadata(x):
    scale = torch.finfo(x.dtype).max > 1
    return x * scale, x * (x.device.type == "cpu"), x * (x.device == torch.device("cpu")), x.new_zeros(2), x.to(dtype=torch.float64)


def structures(x):
    values, indices = torch.topk(x, 2)
    return torch.max(x, 0), values, indices, torch.stack([x] * 3), [0] * 2 + [1], [1, 2, 3][slice(0, 2)]


def numbers_of_all_kinds(x):
    return x * True, x * 2, x * 0.5, torch.complex(x, x).abs(), x * 1j


PROGRAMS: tuple[Callable[..., Any], ...] = (
    patterns, inheritance, slots, attribute_protocols, context_managers, nested_handlers, chained_exceptions, finally_overrides,
    container_subclasses, closures_in_loops, iteration_tools, integer_arithmetic, assignment_expression, augmented_dictionary, sets_and_queues,
    enumerations, positional_and_keyword_only, method_objects, writes_to_new_tensors, metadata, structures, numbers_of_all_kinds,
)  # fmt: skip
