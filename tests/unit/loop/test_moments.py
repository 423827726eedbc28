"""Variances in one sweep are as close to those of f64 as eager's, wherever the mean lies."""

import pytest
import torch
import torch.nn.functional as F

import lect
from lect.passes.loop import loop_join_moments
from lect.runtime import entry

ROWS, LENGTH = 6, 1500


@pytest.fixture(autouse=True)
def every_row_is_long(monkeypatch):
    monkeypatch.setattr(loop_join_moments, "PART", 1 << 60)


def compiled(fn, *args):
    """What a compiled function gives; its sums of squares must have been joined with sums."""
    found = []

    def observe(stage, module):
        if stage == "loop":
            found.extend(op for nest in module.walk() if nest.name == "loop.nest" for op in nest.body if op.name == "loop.maximum")

    entry.RUNTIME.observe = observe
    try:
        result = lect.compile(fn, fullgraph=True, options={"cache": False})(*args)
    finally:
        del entry.RUNTIME.observe
    assert found, "the sums of squares have a sweep of their own"
    return result


def rows(kind, seed=0):
    x = torch.randn(ROWS, LENGTH, generator=torch.Generator().manual_seed(seed))
    if kind == "plain":
        return x
    if kind == "far from zero":
        return x + 1e4
    if kind == "very far from zero":
        return x + 3e6
    if kind == "one far away in front":
        x[:, 0] = 1e5
        return x
    if kind == "all equal":
        return torch.full((ROWS, LENGTH), 1e6) + torch.arange(ROWS)[:, None]
    assert kind == "small beside the mean"
    return 1000 + x * 1e-3


KINDS = ("plain", "far from zero", "very far from zero", "one far away in front", "all equal", "small beside the mean")
FUNCTIONS = {
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(1, correction=0),
    "var of columns": lambda x: x.var(0, correction=0),
    "var_mean": lambda x: torch.var_mean(x, 1)[0],
    "var of all": lambda x: x.var(),
}


def error(found, exact):
    return ((found.double() - exact).abs() / exact.abs().clamp(min=1e-30)).max().item()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_variances(name, kind):
    fn, x = FUNCTIONS[name], rows(kind)
    exact = fn(x.double())
    ours, eager = compiled(fn, x), fn(x)
    if kind == "all equal" and "columns" not in name and "all" not in name:
        assert not ours.any()
    else:
        assert error(ours, exact) <= 2 * error(eager, exact) + 2e-7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms(kind, dtype):
    x = rows(kind).to(dtype)
    weight, bias = torch.randn(2, LENGTH, generator=torch.Generator().manual_seed(1)).to(dtype)
    cases = {
        "layer": lambda x, w, b: F.layer_norm(x, (LENGTH,), w, b),
        "group": lambda x, w, b: F.group_norm(x.view(ROWS, 3, LENGTH // 3), 1, w[:3], b[:3]),
    }
    for fn in cases.values():
        exact = fn(x.double(), weight.double(), bias.double())
        found, eager = compiled(fn, x, weight, bias), fn(x, weight, bias)
        scale = exact.abs().max().item()
        ours, theirs = [(each.double() - exact).abs().max().item() / scale for each in (found, eager)]
        assert ours <= 2 * theirs + (1e-6 if dtype is torch.float32 else 4e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_batches(kind):
    x = rows(kind).t().contiguous()

    def fn(x):
        return F.batch_norm(x, None, None, training=True)

    exact = fn(x.double())
    found, eager = compiled(fn, x), fn(x)
    assert (found - exact).abs().max() <= 2 * (eager - exact).abs().max() + 1e-6 * exact.abs().max()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [0, 7])
def test_a_row_with_no_variance(value, place):
    x = rows("plain")
    x[2, place] = value
    got = compiled(FUNCTIONS["var"], x)
    assert torch.isnan(got[2])
    torch.testing.assert_close(got, x.var(1), equal_nan=True)


def test_zeros_of_either_sign_and_one_element():
    for x in (torch.full((4, 9), -0.0), torch.zeros(4, 9)):
        torch.testing.assert_close(compiled(FUNCTIONS["var"], x), x.var(1))
    x = torch.randn(5, 1)
    torch.testing.assert_close(lect.compile(lambda x: x.var(1, correction=0))(x), x.var(1, correction=0))
