"""Tools that reload modules put other code into functions that exist; what was compiled of the old code is not run any more."""

import pytest
import torch

import lect
from tests.e2e.support import same


class Part(torch.nn.Module):
    def forward(self, x):
        return x + 1


class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Part(), Part()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x * 2


class Thing:
    def __init__(self, x):
        self.x = x

    @property
    def value(self):
        return self.x + 1

    def method(self):
        return self.x * 2

    @staticmethod
    def static(x):
        return x - 1

    @classmethod
    def of_class(cls, x):
        return x - 2

    def __mul__(self, other):
        return self.x + other


def helper(x):
    return x + 1


def numbers(x):
    yield x
    yield x + 1


def with_default(x, by=2):
    return x * by


# Name -> (the program, the function whose code is replaced, the function that it becomes).
CASES = {
    "the function itself": (lambda x: x + 1, None, lambda x: x * 5),
    "a called function": (lambda x: helper(x) * 2, helper, lambda x: x * 5),
    "a function behind a cut": (lambda x: (print(end=""), helper(x) * 2)[1], helper, lambda x: x * 5),
    "a generator": (lambda x: list(numbers(x)), numbers, None),
    "a method": (lambda x: Thing(x).method(), Thing.method, lambda self: self.x * 5),
    "a property": (lambda x: Thing(x).value, Thing.value.fget, lambda self: self.x * 5),
    "a static method": (lambda x: Thing.static(x), Thing.static, lambda x: x * 5),
    "a class method": (lambda x: Thing.of_class(x), Thing.of_class.__func__, lambda cls, x: x * 5),
    "an operator": (lambda x: Thing(x) * 3, Thing.__mul__, lambda self, other: self.x * 5 * other),
    "a constructor": (lambda x: Thing(x).x, Thing.__init__, lambda self, x: setattr(self, "x", x * 5)),
    "a key": (lambda x: (x, sorted([3, 1, 2], key=key)), None, lambda i: -i),
    "a function with a default": (lambda x: with_default(x), with_default, lambda x, by=2: x + by),
}


def key(i):
    return i


def five(x):
    yield x * 5


def replacement(name):
    program, function, other = CASES[name]
    if name == "a key":
        function = key
    return program, function or program, other or five


@pytest.mark.parametrize("name", CASES)
def test_new_code_runs(name):
    program, function, other = replacement(name)
    x = torch.randn(3)
    compiled = lect.compile(program)
    before = function.__code__
    try:
        same(program(x), compiled(x), exact=True)
        function.__code__ = other.__code__
        same(program(x), compiled(x), exact=True)
        function.__code__ = before
        same(program(x), compiled(x), exact=True)
    finally:
        function.__code__ = before


def test_new_code_of_a_forward_runs():
    net, x = Whole(), torch.randn(3)
    compiled = lect.compile(net)
    before = Part.forward.__code__
    try:
        same(net(x), compiled(x), exact=True)
        Part.forward.__code__ = (lambda self, x: x * 5).__code__
        same(net(x), compiled(x), exact=True)
    finally:
        Part.forward.__code__ = before


def test_a_closure_of_equal_code_is_not_compiled_again():
    def made(k):
        return lambda x: x * k

    def run(x, f):
        return f(x)

    compiled = lect.compile(run)
    x = torch.randn(3)
    for k in (2.0, 2.0):
        f = made(k)
        same(run(x, f), compiled(x, f), exact=True)
