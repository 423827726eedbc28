"""Sums that are joined with products: as near to the exact value as eager is, with its layouts."""

import pytest
import torch

import lect
from tests.unit.passes.graphs import functional_graph, operations

FUSED = {"numerics": "fused"}
LIMIT = {torch.float32: 2e-6, torch.float64: 1e-14, torch.bfloat16: 2e-2, torch.float16: 3e-3}


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def bias(x, y, b):
    return x @ y + b, b + x @ y, (x @ y).sub(b)


def scaled(x, y, b):
    return 0.5 * (x @ y) + b, torch.add(b, x @ y, alpha=-2), torch.sub(x @ y, b, alpha=3)


def batched(x, y, b):
    return x.expand(3, -1, -1) @ y.expand(3, -1, -1) + b, (x.expand(3, -1, -1) @ y) + b


def residual(x, y, b):
    return x @ y + (x @ y.roll(1, 0)), x.t().contiguous().t() @ y - b


@pytest.mark.parametrize("dtype", LIMIT, ids=str)
@pytest.mark.parametrize("program", [bias, scaled, batched, residual])
def test_values(program, dtype):
    options = FUSED if dtype.itemsize == 2 else {}
    x, y, b = torch.randn(6, 8).to(dtype), torch.randn(8, 5).to(dtype), torch.randn(5).to(dtype)
    graph = operations(functional_graph(program, x, y, b, options=options))
    assert graph["addmm"] + graph["baddbmm"] >= 1, graph
    with torch.no_grad():
        got, eager = lect.compile(program, options=options)(x, y, b), program(x, y, b)
        exact = program(x.double(), y.double(), b.double())
    for one, other, true in zip(got, eager, exact):
        assert (one.dtype, one.stride()) == (other.dtype, other.stride())
        limit = LIMIT[dtype] * max(1.0, true.abs().max().item())
        assert (one.double() - true).abs().max() <= limit
    assert not lect.events("note", "fallback")


def test_halves_are_rounded_as_eager_rounds_them():
    args = [torch.randn(6, 8).bfloat16(), torch.randn(8, 5).bfloat16(), torch.randn(5).bfloat16()]
    assert not operations(functional_graph(bias, *args))["addmm"]


def test_what_is_not_finite_and_what_is_empty():
    for rows, inner in ((3, 4), (0, 4), (3, 0)):
        x, y, b = torch.randn(rows, inner), torch.randn(inner, 2), torch.tensor([float("nan"), float("inf") if inner else -0.0])
        if x.numel():
            x[0, 0] = float("-inf")
        with torch.no_grad():
            for got, want in zip(lect.compile(bias)(x, y, b), bias(x, y, b)):
                torch.testing.assert_close(got, want, equal_nan=True)
                assert torch.equal(got.signbit(), want.signbit()) or inner
