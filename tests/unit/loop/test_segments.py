"""Reductions of runs of rows by own kernels, and their gradients: values are eager's, of halves to the bit."""

import pytest
import torch

import lect
from tests.unit.loop.test_compositions import run

NAN = float("nan")
REDUCTIONS = ("sum", "mean", "max", "min", "prod")


def numbers(*shape, dtype=torch.float32, seed=0):
    return 1 + torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype) / 2


def same_bits(want, got):
    assert (want.dtype, want.shape, want.stride()) == (got.dtype, got.shape, got.stride())
    torch.testing.assert_close(got, want, rtol=0 if want.dtype is torch.bfloat16 else 1e-6, atol=0 if want.dtype is torch.bfloat16 else 1e-6, equal_nan=True)


@pytest.mark.parametrize("initial", [None, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_runs_by_their_lengths(reduction, dtype, initial):
    cases = [
        (numbers(9, 4, dtype=dtype), torch.tensor([2, 0, 4, 3]), 0),
        (numbers(2, 5, 3, dtype=dtype), torch.tensor([[1, 4, 0], [0, 2, 3]]), 1),
        (numbers(6, dtype=dtype).index_fill(0, torch.tensor([1]), NAN), torch.tensor([3, 3]), 0),
    ]
    for x, lengths, axis in cases:
        found, called = run(lambda x, n: torch.segment_reduce(x, reduction, lengths=n, axis=axis, initial=initial), x, lengths)
        assert not called
        same_bits(torch.segment_reduce(x, reduction, lengths=lengths, axis=axis, initial=initial), found)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_rows_in_no_run(reduction):
    x, offsets, lengths = numbers(9, 2), torch.tensor([1, 3, 3, 8]), torch.tensor([2, 0, 4])
    for given in ({"offsets": offsets}, {"lengths": lengths, "unsafe": True}):
        found, called = run(lambda x, given: torch.segment_reduce(x, reduction, axis=0, **given), x, given)
        assert not called
        same_bits(torch.segment_reduce(x, reduction, axis=0, **given), found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients(reduction, dtype):
    x, lengths = numbers(12, 3, dtype=dtype), torch.tensor([3, 0, 5, 1, 3])
    x[1, 0] = x[0, 0] = 9  # two greatest
    x[4:6, 1] = x[2, 2] = 0
    x[9, 0] = x[10, 0] = NAN

    def step(reduce):
        leaf = x.clone().requires_grad_()
        y = reduce(leaf, lengths)
        y.backward(torch.linspace(-1.5, 1.5, y.numel()).reshape(y.shape).to(dtype))
        return leaf.grad

    def reduce(x, lengths):
        return torch.segment_reduce(x, reduction, lengths=lengths, axis=0, initial=2)

    same_bits(step(reduce), step(lect.compile(reduce)))


@pytest.mark.parametrize("lengths", [[2, 3], [7, -2], [9, 0]], ids=str)
def test_lengths_that_do_not_fit_raise_as_in_eager(lengths):
    x, n = numbers(5), torch.tensor(lengths)
    with pytest.raises(RuntimeError) as wanted:
        torch.segment_reduce(x[:4], "sum", lengths=n, axis=0)
    with pytest.raises(RuntimeError) as found:
        lect.compile(lambda x, n: torch.segment_reduce(x[:4], "sum", lengths=n, axis=0))(x, n)
    assert str(found.value) == str(wanted.value)
