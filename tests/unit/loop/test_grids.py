"""grid_sample and its gradients are own kernels on the CPU: places, borders and what is no number are eager's, halves are rounded where eager rounds them."""

from __future__ import annotations

import pytest
import torch

from tests.unit.loop.test_compositions import run

F = torch.nn.functional
INF, NAN = float("inf"), float("nan")
MODES = [
    ("bilinear", "zeros", False),
    ("nearest", "border", True),
    pytest.param("bicubic", "reflection", True, marks=pytest.mark.slow),
    pytest.param("bicubic", "reflection", False, marks=pytest.mark.slow),
    ("bilinear", "reflection", True),
    ("bilinear", "reflection", False),
]


def sampled(mode, padding, align):
    return lambda x, grid: F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)


def inputs(spatial, dtype=torch.float32, special=False):
    generator = torch.Generator().manual_seed(spatial)
    x = torch.randn((2, 3, 4, 5, 6)[: spatial + 2], generator=generator).to(dtype)
    grid = (torch.rand((2, *(3, 2, 5)[:spatial], spatial), generator=generator) * 3 - 1.5).to(dtype)
    if special:
        grid.view(-1)[:12] = torch.tensor([NAN, 0.1, INF, 0.1, -INF, 0.1, 1.0, -1.0, 1e20, 0.2, -0.0, 0.0]).to(dtype)
    return x, grid


def close(want, got):
    assert (want.dtype, want.shape, want.stride()) == (got.dtype, got.shape, got.stride())
    exact = want.dtype is torch.bfloat16
    torch.testing.assert_close(got, want, equal_nan=True, **({"rtol": 0, "atol": 0} if exact else {"rtol": 1e-5, "atol": 2e-6}))


@pytest.mark.parametrize(("mode", "padding", "align"), MODES)
def test_two_dims(mode, padding, align):
    x, grid = inputs(2, special=True)
    found, called = run(sampled(mode, padding, align), x, grid)
    assert not called
    close(sampled(mode, padding, align)(x, grid), found)


@pytest.mark.parametrize(("mode", "padding"), [("bilinear", "border"), ("nearest", "reflection"), ("bilinear", "zeros")])
def test_three_dims(mode, padding):
    x, grid = inputs(3, special=True)
    found, called = run(sampled(mode, padding, mode == "nearest"), x, grid)
    assert not called
    close(sampled(mode, padding, mode == "nearest")(x, grid), found)


@pytest.mark.parametrize(("spatial", "mode", "padding", "dtype"), [
    (2, "bilinear", "border", torch.float32),
    pytest.param(2, "bicubic", "zeros", torch.float64, marks=pytest.mark.slow),
    (2, "nearest", "zeros", torch.float32),
    pytest.param(3, "bilinear", "reflection", torch.float32, marks=pytest.mark.slow),
    (2, "bilinear", "zeros", torch.bfloat16),
    pytest.param(3, "bilinear", "zeros", torch.bfloat16, marks=pytest.mark.slow),
    pytest.param(2, "bicubic", "border", torch.bfloat16, marks=pytest.mark.slow),
])  # fmt: skip
def test_gradients(spatial, mode, padding, dtype):
    x, grid = inputs(spatial, dtype)
    results = []
    for function in (sampled(mode, padding, False), lambda x, grid: run(sampled(mode, padding, False), x, grid)[0]):
        leaves = x.clone().requires_grad_(), grid.clone().requires_grad_()
        output = function(*leaves)
        weights = torch.linspace(-1, 1, output.numel()).reshape(output.shape).to(dtype)
        results.append(torch.autograd.grad(output, leaves, weights))
    for want, got in zip(*results):
        close(want, got)


def test_places_between_two_elements_are_rounded_as_eager_rounds_them():
    """Grids that name the middle between two elements up to a rounding."""
    middle = (torch.arange(1, 7) / 3.5 - 1).repeat_interleave(5)
    near = (middle.view(torch.int32) + torch.arange(5, dtype=torch.int32).repeat(6) - 2).view(torch.float32)
    grid = torch.stack([near, torch.zeros_like(near)], -1).reshape(1, 1, -1, 2)
    x = torch.arange(7.0).reshape(1, 1, 1, 7)
    found, _ = run(sampled("nearest", "zeros", False), x, grid)
    assert torch.equal(found, sampled("nearest", "zeros", False)(x, grid))


def test_an_image_of_one_element_and_none_at_all():
    for shape in ((1, 2, 1, 1), (0, 2, 3, 3)):
        x, grid = torch.randn(shape), torch.rand(shape[0], 4, 5, 2) * 3 - 1.5
        for align in (False, True):
            close(sampled("bilinear", "reflection", align)(x, grid), run(sampled("bilinear", "reflection", align), x, grid)[0])
