"""Results that take over the memory of what they are made of have eager's values, strides and owners."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import lect
from tests.e2e.support import same

CASES = {
    "activation of a product": lambda x, w: F.gelu(x @ w),
    "chain behind a product": lambda x, w: torch.tanh(F.relu(x @ w) + 1) * 2,
    "softmax of a product": lambda x, w: torch.softmax(x @ w, -1),
    "softmax over columns": lambda x, w: torch.softmax(x @ w, 0),
    "norm of a product": lambda x, w: F.layer_norm(x @ w, (w.shape[1],)),
    "deviation of a product": lambda x, w: (x @ w - (x @ w).mean(1, keepdim=True)) / (x @ w).std(1, keepdim=True),
    "the product twice": lambda x, w: ((x @ w).exp(), x @ w),
    "a product turned": lambda x, w: (x @ w).t().exp(),
    "a part of a product": lambda x, w: (x @ w)[:, 1:].exp(),
    "two results of one product": lambda x, w: ((x @ w).exp(), (x @ w).neg()),
    "a residual": lambda x, w: (x @ w @ w.t() + x).relu(),
    "a product in half precision": lambda x, w: F.silu(x.bfloat16() @ w.bfloat16()).float(),
    "cast behind a product": lambda x, w: (x @ w).to(torch.float64) + 1,
    "rows and the whole": lambda x, w: (torch.softmax(x @ w, 1), (x @ w).sum()),
}


# torch's gelu gives NaN at infinity on some processors.
LARGEST = 1e30 if F.gelu(torch.full((64,), float("inf"))).isnan().any() else float("inf")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 2])
def test_values(name, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        fn = CASES[name]

        def given(x, w):
            return fn(x, w)

        x, w = torch.randn(129, 40), torch.randn(40, 67)
        x[5, 3], x[7, 1] = LARGEST, float("nan")
        compiled = lect.compile(given)
        for _ in range(2):  # the second call must not see what the first left behind
            copies = x.clone(), w.clone()
            found, wanted = compiled(*copies), fn(x, w)
            for a, b in zip(*[value if isinstance(value, tuple) else (value,) for value in (found, wanted)], strict=True):
                torch.testing.assert_close(a, b, rtol=3e-6, atol=3e-6, equal_nan=True)
                assert (a.stride(), a.storage_offset(), a._is_view()) == (b.stride(), b.storage_offset(), b._is_view())
            torch.testing.assert_close(copies, (x, w), rtol=0, atol=0, equal_nan=True)
    finally:
        torch.set_num_threads(before)


def test_training_keeps_what_its_backward_reads():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 40), nn.GELU(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 8), nn.Softmax(-1))
    x = torch.randn(33, 20)
    model(x).square().sum().backward()
    wanted = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    compiled = lect.compile(model)
    compiled(x).square().sum().backward()
    for parameter, grad in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, grad, rtol=1e-5, atol=1e-6)


def _select(x):
    made = torch.zeros(3)
    made.select(0, 1).copy_(x[0])
    return made


def _items(x):
    made = torch.zeros_like(x)
    for number in range(2):
        made[number] = x[number] * 2
    return made


def _shown(x):
    made = torch.zeros(3)
    view = made[1:]
    view.add_(x[1:])
    return made, view


@pytest.mark.parametrize("program", [_select, _items, _shown], ids=lambda program: program.__name__[1:])
def test_a_write_through_a_view_makes_a_tensor_require_gradients(program):
    compiled = lect.compile(program)
    for requires in (False, True):
        found = []
        for called in (program, compiled):
            x = torch.arange(3.0).requires_grad_(requires)
            returned = called(x)
            parts = returned if isinstance(returned, tuple) else (returned,)
            if requires:
                (parts[0] * torch.tensor([2.0, 3.0, 4.0])).sum().backward()
            found.append(([part.detach() for part in parts], [part.requires_grad for part in parts], x.grad))
        same(*found)


def _part_behind_the_whole(x):
    y = x * 2
    part = y[0]
    part.add_(1)
    return y, part


def _parts_of_parts(x):
    y = x * 3
    halves = y[:, :2], y[:, 2:]
    halves[0].add_(halves[1])
    return y, halves[0][1], halves[1].t()


def _of_complex(x):
    z = torch.complex(x, x.flip(0))
    z[1].mul_(2j)
    return z, z[1], z.t()


@pytest.mark.parametrize("leaf", [False, True], ids=["values", "gradients"])
@pytest.mark.parametrize("program", [_part_behind_the_whole, _parts_of_parts, _of_complex], ids=lambda program: program.__name__)
def test_written_parts_are_parts_of_the_results(program, leaf):
    """Behind the call too: what is written to a part shows in the whole."""
    lect.reset()
    compiled, outcomes = lect.compile(program), []
    base = torch.randn(3, 4)
    for run in (program, compiled):
        x = base.clone().requires_grad_(leaf)
        found = run(x)
        places = [
            (each.storage_offset() - found[0].storage_offset(), each.untyped_storage().data_ptr() == found[0].untyped_storage().data_ptr()) for each in found
        ]
        total = sum(each.abs().sum() for each in found)
        if leaf:
            total.backward()
        with torch.no_grad():
            for each in found:
                each.add_(1)
        outcomes.append(([each.detach() for each in found], places, x.grad))
    torch.testing.assert_close(outcomes[1], outcomes[0])
    assert program is _of_complex or lect.events("note") == []
