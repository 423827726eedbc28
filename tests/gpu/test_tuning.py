"""Kernels measured on the device: values stay eager's, records are written once, and the default mode takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import lect
from lect.runtime.entry import RUNTIME
from lect.runtime.store import Store
from lect.runtime.tuning_records import TuningStore

pytestmark = pytest.mark.cuda
BF16 = torch.bfloat16
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "bias_gelu": (lambda x, b: F.gelu(x + b, approximate="tanh") * 1.5, ((4096, 8192), (8192,))),
    "softmax": (lambda x: torch.softmax(x, -1), ((2048, 8192),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (1024,), w, b), ((16384, 1024), (1024,), (1024,))),
    "column_sum": (lambda x: (x * x).sum(0), ((8192, 4096),)),
    "transposition": (lambda x, y: (x.t() + y).contiguous(), ((4096, 4096), (4096, 4096))),
    "product": (lambda x, w, b: torch.relu(torch.addmm(b, x, w)) ** 2, ((16384, 128), (128, 256), (256,))),
}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningStore]:
    problems: list[str] = []
    monkeypatch.setattr(RUNTIME.log, "tuning", TuningStore(Store(tmp_path), problems.append))
    lect.reset()
    yield RUNTIME.log.tuning
    lect.reset()
    assert not problems


@pytest.mark.parametrize("name", PROGRAMS)
def test_measured_kernels_give_eager_values(name: str) -> None:
    run, shapes = PROGRAMS[name]
    inputs = [torch.randn(*shape, device="cuda", dtype=BF16) for shape in shapes]
    measured = lect.compile(run, fullgraph=True, mode="max-autotune", options={"cache": False})
    result = measured(*inputs)
    assert [str(event) for event in lect.events("note", "fallback", "tuning problem")] == []
    events = lect.events("tuning")
    assert events
    assert all(0 < time < 1e6 for event in events for _, time in event.table)  # type: ignore[attr-defined]
    exact = run(*[each.double() for each in inputs])
    eager, found = [((each.double() - exact).abs().max() / exact.abs().max()).item() for each in (run(*inputs), result)]
    assert found <= eager * 1.1 + 1e-7
    lect.reset()
    assert torch.equal(lect.compile(run, mode="max-autotune", options={"cache": False})(*inputs), result)
    assert lect.events("tuning", "tuning begins") == []
    lect.reset()
    assert torch.equal(lect.compile(run, options={"cache": False})(*inputs), result)


def test_a_step_of_training_is_measured_once(store: TuningStore) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 64)).cuda()
    x = torch.randn(4096, 256, device="cuda")
    net(x).square().mean().backward()
    wanted = [parameter.grad.clone() for parameter in net.parameters() if parameter.grad is not None]
    for _ in range(2):
        lect.reset()
        net.zero_grad()
        lect.compile(net, mode="max-autotune", options={"cache": False})(x).square().mean().backward()
        for parameter, gradient in zip(net.parameters(), wanted):
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-2, atol=1e-3)
        assert lect.events("fallback", "note", "backward fallback") == []
    assert lect.events("tuning") == []


def test_the_state_of_random_numbers_is_not_touched() -> None:
    x = torch.randn(4096, 8192, device="cuda")
    torch.cuda.manual_seed(3)
    before = torch.cuda.get_rng_state()
    lect.compile(lambda x: torch.softmax(x * 2, -1), mode="max-autotune", options={"cache": False})(x)
    assert torch.equal(torch.cuda.get_rng_state(), before)
