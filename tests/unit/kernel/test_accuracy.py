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
