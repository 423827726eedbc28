"""The demonstration behind `make demo`: compile two unmodified torch.nn models on the CPU, check and time them, train a third on real images under
eager and compiled, and show one function at every level."""

from __future__ import annotations

import io
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import lect
from lect.tools import lect_opt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import digits  # noqa: E402 - the folder of this file holds it
import encoder  # noqa: E402
import mlp  # noqa: E402

CALLS = 200
WIDTH = 150

# What a stage gives, the pipelines up to it, and of which operations how many lines are shown.
STAGES = (
    ("captured: guards, the graph of torch calls, and the code that stays Python", "capture", (("guard.set", 5), ("fx.graph", 12), ("pyframe.func", 6))),
    ("pure operations with exact types", "capture,aot", (("functional.func", 16),)),
    ("loop nests, fused where it pays", "capture,aot,loop", (("loop.func", 24),)),
    ("tile programs and the host program", "capture,aot,loop,kernel", (("kernel.func", 16), ("host.func", 30))),
)


def medians_us(*calls: Callable[[], Any]) -> list[float]:
    """Median time of each call in microseconds, the calls taken in turns so that a busy moment hits them alike."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(CALLS):
        for call, taken in zip(calls, times):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) * 1e6 for taken in times]


def show_model(name: str, model: torch.nn.Module, x: torch.Tensor) -> None:
    """Compile, compare with eager, time both."""
    compiled = lect.compile(model)
    with torch.no_grad():
        start = time.perf_counter()
        got = compiled(x)
        cold = time.perf_counter() - start
        want = model(x)
        torch.testing.assert_close(got, want)
        error = (got - want).abs().max().item()
        for _ in range(20):
            compiled(x), model(x)
        eager, ours = medians_us(lambda: model(x), lambda: compiled(x))
    print(f"  {name:<28} compiled in {cold * 1e3:6.0f} ms   eager {eager:7.1f} us   lect {ours:7.1f} us   largest difference {error:.1e}")


def show_levels(target: str) -> None:
    """The captured function after each stage of the pipeline."""
    for what, pipeline, shown in STAGES:
        out, err = io.StringIO(), io.StringIO()
        if lect_opt.run(["--capture", target, "-p", pipeline], None, out, err):
            raise SystemExit(err.getvalue())
        lines = out.getvalue().splitlines()
        print(f"\n== {what}\n   lect-opt --capture examples/{Path(target).name} -p '{pipeline}'   ({len(lines)} lines in all)\n")
        for name, count in shown:
            start = next((number for number, line in enumerate(lines) if line.startswith(name)), None)
            if start is not None:
                end = next(number for number, line in enumerate(lines[start:], start) if line == "}")
                cut = min(end + 1, start + count)
                for line in lines[start:cut]:
                    print("   " + (line if len(line) < WIDTH else line[: WIDTH - 3] + "..."))
                if cut <= end:
                    print("     ...\n   }")


def main() -> None:
    """Run the demonstration."""
    torch.manual_seed(0)
    print(f"lect {lect.__version__} on torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    show_model("residual MLP", mlp.model, torch.randn(32, 64))
    show_model("TransformerEncoderLayer", encoder.model, torch.randn(4, 16, 64))
    print("\n  a convolutional network learns scikit-learn's digits (examples/digits.py)")
    digits.show()
    show_levels(f"{HERE / 'mlp.py'}:mlp")
    print("\nThe same for the encoder block: lect-opt --capture examples/encoder.py:encode -p 'capture,aot,loop,kernel' --print-ir-after-change")


if __name__ == "__main__":
    main()
