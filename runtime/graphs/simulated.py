"""A device in the memory of the CPU with the hazards of a real one: a replay reads and writes recorded addresses, whatever lies there by now.

Recording runs the program once to learn its results, and takes back all that this changed: the arguments and torch's random numbers.  A replay first fills
the memory of the results with junk, as temporaries would, and then runs the program on whatever is at the recorded addresses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch

from lect.runtime.graphs.device import CaptureError
from lect.runtime.graphs.library_state import library_state
from lect.runtime.graphs.memory import span, without_bases

JUNK = 0xA7


class SimulatedDevice:
    """The device; `current` is its stream.  `recorded` counts its recordings, `replayed` their replays, `patched` changed addresses.

    Time stands still but for what tests say: `host` is the host's clock in microseconds, `ready` when the device will have done all that is queued.
    """

    def __init__(self) -> None:
        self.host = self.ready = 0.0
        self.most = self.left = 1 << 40
        self.current = 0
        self.recording = False
        self.recorded = self.replayed = self.patched = 0

    def stream(self) -> int:
        """The stream that tests have set."""
        return self.current

    def busy(self) -> bool:
        """Whether a recording is being made."""
        return self.recording

    def takes(self, host: float, device: float, pieces: int = 10) -> None:
        """Let the host queue work in some pieces, one after the other, each of which the device begins when it is queued and the one before is done."""
        for _ in range(pieces):
            self.host += host / pieces
            self.ready = max(self.ready, self.host) + device / pieces

    def library_state(self) -> Hashable:
        """What a program has set."""
        return library_state()

    def now(self) -> float:
        """The time of the host."""
        return self.host

    def mark(self) -> float:
        """When the device will have come here."""
        return max(self.ready, self.host)

    def reached(self, mark: float) -> bool:
        """Whether that time has come."""
        return mark <= self.host

    def between(self, first: float, second: float) -> float:
        """The time between."""
        return second - first

    def let_go(self) -> None:
        """Nothing is kept."""

    def room(self) -> int:
        """What tests say."""
        return self.left

    def peak(self) -> int:
        """What tests say."""
        return self.most

    def capture(self, run: Callable[..., list[Any]], arguments: Sequence[Any], written: frozenset[int], launched: frozenset[int]) -> SimulatedRecording:
        """Record `run(*arguments)`.  Raises `CaptureError` for what the program raises."""
        before = {number: _bytes_of(arguments[number]).clone() for number in written}
        state = torch.get_rng_state()
        self.recording = True
        try:
            results = without_bases(run(*arguments))
        except Exception as error:
            raise CaptureError(f"{type(error).__name__}: {error}") from error
        finally:
            self.recording = False
            torch.set_rng_state(state)
            for number, old in before.items():
                _bytes_of(arguments[number]).copy_(old)
        self.recorded += 1
        return SimulatedRecording(self, run, arguments, results, launched)


class SimulatedRecording:
    """The program, the addresses and layouts of its arguments, and its results."""

    def __init__(self, device: SimulatedDevice, run: Callable[..., list[Any]], arguments: Sequence[Any], results: list[Any], launched: frozenset[int]) -> None:
        self.device = device
        self.run = run
        self.results = results
        self.held = list(results)
        self.launched = launched
        self.places = [(each.data_ptr(), tuple(each.shape), each.stride(), each.dtype, span(each) * each.element_size()) for each in arguments]
        given = {each.untyped_storage().data_ptr() for each in arguments}
        self.own = [each for each in results if each.untyped_storage().data_ptr() not in given]
        self.bytes = sum(each.untyped_storage().nbytes() for each in self.own)
        self.nodes = 1

    def replay(self) -> None:
        """Run the program on what lies at the recorded addresses, and put its results where the recorded ones lie."""
        self.device.replayed += 1
        for each in self.own:
            _bytes_of(each).fill_(JUNK)
        with torch.no_grad():
            for held, new in zip(self.held, self.run(*[_tensor_at(*place) for place in self.places])):
                if any(held is each for each in self.own) and span(held):
                    ctypes.memmove(held.data_ptr(), new.data_ptr(), span(held) * held.element_size())

    def patchable(self, number: int) -> int | None:
        """One step, where kernels alone read the argument."""
        return 1 if number in self.launched else None

    def patch(self, number: int, address: int) -> None:
        """Read the argument there."""
        self.device.patched += 1
        self.places[number] = (address, *self.places[number][1:])


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes from the first to the last element of a tensor."""
    begin = tensor.storage_offset() * tensor.element_size()
    whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
    return whole[begin : begin + span(tensor) * tensor.element_size()]


def _tensor_at(address: int, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype, count: int) -> torch.Tensor:
    """A tensor on memory that somebody else owns."""
    storage = torch._C._construct_storage_from_data_pointer(address, torch.device("cpu"), count)
    return torch.empty(0, dtype=dtype).set_(storage, 0, sizes, strides)
