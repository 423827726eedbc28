"""What a report costs: how long recording a compile and writing the page take, and how large the page is.

    python -m benchmarks.report              prints processor seconds and megabytes of a GPT of twelve layers, with its backward
    python -m benchmarks.report --json out.json

The compile is that of `lect.explain`, alternately with and without recording, five times each; medians.  Writing is what `Explanation.report` takes when the
backward is compiled already, the first time.  On two busy cores: 0.41 s with recording and 0.26 s without, 0.15 s to write, 3.2 MB.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from benchmarks.aot_models import gpt
from lect.runtime.explain import Explanation, explain_call
from lect.runtime.report.recording import Recorder

LIMIT_SECONDS, LIMIT_MEGABYTES = 3.0, 10.0
ROUNDS = 5


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def measure() -> dict[str, float]:
    """All figures."""
    torch.set_num_threads(1)
    model, inputs = gpt()
    explain = lambda: explain_call(model, inputs, {})  # noqa: E731
    explain()
    recorded, plain = [], []
    made: Explanation | None = None
    for _ in range(ROUNDS):
        took, made = seconds(explain)
        recorded.append(took)
        with mock.patch.object(Recorder, "begin", lambda *_: None):
            plain.append(seconds(explain)[0])
    assert made is not None
    for training in made.training:
        training.compile_all_backwards()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        written, _ = seconds(lambda: made.report(path))
        size = path.stat().st_size / 1e6
    return {"recorded": statistics.median(recorded), "plain": statistics.median(plain), "written": written, "megabytes": size}


def main() -> None:
    """Print the figures beside their limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    found = measure()
    print(f"compile, recorded   {found['recorded']:6.2f} s   {found['recorded'] / found['plain']:.2f} times one that is not")
    print(f"writing the page    {found['written']:6.2f} s   limit {LIMIT_SECONDS:.0f} s")
    print(f"size of the page    {found['megabytes']:6.2f} MB  limit {LIMIT_MEGABYTES:.0f} MB")
    if options.json:
        Path(options.json).write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
