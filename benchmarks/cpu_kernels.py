"""`python -m benchmarks.cpu_kernels`: compiled kernels beside eager, one thread, in CPU time.

    python -m benchmarks.cpu_kernels                 all rows
    python -m benchmarks.cpu_kernels softmax norm    the rows whose name has one of these words

Each row is one function of tensors, compiled and run on the same inputs as eager. Times are the CPU time of the calling thread, the best of many
calls, output allocation included (the C library is told to recycle memory). The error is the greatest distance to the same function in f64, of
both. The last column is what the kernel stage and the code generation took for it.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

RECYCLE = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "OMP_NUM_THREADS": "1"}
SECONDS = 0.3


def cases() -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Name -> function and inputs."""
    import torch
    from torch.nn import functional as F

    torch.manual_seed(0)
    r = torch.randn
    return {
        "gelu (tanh) 4M": (lambda x: F.gelu(x, approximate="tanh"), [r(4 << 20)]),
        "softmax 2048 x 2048": (lambda x: torch.softmax(x, 1), [r(2048, 2048)]),
        "softmax 4096 x 63": (lambda x: torch.softmax(x, 1), [r(4096, 63)]),
        "layer norm 8192 x 1024": (lambda x, w, b: F.layer_norm(x, (1024,), w, b), [r(8192, 1024), r(1024), r(1024)]),
        "rms norm 4096 x 1024": (lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, [r(4096, 1024), r(1024)]),
        "row sums 4096 x 4096": (lambda x: x.sum(1), [r(4096, 4096)]),
        "column sums 4096 x 4096": (lambda x: x.sum(0), [r(4096, 4096)]),
        "x.t() + z 2048 x 2048": (lambda x, z: x.t() + z, [r(2048, 2048), r(2048, 2048)]),
        "gelu(h + b) + r 2048 x 3072": (lambda h, b, q: F.gelu(h + b, approximate="tanh") + q, [r(2048, 3072), r(3072), r(2048, 3072)]),
        "argmax 2048 x 2048": (lambda x: x.argmax(1), [r(2048, 2048)]),
        "silu(x) * y bf16 4M": (lambda x, y: F.silu(x) * y, [r(4 << 20).bfloat16(), r(4 << 20).bfloat16()]),
        "cross entropy 512 x 10000": (lambda x, t: F.cross_entropy(x, t), [r(512, 10000), torch.randint(0, 10000, (512,))]),
    }


def best_time(call: Callable[[], Any]) -> float:
    """Milliseconds of CPU time of the fastest call."""
    call()
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 5:
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times) * 1e3


def error(found: Any, exact: Any) -> float:
    """The greatest absolute difference."""
    return float((found.double() - exact.double()).abs().max())


def row(name: str, function: Callable[..., Any], inputs: Sequence[Any]) -> str:
    """One line of the table."""
    lect: Any = importlib.import_module("lect")
    lect.reset()
    compiled = lect.compile(function, fullgraph=True)
    found = compiled(*inputs)
    stages = {stage: seconds for event in lect.events() for stage, seconds in getattr(event, "stages", ())}
    exact = function(*[x.double() if x.is_floating_point() else x for x in inputs])
    ours, eager = best_time(lambda: compiled(*inputs)), best_time(lambda: function(*inputs))
    made = (stages.get("kernel", 0.0) + stages.get("emit", 0.0)) * 1e3
    errors = f"{error(found, exact):9.1e} {error(function(*inputs), exact):9.1e}"
    return f"{name:30} {ours:9.3f} {eager:9.3f} {eager / ours:6.2f}x {errors} {made:7.0f}"


def main(words: Sequence[str]) -> int:
    """Print the table."""
    if any(os.environ.get(name) != value for name, value in RECYCLE.items()):
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.cpu_kernels", *words], {**os.environ, **RECYCLE})
    import torch

    torch.set_num_threads(1)
    print(f"{'':30} {'lect ms':>9} {'eager ms':>9} {'':>7} {'error':>9} {'eager':>9} {'made ms':>7}")
    with torch.no_grad():
        for name, (function, inputs) in cases().items():
            if not words or any(word in name for word in words):
                print(row(name, function, inputs), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
