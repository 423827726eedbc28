"""`python -m benchmarks.dump`: what writing the texts of a compile adds to the first step of a GPT of twelve layers in a new process.

    python -m benchmarks.dump                7 pairs of processes, with and without `dump`, in turn
    python -m benchmarks.dump --pairs 3

Processor time of the first forward, and of the first forward and backward, without the cache.  A ratio above its limit is marked OVER.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import torch

import lect

LIMIT = 1.3
STEPS = ("inference", "training")


def once(step: str, folder: str | None) -> float:
    """Processor time of the first step in this process, in seconds."""
    torch.manual_seed(0)
    options = {"cache": False, **({"dump": folder} if folder else {})}
    if step == "inference":
        from benchmarks.capture_models import gpt

        model, arguments = gpt(12)
        compiled = lect.compile(model, options=options)
        with torch.no_grad():
            start = time.process_time()
            compiled(**arguments)
            return time.process_time() - start
    from benchmarks.aot_models import gpt as with_loss

    training, inputs = with_loss()
    compiled = lect.compile(training, options=options)
    start = time.process_time()
    compiled(*inputs).backward()
    return time.process_time() - start


def measured(step: str, dump: bool) -> float:
    """The same in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.dump", "--once", step, *(["--folder", folder] if dump else [])]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, or one time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--once", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.once:
        print(once(options.once, options.folder))
        return
    print(f"{'step':<12} {'plain ms':>9} {'dump ms':>9} {'ratio':>6}   median of {options.pairs} pairs")
    for step in STEPS:
        pairs = [(measured(step, False), measured(step, True)) for _ in range(options.pairs)]
        plain, dump = (1000 * statistics.median(each) for each in zip(*pairs))
        ratio = statistics.median([b / a for a, b in pairs])
        print(f"{step:<12} {plain:>9.0f} {dump:>9.0f} {ratio:>6.2f}{'  OVER' if ratio > LIMIT else ''}")


if __name__ == "__main__":
    main()
