"""Functions called between the graphs of a cut function, by the operation at a cut or by a rest that runs as written, are compiled on their own."""

import json

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
    return eval("[*map(double, [x, x + 1])]", {"double": double, "x": x})[1]


def sorted_with_a_key(x):
    y = x + 1
    return sorted([y, x], key=lambda t: double(t).sum().item())[0] * 2


def encoded(x):
    y = x + 1
    return y + len(json.dumps({"values": y}, cls=Encoder))


def evaluated(x):
    y = x - 1
    y = y * eval("double(y)", {"double": double, "y": y})
    return y + 1


def below_an_inlined_function(x):
    return evaluated(x) + double(x)


def in_a_loop_with_a_handler(x):
    for number in range(3):
        try:
            x = x + eval("double(x)", {"double": double, "x": x})
            if number == 1:
                raise ValueError(number)
        except ValueError:
            x = x * eval("double(x)", {"double": double, "x": x})
    return x


def in_a_rest_that_runs_as_written(x):
    y = x + 1
    print(end="")
    try:
        raise ExceptionGroup("both", [ValueError(1)])
    except* ValueError:
        y = y + double(y).max()
    return y


@pytest.mark.parametrize(
    "program",
    [mapped, sorted_with_a_key, encoded, evaluated, below_an_inlined_function, in_a_loop_with_a_handler, in_a_rest_that_runs_as_written],
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
