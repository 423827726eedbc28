"""`python -m benchmarks.recorded`: steps of models on a GPU with and without recordings, their gradients reset in each step or accumulated over four.

    python -m benchmarks.recorded                                       four models that train
    python -m benchmarks.recorded --only many_small_mm --modes off,default

A mode is `off` (nothing is recorded), `default` (recorded where the host is measured to be what a step waits for) or `reduce-overhead`.  `wall` is the best
mean of a few rounds, in milliseconds a step; `host` is the median time until a step is queued with an idle device in front; `peak` is the most memory that
tensors took, in GB, and `reserved` what torch's allocator took, both from the first call on; `recordings` is how many there are at the end.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.host_step import host_us

TRAINED = "nanogpt_train,hf_bert_train,timm_resnet_train,timm_mobilenetv3_train"
STEPS = 4  # over which gradients are accumulated
WARM = 12


def wall_ms(step: Callable[[], Any], calls: int, rounds: int = 4) -> float:
    """The best mean time of a call over some rounds of calls, in milliseconds."""
    import torch

    best = float("inf")
    for _ in range(rounds):
        torch.cuda.synchronize()
        gc.disable()
        start = time.perf_counter()
        for _ in range(calls):
            step()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / calls)
        gc.enable()
    return best * 1e3


def stepper(name: str, mode: str, accumulate: bool) -> tuple[Callable[[], Any], int]:
    """What does one round of a model in a mode, and how many steps that is."""
    import torch

    import lect
    from benchmarks.workloads import suites

    torch.manual_seed(0)
    workload = next(suite[name] for suite in suites().values() if name in suite)("cuda")
    options = {"graphs": "off"} if mode == "off" else None
    compiled = lect.compile(workload.fn, mode="default" if mode == "off" else mode, options=options)
    if not accumulate:
        return lambda: workload.step(compiled), 1

    def four() -> None:
        for leaf in workload.leaves():
            leaf.grad = None
        for _ in range(STEPS):
            compiled(*workload.args, **workload.kwargs).backward()

    return four, STEPS


def measure(name: str, mode: str, accumulate: bool) -> str:
    """One line of the table."""
    import torch

    import lect
    from lect.runtime.graphs.table import table

    lect.reset()
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    step, count = stepper(name, mode, accumulate)
    for _ in range(WARM):
        step()
    wall = wall_ms(step, max(1, 12 // count), 3) / count
    host = host_us(step, 4)[0] / 1e3 / count
    peak, reserved = torch.cuda.max_memory_allocated() / 1e9, torch.cuda.max_memory_reserved() / 1e9
    way = "accumulated" if accumulate else "reset"
    return f"{name:26} {way:12} {mode:16} {wall:9.3f} {host:9.3f} {peak:7.2f} {reserved:9.2f} {len(table().rows()):5}"


def main(argv: Sequence[str] | None = None) -> int:
    """The command; prints the table and returns the exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks.recorded", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=TRAINED, help="names, by commas")
    parser.add_argument("--modes", default="off,default,reduce-overhead")
    parser.add_argument("--ways", default="reset,accumulated")
    given = parser.parse_args(argv)
    print(f"{'workload':26} {'gradients':12} {'mode':16} {'wall':>9} {'host':>9} {'peak':>7} {'reserved':>9} recordings")
    for name in given.only.split(","):
        for way in given.ways.split(","):
            for mode in given.modes.split(","):
                print(measure(name, mode, way == "accumulated"), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
