"""Programs that call, keep, write to, drop and differentiate at random: with recordings they have the values of the same compiles without.

Without and not eager, as a backward that raises in the middle has given other gradients before there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
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
from tests.graphs.test_loops import Counted

STEPS = 60
LIMITS = (Limits(), Limits(small=0, cheap=64), Limits(alike=1, recordings=2), Limits(families=1, stale=3))


def count(x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    state.mul_(0.9).add_(x.mean(0))
    return x * state + 1, x.t()


class Program:
    """What a program does, by a generator of choices: two networks, of which one may have a size that elements decide, and a function that writes to a state."""

    def __init__(self, wrap: Callable[[Any], Any], seed: int) -> None:
        torch.manual_seed(0)
        self.choose = random.Random(seed)
        first = nn.Sequential(nn.Linear(8, 16), nn.GELU(), *([Counted()] if seed % 3 == 2 else []), nn.Linear(16, 8))
        second = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU())
        self.parameters = [*first.parameters(), *second.parameters()]
        self.state = torch.zeros(8)
        self.nets, self.count = (wrap(first), wrap(second)), wrap(count)
        self.inputs = [torch.randn(4, 8, generator=torch.Generator().manual_seed(number)) for number in range(5)]
        self.live: list[torch.Tensor] = []
        self.found: list[torch.Tensor] = []

    def run(self) -> list[torch.Tensor]:
        """What was seen in all steps, and the parameters and gradients behind them."""
        steps = [self.call, self.call, self.call, self.call_quietly, self.count_up, self.differentiate, self.drop, self.descend, self.write, self.change]
        for _ in range(STEPS):
            self.choose.choice(steps)()
            self.found += [each.detach().clone() for each in self.live[-2:]] + [self.state.clone()]
            del self.live[:-8]
        return [*self.found, *[each.detach() for each in self.parameters], *[each.grad for each in self.parameters if each.grad is not None]]

    def given(self) -> torch.Tensor:
        if not self.live or self.choose.random() < 0.7:
            return self.choose.choice(self.inputs)
        x = self.choose.choice(self.live)
        return x if self.choose.random() < 0.3 else x.detach()

    def call(self) -> None:
        self.live.append(self.choose.choice(self.nets)(self.given()))

    def call_quietly(self) -> None:
        with torch.no_grad():
            self.call()

    def count_up(self) -> None:
        with torch.no_grad():
            found = self.count(self.given().detach(), self.state)
        self.found += [each.clone() for each in found]
        self.live += found[: self.choose.randrange(2)]

    def differentiate(self) -> None:
        y = self.choose.choice(self.live) if self.live else self.state
        if y.requires_grad:
            with suppress(RuntimeError):  # a second time, or something was written to
                y.square().mean().backward(retain_graph=self.choose.random() < 0.3)

    def drop(self) -> None:
        if self.live:
            self.live.pop(self.choose.randrange(len(self.live)))

    def descend(self) -> None:
        with torch.no_grad():
            for each in self.parameters:
                if each.grad is not None:
                    each -= 0.01 * each.grad
        how = self.choose.random()
        for each in self.parameters:
            each.grad = None if how < 0.4 or each.grad is None else torch.zeros_like(each.grad) if how < 0.6 else each.grad

    def write(self) -> None:
        y = self.choose.choice(self.live) if self.live else self.state
        with torch.no_grad():
            if not y.requires_grad:
                y.mul_(0.5)

    def change(self) -> None:
        self.choose.choice(self.inputs).add_(0.125)


@pytest.mark.parametrize("mode", ["asked", "by itself"])
@pytest.mark.parametrize("seed", [seed if seed < 3 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(60)])
def test_recordings_change_nothing(mode: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lect.reset()
    expected = Program(lambda fn: lect.compile(fn, options={"graphs": "off"}), seed).run()
    lect.reset()
    device, limits = simulated_device(), LIMITS[seed % len(LIMITS)]
    for module in (programs, automatic):
        monkeypatch.setattr(module, "Limits", lambda: limits)
    if mode == "by itself":
        monkeypatch.setattr(attach, "device_of", lambda func, kind: ("cpu", device))
        monkeypatch.setattr(linking, "may_be_recorded", lambda graphs, func: graphs != "off")
        monkeypatch.setattr(attach, "Limits", lambda: Limits(least=0))
        monkeypatch.setattr(automatic, "Plan", lambda: Plan(warm=0, samples=1, settle=0, window=8))
    options = {"graphs": "simulated"} if mode == "asked" else {}
    replayed = device.replayed
    found = Program(lambda fn: lect.compile(fn, options=options), seed).run()
    lect.reset()
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=lambda text, number=number: f"tensor {number}: {text}")
    assert device.replayed > replayed
