"""The lines of the program that tracebacks show for an exception that leaves a compiled function behind a graph break."""

import traceback
from pathlib import Path

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


# ---- whose frames are shown ------------------------------------------------------------------------------------------


def inner(x, key):
    return {"a": x}[key]


def below_a_call(x):
    return inner(x * 2, "b")


def steps(x):
    yield x + 1
    raise KeyError("in a generator")


def in_a_generator(x):
    return [step for step in steps(x)]


def in_a_callback(x):
    return x + 1, sorted([1, 2], key=lambda value: 1 / (value - 1))


def in_torch(x):
    def viewed(y):
        return y.view(7)

    return viewed(x + 1)


def in_the_graph(x):
    return x[torch.tensor([5])] + 1


def behind_a_break(x):
    print(end="")
    return inner(x + 1, "q")


def below_what_runs_as_written(x):
    y = x + 1
    print(end="")
    return sum(steps(y))


def chained(x):
    try:
        inner(x + 1, "z")
    except KeyError as error:
        raise TypeError("chained") from error


def handled_behind_a_break(x):
    try:
        print(end="")
        inner(x + 1, "z")
    except KeyError:
        raise TypeError("in its place")  # noqa: B904


def where_elements_decide(x):
    y = x + 1
    if y.sum() > 0:
        raise ValueError("positive")
    return y


RAISES = [
    below_a_call,
    in_a_generator,
    in_a_callback,
    in_torch,
    in_the_graph,
    behind_a_break,
    below_what_runs_as_written,
    chained,
    handled_behind_a_break,
    where_elements_decide,
]


class Raises(torch.nn.Module):
    def __init__(self, program):
        super().__init__()
        self.program = program

    def forward(self, x):
        return self.program(x)


def shown(function, x):
    """Each exception that a call ends with, those behind it, and the frames below the call in their tracebacks: files, names and lines."""
    found = []
    try:
        function(x)
    except Exception as error:
        behind = error
        while behind is not None:
            frames = [(each.filename, each.name, each.lineno) for each in traceback.extract_tb(behind.__traceback__)]
            found.append((type(behind), str(behind), frames[1:] if behind is error else frames))
            behind = behind.__cause__ or behind.__context__
    return found


@pytest.mark.parametrize("program", RAISES, ids=lambda program: program.__name__)
def test_a_traceback_has_the_frames_of_the_program_and_one_of_lect(program, trigger):
    x = torch.ones(3)
    want = shown(program, x)
    options = {} if program is in_the_graph else {"level": "fx"}
    compiled, module = lect.compile(program, options=options), lect.compile(Raises(program), options=options)
    for _ in range(2):
        (kind, message, frames), *behind = shown(compiled, x)
        assert (kind, message, frames[1:]) == want[0] and frames[0][0].startswith(str(Path(lect.__file__).parent))
        assert behind == want[1:]
        (_, _, frames), *behind = shown(module, x)
        own = [each for each in frames[1:] if each[0] != torch.nn.modules.module.__file__]
        assert (own[0][:2], own[1:]) == ((__file__, "forward"), want[0][2])
        assert [each[:2] for each in behind] == [each[:2] for each in want[1:]]


def test_an_error_of_a_whole_graph_says_how_the_program_came_there():
    with pytest.raises(lect.CompileError) as raised:
        lect.compile(lambda x: asked(x + 1), fullgraph=True)(torch.ones(3))
    text = "".join(traceback.format_exception_only(raised.value))
    assert text.startswith("lect.CompileError: error: ") and "the truth value of a tensor decides a branch" in text
    assert "<lambda> calls asked at " in text and "asked calls is_long at " in text
    assert len(traceback.extract_tb(raised.tb)) == 2


def is_long(x):
    return 1 if x.sum() > 2 else 0


def asked(x):
    return x + is_long(x)


def test_a_second_backward_raises_what_eager_raises():
    x = torch.ones(3, requires_grad=True)
    messages = []
    for function in (scaled, lect.compile(scaled)):
        y = function(x)
        y.backward()
        with pytest.raises(RuntimeError) as raised:
            y.backward()
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert type(y.grad_fn).__name__ == "CompiledStepBackward"


def scaled(x):
    return (x.exp() * 2).sum()


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
