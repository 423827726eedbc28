"""The lines of the program that tracebacks show for an exception that leaves a compiled function behind a graph break."""

import traceback

import pytest
import torch

import lect


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Breaks:
    def __enter__(self):
        return self

    def __exit__(self, *given):
        print(end="")


def raises_in_front_of_finally(x, wrong):
    y = x + 1
    try:
        if wrong:
            raise KeyError(3)
    finally:
        print(end="")
    return y * 3


def raises_in_a_with_block(x, wrong):
    with Breaks():
        y = x + 1
        if wrong:
            raise KeyError(3)
    return y * 3


def asserts_in_a_with_block(x, wrong):
    with Breaks():
        y = x + 1
        assert not wrong, "a message"
    return y * 3


def raises_in_a_loop(x, wrong):
    for number in range(3):
        with Breaks():
            y = x + number
            try:
                if wrong and number == 1:
                    raise ValueError(number)
            except KeyError:
                print(end="")
            finally:
                print(float(y[0]), end="")
    return y


def wrong_index(x, wrong):
    y = x + 1
    try:
        found = [1][wrong]
    finally:
        print(end="")
    return y * found


PROGRAMS = [raises_in_front_of_finally, raises_in_a_with_block, asserts_in_a_with_block, raises_in_a_loop, wrong_index]


def ends(function, *args):
    """The error of a call, and the lines of this file behind that of the call."""
    try:
        function(*args)
    except Exception as error:
        shown = traceback.extract_tb(error.__traceback__)
        assert shown[-1].lineno == [line for _, line in traceback.walk_tb(error.__traceback__)][-1]
        return type(error), str(error), [(each.name, each.lineno) for each in shown if each.filename == __file__][1:]
    return None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_line_that_raises_is_shown(program):
    compiled = lect.compile(program, options={"level": "fx"})
    x = torch.ones(2)
    for wrong in (0, 2, 2):
        assert ends(program, x, wrong) == ends(compiled, x, wrong)


LINEAR = torch.nn.Linear(2, 2)


def keeps_for_the_backward(x, drawn):
    y = torch.rand(2) if drawn else x
    return LINEAR(x) * y


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_a_tensor_of_inference_mode_that_the_backward_needs(known, drawn):
    compiled = lect.compile(keeps_for_the_backward)
    if known:
        compiled(torch.ones(1, 2), drawn)
    with torch.inference_mode():
        x = torch.ones(1, 2)
    for _ in range(2):
        want, got = ends(keeps_for_the_backward, x, drawn), ends(compiled, x, drawn)
        assert want[:2] == got[:2] and "Inference tensors cannot be saved for backward" in got[1]
        assert want[2][-2:] == got[2][-2:] or drawn
