"""`python -m benchmarks.capture`: what following a frame costs, what a call of a compiled one costs, and how both grow.

First come whole models beside `torch.compile(backend="eager")`, each measurement in a process of its own: lect's is guards, graph and residual code
of a cold process, torch's a first call (that of the model itself is a few milliseconds).  `cold ms` is the best of five processes, `median` their median,
and `ratio` torch's best cold time over it; `ms/layer` is what a layer more adds to a warm capture, which is the same for any number of layers as long
as the cost is linear.  A limit that is not kept is marked OVER.

Times are the best of several runs with the garbage collector off; guards and calls are medians. Graphs run through the
reference interpreter of fx here, so that nothing but capture and guards is measured.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from lect.dialects import make_context
from lect.frontends.capture.api import open_frame
from lect.frontends.capture.interpreter import CodeTable
from lect.frontends.capture.to_fx import run
from lect.runtime.guards import HOLDS, build_predicate
from lect.runtime.pipeline import compile_call

RUNS = 20


class MLP(nn.Module):
    """LayerNorm, GELU, softmax and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up = nn.Linear(64, 256)
        self.down = nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One block."""
        return torch.softmax(x + self.down(F.gelu(self.up(self.norm(x)))), -1)


class Stack(nn.Module):
    """Encoder layers one after the other."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([encoder() for _ in range(count)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """All layers."""
        for layer in self.layers:
            x = layer(x)
        return x


def encoder() -> nn.Module:
    """One transformer encoder layer in eval mode."""
    return nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()


def best_ms(work: Callable[[], Any], runs: int = RUNS) -> float:
    """Milliseconds of the fastest run."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def median_us(work: Callable[[], Any], runs: int = 2000) -> float:
    """Microseconds of the median run."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def row(name: str, module: nn.Module, x: torch.Tensor) -> None:
    """Cold and warm capture, and the guards, of one module."""
    table = CodeTable()

    def capture() -> Any:
        ctx = make_context()
        ctx.resources["code_table"] = table
        found = open_frame(module, (x,), {}, ctx)
        run(found, ctx)
        return ctx

    start = time.perf_counter()
    ctx = capture()
    cold = (time.perf_counter() - start) * 1e3
    warm = best_ms(capture)
    made = compile_call(module, (x,), {}, table, {"level": "fx"}, lambda stage, op: None)
    assert made.guards is not None and made.residual is not None
    function = type(module).forward
    predicate = build_predicate(made.guards, function, made.residual.attrs, made.objects, made.bound)
    assert predicate.holds(module, x) == HOLDS
    holds = median_us(lambda: predicate.holds(module, x))
    counts = ctx.statistics
    numbers = f"{counts['torch calls']:6} {counts['frames inlined']:7} {predicate.length:7}"
    print(f"{name:<22} {cold:9.1f} {warm:9.1f} {numbers} {holds:9.1f}", flush=True)


# Model -> layers -> milliseconds that a cold capture may take, None where nothing is promised.
LIMITS: dict[str, dict[int, float | None]] = {"gpt": {3: None, 6: None, 12: 60.0}, "llama": {3: None, 6: None, 12: 200.0}}
RATIO = 10.0  # how much faster than torch.compile(backend="eager") at least
PROCESSES = {"lect": 5, "torch": 2}  # of each measurement


class Figures(NamedTuple):
    """What the processes of one measurement gave: milliseconds, and torch calls in the graph."""

    cold: float  # the best first capture
    median: float
    warm: float  # the best later capture
    calls: int


def measure(who: str, name: str, layers: int) -> Figures | None:
    """Captures in fresh processes; None when the model cannot be made here."""
    cold, warm, calls = [], [], 0
    for _ in range(PROCESSES[who]):
        done = subprocess.run([sys.executable, "-m", "benchmarks.capture_models", who, name, str(layers)], capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        first, later, count = done.stdout.split()[-3:]
        cold.append(float(first))
        warm.append(float(later))
        calls = int(count)
    return Figures(min(cold), statistics.median(cold), min(warm), calls)


def models() -> None:
    """The table of whole models: lect's captures, what a layer adds to them, and torch's."""
    print(f"{'model':<7} {'layers':>6} {'calls':>6} {'cold ms':>8} {'median':>8} {'limit':>6} {'warm ms':>8} {'ms/layer':>9}", end=" ")
    print(f"{'torch cold':>11} {'torch warm':>11} {'ratio':>6}")
    for name, limits in LIMITS.items():
        before: tuple[int, float] | None = None
        for layers, limit in limits.items():
            ours, theirs = measure("lect", name, layers), measure("torch", name, layers)
            if ours is None or theirs is None:
                print(f"{name:<7} {layers:6} cannot be made here")
                continue
            ratio = theirs.cold / ours.cold
            over = " OVER" if (limit is not None and ours.cold > limit) or ratio < RATIO else ""
            allowed = "" if limit is None else f"{limit:.0f}"
            each = "" if before is None else f"{(ours.warm - before[1]) / (layers - before[0]):.2f}"
            before = layers, ours.warm
            times = f"{ours.cold:8.1f} {ours.median:8.1f} {allowed:>6} {ours.warm:8.1f} {each:>9} {theirs.cold:11.1f} {theirs.warm:11.1f} {ratio:6.1f}"
            print(f"{name:<7} {layers:6} {ours.calls:6} {times}{over}", flush=True)
    print()


def main() -> None:
    """Print the tables."""
    models()
    torch.set_num_threads(1)
    gc.disable()
    print(f"{'module':<22} {'cold ms':>9} {'warm ms':>9} {'calls':>6} {'frames':>7} {'guards':>7} {'check us':>9}")
    with torch.no_grad():
        row("mlp", MLP().eval(), torch.randn(8, 64))
        row("encoder layer", encoder(), torch.randn(2, 10, 64))
        for count in (3, 6, 12):
            row(f"{count} encoder layers", Stack(count).eval(), torch.randn(2, 10, 64))


if __name__ == "__main__":
    main()
