"""Values that no input decides are evaluated once: eager's values, and fewer operations."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import same
from tests.unit.passes.graphs import functional_graph, operations

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def check(fn, *args, exact=True):
    with torch.no_grad():
        same(fn(*args), lect.compile(fn)(*args), exact=exact)
    assert not lect.events("note", "fallback"), [str(event) for event in lect.events("note", "fallback")]


def causal(x):
    rows = torch.arange(x.shape[-2])[:, None]
    mask = torch.arange(x.shape[-1])[None] <= rows
    everything = torch.ones(x.shape[-2:], dtype=torch.bool).cumsum(1) > 0
    return torch.where(mask & everything, x, float("-inf")) + torch.zeros(x.shape[-1])


def packed(x):
    positions = torch.arange(x.shape[1]).expand(x.shape[0], -1)
    steps = torch.diff(positions, prepend=positions[:, :1] - 1) != 1
    sequence = steps.cumsum(-1)
    return x.masked_fill(sequence[:, :, None] != sequence[:, None, :].amax(-1, keepdim=True), 0.0) + sequence[..., None]


def table(weight):
    places = torch.arange(4)
    return F.embedding(places, weight), F.embedding(places[None] + 2, weight), weight[torch.tensor([1])], weight[:, places[:2]]


def numbers(x):
    two = torch.full((x.shape[-1],), 2.0, dtype=x.dtype)
    tenth = torch.full((), 0.1, dtype=x.dtype) + 0
    return x * two, x / (two * tenth), torch.maximum(x, two * 0), x - two / 3, x >= two, x * -torch.zeros_like(x)


def integers(x):
    big = torch.full((3,), 2**31 - 1, dtype=torch.int32)
    wrapped = big + 1
    return wrapped, big.to(torch.int64) * 4, wrapped.abs(), torch.arange(3, dtype=torch.int32) * big, x + wrapped[0]


def halves(x):
    third = torch.full((4,), 1 / 3, dtype=x.dtype)
    chain = (third + third) * third
    return chain, x[..., :1] * chain, third.to(torch.float32) - 1 / 3


def empties(x):
    none = torch.arange(0)
    return none + 1, x[none], torch.zeros(0, 3).cumsum(0), torch.ones(2, 0).sum(1)


def traps(x):
    nan, zero = torch.full((2,), float("nan")), torch.zeros(2)
    return torch.signbit(-zero), torch.copysign(torch.ones(2), nan), torch.where(nan == nan, x[:2, 0], 7.0), (-zero) * 1, 1 / -zero, nan.max()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("program", [causal, packed, numbers, halves, empties, traps])
def test_program(program, dtype):
    check(program, torch.randn(4, 4).to(dtype))


def test_integers():
    check(integers, torch.arange(3, dtype=torch.int32))


def test_rows_of_a_table():
    weight = torch.randn(9, 5)
    check(table, weight)
    graph = functional_graph(table, weight)
    assert operations(graph)["index"] == 0


def test_a_place_outside_of_a_table_still_raises():
    def outside(weight):
        return F.embedding(torch.arange(3) + 2, weight)

    for run in (outside, lect.compile(outside)):
        with pytest.raises(IndexError, match="index out of range in self"), torch.no_grad():
            run(torch.randn(4, 5))


def test_results_that_share_memory_stay_views():
    def views(x):
        base = torch.zeros(6) + 1
        return base, base.view(2, 3), x + base

    with torch.no_grad():
        base, view, _ = lect.compile(views)(torch.randn(6))
    base[0] = 5
    assert view[0, 0] == 5
    assert not lect.events("note", "fallback")


def test_a_causal_mask_of_a_model_is_one_comparison():
    class Positions(nn.Module):
        def forward(self, x):
            return packed(x)

    graph = functional_graph(Positions(), torch.randn(2, 8, 8))
    found = operations(graph)
    assert not found["cumsum"] and not found["cat"] and not found["ne"], found


def test_random_numbers_differ_between_calls():
    def draw(x):
        return x + torch.rand(4) * torch.ones(4)

    compiled = lect.compile(draw)
    with torch.no_grad():
        assert not torch.equal(compiled(torch.zeros(4)), compiled(torch.zeros(4)))
