"""Graphs with operations that cannot be recorded: they are recorded in parts around these, with eager's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.library import custom_op

import lect
from lect.dialects import make_context
from lect.ir import parse_module
from lect.runtime import linking
from lect.runtime.graphs import attach, automatic
from lect.runtime.graphs.attach import simulated_device
from lect.runtime.graphs.family import Limits
from lect.runtime.graphs.measure import Plan
from lect.runtime.graphs.split import Part, split
from lect.runtime.graphs.table import table


@pytest.fixture(autouse=True)
def fresh() -> Any:
    lect.reset()
    yield
    lect.reset()


def found_in_the_middle(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = torch.tanh(x @ w) + 1
    z = torch.softmax(y @ w, -1)
    places = torch.nonzero(z[0] > 0.01)
    return (places * 2).sum() + (z * y).sum(), y.t(), places


def found_first(x: torch.Tensor, w: torch.Tensor) -> Any:
    places = torch.nonzero(x[0] > 0)
    return (x @ w).relu()[:, 1:], places + 1


def found_twice(x: torch.Tensor, w: torch.Tensor) -> Any:
    chosen = x[x > 0]
    y = (x @ w).exp() @ w
    return (chosen * 2).sum() + y, y[y > 1].mean(), w


def written_around(x: torch.Tensor, w: torch.Tensor) -> Any:
    w.mul_(0.5)
    chosen = x[x > 0].sum()
    w.add_(chosen * 1e-3)
    return x @ w + chosen


PROGRAMS = (found_in_the_middle, found_first, found_twice, written_around)


def run(program: Callable[..., Any], wrap: Callable[[Any], Any], steps: int = 9) -> list[torch.Tensor]:
    """What calls give, all of which is kept, and what they have made of the weight."""
    torch.manual_seed(0)
    w, compiled, kept = torch.randn(8, 8) * 0.3, wrap(program), []
    with torch.no_grad():
        for step in range(steps):
            found = compiled(torch.randn(8, 8, generator=torch.Generator().manual_seed(step % 4)), w)
            kept += list(found) if isinstance(found, tuple) else [found]
    return [*kept, w]


def recorded(target: Any) -> Any:
    return lect.compile(target, mode="reduce-overhead", options={"graphs": "simulated"})


@pytest.mark.parametrize("program", PROGRAMS)
def test_parts_have_the_values_of_eager(program: Callable[..., Any]) -> None:
    expected = run(program, lambda fn: fn)
    device = simulated_device()
    replayed = device.replayed
    found = run(program, recorded)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
        assert a.stride() == b.stride()
    assert device.replayed > replayed
    told = [str(event) for event in lect.events("recording split")]
    assert len(told) == 1
    assert "aten.nonzero.default: its elements decide a size" in told[0]
    assert {row.function for row in table().rows()} <= {f"{program.__name__} part {n} of {m}" for m in (1, 2, 3) for n in range(1, m + 1)}


@pytest.mark.parametrize("program", PROGRAMS)
def test_parts_are_recorded_by_themselves_in_the_default_mode(program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    device = simulated_device()
    monkeypatch.setattr(attach, "device_of", lambda func, kind: ("cpu", device))
    monkeypatch.setattr(linking, "may_be_recorded", lambda graphs, func: graphs != "off")
    monkeypatch.setattr(attach, "Limits", lambda: Limits(least=0))
    monkeypatch.setattr(automatic, "Plan", lambda: Plan(warm=0, samples=1, settle=0))
    expected = run(program, lambda fn: fn, 24)
    replayed = device.replayed
    found = run(program, lect.compile, 24)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
        assert a.stride() == b.stride()
    assert device.replayed > replayed
    assert len(lect.events("recording split")) == 1
    storages = table().storages()
    assert all(each.untyped_storage()._cdata not in storages for each in found)


@custom_op("lect_tests::asks_the_device", mutates_args=())
def asks_the_device(x: torch.Tensor) -> torch.Tensor:
    if simulated_device().recording:
        raise RuntimeError("operation not permitted when stream is capturing")
    return x * 2


@asks_the_device.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def around(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x @ w).tanh()
    z = asks_the_device(y)
    return z @ w + y, z.t()


def test_what_the_device_refuses_is_found_and_cut_around() -> None:
    expected = run(around, lambda fn: fn)
    device = simulated_device()
    replayed = device.replayed
    found = run(around, recorded, 9)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert device.replayed > replayed
    assert [event.text() for event in lect.events("recording split")] == [
        "2 parts are recorded, around lect_tests.asks_the_device.default: operation not permitted when stream is capturing"
    ]


def test_the_exception_of_a_part_is_the_programs() -> None:
    def picked(x: torch.Tensor, at: torch.Tensor) -> Any:
        chosen = x[x > 0]
        return torch.index_select(torch.tanh(x @ x), 0, at) + chosen.sum()

    compiled = recorded(picked)
    x, at = torch.randn(4, 4), torch.tensor([0, 3])
    for _ in range(5):
        torch.testing.assert_close(compiled(x, at), picked(x, at))
    with pytest.raises(IndexError) as expected:
        picked(x, torch.tensor([0, 9]))
    with pytest.raises(IndexError) as found:
        compiled(x, torch.tensor([0, 9]))
    assert str(found.value) == str(expected.value)
    torch.testing.assert_close(compiled(x, at), picked(x, at))


X = "!host.tensor<4xf32>"


def parts_of(lines: str, parameters: str = f"%x: {X}", least: int = 1) -> list[Part]:
    """The parts of a program around `aten.nonzero`, each of which is right."""
    func: Any = parse_module(f"host.func @f.graph({parameters}) {{\n{lines}\n}}\n", make_context()).body.first
    found = split(func, {}, lambda op: op.name == "host.extern" and op.callee.leaf == "aten.nonzero.default", least)
    for part in found:
        part.func.verify()
        for op in part.func.body:
            op.verify()
    return found


NONZERO = f"  %n = host.extern(%x) {{callee = @aten.nonzero.default, args = [#host.operand<0>]}} : {X}\n"


def test_a_program_of_nothing_else_has_no_parts() -> None:
    assert parts_of(NONZERO + "  host.return(%n)") == []


def test_what_is_too_little_is_not_recorded() -> None:
    sine = f"  %s = host.extern(%n) {{callee = @aten.sin.default, args = [#host.operand<0>]}} : {X}\n  host.return(%s)"
    assert [part.recorded for part in parts_of(NONZERO + sine)] == [False, True, False]
    assert parts_of(NONZERO + sine, least=8) == []


def test_memory_that_a_later_part_fills_is_known_to_be_written() -> None:
    lines = f"""
  %b = host.alloc() : !host.buffer<4xf32>
  %m = host.memory(%x) : !host.buffer<4xf32>
  host.launch(%m, %b) {{kernel = @k, grid = 1}}
{NONZERO}  host.free(%n)
  host.launch(%m, %b) {{kernel = @k, grid = 1}}
  %v = host.view(%b) : !host.tensor<2x2xf32>
  host.return(%v)"""
    first, middle, last, end = parts_of(lines)
    assert [part.recorded for part in (first, middle, last, end)] == [True, False, True, False]
    assert first.written == {0}  # of a kernel that is not at hand
    assert last.written == {0, 1}
    assert len(first.gives) == 1
    assert [str(value.type) for value in end.func.body.args] == ["!host.tensor<4xf32>"]  # the memory, of which the result is a view


def test_nothing_is_kept_longer_than_its_last_part() -> None:
    lines = f"""
  %s = host.extern(%x) {{callee = @aten.sin.default, args = [#host.operand<0>]}} : {X}
{NONZERO}  %t = host.extern(%s) {{callee = @aten.cos.default, args = [#host.operand<0>]}} : {X}
  host.free(%s)
  host.free(%n)
  host.return(%t)"""
    first, middle, last, _ = parts_of(lines)
    assert [[value.hint or value.op.name for value in part.gone] for part in (first, middle, last)] == [[], ["x"], ["s"]]


