"""Writes to one of several views that a function gave: eager refuses them while gradients are recorded, and memory stays what it was."""

import pytest
import torch

import lect
from tests.e2e.support import stops
from tests.e2e.test_overlapping_writes import agree

OPERATORS = {
    "chunk": lambda x: x.chunk(2),
    "split": lambda x: x.split(2),
    "sizes": lambda x: x.split([1, 3]),
    "split_with_sizes": lambda x: x.split_with_sizes([3, 1]),
    "tensor_split": lambda x: x.tensor_split(2),
    "hsplit": lambda x: x.hsplit(2),
    "vsplit": lambda x: x.vsplit(2),
    "dsplit": lambda x: x.view(2, 2, 4).dsplit(2),
    "unbind": lambda x: x.unbind(1),
    "iteration": tuple,
    "unpacking": lambda x: [*x],
}
OF_SLICES = frozenset({"tensor_split", "hsplit", "vsplit", "dsplit"})  # torch takes these apart into slices, which may be written to
WRITES = {
    "add_": lambda a: a.add_(1),
    "iadd": lambda a: a.__iadd__(2),
    "mul_": lambda a: a.mul_(3),
    "copy_": lambda a: a.copy_(torch.zeros(())),
    "setitem": lambda a: a.__setitem__(..., 0),
    "zero_": lambda a: a.zero_(),
    "foreach": lambda a: torch._foreach_add_([a], 1.0),
    "of a view": lambda a: a.unsqueeze(0).add_(1),
}
MAKERS = {
    "recorded": lambda: torch.ones(4, 4, requires_grad=True) * 1,
    "leaf": lambda: torch.ones(4, 4, requires_grad=True),
    "plain": lambda: torch.ones(4, 4),
}


def writes_to_last(several, write, inner=False):
    def program(x):
        h = x * 2 if inner else x
        *_, last = several(h)
        write(last)
        return h

    return program


@pytest.mark.parametrize("given", MAKERS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_write_behind_an_operator_that_gives_several_views(operator, given):
    _, text, _ = agree(writes_to_last(OPERATORS[operator], WRITES["add_"]), MAKERS[given])
    assert (text is None) == (given == "plain" or (given == "recorded" and operator in OF_SLICES))


@pytest.mark.parametrize("given", MAKERS)
@pytest.mark.parametrize("operator", ["chunk", "unbind"])
def test_write_to_a_view_of_what_the_program_made(operator, given):
    _, text, _ = agree(writes_to_last(OPERATORS[operator], WRITES["add_"], inner=True), MAKERS[given])
    assert (text is None) == (given == "plain")


@pytest.mark.parametrize("given", ["recorded", "plain"])
@pytest.mark.parametrize("write", WRITES)
def test_each_way_to_write_to_one_of_several_views(write, given):
    _, text, _ = agree(writes_to_last(OPERATORS["chunk"], WRITES[write]), MAKERS[given])
    assert (text is None) == (given == "plain")


def each_row(x):
    for row in x:
        row.mul_(3)
    return x


def behind_other_writes(x):
    x.add_(1)
    a, _ = x.chunk(2)
    x.mul_(2)
    a.sub_(1)
    return x


def into_an_output(x):
    a, b = x.chunk(2)
    return torch.sin(b.detach(), out=a), x


def caught(x):
    a, b = x.chunk(2)
    try:
        a.add_(1)
    except RuntimeError:
        return x * 3
    return x + b.sum()


@pytest.mark.parametrize("given", ["recorded", "plain"])
@pytest.mark.parametrize("program", [each_row, behind_other_writes, into_an_output, caught], ids=lambda f: f.__name__)
def test_program_that_writes_to_its_views(program, given):
    agree(program, MAKERS[given])


def test_write_of_what_requires_gradients_to_a_view_that_does_not():
    weight = torch.ones(2, 4, requires_grad=True)

    def program(x):
        a, b = x.chunk(2)
        a.mul_(weight)
        return x, b

    _, text, (x,) = agree(program, MAKERS["plain"])
    assert text
    assert torch.equal(x, torch.ones(4, 4))


def without_gradients(x):
    with torch.no_grad():
        a, b = x.chunk(2)
        a.add_(b)
    return x * 1


def of_a_detached_tensor(x):
    a, b = x.detach().chunk(2)
    a.add_(b)
    return x * 1


@pytest.mark.parametrize("program", [without_gradients, of_a_detached_tensor], ids=lambda f: f.__name__)
@pytest.mark.parametrize("given", ["recorded", "plain"])
def test_write_that_autograd_does_not_record_is_done(program, given):
    lect.reset()
    _, text, _ = agree(program, MAKERS[given])
    assert text is None
    assert "LB0012" not in stops()


def gives_views(x):
    return x.chunk(2)


def gives_view_of_view(x):
    return x.unbind()[1].view(2, 2), x.sin()


def gives_view_of_its_own(x):
    return (x * 2).chunk(2)[0], x.sin()


def gives_row_of_its_own(x):
    return (x * 2).unbind()[1].view(2, 2), x.sin()


@pytest.mark.parametrize("given", ["recorded", "leaf", "plain"])
@pytest.mark.parametrize("program", [gives_views, gives_view_of_view, gives_view_of_its_own, gives_row_of_its_own], ids=lambda f: f.__name__)
def test_caller_may_write_to_a_returned_view_where_eager_lets_it(program, given):
    """Autograd's node has another name here, so the error is compared from there on."""
    compiled = lect.compile(program)
    for _ in range(2):
        told = []
        for way in (program, compiled):
            x = MAKERS[given]()
            view = way(x)[0]
            try:
                view.add_(1)
                told.append((None, x))
            except RuntimeError as error:
                told.append((str(error).partition(" is a view")[2], x))
        assert told[0][0] == told[1][0]
        assert (told[0][0] is None) == (given == "plain")
        torch.testing.assert_close(told[1][1], told[0][1])
    assert not [event for event in lect.events("note") if program.__name__ in str(event)]


def test_write_behind_a_break():
    def program(x):
        a, b = x.chunk(2)
        c = b.sin()
        print(end="")
        a.add_(c)
        return x

    compiled = lect.compile(program)
    for _ in range(2):
        x = MAKERS["recorded"]()
        with pytest.raises(RuntimeError, match="This view is the output of a function that returns multiple views"):
            compiled(x)
        assert torch.equal(x, torch.ones(4, 4))


@pytest.mark.parametrize("gives", [gives_view_of_view, gives_row_of_its_own], ids=lambda f: f.__name__)
def test_gradients_of_returned_views(gives):
    compiled = lect.compile(gives)
    found, wanted = (torch.ones(4, 4, requires_grad=True) for _ in range(2))
    for program, x in ((compiled, found), (gives, wanted)):
        view, sine = program(x * 1)
        (view.exp().sum() + sine.sum()).backward()
    torch.testing.assert_close(found.grad, wanted.grad)
