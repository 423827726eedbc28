"""The recordings of one graph for one set of sizes, and which of them a call gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lect.runtime.graphs.facts import ProgramFacts
from lect.runtime.graphs.memory import span
from lect.runtime.graphs.recording import Recording


@dataclass(frozen=True)
class Limits:
    """Up to how many bytes a recording counts as small, and a result or argument as cheap to copy; how many recordings that differ in nothing but their memory
    a small one may have, and a large one; how many one family may have, and how many families with recordings a graph; behind how many changes an argument is
    copied.

    Where there are more sets of sizes than families, one that had no call among the last `stale` of the graph gives way to another; sizes that came once are
    remembered for up to `candidates` sets.

    Programs with fewer than `least` launches are not recorded: on a device these take no longer than to start a recording.  Behind `trial`
    recordings a family makes no more unless each was replayed `worth` times in the mean.  With `sparing` nothing is copied out that is not cheap.
    """

    small: int = 32 << 20
    cheap: int = 1 << 20
    alike: int = 4
    alike_large: int = 2
    recordings: int = 8
    families: int = 16
    candidates: int = 64
    stale: int = 256
    changes: int = 2
    least: int = 8
    trial: int = 24
    worth: int = 4
    sparing: bool = False


# Microseconds, measured on an H200: patching one step, and copying an argument beyond what a replay costs, with its bytes in each.
PATCH = 2.0
COPY = 11.0
COPIED_BYTES = 2e6


class Chosen(NamedTuple):
    """A recording for a call, and the arguments to patch."""

    recording: Recording
    changes: list[int]


class Wanted(NamedTuple):
    """A recording has to be made: the arguments that are copied, and why."""

    copied: list[int]
    reason: str


class Family:
    """Recordings, the oldest first.  `kept` are the numbers of the storages of results that are copied out, as they were found alive."""

    def __init__(self, facts: ProgramFacts, limits: Limits) -> None:
        self.facts = facts
        self.limits = limits
        self.device = facts.device.partition(":")[0]
        self.recordings: list[Recording] = []
        self.kept: frozenset[int] = frozenset()
        self.known: list[int] | None = None  # the addresses of the last call
        self.changed = [0] * facts.arguments
        self.dear = [0] * facts.arguments  # how often it would have been cheaper to copy what was patched
        self.threads: set[int] = set()
        self.calls = 0
        self.last = 0  # the number of the last call among all of the graph
        self.pinned = 0
        self.dropped: list[Recording] = []
        self.made = 0
        self.replays = 0

    @property
    def done(self) -> bool:
        """Whether recording has not been worth it, so that no more are made."""
        return self.made >= self.limits.trial and self.replays < self.made * self.limits.worth

    def choose(self, arguments: Sequence[Any], addresses: list[int], internal: Callable[[], frozenset[int]]) -> Chosen | Wanted | None:
        """What a call gets: a recording, one that is to be made, or None: then it runs without."""
        self.calls += 1
        best: Chosen | None = None
        alive: list[tuple[Recording, list[int]]] = []
        for recording in self.recordings:
            changes = recording.changes(addresses)
            if changes is None or not recording.takes(arguments):
                continue
            seen = recording.results.alive()
            if seen:
                alive.append((recording, seen))
            elif best is None or recording.cost(changes) < best.recording.cost(best.changes):
                best = Chosen(recording, changes)
                if not changes:
                    break
        if best is not None and best.changes and self._too_dear(best, arguments):
            self._drop(best.recording)
            best = None
        if best is not None:
            best.recording.last = self.calls
            self.pinned = 0
            self.replays += 1
            return best
        if self.done:
            return None
        try:
            copied = self._copied(arguments, addresses, internal)
            if copied is None:
                return None
            if not alive:
                return Wanted(copied, self._reason(copied))
            return self._beside(alive, copied)
        finally:
            self.known = addresses

    def _too_dear(self, chosen: Chosen, arguments: Sequence[Any]) -> bool:
        """Whether arguments are patched again and again in so many steps that it were cheaper to copy them."""
        found = False
        for number in chosen.changes:
            steps, size = chosen.recording.captured.patchable(number) or 0, span(arguments[number]) * arguments[number].element_size()
            if steps * PATCH > COPY + size / COPIED_BYTES and number not in self.facts.written:
                self.dear[number] += 1
                found = found or self.dear[number] >= self.limits.changes
        return found

    def _reason(self, copied: list[int]) -> str:
        if not self.recordings:
            return "first recording"
        others = "arguments lie elsewhere" if not copied else f"arguments {_listed(copied)} are copied"
        return f"no recording fits: {others}"

    def _copied(self, arguments: Sequence[Any], addresses: list[int], internal: Callable[[], frozenset[int]]) -> list[int] | None:
        """The arguments that a new recording has to copy; None when it is too early to record, as one that cannot be copied may still change."""
        known = self.known
        if known is None:
            return None
        copied, settled, limits, ours = [], True, self.limits, internal()
        for number, (argument, address) in enumerate(zip(arguments, addresses)):
            if argument.device.type != self.device:  # a number that lies on the CPU
                if argument.dim() or number in self.facts.written:
                    return None
                copied.append(number)
                continue
            if number in self.facts.launched and self.dear[number] < limits.changes:
                continue
            recorded = {each.addresses[number] for each in self.recordings if number not in each.buffers}
            many = self.changed[number] >= limits.changes or self.dear[number] >= limits.changes or len(recorded | {address}) > limits.alike
            if address == known[number] and not many:
                continue
            inside = argument.untyped_storage()._cdata in ours
            if inside and len(recorded | {address}) <= limits.alike:
                continue
            if number in self.facts.written:
                settled = settled and (address == known[number] or inside)
            elif many or span(argument) * argument.element_size() <= limits.cheap:
                copied.append(number)
            else:
                self.changed[number] += 1
                settled = False
        return copied if settled else None

    def _beside(self, alive: list[tuple[Recording, list[int]]], copied: list[int]) -> Wanted | None:
        """Recordings fit, and results of all of them are seen by somebody."""
        recording, seen = min(alive, key=lambda each: each[0].last)
        limits = self.limits
        new = frozenset(seen) - self.kept
        small = recording.bytes <= limits.small
        if not new:  # they were given out before it was known that they are kept
            self.pinned += 1
            if self.pinned < 2:
                return None
            self.pinned = 0
            self._drop(recording)
            return Wanted(copied, f"results {_listed(seen)} of the last one are kept for long")
        reason = f"results {_listed(seen)} are still in use"
        if len(alive) < (limits.alike if small else 1):
            return Wanted(copied, reason)
        sizes = recording.results.bytes
        cheap = sum(sizes[number] for number in new) <= max(limits.cheap, sum(sizes) // 8)
        if small or cheap or len(alive) >= limits.alike_large:
            if cheap or not limits.sparing:
                self.kept |= new
            return None
        return Wanted(copied, reason)

    def add(self, recording: Recording) -> None:
        """Take a recording in; the one that was used least lately may have to go for it."""
        if len(self.recordings) >= self.limits.recordings:
            self._drop(min(self.recordings, key=lambda each: each.last))
        recording.last = self.calls
        self.recordings.append(recording)
        self.made += 1

    def _drop(self, recording: Recording) -> None:
        self.recordings.remove(recording)
        self.dropped.append(recording)


def _listed(numbers: Sequence[int]) -> str:
    """Numbers in a text, not more than a few."""
    shown = ", ".join(map(str, numbers[:4]))
    return shown + (f" and {len(numbers) - 4} more" if len(numbers) > 4 else "")
