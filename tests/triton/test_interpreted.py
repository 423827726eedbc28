"""Every program of the zoo and steps of training, compiled as for a GPU, against eager: its kernels run in Triton's interpreter, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.meta.tree import ROOT
from tests.triton.nets import NETS
from tests.triton.sizes import PROGRAMS
from tests.triton.zoo import ZOO

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
QUICK = frozenset("broadcast_add transpose_add extremes integers casts bias_gelu column_sums greatest softmax_rows layernorm embedding scans adam_foreach error_functions parts_of_numbers".split())

QUICK_SIZES = frozenset("pointwise softmax transposed product".split())


@pytest.fixture(scope="module")
def worker() -> Iterator[Any]:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.triton.worker"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=ROOT, text=True)
    yield process
    assert process.stdin is not None
    process.stdin.close()
    process.wait(60)


def ask(worker: Any, name: str) -> None:
    worker.stdin.write(name + "\n")
    worker.stdin.flush()
    assert json.loads(worker.stdout.readline()) == {"name": name, "wrong": None}


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else (pytest.mark.slow,)) for name in (*ZOO, *NETS)])
def test_program(name: str, worker: Any) -> None:
    ask(worker, name)


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK_SIZES else (pytest.mark.slow,)) for name in (*PROGRAMS, "training")])
def test_sizes_are_arguments(name: str, worker: Any) -> None:
    ask(worker, f"sizes {name}")
