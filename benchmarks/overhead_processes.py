"""Rows of `python -m benchmarks.overhead` about training steps, threads, many calls and whole processes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

Wanted = Callable[[str], bool]
CALLS = 1_000_000
THREADS = 8
# So little to compute that a step takes what is between the kernels.
TINY = MappingProxyType({"width": 8, "heads": 2, "layers": 4, "words": 32, "context": 4})


def training_rows(wanted: Wanted, best: Callable[..., float], torch_compile: Callable[..., str]) -> None:
    """The host's part of a training step: a GPT that is so small that kernels take no time."""
    import torch

    import lect
    from benchmarks.workloads.models import NanoGPT

    name = "training step of a tiny GPT"
    if not wanted(name):
        return
    torch.manual_seed(0)
    model, ids = NanoGPT(**TINY), torch.randint(0, TINY["words"], (1, TINY["context"]))
    ours, eager = [best(_step(run, model, ids)) for run in (lect.compile(model), model)]
    theirs = torch_compile(model, lambda run: best(_step(run, model, ids)))
    print(f"{'us a step':28s}{'lect':>10s}{'':10s}{'eager':>8s}{'torch.compile':>20s}")
    print(f"{name:28s}{ours:10.1f}{'':10s}{eager:8.1f}{theirs:>20s}   {len(list(model.parameters()))} parameters", flush=True)


def _step(run: Any, model: Any, ids: Any) -> Callable[[], None]:
    """A step with fresh gradients."""
    parameters = list(model.parameters())

    def step() -> None:
        for parameter in parameters:
            parameter.grad = None
        run(ids, ids).backward()

    for _ in range(4):
        step()
    return step


def thread_rows(wanted: Wanted) -> None:
    """Calls from eight threads at once beside as many from one, and memory over a million calls."""
    import torch

    import lect

    if not wanted("calls from 8 threads") and not wanted("1e6 calls"):
        return
    x = torch.randn(64, 64)

    def program(x: Any) -> Any:
        return torch.relu(x @ x) + 1

    compiled, value = lect.compile(program), program(x)
    for _ in range(2000):
        compiled(x)
    if wanted("calls from 8 threads"):
        print(f"{'of the calls one makes':28s}{'lect':>10s}{'':10s}{'eager':>8s}")
        found = [_threads(run, x, value) for run in (compiled, program)]
        print(f"{'calls from 8 threads':28s}{found[0]:10.2f}{'':10s}{found[1]:8.2f}", flush=True)
    if wanted("1e6 calls"):
        before = _resident()
        for _ in range(CALLS):
            compiled(x)
        print(f"{'1e6 calls':28s}{(_resident() - before) / 1024:10.0f} KiB more memory at the end", flush=True)


def _threads(run: Callable[[Any], Any], x: Any, value: Any) -> float:
    """How many calls all threads make in the time in which one thread alone makes one.  Raises AssertionError for a wrong value."""
    import torch

    def calls(count: int) -> bool:
        return all(torch.allclose(run(x), value) for _ in range(count))

    start = time.perf_counter()
    assert calls(2000)
    alone = time.perf_counter() - start
    with ThreadPoolExecutor(THREADS) as pool:
        start = time.perf_counter()
        assert all(pool.map(calls, [2000] * THREADS))
        together = time.perf_counter() - start
    return alone * THREADS / together


def _resident() -> int:
    """Bytes of the process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def import_rows(wanted: Wanted) -> None:
    """The import of lect in a new process, above that of torch."""
    if not wanted("import of lect"):
        return
    torch_alone, both = [min(_processor_time(text) for _ in range(5)) for text in ("import torch", "import torch, lect")]
    print(f"{'import of lect':28s}{both - torch_alone:10.0f} ms above the {torch_alone:.0f} of torch", flush=True)


def _processor_time(text: str) -> float:
    """Milliseconds of processor time of a new process that runs `text`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", text], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def warm_rows(wanted: Wanted, compiler: bool) -> None:
    """The first step of each model in a new process whose caches are warm: `benchmarks.warm_start`."""
    from benchmarks import warm_start
    from benchmarks.workloads import suites

    names = [name for name in suites()["models"] if wanted(f"warm first call of {name}")]
    if names:
        compilers = "lect,torch" if compiler else "lect"
        warm_start.main(["--compilers", compilers, "--only", ",".join(names)])
