"""Fractional pools by own kernels, for given random numbers: values and places are eager's."""

import pytest
import torch
import torch.nn.functional as F

from tests.unit.loop.test_compositions import run

NAN = float("nan")


def numbers(*shape, dtype, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("shape", "kernel", "size"), [((2, 3, 9, 11), (3, 2), (4, 5)), ((3, 9, 9), (4, 4), (2, 1)), ((1, 2, 7, 8, 9), (2, 3, 2), (3, 2, 4))], ids=str)
def test_windows_begin_where_eager_lets_them_begin(shape, kernel, size, dtype):
    x, spatial = numbers(*shape, dtype=dtype), len(kernel)
    x.view(-1)[5:40:7] = NAN
    x.view(-1)[44:50] = float("-inf")
    pool = F.fractional_max_pool2d if spatial == 2 else F.fractional_max_pool3d
    for seed in range(4):
        lead = shape[:-spatial] if len(shape) == spatial + 2 else (1, *shape[:-spatial])
        samples = torch.rand((*lead, spatial), generator=torch.Generator().manual_seed(seed)).to(dtype)
        found, called = run(lambda x, s: pool(x, kernel, output_size=size, return_indices=True, _random_samples=s), x, samples)
        assert not called
        for want, got in zip(pool(x, kernel, output_size=size, return_indices=True, _random_samples=samples), found):
            torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
