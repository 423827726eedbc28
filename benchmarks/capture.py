"""`python -m benchmarks.capture`: what following a frame costs, what a call of a compiled one costs, and how both grow.

First come whole models beside `torch.compile(backend="eager")`, each measurement in a process of its own: lect's is guards, graph and residual code
of a cold process, torch's a first call (that of the model itself is a few milliseconds).  A limit that is not kept is marked OVER.

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
from typing import Any

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
LIMITS: dict[str, dict[int, float | None]] = {"gpt": {3: None, 6: None, 12: 60.0}, "llama": {3: None, 12: 200.0}}
RATIO = 10.0  # how much faster than torch.compile(backend="eager") at least


def measure(who: str, name: str, layers: int) -> tuple[float, float, int] | None:
    """(cold ms, warm ms, torch calls) in a fresh process, the fastest of three; None when the model cannot be made here."""
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-m", "benchmarks.capture_models", who, name, str(layers)], capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        cold, warm, calls = done.stdout.split()[-3:]
        found.append((float(cold), float(warm), int(calls)))
    return min(found)


def models() -> None:
    """The table of whole models."""
    print(f"{'model':<10} {'layers':>6} {'calls':>6} {'cold ms':>9} {'limit':>7} {'warm ms':>9} {'torch cold':>11} {'torch warm':>11} {'ratio cold':>11}")
    for name, limits in LIMITS.items():
        for layers, limit in limits.items():
            ours, theirs = measure("lect", name, layers), measure("torch", name, layers)
            if ours is None or theirs is None:
                print(f"{name:<10} {layers:6} cannot be made here")
                continue
            ratio = theirs[0] / ours[0]
            over = " OVER" if (limit is not None and ours[0] > limit) or ratio < RATIO else ""
            allowed = "" if limit is None else f"{limit:.0f}"
            times = f"{ours[0]:9.1f} {allowed:>7} {ours[1]:9.1f} {theirs[0]:11.1f} {theirs[1]:11.1f} {ratio:11.1f}"
            print(f"{name:<10} {layers:6} {ours[2]:6} {times}{over}", flush=True)
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
