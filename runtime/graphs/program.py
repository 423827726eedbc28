"""A compiled graph that is recorded: called like the graph itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from lect.runtime.events import EventLog, GraphDropped, GraphRecorded, RecordingOff
from lect.runtime.graphs.device import CaptureError, Device
from lect.runtime.graphs.facts import ProgramFacts
from lect.runtime.graphs.family import Chosen, Family, Limits, Wanted
from lect.runtime.graphs.memory import Results, Unsuitable, buffer_like
from lect.runtime.graphs.recording import Recording, overlaps
from lect.runtime.graphs.table import Table

FAILURES = 2  # captures that may fail before a graph is not recorded any more
SCALAR = 16  # bytes of results that are copied out of large recordings from the beginning
Run = Callable[..., list[Any]]
Repair = Callable[[BaseException], Callable[[list[Any]], list[Any]] | None]


class SetUp:
    """Stands for the results of a call that has to run as it will be recorded, without being recorded: libraries and kernels set themselves up in it."""


SET_UP = SetUp()


class RecordedProgram:
    """`run` with recordings.  The first call of a thread with new sizes runs as it is: libraries and kernels set themselves up then.

    `off` says why nothing is recorded, empty while it is.  `repair` is asked for another program when the device has refused to record this one, and told what
    was raised; that takes a list of the arguments.
    """

    def __init__(
        self,
        run: Run,
        facts: ProgramFacts,
        device: Device,
        table: Table,
        log: EventLog,
        limits: Limits | None = None,
        repair: Repair | None = None,
    ) -> None:
        self.run = run
        self.facts = facts
        self.device = device
        self.table = table
        self.log = log
        self.limits = limits or Limits()
        self.lock = threading.RLock()
        self.families: dict[Any, Family] = {}
        self.failures = 0
        self.replays = 0
        self.asked = 0
        self.full = False
        self.off = ""
        self.repair = repair
        self.instead: Callable[[list[Any]], list[Any]] | None = None
        table.programs.add(self)
        if facts.obstacle:
            self.turn_off(facts.obstacle)
        elif facts.launches < self.limits.least and facts.device != "cpu":
            self.turn_off(f"so few launches ({facts.launches}) take no longer by themselves")

    def __call__(self, *arguments: Any) -> list[Any]:
        if self.instead is not None:
            return self.instead(list(arguments))
        found = self.recorded(arguments)
        return self.run(*arguments) if found is None or isinstance(found, SetUp) else found

    def consume(self, run: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
        """The same for a program that takes a list, which it empties; `run` does so without recordings."""

        def call(arguments: list[Any]) -> list[Any]:
            if self.instead is not None:
                return self.instead(arguments)
            found = self.recorded(arguments)
            if found is None or isinstance(found, SetUp):
                return run(arguments)
            arguments.clear()
            return found

        return call

    def forget(self) -> None:
        """Drop all recordings."""
        with self.lock:
            self.families = {}
            self.failures = 0

    def recorded(self, arguments: Sequence[Any]) -> list[Any] | SetUp | None:
        """The results of a replay; None, or `SET_UP`, when this call runs without one.  Then nothing has been done."""
        if self.off or torch.is_grad_enabled() or self.device.busy():
            return None
        with self.lock:
            family = self._family(arguments)
            addresses = [each.data_ptr() for each in arguments]
            choice, thread = family.choose(arguments, addresses, self.table.storages), threading.get_ident()
            if isinstance(choice, Wanted):
                if not self._has_room(family):
                    return None
                if thread in family.threads:
                    return self._record(family, arguments, addresses, choice)
            elif isinstance(choice, Chosen):
                self.replays += 1
                return choice.recording.run(arguments, addresses, choice.changes, family.kept, False)
            if thread in family.threads:
                return None
            family.threads.add(thread)
            return SET_UP

    def always_copied(self, results: Results) -> frozenset[int]:
        """The numbers of storages that are copied out in each replay of a new recording, whoever sees them."""
        return frozenset()

    def refused(self, recording: Recording) -> str:
        """Why a recording that was made is not taken, and none are made any more; empty when it is taken."""
        return ""

    def _family(self, arguments: Sequence[Any]) -> Family:
        """The recordings for these sizes, on this stream, in this mode of autograd, for what the program has set of the library."""
        sizes = tuple([(tuple(arguments[number].shape), arguments[number].stride()) for number in self.facts.symbols])
        state = self.device.library_state() if self.facts.library else None
        key = (self.device.stream(), torch.is_inference_mode_enabled(), state, sizes)
        found = self.families.get(key)
        self.asked += 1
        if found is None:
            found = self.families[key] = Family(self.facts, self.limits)
            found.last = self.asked
            candidates = [each for each, family in self.families.items() if not family.recordings]
            if len(candidates) > self.limits.candidates:
                del self.families[min(candidates, key=lambda each: self.families[each].last)]
        found.last = self.asked
        return found

    def _has_room(self, family: Family) -> bool:
        """Whether a family may have its first recording, for which another one that is not used any more may lose its own."""
        if family.recordings:
            return True
        others = {key: each for key, each in self.families.items() if each.recordings}
        if len(others) < self.limits.families:
            return True
        key = min(others, key=lambda each: others[each].last)
        if self.asked - others[key].last > self.limits.stale:
            for recording in self.families.pop(key).recordings:
                self.log.add(GraphDropped(self.facts.name, recording.bytes, recording.uses))
            return True
        if not self.full:
            self.full = True
            self.log.add(RecordingOff(self.facts.name, f"{len(others)} sets of sizes or streams have recordings; others run as they are"))
        return False

    def _record(self, family: Family, arguments: Sequence[Any], addresses: list[int], wanted: Wanted) -> list[Any] | None:
        """Make a recording and replay it; None when that cannot be done."""
        if overlaps(wanted.copied, self.facts.written, arguments):
            return None
        try:
            buffers = {number: buffer_like(arguments[number], self.facts.device) for number in wanted.copied}
        except torch.OutOfMemoryError as error:
            self.turn_off(f"{type(error).__name__}: {error}")
            return None
        given = [buffers.get(number, each) for number, each in enumerate(arguments)]
        try:
            captured = self.device.capture(self.run, given, self.facts.written, self.facts.launched)
            results = Results(captured.results, given)
            captured.results = []  # they are held there
            family.kept |= self.always_copied(results)
            results.copy_always(family.kept)
            results.settle()
        except (CaptureError, Unsuitable) as error:
            self.failures += 1
            if self.failures >= FAILURES or isinstance(error, Unsuitable):
                self.turn_off(str(error))
                self.instead = self.repair(error.__cause__) if self.repair is not None and error.__cause__ is not None else None
            return None
        places = [buffers[number].data_ptr() if number in buffers else address for number, address in enumerate(addresses)]
        recording = Recording(captured, results, places, buffers, self.facts, wanted.reason)
        refused = self.refused(recording)
        if refused:
            self.turn_off(refused)
            return None
        if recording.bytes > self.limits.small:  # such as a loss, which is alive in the next call, where a second recording would cost too much memory
            family.kept |= {number for number, size in enumerate(results.bytes) if 0 < size <= SCALAR}
        family.add(recording)
        while family.dropped:
            gone = family.dropped.pop()
            self.log.add(GraphDropped(self.facts.name, gone.bytes, gone.uses))
        if family.done:
            self.log.add(RecordingOff(self.facts.name, f"it was recorded {family.made} times and replayed {family.replays} times; no more are made"))
        self.log.add(GraphRecorded(self.facts.name, captured.nodes, recording.bytes, tuple(wanted.copied), len(recording.patchable), wanted.reason))
        try:
            return recording.run(arguments, addresses, [], family.kept, True)
        except CaptureError as error:
            self.turn_off(str(error))
            return None

    def turn_off(self, reason: str) -> None:
        """Record nothing of this graph any more."""
        self.off = reason
        self.families = {}
        self.log.add(RecordingOff(self.facts.name, reason))
