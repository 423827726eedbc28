"""The loops on a device that is simulated: recordings give eager's values, and most calls are replays."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import lect
from lect.runtime import linking
from lect.runtime.graphs import attach, automatic
from lect.runtime.graphs import program as programs
from lect.runtime.graphs.attach import simulated_device
from lect.runtime.graphs.family import Limits
from lect.runtime.graphs.measure import Plan
from tests.graphs import natural_loops
from tests.graphs.natural_loops import LOOPS

# With the first, every result counts as small; with the second none, so that second recordings and copies are decided as for large ones.
LIMITS = {"small": Limits(), "large": Limits(small=0, cheap=64)}


@pytest.fixture(autouse=True)
def fresh() -> Any:
    lect.reset()
    yield
    lect.reset()


@pytest.fixture(params=LIMITS)
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Limits:
    """The limits that hold."""
    found = LIMITS[request.param]
    monkeypatch.setattr(programs, "Limits", lambda: found)
    return found


def compiled(target: Any) -> Any:
    return lect.compile(target, mode="reduce-overhead", options={"graphs": "simulated"})


def check(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert len(found) == len(expected)
    for number, (a, b) in enumerate(zip(found, expected)):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=lambda text, number=number: f"tensor {number}: {text}")


@pytest.mark.parametrize("name", LOOPS)
def test_loop_has_the_values_of_eager(name: str, limits: Limits) -> None:
    expected = LOOPS[name](lambda target: target, "cpu")
    device = simulated_device()
    recorded, replayed = device.recorded, device.replayed
    found = LOOPS[name](compiled, "cpu")
    check(found, expected)
    assert [str(each) for each in lect.events("recording off", "fallback", "note", "backward fallback")] == []
    assert device.recorded > recorded
    assert device.replayed > replayed


@pytest.fixture
def by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default mode, on a device that takes no time, so that each graph is taken to wait for the host."""
    device = simulated_device()
    monkeypatch.setattr(attach, "device_of", lambda func, kind: ("cpu", device))
    monkeypatch.setattr(linking, "may_be_recorded", lambda graphs, func: graphs != "off")
    monkeypatch.setattr(attach, "Limits", lambda: Limits(least=0))
    monkeypatch.setattr(automatic, "Plan", lambda: Plan(warm=0, samples=1, settle=0))


@pytest.mark.parametrize("name", LOOPS)
def test_loop_has_the_values_of_eager_where_it_is_recorded_by_itself(name: str, by_itself: None) -> None:
    expected = LOOPS[name](lambda target: target, "cpu")
    device = simulated_device()
    replayed = device.replayed
    check(LOOPS[name](lect.compile, "cpu"), expected)
    assert lect.events("recording choice", "recording off") != []
    assert device.replayed > replayed


class Counted(nn.Module):
    """What decides a size by elements, in the middle of a forward."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) + torch.nonzero(x[0].detach() > 0).sum() * 0.01


QUICK = ("loss_inside", "gradients_accumulated", "outputs_written_to", "graph_retained")


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in LOOPS])
def test_loop_has_the_values_of_eager_where_it_is_recorded_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = natural_loops.model
    monkeypatch.setattr(natural_loops, "model", lambda device, seed=0: nn.Sequential(*plain(device, seed), Counted(), nn.Linear(8, 8)))
    expected = LOOPS[name](lambda target: target, "cpu")
    device = simulated_device()
    replayed = device.replayed
    check(LOOPS[name](compiled, "cpu"), expected)
    assert device.replayed > replayed


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_loop_has_the_values_of_eager_in_parts_that_are_recorded_by_themselves(name: str, by_itself: None, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = natural_loops.model
    monkeypatch.setattr(natural_loops, "model", lambda device, seed=0: nn.Sequential(*plain(device, seed), Counted(), nn.Linear(8, 8)))
    expected = LOOPS[name](lambda target: target, "cpu")
    check(LOOPS[name](lect.compile, "cpu"), expected)
    assert lect.events("recording choice", "recording split") != []


def errors(wrap: Any, first: int) -> list[Any]:
    """Calls that write to a state, of which some raise from call `first` on: what each gives, the text of its exception, and the state."""

    def chosen(x: torch.Tensor, state: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        y = torch.index_select(torch.tanh(x @ x), 0, at)
        state.add_(y.sum())
        return y * 2

    run, state, found = wrap(chosen), torch.zeros(3), []
    for step in range(first + 6):
        at = torch.tensor([0, 9 if step >= first and step % 2 else 3])
        try:
            found.append(run(torch.full((4, 4), 0.1 * step), state, at))
        except IndexError as error:
            found.append(str(error))
        found.append(state.clone())
    return found


@pytest.mark.parametrize("mode", ["asked", "by itself"])
@pytest.mark.parametrize("first", range(8))
def test_errors_are_those_of_eager_whenever_they_come(mode: str, first: int, request: pytest.FixtureRequest) -> None:
    if mode == "by itself":
        request.getfixturevalue("by_itself")
    for a, b in zip(errors(compiled if mode == "asked" else lect.compile, first), errors(lambda target: target, first), strict=True):
        assert a == b if isinstance(b, str) else torch.allclose(a, b)
