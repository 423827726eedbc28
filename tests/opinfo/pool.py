"""Worker processes that run entries, so that a process that ends or hangs is one outcome and not the end of the run.

A worker reads one job a line, (entry, dtype, kinds, samples, what to leave out), and prints a line before and behind each sample.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tests.opinfo.samples import dtype_name

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120  # for one sample


@dataclass
class Job:
    """All samples of an entry for one dtype; `skipped` are those that ended a process."""

    entry: str
    dtype: str
    kinds: tuple[str, ...]
    limit: int
    skipped: list[tuple[str, int]] = field(default_factory=list)


class Worker:
    """A process; `run` gives it a job and hands every outcome to `report`."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def run(self, job: Job, report: Callable[[dict[str, Any]], None]) -> None:
        """One job to its end, in new processes behind each that ends."""
        while not self._attempt(job, report):
            pass

    def _attempt(self, job: Job, report: Callable[[dict[str, Any]], None]) -> bool:
        """True when the process has answered everything."""
        if self.process is None:
            command = [sys.executable, "-m", "tests.opinfo.pool"]
            settings = {**os.environ, "LECT_CACHE": "0"}  # who computes a graph is seen where it is lowered
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env=settings
            )
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([job.entry, job.dtype, job.kinds, job.limit, job.skipped]) + "\n")
        process.stdin.flush()
        current: tuple[str, int] | None = None
        while True:
            timer = threading.Timer(SECONDS, process.kill)
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            if not line:
                break
            found = json.loads(line)
            if found == "done":
                return True
            if isinstance(found, list):
                current = (found[0], found[1])
            else:
                report(found)
                job.skipped.append((found["kind"], found["number"]))
        self.process = None
        status = process.wait()
        kind, number = current or ("samples", -1)
        what = f"the process ended with status {status}"
        report({**_crashed(job, kind, number), "how": "crash", "what": what})
        if current is None:
            return True
        job.skipped.append(current)
        return False

    def close(self) -> None:
        """End the process."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()


def _crashed(job: Job, kind: str, number: int) -> dict[str, Any]:
    return {"entry": job.entry, "dtype": job.dtype, "kind": kind, "number": number, "what_ran": "", "way": "eager", "reasons": [], "details": []}


def run_jobs(jobs: Iterable[Job], workers: int, report: Callable[[dict[str, Any]], None]) -> None:
    """All jobs, by so many processes at once; `report` is called by one thread at a time."""
    waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    for _ in range(workers):
        waiting.put(None)
    lock = threading.Lock()

    def told(outcome: dict[str, Any]) -> None:
        with lock:
            report(outcome)

    def work() -> None:
        worker = Worker()
        while (job := waiting.get()) is not None:
            worker.run(job, told)
        worker.close()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def serve() -> None:
    """The body of a worker."""
    from tests.opinfo.trial import outcomes

    torch.set_num_threads(1)
    answers = sys.stdout
    sys.stdout = sys.stderr
    dtypes = {dtype_name(dtype): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}

    def say(value: Any) -> None:
        print(json.dumps(value), file=answers, flush=True)

    for line in sys.stdin:
        name, dtype, kinds, limit, skipped = json.loads(line)
        for outcome in outcomes(name, dtypes[dtype], kinds, limit, {tuple(each) for each in skipped}, lambda kind, number: say([kind, number])):
            say(outcome.record())
        say("done")


if __name__ == "__main__":
    serve()
