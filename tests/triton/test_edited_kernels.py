"""Triton source and PTX of kernels: written with `dump`, used with `override` when somebody has edited them, without a GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

import lect
from lect.backends.triton.compile import CompiledKernels, compile_kernels
from lect.ir import LectError
from tests.meta.tree import ROOT
from tests.triton.interpreter import on_gpu_in_name_only

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


@pytest.fixture(autouse=True)
def fresh() -> Any:
    lect.reset()
    yield
    lect.reset()


def scaled(x: torch.Tensor) -> torch.Tensor:
    return (x + 1.0) * 2.0


class Nowhere(CompiledKernels):
    """Machine code that is not started."""

    def launchers(self) -> dict[str, Callable[..., None]]:
        return dict.fromkeys(self.kernels, lambda *arguments: None)


def compiled(run: Callable[..., Any] = scaled, size: int = 4096, **options: Any) -> Any:
    """The compiled kernel of a program with one, as it goes to the device."""
    found: list[CompiledKernels] = []

    def compile_only(funcs: Any, ctx: Any) -> CompiledKernels:
        found.append(compile_kernels(funcs, ctx))
        return Nowhere(found[-1].kernels)

    lect.reset()
    with on_gpu_in_name_only(compile_only):
        lect.compile(run, fullgraph=True, dynamic=False, options={name: str(value) for name, value in options.items()})(torch.ones(size))
    assert not [event for event in lect.events("note", "fallback") if event.stage != "run"]
    (kernel,) = found[0].kernels.values()
    return kernel


def texts(folder: Path) -> tuple[Path, Path]:
    """The source and the PTX of the kernel of a new dump."""
    compiled(dump=folder)
    kernels = folder / "scaled.0" / "kernels"
    return kernels / "n1.triton.py", kernels / "n1.ptx"


def edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text())
    assert count, f"{path.name} has nothing like {pattern}"
    path.write_text(text)


def constants(ptx: str) -> set[str]:
    """The f32 constants that are given as bits."""
    return set(re.findall(r"0f([0-9A-F]{8})", ptx)) | {f"{value & 0xFFFFFFFF:08X}" for value in map(int, re.findall(r"mov\.b32\s+%\w+, (-?\d+);", ptx))}


THREE, FIVE = "40400000", "40A00000"


def test_texts_are_written(tmp_path: Path) -> None:
    source, ptx = texts(tmp_path)
    assert "@triton.jit" in source.read_text() and source.read_text().startswith("# lect text of scaled.0: Triton source of @n1\n# graph: ")
    assert ".visible .entry n1(" in ptx.read_text() and ptx.read_text().startswith("// lect text of scaled.0: PTX of @n1\n// graph: ")
    plain = compiled().version().asm["cubin"]
    kernel = compiled(override=tmp_path)  # as lect wrote them they change nothing
    assert kernel.version().asm["cubin"] == plain
    assert not lect.events("override")


def test_an_edited_source_is_compiled(tmp_path: Path) -> None:
    source, _ = texts(tmp_path)
    edit(source, r"\* 2\.0", "* 5.0")
    kernel = compiled(override=tmp_path)
    (event,) = lect.events("override")
    assert event.file == str(source)
    assert FIVE in constants(kernel.version().asm["ptx"])


def test_the_ptx_of_an_edited_source_is_written(tmp_path: Path) -> None:
    source, _ = texts(tmp_path / "a")
    edit(source, r"\* 2\.0", "* 5.0")
    compiled(override=tmp_path / "a", dump=tmp_path / "b")
    kernels = tmp_path / "b" / "scaled.0" / "kernels"
    assert FIVE in constants((kernels / "n1.ptx").read_text()) and "* 2.0" in (kernels / "n1.triton.py").read_text()


def test_an_edited_ptx_is_assembled(tmp_path: Path) -> None:
    plain = compiled().version()
    _, ptx = texts(tmp_path)
    edit(ptx, r"(add\.\w*\.?f32x?2?|add\.f32|add\.rn\.f32)", r"// edited\n\t\1")
    same = compiled(override=tmp_path).version()
    assert same.asm["ptx"].decode() == ptx.read_text()
    edit(ptx, r"ret;", "trap;\n\tret;")
    edited = compiled(override=tmp_path)
    (event,) = lect.events("override")
    assert event.file == str(ptx)
    found = edited.version()
    assert found.asm["cubin"] != plain.asm["cubin"] and found.asm["cubin"][:4] == b"\x7fELF"
    assert (found.metadata.name, found.metadata.num_warps, found.metadata.shared) == ("n1", plain.metadata.num_warps, plain.metadata.shared)


@pytest.mark.parametrize(("wait", "is_early"), [("    gdc.gdc_wait()", True), ("    # gdc.gdc_wait()", False), ("    if x:\n        gdc.gdc_wait()", False)])
def test_a_source_is_started_early_if_it_begins_by_waiting(tmp_path: Path, wait: str, is_early: bool) -> None:
    source, _ = texts(tmp_path)
    edit(source, r"(from .* import libdevice)", r"\1\nfrom triton.language.extra.cuda import gdc")
    edit(source, r"(def n1\(.*\):)", r"\1\n" + wait)
    assert bool(compiled(override=tmp_path).version().metadata.launch_pdl) is is_early


@pytest.mark.parametrize(("place", "is_early"), [(r"(ld\.param\.)", True), (r"(ret;)", False)])
def test_a_ptx_is_started_early_if_it_waits_before_it_touches_memory(tmp_path: Path, place: str, is_early: bool) -> None:
    _, ptx = texts(tmp_path)
    text = ptx.read_text()
    ptx.write_text(re.sub(place, r"griddepcontrol.wait;\n\t\1", text, count=1))
    assert bool(compiled(override=tmp_path).version().metadata.launch_pdl) is is_early


def test_other_alignments_have_texts_of_their_own(tmp_path: Path) -> None:
    kernel = compiled(dump=tmp_path)
    kernel.version((False, True))
    path = tmp_path / "scaled.0" / "kernels" / "n1.01.ptx"
    assert path.is_file()
    edit(path, r"ret;", "trap;\n\tret;")
    kernel = compiled(override=tmp_path)
    assert not lect.events("override")
    assert "trap;" not in str(kernel.version().asm["ptx"])
    assert b"trap;" in kernel.version((False, True)).asm["ptx"]
    assert len(lect.events("override")) == 1


def test_an_edited_kernel_of_the_level_above_makes_its_source_stale(tmp_path: Path) -> None:
    source, _ = texts(tmp_path)
    edit(source, r"\* 2\.0", "* 5.0")
    edit(tmp_path / "scaled.0" / "399-kernel.mlir", r"value = 2\.0", "value = 3.0")
    with pytest.raises(LectError, match=r"n1.triton.py:1:1: error: the kernel is another now than when this text was written") as raised:
        compiled(override=tmp_path)
    assert "LECT_DUMP" in str(raised.value)


def test_an_edited_source_makes_the_edited_ptx_stale(tmp_path: Path) -> None:
    source, ptx = texts(tmp_path)
    edit(source, r"\* 2\.0", "* 5.0")
    edit(ptx, r"ret;", "trap;\n\tret;")
    with pytest.raises(LectError, match=r"n1.ptx:1:1: error: the Triton source of its kernel is another now"):
        compiled(override=tmp_path)


@pytest.mark.parametrize("which", [0, 1], ids=["source", "ptx"])
def test_a_text_for_other_inputs(tmp_path: Path, which: int) -> None:
    path = texts(tmp_path)[which]
    path.write_text(path.read_text() + "\n")
    with pytest.raises(LectError, match="made of another graph than scaled.0 is now"):
        compiled(size=1000, override=tmp_path)


@pytest.mark.parametrize("name", ["n9.triton.py", "n9.ptx"])
def test_a_kernel_that_is_not_there(tmp_path: Path, name: str) -> None:
    source, _ = texts(tmp_path)
    (source.parent / name).write_text("")
    with pytest.raises(LectError, match=rf"{name}:1:1: error: the compile of scaled.0 has no such kernel for a GPU"):
        compiled(override=tmp_path)


def test_an_edited_text_is_not_replaced(tmp_path: Path) -> None:
    source, _ = texts(tmp_path)
    edit(source, r"\* 2\.0", "* 5.0")
    with pytest.raises(LectError, match=r"n1.triton.py' was edited"):
        compiled(dump=tmp_path)
    assert "* 5.0" in source.read_text()


WRONG_SOURCES = [
    (r"import triton\n", "import triton\nimport os\n", "functions and these lines"),
    (r"(@triton.jit)", r"print(1)\n\n\n\1", "functions and these lines"),
    (r"@triton.jit", "@triton.jit(debug=print())", "decorated with @triton.jit alone"),
    (r"def n1\(x, out\)", "def n1(x, out=print())", "without defaults"),
    (r"def n1\(x, out\)", "def n1(x: print(), out)", "tl.constexpr"),
    (r"def n1\(x, out\)", "def n1(x)", r"takes \(x\), and is called with \(x, out\)"),
    (r"def n1\(", "def n2(", "has no function n1"),
    (r"def n1", "def n1 n1", "no Python"),
    (r"    x_1 = ", "    open('x')\n    x_1 = ", "knows no open"),
    (r"    x_1 = ", "    tl.core.os.getcwd()\n    x_1 = ", "leads through a module"),
    (r"    x_1 = ", "    y = tl\n    y.core.os.getcwd()\n    x_1 = ", "knows no tl"),
    (r"    x_1 = ", "    tl.load.__globals__\n    x_1 = ", "no name like __globals__"),
    (r"    x_1 = ", "    import os\n    x_1 = ", "has no Import"),
    (r"    x_1 = ", "    (lambda: 1)()\n    x_1 = ", "has no Lambda"),
    (r"    x_1 = ", "    tl = x\n    x_1 = ", "tl is the name of a module"),
    (r"\* 2\.0", "* tl.no_such_function(2.0)", "refused"),
]


@pytest.mark.parametrize(("pattern", "replacement", "message"), WRONG_SOURCES, ids=[message for *_, message in WRONG_SOURCES])
def test_wrong_sources(tmp_path: Path, pattern: str, replacement: str, message: str) -> None:
    source, _ = texts(tmp_path)
    edit(source, pattern, replacement)
    with pytest.raises(LectError, match=message) as raised:
        compiled(override=tmp_path)
    assert re.match(rf"{re.escape(str(source))}:\d+:1: error: ", str(raised.value))


@pytest.mark.parametrize(
    ("pattern", "replacement", "line", "message"),
    [(r"ret;", "rot;", "ret;", "rot"), (r"\.entry n1\(", ".entry n2(", "// lect", "has no kernel n1"), (r"\.version .*", "", ".target", "refused")],
    ids=["instruction", "name", "version"],
)
def test_wrong_ptx(tmp_path: Path, pattern: str, replacement: str, line: str, message: str, capfd: Any) -> None:
    _, ptx = texts(tmp_path)
    number = next(number for number, text in enumerate(ptx.read_text().splitlines(), 1) if line in text)
    edit(ptx, pattern, replacement)
    capfd.readouterr()
    with pytest.raises(LectError, match=message) as raised:
        compiled(override=tmp_path)
    assert str(raised.value).startswith(f"{ptx}:")
    assert message == "refused" or str(raised.value).startswith(f"{ptx}:{number}:1: error: ")
    assert capfd.readouterr().out == ""


def test_an_edited_source_runs(tmp_path: Path) -> None:
    """In Triton's interpreter, in a process of its own."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-m", "tests.triton.edited_worker", str(tmp_path)], env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    x = torch.arange(6.0)
    assert found["plain"] == ((x + 1) * 2).tolist() and found["edited"] == ((x + 1) * 5).tolist()
    assert len(found["events"]) == 1 and "n1.triton.py" in found["events"][0]
