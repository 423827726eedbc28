"""One recording: recorded work, the addresses that it reads, and its results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any, Final

import torch

from lect.runtime.graphs.device import Captured, CaptureError
from lect.runtime.graphs.facts import ProgramFacts
from lect.runtime.graphs.memory import Results, flat

ALIGNMENT = 16  # of addresses for which kernels are compiled: what is patched is aligned as what was there


_NONE: Final[list[int]] = []


class _Copy:
    """An argument that is copied, and where to: element by element, or where indices share elements, as the memory that it spans.

    A number on the CPU is given to the device with the kernel that fills it in, for which nobody waits.
    """

    def __init__(self, number: int, buffer: torch.Tensor) -> None:
        self.number = number
        self.whole = torch.empty_like(buffer, device="meta").stride() != buffer.stride()  # which is so where elements overlap, or lie apart
        self.target = flat(buffer) if self.whole else buffer

    def source(self, arguments: Sequence[Any]) -> torch.Tensor:
        """What is copied of these arguments."""
        argument = arguments[self.number]
        return flat(argument) if self.whole else argument  # type: ignore[no-any-return]


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
        self.copies = [_Copy(number, buffer) for number, buffer in buffers.items()]
        self.fixed = [number for number in range(facts.arguments) if number not in buffers]
        self.pick: Callable[[Sequence[int]], Any] = itemgetter(*self.fixed) if self.fixed else lambda addresses: ()
        self.expected = self.pick(addresses)
        self.patchable = frozenset(number for number in self.fixed if number in facts.launched and captured.patchable(number) is not None)

    def changes(self, addresses: Sequence[int]) -> list[int] | None:
        """The arguments whose addresses have to be patched for a replay with arguments at these; None when it cannot be had with them."""
        if self.pick(addresses) == self.expected:
            return _NONE
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

        Autograd counts what was written, unless that is `counted` already.  Raises `CaptureError` where the device has no memory to start it at all.
        """
        for number in changes:
            self.captured.patch(number, addresses[number])
            self.addresses[number] = addresses[number]
            self.patched += 1
            self.expected = self.pick(self.addresses)
        if self.copies:
            self._copy(arguments)
        try:
            self.captured.replay()
        except RuntimeError as error:
            if self.uses == 0 and "out of memory" in str(error):  # of the driver, for the graph itself: nothing has run
                raise CaptureError(str(error)) from error
            raise
        if not counted:
            for number, times in self.facts.versions:
                for _ in range(times):
                    torch._C._increment_version((arguments[number],))
        self.uses += 1
        return self.results.hand_out(arguments, copied)

    def _copy(self, arguments: Sequence[Any]) -> None:
        """Copy what has to be where it was recorded, at once what can be."""
        targets, sources = [], []
        for copy in self.copies:
            source = copy.source(arguments)
            if source.is_cpu and not copy.target.is_cpu:
                copy.target.fill_(source)
            else:
                targets.append(copy.target)
                sources.append(source)
        if len(targets) == 1:
            targets[0].copy_(sources[0])
        elif targets:
            torch._foreach_copy_(targets, sources)


def overlaps(some: Collection[int], others: Collection[int], arguments: Sequence[Any]) -> bool:
    """Whether arguments with these numbers share memory with those."""
    if not some or not others:
        return False
    memory = {arguments[number].untyped_storage()._cdata for number in others}
    return any(arguments[number].untyped_storage()._cdata in memory for number in some)
