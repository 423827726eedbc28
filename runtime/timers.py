"""How long a compiled graph takes on its device: what the tuner asks, behind an interface so that tests can answer instead.

    timer = DeviceTimer("cuda:0")
    timer.prepare(trial)               compiles it; several at once
    timer.microseconds(trial, limit)   of one call, by as few calls as tell whether it is faster than `limit`
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from lect.ir import Context, Operation
from lect.runtime.executable import build, find_host_function

ENOUGH = 4000.0  # microseconds of runs that tell a time
MOST_RUNS = 50
HOPELESS = 1.3  # times slower than the best, where a first look is enough
HANDED = 16  # calls that the device is handed at once, fewer than its queue takes
SETS = 4  # of inputs that take turns, so that little of them is still in a cache


@dataclass
class Trial:
    """A lowered module in one form: the `choices` that it was made with, and `run`, a call of it, once it is prepared.

    With `asks_host` the timer also says in `host` how many microseconds of the host's time a call takes, where that is not part of the time itself.
    """

    name: str
    choices: Mapping[str, Any]
    module: Operation
    ctx: Context
    run: Callable[[], Any] | None = None
    asks_host: bool = False
    host: float = 0.0


class Timer(Protocol):
    """Who measures."""

    def prepare(self, trial: Trial) -> None:
        """Make a trial ready to run.  Raises what its compile raises."""

    def microseconds(self, trial: Trial, limit: float) -> float:
        """The time of one call on the device."""


@dataclass(frozen=True)
class DeviceTimer:
    """The timer of a device at hand, `cpu` or `cuda:0`."""

    device: str

    def prepare(self, trial: Trial) -> None:
        """Compile a trial, and make inputs when it first runs."""
        with torch.cuda.device(self.device) if self.device.startswith("cuda") else nullcontext():  # of this thread, where machine code is loaded
            executable = build(trial.module, trial.ctx)
        run, func = executable.fastest, find_host_function(trial.module, None)
        sets: list[Iterator[list[Any]]] = []

        def call() -> Any:
            if not sets:
                sets.append(itertools.cycle(inputs_for(func, int(trial.ctx.target.get("l2_bytes", 1 << 20)))))
            return run(*next(sets[0]))

        trial.run = call

    def microseconds(self, trial: Trial, limit: float) -> float:
        """The time of one call; the inputs are given back behind it."""
        assert trial.run is not None
        with torch.no_grad():
            found = (on_cuda if self.device.startswith("cuda") else on_cpu)(trial.run, limit)
            if trial.asks_host and self.device.startswith("cuda"):
                trial.host = on_host(trial.run)
        trial.run = None
        return found


def inputs_for(func: Operation, cache_bytes: int) -> list[list[Any]]:
    """Some sets of tensors for a host program: normal floats, and zeros for whole numbers, which may be indices.  No random state is changed."""
    types: list[Any] = [value.type for value in func.body.args]
    total = sum(type.element.bytes * type.span for type in types)
    count = 1 if total > 2 * cache_bytes or not total else min(SETS, -(-2 * cache_bytes // total))
    return [[_tensor(type, seed) for type in types] for seed in range(count)]


def _tensor(type: Any, seed: int) -> torch.Tensor:
    from lect.backends.python_host.load import DTYPES

    dtype = DTYPES[type.element.spelling]
    if dtype.is_floating_point:
        generator = torch.Generator(type.device).manual_seed(seed)
        wide = dtype if dtype.itemsize > 1 else torch.float32
        flat = torch.empty(type.span, dtype=wide, device=type.device).normal_(generator=generator).to(dtype)
    else:
        flat = torch.zeros(type.span, dtype=dtype, device=type.device)
    return flat.as_strided(type.sizes, type.strides or ())


def repeated(once: Callable[[], float], limit: float) -> float:
    """The median of as many measurements as are worth it; one is enough for what is much slower than `limit`."""
    first = once()
    if first > limit * HOPELESS:
        return first
    count = max(min(int(ENOUGH / max(first, 1e-3)), MOST_RUNS), 5)
    return statistics.median([first, *[once() for _ in range(count)]])


def on_cpu(run: Callable[[], Any], limit: float) -> float:
    """Time of calls on the CPU's clock; short ones are taken several at a time, as looking at the clock takes a part of them."""
    run()
    start = time.perf_counter()
    run()
    times = max(min(int(50e-6 / max(time.perf_counter() - start, 1e-9)), 100), 1)

    def once() -> float:
        start = time.perf_counter()
        for _ in range(times):
            run()
        return (time.perf_counter() - start) * 1e6 / times

    return repeated(once, limit)


def on_host(run: Callable[[], Any]) -> float:
    """Time until a call has handed its work to the device, which is still at it."""
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(HANDED):
            run()
        times.append((time.perf_counter() - start) * 1e6 / HANDED)
    torch.cuda.synchronize()
    return statistics.median(times)


def on_cuda(run: Callable[[], Any], limit: float) -> float:
    """Time on the device alone: a CUDA graph of some calls is recorded and replayed between two events."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
        run()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(SETS):
            run()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def once() -> float:
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / SETS

    once()
    return repeated(once, limit)
