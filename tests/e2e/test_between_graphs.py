"""Functions called between the graphs of a cut function, by the operation at a cut or by a rest that runs as written, are compiled on their own."""

import json
import sys

import pytest
import torch

import lect
from tests.e2e.conftest import use_trigger
from tests.e2e.support import same


@pytest.fixture(autouse=True)
def trigger(monkeypatch):
    """Only the frame hook sees them."""
    use_trigger("hook", monkeypatch)
    lect.reset()


def double(x):
    return x * 2.0


class Encoder(json.JSONEncoder):
    """Calls back into the program from a library."""

    def default(self, value):
        return double(value).tolist()


def mapped(x):
    print(end="")
    return sys.call_tracing(list, (map(double, [x, x + 1]),))[1]


def sorted_with_a_key(x):
    y = x + 1
    return sorted([y, x], key=lambda t: double(t).sum().item())[0] * 2


def encoded(x):
    y = x + 1
    return y + len(json.dumps({"values": y}, cls=Encoder))


def called_by_c(x):
    y = x - 1
    y = y * sys.call_tracing(double, (y,))
    return y + 1


def below_an_inlined_function(x):
    return called_by_c(x) + double(x)


def in_a_loop_with_a_handler(x):
    for number in range(3):
        try:
            x = x + sys.call_tracing(double, (x,))
            if number == 1:
                raise ValueError(number)
        except ValueError:
            x = x * sys.call_tracing(double, (x,))
    return x


def in_a_rest_that_runs_as_written(x):
    y = x + 1
    print(end="")
    if y is None:
        super()  # looks at the first parameter, so no part of the function can do without it
    del x
    print(end="")
    return y + double(y).max()


@pytest.mark.parametrize(
    "program",
    [mapped, sorted_with_a_key, encoded, called_by_c, below_an_inlined_function, in_a_loop_with_a_handler, in_a_rest_that_runs_as_written],
)
def test_functions_called_between_graphs_are_compiled(program):
    compiled = lect.compile(program)
    for _ in range(3):
        x = torch.randn(4)
        same(program(x), compiled(x))
    names = [event.function.rpartition(".")[2] for event in lect.events("compile")]
    found = [name for name in names if name in ("double", "<lambda>", "default")]
    assert found, names
    assert len(found) <= 2, "made once, and found again on later calls"
