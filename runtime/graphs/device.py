"""What recordings need of a device.  The choice between recordings knows nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

Tensors = Sequence[Any]


class CaptureError(RuntimeError):
    """The device could not record a program; nothing of it has run."""


class Captured(Protocol):
    """Recorded work.  `results` are the tensors that the program gave, whose memory nothing but a replay writes to; `bytes` is the memory it holds, `nodes` the
    number of its steps."""

    results: list[Any]
    bytes: int
    nodes: int

    def replay(self) -> None:
        """Do the work again, on the current stream."""

    def patchable(self, number: int) -> int | None:
        """In how many steps the address of argument `number` stands; None where that is not known."""

    def patch(self, number: int, address: int) -> None:
        """Read argument `number` at another address from now on."""


class Device(Protocol):
    """A device that records."""

    def stream(self) -> int:
        """The current stream; what ran on it is done in order."""

    def busy(self) -> bool:
        """Whether somebody else is recording on the current stream."""

    def library_state(self) -> Hashable:
        """What is set of how the library computes: a recording made under one state is not for another."""

    def now(self) -> float:
        """The time of the host, in microseconds."""

    def mark(self) -> Any:
        """A mark in the current stream, which the device comes to behind all that is queued there."""

    def reached(self, mark: Any) -> bool:
        """Whether the device has come to a mark; nobody waits for it."""

    def between(self, first: Any, second: Any) -> float:
        """Microseconds from one mark to another, both of which were reached."""

    def let_go(self) -> None:
        """Give back memory that nobody uses, such as that of recordings that were dropped."""

    def room(self) -> int:
        """How many bytes more than at most so far tensors could take."""

    def peak(self) -> int:
        """The most bytes that tensors have taken on the device so far."""

    def capture(self, run: Callable[[], list[Any]], arguments: Tensors, written: frozenset[int], launched: frozenset[int]) -> Captured:
        """Record what `run` does to these arguments, without doing it.

        `written` are the numbers of the arguments that it changes, `launched` those that only kernels with known parameters read.
        Raises `CaptureError` when the program does something that cannot be recorded.
        """
