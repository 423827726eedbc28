"""Branches on tensors of which one side raises: no cut while it does not, and eager's exception, effects and random numbers when it does."""

import pytest
import torch
import torch.distributions as D

import lect
from tests.e2e.support import same, stops


def outcome(program, *args):
    """What a call gives or raises, and the state of torch's generator behind it."""
    torch.manual_seed(0)
    try:
        found = program(*args)
    except ValueError as error:
        found = str(error)
    return found, torch.get_rng_state()


def follow(program, calls, cuts=()):
    lect.reset()
    compiled = lect.compile(program, options={"rng": "eager"})
    for make in calls:
        same(outcome(program, *make()), outcome(compiled, *make()))
    assert [number for number in stops() if number != "LB0012"] == list(cuts)


def test_arguments_of_distributions():
    def program(mean, scale):
        found = D.Normal(mean, scale)
        drawn = found.rsample()
        return drawn, found.log_prob(drawn), D.kl_divergence(found, D.Normal(0.0, 1.0))

    mean, scale = torch.randn(4), torch.rand(4) + 0.5
    bad = torch.tensor([1.0, float("nan"), 1.0, 1.0])
    follow(program, [lambda: (mean, scale), lambda: (mean, -scale), lambda: (bad, scale), lambda: (mean, scale)])


def test_assertions():
    def program(x):
        if not torch.isfinite(x).all():  # what `assert` is, where pytest does not rewrite it
            raise AssertionError
        y = x * 2
        if not y.sum() < 1e9:
            raise AssertionError("too large")
        return y

    lect.reset()
    compiled = lect.compile(program, fullgraph=True)
    x = torch.randn(4, 3)
    same(program(x), compiled(x))
    for bad, text in ((float("nan"), ""), (1e9, "too large")):
        with pytest.raises(AssertionError) as raised:
            compiled(torch.full((2,), bad))
        assert str(raised.value) == text


def test_gradients_through_a_distribution():
    def program(logits, taken):
        return -D.Categorical(logits=logits).log_prob(taken).sum()

    def step(program):
        logits = torch.arange(6.0).reshape(2, 3).requires_grad_()
        loss = program(logits, torch.tensor([0, 2]))
        loss.backward()
        return loss.detach(), logits.grad

    lect.reset()
    compiled = lect.compile(program)
    same(step(program), step(compiled))
    with pytest.raises(ValueError, match="within the support"):
        compiled(torch.zeros(2, 3), torch.tensor([0, 3]))
    assert not stops()


def test_effects_in_front_of_the_branch():
    log = []

    def program(x, state):
        state.add_(1)
        log.append(1)
        if (x < 0).any():
            raise ValueError(f"negative: {x.tolist()}")
        return x + state

    for run in (program, lect.compile(program)):
        state = torch.zeros(3)
        log.clear()
        same(
            [outcome(run, sign * torch.ones(3), state)[0] for sign in (1, -1, 1)],
            [torch.full((3,), 2.0), "negative: [-1.0, -1.0, -1.0]", torch.full((3,), 4.0)],
        )
        assert len(log) == 3 and state.tolist() == [3.0, 3.0, 3.0]


def test_an_exception_that_the_caller_handles():
    def checked(x):
        if x.sum() > 0:
            return x
        raise ValueError("not positive")

    def program(x):
        try:
            return checked(x) + 1
        except ValueError:
            return x - 1

    lect.reset()
    compiled = lect.compile(program)
    for sign in (1, -1, 1):
        x = sign * torch.rand(3)
        same(program(x), compiled(x))
    for _ in range(9):  # of which one is too many
        x = -torch.rand(3)
        same(program(x), compiled(x))
    assert "LB0002" in stops()


def test_a_branch_that_is_handled_is_no_assumption():
    def program(x):
        try:
            if (x < 0).any():
                raise ValueError("negative")
        except ValueError:
            return x - 1
        return x + 1

    lect.reset()
    compiled = lect.compile(program)
    for sign in (1, -1):
        x = sign * torch.ones(3)
        same(program(x), compiled(x))
    assert stops() == ["LB0002"]
