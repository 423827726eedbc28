"""The default mode: a graph is recorded when the host is measured to hold the device up, and is not, or no longer, when it does not pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from lect.runtime.events import EventLog
from lect.runtime.graphs.automatic import AutomaticProgram
from lect.runtime.graphs.device import CaptureError
from lect.runtime.graphs.facts import ProgramFacts
from lect.runtime.graphs.family import Limits
from lect.runtime.graphs.measure import Plan
from lect.runtime.graphs.simulated import SimulatedDevice
from lect.runtime.graphs.table import Table

Times = tuple[float, float]


class Timed(SimulatedDevice):
    """A device on which calls and replays take the microseconds of the host and the device that tests say."""

    def __init__(self, plain: Times, replayed: Times) -> None:
        super().__init__()
        self.plain, self.replay = plain, replayed

    def capture(self, run: Callable[..., list[Any]], arguments: Sequence[Any], written: frozenset[int], launched: frozenset[int]) -> Any:
        found = super().capture(run, arguments, written, launched)
        replay = found.replay

        def timed() -> None:
            self.takes(*self.replay, pieces=1)
            replay()

        found.replay = timed  # type: ignore[method-assign]
        return found


def add(x: torch.Tensor) -> list[torch.Tensor]:
    return [x + 1]


class Case:
    """A program on such a device, and how often its plain form and the one that is recorded were called."""

    def __init__(
        self, plain: Times, replayed: Times = (5.0, 60.0), run: Callable[..., list[Any]] = add, arguments: int = 1, plan: Plan | None = None, **others: Any
    ) -> None:
        self.device = Timed(plain, replayed)
        self.plain = self.python = 0
        known: dict[str, Any] = {"written": frozenset(), "versions": (), "launched": frozenset(), "symbols": (), "library": False, "launches": 9, "obstacle": ""}
        seen, limits = others.pop("seen", None), others.pop("limits", None)
        facts = ProgramFacts("f", "cpu", arguments, **{**known, **others})
        self.table = Table()

        def native(*tensors: torch.Tensor) -> list[torch.Tensor]:
            self.plain += 1
            self.device.takes(*self.device.plain)
            return run(*tensors)

        def recorded(*tensors: torch.Tensor) -> list[torch.Tensor]:
            self.python += 1
            return run(*tensors)

        self.program = AutomaticProgram(native, recorded, facts, self.device, self.table, EventLog(), seen, limits, plan)

    def calls(self, count: int, idle: float = 100.0) -> list[torch.Tensor]:
        """Calls with 0, 1, 2 and so on, which have the right values; the host does something else between them.  What they gave first."""
        found = []
        with torch.no_grad():
            for step in range(count):
                found.append(self.program(torch.full((4,), float(step)))[0])
                assert found[-1].tolist() == [step + 1.0] * 4
                self.device.host += idle
        return found

    def told(self) -> list[str]:
        return [event.text() for event in self.program.log.events(("recording choice", "recording off"))]


def test_a_graph_that_waits_for_the_host_is_recorded() -> None:
    case = Case(plain=(900.0, 60.0))
    kept = case.calls(40)
    assert [each.tolist() for each in kept] == [[step + 1.0] * 4 for step in range(40)]
    assert (case.plain, case.device.recorded, case.device.replayed) == (9, 1, 30)
    assert case.told() == [
        "recorded: host 900 us, device 906 us a call",
        "recordings stay: host 900 us, device 906 us a call, with them host 5 us, device 65 us",
    ]


def test_a_graph_whose_device_is_busy_is_not() -> None:
    case = Case(plain=(300.0, 900.0))
    case.calls(40, idle=2000.0)
    assert (case.plain, case.python, case.device.recorded) == (40, 0, 0)
    assert case.told() == ["not recorded: host 300 us, device 930 us a call"]


def test_a_graph_behind_other_work_is_not() -> None:
    case = Case(plain=(300.0, 100.0))
    with torch.no_grad():
        for step in range(30):
            case.device.takes(50.0, 2000.0)  # of other graphs, which the device is busy with when this one is queued
            case.program(torch.full((4,), float(step)))
            if step % 10 == 9:
                case.device.host = case.device.ready + 1
    assert case.device.recorded == 0
    assert [text.partition(":")[0] for text in case.told()] == ["not recorded"]


def test_what_was_not_recorded_is_measured_again() -> None:
    case = Case(plain=(300.0, 900.0), plan=Plan(rests=(5,)))
    case.calls(20, idle=2000.0)
    case.device.plain = (900.0, 60.0)
    case.calls(40)
    assert case.device.recorded == 1
    assert case.told()[-1].startswith("recordings stay")


def test_recordings_that_cost_as_much_go() -> None:
    case = Case(plain=(900.0, 60.0), replayed=(10.0, 890.0))
    case.calls(60, idle=2000.0)
    assert case.told() == [
        "recorded: host 900 us, device 906 us a call",
        "recordings go: host 900 us, device 906 us a call, with them host 10 us, device 900 us",
        "runs without recordings: with recordings it takes as long",
    ]
    assert case.program.families == {}
    assert case.device.replayed < 10


def test_a_graph_that_cannot_be_replayed_is_recorded_no_longer() -> None:
    held: list[Any] = []

    def run(x: torch.Tensor) -> list[torch.Tensor]:
        return [x + 1, (x * 2).repeat(8)]

    case = Case(plain=(900.0, 60.0), run=run, seen=1, limits=Limits(small=0, cheap=0))
    with torch.no_grad():
        for step in range(200):
            y, kept = case.program(torch.full((4,), float(step)))
            held.append(kept)  # as a backward that does not come
            assert y.tolist() == [step + 1.0] * 4
            case.device.host += 50.0
    assert [each.tolist() for each in held] == [[2.0 * step] * 32 for step in range(200)]
    assert case.program.off
    assert case.plain > 100


def test_what_the_program_sees_lies_in_memory_of_its_own() -> None:
    case = Case(plain=(900.0, 60.0))
    kept = case.calls(30)
    storages = case.table.storages()
    assert storages
    assert all(each.untyped_storage()._cdata not in storages for each in kept)
    assert len({each.untyped_storage().data_ptr() for each in kept}) == 30


def test_results_of_one_memory_and_of_several_types_are_copied_out_together() -> None:
    def run(x: torch.Tensor) -> list[torch.Tensor]:
        y = x + 1
        return [y, y[1:], (x > 2), (x * 2).to(torch.float16)[:1], x.to(torch.complex64), torch.empty(0, 3), x.double().sum()]

    case = Case(plain=(900.0, 60.0), run=run)
    kept = []
    with torch.no_grad():
        for step in range(20):
            kept.append(case.program(torch.full((5,), float(step))))
            case.device.host += 50.0
    assert case.device.replayed > 8
    for step, results in enumerate(kept):
        expected = run(torch.full((5,), float(step)))
        assert [each.dtype for each in results] == [each.dtype for each in expected]
        assert [each.tolist() for each in results] == [each.tolist() for each in expected]
        assert results[0].untyped_storage().data_ptr() == results[1].untyped_storage().data_ptr()


def test_memory_grows_by_no_more_than_it_may() -> None:
    case = Case(plain=(900.0, 60.0), plan=Plan(bytes=10, share=0.05))
    case.device.most = 300  # of which a twentieth is 15 bytes, and a recording holds 16
    case.calls(30)
    assert case.device.replayed == 0
    assert case.told()[-1] == "runs without recordings: a recording would add 0 MB to the memory of the program; 0 MB may be added"


def test_nothing_is_recorded_where_memory_is_nearly_full() -> None:
    case = Case(plain=(900.0, 60.0), plan=Plan(bytes=100))
    case.device.most, case.device.left = 10_000_000, 1_900_000
    case.calls(30)
    assert case.device.recorded == 0
    assert case.told()[-1] == "runs without recordings: 2 MB of memory are left on the device, of 2 MB that there have to be"


def test_results_that_are_too_much_to_copy_are_not_recorded_at_all() -> None:
    case = Case(plain=(900.0, 60.0), plan=Plan(bytes=10, share=0.0))
    case.calls(30)
    assert (case.python, case.device.recorded) == (0, 0)
    assert [text.partition(":")[0] for text in case.told()] == ["not recorded", "runs without recordings"]


def test_recordings_by_which_memory_has_grown_go() -> None:
    case = Case(plain=(900.0, 60.0), plan=Plan(bytes=100))
    case.device.most = 10_000
    capture, freed = case.device.capture, []

    def grow(*arguments: Any) -> Any:
        case.device.most = 11_001
        return capture(*arguments)

    case.device.capture = grow  # type: ignore[method-assign]
    case.device.let_go = lambda: freed.append(len(case.table.recordings(AutomaticProgram)))  # type: ignore[method-assign]
    case.calls(40)
    assert case.told()[-1] == "runs without recordings: the most memory that tensors take has grown from 0 to 0 MB"
    assert freed == [0]


def test_what_a_forward_keeps_is_no_memory_that_is_added() -> None:
    case = Case(plain=(900.0, 60.0), run=lambda x: [x.sum().reshape(1).expand(4).clone() * 0 + x + 1, x.repeat(100)], seen=1, plan=Plan(bytes=32, share=0.0))
    case.calls(30)
    assert case.device.replayed > 0


def test_an_obstacle_is_told_where_it_matters() -> None:
    case = Case(plain=(300.0, 900.0), obstacle="aten.nonzero.default: its elements decide a size")
    case.calls(20, idle=2000.0)
    assert [text.partition(":")[0] for text in case.told()] == ["not recorded"]
    case = Case(plain=(900.0, 60.0), obstacle="aten.nonzero.default: its elements decide a size")
    case.calls(20)
    assert case.told() == ["not recorded: host 900 us, device 906 us a call", "runs without recordings: aten.nonzero.default: its elements decide a size"]


def test_a_capture_that_fails_changes_nothing() -> None:
    case = Case(plain=(900.0, 60.0))

    def refuse(*arguments: Any) -> Any:
        raise CaptureError("operation not permitted when stream is capturing")

    case.device.capture = refuse  # type: ignore[method-assign]
    case.calls(30)
    assert case.told()[-1] == "runs without recordings: operation not permitted when stream is capturing"
    assert case.python == 1


def test_an_exception_comes_out_of_the_plain_form() -> None:
    case = Case(plain=(900.0, 60.0))

    def run(*tensors: torch.Tensor) -> list[torch.Tensor]:
        raise MemoryError("of the form that is recorded")

    case.program.run = run
    case.calls(20)
    assert case.told()[-1] == "runs without recordings: MemoryError: of the form that is recorded"


def test_lists_of_arguments_are_emptied() -> None:
    case = Case(plain=(900.0, 60.0))

    def emptying(run: Callable[..., list[Any]]) -> Callable[[list[Any]], list[Any]]:
        def call(tensors: list[Any]) -> list[Any]:
            given = tuple(tensors)
            tensors.clear()
            return run(*given)

        return call

    call = case.program.consume(emptying(case.program.plain), emptying(case.program.run))
    with torch.no_grad():
        for step in range(30):
            given = [torch.full((4,), float(step))]
            assert call(given)[0].tolist() == [step + 1.0] * 4
            assert given == []
            case.device.host += 50.0
    assert case.device.replayed > 10


def test_what_is_written_is_written_once() -> None:
    def run(x: torch.Tensor) -> list[torch.Tensor]:
        x.add_(1)
        return [x * 2]

    case = Case(plain=(900.0, 60.0), run=run, written=frozenset({0}), versions=((0, 1),))
    state = torch.zeros(4)
    with torch.no_grad():
        for step in range(30):
            assert case.program(state)[0].tolist() == [2.0 * step + 2] * 4
            case.device.host += 50.0
    assert state.tolist() == [30.0] * 4
    assert case.device.replayed > 10


def test_nothing_is_measured_while_the_program_records_itself() -> None:
    case = Case(plain=(900.0, 60.0))
    case.device.recording = True
    case.calls(30)
    assert (case.plain, case.told()) == (30, [])
