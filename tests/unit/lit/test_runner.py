"""The in-process runner of lit tests: it can fail, and understands lines as lit's shell does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lit.runner import LitFailure, has_feature, parse_line, read_script, run_line, run_test, substitute
from tests.meta.tree import ROOT

GRAPH = "fx.graph @f(%x: !fx.tensor<2xf32>) {\n  fx.return(%x)\n}\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "test.mlir"
    path.write_text(text)
    return path


NEEDS_COMMANDS = pytest.mark.skipif(not Path(sys.executable).with_name("lect-opt").exists(), reason="lect's commands are not installed beside this interpreter")


@pytest.mark.parametrize(
    "text",
    [
        f"// RUN: lect-opt %s | filecheck %s\n// CHECK: fx.graph @f\n{GRAPH}",
        f"// RUN: lect-opt %s \\\n// RUN:   -p cse | filecheck %s\n// CHECK: fx.graph @f\n{GRAPH}",
        f"// RUN: lect-opt %s > %t && cat %t | filecheck %s\n// CHECK: fx.graph @f\n{GRAPH}",
        f"// RUN: lect-opt < %s | filecheck %s\n// CHECK: fx.graph @f\n{GRAPH}",
        "// RUN: not lect-opt %s 2>&1 | filecheck %s\n// CHECK: unknown dialect\na.b()\n",
        "// RUN: not lect-opt %s 2> %t && cat %t | filecheck %s\n// CHECK: unknown dialect\na.b()\n",
        f"// DEFINE: %{{pass}} = cse\n// RUN: lect-opt %s -p %{{pass}} --print-ir-after %{{pass}} 2>&1 | filecheck %s\n// CHECK: after cse\n{GRAPH}",
        pytest.param(f"// RUN: lect-opt %s | (cat) | filecheck %s\n// CHECK: fx.graph @f\n{GRAPH}", marks=NEEDS_COMMANDS),  # as a shell runs it
        f"// RUN: lect-opt %s | %python -c 'import sys; print(sys.stdin.read().upper())' | filecheck %s\n// CHECK: FX.GRAPH @F\n{GRAPH}",
    ],
)
def test_passing(tmp_path, text):
    run_test(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"// RUN: lect-opt %s | filecheck %s\n// CHECK: fx.graph @g\n{GRAPH}", "fx.graph @g"),
        (f"// RUN: lect-opt %s | filecheck %s\n{GRAPH}", "No check strings"),
        ("// RUN: lect-opt %s\na.b()\n", "unknown dialect 'a'"),
        (f"// RUN: not lect-opt %s\n{GRAPH}", "exit status 1"),
        (f"// RUN: lect-opt %s --nothing | cat\n{GRAPH}", "unrecognized arguments: --nothing"),
        (f"// RUN: true && nowhere-to-be-found\n{GRAPH}", "nowhere-to-be-found: command not found"),
        (f"// RUN: true\n// RUN: not true\n{GRAPH}", "RUN: not true"),
        (GRAPH, "has no RUN line"),
    ],
)
def test_failing(tmp_path, text, shown):
    with pytest.raises(LitFailure) as failure:
        run_test(write(tmp_path, text))
    assert shown in str(failure.value)


def test_temporary_files_are_gone_afterwards(tmp_path):
    path = write(tmp_path, f"// RUN: echo %t > %S/where && lect-opt %s -o %t\n{GRAPH}")
    run_test(path)
    assert not Path((tmp_path / "where").read_text().strip()).exists()


def test_lines_are_split_as_a_shell_does():
    (first, second), (third,) = parse_line("""lect-opt 'a b' -p "x{o=\\"1 2\\"}" 2>&1 | filecheck --prefix=A\\ B && cat > f""")
    assert first.words == ["lect-opt", "a b", "-p", 'x{o="1 2"}']
    assert first.merge
    assert second.words == ["filecheck", "--prefix=A B"]
    assert third.redirections == [(">", "f")]


@pytest.mark.parametrize("line", ["a; b", "a || b", "a &", "a $HOME", "a *.mlir", "(a)", "X=1 a", "a 'open"])
def test_what_needs_a_shell_is_left_to_one(line):
    assert parse_line(line) is None


def test_status_of_a_pipeline_is_that_of_its_last_failing_command():
    assert run_line("not true | cat")[0] == 1
    assert run_line("true | cat")[0] == 0
    assert run_line("exit 3; true")[0] == 3


def test_substitutions():
    path, temporary = Path("/d/x.mlir"), Path("/t/x.mlir")
    line = substitute("%s %S %t %T %% %{s:basename} %{t:stem} %{s:stem}", path, temporary, {})
    assert line == "/d/x.mlir /d /t/x.mlir.tmp /t % x.mlir /t/x.mlir x"
    assert substitute("%{a}", path, temporary, {"%{b}": "%s", "%{a}": "%{b}"}) == "/d/x.mlir"


def test_directives():
    script = read_script("// REQUIRES: cuda, python-3.99\n// UNSUPPORTED: python-3.1\n# RUN: a \\\n# RUN: b\n")
    assert script.requires == ["cuda", "python-3.99"]
    assert script.unsupported == ["python-3.1"]
    assert script.runs == ["a  b"]


def test_features():
    assert has_feature(f"python-{sys.version_info.major}.{sys.version_info.minor}")
    assert not has_feature("python-2.7")


def test_collection_honours_requirements(tmp_path):
    """In a session of its own: a test that needs what is not there is skipped, one for a GPU is deselected, a failing one fails."""
    folder = tmp_path / "cases"
    folder.mkdir(parents=True)
    (folder / "conftest.py").write_text((ROOT / "tests/lit/conftest.py").read_text())
    (folder / "skipped.mlir").write_text("// REQUIRES: python-2.7\n// RUN: not true\n")
    (folder / "gpu.mlir").write_text("// REQUIRES: cuda\n// RUN: not true\n")
    (folder / "fails.mlir").write_text("// RUN: not true\n")
    (folder / "passes.py").write_text("# RUN: true\n")
    (folder / "helper.py").write_text("raise SystemExit\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(folder)]
    result = subprocess.run([*command, "-o", f"pythonpath={ROOT}"], capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 1 skipped, 1 deselected" in result.stdout, result.stdout + result.stderr


@NEEDS_COMMANDS
def test_plain_lit_runs_the_same_files():
    if not Path(sys.executable).with_name("lit").exists():
        pytest.skip("lit is not installed beside this interpreter")
    names = ["tests/lit/tools/unregistered.mlir", "tests/lit/passes/common/strip-loc.mlir"]
    result = subprocess.run([str(Path(sys.executable).with_name("lit")), "-q", *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
