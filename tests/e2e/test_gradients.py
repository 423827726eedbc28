"""Gradients as attributes of tensors, and whole steps of training: what the program leaves in them is what eager leaves."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import fallbacks, same


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def notes() -> list[str]:
    """Numbers of the reasons for which graphs ran through torch since the last reset."""
    return [event.number for event in lect.events("note")]


def test_gradients_are_read_and_assigned():
    def program(p, q):
        if p.grad is None:
            return None
        with torch.no_grad():
            halved = p.grad * 0.5
            p.grad = halved
            q.grad = None
            return halved, p.grad.sum(), q.grad, p.grad is halved

    compiled = lect.compile(program)
    for filled in (False, True, True, False):
        results = []
        for run in (program, compiled):
            torch.manual_seed(0)
            p, q = (torch.randn(3, requires_grad=True) for _ in range(2))
            if filled:
                p.grad, q.grad = torch.randn(3), torch.randn(3)
            out = run(p, q)
            assert out is None or out[0] is p.grad
            results.append((out, p.grad, q.grad))
        same(*results)
    assert set(fallbacks()) <= {"LB0022"}  # where there is nothing to compute


def test_gradient_of_another_shape_is_refused_as_in_eager():
    def program(p):
        p.grad = (p * 2)[:1]

    with pytest.raises(RuntimeError, match=r"attempting to assign a gradient of size"):
        lect.compile(program)(torch.randn(3, requires_grad=True))


def test_gradients_are_written_in_place():
    def program(p, norm):
        p.grad.mul_(norm / p.grad.norm())
        p.grad.clamp_(-0.5, 0.5)

    compiled = lect.compile(program)
    for _ in range(2):
        p, twin = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
        p.grad = torch.randn(3)
        twin.grad = p.grad.clone()
        held = p.grad
        program(twin, 2.0)
        compiled(p, 2.0)
        same(twin.grad, p.grad)
        assert p.grad is held
    assert (fallbacks(), notes()) == ([], [])


def test_gradient_of_a_tensor_found_twice():
    def program(p, q):
        p.grad = None
        return q.grad

    compiled = lect.compile(program)
    p, q = (torch.ones(2, requires_grad=True) for _ in range(2))
    p.grad, q.grad = torch.ones(2), torch.ones(2) * 2
    assert compiled(p, q) is q.grad
    p.grad = torch.ones(2)
    assert compiled(p, p) is None


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda parameters: torch.optim.Adam(parameters, 0.01),
    "adamw, many at once": lambda parameters: torch.optim.AdamW(parameters, 0.01, foreach=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_step_of_training(name):
    def step(model, optimizer, x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    twin = copy.deepcopy(model)
    optimizer, other = OPTIMIZERS[name](model.parameters()), OPTIMIZERS[name](twin.parameters())
    compiled = lect.compile(step)
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        same(step(twin, other, x, y), compiled(model, optimizer, x, y))
        same(twin.state_dict(), model.state_dict())
        same(other.state_dict(), optimizer.state_dict())
    same([p.grad for p in twin.parameters()], [p.grad for p in model.parameters()])
    assert all(a is b for a, b in zip(optimizer.state, model.parameters()))
