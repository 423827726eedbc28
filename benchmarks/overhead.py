"""`python -m benchmarks.overhead`: what a call of a compiled function costs on the CPU beside the work itself, in processor time.

    python -m benchmarks.overhead                  all rows
    python -m benchmarks.overhead guards call      the rows whose name has one of these words: guards, call, step, threads, 1e6, import, warm

Rows of guards are one question asked of native code, less a call of a function of C that does nothing; beside them the same set in Python, and the guards
that torch.compile makes for the same program with its backend "eager" (all that such a call costs beside the body, as torch has no way to ask guards
alone through Python at their own price).  Rows of calls are whole calls; torch.compile takes part where it finds a C++ compiler.  Times are the best of
several batches, so they are those of a machine that does nothing else.  The training step, the calls from threads, memory over a million calls, the
import and the first calls of new processes with warm caches (`benchmarks.warm_start`, minutes for each model) are whole programs.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import overhead_processes

SECONDS = 0.02  # of a batch
BATCHES = 15
CALLS = ("call of 8x8 without grad", "call of 8x8 with grad mode", "Adam step of 100 tensors", "Adam step of 400 tensors")


def best(function: Callable[..., Any], *args: Any) -> float:
    """Microseconds of processor time of one call, in the fastest of several batches."""
    function(*args)
    start = time.process_time()
    for _ in range(5):
        function(*args)
    count = max(5, int(SECONDS / max((time.process_time() - start) / 5, 1e-8)))
    rounds = range(count)
    found = []
    for _ in range(BATCHES):
        start = time.process_time()
        for _ in rounds:
            function(*args)
        found.append((time.process_time() - start) / count)
    return min(found) * 1e6


def loop_cost() -> float:
    """Microseconds of calling a function of C with two arguments that does nothing."""
    return best(isinstance, 1, int)


class Warm:
    """A compiled function that uses native guards, and its one version."""

    def __init__(self, program: Any, args: tuple[Any, ...], **options: Any) -> None:
        import lect
        from lect.runtime.entry import RUNTIME
        from lect.runtime.native_guards import GUARDS_BEFORE_NATIVE, meter

        known = set(RUNTIME.frames)
        self.call = lect.compile(program, options=options)
        meter().asked = GUARDS_BEFORE_NATIVE
        for _ in range(8):
            self.call(*args)
        (frame,) = [each for each in RUNTIME.frames if each not in known]
        self.native = frame.cache.native
        self.args = (program, *args) if not hasattr(program, "__code__") else args
        self.version = frame.cache.search(self.args, {})
        assert self.native.find(self.args, {}) is self.version, "native guards do not know their own call"

    def guards(self) -> tuple[float, float, int]:
        """Microseconds in native code and in Python, and the number of guards."""
        native = best(self.native.find, self.args, {}) - loop_cost()
        return native, best(self.version.holds, *self.args), self.version.predicate.length


def torch_guards(program: Any, args: tuple[Any, ...]) -> float:
    """What torch.compile with the backend "eager" adds to a call, in microseconds."""
    import torch

    torch._dynamo.reset()
    compiled = torch.compile(program, backend="eager")
    for _ in range(3):
        compiled(*args)
    return best(compiled, *args)


def modules() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """The programs whose guards are asked."""
    import torch

    x = torch.randn(8, 8)
    return {
        "guards of one tensor": (lambda x: x, (x,)),
        "guards of four tensors": (lambda a, b, c, d: a, (x, x.clone(), x.clone(), x.clone())),
        "guards of 200 parameters": (torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(100)]), (x,)),
        "1,000 guards": (torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(198)]), (x,)),
    }


def fused(x: Any, w: Any, b: Any) -> Any:
    """Three fused operations and a matrix product."""
    import torch

    h = torch.relu(x + b)
    return torch.maximum((h @ w) * 0.5 + b, h)


def guard_rows(wanted: Callable[[str], bool]) -> None:
    """Guards alone."""
    import torch

    rows = {name: row for name, row in modules().items() if wanted(name)}
    if rows:
        print(f"{'us':28s}{'native':>10s}{'Python':>10s}{'guards':>8s}{'torch, whole call':>20s}")
        for name, (program, args) in rows.items():
            identity = program if isinstance(program, torch.nn.Module) else _doubled(program)
            native, python, count = Warm(identity, args).guards()
            print(f"{name:28s}{native:10.3f}{python:10.2f}{count:8d}{torch_guards(identity, args):20.2f}", flush=True)


def _doubled(program: Any) -> Any:
    """A program that computes something, so that there is something to compile."""
    if program.__code__.co_argcount == 1:
        return lambda x: x * 2
    return lambda a, b, c, d: a * b + c * d


def call_rows(wanted: Callable[[str], bool]) -> None:
    """Whole calls."""
    import torch

    x, w, b = torch.randn(8, 8), torch.randn(8, 8), torch.randn(8)
    if any(wanted(name) for name in CALLS):
        print(f"{'us a call':28s}{'lect':>10s}{'as Python':>10s}{'eager':>8s}{'torch.compile':>20s}")
    for name, grad in zip(CALLS, (False, True)):
        if wanted(name):
            with torch.set_grad_enabled(grad):
                ours = best(Warm(fused, (x, w, b)).call, x, w, b)
                python = best(Warm(fused, (x, w, b), host="python").call, x, w, b)
                theirs = torch_compile(fused, lambda run: best(run, x, w, b))
                print(f"{name:28s}{ours:10.2f}{python:10.2f}{best(fused, x, w, b):8.2f}{theirs:>20s}", flush=True)
    for count, name in zip((100, 400), CALLS[2:]):
        if wanted(name):
            print(f"{name:28s}{best(_step(count, True)):10.1f}{'':10s}{best(_step(count, False)):8.1f}{'':>20s}", flush=True)


def has_compiler() -> bool:
    """True where torch.compile finds a C++ compiler for the CPU."""
    return any(shutil.which(name) for name in ("g++", "clang++", os.environ.get("CXX", "c++")))


def torch_compile(program: Any, measure: Callable[[Any], float]) -> str:
    """What `measure` gives for the program that torch.compile makes, in microseconds, as text."""
    import torch

    if not has_compiler():
        return "no C++ compiler"
    torch._dynamo.reset()
    try:
        return f"{measure(torch.compile(program)):.2f}"
    except Exception as error:
        return type(error).__name__
    finally:
        torch._dynamo.reset()


def _step(count: int, compiled: bool) -> Callable[[], Any]:
    """A step of an optimizer over small tensors."""
    import torch

    import lect

    parameters = [torch.nn.Parameter(torch.randn(4, 4)) for _ in range(count)]
    for parameter in parameters:
        parameter.grad = torch.randn(4, 4)
    optimizer = torch.optim.Adam(parameters)

    def step() -> None:
        optimizer.step()

    run = lect.compile(step) if compiled else step
    for _ in range(6):
        run()
    return run


def main() -> None:
    """Print the rows."""
    import torch

    torch.set_num_threads(1)
    words = sys.argv[1:]

    def wanted(name: str) -> bool:
        return not words or any(word in name for word in words)

    guard_rows(wanted)
    call_rows(wanted)
    overhead_processes.training_rows(wanted, best, torch_compile)
    overhead_processes.thread_rows(wanted)
    overhead_processes.import_rows(wanted)
    overhead_processes.warm_rows(wanted, has_compiler())


if __name__ == "__main__":
    main()
