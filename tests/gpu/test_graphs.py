"""Recordings on the device: the loops of `tests/graphs` have eager's values, random numbers go on, and large results are not kept twice."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.library import custom_op

import lect
from lect.runtime.graphs import attach, automatic, parts
from lect.runtime.graphs import program as programs
from lect.runtime.graphs.family import Limits
from lect.runtime.graphs.measure import Plan, Sample
from lect.runtime.graphs.table import table
from tests.graphs.natural_loops import LOOPS, STEPS, batch
from tests.graphs.test_parts import PROGRAMS

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore")]
LIMITS = {"small": Limits(least=0), "large": Limits(small=0, cheap=64, least=0)}


@pytest.fixture(autouse=True)
def small(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small programs are recorded too."""
    monkeypatch.setattr(programs, "Limits", lambda: LIMITS["small"])


def compiled(target: Any) -> Any:
    return lect.compile(target, mode="reduce-overhead")


def nothing_off() -> None:
    assert [str(each) for each in lect.events("recording off", "fallback", "note", "backward fallback")] == []


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", LOOPS)
def test_loop_has_the_values_of_eager(name: str, limits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "Limits", lambda: LIMITS[limits])
    expected = LOOPS[name](lambda target: target, "cuda")
    found = LOOPS[name](compiled, "cuda")
    if name != "numbers_that_change":  # with gradients, run-time numbers and tensors are several devices, and the graph runs through torch
        nothing_off()
        assert lect.events("recording") != []
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4, msg=lambda text, number=number: f"tensor {number}: {text}")


def test_dropout_differs_in_each_replay_and_agrees_in_the_backward() -> None:
    run = compiled(lambda x: F.dropout(x, 0.5) * 2)
    masks = []
    for _ in range(STEPS):
        x = torch.ones(64, 64, device="cuda", requires_grad=True)
        y = run(x)
        y.sum().backward()
        assert torch.equal(y.detach(), x.grad)
        masks.append(y.detach() != 0)
    nothing_off()
    assert all(not torch.equal(a, b) for n, a in enumerate(masks) for b in masks[:n])


def test_random_numbers_of_the_library_are_those_of_eager() -> None:
    def draw(x: torch.Tensor) -> torch.Tensor:
        return torch.bernoulli(torch.full_like(x, 0.5)) + x

    run = lect.compile(draw, mode="reduce-overhead", options={"rng": "eager"})
    x = batch(0, "cuda")
    torch.manual_seed(3)
    expected = [draw(x) for _ in range(STEPS)]
    torch.manual_seed(3)
    found = [run(x) for _ in range(STEPS)]
    assert all(torch.equal(a, b) for a, b in zip(found, expected))


def test_a_large_input_that_moves_is_patched() -> None:
    run = compiled(lambda x: torch.sin(x) + 1)
    inputs = [torch.randn(1 << 20, device="cuda") for _ in range(4)]
    for _ in range(3):
        for x in inputs:
            assert torch.equal(run(x), torch.sin(x) + 1)
    rows = table().rows()
    assert sum(row.patched for row in rows) > 0
    assert all(row.copied == 0 for row in rows)


def test_reset_frees_the_memory() -> None:
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    run = compiled(lambda x: (x @ x).relu() @ x)
    with torch.no_grad():
        for _ in range(STEPS):
            run(torch.randn(1024, 1024, device="cuda"))
    assert table().rows() != []
    lect.reset()
    assert table().rows() == []
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() <= before + (16 << 20)


def test_a_capture_of_the_program_takes_the_work_in() -> None:
    run = compiled(lambda x: torch.cos(x) * 2)
    x = torch.randn(1000, device="cuda")
    for _ in range(3):
        run(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run(x)
    x.fill_(0.5)
    graph.replay()
    assert torch.equal(y, torch.cos(x) * 2)


def test_a_single_launch_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "Limits", Limits)
    run = compiled(lambda x: torch.cos(x) * 2)
    x = torch.randn(1000, device="cuda")
    for _ in range(4):
        assert torch.equal(run(x), torch.cos(x) * 2)
    assert [event.text() for event in lect.events("recording off")] == ["runs without recordings: so few launches (1) take no longer by themselves"]


def test_streams_have_recordings_of_their_own() -> None:
    run = compiled(lambda x: torch.exp(x) + 1)
    x, side, kept = torch.randn(1 << 16, device="cuda"), torch.cuda.Stream(), []
    for step in range(2 * STEPS):
        if step % 2:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                kept.append(run(x))
            torch.cuda.current_stream().wait_stream(side)
        else:
            kept.append(run(x))
    torch.cuda.synchronize()
    assert all(torch.equal(each, torch.exp(x) + 1) for each in kept)


def test_numbers_on_the_cpu_are_filled_in() -> None:
    run = compiled(lambda x, scale: torch.sin(x * scale) @ x.t())
    x, kept = batch(0, "cuda"), []
    with torch.no_grad():
        for step in range(2 * STEPS):
            kept.append(run(x, 0.5 * step))
    assert lect.events("recording") != []
    for step, found in enumerate(kept):
        torch.testing.assert_close(found, torch.sin(x * (0.5 * step)) @ x.t(), rtol=1e-3, atol=1e-4)


def test_precisions_that_are_set_later_hold() -> None:
    run, x = compiled(lambda x, w: (x @ w).relu() @ w), torch.randn(512, 512, device="cuda")
    w, setting = torch.randn(512, 512, device="cuda"), torch.backends.cuda.matmul
    before = setting.allow_tf32
    try:
        with torch.no_grad():
            for step in range(24):
                setting.allow_tf32 = step % 6 > 2
                found, exact = run(x, w), ((x.double() @ w.double()).relu() @ w.double())
                error = ((found - exact).abs().max() / exact.abs().max()).item()
                assert (error > 2e-5) == setting.allow_tf32, (step, error)
    finally:
        setting.allow_tf32 = before


def layers(x: torch.Tensor, count: int = 20) -> torch.Tensor:
    for _ in range(count):
        x = torch.tanh(x @ x).sum(0, keepdim=True) * 1e-3 + x
    return x


def test_small_work_is_recorded_by_itself_in_the_default_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automatic, "Plan", lambda: Plan(gain=1e6))  # replays are not slower, but others may be at work on the device
    monkeypatch.setattr(Sample, "waits", lambda self, plan: True)
    run, x, kept = lect.compile(layers), torch.randn(64, 64, device="cuda") * 0.1, []
    with torch.no_grad():
        for step in range(40):
            kept.append(run(x * (step + 1)))
            torch.cuda.synchronize()
    assert [event.choice for event in lect.events("recording choice")] == ["recorded", "recordings stay"]  # type: ignore[attr-defined]
    assert [row.uses > 20 for row in table().rows()] == [True]
    for step, found in enumerate(kept):
        torch.testing.assert_close(found, layers(x * (step + 1)), rtol=1e-3, atol=1e-4)


def test_large_work_is_not_recorded_by_itself() -> None:
    run, x = lect.compile(lambda x: layers(x, 12)), torch.randn(4096, 4096, device="cuda") * 0.01
    with torch.no_grad():
        for _ in range(30):
            run(x)
            torch.cuda.synchronize()
    assert [event.choice for event in lect.events("recording choice")] == ["not recorded"]  # type: ignore[attr-defined]
    assert table().rows() == []


@pytest.fixture
def by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the default mode all that can be is recorded, whatever it is measured to take."""
    for module in (attach, automatic, parts):
        monkeypatch.setattr(module, "Limits", lambda: Limits(least=0))
    monkeypatch.setattr(automatic, "Plan", lambda: Plan(warm=0, samples=1, settle=0, gain=1e6))
    monkeypatch.setattr(Sample, "waits", lambda self, plan: True)
    monkeypatch.setattr("lect.runtime.graphs.cuda.CudaDevice.reached", lambda self, mark: mark.synchronize() is None)


@pytest.mark.parametrize("name", LOOPS)
def test_loop_has_the_values_of_eager_where_it_is_recorded_by_itself(name: str, by_itself: None) -> None:
    expected = LOOPS[name](lambda target: target, "cuda")
    found = LOOPS[name](lect.compile, "cuda")
    if name != "numbers_that_change":
        assert lect.events("recording") != []
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4, msg=lambda text, number=number: f"tensor {number}: {text}")


@pytest.mark.parametrize("rng", ["counter", "eager"])
def test_random_numbers_are_the_same_where_a_graph_is_recorded_by_itself(rng: str, by_itself: None) -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            x = F.dropout(torch.tanh(x @ x), 0.5) * 0.1
        return x

    x, found = torch.randn(64, 64, device="cuda"), {}
    for graphs in ("auto", "off"):
        lect.reset()
        run = lect.compile(noisy, options={"graphs": graphs, "rng": rng})
        torch.manual_seed(3)
        with torch.no_grad():
            found[graphs] = [run(x) for _ in range(40)]
            state = torch.cuda.get_rng_state()
            found[graphs] += [torch.rand(4, device="cuda"), run(x)]
            torch.cuda.set_rng_state(state)
            found[graphs] += [torch.rand(4, device="cuda"), run(x)]
            assert torch.equal(found[graphs][-1], found[graphs][-3])
        if graphs == "auto":
            assert [event.choice for event in lect.events("recording choice")] == ["recorded", "recordings stay"]  # type: ignore[attr-defined]
    assert all(torch.equal(a, b) for a, b in zip(found["auto"], found["off"], strict=True))


@custom_op("lect_tests::waits_for_the_device", mutates_args=())
def waits_for_the_device(x: torch.Tensor) -> torch.Tensor:
    return x * (2.0 if x.sum().item() > -1e30 else 1.0)


@waits_for_the_device.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def waiting(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x @ w).tanh()
    z = waits_for_the_device(y)
    return z @ w + y, z.t()


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("program", [*PROGRAMS, waiting])
def test_graphs_are_recorded_around_what_cannot_be(program: Any, mode: str, by_itself: None) -> None:
    found = {}
    for name, run in (("eager", program), ("lect", lect.compile(program, mode=mode))):
        torch.manual_seed(0)
        w, kept = torch.randn(8, 8).cuda() * 0.3, []
        with torch.no_grad():
            for step in range(24):
                given = run(batch(step % 3, "cuda", 8), w)
                kept += list(given) if isinstance(given, tuple) else [given]
        found[name] = [*kept, w]
    for a, b in zip(found["lect"], found["eager"], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    assert len(lect.events("recording split")) == 1
    assert sum(row.uses for row in table().rows()) > 0


@pytest.mark.parametrize("size", [64, 1 << 20, 1 << 24])
def test_kernels_that_are_there_early_wait_for_what_they_read_and_overwrite(size: int) -> None:
    """A chain in which each kernel reads what the one before wrote, other threads' elements of it, and overwrites what that one read; kernels of
    torch, a memset and a product of the library stand between them."""

    def chain(x: torch.Tensor, buffer: torch.Tensor) -> torch.Tensor:
        for step in range(6):
            buffer.copy_(x.flip(0) + step)  # the buffer was read by the last but one
            x = torch.cumsum(buffer.view(-1, 64) @ torch.eye(64, device="cuda"), 1).flatten() if step == 2 else buffer.roll(7) * 0.5
            x = x.index_put((torch.arange(2, device=x.device),), x[2:4]) if step == 4 else x
        return x + buffer.sum()

    run = compiled(chain)
    generator = torch.Generator("cuda").manual_seed(1)
    x, ours, eagers = [torch.zeros(size, device="cuda") for _ in range(3)]
    for _ in range(60):
        x.copy_(torch.randint(-8, 8, (size,), device="cuda", generator=generator))
        found, expected = run(x, ours), chain(x, eagers)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-2)
        assert torch.equal(ours, eagers)
    nothing_off()
    assert any(row.uses > 20 for row in table().rows())


def test_small_kernels_in_a_row_keep_their_order_over_many_replays() -> None:
    run = compiled(lambda x: _steps(x, 24))
    generator = torch.Generator("cuda").manual_seed(1)
    for _ in range(300):
        x = torch.randint(-8, 8, (96, 512), device="cuda", generator=generator).float()
        assert torch.equal(run(x), _steps(x, 24))
    nothing_off()


def _steps(x: torch.Tensor, count: int) -> torch.Tensor:
    """Sums of rows and of columns in turn, all of whole numbers below 2^24: no kernel can be one with the next."""
    for step in range(count):
        x = (x - x.amax(step % 2, keepdim=True)) % 17 + x.t().reshape(x.shape) % 5
    return x
