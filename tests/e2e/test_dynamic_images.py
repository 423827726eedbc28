"""Images of any height and width, and operators that decide by a size: two compiles, eager's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import lect

SIZES = ((6, 7), (9, 10), (12, 5), (5, 16), (20, 20))


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    lect.reset()
    torch.manual_seed(0)
    yield
    lect.reset()


def holds(program: Callable[..., Any], calls: list[tuple[torch.Tensor, ...]], compiles: int = 2) -> None:
    run = lect.compile(program)
    for inputs in calls:
        found, wanted = run(*inputs), program(*inputs)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)
        assert found.stride() == wanted.stride()
    assert [str(event) for event in lect.events("note", "fallback", "static sizes")] == []
    assert len(lect.events("compile")) <= compiles


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(lambda x: F.avg_pool2d(x, 2) + 1, id="average pool"),
        pytest.param(lambda x: F.max_pool2d(x, 3, 2, 1) * 2, id="maximum pool"),
        pytest.param(lambda x: F.relu(F.conv2d(x, torch.ones(4, 3, 3, 3), padding=1)), id="convolution"),
        pytest.param(lambda x: F.unfold(x, 2) + 1, id="unfold"),
    ],
)
def test_images_of_any_size(program: Callable[..., Any]) -> None:
    holds(program, [(torch.randn(2, 3, *size),) for size in SIZES], 2)


def test_stages_that_halve_the_image() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return F.relu(F.conv2d(F.max_pool2d(x, 2), torch.ones(4, 3, 3, 3), stride=2, padding=1)).mean((2, 3))

    holds(program, [(torch.randn(2, 3, 4 * height, 4 * width),) for height, width in SIZES])


def test_channels_last_images_keep_their_layout() -> None:
    holds(lambda x: F.max_pool2d(x, 2) + 1, [(torch.randn(2, 3, *size).to(memory_format=torch.channels_last),) for size in SIZES])


def test_a_median_of_rows_of_any_length() -> None:
    holds(lambda x: x.median(-1).values * 2, [(torch.randn(3, length),) for length in (6, 9, 12, 5, 64)])


def test_a_median_of_long_rows_has_a_version_of_its_own() -> None:
    holds(lambda x: x.median(-1).values * 2, [(torch.randn(3, length),) for length in (6, 9, 70, 100, 64)], 3)


def test_distances_of_any_number_of_rows() -> None:
    holds(lambda x, y: torch.cdist(x, y) + 1, [(torch.randn(rows, 3), torch.randn(rows + 2, 3)) for rows in (6, 9, 12, 5, 20)])


def test_a_window_that_is_larger_than_the_image_is_refused_as_in_eager() -> None:
    run = lect.compile(lambda x: F.avg_pool2d(x, 4) + 1)
    for size in (8, 12):
        run(torch.randn(1, 1, size, size))
    with pytest.raises(RuntimeError):
        run(torch.randn(1, 1, 2, 2))
    x = torch.randn(1, 1, 16, 20)
    torch.testing.assert_close(run(x), F.avg_pool2d(x, 4) + 1)
