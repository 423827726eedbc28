"""`python -m benchmarks.capture`: what following a frame costs, what a call of a compiled one costs, and how both grow.

Times are the best of several runs with the garbage collector off; guards and calls are medians. Graphs run through the
reference interpreter of fx here, so that nothing but capture and guards is measured.
"""

from __future__ import annotations

import gc
import statistics
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


def main() -> None:
    """Print the table."""
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
