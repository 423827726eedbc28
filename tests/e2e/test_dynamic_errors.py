"""One call that raises because its sizes do not fit says nothing about the sizes of later calls."""

import pytest
import torch

import lect
from tests.e2e.support import same


@pytest.fixture(autouse=True)
def _clean():
    lect.reset()
    yield
    lect.reset()


def raised(call):
    with pytest.raises(Exception) as info:
        call()
    return type(info.value), str(info.value)


def run(fn, good, bad, before, **options):
    """Bad calls, `before` good ones of them first: the exceptions are eager's.  How many versions the other good calls took."""
    compiled = lect.compile(fn, **options)
    for given in good[:before]:
        same(fn(*given), compiled(*given))
    for given in bad:
        assert raised(lambda: compiled(*given)) == raised(lambda: fn(*given))  # noqa: B023  # called at once
    made = len(lect.events("compile"))
    for given in good[before:]:
        same(fn(*given), compiled(*given))
    assert not lect.events("static sizes"), [event.text() for event in lect.events("static sizes")]
    return len(lect.events("compile")) - made


def product(x, y):
    return (x @ y).relu()


def matrices(*sizes):
    return [(torch.randn(a, b), torch.randn(c, d)) for a, b, c, d in sizes]


GOOD = matrices((6, 7, 7, 2), (5, 3, 3, 9), (2, 4, 4, 8), (9, 5, 5, 6))


@pytest.mark.parametrize("before", [0, 1])
def test_product_of_sizes_that_do_not_fit(before):
    assert run(product, GOOD, matrices((3, 4, 5, 6)), before, dynamic=True) == 1 - before


def test_product_of_sizes_that_do_not_fit_before_sizes_are_dynamic():
    assert run(product, GOOD, matrices((6, 7, 5, 2), (6, 4, 7, 2)), 1) == 1


def test_many_bad_calls_do_not_use_up_the_versions():
    assert run(product, GOOD, matrices(*[(3, 4, 5 + number, 6) for number in range(12)]), 1, dynamic=True) == 0
    assert not lect.events("fallback")


def test_a_call_that_raises_behind_a_branch_on_a_size():
    def fn(x):
        if x.shape[0] > 20:
            raise ValueError("too long")
        return x * 2

    rows = [(torch.randn(size, 3),) for size in (4, 6, 20, 2)]
    assert run(fn, rows, [(torch.randn(21, 3),), (torch.randn(50, 3),)], 0, dynamic=True) == 1


def test_one_bad_call_among_sizes_zero_and_one():
    good = matrices((0, 3, 3, 2), (1, 3, 3, 1), (4, 1, 1, 3), (4, 0, 0, 3), (6, 7, 7, 2), (5, 3, 3, 9))
    assert run(product, good, matrices((0, 3, 4, 2), (1, 2, 1, 2)), 0, dynamic=True) == 5
