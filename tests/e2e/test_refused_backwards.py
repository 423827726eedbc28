"""What torch refuses to differentiate is no failure of lect: the graph runs through torch, which raises; and gradients at NaN."""

import pytest
import torch
from torch.nn import functional as F

import lect


def without_formula(x):
    return torch.heaviside(x, torch.zeros(())) * x


def written_over(x):
    y = x.exp()
    y.add_(1)
    return y


@pytest.mark.parametrize("fn", [without_formula, written_over])
def test_refusal_of_torch(fn):
    x = torch.randn(3)

    def told(run):
        given = x.clone().requires_grad_()
        with pytest.raises(RuntimeError) as raised:
            run(given).sum().backward()
        return type(raised.value), str(raised.value).partition(",")[0]

    assert told(lect.compile(fn)) == told(fn)
    assert {event.number for event in lect.events("note", "fallback")} == {"LB0024"}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("fn", [F.hardtanh, F.relu6, lambda x: F.hardtanh(x, -0.5, 2.0)], ids=["hardtanh", "relu6", "bounds"])
def test_gradient_at_nan_and_at_the_bounds(fn, dtype):
    """Of as many elements as eager's vectors have, which give 0 at NaN; what is left over behind them has 1 there."""
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), -1.0, 1.0, 0.0, -0.0, 6.0, 2.0, -0.5, 0.25, -7.0, 5.0, 1e-30, 3.0, -2.0], dtype=dtype).repeat(16)
    found, wanted = [torch.autograd.grad(run(given).sum(), given)[0] for run in (lect.compile(fn), fn) for given in [x.clone().requires_grad_()]]
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
