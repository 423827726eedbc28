"""A compiled graph that is recorded when that is measured to be worth it, as in the default mode, where nobody has asked for recordings.

Here recordings promise more than where they were asked for:

- *What the program sees lies in memory of its own.*  Results are copied out of a recording, so they are as without it also for what liveness cannot tell:
  streams that read a result without holding it (`Tensor.record_stream`), other processes, and the size of a storage.  Only what a forward keeps for its
  backward stays in the recording, where autograd holds it.
- *Memory grows little.*  What recordings hold beyond that is counted, over all graphs of the process; one that would be too much is not made.
- *Where they do not pay, they go.*  A graph is recorded when the host is what its calls wait for, and is not when it costs as much with recordings as without,
  or when half of the calls find none that they can use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from lect.runtime.events import EventLog, RecordingChoice
from lect.runtime.graphs.device import Device
from lect.runtime.graphs.facts import ProgramFacts
from lect.runtime.graphs.family import Limits
from lect.runtime.graphs.measure import Meter, Plan, Times
from lect.runtime.graphs.memory import Results
from lect.runtime.graphs.program import RecordedProgram, Repair, Run, SetUp
from lect.runtime.graphs.recording import Recording
from lect.runtime.graphs.table import Table

TRIAL = 8  # recordings that a family may make before they have to have been worth it


class AutomaticProgram(RecordedProgram):
    """`plain` as long as nothing is recorded; `run` is its form that is.  The first `seen` results go to the program, of all when that is None.

    `split` gives what runs the program in parts, where something stands in the way of recording it as a whole; None where that cannot be.
    """

    def __init__(
        self,
        plain: Run,
        run: Run,
        facts: ProgramFacts,
        device: Device,
        table: Table,
        log: EventLog,
        seen: int | None = None,
        limits: Limits | None = None,
        plan: Plan | None = None,
        repair: Repair | None = None,
        split: Callable[[], Callable[[list[Any]], list[Any]] | None] | None = None,
    ) -> None:
        self.plain = plain
        self.obstacle = facts.obstacle
        self.seen = seen
        self.plan = plan or Plan()
        self.calls = 0
        self.resting = self.plan.warm  # calls that are not looked at
        self.rests = 0
        self.meter = Meter(device, self.plan)
        self.before = Times(0.0, 0.0)
        self.shown = 0  # bytes of results of a call that the program sees
        self.peak = 0  # the most memory before anything was recorded
        self.step: Callable[[Sequence[Any], Callable[[], list[Any]], Callable[[], list[Any]]], list[Any]] = self._measure
        self.split = split
        limits = replace(limits or Limits(), alike_large=1, trial=TRIAL, sparing=True)
        super().__init__(run, replace(facts, obstacle=""), device, table, log, limits, repair)

    def __call__(self, *arguments: Any) -> list[Any]:
        if self.resting > 0:
            self.resting -= 1
            return self.plain(*arguments)
        return self.step(arguments, partial(self.plain, *arguments), partial(self.run, *arguments))

    def consume(self, run: Callable[[list[Any]], list[Any]], set_up: Callable[[list[Any]], list[Any]] | None = None) -> Callable[[list[Any]], list[Any]]:
        """The same for a program that takes a list, which it empties; `run` is the plain form, and `set_up` the one that is recorded."""

        def call(arguments: list[Any]) -> list[Any]:
            if self.resting > 0:
                self.resting -= 1
                return run(arguments)
            results = self.step(arguments, partial(run, arguments), partial(set_up or run, arguments))
            arguments.clear()
            return results

        return call

    def forget(self) -> None:
        """Drop all recordings, and measure anew."""
        super().forget()
        with self.lock:
            if not self.off:
                self._look_again(self.plan.warm)

    def turn_off(self, reason: str) -> None:
        """Record nothing of this graph any more."""
        super().turn_off(reason)
        self.step = self._plain if self.step == self._measure else self._let_go

    def always_copied(self, results: Results) -> frozenset[int]:
        """What the program sees."""
        return results.storages_of(len(results.places) if self.seen is None else self.seen)

    def refused(self, recording: Recording) -> str:
        """Why a recording takes too much memory; empty when it does not."""
        return self._too_much(self._added(recording))

    def _too_much(self, added: int) -> str:
        """Why so many bytes may not be added to the memory of the program; empty when they may."""
        limit = max(self.plan.bytes, int(self.device.peak() * self.plan.share))
        others = sum(self._added(each) for each in self.table.recordings(AutomaticProgram))
        if added + others <= limit:
            return ""
        known = f", to which others have added {others / 1e6:.0f} MB" if others else ""
        return f"a recording would add {added / 1e6:.0f} MB to the memory of the program{known}; {limit / 1e6:.0f} MB may be added"

    def _little_room(self) -> str:
        """Says so where memory is so full that what recordings may add could be what the program lacks later; else empty."""
        room, wanted = self.device.room(), 2 * max(self.plan.bytes, int(self.plan.growth * self.device.peak()))
        return "" if room >= wanted else f"{room / 1e6:.0f} MB of memory are left on the device, of {wanted / 1e6:.0f} MB that there have to be"

    @staticmethod
    def _added(recording: Recording) -> int:
        """The bytes that would not be taken without a recording: all but what a forward keeps for its backward."""
        results = recording.results
        return recording.bytes - sum(size for number, size in enumerate(results.bytes) if number not in results.wholes)

    # ---- what a call does, by what is known ---------------------------------------------------------------------------

    def _plain(self, arguments: Sequence[Any], plain: Callable[[], list[Any]], set_up: Callable[[], list[Any]]) -> list[Any]:
        return plain()

    def _let_go(self, arguments: Sequence[Any], plain: Callable[[], list[Any]], set_up: Callable[[], list[Any]]) -> list[Any]:
        """The first call behind recordings, of which nothing is left."""
        self.step = self._plain if self.instead is None else self._in_parts
        if not self.device.busy():
            self.device.let_go()
        return self.step(arguments, plain, set_up)

    def _in_parts(self, arguments: Sequence[Any], plain: Callable[[], list[Any]], set_up: Callable[[], list[Any]]) -> list[Any]:
        """The program in parts, of which each measures itself."""
        assert self.instead is not None
        return self.instead(arguments if isinstance(arguments, list) else list(arguments))

    def _measure(self, arguments: Sequence[Any], plain: Callable[[], list[Any]], set_up: Callable[[], list[Any]]) -> list[Any]:
        """Nothing is recorded yet: measure the call, and decide when enough were measured."""
        if torch.is_grad_enabled() or self.device.busy():
            return plain()
        with self.lock:
            done = self.step == self._measure and self.meter.done()
            if done:
                self._decide()
        if done or self.step != self._measure:
            return plain()
        results = self.meter.call(plain)
        self.shown = bytes_of(results[: self.seen])
        return results

    def _decide(self) -> None:
        self.before = self.meter.times()
        waits = self.meter.waits()
        if waits and self.obstacle and self.split is not None:
            self.instead = self.split()
            if self.instead is not None:
                self.step = self._in_parts
                return
        off = (self.obstacle or self._too_much(self.shown) or self._little_room()) if waits else ""
        choice = "recorded" if waits and not off else "not recorded"
        if choice == "recorded" or not self.rests:  # it is told once
            self.log.add(RecordingChoice(self.facts.name, choice, *self.before))
        if not waits:
            rests = self.plan.rests
            self._look_again(rests[min(self.rests, len(rests) - 1)])
            self.rests += 1
        elif off:
            self.turn_off(off)
        else:
            self.peak = self.device.peak()
            self.meter, self.calls = Meter(self.device, self.plan), 0
            self.step = self._record_and_measure

    def _look_again(self, calls: int) -> None:
        """Measure behind so many calls."""
        self.meter, self.step, self.resting = Meter(self.device, self.plan), self._measure, calls

    def _record_and_measure(self, arguments: Sequence[Any], plain: Callable[[], list[Any]], set_up: Callable[[], list[Any]]) -> list[Any]:
        """Recordings are made: measure replays, and decide whether they stay."""
        if torch.is_grad_enabled() or self.device.busy():
            return plain()
        with self.lock:
            if self.step == self._record_and_measure and self.meter.done():
                self._compare()
        replays = self.replays
        if replays < self.plan.settle:
            return self._replay_or(arguments, plain, set_up)
        return self.meter.call(partial(self._replay_or, arguments, plain, set_up), lambda: self.replays != replays)

    def _compare(self) -> None:
        now = self.meter.times()
        pays = now.cost <= self.plan.gain * self.before.cost and not self._has_grown()
        self.log.add(RecordingChoice(self.facts.name, "recordings stay" if pays else "recordings go", *self.before, *now))
        if pays:
            self.step, self.calls, self.replays = self._replay_or, 0, 0
        else:
            self.turn_off(self._has_grown() or "with recordings it takes as long")

    def _has_grown(self) -> str:
        """Says so where the program has come to take more memory with recordings than it may; else empty."""
        peak = self.device.peak()
        if peak - self.peak <= max(self.plan.bytes, self.plan.growth * self.peak):
            return ""
        return f"the most memory that tensors take has grown from {self.peak / 1e6:.0f} to {peak / 1e6:.0f} MB"

    def _replay_or(self, arguments: Sequence[Any], plain: Callable[[], list[Any]], set_up: Callable[[], list[Any]]) -> list[Any]:
        """Replay, or run without a recording."""
        if torch.is_grad_enabled() or self.device.busy():
            return plain()
        self.calls += 1
        if self.calls >= self.plan.window and not self._pays():
            return plain()
        found = self.recorded(arguments)
        if found is None:
            return plain()
        return self._set_up(arguments, plain, set_up) if isinstance(found, SetUp) else found

    def _pays(self) -> bool:
        """Whether most of the last calls were replays; else nothing is recorded any more."""
        with self.lock:
            if self.off:
                return False
            off = f"only {self.replays} of {self.calls} calls could be replayed" if 2 * self.replays < self.calls else self._has_grown()
            self.peak = max(self.peak, self.device.peak())  # what grows later has other reasons
            if off:
                self.turn_off(off)
                return False
            self.calls = self.replays = 0
        return True

    def _set_up(self, arguments: Sequence[Any], plain: Callable[[], list[Any]], set_up: Callable[[], list[Any]]) -> list[Any]:
        """Run the form that is recorded.  Where that raises the program runs as ever, so that the exception comes from where it is expected."""
        if self.facts.written or isinstance(arguments, list):  # which is empty then
            return set_up()
        try:
            return set_up()
        except Exception as error:
            self.turn_off(f"{type(error).__name__}: {error}")
            return plain()


def bytes_of(tensors: Sequence[Any]) -> int:
    """The bytes of the storages of tensors."""
    storages = {each.untyped_storage()._cdata: each.untyped_storage().nbytes() for each in tensors}
    return sum(storages.values())
