"""Batch normalisation in evaluation, put into the filters with fused numerics: near to eager, also when parameters change between calls."""

import pytest
import torch
from torch import nn

import lect
from tests.unit.passes.graphs import functional_graph, operations

FUSED = {"numerics": "fused"}


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def block(convolution=nn.Conv2d, norm=nn.BatchNorm2d, **options):
    options = {"kernel_size": 3, "padding": 1, **options}
    affine = options.pop("affine", True)
    torch.manual_seed(0)
    model = nn.Sequential(convolution(4, 8, **options), norm(8, affine=affine), convolution(8, 4, 1), norm(4)).eval()
    for part in model:
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
            if part.affine:
                nn.init.normal_(part.weight)
                nn.init.normal_(part.bias)
    return model


@pytest.mark.parametrize(
    "options",
    [{}, {"bias": False}, {"affine": False}, {"groups": 4}, {"stride": 2, "kernel_size": (3, 1)}, {"convolution": nn.Conv1d, "norm": nn.BatchNorm1d}],
    ids=str,
)
def test_values(options):
    model = block(**options)
    x = torch.randn(2, 4, 32) if options.get("convolution") else torch.randn(2, 4, 32, 32)
    compiled = lect.compile(model, options=FUSED)
    assert not operations(functional_graph(model, x, options=FUSED))["batch_norm"]
    with torch.no_grad():
        for _ in range(2):
            want, got = model(x), compiled(x)
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
            assert got.stride() == want.stride()
            model[1].running_mean.add_(1)
            model[0].weight.mul_(0.5)
    assert not lect.events("note", "fallback")


def test_channels_last():
    model, x = block(), torch.randn(2, 4, 16, 16).to(memory_format=torch.channels_last)
    with torch.no_grad():
        want, got = model(x), lect.compile(model, options=FUSED)(x)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    assert got.stride() == want.stride()


def test_eager_numerics_and_training_keep_it():
    model, x = block(), torch.randn(2, 4, 32, 32)
    assert operations(functional_graph(model, x))["batch_norm"] == 2
    assert operations(functional_graph(model.train(), x, options=FUSED))["batch_norm"] == 2


def test_a_kernel_behind_it_takes_it_in():
    model = nn.Sequential(*block()[:2], nn.ReLU())
    assert operations(functional_graph(model.eval(), torch.randn(2, 4, 32, 32), options=FUSED))["batch_norm"] == 1
