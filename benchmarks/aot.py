"""`python -m benchmarks.aot`: what the functional level costs for a training step, and how much memory a step keeps for its backward.

The first table is one training step of a GPT of twelve layers: all passes of `aot`, from the captured calls to a forward and a backward, beside
AOTAutograd under `torch.compile(backend="aot_eager")`, and the whole of that compile.  Each is measured in three processes of its own; times are medians
of processor time on one thread, `best` the least.  The second table is a chain of elementwise operations, the third the bytes kept beside
parameters, buffers and arguments: by eager, by lect, and by torch's min-cut partition without and with its decompositions.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

PROCESSES = 3
LIMIT = 120.0  # milliseconds, all passes, GPT of twelve layers
RATIO = 10.0  # AOTAutograd's time over lect's, at least
CHAIN = (500, 1500, 3500, 7000)  # operations of the forward, about a third of all
MODELS = ("gpt", "bert", "resnet50", "vit")


def measure(*arguments: str) -> dict[str, float] | None:
    """The figures of one process; None when the model cannot be made here."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.aot_models", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr:
            return None
        raise SystemExit(done.stderr)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: float(value) for name, value in lines}


def several(*arguments: str) -> list[dict[str, float]]:
    """The figures of some processes."""
    found = [measure(*arguments) for _ in range(PROCESSES)]
    return [each for each in found if each is not None]


def over(wrong: bool) -> str:
    """The mark of a limit that is not kept."""
    return "   OVER" if wrong else ""


def level() -> None:
    """The passes one by one, all together, and torch's."""
    ours, theirs = several("lect", "gpt"), several("torch", "gpt")
    median = {name: statistics.median(each[name] for each in ours) for name in ours[0]}
    print(f"{'GPT of 12 layers, one training step':<40} {'ms':>8} {'best':>8}")
    for name in median:
        if name not in ("total", "operations") and median[name] >= 0.05:
            print(f"  {name:<38} {median[name]:8.1f} {min(each[name] for each in ours):8.1f}")
    best = min(each["total"] for each in ours)
    label = f"all passes, {median['operations']:.0f} operations"
    print(f"{label:<40} {median['total']:8.1f} {best:8.1f}   (limit {LIMIT:.0f}){over(median['total'] > LIMIT)}")
    for name, what in (("aot", "AOTAutograd of aot_eager"), ("all", "all of torch.compile, aot_eager")):
        times = [each[name] for each in theirs]
        ratio = statistics.median(times) / median["total"]
        print(f"{what:<40} {statistics.median(times):8.1f} {min(times):8.1f}   {ratio:.1f} times lect's{over(ratio < RATIO)}")


def growth() -> None:
    """Microseconds for each operation of longer and longer graphs."""
    print(f"\n{'chain of':>10} {'ms':>9} {'us each':>9}")
    for length in CHAIN:
        found = measure("chain", str(length))
        assert found is not None
        count = found["operations"]
        print(f"{count:10.0f} {found['total']:9.1f} {found['total'] / count * 1e3:9.1f}", flush=True)


def memory() -> None:
    """Bytes kept for the backward."""
    print(f"\n{'kept bytes':<10} {'eager':>12} {'lect':>12} {'torch':>12} {'decomposed':>12}")
    for name in MODELS:
        found = measure("saved", name)
        if found is None:
            print(f"{name:<10} cannot be made here")
            continue
        theirs = min(found["aot_eager"], found["aot_eager_decomp_partition"])
        print(f"{name:<10}" + "".join(f" {value:12.0f}" for value in found.values()) + over(found["lect"] > theirs), flush=True)


def main() -> None:
    """Print the tables."""
    level()
    growth()
    memory()


if __name__ == "__main__":
    main()
