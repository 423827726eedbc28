"""Training of what is left to torch, with one event that says why: values, gradients, layouts and errors are eager's."""

import copy
import traceback

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import fallbacks, same
from tests.e2e.test_compiled_training import in_native_code, leaf


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Noisy(torch.autograd.Function):
    """A gradient with random numbers in it."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.rand_like(gradient)


def scaled_in_place(x, y):
    y.mul_(x.sin())
    return y.exp()


PROGRAMS = {
    "backward that draws": (lambda x, y: Noisy.apply(x.sin()) * torch.rand_like(y), "the backward draws random numbers"),
    "complex result": (lambda x, y: torch.complex(x, y.exp()) * 1j, "the gradient of a complex result"),
}


def slopes(run, program_name):
    x, y = leaf(3, 4), leaf(3, 4, seed=1)
    torch.manual_seed(7)
    out = run(x, y)
    out = out if isinstance(out, tuple) else (out,)
    sum(each.abs().square().sum() for each in out).backward()
    state = torch.get_rng_state()
    return [each.detach() for each in out], x.grad, y.grad, [each._is_view() for each in out], state


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_eagers_and_one_event_says_why(name):
    program, why = PROGRAMS[name]
    compiled = lect.compile(program)
    want = slopes(program, name)
    for _ in range(2):
        same(want, slopes(compiled, name), scaled=True)
    notes = lect.events("note")
    assert len(notes) == 1
    assert why in str(notes[0])
    assert not fallbacks()


def test_results_that_overlap_are_left_to_nobody():
    def program(x, y):
        scaled = x * 3
        return (x * y).view(-1)[:4], (x * y).view(-1)[1:3].exp(), scaled[:2], scaled[1:]

    def use(run):
        x, y = leaf(3, 4), leaf(3, 4, seed=1)
        *others, front, back = run(x, y)
        front.add_(1.0)
        (sum(other.sum() for other in others) + (back * back).sum()).backward()
        assert front._base is back._base is not None and back._version == 1
        return front.detach(), back.detach(), *[other.detach() for other in others], x.grad, y.grad

    compiled = lect.compile(program)
    for _ in range(2):
        same(use(program), use(compiled))
    assert not lect.events("note") and not fallbacks()


def test_an_input_that_is_written_and_requires_gradients():
    def use(run):
        x, y = leaf(3), leaf(3, seed=1)
        given = y * 2
        out = run(x, given)
        (out.sum() + given.square().sum()).backward()
        return out.detach(), given.detach(), given._version, x.grad, y.grad

    compiled = lect.compile(scaled_in_place)
    same(use(scaled_in_place), use(compiled))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        compiled(leaf(3), leaf(3))
    assert len(lect.events("note")) == 1


DEEP = {"num_layers": 2, "bidirectional": True, "batch_first": True, "dropout": 0.5}


@pytest.mark.parametrize(("kind", "options"), [(nn.LSTM, {}), (nn.LSTM, DEEP), (nn.GRU, {}), pytest.param(nn.GRU, DEEP, marks=pytest.mark.slow), (nn.RNN, {})])
def test_recurrent_networks_learn(kind, options):
    torch.manual_seed(0)
    model = kind(4, 5, **options)
    twin = copy.deepcopy(model)
    found = []
    for module, run in ((model, model), (twin, lect.compile(twin, options={"rng": "eager"}))):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        torch.manual_seed(3)
        for step in range(2):
            x = leaf(3, 3, 4, seed=step)
            out, hidden = run(x)
            (out.square().sum() + (hidden[0] if kind is nn.LSTM else hidden).sum()).backward()
            optimizer.step()
        found.append((out.detach(), x.grad, [parameter.detach() for parameter in module.parameters()], [p.grad.clone() for p in module.parameters()]))
    same(*found, scaled=True)
    if kind is nn.LSTM:
        assert len(lect.events("note")) == 1
        assert not fallbacks()
    else:
        in_native_code()


def shown(x, y):
    with torch.no_grad():
        part, turned = y[0], y.t()
    return part, turned, x * 2


def test_views_made_without_autograd_are_views():
    """Of a plain tensor they share its version, and writing to them writes to it."""
    for run in (shown, lect.compile(shown)):
        y = torch.zeros(3, 4)
        part, turned, out = run(leaf(3), y)
        assert [part._is_view(), turned._is_view(), part._base is y, turned._base is y] == [True] * 4
        part.add_(1)
        assert [y._version, turned._version, part._version] == [1, 1, 1]
        same(torch.ones(4), turned[:, 0].contiguous())
        out.sum().backward()


def test_views_made_without_autograd_of_what_requires_gradients_refuse_writes():
    for run in (shown, lect.compile(shown)):
        y = leaf(3, 4)
        part, _, _ = run(leaf(3), y)
        assert part._is_view()
        assert part.requires_grad
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
            part.add_(1)
        with torch.no_grad():
            part.add_(1)
        assert y._version == 1


@pytest.mark.parametrize("p", [1.5, -0.1, float("nan")])
def test_probabilities_that_are_none_raise(p):
    programs = (lambda x: torch.bernoulli(x, p), lambda x: (x.clone().bernoulli_(p), x + 1)[1], lambda x: x.sin().bernoulli_(p).exp())
    for program in programs:
        with pytest.raises(RuntimeError) as want:
            program(torch.rand(3))
        with pytest.raises(RuntimeError) as got:
            lect.compile(program)(torch.rand(3))
        assert str(want.value) == str(got.value)


def test_the_traceback_names_the_line_that_raises_behind_a_write():
    weight = torch.ones(3, requires_grad=True)

    def program(x, written, index):
        written.add_(1)
        y = x * weight
        y.register_hook(lambda gradient: gradient * 2)
        return torch.index_select(y, 0, index)

    def lines(run):
        with pytest.raises(IndexError) as raised:
            run(torch.ones(3), torch.zeros(3), torch.tensor([7]))
        return [step.lineno for step in traceback.extract_tb(raised.value.__traceback__) if step.name == "program"]

    compiled = lect.compile(program)
    assert lines(program) == lines(compiled) == lines(compiled)
    assert lect.events("note")
