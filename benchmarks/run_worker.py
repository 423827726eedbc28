"""One compiler in a process of its own, told by `benchmarks.run` what to do: JSON, one line a command and one an answer.

    {"do": "load", "suite": "zoo", "name": "sum_all"}    build and compile a workload, run it a few times    -> first_ms, launches, error
    {"do": "time", "calls": 20}                           run it                                              -> wall_us, cpu_us of one call
    {"do": "peak"}                                        run it once and watch the memory of tensors         -> peak_bytes above what was there
    {"do": "kernels"}                                     run it under torch's profiler, on a GPU              -> device_us, kernels of one call
    {"do": "drop"}                                        forget it

On a GPU `wall_us` is from the first call to the end of the work of the last, and `cpu_us` the processor time of the process.
An answer {"failed": text} says that the last command raised.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

SETTLE = 3


class Peer:
    """How one compiler is asked: `compile` wraps a function, `launches` counts kernels and library calls since the last `reset`.

    Behind the first step, `settle` more are run before any is timed.
    """

    settle = SETTLE

    def compile(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function to time."""
        return fn

    def launches(self) -> dict[str, int]:
        """Kernels launched and library functions called in one step, forward and backward."""
        return {}

    def begin(self) -> None:
        """What a training loop calls in front of each step."""

    def reset(self) -> None:
        """Forget what was compiled."""


class TorchPeer(Peer):
    """torch.compile with its own settings."""

    def __init__(self) -> None:
        import torch._dynamo
        from torch._dynamo.utils import counters
        from torch._inductor import metrics

        self.dynamo, self.counters, self.metrics = torch._dynamo, counters, metrics

    def compile(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        import torch

        return torch.compile(fn)

    def launches(self) -> dict[str, int]:
        return {"kernels": self.metrics.generated_kernel_count, "library": self.counters["inductor"]["extern_calls"]}

    def reset(self) -> None:
        self.dynamo.reset()
        self.metrics.reset()
        self.counters.clear()


class ReducePeer(TorchPeer):
    """torch.compile with CUDA graphs."""

    def compile(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        import torch

        return torch.compile(fn, mode="reduce-overhead")

    def begin(self) -> None:
        import torch

        torch.compiler.cudagraph_mark_step_begin()


class LectPeer(Peer):
    """lect; the host programs say what one step launches, the events what could not be compiled."""

    def __init__(self) -> None:
        self.lect: Any = importlib.import_module("lect")
        executable = importlib.import_module("lect.runtime.executable")
        self.programs: list[str] = []
        build = executable.build

        def counted(*args: Any, **kwargs: Any) -> Any:
            made = build(*args, **kwargs)
            self.programs.append(made.host_text)
            return made

        executable.build = counted  # type: ignore[attr-defined]

    def compile(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return self.lect.compile(fn)  # type: ignore[no-any-return]

    def launches(self) -> dict[str, int]:
        lines = [line for text in self.programs for line in text.split("\n")]
        return {"kernels": sum("launch(" in line for line in lines), "library": sum("aten_" in line for line in lines)}

    def obstacles(self) -> list[str]:
        """What did not run as compiled code."""
        return [str(event) for event in self.lect.events() if event.kind in ("fallback", "note", "break", "backward fallback")]

    def reset(self) -> None:
        self.lect.reset()
        self.programs.clear()


class RecordingPeer(LectPeer):
    """lect with recordings of the device's work, which are made in the first steps."""

    settle = 4 * SETTLE

    def compile(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return self.lect.compile(fn, mode="reduce-overhead")  # type: ignore[no-any-return]

    def obstacles(self) -> list[str]:
        return super().obstacles() + [str(event) for event in self.lect.events("recording off")]


PEERS: dict[str, type[Peer]] = {
    "eager": Peer, "torch": TorchPeer, "torch-reduce-overhead": ReducePeer, "lect": LectPeer, "lect-reduce-overhead": RecordingPeer,
}  # fmt: skip


def tensors(value: Any) -> list[Any]:
    """All tensors in a result."""
    if hasattr(value, "detach"):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [found for item in value for found in tensors(item)] if isinstance(value, (list, tuple)) else []


def distance(found: list[Any], wanted: list[Any]) -> float:
    """Norm of the difference over the norm of what is wanted."""
    over = under = 0.0
    for a, b in zip(found, wanted, strict=True):
        a, b = a.detach().double(), b.detach().double()
        over += float((a - b).pow(2).sum())
        under += float(b.pow(2).sum())
    return (over / under) ** 0.5 if under else over**0.5


class Worker:
    """The workload that is loaded, and the compiled function."""

    def __init__(self, compiler: str, device: str) -> None:
        self.peer = PEERS[compiler]()
        self.device = device
        self.workload: Any = None
        self.fn: Any = None

    def sync(self) -> None:
        """Wait for the device."""
        if self.device == "cuda":
            import torch

            torch.cuda.synchronize()

    def step(self) -> Any:
        """One step of the compiled function."""
        self.peer.begin()
        return self.workload.step(self.fn)

    def load(self, suite: str, name: str) -> dict[str, Any]:
        """Build, compile, compare with eager, settle."""
        import torch

        from benchmarks.workloads import suites

        torch.manual_seed(0)
        self.workload = workload = suites()[suite][name](self.device)
        wanted: list[Any] = []
        if not workload.mutates and type(self.peer) is not Peer:
            wanted = self._values(workload.step(workload.fn))
        self.fn = self.peer.compile(workload.fn)
        self.sync()
        start, used = time.perf_counter(), time.process_time()
        result = self.step()
        self.sync()
        first, first_cpu = time.perf_counter() - start, time.process_time() - used
        found = {"first_ms": first * 1e3, "first_cpu_ms": first_cpu * 1e3, "launches": self.peer.launches()}
        if wanted:
            found["error"] = distance(self._values(result), wanted)
        if isinstance(self.peer, LectPeer):
            found["obstacles"] = self.peer.obstacles()
        del wanted, result
        for _ in range(self.peer.settle):
            self.step()
        gc.collect()
        return found

    def _values(self, result: Any) -> list[Any]:
        """Results and, of a training step, gradients, as copies."""
        found = tensors(result)
        if self.workload.train:
            found += [leaf.grad for leaf in self.workload.leaves() if leaf.grad is not None]
        return [value.detach().clone() for value in found]

    def time(self, calls: int) -> dict[str, Any]:
        """Wall and processor time of one of `calls` calls."""
        step = self.step
        gc.disable()
        self.sync()
        start, used = time.perf_counter(), time.process_time()
        for _ in range(calls):
            step()
        self.sync()
        wall, cpu = time.perf_counter() - start, time.process_time() - used
        gc.enable()
        return {"wall_us": wall / calls * 1e6, "cpu_us": cpu / calls * 1e6}

    def peak(self) -> dict[str, Any]:
        """The most bytes of tensors of one step above those that were there before it."""
        from torch.profiler import ProfilerActivity, profile

        for leaf in self.workload.leaves():
            leaf.grad = None  # what is freed here must not be subtracted from what the step takes
        if self.device == "cuda":
            return {"peak_bytes": self._device_peak()}
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            self.step()
        live = most = 0
        for event in profiler.profiler.kineto_results.events():  # type: ignore[union-attr]
            if event.name() == "[memory]":
                live += event.nbytes()
                most = max(most, live)
        return {"peak_bytes": most}

    def _device_peak(self) -> int:
        import torch

        gc.collect()
        self.sync()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        self.step()
        self.sync()
        return torch.cuda.max_memory_allocated() - before

    def kernels(self, calls: int = 3) -> dict[str, Any]:
        """Time of the device in one step, and its kernels, those that take longest first: (name, count, microseconds)."""
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for _ in range(calls):
                self.step()
            self.sync()
        found: dict[str, list[float]] = {}
        for event in profiler.profiler.kineto_results.events():  # type: ignore[union-attr]
            if str(event.device_type()).endswith("CUDA"):
                entry = found.setdefault(event.name(), [0, 0.0])
                entry[0] += 1
                entry[1] += event.duration_ns() / 1e3
        most = sorted(found.items(), key=lambda item: -item[1][1])
        listed = [(name[:90], count / calls, spent / calls) for name, (count, spent) in most]
        return {"device_us": sum(spent for _, _, spent in listed), "kernels": listed[:12]}

    def drop(self) -> dict[str, Any]:
        """Forget the workload."""
        self.workload = self.fn = None
        self.peer.reset()
        gc.collect()
        if self.device == "cuda":
            import torch

            torch.cuda.empty_cache()
        return {}


def main(compiler: str, device: str, threads: str) -> None:
    """Answer commands until there are none."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import torch

    torch.set_num_threads(int(threads))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = device == "cuda"
    worker = Worker(compiler, device)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(worker, command.pop("do"))(**command)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
