"""Every entry of torch's operators through `lect.compile`, counted.

    python -m tests.opinfo.report [ENTRY ...] [--dtypes float32,...] [--kinds forward,...] [--samples N] [--workers N] [--json FILE]
    python -m tests.opinfo.report --write               also writes docs/op-coverage.md, from all dtypes and kinds
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import torch

from tests.opinfo.pool import ROOT, Job, run_jobs
from tests.opinfo.samples import DTYPES, KINDS, SAMPLES, dtype_name, entries, kinds_of
from tests.opinfo.trial import GOOD

PAGE = ROOT / "docs" / "op-coverage.md"
WAYS = ("native", "library", "opaque", "torch", "parts", "python", "eager")
Row = dict[str, Any]

HEAD = """# Operator coverage

torch's own samples of all its operators (`op_db` of torch {version}), each run as it is and through `lect.compile`, on the CPU. Made by
`python -m tests.opinfo.report --write`; `pytest -m slow tests/opinfo` runs the same samples as tests. Up to {samples} samples of each entry, dtype and kind of
run are taken, spread over the entry's list.

Compared are values, dtypes, strides, whose memory a result lies in, what the arguments hold behind the call, how often they were written, gradients, and
the type and message of exceptions. *Equal* is bit by bit, signs of zeros included; *close* is up to the rounding of sums and of functions such as `exp`
(torch.testing's tolerances; one rounding for halves); for random numbers and memory that nobody has written only the *metadata* are compared.

Who computed: *native* kernels (matrix products, convolutions and attention by the library; a call that only raises eager's error for a bad index, and the
draw of a seed, compute nothing), or kernels with *library* calls for a part, or with *opaque*
calls of operators that the functional dialect has no operation for; *torch* call by call inside of the compiled function; in *parts* around a graph break;
*python* when nothing was left to compute; *eager* as a whole. The numbers are those of [the reasons](graph-breaks.md).

"""


def table_of(title: str, rows: list[Row], key: str, order: list[str]) -> list[str]:
    """One line for each value of `key`."""
    lines = [f"| {title} | samples | equal | close | metadata | wrong | crash | " + " | ".join(WAYS) + " |", "|" + "---|" * (7 + len(WAYS))]
    for name in [*order, "all"]:
        chosen = [row for row in rows if name in ("all", row[key])]
        if not chosen:
            continue
        hows, ways = Counter(row["how"] for row in chosen), Counter(row["way"] for row in chosen)
        wrong = sum(count for how, count in hows.items() if how not in GOOD and how != "crash")
        cells = [len(chosen), hows["equal"], hows["close"], hows["metadata"], wrong, hows["crash"], *[ways[way] for way in WAYS]]
        lines.append(f"| {name if name != 'all' else '**all**'} | " + " | ".join(map(str, cells)) + " |")
    return lines


def reasons_of(rows: list[Row]) -> list[str]:
    """For each reason, how many samples and which entries."""
    found: dict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    for row in rows:
        for number in row["reasons"]:
            found[number].add(row["entry"])
            counts[number] += 1
    lines = ["| reason | samples | entries | which |", "|---|---|---|---|"]
    for number, count in counts.most_common():
        names = sorted(found[number])
        shown = ", ".join(names[:60]) + (f", and {len(names) - 60} more" if len(names) > 60 else "")
        lines.append(f"| {number} | {count} | {len(names)} | {shown} |")
    return lines


def only_native(rows: list[Row], kinds: tuple[str, ...]) -> set[str]:
    """The entries that have samples of these kinds, and all of them in native kernels alone."""
    chosen = [row for row in rows if row["kind"] in kinds]
    return {row["entry"] for row in chosen} - {row["entry"] for row in chosen if row["way"] != "native"}


def counted(rows: list[Row]) -> str:
    """How many entries run in native kernels alone."""
    both, forward = len(only_native(rows, ("forward", "backward"))), len(only_native(rows, ("forward",)))
    return f"Every forward and backward sample of {both} entries runs in native kernels alone, every forward sample of {forward}."


def by_entry(rows: list[Row]) -> list[str]:
    """One line for each entry: how its samples came out, and who computed them."""
    lines = ["| entry | samples | equal | close | metadata | wrong | computed by |", "|---|---|---|---|---|---|---|"]
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row["entry"]].append(row)
    for name in sorted(grouped):
        chosen = grouped[name]
        hows, ways = Counter(row["how"] for row in chosen), Counter(row["way"] for row in chosen)
        wrong = sum(count for how, count in hows.items() if how not in GOOD)
        by = ", ".join(f"{way} {ways[way]}" for way in WAYS if ways[way])
        lines.append(f"| {name} | {len(chosen)} | {hows['equal']} | {hows['close']} | {hows['metadata']} | {wrong} | {by} |")
    return lines


def faults_of(rows: list[Row]) -> list[str]:
    """A sentence for each sample that is not eager's."""
    chosen = sorted((row for row in rows if row["how"] not in GOOD), key=lambda row: (row["how"], row["entry"], row["dtype"], row["kind"]))
    return [f"- {row['how']}: {row['entry']} {row['dtype']} {row['kind']} {row['number']} ({row['way']}): {row['what'][:400]}; {row['what_ran'][:200]}" for row in chosen]


def text_of(rows: list[Row], samples: int, note: str) -> str:
    """The text of docs/op-coverage.md; `note` says what is special about these outcomes."""
    wrong = faults_of(rows)
    counts = Counter(row["entry"] for row in rows)
    lines = [HEAD.format(version=torch.__version__.partition("+")[0], samples=samples)]
    lines += [f"{len(rows)} samples of {len(counts)} entries. {counted(rows)}", "", *([note, ""] if note else [])]
    lines += [*table_of("dtype", rows, "dtype", [dtype_name(dtype) for dtype in DTYPES]), ""]
    lines += [*table_of("kind", rows, "kind", list(KINDS)), ""]
    lines += ["## Reasons", "", *reasons_of(rows), "", "## Entries", "", *by_entry(rows), ""]
    if wrong:
        lines += ["## These differ", "", *wrong, ""]
    return "\n".join(lines)


def summary(rows: list[Row]) -> str:
    """The tables for a terminal."""
    dtypes = [dtype_name(dtype) for dtype in DTYPES]
    return "\n".join([*faults_of(rows), "", counted(rows), "", *table_of("dtype", rows, "dtype", dtypes), "", *table_of("kind", rows, "kind", list(KINDS)), "", *reasons_of(rows)])


def main() -> int:
    """What the command line asks for; 1 when anything differs."""
    os.environ["LECT_CACHE"] = "0"  # every sample is compiled, in the workers too
    parser = argparse.ArgumentParser(prog="python -m tests.opinfo.report")
    parser.add_argument("entries", nargs="*")
    parser.add_argument("--dtypes", default=",".join(dtype_name(dtype) for dtype in DTYPES))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--from", dest="given", type=Path, nargs="*", help="read outcomes, later files over earlier ones, instead of running")
    parser.add_argument("--note", default="", help="a sentence for the page, such as what was left out")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    start, rows = time.monotonic(), []
    kinds = tuple(options.kinds.split(","))
    if options.given:
        lines = [json.loads(line) for path in options.given for line in path.read_text(encoding="utf-8").splitlines()]
        rows = list({(row["entry"], row["dtype"], row["kind"], row["number"]): row for row in lines}.values())  # the last of equal ones
    else:
        sink = options.json.open("w", encoding="utf-8") if options.json else None

        def report(row: Row) -> None:
            rows.append(row)
            if sink is not None:
                print(json.dumps(row), file=sink, flush=True)

        run_jobs(jobs(options.entries, options.dtypes.split(","), kinds, options.samples), options.workers, report)
    rows.sort(key=lambda row: (row["entry"], row["dtype"], row["kind"], row["number"]))
    print(summary(rows))
    print(f"\n{len(rows)} samples in {time.monotonic() - start:.0f} s", file=sys.stderr)
    if options.write:
        PAGE.write_text(text_of(rows, options.samples, options.note), encoding="utf-8")
    return int(any(row["how"] not in GOOD for row in rows))


def jobs(names: list[str], dtypes: list[str], kinds: tuple[str, ...], samples: int) -> list[Job]:
    """A job for each entry and dtype that eager has."""
    found = entries()
    chosen = names or list(found)
    return [
        Job(name, dtype_name(dtype), kinds, samples)
        for name in chosen
        for dtype in DTYPES
        if dtype_name(dtype) in dtypes and kinds_of(found[name], dtype)
    ]


if __name__ == "__main__":
    sys.exit(main())
