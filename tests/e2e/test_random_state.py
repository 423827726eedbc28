"""Seeding and restoring torch's random generator in a compiled function: the numbers, and the state behind the call, are eager's."""

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import fallbacks, same, stops


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def seeded(x):
    torch.manual_seed(3)
    return torch.rand(4) + x


def restored(x):
    state = torch.get_rng_state()
    first = torch.rand(4) * x
    torch.set_rng_state(state)
    return first, torch.rand(4) * x, F.dropout(x, 0.5)


def forked(x):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        noise = torch.randn(4)
    return x + noise, torch.rand(4)


@pytest.mark.parametrize("program", [seeded, restored, forked], ids=lambda program: program.__name__)
@pytest.mark.parametrize("level", ["fx", "native"])
def test_numbers_and_state(program, level):
    compiled = lect.compile(program, options={"level": level})
    for seed in range(3):
        results = []
        for run in (program, compiled):
            torch.manual_seed(seed)
            results.append((run(torch.ones(4)), torch.get_rng_state()))
        same(results[0], results[1], exact=True)
    assert stops() == []


def test_tracing_leaves_the_generator_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    lect.explain(seeded)(torch.ones(4))
    lect.explain(forked)(torch.ones(4))
    assert torch.equal(before, torch.get_rng_state())


def test_element_that_is_known_is_read_behind_a_seed():
    def program(x):
        torch.manual_seed(3)
        sizes = torch.arange(3)
        return x * int(sizes.max()) + torch.rand(2)

    before = torch.get_rng_state()
    lect.explain(program)(torch.ones(2))
    assert torch.equal(before, torch.get_rng_state())
    want = program(torch.ones(2))
    same(want, lect.compile(program)(torch.ones(2)), exact=True)
    assert fallbacks() == []


def test_generator_object_is_a_break():
    def program(x):
        generator = torch.Generator().manual_seed(2)
        return x + torch.rand(4, generator=generator)

    same(program(torch.ones(4)), lect.compile(program)(torch.ones(4)), exact=True)
