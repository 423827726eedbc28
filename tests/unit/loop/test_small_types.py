"""Operators of integers and flags, and ranges of integers, that are own kernels too: values, dtypes and strides are eager's."""

from __future__ import annotations

import pytest
import torch

from tests.unit.loop.test_compositions import run

F = torch.nn.functional
INF, NAN = float("inf"), float("nan")


def same(want, got):
    assert (want.dtype, want.shape, want.stride()) == (got.dtype, got.shape, got.stride())
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    if want.dtype.is_floating_point:
        assert torch.equal(torch.signbit(want[want == 0]), torch.signbit(got[want == 0]))


def flags(*shape):
    return torch.rand(shape) > 0.5


def check(function, *tensors):
    found, called = run(function, *tensors)
    assert not called
    wanted = function(*tensors)
    for want, got in zip([wanted] if isinstance(wanted, torch.Tensor) else wanted, [found] if isinstance(found, torch.Tensor) else found):
        same(want, got)


@pytest.mark.parametrize("function", [torch.isposinf, torch.isneginf])
def test_signed_infinities(function):
    for x in (torch.arange(6).reshape(2, 3).t(), flags(4), torch.tensor([INF, -INF, NAN, -0.0]), torch.tensor(3, dtype=torch.uint8), torch.empty(0, 2, dtype=torch.int32)):
        check(function, x)


@pytest.mark.parametrize("bounds", [(-0.5, 0.5), (0.0, 0.0), (-2.9, 2.9), (-3, 4), (1, 4.9)])
def test_hardtanh_of_integers(bounds):
    for dtype in (torch.int64, torch.int8, torch.int32):
        check(lambda x: F.hardtanh(x, *bounds), torch.arange(-6, 6, dtype=dtype).reshape(3, 4).t())
    x = torch.arange(6, dtype=torch.uint8)
    if min(bounds) >= 0:
        check(lambda x: F.hardtanh(x, *bounds), x)


def test_clamps_of_flags():
    x, low, high = flags(5, 1), flags(4), flags(5, 4)
    check(lambda x, low: torch.clamp_min(x, low), x, low)
    check(lambda x, high: torch.clamp_max(x, high), x, high)
    check(lambda x, low: torch.clamp(x, min=low), x, low)
    with pytest.raises(NotImplementedError, match="Bool"):
        run(lambda x, low, high: torch.clamp(x, low, high), x, low, high)


@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0, 1), (3, 0), (0, 0), (2, 5)])
def test_outer_products_of_flags(beta, alpha):
    for added in (flags(5, 7), flags(7), flags()):
        check(lambda a, x, y: torch.addr(a, x, y, beta=beta, alpha=alpha), added, flags(5), flags(7))


def test_dropout_backward_of_integers_and_flags():
    mask = flags(4, 5)
    for gradient in (torch.arange(-10, 10).reshape(4, 5), flags(4, 5), torch.randn(4, 5), torch.randn(4, 5).bfloat16()):
        for scale in (0.0, 1.25, 2.0):
            check(lambda g, m: torch.ops.aten.native_dropout_backward(g, m, scale), gradient, mask)


def test_ranges_of_integer_powers():
    for base, (start, end), steps in ((2, (0, 9), 10), (10, (0, 18), 19), (1.5, (-2, 3), 7), (-2, (2, 1.2), 2), (3, (2, 5), 1), (2, (1, 3), 0)):
        check(lambda: torch.logspace(start, end, steps, base=base, dtype=torch.int64))
    check(lambda a, b: torch.logspace(a, b, 5, dtype=torch.int32), torch.tensor(1), torch.tensor(4.7))
    check(lambda a, b: torch.logspace(a, b, 1, dtype=torch.int64), torch.tensor(1.3), torch.tensor(4))


def test_ranges_of_one_number():
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        check(lambda: torch.arange(0.1, 1.1, dtype=dtype))


@pytest.mark.parametrize("function", [torch.tril_indices, torch.triu_indices])
def test_triangles(function):
    for rows, columns, offset in ((20, 21, 7), (20, 21, -7), (5, 1, -2), (1, 6, 2), (4, 4, 9), (4, 4, -9), (0, 3, 0)):
        check(lambda: function(rows, columns, offset))
    check(lambda: function(6, 4, 1, dtype=torch.int32))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_rrelu_outside_of_training(dtype):
    x = torch.randn(6, 5).to(dtype)
    x[0] = torch.tensor([INF, -INF, NAN, -0.0, 0.0]).to(dtype)
    check(lambda x: F.rrelu(x, 0.1, 0.4), x)
    check(lambda x: F.rrelu(x.t()), x)
    gradients = []
    for function in (lambda x: F.rrelu(x, 0.1, 0.4), lambda x: run(lambda x: F.rrelu(x, 0.1, 0.4), x)[0]):
        leaf = x.clone().requires_grad_()
        gradients.append(torch.autograd.grad(function(leaf), leaf, x.nan_to_num(1.0) + 1)[0])
    same(*gradients)


def test_rrelu_of_one_slope_in_training():
    x = torch.randn(20, requires_grad=True)
    found = run(lambda x: F.rrelu(x, 0.25, 0.25, True), x)[0]
    want = F.rrelu(x, 0.25, 0.25, True)
    same(want.detach(), found.detach())
    for output in (want, found):
        same(torch.autograd.grad(output.sum(), x)[0], torch.where(x > 0, 1.0, 0.25).detach())


def test_ranges_of_floats_are_rounded_once():
    for dtype in (torch.float32, torch.float64, torch.int64):
        for start, end, steps in ((0.1, 1.3, 101), (-2.7, 9.1, 1000), (3.3, -0.2, 7), (0.0, 1.0, 2)):
            check(lambda: torch.linspace(start, end, steps, dtype=dtype))
            if steps == 101:
                check(lambda a, b: torch.linspace(a, b, steps, dtype=dtype), torch.tensor(start), torch.tensor(end))


def test_a_stated_number_of_places_that_are_not_zero():
    x = torch.tensor([[[0.0, 1.5], [-0.0, NAN]], [[INF, 0.0], [2.0, 0.0]]])
    for tensor in (x, x.transpose(0, 2), x != 0, torch.arange(-2, 3), torch.zeros(3), torch.empty(2, 0), torch.tensor(1.0)):
        for size in (0, 3, 20):
            check(lambda x: torch.nonzero_static(x, size=size, fill_value=-7), tensor)
