"""`torch.utils.checkpoint` in compiled functions: values, gradients, random numbers and what is kept are eager's."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import lect
from tests.e2e.support import check, fallbacks, same, stops


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 8)

    def forward(self, x, scale=1.0):
        return x + self.second(F.dropout(F.gelu(self.first(x)), 0.5, self.training)) * scale


class Net(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.reentrant = reentrant

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return x


def trained(run, net, x):
    """Output, gradients, and the state of the generator behind two steps."""
    found = []
    for _ in range(2):
        out = run(x)
        out.square().sum().backward()
        found.append(out)
    return found, [parameter.grad for parameter in net.parameters()], x.grad, torch.get_rng_state()


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_and_random_numbers(reentrant):
    torch.manual_seed(0)
    nets = [Net(reentrant)]
    nets.append(copy.deepcopy(nets[0]))
    inputs = [torch.randn(4, 8).requires_grad_() for _ in range(1)]
    inputs.append(inputs[0].detach().clone().requires_grad_())
    torch.manual_seed(1)
    want = trained(nets[0], nets[0], inputs[0])
    torch.manual_seed(1)
    got = trained(lect.compile(nets[1], options={"rng": "eager"}), nets[1], inputs[1])
    same(want, got)
    assert fallbacks() == []


@pytest.mark.parametrize("reentrant", [False, True])
def test_without_gradients_it_is_native_code(reentrant):
    net = Net(reentrant).eval().requires_grad_(False)
    check(net, torch.randn(4, 8))
    with torch.no_grad():
        check(Net(reentrant).eval(), torch.randn(4, 8))
    assert (fallbacks(), lect.events("note")) == ([], [])


def test_the_function_runs_again_in_the_backward():
    saved = []
    weight = torch.randn(8, 8, requires_grad=True)

    def pack(tensor):
        saved.append(tensor.shape)
        return tensor

    def program(x):
        return checkpoint(lambda y: torch.sin(torch.sin(y @ weight)), x, use_reentrant=False)

    compiled = lect.compile(program, options={"rng": "eager"})
    x = torch.randn(4, 8, requires_grad=True)
    counts = []
    for run in (program, compiled):
        saved.clear()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            run(x)
        counts.append(len(saved))
    assert counts[1] <= 2  # the argument and the weight, as eager without the product and the two sines
    assert fallbacks() == []


def test_several_arguments_results_and_keywords():
    net = Block()

    def body(x, pair, *, scale):
        return {"out": net(x, scale) + pair[0], "parts": (pair[1] * 2, x.sum())}

    def program(x, y):
        return checkpoint(body, x, (y, y + 1), use_reentrant=False, preserve_rng_state=False, scale=0.5)

    net.eval()
    check(program, torch.randn(4, 8), torch.randn(4, 8, requires_grad=True))
    assert fallbacks() == []


def test_sequential():
    net = nn.Sequential(*[Block() for _ in range(4)]).eval()
    check(lambda x: checkpoint_sequential(net, 2, x, use_reentrant=False), torch.randn(4, 8, requires_grad=True))
    assert fallbacks() == []


def test_function_that_writes_to_the_program_runs_eagerly():
    seen = []

    def program(x):
        return checkpoint(lambda y: (seen.append(1), y.sin())[1], x, use_reentrant=False)

    x = torch.randn(4, requires_grad=True)
    out = lect.compile(program)(x)
    out.sum().backward()
    assert len(seen) == 2  # once in the forward and once in the backward, as eager
    assert "LB0004" in stops()


def test_autocast_is_on_in_both_runs():
    net = Block().eval()

    def program(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return checkpoint(net, x, use_reentrant=False)

    results = []
    for run in (program, lect.compile(program)):
        x = torch.ones(4, 8, requires_grad=True)
        run(x).float().sum().backward()
        results.append((x.grad, net.first.weight.grad))
        net.zero_grad()
    same(results[0], results[1])
    assert fallbacks() == []
