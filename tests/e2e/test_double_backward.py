"""Gradients of gradients, and what else goes through torch behind a compiled forward: eager's values, and the random numbers of the forward."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import same
from tests.e2e.test_compiled_training import both, in_native_code, leaf


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def test_penalty_on_the_slope():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def use(run, x):
        net.zero_grad()
        score = run(x).sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        (score + (slope.norm(dim=1) - 1).square().mean()).backward()
        return x.grad, [parameter.grad.clone(memory_format=torch.contiguous_format) for parameter in net.parameters()]

    both(lambda x: net(x), use, lambda: leaf(5, 4))
    in_native_code()


def test_slope_of_a_slope_through_what_came_before():
    def use(run, x):
        hidden = x * 3
        (slope,) = torch.autograd.grad(run(hidden).sum(), hidden, create_graph=True)
        slope.square().sum().backward()
        return x.grad

    both(lambda h: torch.sin(h) * h, use, lambda: leaf(6))


def test_slope_of_a_slope_in_training_mode_leaves_the_statistics_alone():
    norm, twin = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
    found = []
    for run, module in ((twin, twin), (lect.compile(norm), norm)):
        x = leaf(6, 4)
        (slope,) = torch.autograd.grad(run(x).pow(3).sum(), x, create_graph=True)
        slope.square().sum().backward()
        found.append((x.grad, dict(module.named_buffers())))
    same(*found, scaled=True)


def drawing(x):
    """Random operators of every kind that have a formula, some in place and some of memory in another order, between those that torch draws."""
    noise = torch.rand_like(x) + torch.randn(x.shape) * 0.1 + torch.randint(0, 3, x.shape)
    noise = noise + torch.empty(x.shape[1], x.shape[0]).uniform_(-1, 1).t() + torch.empty(x.shape[1], x.shape[0]).t().exponential_(2.0)
    noise = noise + torch.poisson(torch.full_like(x, 3.0)) + torch.bernoulli(torch.full_like(x, 0.5)) + torch.randperm(x.shape[1])
    noise = noise + torch.normal(noise.detach(), 0.1) + torch.zeros_like(x).bernoulli_(0.3) + torch.empty_like(x).geometric_(0.5)
    return F.dropout(torch.sin(x) * noise, 0.5) + F.rrelu(x, training=True) * x + F.alpha_dropout(x.exp(), 0.25) + F.dropout(x, 0.0) * x


PROGRAMS = {
    "dropout": lambda x: F.dropout(torch.sin(x), 0.5),
    "every kind": drawing,
    "twice": lambda x: F.dropout(F.dropout(x.exp(), 0.3) * x.sin(), 0.6),
    "checkpoint": lambda x: torch.utils.checkpoint.checkpoint(lambda y: F.dropout(y.sin() * y, 0.5), F.dropout(x, 0.2) * x, use_reentrant=False).exp(),
    "attention": lambda x: F.scaled_dot_product_attention(x.sin()[None], x[None], x[None] * 2, dropout_p=0.3),
    "feature dropout": lambda x: F.dropout1d(x.exp()[None], 0.5),
}


@pytest.mark.parametrize("rng", ["counter", "eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_slope_of_a_slope_has_the_numbers_of_the_forward(name, rng):
    """Second slopes from the compiled graph against differences of first ones, which the same seed gives the same numbers."""
    compiled = lect.compile(PROGRAMS[name], options={"rng": rng})

    def slopes(x, direction, further):
        torch.manual_seed(5)
        out = compiled(x)
        state = torch.get_rng_state()
        (slope,) = torch.autograd.grad((out * weights[: out.numel()].view_as(out)).sum(), x, create_graph=further)
        assert torch.equal(torch.get_rng_state(), state)
        return (out.detach(), slope.detach(), torch.autograd.grad(slope, x, direction)[0]) if further else (out.detach(), slope)

    weights = torch.randn(200, dtype=torch.float64)
    x = torch.randn(6, 8, dtype=torch.float64).requires_grad_()
    direction = torch.randn(6, 8, dtype=torch.float64)
    out, slope, second = slopes(x, direction, True)
    same((out, slope), slopes(x, direction, False), scaled=True)
    step = 1e-6
    ahead, behind = [slopes((x + sign * step * direction).detach().requires_grad_(), direction, False)[1] for sign in (1, -1)]
    torch.testing.assert_close(second, (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-5)
    assert second.abs().max() > 0
    in_native_code()


def test_penalty_on_the_slope_of_a_network_with_dropout():
    """One mask for the score, its slope and the gradients of a penalty on it."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1))
    masks = []

    def masked(x):
        return net[3](net[1](net[0](x)) * masks[0])

    def use(run, x):
        net.zero_grad()
        score = run(x).sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        (score + (slope.norm(dim=1) - 1).square().mean()).backward()
        return score, x.grad, [parameter.grad.clone(memory_format=torch.contiguous_format) for parameter in net.parameters()]

    seen = lect.compile(lambda x: (net[2](torch.ones(5, 8) + 0 * x.sum()), x.sum()))
    torch.manual_seed(3)
    masks.append(seen(leaf(5, 4))[0].detach())
    torch.manual_seed(3)
    found = use(lect.compile(net), leaf(5, 4))
    same(use(masked, leaf(5, 4)), found, scaled=True)
    assert 0 < (masks[0] == 0).sum() < 40


def test_gradients_through_torch_have_the_numbers_of_the_forward():
    """A slope of another tensor type goes through torch."""

    class Other(torch.Tensor):
        pass

    compiled = lect.compile(PROGRAMS["dropout"])
    x = leaf(50)
    out = compiled(x)
    slope = torch.ones(50).as_subclass(Other)
    (found,) = torch.autograd.grad(out, x, slope)
    same(torch.where(out == 0, 0.0, 2 * torch.cos(x)).detach(), torch.Tensor(found), scaled=True)
