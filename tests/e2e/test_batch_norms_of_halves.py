"""Batch normalisation of 16-bit floats: statistics and results are rounded where eager rounds them."""

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.unit.loop.test_compositions import run

aten = torch.ops.aten
HALVES = (torch.bfloat16, torch.float16)


def floats(*shape, seed=0, dtype=torch.bfloat16):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def parameters(channels, dtype):
    weight, bias, mean, var = (floats(channels, seed=seed, dtype=dtype) for seed in range(1, 5))
    return weight, bias, mean, var.abs()


def close(want, got):
    """Equal but for one rounding of a sum, whose order eager leaves to the processor."""
    for a, b in zip(want, got):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        precise = a.dtype is torch.float32
        torch.testing.assert_close(b, a, rtol=1e-5 if precise else 2.0**-7, atol=1e-5 if precise else 2.0**-6, equal_nan=True)


@pytest.mark.parametrize("dtype", [*HALVES, torch.float32], ids=str)
@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(8, 5, 33), (64, 7), (4, 6, 9, 9)], ids=str)
def test_statistics_of_a_batch(shape, element, dtype):
    if dtype not in (element, torch.float32):
        pytest.skip("eager has no such mixture")
    x, given = floats(*shape, dtype=element) * 3 + 1, parameters(shape[1], dtype)
    found, called = run(lambda x, *rest: aten._native_batch_norm_legit_functional(x, *rest, True, 0.3, 1e-3), x, *given)
    assert not called
    close(aten._native_batch_norm_legit_functional(x, *given, True, 0.3, 1e-3), found)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_gradients(dtype, training):
    x, (weight, bias, mean, var) = floats(6, 5, 9), parameters(5, dtype)

    def step(x, weight, bias, mean, var):
        x, weight, bias = (each.detach().requires_grad_() for each in (x, weight, bias))
        y = F.batch_norm(x, mean.clone(), var.clone(), weight, bias, training)
        y.backward(torch.linspace(0.5, 1.5, y.numel()).reshape(y.shape).bfloat16())
        return y.detach(), x.grad, weight.grad, bias.grad

    close(step(x, weight, bias, mean, var), lect.compile(step)(x, weight, bias, mean, var))


def test_without_running_statistics():
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        x = floats(6, 5, 9, dtype=dtype)
        found, called = run(lambda x: F.batch_norm(x, None, None, training=True), x)
        assert not called
        close([F.batch_norm(x, None, None, training=True)], [found])
        close([F.instance_norm(x)], [lect.compile(lambda x: F.instance_norm(x))(x)])


def test_running_statistics_are_moved():
    def step(x, mean, var):
        found = aten._batch_norm_with_update(x, None, None, mean, var, 0.2, 1e-5)
        return found[:3]

    for dtype in (torch.bfloat16, torch.float32):
        x, (_, _, mean, var) = floats(6, 5, 9, dtype=dtype), parameters(5, dtype)
        moved = mean.clone(), var.clone()
        want, got = step(x, mean, var), lect.compile(step)(x, *moved)
        close([*want, mean, var], [*got, *moved])


def test_group_norm_of_no_batch_and_without_a_weight():
    def step(x, weight):
        x = x.detach().requires_grad_()
        y = F.group_norm(x, 2, weight)
        y.backward(torch.ones_like(y) + y.detach())
        return x.grad

    for x, weight in ((floats(0, 4), floats(4)), (floats(3, 4, 5), None)):
        close([step(x, weight)], [lect.compile(step)(x, weight)])
