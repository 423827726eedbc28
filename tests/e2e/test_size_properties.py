"""Random programs over random sequences of sizes: eager's values, and no more versions than the rules of docs/dynamic-shapes.md say."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lect
from tests.e2e.support import same

WIDTH = 6
WEIGHT = torch.linspace(-1, 1, WIDTH * WIDTH).view(WIDTH, WIDTH)

# Each takes and gives a tensor of batch x length x WIDTH, and decides nothing by a size.
STEPS = {
    "tanh": lambda x: x.tanh() * 2,
    "softmax": lambda x: x.softmax(-1),
    "softmax of lengths": lambda x: x.softmax(1),
    "centred": lambda x: x - x.mean(-1, keepdim=True),
    "of lengths": lambda x: x + x.sum(1, keepdim=True),
    "of batches": lambda x: x * x.amax(0, keepdim=True),
    "weights": lambda x: x @ WEIGHT,
    "scores": lambda x: (x @ x.transpose(1, 2)).softmax(-1) @ x,
    "flat": lambda x: (x.reshape(x.shape[0] * x.shape[1], WIDTH) + 1).view(x.shape),
    "turned": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "steps": lambda x: x + torch.arange(x.shape[1])[:, None],
    "divided": lambda x: x / (x.shape[0] + x.shape[1]),
    "doubled and halved": lambda x: torch.cat([x, x * 2], 1).view(x.shape[0], 2, x.shape[1], WIDTH).sum(1),
    "normal": lambda x: F.layer_norm(x, (WIDTH,)),
    "running": lambda x: x.cumsum(1),
    "masked": lambda x: x.masked_fill(torch.ones(x.shape[1], x.shape[1]).tril()[0][None, :, None] == 0, 0.5),
}
# Sizes 0 are left to the others: a maximum over nothing is an error.
SIZES = st.sampled_from([1, 2, 2, 3, 4, 5, 7, 8, 13])
NAMES = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4)
SMOOTH = st.lists(st.sampled_from(sorted(STEPS.keys() - {"normal"})), min_size=1, max_size=4)  # a norm of what is nearly constant enlarges rounding
CALLS = st.lists(st.tuples(SIZES, SIZES), min_size=2, max_size=7)


def versions_by_the_rules(calls, dynamic):
    """How many versions a program over these two sizes has that decides nothing by them: dims that differ between calls are symbols from then on, where both
    sizes are at least 2, and a symbol is any size of at least 2."""
    versions, symbols = [], {0, 1} if dynamic else set()
    for call in calls:
        if any(all(wanted == size if wanted else size >= 2 for wanted, size in zip(version, call)) for version in versions):
            continue
        for version in versions:
            symbols |= {dim for dim, (wanted, size) in enumerate(zip(version, call)) if wanted and wanted != size and min(wanted, size) >= 2}
        versions.append(tuple([0 if dim in symbols and size >= 2 else size for dim, size in enumerate(call)]))
    return len(versions)


def program(names):
    def run(x):
        for name in names:
            x = STEPS[name](x)
        return x

    return run


def check(names, calls, dynamic, training):
    fn = program(names)
    lect.reset()
    compiled = lect.compile(fn, dynamic=dynamic or None, options={"version_limit": 100})
    for number, (batch, length) in enumerate(calls):
        x = torch.randn(batch, length, WIDTH, generator=torch.Generator().manual_seed(number)).requires_grad_(training)
        want, got = fn(x), compiled(x)
        same(want, got, scaled=True)
        if training:
            slope = torch.randn(batch, length, WIDTH)
            same(torch.autograd.grad(want, x, slope), torch.autograd.grad(got, x, slope), scaled=True)
    assert not lect.events("fallback", "graph break", "backward fallback"), lect.events("fallback", "graph break", "backward fallback")
    assert len(lect.events("compile")) <= versions_by_the_rules(calls, dynamic), [event.text() for event in lect.events("recompile", "static sizes")]


def settled(examples):
    return settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)


@settled(2)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=2), st.lists(st.tuples(SIZES, SIZES), min_size=3, max_size=4), st.booleans())
def test_values_and_versions(names, calls, dynamic):
    check(names, calls, dynamic, training=False)


@pytest.mark.slow
@settled(150)
@given(NAMES, CALLS, st.booleans())
def test_values_and_versions_of_many(names, calls, dynamic):
    check(names, calls, dynamic, training=False)


@pytest.mark.slow
@settled(60)
@given(SMOOTH, CALLS, st.booleans())
def test_gradients_and_versions_of_many(names, calls, dynamic):
    check(names, calls, dynamic, training=True)


def test_the_rules():
    assert versions_by_the_rules([(3, 5), (4, 5), (7, 5), (7, 6), (9, 9)], False) == 3
    assert versions_by_the_rules([(3, 5), (4, 6), (1, 7), (1, 9), (2, 1)], False) == 4
    assert versions_by_the_rules([(3, 5), (4, 6), (1, 7), (1, 9), (2, 1)], True) == 3
