"""Variances and deviations of numbers whose squares are too large or too small for their type: eager accumulates them in f64."""

import pytest
import torch

import lect

PROGRAMS = {
    "deviation of rows": lambda x: x.std(1),
    "deviation of columns": lambda x: x.std(0),
    "deviation of all": lambda x: x.std(),
    "variance of rows": lambda x: x.var(1, keepdim=True),
    "both of columns": lambda x: torch.std_mean(x, 0, correction=0),
    "variance and mean": lambda x: torch.var_mean(x, 1),
    "standardized": lambda x: (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True),
}


@pytest.fixture(autouse=True)
def trigger():
    """What is computed does not depend on who asks for it."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("scale", [1e30, 1e19, 1.0, 1e-23, 1e-30])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name, scale, dtype):
    x = ((1 + 0.1 * torch.randn(9, 130)) * scale).to(dtype)
    fn = PROGRAMS[name]
    found, wanted = lect.compile(fn)(x), fn(x)
    for a, b in zip(*[value if isinstance(value, tuple) else (value,) for value in (found, wanted)], strict=True):
        assert b.isfinite().all() or "variance" in name or "both" in name
        torch.testing.assert_close(a, b, rtol=1e-2 if dtype is torch.bfloat16 else 2e-5, atol=2e-5 if name == "standardized" else 0)
    lect.reset()


def test_gradient_of_a_deviation_of_large_numbers():
    x = (torch.randn(4, 50) * 1e25).requires_grad_()
    (wanted,) = torch.autograd.grad(x.std(1).sum(), x)
    (found,) = torch.autograd.grad(lect.compile(lambda x: x.std(1).sum())(x), x)
    assert wanted.isfinite().all()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-7)
