"""`lect report` and `LECT_REPORT`: of a function, of a program, and of programs that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import lect
from lect.runtime.entry import RUNTIME, Runtime
from lect.runtime.settings import Environment
from lect.tools.lect_main import main
from tests.meta.tree import ROOT
from tests.report.programs import data_in, spread

PROGRAM = """
import sys, torch, lect
from beside import factor

@lect.compile
def f(x):
    return torch.sin(x) * factor

if __name__ == "__main__":
    for size in (3, 4):
        f(torch.randn(size))
    print(*sys.argv[1:])
    STOP
"""


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    arguments = list(sys.argv)
    yield
    sys.argv = arguments
    for name in ("levels", "beside", "wrong"):  # other tests load files of these names from elsewhere
        sys.modules.pop(name, None)
    assert RUNTIME.log.recorder is None


def program(folder: Path, stop: str = "") -> Path:
    """A program that compiles two versions and then does what `stop` says."""
    (folder / "beside.py").write_text("factor = 2\n")
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("STOP", stop))
    return path


def test_a_function_of_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", f"{ROOT}/examples/levels.py:spread", "-o", "spread.html"]) == 0
    assert capsys.readouterr().out == "wrote spread.html\n"
    (made,) = data_in(tmp_path / "spread.html")["compiles"]
    assert (made["function"], made["version"]) == ("spread", 0)
    assert main(["report", f"{ROOT}/examples/levels.py:spread"]) == 0
    assert (tmp_path / "report.html").is_file()


def test_a_whole_program(tmp_path, capsys):
    out = tmp_path / "out.html"
    assert main(["report", "-o", str(out), str(program(tmp_path)), "--steps", "3", "-o"]) == 0
    assert capsys.readouterr().out == f"--steps 3 -o\nwrote {out}\n"
    data = data_in(out)
    assert data["title"] == "program.py"
    assert [made["version"] for made in data["compiles"]] == [0, 1]
    assert [event["kind"] for event in data["events"]].count("recompile") == 1


@pytest.mark.parametrize(
    ("stop", "status", "said"),
    [("sys.exit(3)", 3, ""), ("sys.exit('no')", 1, "no\n"), ("sys.exit()", 0, ""), ("raise ValueError('wrong')", 1, "ValueError: wrong\n")],
)
def test_a_program_that_ends_early_is_reported(stop, status, said, tmp_path, capsys):
    out = tmp_path / "out.html"
    assert main(["report", "-o", str(out), str(program(tmp_path, stop))]) == status
    assert capsys.readouterr().err.endswith(said)
    assert len(data_in(out)["compiles"]) == 2


def test_a_call_that_raises_is_reported(tmp_path, capsys):
    path, out = tmp_path / "wrong.py", tmp_path / "out.html"
    path.write_text("import torch\ndef f(x):\n    y = x.sin()\n    print(end='')\n    raise ValueError(str(y.shape))\ndef inputs():\n    return (torch.ones(3),)\n")
    assert main(["report", f"{path}:f", "-o", str(out)]) == 1
    assert "ValueError: torch.Size([3])" in capsys.readouterr().err
    assert data_in(out)["compiles"]


def test_an_output_behind_the_program_is_the_programs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = program(tmp_path)
    assert main(["report", str(path), "-o", "other.html"]) == 0
    told = capsys.readouterr()
    assert "wrote report.html" in told.out and f"note: -o behind {path} is an option of that program" in told.err
    assert not Path("other.html").exists()


def test_a_program_that_compiles_nothing(tmp_path, capsys):
    path = tmp_path / "nothing.py"
    path.write_text("")
    assert main(["report", "-o", str(tmp_path / "out.html"), str(path)]) == 0
    assert "compiled nothing" in capsys.readouterr().err
    assert data_in(tmp_path / "out.html")["compiles"] == []


@pytest.mark.parametrize(
    ("target", "said"),
    [("nowhere.py", "no such file"), (f"{ROOT}/examples/levels.py:spreads", "has no function 'spreads'; it has spread"), ("nowhere.py:f", "no such file")],
)
def test_what_is_not_there_is_an_error(target, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", target]) == 1
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_environment_asks_for_a_report(tmp_path, monkeypatch):
    at_exit: list[Any] = []
    monkeypatch.setattr("atexit.register", at_exit.append)
    runtime = Runtime(Environment.read({"LECT_REPORT": str(tmp_path / "out-%p.html"), "LECT_CACHE": "0"}))
    monkeypatch.setattr("lect.runtime.entry.RUNTIME", runtime)
    lect.compile(spread)(torch.randn(2, 3))
    (write,) = at_exit
    write()
    assert [made["function"] for made in data_in(tmp_path / f"out-{os.getpid()}.html")["compiles"]] == ["spread"]
    runtime.log.recorder.stop()


def test_a_report_that_cannot_be_written_at_the_end_is_told(tmp_path, monkeypatch, capsys):
    at_exit: list[Any] = []
    monkeypatch.setattr("atexit.register", at_exit.append)
    (tmp_path / "file").write_text("")
    Runtime(Environment.read({"LECT_REPORT": str(tmp_path / "file" / "out.html"), "LECT_CACHE": "0"}))
    at_exit[0]()
    assert capsys.readouterr().err.startswith("lect: the report cannot be written to")


@pytest.mark.slow
def test_the_environment_asks_a_process_for_a_report(tmp_path):
    """Also where the program changes its folder before it ends."""
    environment = {**os.environ, "LECT_REPORT": "out.html"}
    command = [sys.executable, str(program(tmp_path, "__import__('os').chdir('/')"))]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [made["version"] for made in data_in(tmp_path / "out.html")["compiles"]] == [0, 1]


@pytest.mark.slow
def test_a_report_takes_nothing_from_the_cache(tmp_path):
    """What comes from there has passed no level."""
    environment = {**os.environ, "LECT_REPORT": "out.html", "LECT_CACHE": "1", "LECT_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(program(tmp_path))]
    subprocess.run(command, cwd=tmp_path, env={**environment, "LECT_REPORT": ""}, check=True, capture_output=True)
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert all("loop" in [each["name"] for each in made["levels"]] for made in data_in(tmp_path / "out.html")["compiles"])
