"""`python -m benchmarks.host_step`: how long the host works for one training step of a model on a GPU, lect and torch.compile side by side.

    python -m benchmarks.host_step                                 nanogpt_train
    python -m benchmarks.host_step --only nanogpt,resnet --compilers lect

A time is from the first call of a step to the moment when all its work is queued, with an idle device in front; the device's time is what is left.
Gradients are dropped in front of each step.  The median of `--steps`, in microseconds of wall time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

SETTLE = 4


def host_us(step: Callable[[], Any], steps: int) -> tuple[float, float]:
    """Microseconds until a step is queued, and until it is done: the medians of `steps`, with the device idle in front of each."""
    import torch

    queued, done = [], []
    for number in range(steps + SETTLE):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        queued.append(time.perf_counter() - start)
        torch.cuda.synchronize()
        done.append(time.perf_counter() - start)
        if number < SETTLE:
            queued.clear()
            done.clear()
    return statistics.median(queued) * 1e6, statistics.median(done) * 1e6


def prepared(name: str, compiler: str) -> Callable[[], Any]:
    """A step of a model that runs through a compiler ("lect", "torch" or "eager")."""
    import torch

    import lect
    from benchmarks.workloads import suites

    workload = suites()["models"][name]("cuda")
    compiled = {"lect": lect.compile, "torch": torch.compile, "eager": lambda fn: fn}[compiler](workload.fn)

    workload.step(compiled)
    return lambda: workload.step(compiled)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; prints the table and returns the exit status."""
    from benchmarks.workloads import suites

    parser = argparse.ArgumentParser(prog="benchmarks.host_step", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="nanogpt_train", help="parts of names, by commas")
    parser.add_argument("--compilers", default="eager,lect,torch")
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args(argv)
    print(f"{'us a step':28s}{'compiler':>10s}{'queued':>10s}{'done':>10s}")
    for name in [name for name in suites()["models"] if any(part in name for part in options.only.split(","))]:
        for compiler in options.compilers.split(","):
            queued, done = host_us(prepared(name, compiler), options.steps)
            print(f"{name:28s}{compiler:>10s}{queued:10.0f}{done:10.0f}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
