"""Classes and functions that a program makes anew for each call and that are alive across a cut: a few versions hold for all calls, with eager's values."""

import abc
import collections
import dataclasses
import enum
import functools
import typing

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same, versions


def cut():
    print(end="")


def methods(x, i):
    class Scale:
        factor = i % 3

        def __init__(self, value):
            self.value = value

        def of(self, extra=i % 2):
            return self.value * self.factor + extra

        @property
        def twice(self):
            return self.value * 2

        @staticmethod
        def more(value):
            return value + 1

        @classmethod
        def make(cls, value):
            return cls(value)

    scale = Scale(x)
    cut()
    return scale.of() + scale.more(scale.twice) + scale.make(x).twice + Scale(x).of() * Scale.factor


def data(x, i):
    @dataclasses.dataclass
    class Pair:
        first: torch.Tensor
        second: int = 3

        def total(self):
            return self.first * self.second

    pair = Pair(x)
    cut()
    return pair.total() + Pair(x, 4).total() + len(dataclasses.fields(pair))


def tuples(x, i):
    pair = collections.namedtuple("Pair", "first second")(x, 2)

    class Other(typing.NamedTuple):
        first: torch.Tensor
        second: int = 3

    other = Other(x)
    cut()
    return pair.first * pair.second + other.first * other.second


def members(x, i):
    class Mode(enum.Enum):
        A = 2
        B = 3

    mode = Mode.A
    cut()
    return x * mode.value + (1 if mode is Mode.A else 0)


def derived(x, i):
    class Base(abc.ABC):
        @abc.abstractmethod
        def of(self, value):
            return value * 2

    class Own(Base):
        __slots__ = ("extra",)

        def of(self, value):
            return super().of(value) + self.extra

    own = Own()
    own.extra = i % 2
    cut()
    return own.of(x) + (1 if isinstance(own, Base) else 0)


def modules(x, i):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = i % 2 + 1

        def forward(self, x):
            return x * self.scale

    layer = Layer()
    cut()
    return layer(x)


def functions(x, i):
    def double(value):
        return value * (i % 3)

    def add(value, by=i % 2):
        return value + by

    def called(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) + 1

        return wrapper

    both, bound = [called(double), add], functools.partial(add, by=4)
    cut()
    return both[0](x) - both[1](x) + bound(x)


def bodies(x, i):
    class Own:
        if i % 2:

            def of(self, value):
                return value * 2
        else:

            def of(self, value):
                return value * 3

    own = Own()
    cut()
    return own.of(x)


def identities(x, i):
    def make():
        class Own:
            pass

        return Own

    first = make()
    second = first if i % 2 else make()
    cut()
    return x * (2 if first is second else 3) + (1 if isinstance(first(), second) else 0)


def bases(x, i):
    class Twice:
        def of(self, value):
            return value * 2

    class Thrice:
        def of(self, value):
            return value * 3

    class Own(Twice if i % 2 else Thrice):
        pass

    own = Own()
    cut()
    return own.of(x)


PROGRAMS = [methods, data, tuples, members, derived, modules, functions, bodies, identities, bases]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_value_is_that_of_eager_and_versions_are_few(program):
    lect.reset()
    compiled = lect.compile(program, options={"level": "fx", "guards": "both", "version_limit": 32})
    made = 0
    for i in range(18):
        if i == 12:
            made = versions()
        x = torch.arange(3.0)
        same(program(x, i % 6), compiled(x, i % 6))
    assert versions() == made and "LB0027" not in fallbacks()


def test_class_given_by_the_caller():
    def make(i):
        class Own:
            factor = i % 2

            def of(self, x):
                return x * self.factor

        return Own

    def program(x, cls):
        return cls().of(x) + cls.factor

    lect.reset()
    compiled = lect.compile(program, options={"level": "fx", "guards": "both"})
    for i in range(12):
        cls, x = make(i), torch.arange(3.0)
        same(program(x, cls), compiled(x, cls))
    assert versions() <= 3 and not lect.events("fallback")
