"""Sizes that change from call to call, on the device: one compile, eager's values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import lect

pytestmark = pytest.mark.cuda
SIZES = ((64, 128), (48, 96), (17, 33), (200, 1000), (33, 257), (5, 4096), (300, 5003), (2, 20000), (96, 16), (1000, 72))
PROGRAMS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "pointwise": lambda x, y: torch.tanh(x) * y + x,
        "softmax": lambda x, y: x.softmax(-1),
        "layer_norm": lambda x, y: F.layer_norm(x + y, x.shape[-1:]),
        "sums": lambda x, y: (x.sum(0), x.sum(-1), x.sum()),
        "extremes": lambda x, y: (x.argmax(-1), x.argmin(0), x.amax(0)),
        "transposed": lambda x, y: (x.t() + y.t()).contiguous(),
        "cumsum": lambda x, y: x.cumsum(-1),
    }
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_ten_sizes_are_one_compile(name: str) -> None:
    run = lect.compile(PROGRAMS[name], dynamic=True)
    for sizes in SIZES:
        x, y = torch.randn(2, *sizes, device="cuda").unbind()
        torch.testing.assert_close(run(x.clone(), y.clone()), PROGRAMS[name](x, y), rtol=1e-4, atol=2e-3)
    assert [str(event) for event in lect.events("note", "fallback", "static sizes")] == []
    assert len(lect.events("compile")) == 1


def test_product_with_rows_of_any_number() -> None:
    linear = torch.nn.Linear(256, 120).cuda().bfloat16()

    def program(x: torch.Tensor) -> torch.Tensor:
        return F.relu(linear(x)) + 1

    run = lect.compile(program)
    for rows in (512, 320, 7, 1000, 33):
        x = torch.randn(rows, 256, device="cuda", dtype=torch.bfloat16)
        torch.testing.assert_close(run(x), program(x), rtol=2e-2, atol=2e-2)
    assert [str(event) for event in lect.events("note", "fallback", "static sizes")] == []
    assert len(lect.events("compile")) == 2


def test_training_steps_have_the_gradients_of_eager() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 10)).cuda()

    def step(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(x), target)

    run = lect.compile(step)
    for batch in (32, 48, 17, 129, 256):
        x, target = torch.randn(batch, 64, device="cuda"), torch.randint(0, 10, (batch,), device="cuda")
        gradients = []
        for each in (step, run):
            model.zero_grad()
            each(x, target).backward()
            gradients.append([parameter.grad.clone() for parameter in model.parameters()])  # type: ignore[union-attr]
        torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-3, atol=1e-5)
    assert [str(event) for event in lect.events("note", "fallback", "static sizes", "backward fallback")] == []
    assert len(lect.events("compile")) == 2


def test_memory_that_is_not_aligned() -> None:
    run = lect.compile(lambda x: x * 2 + 1, dynamic=True)
    whole = torch.randn(10_001, device="cuda")
    for part in (whole[:10_000], whole[1:], whole[3:5003], whole[:4096]):
        assert torch.equal(run(part), part * 2 + 1)
