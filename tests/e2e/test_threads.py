"""Reductions that are cut into parts for two threads give what eager gives."""

import pytest
import torch
from torch.nn import functional as F

import lect

CASES = {
    "sum": lambda x: x.sum(),
    "mean and deviation": lambda x: torch.std_mean(x),
    "positions": lambda x: (x.argmax(), x.flatten().argmin()),
    "extremes": lambda x: (x.amax(), x.amin(), (x > 3).any(), (x > -9).all()),
    "norm": lambda x: torch.linalg.vector_norm(x, 3),
    "long rows": lambda x: torch.softmax(x.reshape(2, -1), 1),
    "few columns": lambda x: x.reshape(-1, 16).sum(0),
    "loss": lambda x: F.mse_loss(x, x * 0.5),
    "row sums beside the whole": lambda x: (F.layer_norm(x, (x.shape[1],)) * 0.5).square().sum(),
}


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    lect.reset()
    yield
    torch.set_num_threads(before)
    lect.reset()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("special", [False, True], ids=["numbers", "NaN and infinities"])
@pytest.mark.parametrize("rows", [512, 509], ids=["parts", "no divisor"])
def test_values(name, special, rows, two_threads):
    x = torch.randn(rows, 512) + 1  # no sum is near zero
    if special:
        x[3, 5], x[400, 1], x[100, 3] = float("inf"), float("nan"), -0.0
    fn = CASES[name]

    def given(x):
        return fn(x)

    found, exact = lect.compile(given)(x), fn(x.double())  # a long sum of eager's is not exact enough to compare with
    for a, b in zip(*[value if isinstance(value, tuple) else (value,) for value in (found, exact)], strict=True):
        largest = float(b.double().abs().nan_to_num(0.0, 0.0, 0.0).max())
        torch.testing.assert_close(a, b.to(a.dtype), rtol=3e-6, atol=3e-6 * largest, equal_nan=True)


def test_positions_of_equals_are_the_first(two_threads):
    x = torch.zeros(512, 512)
    x[300, 7] = x[300, 9] = x[511, 0] = 1.0

    def positions(x):
        return x.argmax(), x.argmin()

    assert [int(k) for k in lect.compile(positions)(x)] == [int(k) for k in positions(x)]
