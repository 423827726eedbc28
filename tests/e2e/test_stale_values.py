"""No stale result: what C code makes of texts, numbers, classes, functions and objects hangs on which these are, so another one is another version."""

import enum
import functools
import itertools
import operator

import pytest
import torch

import lect
from tests.e2e.support import same


class Text(str):
    pass


class A:
    pass


class B:
    pass


class C:
    pass


def one(x):
    return x + 1


def two(x):
    return x + 2


FIRST, SECOND, THIRD = A(), A(), A()
# Programs of a text.
TEXTS = [
    lambda x, s: x * len(s.replace("a", "")),
    lambda x, s: x * len(s.upper()) + (1 if s.startswith("a") else 2),
    lambda x, s: x * s.count("a"),
    lambda x, s: x * getattr(s, "find")("a"),  # noqa: B009
    lambda x, s: x * sum(map(s.count, ["a", "b"])),
    lambda x, s: x * s.__len__(),
    lambda x, s: x * len(s.join(["1", "2"])),
    lambda x, s: x * len(f"{s!r:>5}".strip()),
    lambda x, s: x * len("{0}".format(s)),  # noqa: UP030, UP032
    lambda x, s: x * functools.partial(s.count, "a")(),
    lambda x, s: x * len(sorted(s.split(","), key=s.find)),
]
# Programs of a number.
NUMBERS = [
    lambda x, n: x * int(n.is_integer()),
    lambda x, n: x * n.real + n.conjugate(),
    lambda x, n: x * n.__add__(1),
    lambda x, n: x * n.as_integer_ratio()[1],
]
# Programs of a list of classes, functions or objects, and one of these.
MEMBERS = [
    lambda x, ts, k: x * (1 if k in ts else 2),
    lambda x, ts, k: x * (1 if ts == [A, B] else 2),
    lambda x, ts, k: x * (1 + ts.index(k) if k in ts else 0),
    lambda x, ts, k: x * (1 + ts.count(k)),
    lambda x, ts, k: x * {A: 3, B: 5}.get(ts[0], 7),
    lambda x, ts, k: x * len({*ts, k}),
    lambda x, ts, k: x * len(dict.fromkeys([*ts, k])),
    lambda x, ts, k: x * (1 if (k, 1) in [(t, 1) for t in ts] else 2),
    lambda x, ts, k: x * (1 if operator.contains(ts, k) else 2),
    lambda x, ts, k: x * sum(1 for _ in filter(functools.partial(operator.is_, k), ts)),
    lambda x, ts, k: x * (1 if set(ts) == {A, B} else 2),
    lambda x, ts, k: x * (1 if frozenset(ts) >= frozenset([k]) else 2),
    lambda x, ts, k: x * (1 if [*ts] == [*ts][::-1] else 2),
    lambda x, ts, k: x * dict([(ts[0], 3)]).get(k, 7),  # noqa: C406
    lambda x, ts, k: x * dict(zip(ts, [1, 2])).get(k, 7),
    lambda x, ts, k: x * len(list(itertools.groupby(ts))),
    lambda x, ts, k: x * (1 if (ts[0], 1) != (k, 1) else 2),
]
# Programs of a list of classes and a class.
CLASSES = [
    lambda x, ts, k: x * len(str(ts)),
    lambda x, ts, k: x * len(f"{ts[0]}{k!r}"),
    lambda x, ts, k: x * sum(map(len, map(str, ts))),
    lambda x, ts, k: x * len(f"{ {'a': k} }"),
    lambda x, ts, k: x * (1 if issubclass(k, ts[0]) else 2),
    lambda x, ts, k: x * (1 if isinstance(FIRST, tuple(ts)) else 2),
]


class Longer:
    pass


def removed(x, ts, k):
    left = list(ts)
    if k in left:
        left.remove(k)
    return x * len(left) * (1 if left and left[0] is ts[0] else 3)


def grown(x, ts, k):
    found = {k}
    found.update(ts)
    found ^= {ts[0]}
    return x * len(found)


MEMBERS += [removed, grown]
GROUPS = {
    "classes": [([A, B], A), ([A, B], C), ([B, A], A), ([C, B], C), ([A, A], A), ([B, B], A)],
    "objects": [([FIRST, SECOND], FIRST), ([FIRST, SECOND], THIRD), ([SECOND, FIRST], FIRST), ([THIRD, SECOND], THIRD), ([FIRST, FIRST], FIRST)],
    "functions": [([one, two], one), ([one, two], two), ([two, one], one), ([two, two], two)],
}


def compare(program, calls, x=None):
    x = torch.randn(3) if x is None else x
    for order in (calls, calls[::-1]):
        lect.reset()
        compiled = lect.compile(program)
        for args in order:
            same(program(x, *args), compiled(x, *args))


@pytest.mark.parametrize("program", TEXTS, ids=range(len(TEXTS)))
def test_methods_of_texts(program):
    compare(program, [("aab",), ("bb",), ("abcde",), (Text("aaaa"),), (Text("b"),)])


@pytest.mark.parametrize("program", NUMBERS, ids=range(len(NUMBERS)))
def test_methods_of_numbers(program):
    compare(program, [(1.5,), (2.0,), (3.25,), (-0.0,)])


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("program", MEMBERS, ids=range(len(MEMBERS)))
def test_what_is_compared_and_hashed(program, group):
    compare(program, GROUPS[group])


@pytest.mark.parametrize("program", CLASSES, ids=range(len(CLASSES)))
def test_classes_printed_and_asked_for(program):
    compare(program, [*GROUPS["classes"], ([Longer, A], A), ([A, Longer], Longer)])


def test_methods_of_texts_behind_a_break():
    def program(x, words):
        for word in words:
            print(end="")
            x = x + len(word.replace("a", ""))
        return x

    compare(program, [(["aa", "ab", "abc"],), (["abc", "b", "aa"],)])


class Counted:
    """A key whose hash is written in Python."""

    def __init__(self, number):
        self.number, self.hashed = number, 0

    def __hash__(self):
        self.hashed += 1
        return self.number

    def __eq__(self, other):
        return type(other) is Counted and other.number == self.number


def test_keys_are_hashed_as_often_as_in_eager():
    def program(x, table):
        total = sum(value for value in table.values()) + len(set(table)) + len(frozenset(table))
        again = dict(table)
        return x * total + len(again), {**again}

    counts = []
    for run in (program, lect.compile(program)):
        table = {Counted(number): number for number in range(4)}
        for _ in range(3):
            run(torch.ones(2), table)
        counts.append([key.hashed for key in table])
    assert counts[0] == counts[1]


class Registry(type):
    """A metaclass that says which objects are instances."""

    known: tuple = ()

    def __instancecheck__(cls, value):
        return type(value) in cls.known

    def __subclasscheck__(cls, other):
        return other in cls.known


class Anything(metaclass=Registry):
    known = (A, B)


def test_metaclasses_that_answer_isinstance_and_issubclass():
    def program(x, value):
        return x * (1 if isinstance(value, Anything) else 2) + (3 if issubclass(type(value), (int, Anything)) else 4)

    compare(program, [(A(),), (C(),), (B(),)])
    compiled = lect.compile(program)
    x, value = torch.ones(2), C()
    same(program(x, value), compiled(x, value))
    Anything.known = (C,)
    try:
        same(program(x, value), compiled(x, value))
    finally:
        Anything.known = (A, B)


class Int(int):
    pass


class Float(float):
    pass


class Level(enum.IntEnum):
    LOW = 1
    MIDDLE = 2
    HIGH = 5


# Programs of an object that is a number.
DERIVED_NUMBERS = [
    lambda x, c: x + (c + 1) - (1 - c) + -c,
    lambda x, c: x * (1 if c == 3 else 2) * (5 if c < 3 else 7) * (11 if 3 > c else 13),
    lambda x, c: x * c + torch.add(x, c),
    lambda x, c: x * (1 if c in [3, 4] else 2) * {1: 2, 3: 4}.get(c, 9),
    lambda x, c: x + sum([c, 1]) + max(c, 2) + sorted([c, 2])[0],
    lambda x, c: x + round(c) + abs(c) + int(c) + c // 1,
]
# Programs of an object that is an index.
DERIVED_INDICES = [
    lambda x, c: x[c] + list(range(8))[c],
    lambda x, c: x[:c].sum() + x[c:].sum(),
    lambda x, c: x + len(range(c)) + len([0] * c),
    lambda x, c: x + (c & 1) + c.bit_length() + hash(c),
]
# Programs of an object that is a text.
DERIVED_TEXTS = [
    lambda x, c: x + len(c) + len(c + "a") + len(c * 2) + len(c[1:]),
    lambda x, c: x * (1 if c == "a" else 2) * (3 if c < "b" else 5) * (7 if "b" in c else 11),
    lambda x, c: x + {"a": 1}.get(c, 5) + len("-".join([c, c])) + ord(c[0]) + len(set(c)),
]


@pytest.mark.parametrize("program", [*DERIVED_NUMBERS, *DERIVED_INDICES], ids=range(len(DERIVED_NUMBERS) + len(DERIVED_INDICES)))
def test_objects_that_are_integers(program):
    for values in ([Int(3), Int(5), Int(1)], list(Level)):
        compare(program, [(value,) for value in values], torch.arange(8.0))


@pytest.mark.parametrize("program", DERIVED_NUMBERS, ids=range(len(DERIVED_NUMBERS)))
def test_objects_that_are_floats(program):
    compare(program, [(Float(value),) for value in (3, 1.5, 0.0)])


@pytest.mark.parametrize("program", DERIVED_TEXTS, ids=range(len(DERIVED_TEXTS)))
def test_objects_that_are_texts(program):
    compare(program, [(Text(value),) for value in ("a", "bba", "ab")])


class Slots:
    __slots__ = ("v", "w")


@pytest.mark.parametrize("program", [lambda o, x: x * (2 if hasattr(o, "w") else 3), lambda o, x: x + getattr(o, "w", 1)], ids=["hasattr", "getattr"])
def test_a_slot_that_is_filled_later(program):
    compiled, o, x = lect.compile(program), Slots(), torch.ones(2)
    same(program(o, x), compiled(o, x))
    o.w = 7
    same(program(o, x), compiled(o, x))
    del o.w
    same(program(o, x), compiled(o, x))


def test_a_slot_that_the_program_fills():
    def program(o, x):
        o.w = 5
        return x * o.w

    filled = Slots()
    same(program(Slots(), torch.ones(2)), lect.compile(program)(filled, torch.ones(2)))
    assert filled.w == 5


def test_class_of_a_number():
    def of_class(x, value):
        return x + (1 if value.__class__ is int else 2)

    compiled = lect.compile(of_class)
    for value in (3, None, 4.0, 5, "text"):
        x = torch.randn(2)
        same(of_class(x, value), compiled(x, value))
