"""Functions that look at the elements of a tensor only to raise: no cut, eager's values and eager's error."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import same, stops


def floats(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def notes():
    return [str(event) for event in lect.events("note", "graph break", "fallback", "backward fallback") if event.number not in ("LB0012", "LB0022")]


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gaussian_likelihood(full, dtype):
    def loss(x, target, var):
        return F.gaussian_nll_loss(x, target, var, full=full)

    def step(loss, x, target, var):
        x, var = x.detach().requires_grad_(), var.detach().requires_grad_()
        found = loss(x, target, var)
        found.backward()
        return found.detach(), x.grad, var.grad

    lect.reset()
    args = floats(4, 3, dtype=dtype), floats(4, 3, seed=1, dtype=dtype), floats(4, 1, seed=2, dtype=dtype).abs()
    same(step(loss, *args), step(lect.compile(loss), *args))
    assert not notes()


def test_a_negative_variance_raises_as_in_eager():
    compiled = lect.compile(lambda x, t, v: F.gaussian_nll_loss(x, t, v))
    x, t, v = floats(4, 3), floats(4, 3), floats(4, 3).abs()
    same(F.gaussian_nll_loss(x, t, v), compiled(x, t, v))
    v[2, 1] = -1
    with pytest.raises(ValueError, match="var has negative entry/entries"):
        compiled(x, t, v)
    same(F.gaussian_nll_loss(x, t, v.abs()), compiled(x, t, v.abs()))


@pytest.mark.parametrize("swap", [True, False])
def test_a_distance_of_the_program_is_followed(swap):
    distance = nn.PairwiseDistance(p=2.0)

    def loss(a, p, n):
        return F.triplet_margin_with_distance_loss(a, p, n, distance_function=distance, swap=swap), F.triplet_margin_with_distance_loss(
            a, p, n, distance_function=lambda x, y: (x - y).abs().sum(1)
        )

    args = [floats(5, 4, seed=seed) for seed in range(3)]
    same(loss(*args), lect.compile(loss, fullgraph=True)(*args))


def test_random_numbers_with_a_probability_for_each_element():
    p = torch.tensor([0.0, 1.0, 0.25]).expand(20000, 3)
    lect.reset()
    compiled = lect.compile(lambda p: torch.bernoulli(p))
    torch.manual_seed(0)
    found = compiled(p)
    assert not notes()
    assert torch.equal(found[:, 0], torch.zeros(20000))
    assert torch.equal(found[:, 1], torch.ones(20000))
    assert abs(found[:, 2].mean().item() - 0.25) < 0.02
    torch.manual_seed(0)
    assert torch.equal(found, compiled(p))
    for bad in (-0.1, 1.5, float("nan")):
        with pytest.raises(RuntimeError) as wanted:
            torch.bernoulli(torch.tensor([0.5, bad]))
        with pytest.raises(RuntimeError) as got:
            lect.compile(lambda p: torch.bernoulli(p))(torch.tensor([0.5, bad]))
        assert str(got.value) == str(wanted.value)


def test_random_numbers_with_a_deviation_for_each_element():
    mean, std = torch.tensor([3.0, -1.0]), torch.tensor([0.0, 2.0]).expand(20000, 2)
    lect.reset()
    compiled = lect.compile(lambda m, s: (torch.normal(m, s), torch.normal(4.0, s)))
    around, constant = compiled(mean, std)
    assert not notes()
    assert torch.equal(around[:, 0], torch.full((20000,), 3.0))
    assert torch.equal(constant[:, 0], torch.full((20000,), 4.0))
    for found, centre in ((around, -1.0), (constant, 4.0)):
        assert abs(found[:, 1].mean().item() - centre) < 0.1
        assert abs(found[:, 1].std().item() - 2.0) < 0.1
    with pytest.raises(RuntimeError, match="normal expects all elements of std >= 0.0"):
        lect.compile(lambda m, s: torch.normal(m, s))(mean, -std)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gradients_of_values_put_at_places(dtype):
    def places(x, value, row, mask, index):
        filled = x.index_fill(1, index, value)
        return filled, torch.index_put(x, (mask,), row, accumulate=True), torch.index_put(filled, (mask,), row)

    def step(places, x, value, row, mask, index):
        x, value, row = (each.detach().requires_grad_() for each in (x, value, row))
        filled, added, put = places(x, value, row, mask, index)
        ((filled * 2).sum() + (added * put).sum()).backward()
        return filled.detach(), added.detach(), put.detach(), x.grad, value.grad, row.grad

    lect.reset()
    args = floats(4, 5, dtype=dtype), floats(dtype=dtype), floats(5, seed=1, dtype=dtype), torch.tensor([True, False, True, True]), torch.tensor([3, 0, 3])
    same(step(places, *args), step(lect.compile(places), *args))
    assert not notes()


def test_a_tensor_with_its_dims_in_another_order_in_memory():
    lect.reset()
    found = lect.compile(lambda x: torch.empty_permuted((2, 3, 4), (2, 0, 1)).fill_(1) + x)(floats(4))
    assert found.stride() == (torch.empty_permuted((2, 3, 4), (2, 0, 1)) + floats(4)).stride()
    assert not stops()


WEIGHTS = {"fweights": torch.tensor([1, 2, 1, 1, 2]), "aweights": torch.tensor([0.5, 1.0, 0.25, 2.0, 1.0])}


@pytest.mark.parametrize("names", [(), ("fweights",), ("aweights",), ("fweights", "aweights")], ids=str)
def test_covariances(names):
    given = {name: WEIGHTS[name] for name in names}

    def found(x, given):
        return torch.cov(x, correction=0, **given), torch.cov(x[0], **given), torch.corrcoef(x)

    lect.reset()
    compiled, x = lect.compile(found), floats(3, 5)
    same(found(x, given), compiled(x, given))
    assert not notes()
    for name in names:
        bad = {**given, name: -given[name]}
        with pytest.raises(RuntimeError) as wanted:
            found(x, bad)
        with pytest.raises(RuntimeError) as got:
            compiled(x, bad)
        assert str(got.value) == str(wanted.value)


@pytest.mark.filterwarnings("ignore:cov")
def test_no_degrees_of_freedom_are_left_to_eager():
    x = floats(3, 5)
    same(torch.cov(x, correction=5), lect.compile(lambda x: torch.cov(x, correction=5))(x))


def test_equality_of_tensors_is_asked_of_their_elements():
    def either(x, y):
        return x + 1 if torch.equal(x, y) else x - 1

    compiled, x = lect.compile(either), floats(3)
    for y in (x.clone(), x + 1):
        same(either(x, y), compiled(x, y))
