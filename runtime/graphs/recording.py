"""One recording: recorded work, the addresses that it reads, and its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from lect.runtime.graphs.device import Captured
from lect.runtime.graphs.facts import ProgramFacts
from lect.runtime.graphs.memory import Results, flat

ALIGNMENT = 16  # of addresses for which kernels are compiled: what is patched is aligned as what was there


class Recording:
    """Work that was recorded for arguments at `addresses`; those in `buffers` are copied there, and have any address.

    `reason` says why it was made, `uses` how often it ran, `last` when, as the number of the call.
    """

    def __init__(
        self, captured: Captured, results: Results, addresses: Sequence[int], buffers: dict[int, torch.Tensor], facts: ProgramFacts, reason: str
    ) -> None:
        self.captured = captured
        self.results = results
        self.addresses = list(addresses)
        self.buffers = buffers
        self.facts = facts
        self.reason = reason
        self.uses = 0
        self.last = 0
        self.patched = 0
        self.bytes = captured.bytes + sum(each.untyped_storage().nbytes() for each in buffers.values())
        self.fixed = [number for number in range(facts.arguments) if number not in buffers]
        self.patchable = frozenset(number for number in self.fixed if number in facts.launched and captured.patchable(number) is not None)

    def changes(self, addresses: Sequence[int]) -> list[int] | None:
        """The arguments whose addresses have to be patched for a replay with arguments at these; None when it cannot be had with them."""
        recorded = self.addresses
        found = [number for number in self.fixed if recorded[number] != addresses[number]]
        for number in found:
            if number not in self.patchable or (recorded[number] - addresses[number]) % ALIGNMENT:
                return None
        return found

    def cost(self, changes: Sequence[int]) -> int:
        """How many steps these changes touch."""
        return sum(self.captured.patchable(number) or 0 for number in changes)

    def takes(self, arguments: Sequence[Any]) -> bool:
        """Whether what is copied lies apart from what the program writes to, so that it makes no difference when it is copied."""
        return not overlaps(self.buffers, self.facts.written, arguments)

    def run(self, arguments: Sequence[Any], addresses: Sequence[int], changes: Sequence[int], copied: frozenset[int], counted: bool) -> list[Any]:
        """Replay for these arguments, whose changes must be patched; the results.

        Autograd counts what was written, unless that is `counted` already.
        """
        for number in changes:
            self.captured.patch(number, addresses[number])
            self.addresses[number] = addresses[number]
            self.patched += 1
        if self.buffers:
            torch._foreach_copy_([flat(each) for each in self.buffers.values()], [flat(arguments[number]) for number in self.buffers])
        self.captured.replay()
        if not counted:
            for number, times in self.facts.versions:
                for _ in range(times):
                    torch._C._increment_version((arguments[number],))
        self.uses += 1
        return self.results.hand_out(arguments, copied)


def overlaps(some: Iterable[int], others: Iterable[int], arguments: Sequence[Any]) -> bool:
    """Whether arguments with these numbers share memory with those."""
    memory = {arguments[number].untyped_storage()._cdata for number in others}
    return bool(memory) and any(arguments[number].untyped_storage()._cdata in memory for number in some)
