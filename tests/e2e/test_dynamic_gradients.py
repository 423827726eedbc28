"""Backwards of graphs with size symbols: gradients of any layout, results that are views, repeated layers, and gradients of gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import same

SIZES = ((2, 5), (3, 7), (4, 4), (6, 9), (2, 2))


@pytest.fixture(autouse=True)
def _clean():
    lect.reset()
    yield
    lect.reset()


def words(batch, length, width=8):
    x = torch.randn(batch, length, width, requires_grad=True)
    lect.mark_dynamic(x, 0)
    lect.mark_dynamic(x, 1)
    return x


def only_one_version(backwards):
    assert len(lect.events("compile")) == 1
    assert not lect.events("static sizes", "fallback", "note", "backward fallback")
    assert len(lect.events("backward")) == backwards


LAYOUTS = {
    "row-major": lambda b, s: torch.randn(b, s, 8),
    "transposed": lambda b, s: torch.randn(s, b, 8).transpose(0, 1),
    "turned": lambda b, s: torch.randn(8, s, b).permute(2, 1, 0),
    "expanded": lambda b, s: torch.randn(1, s, 1).expand(b, s, 8),
    "one number": lambda b, s: torch.randn(()).expand(b, s, 8),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_of_one_layout_share_a_backward(name):
    fn = lambda x: (x * 2).tanh() * x.shape[1]  # noqa: E731
    compiled = lect.compile(fn)
    for batch, length in SIZES:
        x, gradient = words(batch, length), LAYOUTS[name](batch, length)
        same(*[torch.autograd.grad(each(x), x, gradient) for each in (fn, compiled)])
    only_one_version(backwards=1)


def test_gradients_that_lie_in_other_ways_are_copied():
    """Parts of a larger tensor: no product of sizes says how they lie, so each size is a layout of its own until there are too many."""
    fn = lambda x: x.sin() * x  # noqa: E731
    compiled = lect.compile(fn)
    for size in range(2, 16):
        x, gradient = words(size, 3), torch.randn(size, size + 3, 8)[:, :3]
        same(*[torch.autograd.grad(each(x), x, gradient) for each in (fn, compiled)])
    assert len(lect.events("compile")) == 1 and not lect.events("static sizes", "fallback")


def test_results_that_are_views():
    def fn(x):
        y = x.exp()
        return y, y[:, 1:], y.transpose(0, 1), x.view(x.shape[0] * x.shape[1], -1)

    compiled = lect.compile(fn)
    for batch, length in SIZES:
        if length == 2:
            continue  # of 1:, one is left, which is no symbol
        x = words(batch, length)
        want, got = fn(x), compiled(x)
        same(want, got)
        assert [each._base is not None for each in want[1:]] == [each._base is not None for each in got[1:]]
        slopes = [torch.randn_like(each) for each in want]
        same(torch.autograd.grad(want, x, slopes), torch.autograd.grad(got, x, slopes))
    only_one_version(backwards=1)


def test_gradients_of_gradients_run_through_torch():
    def fn(x):
        steps = torch.arange(x.shape[0] * x.shape[1])[:, None] / (x.shape[1] + 1)
        return (x.reshape(x.shape[0] * x.shape[1], -1).sin() * steps).view(x.shape[0], -1)

    compiled = lect.compile(fn)
    for batch, length in SIZES:
        x = words(batch, length)
        found = []
        for each in (fn, compiled):
            (first,) = torch.autograd.grad(each(x).square().sum(), x, create_graph=True)
            found.append((first, *torch.autograd.grad(first.square().sum(), x)))
        same(*found, scaled=True)
    assert len(lect.events("compile")) == 1 and not lect.events("static sizes", "fallback")


def test_repeated_layers():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.mix, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x):
            q, k, v = [part.view(*x.shape[:2], 2, 4).transpose(1, 2) for part in self.mix(self.norm(x)).chunk(3, -1)]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).reshape(*x.shape[:2], -1))

    torch.manual_seed(0)
    model = nn.Sequential(*[Layer() for _ in range(4)])
    compiled = lect.compile(model)
    for batch, length in SIZES:
        x = words(batch, length)
        found = []
        for run in (model, compiled):
            model.zero_grad()
            x.grad = None
            run(x).square().mean().backward()
            found.append([x.grad, *[parameter.grad.clone() for parameter in model.parameters()]])
        same(*found, scaled=True)
    only_one_version(backwards=1)


def test_sizes_of_what_a_backward_frees():
    """What is kept of the first dim is freed behind its last use, and the last step still asks for the size."""

    def fn(x):
        x = x.softmax(-1)
        return (x @ x.transpose(1, 2)).softmax(-1) @ x

    compiled = lect.compile(fn)
    for batch in (4, 3, 9):
        x, slope = torch.randn(batch, 2, 6, requires_grad=True), torch.randn(batch, 2, 6)
        lect.mark_dynamic(x, 0)
        same(*[torch.autograd.grad(each(x), x, slope) for each in (fn, compiled)])
    only_one_version(backwards=1)


def test_attention_with_dropout():
    fn = lambda q: F.scaled_dot_product_attention(q, q * 2, q + 1, dropout_p=0.25)  # noqa: E731
    compiled = lect.compile(fn, options={"rng": "eager"})
    for batch, length in SIZES:
        x = words(batch, length)
        found = []
        for each in (fn, compiled):
            torch.manual_seed(7)
            found.append(torch.autograd.grad(each(x[:, None]).sum(), x))
        same(*found)
    assert not lect.events("static sizes", "fallback")


JOINED = {
    "stack": lambda x: torch.stack([x.transpose(0, 1), x.transpose(0, 1) * 2], 2),
    "stack last": lambda x: torch.stack([x, x * 2], -1),
    "cat": lambda x: torch.cat([x.transpose(0, 1), x.transpose(0, 1) * 2], -1),
    "any": lambda x: x * (x > 1).any(-1, keepdim=True),
    "all": lambda x: x * (x > -2).all(),
    "one size open": lambda x: x.view(-1, x.shape[1] * 4).tanh(),
    "shape that is a torch.Size": lambda x: (x * 2).view(x.size()[:-1] + (2, 4)),
    "batch of another tensor": lambda x: (x * 2).sum(-1).view(x.detach().shape[0], -1),
}


@pytest.mark.parametrize("name", JOINED)
def test_joined_and_reshaped(name):
    fn = JOINED[name]
    compiled = lect.compile(fn)
    for batch, length in SIZES:
        x = words(batch, length)
        want, got = fn(x), compiled(x)
        same(want, got)
        slope = torch.randn_like(want)
        same(torch.autograd.grad(want, x, slope), torch.autograd.grad(got, x, slope))
    only_one_version(backwards=1)


def test_sizes_that_a_division_without_rest_shows_to_be_equal():
    fn = lambda x, mask: x + mask.view(x.shape[0], -1)  # noqa: E731
    compiled = lect.compile(fn)
    for batch, length in ((3, 5), (2, 7), (6, 4), (9, 3)):
        x, mask = torch.randn(batch, length), torch.randn(batch, length)
        same(fn(x, mask), compiled(x, mask))
    assert len(lect.events("compile")) == 2 and not lect.events("static sizes")
