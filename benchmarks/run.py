"""`python -m benchmarks.run`: eager, torch.compile and lect on the same workloads.

    python -m benchmarks.run                                  the kernels and the zoo, all compilers, one thread
    python -m benchmarks.run --suites models --threads 2
    python -m benchmarks.run --only softmax,sum_all --compilers eager,lect --json out.json
    python -m benchmarks.run --device cuda --suites kernels,models --compilers eager,torch,torch-reduce-overhead,lect --kernels

Each compiler runs in a process of its own; they take turns, batch by batch, so that other work on the machine falls on all of them.  A time is that
of a call in the best batch: `wall`, and `cpu`, the processor time of all threads of the process, which is the fair measure on a busy machine.  The
ratio is that of processor times, the better of the others over lect's; below 0.95 it is marked as lost.  `first` is the first call, compile included
(its processor time is that of the process alone: what torch.compile's C++ compiler takes stands in the wall time only);
`launches` are kernels + library calls of a step, lect's beside torch.compile's; `error` is relative to eager.  Output allocation counts, from memory that the C
library is told to recycle.  torch.compile needs a C++ compiler for the CPU; where there is none it is left out, and the output says so.

On a GPU the ratio is that of wall times, with the device's work at their end, and `cpu` is the host's part.  `--kernels` adds a line with the time of the
device alone and the kernels of lect that take longest; `--together` compiles with all compilers at once, which is quicker and spoils `first`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

RECYCLE = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
COMPILERS = ("eager", "torch", "lect")
LOST = 0.95
BATCH_US = 20_000.0


class Process:
    """A worker and the pipe to it; torch.compile begins with an empty cache in a folder of its own."""

    def __init__(self, compiler: str, device: str, threads: int, variables: Mapping[str, str] = MappingProxyType({"LECT_CACHE": "0"})) -> None:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        variables = {"TORCHINDUCTOR_CACHE_DIR": self.folder.name, **variables}
        environment = {**os.environ, **RECYCLE, "OMP_NUM_THREADS": str(threads), "PYTHONDONTWRITEBYTECODE": "", **variables}
        command = [sys.executable, "-m", "benchmarks.run_worker", compiler, device, str(threads)]
        self.pipe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The answer to a command; {"failed": ...} also when the process has died."""
        assert self.pipe.stdin is not None and self.pipe.stdout is not None
        try:
            print(json.dumps({"do": do, **arguments}), file=self.pipe.stdin, flush=True)
            line = self.pipe.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"failed": "the process ended"}  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the process."""
        assert self.pipe.stdin is not None
        self.pipe.stdin.close()
        try:
            self.pipe.wait(30)
        except subprocess.TimeoutExpired:  # torch.compile's own workers may take longer to end
            self.pipe.kill()
            self.pipe.wait()
        self.folder.cleanup()


class Bench:
    """The workers; those that died are started again."""

    def __init__(self, options: argparse.Namespace, compilers: Sequence[str]) -> None:
        self.compilers, self.device, self.threads = compilers, options.device, options.threads
        self.options = options
        self.workers = {name: Process(name, self.device, self.threads) for name in compilers}

    def _load(self, compiler: str, suite: str, name: str) -> dict[str, Any]:
        if self.workers[compiler].pipe.poll() is not None:
            self.workers[compiler] = Process(compiler, self.device, self.threads)
        return self.workers[compiler].ask("load", suite=suite, name=name)

    def measure(self, suite: str, name: str) -> dict[str, dict[str, Any]]:
        """What each compiler made of one workload."""
        with ThreadPoolExecutor(len(self.compilers) if self.options.together else 1) as pool:
            loaded = list(pool.map(lambda compiler: self._load(compiler, suite, name), self.compilers))
        found: dict[str, dict[str, Any]] = dict(zip(self.compilers, loaded))
        running = [compiler for compiler in self.compilers if "failed" not in found[compiler]]
        calls = {compiler: self._calls(compiler) for compiler in running}
        rounds = max(4, int(self.options.seconds * 1e6 / BATCH_US))
        for _ in range(rounds):
            for compiler in running:
                times = self.workers[compiler].ask("time", calls=calls[compiler])
                for key, value in times.items():
                    found[compiler][key] = value if key == "failed" else min(value, found[compiler].get(key, math.inf))
        for compiler in self.compilers:
            for wanted in ("peak", "kernels"):
                if getattr(self.options, wanted) and "failed" not in found[compiler]:
                    found[compiler] |= self.workers[compiler].ask(wanted)
            self.workers[compiler].ask("drop")
        return found

    def _calls(self, compiler: str) -> int:
        """How many calls make a batch."""
        one = self.workers[compiler].ask("time", calls=1)
        several = self.workers[compiler].ask("time", calls=3) if "failed" not in one else one
        return max(1, min(2000, int(BATCH_US / max(several.get("wall_us", BATCH_US), 1.0))))

    def close(self) -> None:
        """End all workers."""
        for worker in self.workers.values():
            worker.close()


def best_other(found: Mapping[str, Mapping[str, Any]], key: str) -> float | None:
    """The least time of the compilers beside lect."""
    times = [each[key] for name, each in found.items() if name != "lect" and key in each]
    return min(times) if times else None


def ratio(found: Mapping[str, Mapping[str, Any]], key: str = "cpu_us") -> float | None:
    """How many times faster lect is than the best of the others."""
    other = best_other(found, key)
    return other / found["lect"][key] if other is not None and key in found.get("lect", {}) else None


def counts(each: Mapping[str, Any]) -> str:
    """`3+2`: kernels and library calls."""
    launches = each.get("launches") or {}
    return f"{launches['kernels']}+{launches['library']}" if launches else "-"


def row(name: str, found: Mapping[str, Mapping[str, Any]], compilers: Sequence[str], key: str = "cpu_us") -> str:
    """One line of the table."""
    cells = [f"{name:28}"]
    for compiler in compilers:
        each = found[compiler]
        cells.append(f"{each['wall_us'] / 1e3:9.3f} {each['cpu_us'] / 1e3:9.3f}" if "cpu_us" in each else f"{'failed':>19}")
    value = ratio(found, key)
    cells.append(f"{value:6.2f}x{' LOST' if value < LOST else '     '}" if value is not None else " " * 12)
    others = [counts(found[compiler]) for compiler in ("lect", "torch") if compiler in found]
    cells.append(f"{' / '.join(others):>15}")
    firsts = [f"{found[compiler].get('first_ms', math.nan):.0f}" for compiler in ("lect", "torch") if compiler in found]
    cells.append(f"{' / '.join(firsts):>13}")
    cells.append(f"{found.get('lect', {}).get('error', math.nan):8.1e}")
    if any("peak_bytes" in each for each in found.values()):
        cells.append(" / ".join([f"{found[compiler].get('peak_bytes', 0) / 1e6:.2f}" for compiler in compilers]))
    problems = [f"{compiler}: {each['failed']}" for compiler, each in found.items() if "failed" in each]
    problems += [f"lect: {text}" for text in found.get("lect", {}).get("obstacles", ())]
    return "\n".join([" ".join(cells), *[f"    {text[:160]}" for text in [*problems, *kernel_lines(found)]]])


def kernel_lines(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Time of the device for each compiler, and the kernels of lect."""
    totals = [f"{compiler} {each['device_us'] / 1e3:.3f}" for compiler, each in found.items() if "device_us" in each]
    longest = [f"{spent / 1e3:9.3f} ms {count:6.1f} x {name}" for name, count, spent in found.get("lect", {}).get("kernels", ())]
    return [f"device ms: {', '.join(totals)}", *longest] if totals else []


def head(compilers: Sequence[str], peak: bool) -> str:
    """The first line of the table."""
    cells = [" " * 28, *[f"{compiler + ' wall':>9} {'cpu ms':>9}" for compiler in compilers], f"{'best/lect':>12}", f"{'launches':>15}", f"{'first ms':>13}"]
    return " ".join([*cells, f"{'error':>8}", *(["peak MB"] if peak else [])])


def summary(results: Mapping[str, Mapping[str, Mapping[str, Any]]], judged: str = "cpu_us") -> list[str]:
    """Geometric means over the workloads of a suite, and who lost."""
    lines = []
    for key, label in (("cpu_us", "processor time"), ("wall_us", "wall time")):
        for other in ("eager", "torch", "torch-reduce-overhead"):
            both = [each[other][key] / each["lect"][key] for each in results.values() if key in each.get(other, {}) and key in each.get("lect", {})]
            if both:
                mean = math.exp(sum(map(math.log, both)) / len(both))
                lines.append(f"geometric mean, {label}, {other} / lect over {len(both)} workloads: {mean:.2f}x")
    for key, label in (("first_cpu_ms", "processor time of the process"), ("first_ms", "wall time")):
        both = [each["torch"][key] / each["lect"][key] for each in results.values() if key in each.get("torch", {}) and key in each.get("lect", {})]
        if both:
            mean = math.exp(sum(map(math.log, both)) / len(both))
            lines.append(f"geometric mean, first call, {label}, torch / lect over {len(both)} workloads: {mean:.1f}x, least {min(both):.1f}x")
    lines += [f"more {what} than torch: {', '.join(names) or 'none'}" for what, names in worse(results).items()]
    values = {name: ratio(each, judged) for name, each in results.items()}
    lost = [f"{name} {value:.2f}x" for name, value in values.items() if value is not None and value < LOST]
    lines.append(f"lost (less than {LOST}x of the best other): {', '.join(lost) or 'none'}")
    return lines


def worse(results: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, list[str]]:
    """The workloads of which lect launches more, or takes more memory at once, than torch.compile; no entry where that was not counted."""
    found: dict[str, list[str]] = {}
    for name, each in results.items():
        lect, torch = each.get("lect", {}), each.get("torch", {})
        if lect.get("launches") and torch.get("launches"):
            own, other = sum(lect["launches"].values()), sum(torch["launches"].values())
            found.setdefault("launches", []).extend([f"{name} {own} against {other}"] if own > other else [])
        if "peak_bytes" in lect and "peak_bytes" in torch:
            own, other = lect["peak_bytes"], torch["peak_bytes"]
            found.setdefault("memory", []).extend([f"{name} {own / 1e6:.2f} against {other / 1e6:.2f} MB"] if own > other * 1.01 + 1024 else [])
    return found


def chosen(suite: Mapping[str, Any], words: Sequence[str]) -> list[str]:
    """Names that are, begin with, or contain one of the words."""
    return [name for name in suite if not words or any(word == name or word in name for word in words)]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="eager, torch.compile and lect on the same workloads")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--compilers", default=",".join(COMPILERS))
    parser.add_argument("--suites", default="kernels,zoo", help="kernels, zoo, models")
    parser.add_argument("--only", default="", help="names of workloads, or parts of them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.3, help="time for each compiler and workload")
    parser.add_argument("--peak", action="store_true", help="the most memory of tensors of a step too")
    parser.add_argument("--kernels", action="store_true", help="time of the device and its kernels, on a GPU")
    parser.add_argument("--together", action="store_true", help="compile with all compilers at once; first calls are not comparable then")
    parser.add_argument("--json", default="", help="a file for all figures")
    return parser.parse_args()


def main() -> int:
    """Print the tables."""
    options = arguments()
    compilers = options.compilers.split(",")
    if "torch" in compilers and options.device == "cpu" and not any(map(shutil.which, ("g++", "clang++", "c++"))):
        print("torch.compile is left out: its CPU code needs a C++ compiler, and this machine has none")
        compilers.remove("torch")
    from benchmarks.workloads import suites

    words = [word for word in options.only.split(",") if word]
    bench = Bench(options, compilers)
    key = "wall_us" if options.device == "cuda" else "cpu_us"
    everything: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    print(f"{options.device}, {options.threads} threads")
    for suite in options.suites.split(","):
        names = chosen(suites()[suite], words)
        results = everything[suite] = {}
        if names:
            print(f"\n{suite}\n{head(compilers, options.peak)}")
        for name in names:
            results[name] = bench.measure(suite, name)
            print(row(name, results[name], compilers, key), flush=True)
        if names:
            print("\n".join(summary(results, key)))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"device": options.device, "threads": options.threads, "suites": everything}, out, indent=1)
    bench.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
