"""`python -m benchmarks.loop_level`: what the passes of the loop level cost, and how many nests are left.

    python -m benchmarks.loop_level          the MLP, the encoder block, and 60 encoder blocks in a row
    python -m benchmarks.loop_level 10       the same with 10 blocks

Times are CPU time, the best of several runs with garbage collection off, so that other work on the machine counts as little as it can.  The goal
for a graph of 2,700 operations is 150 ms.
"""

from __future__ import annotations

import contextlib
import gc
import io
import re
import sys
import time
from pathlib import Path

from lect.dialects import make_context
from lect.ir import Operation, parse_module
from lect.passes import load_pass
from lect.passes.pipelines import PIPELINES
from lect.tools.lect_opt import main as lect_opt

ROOT = Path(__file__).resolve().parents[1]
RUNS = 6


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


def nests(module: Operation) -> int:
    """Number of nests in the only function."""
    return sum(op.name == "loop.nest" for op in module.body.first.body)  # type: ignore[union-attr]


def measure(title: str, text: str) -> None:
    """Print one table."""
    ctx = make_context()
    names = PIPELINES["loop"]
    best = dict.fromkeys(names, float("inf"))
    counts: dict[str, int] = {}
    for _ in range(RUNS):
        module = parse_module(text, ctx)
        operations = len(module.body.first.body)  # type: ignore[union-attr]
        gc.disable()
        for name in names:
            single = load_pass(name)()
            start = time.process_time()
            single.run(module, ctx)
            best[name] = min(best[name], (time.process_time() - start) * 1e3)
            counts[name] = nests(module)
        gc.enable()
        gc.collect()
    calls = sum(op.name == "loop.extern" for op in module.body.first.body)  # type: ignore[union-attr]
    total = sum(best.values())
    print(f"{title}: {operations} functional operations, {calls} library calls")
    for name in names:
        print(f"  {name:<24} {best[name]:8.2f} ms   {counts[name]:5} nests")
    print(f"  {'all':<24} {total:8.2f} ms   {total * 1e3 / operations:5.1f} us an operation")


def main() -> None:
    """The tables."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    encoder = functional_text("encoder.py:encode")
    measure("MLP", functional_text("mlp.py:mlp"))
    measure("encoder block", encoder)
    measure(f"{blocks} encoder blocks", repeated(encoder, blocks))


if __name__ == "__main__":
    main()
