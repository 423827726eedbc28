"""Kernels that fold what they store over an operand: each element is loaded before it is overwritten, whatever the number of sweeps."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import lect

SHAPES = [(64, 300), (257, 33), (5, 1), (1, 5), (2000, 7)]


def add_and_sum(x, y):
    h = torch.relu(x * y)  # dies here, and lends its memory
    g = torch.where(y <= 0, 0, h + x)
    return g * 2, g.sum(0), (g * x).sum(0), g.sum(1)


def centre(x, y):
    h = (x - y).exp()
    return h - h.mean(0), h / h.sum(0), (h - h.amax(1, keepdim=True)).exp(), h.var(0)


def write_and_sum(x, y):
    x.add_(y)
    total = x.sum(0)
    x.mul_(2)
    return total, (x - total).square().sum(0)


@pytest.mark.parametrize("run", [add_and_sum, centre, write_and_sum])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_folds_beside_stores(run, shape, dtype):
    torch.manual_seed(0)
    x, y = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
    x.view(-1)[0], y.view(-1)[-1] = float("nan"), float("inf")
    again = x.clone(), y.clone()
    expected = run(x, y)
    found = lect.compile(run, fullgraph=True)(*again)
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 3e-2}[dtype]
    for a, b in zip((*expected, x, y), (*found, *again), strict=True):
        torch.testing.assert_close(b, a, rtol=tolerance, atol=tolerance * 20, equal_nan=True)


def test_gradients_through_a_normalisation_and_a_shortcut():
    torch.manual_seed(0)
    norm = [torch.nn.BatchNorm2d(6) for _ in range(3)]

    def run(x):
        for each in norm:
            x = F.relu(each(torch.sin(x)) + x)
        return x

    x = torch.randn(4, 6, 9, 9).to(memory_format=torch.channels_last).requires_grad_()
    z = x.detach().clone().requires_grad_()
    expected = run(x)
    expected.square().mean().backward()
    found = lect.compile(run)(z)
    found.square().mean().backward()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(z.grad, x.grad, rtol=1e-4, atol=1e-6)
