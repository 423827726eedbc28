"""`python -m benchmarks.run_table out.json`: the figures that `benchmarks.run --json out.json` wrote, as the tables of docs/performance.md.

Several files may be given; a workload of a later one takes the place of the same workload in an earlier one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.run import LOST, counts, ratio, summary

Results = Mapping[str, Mapping[str, Any]]


def cell(each: Mapping[str, Any]) -> str:
    """Milliseconds of processor time, and of wall time in brackets."""
    return f"{each['cpu_us'] / 1e3:.3f} ({each['wall_us'] / 1e3:.3f})" if "cpu_us" in each else "failed"


def table(results: Mapping[str, Results]) -> list[str]:
    """One suite."""
    lines = ["| workload | eager ms | torch ms | lect ms | best / lect | launches lect, torch | peak MB lect, torch |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name, found in results.items():
        value = ratio(found)
        lead = "" if value is None else f"{value:.2f}" if value >= LOST else f"**{value:.2f}**"
        times = " | ".join([cell(found.get(compiler, {})) for compiler in ("eager", "torch", "lect")])
        launches = ", ".join([counts(found.get(compiler, {})) for compiler in ("lect", "torch")])
        peaks = ", ".join([f"{found.get(compiler, {}).get('peak_bytes', 0) / 1e6:.2f}" for compiler in ("lect", "torch")])
        lines.append(f"| {name} | {times} | {lead} | {launches} | {peaks} |")
    return lines


def main(paths: Sequence[str]) -> int:
    """Print the tables."""
    suites: dict[str, dict[str, Results]] = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for suite, results in json.load(file)["suites"].items():
                suites.setdefault(suite, {}).update(results)
    for suite, results in suites.items():
        print(f"### {suite}\n")
        print("\n".join([*table(results), "", *[f"- {line}" for line in summary(results)], ""]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
