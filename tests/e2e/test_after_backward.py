"""Backwards that are called in the function, and parts behind them that read what was differentiated."""

import pytest
import torch

import lect


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()


def two_steps(weight, rate):
    def loss():
        value = (weight * weight).sum()
        value.backward()
        return value

    first = loss()
    size = first.item()
    with torch.no_grad():
        weight.add_(weight.grad, alpha=-rate * size)
        with torch.enable_grad():
            second = loss()
    return first.detach(), second.detach()


def test_a_loss_whose_number_is_read_is_not_differentiated_again():
    results = []
    for function in (two_steps, lect.compile(two_steps)):
        weight = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
        returned = [function(weight, rate) for rate in (0.01, 0.02, 0.02)]
        results.append([*(loss for pair in returned for loss in pair), weight.detach(), weight.grad])
    for eager, compiled in zip(*results):
        torch.testing.assert_close(compiled, eager)


@pytest.mark.slow
def test_lbfgs_with_a_closure_in_the_function():
    ends = []
    for compiling in (False, True):
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(layer.parameters(), lr=0.1, max_iter=3)

        def step(x):
            def closure():
                optimizer.zero_grad()
                loss = layer(x).pow(2).mean()
                loss.backward()
                return loss

            return optimizer.step(closure).detach()

        run = lect.compile(step) if compiling else step
        ends.append([run(torch.full((2, 3), float(n))) for n in (1, 2)] + [layer.weight.detach(), layer.bias.detach()])
    for eager, compiled in zip(*ends):
        torch.testing.assert_close(compiled, eager)
