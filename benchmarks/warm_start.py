"""`python -m benchmarks.warm_start`: the first step of a model in a new process, with caches that are empty and with those of a process before.

    python -m benchmarks.warm_start                                    the models on the CPU, lect and torch.compile
    python -m benchmarks.warm_start --device cuda --only gpt --json out.json

Each measurement is a process of its own; its caches lie in a folder of their own.  A time is that of the first step after all imports: capture, compile
or cache, and the step itself with its backward.  `warm` is the best of `--runs` processes, and `torch / lect` that of their warm times, processor time
beside wall time.  torch.compile needs a C++ compiler for the CPU; where there is none it is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.run import Process


def caches(folder: str) -> dict[str, str]:
    """The variables that put all caches below a folder."""
    names = {"LECT_CACHE_DIR": "lect", "TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
    return {"LECT_CACHE": "1", **{variable: os.path.join(folder, name) for variable, name in names.items()}}


def first_step(compiler: str, device: str, threads: int, name: str, folder: str) -> dict[str, Any]:
    """What a new process says of its first step: `first_ms`, `first_cpu_ms`, and `failed` when it raised."""
    process = Process(compiler, device, threads, caches(folder))
    try:
        return process.ask("load", suite="models", name=name)
    finally:
        process.close()


def measure(compiler: str, device: str, threads: int, name: str, runs: int) -> dict[str, float]:
    """Cold and warm first steps of a model, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        found = [first_step(compiler, device, threads, name, folder) for _ in range(runs + 1)]
    failed = next((each["failed"] for each in found if "failed" in each), None)
    if failed is not None:
        print(f"{name}: {compiler} failed: {failed.splitlines()[-1][:120]}")
        return {}
    warm = found[1:]
    return {
        "cold_ms": found[0]["first_ms"],
        "cold_cpu_ms": found[0]["first_cpu_ms"],
        "warm_ms": min(each["first_ms"] for each in warm),
        "warm_cpu_ms": min(each["first_cpu_ms"] for each in warm),
    }


def show(name: str, found: dict[str, dict[str, float]]) -> str:
    """A line of the table."""
    cells = [name.ljust(28)]
    for compiler in ("lect", "torch"):
        for key in ("cold_ms", "warm_ms", "warm_cpu_ms"):
            cells.append(f"{found.get(compiler, {}).get(key, math.nan):10.0f}")
    ratio = found.get("torch", {}).get("warm_ms", math.nan) / found.get("lect", {}).get("warm_ms", math.nan)
    return "".join([*cells, f"{ratio:9.1f}"])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; prints the table and returns the exit status."""
    from benchmarks.workloads import suites

    parser = argparse.ArgumentParser(prog="benchmarks.warm_start", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--compilers", default="lect,torch")
    parser.add_argument("--only", default="", help="parts of names, by commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=2, help="warm processes for each")
    parser.add_argument("--json", help="also write the figures there")
    options = parser.parse_args(argv)
    compilers = options.compilers.split(",")
    if options.device == "cpu" and "torch" in compilers and not (shutil.which("g++") or shutil.which("clang++")):
        print("torch.compile is left out: there is no C++ compiler")
        compilers.remove("torch")
    wanted = options.only.split(",")
    names = [name for name in suites()["models"] if any(part in name for part in wanted)]
    print("".join(["model".ljust(28), *[f"{head:>10}" for head in ("lect cold", "warm ms", "cpu ms", "torch cold", "warm ms", "cpu ms")], "    ratio"]))
    all_found = {}
    for name in names:
        found = all_found[name] = {each: measure(each, options.device, options.threads, name, options.runs) for each in compilers}
        print(show(name, found), flush=True)
    ours = [found["lect"]["warm_ms"] for found in all_found.values() if found.get("lect")]
    if ours:
        print(f"geometric mean of lect's warm first steps: {math.exp(sum(map(math.log, ours)) / len(ours)):.0f} ms")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(all_found, file, indent=1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
