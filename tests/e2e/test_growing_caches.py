"""Decoding with a cache of keys and values that grows by one each step: one version, and eager's values."""

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import same

STEPS = 12


@pytest.fixture(autouse=True)
def _clean():
    lect.reset()
    yield
    lect.reset()


def weights():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(16, 16, generator=generator) * 0.3 for _ in range(3)]


def decoder():
    project = weights()

    def step(x, keys, values):
        query, key, value = [(x @ weight).view(x.shape[0], 1, 2, 8).transpose(1, 2) for weight in project]
        keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        y = F.scaled_dot_product_attention(query, keys, values)
        return y.transpose(1, 2).reshape(x.shape[0], 1, 16), keys, values

    return step


class Cache:
    """Keys and values of the words so far."""

    def __init__(self, keys, values):
        self.layers = [{"keys": keys, "values": values}]


def decoder_with_object():
    step = decoder()

    def run(x, cache):
        layer = cache.layers[0]
        y, layer["keys"], layer["values"] = step(x, layer["keys"], layer["values"])
        return y

    return run


def start(batch=2, length=3):
    return torch.randn(batch, 1, 16), torch.randn(batch, 2, length, 8), torch.randn(batch, 2, length, 8)


@pytest.mark.parametrize("how", ["automatic", "dynamic", "marked"])
def test_tensors(how):
    step = decoder()
    compiled = lect.compile(step, dynamic=True if how == "dynamic" else None)
    x, keys, values = start()
    for _ in range(STEPS):
        if how == "marked":
            lect.mark_dynamic(keys, 2)
            lect.mark_dynamic(values, 2)
        want = step(x, keys, values)
        same(want, compiled(x, keys, values))
        x, keys, values = want
    assert len(lect.events("compile")) == (2 if how == "automatic" else 1)
    assert not lect.events("fallback", "graph break")


@pytest.mark.parametrize("dynamic", [None, True])
def test_object_among_the_arguments(dynamic):
    run = decoder_with_object()
    compiled = lect.compile(run, dynamic=dynamic)
    x, *first = start()
    mine, eager = Cache(*first), Cache(*first)
    for _ in range(STEPS):
        want, got = run(x, eager), compiled(x, mine)
        same(want, got)
        same(eager.layers, mine.layers)
        x = want
    assert len(lect.events("compile")) == (2 if dynamic is None else 1)
    assert not lect.events("fallback", "graph break")


def test_batches_that_end_while_it_grows():
    """The batch shrinks when a sentence is over: two sizes change, one at a time."""
    step = decoder()
    compiled = lect.compile(step)
    x, keys, values = start(batch=6)
    for number in range(STEPS):
        want = step(x, keys, values)
        same(want, compiled(x, keys, values))
        x, keys, values = [tensor[: 6 - number // 4] for tensor in want] if number % 4 == 3 else want
        x, keys, values = x.contiguous(), keys.contiguous(), values.contiguous()
    assert len(lect.events("compile")) == 3


def test_parts_of_a_cache_that_does_not_grow():
    """What is filled so far is a slice, whose strides are those of the whole."""
    fn = lambda q, keys: F.scaled_dot_product_attention(q, keys, keys * 2)  # noqa: E731
    compiled = lect.compile(fn)
    keys = torch.randn(2, 32, 8)
    for n in range(2, 14):
        q, part = torch.randn(2, 1, 8), keys[:, :n]
        same(fn(q, part), compiled(q, part))
    assert len(lect.events("compile")) == 2 and not lect.events("static sizes", "fallback", "graph break")


def test_attributes_of_modules_keep_their_sizes():
    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.arange(4.0))
            self.rows = torch.randn(5, 4)

    fn = lambda module, x: x * module.steps + module.rows.sum(0)  # noqa: E731
    module, compiled = Table(), lect.compile(fn, dynamic=True)
    for size in (2, 5, 9):
        x = torch.randn(size, 4)
        same(fn(module, x), compiled(module, x))
    assert len(lect.events("compile")) == 1
    assert [event.text() for event in lect.events("static sizes") if "module" in event.text()] == []
