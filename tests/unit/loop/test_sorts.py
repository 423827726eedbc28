"""Short rows are sorted by own kernels: values, ties, NaN, signs of zeros and places are eager's stable ones."""

import pytest
import torch

from tests.unit.loop.test_compositions import run

SHAPES = (((7,), 0), ((3, 16), 1), ((5, 6, 7), 1), ((2, 64), -1), ((8, 9, 5), 0), ((0, 3), 1), ((), 0), ((4, 1), 1))
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool)


def numbers(shape, dtype, seed=0):
    x = (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)
    if dtype.is_floating_point and x.numel() > 6:
        x.view(-1)[::4] = float("nan")
        x.view(-1)[1:6] = torch.tensor([-0.0, 0.0, float("inf"), float("nan"), -0.0]).to(dtype)
    return x


def same_bits(want, got):
    assert (want.dtype, want.shape, want.stride()) == (got.dtype, got.shape, got.stride())
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    if want.dtype.is_floating_point:
        zeros = want == 0
        assert torch.equal(torch.signbit(want[zeros]), torch.signbit(got[zeros]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_stable_sorts(dtype, descending):
    for shape, dim in SHAPES:
        x = numbers(shape, dtype)
        found, called = run(lambda x: torch.sort(x, dim=dim, descending=descending, stable=True), x)
        assert not called
        for want, got in zip(torch.sort(x, dim=dim, descending=descending, stable=True), found):
            same_bits(want, got)


def test_eagers_other_sort_is_stable_in_short_rows_and_the_librarys_in_others():
    x = torch.randint(0, 4, (5, 16))
    found, called = run(torch.sort, x)
    assert not called
    for want, got in zip(torch.sort(x), found):
        same_bits(want, got)
    x = torch.randint(0, 4, (5, 17))
    found, called = run(lambda x: torch.sort(x), x)  # noqa: PLW0108
    assert called
    for want, got in zip(torch.sort(x), found):
        same_bits(want, got)
    found, called = run(lambda x: torch.sort(x).values, x)
    assert not called
    same_bits(torch.sort(x).values, found)


def test_a_transposed_operand():
    x = numbers((6, 9, 4), torch.float32).transpose(0, 2)
    found, called = run(lambda x: torch.sort(x, dim=1, stable=True), x)
    assert not called
    for want, got in zip(torch.sort(x, dim=1, stable=True), found):
        same_bits(want, got)


@pytest.mark.parametrize("function", [torch.median, torch.nanmedian])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_medians(function, dtype):
    x = torch.randint(0, 4, (5, 11, 3)).to(dtype)
    if dtype.is_floating_point:
        x[x == 3] = float("nan")
        x[0, :, 0] = float("nan")
        x[1] = x[1].nan_to_num(1.0)
    for dim in (0, 1, -1):
        found, called = run(lambda x: function(x, dim, keepdim=dim == 1), x)
        assert not called
        for want, got in zip(function(x, dim, keepdim=dim == 1), found):
            same_bits(want, got)
    found, called = run(lambda x: function(x[:2, :, 0]), x)
    assert not called
    same_bits(function(x[:2, :, 0]), found)


@pytest.mark.skipif(torch.__version__ < "2.12", reason="torch reads the quantile while it is traced")
def test_quantiles_of_short_rows():
    x = torch.randn(5, 12)
    for function in (torch.quantile, torch.nanquantile):
        found, called = run(lambda x: function(x, 0.3, dim=1), x)
        assert not called
        torch.testing.assert_close(found, function(x, 0.3, dim=1))
    torch.testing.assert_close(run(lambda x: torch.quantile(x, 0.25, dim=0, interpolation="midpoint"), x)[0], torch.quantile(x, 0.25, 0, interpolation="midpoint"))
