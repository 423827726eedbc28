"""Long sums are as close to the exact sum as eager's."""

import pytest
import torch

from tests.unit.kernel.nests import run_native, sample
from tests.unit.kernel.test_reductions import reduction


@pytest.mark.parametrize(("sizes", "over"), [([16, 100003], 1), ([100003, 16], 0), ([4, 30001, 16], 1), ([1500000], 0)])
@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["of both signs", "of one sign"])
def test_sum(sizes, over, shift):
    x = sample(sizes, "f32", 7) + shift
    exact = x.double().sum(over)
    ours = (run_native(reduction(sizes, [over], "sum"), [x])[0].double() - exact).square().mean().sqrt()
    eager = (x.sum(over).double() - exact).square().mean().sqrt()
    one_after_the_other = torch.finfo(torch.float32).eps * exact.abs().max() * x.shape[over] ** 0.5
    assert ours <= 4 * eager + 1e-7 * exact.abs().max()
    assert shift == 0.0 or ours < one_after_the_other / 10


@pytest.mark.parametrize("sizes", [[3000, 5, 32], [16, 5, 3136], [3000, 3, 2500]], ids=["many short", "few long", "many long"])
def test_sum_over_rows_in_rows(sizes):
    x = sample(sizes, "f32", 7) + 1.0
    exact = x.double().sum((0, 2))
    ours = (run_native(reduction(sizes, [0, 2], "sum"), [x])[0].double() - exact).square().mean().sqrt()
    eager = (x.sum((0, 2)).double() - exact).square().mean().sqrt()
    assert ours <= 4 * eager + 1e-7 * exact.abs().max()
