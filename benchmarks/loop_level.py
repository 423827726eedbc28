"""`python -m benchmarks.loop_level`: what the passes of the loop and the kernel level and the printers behind them cost, and what is left after each.

    python -m benchmarks.loop_level          the MLP, the encoder block, and 60 encoder blocks in a row
    python -m benchmarks.loop_level 10       the same with 10 blocks

Times are CPU time, the best of several runs with garbage collection off, so that other work on the machine counts as little as it can.  Printing is
that of all kernels as one LLVM module and that of the host program as Python.  The goal for a graph of 2,700 operations is 150 ms for all of it.
"""

from __future__ import annotations

import contextlib
import gc
import io
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lect.backends.llvm import cpu_target
from lect.backends.llvm.kernels import module_text
from lect.backends.python_host import print_python
from lect.dialects import make_context
from lect.ir import Context, Operation, parse_module
from lect.passes import load_pass
from lect.passes.pipelines import PIPELINES
from lect.tools.lect_opt import main as lect_opt

ROOT = Path(__file__).resolve().parents[1]
RUNS = 6
Step = Callable[[Operation, Context], None]


def functional_text(example: str) -> str:
    """The functional function of an example, as text."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        lect_opt(["--capture", str(ROOT / "examples" / example), "-p", "capture,aot"])
    text = out.getvalue()
    start = text.index("functional.func")
    return text[start : text.index("\n}", start) + 2]


def repeated(text: str, times: int) -> str:
    """A function that applies the body of a function of one tensor and weights again and again to its own result."""
    head, *body, last, _ = text.split("\n")
    argument = re.search(r"\((%\w+):", head)
    result = re.search(r"return\((%\w+)\)", last)
    assert argument is not None and result is not None
    lines = [head]
    current = argument[1]
    for block in range(times):
        for line in body:
            line = re.sub(r"%(\d+)\b", rf"%v{block}_\1", line)
            lines.append(re.sub(rf"{argument[1]}\b", current, line))
        current = f"%v{block}_{result[1][1:]}"
    return "\n".join([*lines, f"  functional.return({current})", "}"])


def left(module: Operation) -> int:
    """Number of nests, and behind the loop level of kernels."""
    return sum(op.name == "loop.nest" for op in module.walk()) + sum(op.name == "kernel.func" for op in module.body)  # type: ignore[union-attr]


def print_kernels(module: Operation, ctx: Context) -> None:
    """The text of all kernels."""
    module_text([op for op in module.body if op.name == "kernel.func"], ctx)


def print_host(module: Operation, ctx: Context) -> None:
    """The text of the host program."""
    for op in module.body:
        if op.name == "host.func":
            print_python(op)


def steps_of(level: str) -> dict[str, Step]:
    """The passes of a level by name, and the printers of the last."""
    steps: dict[str, Step] = {name: load_pass(name)().run for name in PIPELINES[level]}
    return {**steps, "print LLVM": print_kernels, "print Python": print_host} if level == "kernel" else steps


def measure(title: str, text: str) -> None:
    """Print one table."""
    ctx = make_context(target=cpu_target())
    levels = {level: steps_of(level) for level in ("loop", "kernel")}
    best: dict[str, float] = {}
    counts: dict[str, int] = {}
    for _ in range(RUNS):
        module = parse_module(text, ctx)
        operations = len(module.body.first.body)  # type: ignore[union-attr]
        gc.disable()
        for level, steps in levels.items():
            for name, step in steps.items():
                start = time.process_time()
                step(module, ctx)
                best[name] = min(best.get(name, float("inf")), (time.process_time() - start) * 1e3)
                counts[name] = left(module)
            if level == "loop":
                calls = sum(op.name == "loop.extern" for op in module.body.first.body)  # type: ignore[union-attr]
        gc.enable()
        gc.collect()
    print(f"{title}: {operations} functional operations, {calls} library calls")
    for level, steps in levels.items():
        for name in steps:
            print(f"  {name:<26} {best[name]:8.2f} ms   {counts[name]:5} {'nests' if level == 'loop' else 'nests and kernels'}")
        total = sum(best[name] for name in steps)
        print(f"  {level + ' level':<26} {total:8.2f} ms   {total * 1e3 / operations:5.1f} us an operation")


def main() -> None:
    """The tables."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    encoder = functional_text("encoder.py:encode")
    measure("MLP", functional_text("mlp.py:mlp"))
    measure("encoder block", encoder)
    measure(f"{blocks} encoder blocks", repeated(encoder, blocks))


if __name__ == "__main__":
    main()
