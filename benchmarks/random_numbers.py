"""`python -m benchmarks.random_numbers`: random numbers in compiled kernels beside eager, one thread, in CPU time.

    python -m benchmarks.random_numbers              all rows
    python -m benchmarks.random_numbers dropout      the rows whose name has one of these words

Each row is one function, compiled with lect's own stream (`options={"rng": "counter"}`, the default), with eager's numbers by library calls
(`"eager"`), and eager itself. Times are measured as `benchmarks.cpu_kernels` does; the last column is eager's time over that of the first.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.cpu_kernels import RECYCLE, best_time


def cases() -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Name -> function and inputs."""
    import torch
    from torch.nn import functional as F

    torch.manual_seed(0)
    r, count = torch.randn, 4 << 20
    return {
        "dropout 4M": (lambda x: F.dropout(x, 0.1), [r(count)]),
        "dropout 4M bf16": (lambda x: F.dropout(x, 0.1), [r(count).bfloat16()]),
        "x + dropout(h) 4M": (lambda x, h: x + F.dropout(h, 0.1), [r(count), r(count)]),
        "layer_norm(x + dropout(h)) 4096 x 1024": (
            lambda x, h, w, b: F.layer_norm(x + F.dropout(h, 0.1), (1024,), w, b),
            [r(4096, 1024), r(4096, 1024), r(1024), r(1024)],
        ),
        "dropout(softmax(s)) 4096 x 512": (lambda s: F.dropout(torch.softmax(s, -1), 0.1), [r(4096, 512)]),
        "x + 0.1 * randn_like(x) 4M": (lambda x: x + 0.1 * torch.randn_like(x), [r(count)]),
        "rand 4M": (lambda: torch.rand(count), []),
        "rand 4M f64": (lambda: torch.rand(count, dtype=torch.float64), []),
        "randint 4M": (lambda: torch.randint(0, 1000, (count,)), []),
        "bernoulli_ 4M bool": (lambda: torch.empty(count, dtype=torch.bool).bernoulli_(0.3), []),
    }


def row(name: str, function: Callable[..., Any], inputs: Sequence[Any]) -> str:
    """One line of the table."""
    lect: Any = importlib.import_module("lect")
    times = []
    for rng in ("counter", "eager"):
        lect.reset()
        compiled = lect.compile(function, fullgraph=True, options={"rng": rng})
        times.append(best_time(lambda compiled=compiled: compiled(*inputs)))  # type: ignore[misc]
    eager = best_time(lambda: function(*inputs))
    return f"{name:40} {times[0]:10.3f} {times[1]:10.3f} {eager:10.3f} {eager / times[0]:7.2f}x"


def main(words: Sequence[str]) -> int:
    """Print the table."""
    if any(os.environ.get(name) != value for name, value in RECYCLE.items()):
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.random_numbers", *words], {**os.environ, **RECYCLE})
    import torch

    torch.set_num_threads(1)
    print(f"{'':40} {'counter ms':>10} {'calls ms':>10} {'eager ms':>10}")
    with torch.no_grad():
        for name, (function, inputs) in cases().items():
            if not words or any(word in name for word in words):
                print(row(name, function, inputs), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
