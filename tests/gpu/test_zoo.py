"""Every program of the zoo on the device, against eager on the device."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import lect
from tests.triton.zoo import ZOO, difference, maker, results

pytestmark = pytest.mark.cuda


def on(device: str, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """The tensors on a device, with the strides that they have."""
    return tuple([each.to(device) if each.is_contiguous() else torch.empty_strided(each.shape, each.stride(), dtype=each.dtype, device=device).copy_(each)
                  if 0 not in each.stride() else each[:1].to(device).expand(each.shape) for each in inputs])  # fmt: skip


def compare(run: Any, make: Any, tolerance: float, seed: int = 0) -> None:
    """A program, eager and compiled, on the device."""
    inputs, again = on("cuda", make(maker(seed))), on("cuda", make(maker(seed)))
    expected = results(run(*inputs), inputs)
    lect.reset()
    found = results(lect.compile(run, fullgraph=True)(*again), again)
    assert not lect.events("note", "fallback")
    wrong = [difference(a.cpu(), b.cpu(), tolerance) for a, b in zip(expected, found, strict=True)]
    assert not any(wrong), wrong


@pytest.mark.parametrize("name", [name for name, case in ZOO.items() if not case.draws])
def test_program(name: str) -> None:
    case = ZOO[name]
    compare(case.run, case.make, case.tolerance)
