"""Writes to objects from outside whose classes derive from builtin containers, or keep their attributes in slots."""

import collections
import functools
import heapq
from contextvars import ContextVar, copy_context
from dataclasses import dataclass

import pytest
import torch

import lect
from tests.e2e.support import same, stops


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Rows(list):
    def total(self):
        return sum(self)


class Loud(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)


class Slotted:
    __slots__ = ("__private", "left", "right")

    def __init__(self):
        self.left = 1
        self.__private = 3

    def bump(self):
        self.__private += 1
        return self.__private


@dataclass(slots=True)
class Record:
    number: int
    data: object = None


def state_of(value):
    """What is in an object, for comparing."""
    if isinstance(value, Slotted | Record):
        names = [name for name in type(value).__slots__ if hasattr(value, name)]
        return [(name, getattr(value, name)) for name in names if not name.startswith("__")]
    if isinstance(value, collections.ChainMap):
        return [dict(each) for each in value.maps]
    return list(value.items()) if hasattr(value, "items") else list(value)


def check(function, make, calls=3):
    want, got = make(), make()
    compiled = lect.compile(function)
    for _ in range(calls):
        x = torch.randn(3)
        same(function(x, want), compiled(x, got))
        same(state_of(want), state_of(got))
    assert stops() == []


def counted(x, counter):
    counter["a"] += 1
    counter.update("abc")
    counter.subtract({"b": 2})
    counter["z"] = counter["missing"]
    del counter["c"]
    return x * counter["a"], counter.most_common(2), len(counter), "q" in counter, counter.total(), dict(counter + counter)


def grouped(x, groups):
    groups["x"].append(x.sum())
    groups["y"].append(1)
    return x + len(groups["y"]), len(groups)


def reordered(x, table):
    table["new"] = x.mean()
    table.move_to_end("a")
    first = table.popitem(last=False)
    table.setdefault("b", 2)
    return x + 1, first[0], list(table)


def chained(x, chain):
    chain["k"] = x.sum()
    chain["n"] = chain["n"] + 1
    return x * chain["n"], "k" in chain, chain.get("nothing"), len(chain.new_child({"m": 1}))


def in_user_dict(x, table):
    table["k"] = x + 1
    table.update(n=table.get("n", 0) + 1)
    return table["k"], sorted(table)


def in_rows(x, rows):
    rows.append(len(rows))
    rows.extend([1, 2])
    rows[0] = 5
    return x + rows.total(), rows[-1], rows.index(2)


def loudly(x, table):
    table["n"] = 4
    table.update(m=1)
    return x + table["n"], table["m"]


def in_slots(x, slotted):
    slotted.left += 1
    slotted.right = x * slotted.left
    again = slotted.right + 1
    del slotted.right
    try:
        _ = slotted.right
    except AttributeError as error:
        missing = str(error)
    return again, slotted.bump(), missing, hasattr(slotted, "right")


def in_record(x, record):
    record.data = x + record.number
    record.number += 1
    return record.data, record.number


def heaped(x, heap):
    heapq.heappush(heap, 3)
    heapq.heappush(heap, (len(heap) % 3))
    least = heapq.heappop(heap)
    fresh = [5, 1, 4]
    heapq.heapify(fresh)
    return x + least, fresh, heapq.nlargest(2, fresh), heapq.nsmallest(1, heap)


CASES = [
    (counted, lambda: collections.Counter("aab")),
    (grouped, lambda: collections.defaultdict(list)),
    (reordered, lambda: collections.OrderedDict(a=1, c=3)),
    (chained, lambda: collections.ChainMap({}, {"n": 2})),
    (in_user_dict, collections.UserDict),
    (in_rows, lambda: Rows([1, 2])),
    (loudly, Loud),
    (in_slots, Slotted),
    (in_record, lambda: Record(3)),
    (heaped, lambda: [2, 7]),
]


@pytest.mark.parametrize(("function", "make"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_writes(function, make):
    check(function, make)


@pytest.mark.parametrize(("function", "make"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_writes_in_front_of_a_break(function, make, capsys):
    def broken(x, value):
        found = function(x, value)
        print("there")
        return found, x + len(str(type(value)))

    want, got = make(), make()
    compiled = lect.compile(broken)
    for _ in range(3):
        x = torch.randn(3)
        same(broken(x, want), compiled(x, got))
        same(state_of(want), state_of(got))
    assert "LB0013" in stops()


def test_objects_made_in_the_frame():
    def made(x):
        counter = collections.Counter("aab")
        counter["z"] += 2
        record = Record(1, x)
        record.number = 4
        groups = collections.defaultdict(int, a=1)
        groups["b"] += 3
        return counter, counter.copy() == counter, record, groups, collections.ChainMap({"a": x}, {"b": 1}), collections.UserDict(k=2)

    compiled = lect.compile(made)
    for _ in range(3):
        x = torch.randn(2)
        want, got = made(x), compiled(x)
        assert [type(each) for each in want] == [type(each) for each in got]
        same([dict(want[0]), want[1], want[2].number, want[2].data, dict(want[3])], [dict(got[0]), got[1], got[2].number, got[2].data, dict(got[3])])
        same([want[4].maps, want[5].data], [got[4].maps, got[5].data])
        assert got[3].default_factory is int
    assert stops() == []


class Version:
    def __init__(self, number, log):
        self.number, self.log = number, log

    def __lt__(self, other):
        self.log.append((self.number, other.number))
        return self.number < other.number


def test_sorting_by_code_of_the_program():
    def ordered(x, log):
        versions = [Version(number, log) for number in (3, 1, 2)]
        backwards = sorted(range(5), key=functools.cmp_to_key(lambda a, b: log.append(a) or b - a))
        versions.sort()
        rows = [5, 1, 3]
        rows.sort(reverse=True)
        greatest = max([1, 3, 2], key=functools.cmp_to_key(lambda a, b: a - b))
        return x + 1, [each.number for each in sorted(versions, reverse=True)], [each.number for each in versions], backwards, rows, greatest

    compiled = lect.compile(ordered)
    for _ in range(2):
        x, wanted, found = torch.randn(2), [], []
        same(ordered(x, wanted), compiled(x, found))
        assert wanted == found
    assert stops() == []


SETTING = ContextVar("SETTING", default=1)


def test_copies_of_the_context():
    def run(x):
        SETTING.set(2)
        context = copy_context()

        def inner(factor):
            before = SETTING.get()
            SETTING.set(before + factor)
            return x * SETTING.get(), before

        first = context.run(inner, 5)
        second = context.run(inner, factor=1)
        return first, second, SETTING.get(), context[SETTING], SETTING in context, context.copy().run(SETTING.get)

    compiled = lect.compile(run)
    outside = copy_context()
    for _ in range(2):
        x = torch.randn(2)
        same(outside.copy().run(run, x), outside.copy().run(compiled, x))
    assert stops() == []
    assert SETTING.get() == 1


@functools.singledispatch
def shown(value, x):
    return x


@shown.register
def _(value: int, x):
    return x * value


@shown.register(list)
def _(value, x):
    return x + len(value)


def test_functions_that_dispatch_on_the_class():
    def dispatched(x, value):
        return shown(value, x), shown("text", x), shown(True, x)

    compiled = lect.compile(dispatched)
    for value in (3, [1, 2], None, 4):
        x = torch.randn(2)
        same(dispatched(x, value), compiled(x, value))
    assert stops() == []


class Output(collections.OrderedDict):
    """Fields that are items, as outputs of models have them."""

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else tuple(self.values())[key]

    def __setattr__(self, name, value):
        super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __delitem__(self, key):
        raise RuntimeError("no")

    def drop(self, key):
        super().__delitem__(key)


def test_ordered_dictionaries_with_methods_of_their_own():
    def made(x):
        output = Output()
        output.first = x + 1
        output.second = None
        output.drop("second")
        return output, output[0] * 2, output["first"], list(output)

    compiled = lect.compile(made)
    for _ in range(2):
        x = torch.randn(2)
        want, got = made(x), compiled(x)
        same([list(want[0].items()), *want[1:]], [list(got[0].items()), *got[1:]])
        assert type(got[0]) is Output and vars(got[0]).keys() == vars(want[0]).keys()
    assert stops() == []
