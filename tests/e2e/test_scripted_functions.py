"""Functions of `torch.jit.script` in compiled code: followed like the Python functions that they were made of, or called as they are."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import same


def script(function, make=torch.jit.script, *given):
    """What torch makes of it, without a word about its age."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(function, *given)


def doubled(x):
    return x * 2


@script
def buckets(positions, size: int, last: int):
    middle = size // 2
    far = torch.where((positions < middle) & (positions > -middle), torch.tensor(middle - 1).type_as(positions), positions.abs())
    steps = torch.ceil(torch.log(far / middle) / torch.log(torch.tensor((last - 1) / middle)) * (middle - 1)) + middle
    return torch.where(far <= middle, positions.type_as(steps), steps * positions.sign())


@script
def two_results(x, y, scale: float = 0.5):
    if x.size(-2) != y.size(-2):
        return x.expand([y.size(0), x.size(-1)]), y.size(0)
    return F.gelu(doubled(x) * scale), x.size(-1)


@script
def powers(x, n: int):
    return torch.full([2], 2**n) + x.sum()


@script
def rounds(x, by: float):
    return x + round(by)


@script
def folded(x):
    return torch.full([2], 2**3) + x.sum()


@script
def refuses(x):
    if x.dim() != 2:
        raise ValueError("two dimensions")
    return x + 1


@script
def asks(x):
    if torch.jit.is_scripting():
        return x + 1
    return x - 1


@script
def sizes(x):
    return x.size()


@script
def scaled(x, n: int):
    return x * n


def looped(x):
    for _ in range(int(x.shape[0])):
        x = x + 1
    return x


with_traces = script(looped, torch.jit.trace, torch.ones(3))

FOLLOWED = {
    "buckets": lambda x: buckets((x * 40).long(), 8, 64),
    "two results": lambda x: two_results(x, x + 1),
    "a keyword": lambda x: two_results(x, x, scale=2.0)[0],
    "another branch": lambda x: two_results(x[:1], x)[0],
}
CALLED = {
    "a power of numbers": lambda x: powers(x, 3),
    "a power of literals": lambda x: folded(x),
    "round": lambda x: rounds(x, 2.5),
    "an exception": lambda x: refuses(x),
    "a question": lambda x: asks(x),
    "a list": lambda x: sizes(x),
    "a bool for an int": lambda x: scaled(x, True),
    "a tensor for an int": lambda x: scaled(x, torch.tensor(3)),
    "a trace": lambda x: with_traces(x),
}


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def stops():
    return [event.number for event in lect.events("fallback", "graph break")]


@pytest.mark.parametrize("name", FOLLOWED)
def test_scripted_function_is_followed(name):
    program = FOLLOWED[name]
    compiled = lect.compile(program)
    for rows in (3, 4, 5):
        x = torch.randn(rows, 6)
        same(program(x), compiled(x))
    assert stops() == []


@pytest.mark.parametrize("name", CALLED)
def test_scripted_function_that_means_something_else_is_called(name):
    program = CALLED[name]
    compiled = lect.compile(program)
    for rows in (3, 4):
        x = torch.randn(rows, 6)
        same(program(x), compiled(x))
    assert set(stops()) <= {"LB0003", "LB0022"} and "LB0003" in stops()


def test_gradients_and_another_function_under_the_name(monkeypatch):
    def program(x):
        return two_results(x, x)[0].sum()

    compiled = lect.compile(program)
    x, y = (torch.linspace(-2, 2, 6).view(2, 3).requires_grad_() for _ in range(2))
    same(program(x), compiled(y))
    program(x).backward()
    compiled(y).backward()
    same(x.grad, y.grad)
    monkeypatch.setitem(globals(), "two_results", lambda x, y: (x * 3, 1))
    same(program(x), compiled(x))
    monkeypatch.undo()
    lect.reset()
    monkeypatch.setitem(globals(), "doubled", lambda x: x * 3)  # the script has the one of then
    same(program(x), compiled(x))
    assert "LB0003" in stops()
