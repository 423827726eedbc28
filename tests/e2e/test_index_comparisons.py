"""Positions compared with sizes, other positions and data: borders of concatenations, causal masks, masks of lengths."""

import operator

import pytest
import torch

import lect

PREDICATES = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
LAST = torch.iinfo(torch.int64).max
SIZES = [(5, 70), (9, 33), (2, 16), (3, 17), (33, 5)]


def agree(program, *args):
    lect.reset()
    static, symbolic = lect.compile(program, dynamic=False), lect.compile(program, dynamic=True)
    for number, given in enumerate(args):
        expected = program(*given)
        for compiled in (symbolic, static) if number < 2 else (symbolic,):
            torch.testing.assert_close(compiled(*given), expected, rtol=0, atol=0, equal_nan=True)
    assert not lect.events("static sizes", "fallback", "note"), [event.text() for event in lect.events("static sizes", "fallback", "note")]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_positions_beside_data_at_the_ends_of_i64(predicate):
    def program(x, bound):
        at = torch.arange(x.shape[1])
        return torch.where(predicate(at, bound), x, -x), torch.where(predicate(bound, at), x, x + 1)

    bounds = [-LAST - 1, -LAST, -1, 0, 1, 15, 16, 17, 32, LAST]
    agree(program, *[(torch.randn(4, size), torch.tensor(bound)) for size in (70, 33) for bound in bounds])


@pytest.mark.parametrize("predicate", [operator.lt, operator.ge])
def test_masks_of_lengths(predicate):
    def program(x, lengths):
        return x.masked_fill(predicate(torch.arange(x.shape[1]), lengths[:, None]), float("-inf")).amax(-1)

    agree(program, *[(torch.randn(a, b), torch.randint(-2, b + 3, (a,))) for a, b in SIZES])


@pytest.mark.parametrize("predicate", PREDICATES[::3])
def test_causal_masks(predicate):
    def program(x):
        rows, columns = torch.arange(x.shape[0])[:, None], torch.arange(x.shape[1])
        return torch.where(predicate(columns - 3, rows), x, float("nan")), torch.where(predicate(rows, columns), x, 2.0).sum(0)

    agree(program, *[(torch.ones(a, b),) for a, b in SIZES])


def test_borders_of_concatenations():
    def program(x, y):
        return torch.cat([x, y, x], -1) * 2, torch.cat([x.t(), y.t()], 0) + 1

    agree(program, *[(torch.randn(a, b), torch.randn(a, c)) for a, b, c in [(4, 20, 33), (3, 16, 8), (5, 3, 2), (2, 64, 31)]])
