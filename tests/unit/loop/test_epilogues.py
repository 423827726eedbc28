"""What is added to a product of the library, by the nests behind it or by the call: the values of eager, in every form of the addend."""

import pytest
import torch
from torch.nn import functional as F

import lect
from lect.passes.loop import loop_fuse_epilogue
from lect.passes.loop.loop_choose_kernel import LoopChooseKernel


@pytest.fixture(autouse=True)
def moved(monkeypatch):
    """Products stay with the library; gives the sums that were moved."""
    found = []
    for name in ("defer", "absorb"):
        done = getattr(loop_fuse_epilogue, name)

        def noted(*args, name=name, done=done):
            result = done(*args)
            found.extend([name] if result else [])
            return result

        monkeypatch.setattr(loop_fuse_epilogue, name, noted)
    monkeypatch.setattr(LoopChooseKernel, "run", lambda self, op, ctx: None)
    lect.reset()
    yield found
    lect.reset()


def same(fn, *tensors):
    found, wanted = lect.compile(fn)(*tensors), fn(*tensors)
    assert not [event for event in lect.events() if event.kind in ("fallback", "note", "break")]
    torch.testing.assert_close(found, wanted, rtol=2e-6, atol=2e-6, equal_nan=True)
    assert found.stride() == wanted.stride()


def special(*shape):
    values = torch.randn(shape)
    values.view(-1)[:3] = torch.tensor([float("nan"), float("inf"), -0.0])[: values.numel()]
    return values


@pytest.mark.parametrize("addend", [(24,), (10, 24), (10, 1), (1, 24), ()])
def test_nests_add(addend, moved):
    same(lambda b, x, w: torch.tanh(torch.addmm(b, x, w)), special(*addend), torch.randn(10, 6), torch.randn(6, 24))
    assert moved == ["defer"]


@pytest.mark.parametrize("addend", [(24,), (3, 5, 24), (3, 1, 24), (1, 5, 1)])
def test_nests_add_to_batches(addend, moved):
    same(lambda b, x, w: torch.baddbmm(b, x, w).relu(), special(*addend), torch.randn(3, 5, 6), torch.randn(3, 6, 24))
    assert moved == ["defer"]


def test_layers_of_a_linear_net(moved):
    layers = torch.nn.Sequential(torch.nn.Linear(20, 36), torch.nn.GELU(), torch.nn.Linear(36, 20), torch.nn.LayerNorm(20)).eval()
    with torch.no_grad():
        same(lambda x: layers(x) + x, torch.randn(2, 7, 20))
    assert moved == ["defer", "defer"]


def test_two_nests_add(moved):
    def fn(b, x, w):
        product = torch.addmm(b, x, w)
        return torch.cat([product.amax(1), torch.cumsum(product.t().exp(), 0).view(-1)])

    same(fn, torch.randn(9), torch.randn(4, 3), torch.randn(3, 9))


@pytest.mark.parametrize("rows", [(2, 4, 12), (12,), (1, 4, 12)])
def test_calls_add(rows, moved):
    def fn(r, x, w):
        return torch.sort((x @ w).view(2, 4, 12) + r, -1)[0]

    same(fn, torch.randn(rows), torch.randn(8, 5), torch.randn(5, 12))
    assert moved == ([] if rows == (1, 4, 12) else ["absorb"])  # rows that repeat have no strides


def test_sums_of_halves_round_twice(moved):
    x, w, b = [torch.randn(*shape).bfloat16() for shape in ((10, 6), (6, 24), (24,))]
    found, wanted = [fn(b, x, w) for fn in (lect.compile(lambda b, x, w: F.relu(torch.addmm(b, x, w))), lambda b, x, w: F.relu(torch.addmm(b, x, w)))]
    assert torch.equal(found, wanted)
    assert not moved
