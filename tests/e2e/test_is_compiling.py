"""What a program is told that asks whether it is compiled: yes, but never so that it raises where uncompiled it does not."""

import pytest
import torch

import lect
from tests.e2e.support import same, stops


def shapes(x):
    if torch.compiler.is_compiling():
        return x + torch.ones(7)
    return x * 2


def refuses(x):
    if torch.compiler.is_compiling():
        raise ValueError("not compiled, please")
    return x * 2


def catches(x):
    try:
        return refuses(x)
    except ValueError:
        return x * 3


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


@pytest.mark.parametrize("program", [shapes, refuses])
def test_way_of_compiled_programs_that_raises_is_left(program):
    compiled = lect.compile(program, options={"level": "fx"})
    for _ in range(2):
        x = torch.randn(3)
        same(program(x), compiled(x))
    assert stops() == []


def test_way_of_compiled_programs_is_taken():
    x = torch.randn(3)
    same(x * 3, lect.compile(catches, options={"level": "fx"})(x))
    assert stops() == []


def test_what_raises_both_ways_raises():
    def program(x):
        return x + torch.ones(7 if torch.compiler.is_compiling() else 8)

    with pytest.raises(RuntimeError, match=r"tensor b \(8\)"):
        lect.compile(program, options={"level": "fx"})(torch.randn(3))
