"""What is told of recordings, when none are made, and how they are let go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import lect
from lect.runtime.events import EventLog
from lect.runtime.graphs.attach import simulated_device
from lect.runtime.graphs.device import CaptureError
from lect.runtime.graphs.facts import ProgramFacts
from lect.runtime.graphs.family import Limits
from lect.runtime.graphs.library_state import library_state
from lect.runtime.graphs.memory import Results, Unsuitable, buffer_like, flat
from lect.runtime.graphs.program import RecordedProgram
from lect.runtime.graphs.simulated import SimulatedDevice
from lect.runtime.graphs.table import Table, table
from lect.runtime.report.page import page_data
from lect.runtime.report.recording import Recorder


@pytest.fixture(autouse=True)
def fresh() -> Any:
    lect.reset()
    yield
    lect.reset()


def facts(arguments: int = 1, **others: Any) -> ProgramFacts:
    known: dict[str, Any] = {"written": frozenset(), "versions": (), "launched": frozenset(), "symbols": (), "library": False, "launches": 1, "obstacle": ""}
    return ProgramFacts("f", "cpu", arguments, **{**known, **others})


def program(run: Callable[..., list[Any]], device: SimulatedDevice | None = None, limits: Limits | None = None, **others: Any) -> RecordedProgram:
    return RecordedProgram(run, facts(**others), device or SimulatedDevice(), Table(), EventLog(), limits)


def kinds(made: RecordedProgram) -> list[str]:
    return [event.kind for event in made.log.events()]


class Failing(SimulatedDevice):
    """A device that records nothing."""

    def capture(self, run: Callable[..., list[Any]], arguments: Sequence[Any], written: frozenset[int], launched: frozenset[int]) -> Any:
        raise CaptureError("operation not permitted when stream is capturing")


def test_calls_are_replays_of_one_recording() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [x + 1], device)
    with torch.no_grad():
        for step in range(8):
            assert made(torch.full((4,), float(step)))[0].tolist() == [step + 1.0] * 4
    assert (device.recorded, device.replayed) == (1, 7)
    assert [str(event) for event in made.log.events()] == [
        "recording f: 1 steps, 0.0 MB, copies arguments 0, 0 arguments patched where they move: first recording"
    ]


def test_nothing_is_recorded_where_gradients_are() -> None:
    made = program(lambda x: [x + 1])
    for _ in range(4):
        made(torch.ones(4))
    assert kinds(made) == []


def test_what_the_device_refuses_runs_as_before_and_is_told_once() -> None:
    made = program(lambda x: [x + 1], Failing())
    with torch.no_grad():
        assert all(made(torch.full((2,), float(step)))[0].tolist() == [step + 1.0] * 2 for step in range(8))
    assert [str(event) for event in made.log.events()] == ["recording off f: runs without recordings: operation not permitted when stream is capturing"]


class Full(SimulatedDevice):
    """A device that has no memory left for what it has recorded."""

    def capture(self, run: Callable[..., list[Any]], arguments: Sequence[Any], written: frozenset[int], launched: frozenset[int]) -> Any:
        found = super().capture(run, arguments, written, launched)

        def refuse() -> None:
            raise RuntimeError("CUDA error: out of memory")

        found.replay = refuse  # type: ignore[method-assign]
        return found


def test_a_recording_that_does_not_start_for_want_of_memory_is_none() -> None:
    def add(x: torch.Tensor) -> list[torch.Tensor]:
        x.add_(1)
        return [x * 2]

    made = program(add, Full(), written=frozenset({0}), versions=((0, 1),))
    x = torch.zeros(2)
    with torch.no_grad():
        assert [made(x)[0].tolist() for _ in range(5)] == [[2.0 * step] * 2 for step in range(1, 6)]
    assert [str(event) for event in made.log.events(("recording off",))] == ["recording off f: runs without recordings: CUDA error: out of memory"]


def test_an_obstacle_is_told_and_nothing_recorded() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [x + 1], device, obstacle="aten.nonzero.default: its elements decide a size")
    with torch.no_grad():
        for _ in range(4):
            made(torch.ones(2))
    assert device.recorded == 0
    assert made.log.events(("recording off",))[0].text() == "runs without recordings: aten.nonzero.default: its elements decide a size"


def test_an_exception_of_the_program_is_the_programs() -> None:
    def run(x: torch.Tensor) -> list[torch.Tensor]:
        if x.sum() > 100:
            raise IndexError("out of range")
        return [x * 2]

    made = program(run)
    with torch.no_grad():
        for _ in range(3):
            made(torch.ones(4))
        with pytest.raises(IndexError, match="out of range"):
            made(torch.full((5,), 1000.0)[1:])
        assert made(torch.ones(4))[0].tolist() == [2.0] * 4


def test_recording_stops_where_it_is_not_worth_it() -> None:
    made = program(lambda x: [x + 1], limits=Limits(cheap=0, alike=1000, trial=6, recordings=3, changes=1000))
    kept = torch.zeros(64, 4)
    with torch.no_grad():
        for step in range(32):
            row = kept[step // 2]
            row.fill_(step)
            assert made(row)[0].tolist() == [step + 1.0] * 4
    assert len(made.log.events(("recording",))) == 6
    assert "recorded 6 times" in made.log.events(("recording off",))[0].text()


def test_results_stay_valid_when_recordings_are_dropped() -> None:
    made = program(lambda x: [x + 1, x * 2])
    with torch.no_grad():
        for step in range(4):
            kept = made(torch.full((4,), float(step)))
        made.forget()
        for step in range(4):
            made(torch.full((4,), 100.0 + step))
    assert [each.tolist() for each in kept] == [[4.0] * 4, [6.0] * 4]


def test_results_that_share_memory_share_it_in_a_replay() -> None:
    def run(x: torch.Tensor) -> list[torch.Tensor]:
        y = x + 1
        return [y, y[1:], y]

    made = program(run, limits=Limits(small=0, alike=1))
    kept = []
    with torch.no_grad():
        for step in range(8):
            y, part, again = made(torch.full((4,), float(step)))
            y[2] = 50.0
            kept.append((y, part, again))
    for step, (y, part, again) in enumerate(kept):
        assert y.tolist() == [step + 1.0, step + 1.0, 50.0, step + 1.0]
        assert part.tolist() == y.tolist()[1:]
        assert again.tolist() == y.tolist()


class Spread(SimulatedDevice):
    """A device on which each argument stands in many steps."""

    def capture(self, run: Callable[..., list[Any]], arguments: Sequence[Any], written: frozenset[int], launched: frozenset[int]) -> Any:
        found = super().capture(run, arguments, written, launched)
        found.patchable = lambda number: 50  # type: ignore[method-assign]
        return found


@pytest.mark.parametrize(("device", "patched", "copied"), [(SimulatedDevice(), 5, ()), (Spread(), 1, (0,))])
def test_what_stands_in_many_steps_is_copied_when_it_moves_again(device: SimulatedDevice, patched: int, copied: tuple[int, ...]) -> None:
    made = program(lambda x: [x + 1], device, launched=frozenset({0}))
    kept = [torch.full((4,), float(step)) for step in range(7)]
    with torch.no_grad():
        for step in range(7):
            assert made(kept[step])[0].tolist() == [step + 1.0] * 4
    assert device.patched == patched
    assert made.log.events(("recording",))[-1].copied == copied


def test_results_that_are_views_are_recorded() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [(x + 1).view(2, 2), (x * 2)[1:]], device)
    with torch.no_grad():
        for step in range(6):
            square, part = made(torch.full((4,), float(step)))
            assert square.tolist() == [[step + 1.0] * 2] * 2
            assert part.tolist() == [step * 2.0] * 3
            assert step == 0 or square._base is None  # the first call is not replayed
    assert device.replayed == 5


def test_other_recordings_of_the_program_are_not_disturbed() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [x + 1], device)
    device.recording = True
    with torch.no_grad():
        for _ in range(4):
            made(torch.ones(4))
    assert device.recorded == 0


def test_streams_have_recordings_of_their_own() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [x + 1], device)
    with torch.no_grad():
        for step in range(12):
            device.current = step % 2
            made(torch.full((4,), float(step)))
    assert device.recorded == 2


def test_settings_of_the_library_have_recordings_of_their_own() -> None:
    """What the library computes with is chosen when a recording is made; here it is the settings that a replay would take."""
    device = SimulatedDevice()
    made = program(lambda x: [x + float(torch.backends.cuda.matmul.allow_fp16_accumulation)], device, library=True)
    setting = torch.backends.cuda.matmul
    before = setting.allow_fp16_accumulation
    try:
        with torch.no_grad():
            for step in range(16):
                setting.allow_fp16_accumulation = step % 4 > 1
                assert made(torch.full((4,), float(step)))[0].tolist() == [float(step) + (step % 4 > 1)] * 4
    finally:
        setting.allow_fp16_accumulation = before
    assert device.recorded == 2


@pytest.mark.parametrize("name", ["matmul", "cudnn"])
def test_each_setting_is_seen(name: str) -> None:
    before, matmul = library_state(), torch.backends.cuda.matmul
    old = matmul.allow_tf32
    if name == "cudnn":  # only in a context, once torch's own test tools are imported
        with torch.backends.cudnn.flags(allow_tf32=not torch.backends.cudnn.allow_tf32):
            assert library_state() != before
    else:
        matmul.allow_tf32 = not old
        try:
            assert library_state() != before
        finally:
            matmul.allow_tf32 = old
    before = library_state()  # which may name the default now, where nothing was said
    with torch.backends.cudnn.flags(benchmark=not torch.backends.cudnn.benchmark):
        assert library_state() != before
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert library_state() != before
    assert library_state() == before


def sized(program: RecordedProgram, *sizes: int) -> None:
    """Calls with vectors of these sizes, which have the right values."""
    with torch.no_grad():
        for step, size in enumerate(sizes):
            assert program(torch.full((size,), float(step)))[0].tolist() == [step + 1.0] * size


def test_sizes_have_recordings_of_their_own_up_to_a_limit() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [x + 1], device, limits=Limits(families=3), symbols=(0,))
    sized(made, *[3, 4, 5, 6, 7] * 8)
    assert {row.sizes for row in made.table.rows()} == {"3", "4", "5"}
    assert [event.text() for event in made.log.events(("recording off",))] == [
        "runs without recordings: 3 sets of sizes or streams have recordings; others run as they are"
    ]


def test_sizes_that_come_no_longer_give_way() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [x + 1], device, limits=Limits(families=2, stale=10), symbols=(0,))
    sized(made, *[3] * 6, *[4] * 6, *[5] * 20, *[6] * 20)
    assert {row.sizes for row in made.table.rows()} == {"5", "6"}
    assert len(made.log.events(("recording dropped",))) >= 2
    assert len(made.families) == 2


def test_sizes_that_come_once_take_no_place() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [x + 1], device, limits=Limits(families=2, candidates=8), symbols=(0,))
    sized(made, *range(1, 100), *[200] * 8)
    assert {sizes for (*_, sizes), family in made.families.items() if family.recordings} == {(((200,), (1,)),)}
    assert device.replayed >= 5
    assert len(made.families) <= 9


def test_results_seen_by_others_are_refused() -> None:
    held = torch.ones(4)
    other = held.detach()
    results = Results([held], [])
    with pytest.raises(Unsuitable, match="seen by more"):
        results.settle()
    del other


def test_a_number_out_of_a_large_recording_is_copied_out_at_once() -> None:
    device = SimulatedDevice()
    made = program(lambda x: [x + 1, x.sum()], device, limits=Limits(small=0))
    kept = []
    with torch.no_grad():
        for step in range(8):
            kept.append(made(torch.full((4,), float(step)))[1])
    assert [each.item() for each in kept] == [4.0 * step for step in range(8)]
    assert (device.recorded, device.replayed) == (1, 7)


def test_a_result_in_the_memory_of_two_arguments_is_refused() -> None:
    whole = torch.ones(8)
    with pytest.raises(Unsuitable, match="arguments 0, 1 share the memory of a result"):
        Results([whole[2:]], [whole[:4], whole[4:]])


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12.0).view(3, 4).t(),
        torch.arange(24.0).view(3, 8)[:, 1::2],
        torch.arange(4.0).expand(3, 4),
        torch.tensor(5.0).expand(2, 2),
        torch.arange(10.0)[3:],
        torch.tensor(1.0),
        torch.ones(0, 3),
    ],
)
def test_arguments_of_any_layout_are_copied(tensor: torch.Tensor) -> None:
    buffer = buffer_like(tensor, "cpu")
    flat(buffer).copy_(flat(tensor))
    assert torch.equal(buffer, tensor)
    assert buffer.stride() == tensor.stride()


def test_the_table_and_reset() -> None:
    net = torch.nn.Linear(4, 4)
    run = lect.compile(net, mode="reduce-overhead", options={"graphs": "simulated"})
    for step in range(4):
        run(torch.full((2, 4), float(step))).sum().backward()
        net.zero_grad()
    assert {row.function for row in table().rows()} == {"Linear.forward", "Linear.forward (backward)"}
    text = str(lect.explain(run)(torch.ones(2, 4)))
    assert "recording: Linear.forward: 1 steps" in text
    shown = page_data(Recorder(EventLog()))["recordings"]
    assert [(each["function"], each["nodes"], each["reason"]) for each in shown["made"]][-1] == ("Linear.forward (backward)", 1, "first recording")
    assert shown["left"] == []
    before = simulated_device().recorded
    lect.reset()
    assert table().rows() == []
    run(torch.ones(2, 4))
    assert simulated_device().recorded == before


def test_the_table_says_what_is_left_and_names_sizes_of_run_time() -> None:
    all_of, device = Table(), SimulatedDevice()
    made = RecordedProgram(lambda x: [x + 1], facts(symbols=(0,)), device, all_of, EventLog())
    left = RecordedProgram(lambda x: [x + 1], facts(obstacle="aten.nonzero.default: its elements decide a size"), device, all_of, EventLog())
    sized(made, 5, 5, 7, 7)
    assert [(row.sizes, row.uses) for row in all_of.rows()] == [("5", 1), ("7", 1)]
    assert all_of.rows("f")[0].text().startswith("f for 5: 1 steps, 0.0 MB, 1 replays, ")
    assert [row.text() for row in all_of.left("f")] == ["f: aten.nonzero.default: its elements decide a size"]
    assert left.off
    assert all_of.left("g") == []


def test_on_the_cpu_the_mode_records_nothing() -> None:
    before = simulated_device().recorded
    run = lect.compile(lambda x: x.exp() + 1, mode="reduce-overhead")
    for _ in range(4):
        run(torch.ones(4))
    assert (simulated_device().recorded, lect.events("recording", "recording off")) == (before, [])
