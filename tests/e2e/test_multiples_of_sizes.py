"""Sizes that have to be multiples of a number stay symbols, and so do those that stand in a relation to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same

# All sizes are at least 2 behind the division, but for the last, which has versions of its own.
SIZES = (48, 24, 72, 120, 16, 30, 4)
X, XY, MATRIX = (lambda n: (torch.randn(n),)), (lambda n: (torch.randn(n), torch.randn(n))), (lambda n: (torch.randn(3, n),))


def rows(x: Any) -> Any:
    return x.view(-1, 4) * x.shape[0]


def columns(x: Any) -> Any:
    return x.view(x.shape[0] // 2, -1).sum(0), x.shape[0] // 2


def rows_of_rows(x: Any) -> Any:
    return x.view(-1, 4).softmax(1).view(-1, 2, 4).sum(1)


def beside_a_size_that_is_a_quarter(x: Any, y: Any) -> Any:
    return x.view(-1, 4).sum(1) + y[: x.shape[0] // 4]


def with_another_of_the_same_size(x: Any, y: Any) -> Any:
    return x.view(-1, 4).sum(1).repeat_interleave(4) + y


def halves(x: Any) -> Any:
    first, second = x.chunk(2)
    return first * second


def heads(x: Any) -> Any:
    b, n = x.shape
    return x.view(b, 2, n // 2).transpose(0, 1).reshape(2, -1), n // 2


def as_much_as_fits(x: Any) -> Any:
    return x[: x.shape[0] // 4 * 4].view(-1, 4).sum(1)


def decided_by_the_rest(x: Any) -> Any:
    n = x.shape[0]
    return x.view(-1, 4).sum(1) if n % 4 == 0 else x[: n // 4 * 4].view(-1, 4).sum(1) + x[-1]


PROGRAMS = [
    (rows, X, 4),
    (columns, X, 2),
    (rows_of_rows, X, 5),
    (beside_a_size_that_is_a_quarter, XY, 4),
    (with_another_of_the_same_size, XY, 4),
    (halves, X, 2),
    (heads, MATRIX, 2),
    (as_much_as_fits, X, 4),
    (decided_by_the_rest, X, 4),
]


def outcome(fn: Callable[..., Any], args: tuple[torch.Tensor, ...]) -> Any:
    try:
        return fn(*args)
    except RuntimeError as error:
        return repr(error)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(("fn", "inputs", "versions"), PROGRAMS, ids=[row[0].__name__ for row in PROGRAMS])
def test_versions_do_not_grow_with_the_sizes(fn: Callable[..., Any], inputs: Callable[[int], Any], versions: int, dynamic: bool | None) -> None:
    lect.reset()
    compiled = lect.compile(fn, dynamic=dynamic)
    for size in SIZES:
        args = inputs(size)
        want = outcome(fn, args)
        same(want, outcome(compiled, args))
    assert len(lect.events("compile")) <= versions
    assert set(fallbacks()) <= {"LB0012"}


def test_a_size_that_is_no_multiple_of_two_numbers_is_told() -> None:
    lect.reset()
    compiled = lect.compile(rows, dynamic=True)
    compiled(torch.randn(24))
    with pytest.raises(RuntimeError, match="shape '\\[-1, 4\\]' is invalid for input of size 30"):
        compiled(torch.randn(30))
    (miss,) = lect.events("guard miss")
    assert "s0 * 4" in str(miss) and "30" in str(miss)


def test_a_mark_bounds_the_size_and_not_its_quarter() -> None:
    lect.reset()
    compiled = lect.compile(rows)
    for size in (16, 32, 64):
        x = torch.randn(size)
        lect.mark_dynamic(x, 0, min=16, max=64)
        torch.testing.assert_close(compiled(x), rows(x))
    assert len(lect.events("compile")) == 1
    torch.testing.assert_close(compiled(x := torch.randn(128)), rows(x))
    assert len(lect.events("compile")) == 2


def test_gradients_through_a_multiple() -> None:
    lect.reset()
    compiled = lect.compile(lambda x: (x.view(-1, 4).softmax(1) ** 2).sum(), dynamic=True)
    for size in (24, 48, 16):
        x = torch.randn(size, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        compiled(x).backward()
        (y.view(-1, 4).softmax(1) ** 2).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
    assert len(lect.events("compile")) == 1
