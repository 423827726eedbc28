"""Functions that are marked so that they are never compiled: by `lect.disable`, and by `torch.compiler.disable`, which programs have for other compilers."""

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import same, stops

X = torch.randn(3, 4)


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


MARKS = {
    "lect": lect.disable,
    "torch": torch.compiler.disable,
    "torch, not what it calls": lambda fn: torch.compiler.disable(fn, recursive=False),
}


def marked(mark):
    """A marked function, and the compilers that each of its calls was told of."""
    told = []

    def secret(x):
        told.append(torch.compiler.is_compiling())
        return x * 2

    return MARKS[mark](secret), told


@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_function_runs_as_it_is_written(mark):
    secret, told = marked(mark)

    def program(x):
        return secret(x.relu()) + 1

    compiled = lect.compile(program)
    for _ in range(2):
        same(X.relu() * 2 + 1, compiled(X))
    assert told == [False, False]
    assert set(stops()) == {"LB0028"}
    assert not any("secret" in str(event) or "_fn" in str(event) for event in lect.events("trace"))


@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_function_is_not_compiled_when_asked_for(mark):
    secret, told = marked(mark)
    compiled = lect.compile(secret)
    same(X * 2, compiled(X))
    assert told == [False] and not lect.events("trace")
    assert [event.number for event in lect.events("fallback")] == ["LB0028"]


@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_method_of_a_module(mark):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.told = []

        @MARKS[mark]
        def part(self, x):
            self.told.append(torch.compiler.is_compiling())
            return x.abs()

        def forward(self, x):
            return self.part(x + 1) * 2

    net = Net()
    compiled = lect.compile(net)
    for _ in range(2):
        same((X + 1).abs() * 2, compiled(X))
    assert net.told == [False, False]


def test_a_module_below_that_torch_is_told_to_leave_alone():
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.told = []

        def forward(self, x):
            self.told.append(torch.compiler.is_compiling())
            return x.abs() + 3

    inner = Inner()
    left_alone = torch.compiler.disable(inner)

    def program(x):
        return left_alone(x * 2) - 1

    compiled = lect.compile(program)
    for _ in range(2):
        same((X * 2).abs() + 2, compiled(X))
    assert inner.told == [False, False]


@pytest.mark.parametrize("mark", MARKS)
def test_the_whole_graph_is_refused_with_one(mark):
    secret, _ = marked(mark)
    with pytest.raises(lect.CompileError, match="LB0028"):
        lect.compile(lambda x: secret(x) + 1, fullgraph=True)(X)
