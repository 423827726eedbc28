"""What bash is given when somebody presses TAB behind the beginning of a command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from lect.passes import PASSES
from lect.tools import lect_completion, lect_main
from lect.tools.completion import pass_names, pipeline, targets

needs_argcomplete = pytest.mark.skipif(find_spec("argcomplete") is None, reason="argcomplete is not installed")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
ASK = """
eval "$(lect completion bash)"
COMP_LINE="$1"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
_python_argcomplete "${COMP_WORDS[0]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(line: str) -> list[str]:
    """The words that bash shows for a line."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["bash", "-c", ASK, "bash", line], capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False)
    assert done.stderr == ""
    return [word.strip() for word in done.stdout.splitlines() if word.strip()]


@needs_argcomplete
@needs_bash
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("lect-opt --print-ir-b", ["--print-ir-before", "--print-ir-before-all"]),
        ("lect-opt x.mlir -p capture,aot,loop-fuse-v", ["capture,aot,loop-fuse-vertical"]),
        ("lect-opt x.mlir --print-ir-after cs", ["cse"]),
        ("lect-opt --emit l", ["llvm"]),
        ("lect-run x.mlir --compare-r", ["--compare-reference"]),
        ("lect-run x.mlir -p kernel-choose-w", ["kernel-choose-warps"]),
        ("lect-reduce --ma", ["--match"]),
        ("lect re", ["reduce"]),
        ("lect opt x.mlir -p functional-split-j", ["functional-split-joint"]),
        ("lect cache ex", ["export"]),
        ("lect completion f", ["fish"]),
        ("lect tune dr", ["draft"]),
    ],
)
def test_bash(line, words):
    assert [word for word in completed(line) if word != "report"] == words


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ("loop-fuse-v", ["loop-fuse-vertical"]),
        ("cse,dc", ["cse,dce"]),
        ("loop-fuse-vertical{se", ["loop-fuse-vertical{seed_bug="]),
        ("cse,loop-fuse-vertical{max_body=3 se", ["cse,loop-fuse-vertical{max_body=3 seed_bug="]),
        ("loop-fuse-vertical{max_body=3},dc", ["loop-fuse-vertical{max_body=3},dce"]),
        ("no-such-pass{", []),
        ("no-such", []),
    ],
)
def test_pipelines(prefix, words):
    assert pipeline(prefix) == words


def test_lists():
    assert pass_names("") == list(PASSES)
    assert targets("cuda:sm_90") == ["cuda:sm_90"]
    assert set(pipeline("")) > {"capture", "aot", "loop", "kernel"}


def test_all_tools_tell_their_arguments():
    assert lect_main.arguments().format_help()


@needs_argcomplete
@pytest.mark.parametrize("shell", lect_completion.SHELLS)
def test_scripts(shell, capsys):
    assert lect_main.main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in lect_completion.COMMANDS)


def test_without_the_package(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert lect_main.main(["completion", "bash"]) == 1
    assert "pip install 'lect[completion]'" in capsys.readouterr().err
