"""`python -m benchmarks.gpu_kernels`: memory-bound kernels on a GPU, as a part of the rate at which it copies.

Times are those of CUDA-graph replays over rotating inputs, so neither launch gaps nor hits in the second cache count: the device's alone.  The copy rate
is measured in the same run.  `--compilers eager,lect,tuned,torch` says who runs (`tuned` is lect with `mode="max-autotune"`), and
`--set kernel-choose-warps.most=8` gives passes other options.  A line for each workload: milliseconds, bytes a second, and the part of the copy rate; the
error against f64, for the first set of inputs.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unittest import mock

import torch
import torch.nn.functional as F

import lect
from lect.passes import manager

BF16 = torch.bfloat16


class Workload(NamedTuple):
    """`make()` gives inputs, `nbytes` is what must move; `sets` of inputs take turns."""

    run: Callable[..., Any]
    make: Callable[[], tuple[Any, ...]]
    nbytes: int
    sets: int = 3


def randn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def adam(p: list[Any], g: list[Any], m: list[Any], v: list[Any]) -> None:
    """One step of Adam over lists of tensors."""
    torch._foreach_lerp_(m, g, 0.1)
    torch._foreach_mul_(v, 0.999)
    torch._foreach_addcmul_(v, g, g, 0.001)
    d = torch._foreach_sqrt(v)
    torch._foreach_add_(d, 1e-8)
    torch._foreach_addcdiv_(p, m, d, -1e-3)


def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """RMS norm as models write it."""
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w


N = 8192
WORKLOADS = {
    "bias_gelu": Workload(lambda x, b: F.gelu(x + b, approximate="tanh") * 1.5, lambda: (randn(N, N, dtype=BF16), randn(N, dtype=BF16)), 4 * N * N),
    "softmax_rows": Workload(lambda x: torch.softmax(x.float(), -1).to(x.dtype), lambda: (randn(N, N, dtype=BF16),), 4 * N * N),
    "residual_layernorm": Workload(
        lambda x, y, w, b: F.layer_norm(x + y, (1024,), w, b),
        lambda: (randn(65536, 1024, dtype=BF16), randn(65536, 1024, dtype=BF16), randn(1024, dtype=BF16), randn(1024, dtype=BF16)),
        6 * 65536 * 1024,
    ),
    "column_sum": Workload(lambda x: (x * x).sum(0), lambda: (randn(16384, 8192),), 4 * 16384 * 8192),
    "transpose_add": Workload(lambda x, y: (x.t() + y).contiguous(), lambda: (randn(N, N), randn(N, N)), 12 * N * N),
    "rms_norm": Workload(rms_norm, lambda: (randn(32768, 2048, dtype=BF16), randn(2048, dtype=BF16)), 4 * 32768 * 2048),
    "row_sum": Workload(lambda x: x.sum(-1), lambda: (randn(16384, 8192),), 4 * 16384 * 8192),
    "sum_all": Workload(lambda x: x.sum(), lambda: (randn(16384, 8192),), 4 * 16384 * 8192),
    "add_f32": Workload(lambda x, y: x + y, lambda: (randn(N, N), randn(N, N)), 12 * N * N),
    "adam_foreach": Workload(adam, lambda: tuple([[torch.rand(512, 512, device="cuda") for _ in range(100)] for _ in range(4)]), 28 * 100 * 512 * 512, 2),
}


def graph_time(run: Callable[..., Any], sets: Sequence[tuple[Any, ...]], repeats: int = 20) -> float:
    """Median milliseconds of a call, by replays of a graph of one call for each set of inputs."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for each in sets:
            run(*each)
            run(*each)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for each in sets:
            run(*each)
    for _ in range(3):
        graph.replay()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / len(sets))
    return statistics.median(times)


def call_time(run: Callable[..., Any], inputs: tuple[Any, ...], repeats: int = 50) -> float:
    """Median milliseconds from the call to the end of its work."""
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        run(*inputs)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def compiler(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """A function as `name` runs it."""
    if name == "eager":
        return run
    if name == "tuned":
        return lect.compile(run, mode="max-autotune")
    return lect.compile(run) if name == "lect" else torch.compile(run)


def error(run: Callable[..., Any], found: Any, inputs: tuple[Any, ...]) -> float:
    """The greatest error against f64, relative to the greatest result; 0 for what gives no tensor."""
    if not isinstance(found, torch.Tensor) or not all(isinstance(each, torch.Tensor) for each in inputs):
        return 0.0
    exact = run(*[each.double() for each in inputs])
    return ((found.double() - exact).abs().max() / exact.abs().max()).item()


def measure(name: str, workload: Workload, compilers: Sequence[str], rate: float) -> None:
    """Print the lines of one workload."""
    sets = [workload.make() for _ in range(workload.sets)]
    for who in compilers:
        lect.reset()
        run = compiler(who, workload.run)
        try:
            milliseconds = graph_time(run, sets)
            wall = call_time(run, sets[0])
            wrong = error(workload.run, run(*sets[0]), sets[0]) if workload.nbytes < 1 << 30 else 0.0
        except Exception as problem:
            print(f"{name:20s} {who:6s} failed: {type(problem).__name__}: {str(problem)[:300]}", flush=True)
            continue
        notes = "".join([f" NOTE {event}" for event in lect.events("note", "fallback")]) if who in ("lect", "tuned") else ""
        moved = workload.nbytes / milliseconds
        rates = f"{moved / 1e9:.2f} TB/s  {moved / rate:.3f} of copy"
        print(f"{name:20s} {who:6s} {milliseconds:.4f} ms  wall {wall:.4f} ms  {rates}  error {wrong:.1e}{notes}", flush=True)


def with_options(settings: Sequence[str]) -> Any:
    """A context in which passes have the options `pass.option=value`."""
    given: dict[str, dict[str, str]] = {}
    for each in settings:
        place, _, value = each.partition("=")
        name, _, option = place.partition(".")
        given.setdefault(name, {})[option] = value
    read = manager.read_pipeline
    return mock.patch.object(manager, "read_pipeline", lambda text: [(name, {**options, **given.get(name, {})}) for name, options in read(text)])


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--compilers", default="eager,lect")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    pairs = [(randn(N, N, dtype=BF16), randn(N, N, dtype=BF16)) for _ in range(4)]
    milliseconds = graph_time(lambda x, y: y.copy_(x), pairs)
    rate = 4 * N * N / milliseconds
    print(f"copy {milliseconds:.4f} ms, {rate / 1e9:.3f} TB/s; {torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    del pairs
    for name, workload in WORKLOADS.items():
        if not options.only or name in options.only.split(","):
            with with_options(options.set):
                measure(name, workload, options.compilers.split(","), rate)


if __name__ == "__main__":
    main()
