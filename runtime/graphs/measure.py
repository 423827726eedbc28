"""Whether a graph gains by being recorded, measured in a few calls of the program as it runs, in which nobody waits for the device.

In front of a call and behind it a mark goes into the stream, and the host's clock is read.  By the next calls the device has come to both marks, so that the
time between them is known.  The host holds the device up where this is so in most of the calls:

- the device had begun with the call when the host had queued it: it was not busy with what came before;
- from begin to end it needed no longer than the host did to queue it: it waited for one piece of work after the other.

Afterwards the same is measured of calls that are replays.  What a call costs is the longer of both times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple, TypeVar

from lect.runtime.graphs.device import Device

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """How a graph is measured: behind `warm` calls in `samples`, of which most have to agree.  Where it is not recorded it is looked at again behind so many
    calls (`rests`).  A device that needs `longer` times the host's time, and `slack` microseconds, waits for nothing.  Recorded calls are measured behind
    `settle` replays; they must not cost more than `gain` times what others do.  Of `window` calls at least half have to be replays from then on.

    Of the memory that tensors take at most, recordings may add the part `share`, or so many `bytes` where that is more; the most itself may grow by the part
    `growth`, or so many bytes.
    """

    warm: int = 3
    samples: int = 5
    rests: tuple[int, ...] = (50, 500, 5000)
    longer: float = 1.1
    slack: float = 10.0
    settle: int = 2
    gain: float = 0.95
    window: int = 32
    share: float = 0.05
    growth: float = 0.1
    bytes: int = 64 << 20


class Sample(NamedTuple):
    """The microseconds of one call: of the host, of the device from its begin to its end, and whether the device had begun when the host was done."""

    host: float
    device: float
    begun: bool

    def waits(self, plan: Plan) -> bool:
        """Whether the device waited for the host."""
        return self.begun and self.device <= self.host * plan.longer + plan.slack


class Times(NamedTuple):
    """What calls take in the mean of a few, in microseconds."""

    host: float
    device: float

    @property
    def cost(self) -> float:
        """The longer time, which is what a call costs."""
        return max(self.host, self.device)


class _Open(NamedTuple):
    """A call whose end the device has not reached yet."""

    host: float
    begun: bool
    first: Any
    last: Any


class Meter:
    """Measures calls of one graph, until there are enough."""

    def __init__(self, device: Device, plan: Plan) -> None:
        self.device = device
        self.plan = plan
        self.open: list[_Open] = []
        self.samples: list[Sample] = []

    def call(self, run: Callable[[], T], counts: Callable[[], bool] = lambda: True) -> T:
        """Run a call and measure it, unless it raises, or `counts` says behind it that it was none of those that are measured."""
        if len(self.open) >= self.plan.samples:  # the device is far behind
            return run()
        device = self.device
        first, begin = device.mark(), device.now()
        result = run()
        host = device.now() - begin
        if counts():
            self.open.append(_Open(host, device.reached(first), first, device.mark()))
        return result

    def done(self) -> bool:
        """Take in what the device has reached meanwhile; whether that is enough."""
        left = []
        for each in self.open:
            if self.device.reached(each.last):
                self.samples.append(Sample(each.host, self.device.between(each.first, each.last), each.begun))
            else:
                left.append(each)
        self.open = left
        return len(self.samples) >= self.plan.samples

    def waits(self) -> bool:
        """Whether the device waited for the host in most calls."""
        return 2 * sum(sample.waits(self.plan) for sample in self.samples) > len(self.samples)

    def times(self) -> Times:
        """The medians."""
        return Times(median(each.host for each in self.samples), median(each.device for each in self.samples))
