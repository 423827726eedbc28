"""Products of one matrix that are computed at once."""

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.unit.passes.graphs import functional_graph, operations


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def gated(x, gate, up):
    return F.silu(F.linear(x, gate)) * F.linear(x, up)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_values(dtype):
    args = torch.randn(4, 128, 8).to(dtype), torch.randn(6, 8).to(dtype), torch.randn(6, 8).to(dtype)
    assert operations(functional_graph(gated, *args))["mm"] == 1
    compiled = lect.compile(gated)
    with torch.no_grad():
        for _ in range(2):
            got, want = compiled(*args), gated(*args)
            assert got.stride() == want.stride()
            torch.testing.assert_close(got, want)
            args[1].mul_(-0.5)
    assert not lect.events("note", "fallback")


def test_few_rows_stay_apart():
    args = torch.randn(2, 8, 8), torch.randn(6, 8), torch.randn(6, 8)
    assert operations(functional_graph(gated, *args))["mm"] == 2
