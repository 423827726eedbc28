"""`Module.to` inside of a compiled frame: nothing to do is nothing done, and what moves runs eagerly."""

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import same, stops, versions


class Moves(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        self.recurrent = nn.LSTM(3, 3)
        self.wanted = torch.float32
        self.moved = "inner"

    def forward(self, x):
        self.inner = self.inner.to(self.wanted)
        getattr(self, self.moved).to("cpu")
        return self.inner(x.to(self.wanted))


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def test_module_that_is_there_already():
    model = Moves().eval()
    compiled = lect.compile(model, options={"level": "fx"})
    inner, weight = model.inner, model.inner[0].weight
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(2, 3)
            same(model(x), compiled(x))
    assert model.inner is inner and inner[0].weight is weight
    assert (stops(), versions()) == ([], 1)


def test_module_that_is_converted():
    model, other = Moves().eval(), Moves().eval()
    compiled = lect.compile(model, options={"level": "fx"})
    x = torch.randn(2, 3)
    with torch.no_grad():
        compiled(x)
        model.wanted = other.wanted = torch.float64
        same(other(x), compiled(x))
    assert model.inner[0].weight.dtype == torch.float64
    assert stops() == ["LB0004"]


def test_module_that_moves_in_its_own_way():
    model = Moves().eval()
    model.moved = "recurrent"
    x = torch.randn(2, 3)
    with torch.no_grad():
        same(model(x), lect.compile(model, options={"level": "fx"})(x))
    assert stops() == ["LB0004"]
