"""Rows for sizes with symbols: one table answers for all sizes, as the predicate does."""

import random

import pytest
import torch

import lect
from lect.runtime import entry


def program(x, y, z):
    flat = x.reshape(x.shape[0] * x.shape[1]) + 1
    return flat, x[1:] * 2, y.t() @ x.t(), z.t() + 1


def arguments(rng):
    a, b, c = rng.randint(6, 12), rng.randint(7, 12), rng.randint(2, 6)
    x = torch.randn(a, b)
    return x if rng.random() < 0.8 else torch.randn(b, a).t(), torch.randn(b, rng.choice([b, 13])), torch.randn(4 * c, 3)


@pytest.fixture
def compiled():
    lect.reset()
    yield lect.compile(program, dynamic=True, options={"guards": "both"})
    lect.reset()


def tables_of():
    return [table for frame in entry.RUNTIME.frames if frame.cache.native._state is not None for table in frame.cache.native._state.tables]


def test_tables_answer_as_the_predicates_do(compiled):
    rng = random.Random(3)
    for _ in range(60):
        given = arguments(rng)
        for found, wanted in zip(compiled(*given), program(*given)):
            torch.testing.assert_close(found, wanted)
    assert not lect.events("fallback", "not native")


def test_one_table_holds_for_other_sizes_and_asks_nothing_of_python():
    lect.reset()
    compiled = lect.compile(lambda x: x[1:].t() + 1, dynamic=True, options={"guards": "both"})
    for size in range(4, 12):
        compiled(torch.randn(size, size + 1))
    (table,) = tables_of()
    assert table.piece is None
    assert table.hits >= 6
    compiled(torch.randn(2, 9))  # `s0 - 1` is at least 2
    assert len(lect.events("compile")) == 2
    lect.reset()
