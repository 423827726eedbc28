"""What `--help` of each tool shows can be typed: its examples are run, in a folder that has the files they name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from lect.tools import lect_cache, lect_completion, lect_main, lect_opt, lect_reduce, lect_report, lect_run, lect_tune
from tests.lit.runner import run_line

TOOLS = {
    "lect": lect_main,
    "lect-cache": lect_cache,
    "lect-completion": lect_completion,
    "lect-opt": lect_opt,
    "lect-reduce": lect_reduce,
    "lect-report": lect_report,
    "lect-run": lect_run,
    "lect-tune": lect_tune,
}
PROGRAM = '''
import torch

def f(x):
    return torch.softmax(x.sin() * 2, -1)

def inputs():
    return (torch.ones(3, 4),)
'''
FUNCTIONAL = """functional.func @g(%x: !functional.tensor<3x4xf32>) {
  %0 = functional.sin(%x) : !functional.tensor<3x4xf32>
  %1 = functional.mul(%0) {other = 2.0} : !functional.tensor<3x4xf32>
  %2 = functional.exp(%1) : !functional.tensor<3x4xf32>
  functional.return(%2)
}
"""
# What these say of files on which nothing fails, or which are there to fail.
REFUSALS = {
    "lect-reduce big.mlir -- lect-opt {} -p loop-fuse-vertical": "does not fail on 'big.mlir'",
    "lect-reduce big.mlir --match 'values differ' -- lect-run {} --random-inputs --compare-levels": "has nothing like 'values differ'",
    "lect-reduce f.py:f -- lect-run {} --random-inputs --compare-levels": "does not fail",
    "lect-opt --run-reproducer failed.mlir": "expo",
    "lect-run --run-reproducer wrong.mlir": "after loop-fuse-vertical",
}


def examples(module: object) -> list[str]:
    """The commands of a tool's help."""
    shown = [line[4:] for line in (module.__doc__ or "").splitlines() if line.startswith("    ")]
    return [re.split(r" {3,}", line)[0].strip() for line in shown]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the examples name."""
    folder = tmp_path_factory.mktemp("help")
    (folder / "f.py").write_text(PROGRAM)
    (folder / "train.py").write_text(f"import lect{PROGRAM}\nlect.compile(f)(*inputs())\n")
    (folder / "graph.mlir").write_text(FUNCTIONAL)
    (folder / "original.mlir").write_text(FUNCTIONAL)
    (folder / "edited.mlir").write_text(FUNCTIONAL.replace("2.0", "2.0"))
    (folder / "still_fails.sh").write_text("#!/bin/sh\ngrep -q functional.sin $1 && exit 3\nexit 0\n")
    (folder / "still_fails.sh").chmod(0o755)
    save_file({"x": torch.ones(3, 4)}, folder / "x.safetensors")
    before = Path.cwd()
    os.chdir(folder)
    try:
        status, text, errors = run_line("lect-opt --capture f.py:f -p capture,aot,functional-to-loop,loop-realize")
        assert status == 0, errors
        loops = text[text.index("loop.func") :].partition("\n}\n")[0] + "\n}\n"
        command = "--reference --compare-levels -p 'loop-fuse-vertical{seed_bug=fusion}' --random-inputs"
        (folder / "wrong.mlir").write_text(f"// configuration: {command}\n{loops}")
        (folder / "failed.mlir").write_text(f"// configuration: -p canonicalize\n{FUNCTIONAL.replace('exp', 'expo')}")
        (folder / "big.mlir").write_text(FUNCTIONAL)
        assert run_line("lect-opt --capture f.py:f -p capture,aot -o frame.mlir")[0] == 0
        yield folder
    finally:
        os.chdir(before)


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_shows_examples(tool):
    assert len(examples(TOOLS[tool])) >= 3
    shown = subprocess.run([sys.executable, "-m", "lect", *tool.split("-")[1:], "--help"], capture_output=True, text=True, check=True).stdout
    assert all(example in shown for example in examples(TOOLS[tool]))


@pytest.mark.parametrize("example", [example for tool in ("lect-opt", "lect-run", "lect-reduce", "lect-report", "lect-completion") for example in examples(TOOLS[tool])])
def test_example(example, folder):
    if example.startswith(("eval", "lect completion fish >", "LECT_REPORT=")):
        pytest.skip("for the shell of a person")
    status, out, err = run_line(example)
    assert "Traceback" not in err and "unrecognized" not in err
    assert status == int(example in REFUSALS), f"{out}\n{err}"
    assert REFUSALS.get(example, "") in out + err
