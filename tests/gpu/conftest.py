"""Tests of this folder need a GPU: they are marked `cuda`, which the default selection leaves out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import lect


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Each test compiles anew and draws the same numbers."""
    lect.reset()
    torch.manual_seed(0)
    yield
    lect.reset()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not torch.cuda.is_available():
        for item in items:
            if "tests/gpu" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason="there is no CUDA device"))
