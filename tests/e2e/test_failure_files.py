"""When lect fails, the value is eager's and the event has a file that replays the failure."""

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import lect
from lect.backends import llvm
from lect.passes import load_pass
from lect.passes.pipelines import PIPELINES
from lect.runtime import failure_files, frame
from lect.runtime.failure_files import FailureFiles
from lect.tools import lect_opt, lect_run
from lect.tools.capture_file import load_file
from lect.tools.replay import main

PASSES = [name for stage in ("aot", "loop", "kernel") for name in PIPELINES[stage]]
BACKWARD_PASSES = [name for stage in ("loop", "kernel") for name in PIPELINES[stage]]
FAULT = "KeyError: 'a fault of lect'"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x))).sum(-1)


def through_break(x):
    y = x + 1
    print(end="")
    return y * 2


@pytest.fixture(autouse=True)
def trigger():
    """Whichever trigger compiles, the file is written in one place."""


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Failures write into a folder of the test."""
    from lect.runtime import entry

    monkeypatch.setattr(entry.RUNTIME.log, "files", FailureFiles(str(tmp_path)))
    return tmp_path


def broken(*args):
    raise KeyError("a fault of lect")


def the_failure():
    (event,) = [event for event in lect.events() if getattr(event, "number", "") == "LB0020"]
    assert FAULT in str(event)
    assert event.replay in str(event)
    return event


def replays_as_ir(path):
    err = io.StringIO()
    status = lect_opt.run(["--run-reproducer", path, "--reproducer", os.devnull], None, io.StringIO(), err)
    return status == 1 and FAULT in err.getvalue()


@pytest.mark.parametrize(
    ("name", "grad"),
    [
        pytest.param(name, grad, id=f"{name}-{'training' if grad else 'inference'}", marks=pytest.mark.slow if (number + grad) % 2 else ())
        for number, name in enumerate(PASSES)
        for grad in (False, True)
    ],
)
def test_a_fault_in_a_pass(name, grad, files, monkeypatch):
    net, x = Net(), torch.randn(3, 4)
    kind = load_pass(name)
    plain = kind.run
    monkeypatch.setattr(kind, "run", broken)
    with torch.set_grad_enabled(grad):
        torch.testing.assert_close(lect.compile(net)(x), net(x))
    event = the_failure()
    assert event.file.endswith(".mlir")
    assert Path(event.file).parent == files
    assert replays_as_ir(event.file)
    monkeypatch.setattr(kind, "run", plain)
    assert not replays_as_ir(event.file), "the fault is gone, and with it the failure"


@pytest.mark.parametrize("name", BACKWARD_PASSES)
def test_a_fault_in_a_pass_over_the_backward(name, files, monkeypatch):
    net, x = Net(), torch.randn(3, 4)
    out = lect.compile(net)(x)
    monkeypatch.setattr(load_pass(name), "run", broken)
    got = torch.autograd.grad(out.sum(), list(net.parameters()))
    want = torch.autograd.grad(net(x).sum(), list(net.parameters()))
    torch.testing.assert_close(got, want)
    event = the_failure()
    assert event.kind == "backward fallback"
    assert replays_as_ir(event.file)


def test_a_fault_in_making_native_code(files, monkeypatch, capsys):
    net, x = Net(), torch.randn(3, 4)
    with torch.no_grad(), monkeypatch.context() as patch:
        patch.setattr(llvm, "compile_kernels", broken)
        torch.testing.assert_close(lect.compile(net)(x), net(x))
        event = the_failure()
        assert event.replay == f"lect-run --random-inputs {event.file}"
        assert lect_run.main(["--random-inputs", event.file]) == 1
        assert "a fault of lect" in capsys.readouterr().err
    assert lect_run.main(["--random-inputs", event.file]) == 0


def test_a_fault_in_guards_gives_the_call(files, monkeypatch, capsys):
    net, x = Net(), torch.randn(3, 4)
    with torch.no_grad(), monkeypatch.context() as patch:
        patch.setattr(frame, "build_predicate", broken)
        torch.testing.assert_close(lect.compile(net)(x), net(x))
        event = the_failure()
        script = load_file(Path(event.file))
        assert main(script.call, *script.call_inputs(), {}) == 1
        assert FAULT in capsys.readouterr().out
    lect.reset()
    assert main(script.call, *script.call_inputs(), {}) == 0


def test_a_fault_in_the_rest_of_a_function(files, monkeypatch):
    from types import MappingProxyType

    from lect.frontends.capture import interpreter
    from lect.frontends.capture.rules import RULES

    def multiplication_is_broken(frame, op):
        return broken() if op.attrs["operator"] == "*" else RULES["pyframe.binary"](frame, op)

    monkeypatch.setattr(interpreter, "RULES", MappingProxyType({**RULES, "pyframe.binary": multiplication_is_broken}))
    x = torch.randn(3)
    assert torch.equal(lect.compile(through_break)(x), through_break(x))
    event = the_failure()
    assert event.location.startswith(f"{__file__}:"), "the line of the program that was followed"
    script = load_file(Path(event.file))
    assert main(script.call, *script.call_inputs(), {}) == 1
    assert replays_as_ir(event.file)


def test_the_file_is_a_program(files, monkeypatch):
    """It runs in a process of its own, where lect does not fail."""
    from lect.frontends.capture import to_fx

    monkeypatch.setattr(to_fx, "_write", broken)
    net = Net()
    lect.compile(net)(torch.randn(3, 4))
    event = the_failure()
    assert event.replay == f"python {event.file}"
    done = subprocess.run([sys.executable, event.file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "lect does not fail for this call\n"), done.stderr


def test_explain_names_the_file(monkeypatch, files):
    from lect.frontends.capture import to_fx

    monkeypatch.setattr(to_fx, "_write", broken)
    told = lect.explain(Net())(torch.randn(3, 4))
    assert told.break_reason.file
    assert told.break_reason.replay in str(told)


def test_a_file_keeps_nothing_alive(monkeypatch, files):
    import gc
    import weakref

    from lect.frontends.capture import to_fx

    monkeypatch.setattr(to_fx, "_write", broken)
    x = torch.randn(3, 4)
    held = weakref.ref(x)
    lect.compile(through_break)(x)
    assert the_failure().file
    del x
    gc.collect()
    assert held() is None


def test_no_elements_of_tensors_are_written(monkeypatch, files):
    from lect.frontends.capture import to_fx

    monkeypatch.setattr(to_fx, "_write", broken)
    lect.compile(through_break)(torch.full((3,), 1234567.0))
    assert "1234567" not in Path(the_failure().file).read_text()


# ---- the folder ------------------------------------------------------------------------------------------------------


def test_only_the_owner_reads_a_file(tmp_path):
    kept = FailureFiles(str(tmp_path)).keep("one", lambda: ("f/../<x>.py", "text\n"))
    path = Path(kept.path)
    assert path.parent == tmp_path
    assert path.read_text() == "text\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [path.name], "nothing temporary is left"


def test_one_failure_has_one_file(tmp_path):
    files = FailureFiles(str(tmp_path))
    made = [files.keep("one", lambda: ("f.py", f"{number}")) for number in range(3)]
    assert len({kept.path for kept in made}) == 1
    assert Path(made[0].path).read_text() == "0"


def test_a_process_writes_so_many_and_a_folder_keeps_so_many(tmp_path, monkeypatch):
    files = FailureFiles(str(tmp_path))
    for number in range(failure_files.PER_PROCESS):
        assert files.keep(number, lambda number=number: ("f.py", f"{number}")).path
    assert "written" in files.keep("more", lambda: ("f.py", "")).why_not
    monkeypatch.setattr(failure_files, "KEPT", 3)
    (tmp_path / "other.txt").touch()
    assert FailureFiles(str(tmp_path)).keep("one", lambda: ("f.py", "new")).path
    assert len(list(tmp_path.iterdir())) == 4
    assert (tmp_path / "other.txt").exists()


def test_what_cannot_be_written_is_said_and_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    kept = FailureFiles(str(tmp_path / "file" / "below")).keep("one", lambda: ("f.py", ""))
    assert kept.path == ""
    assert "NotADirectoryError" in kept.why_not
    from lect.frontends.capture import to_fx
    from lect.runtime import entry

    monkeypatch.setattr(to_fx, "_write", broken)
    monkeypatch.setattr(entry.RUNTIME.log, "files", FailureFiles(str(tmp_path / "file")))
    x = torch.randn(3)
    assert torch.equal(lect.compile(through_break)(x), through_break(x))
    event = the_failure_without_file()
    assert "no file that replays it could be written: " in event.detail
    assert event.file == event.replay == ""


def the_failure_without_file():
    (event,) = [event for event in lect.events("fallback") if event.number == "LB0020"]
    return event


def test_the_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(failure_files.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "else").mkdir()
    (tmp_path / f"lect-{os.getuid()}").symlink_to(tmp_path / "else")
    kept = FailureFiles().keep("one", lambda: ("f.py", ""))
    assert "PermissionError" in kept.why_not
    assert not list((tmp_path / "else").iterdir())
