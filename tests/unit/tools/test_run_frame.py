"""`lect-run --frame`: a frame out of its text, with its graph at each level, gives what the function gives."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from lect.tools import lect_opt, lect_run

FILE = Path(__file__).with_name("frames.py")
STAGES = ["", "capture", "capture,aot", "capture,aot,loop", "capture,aot,loop,kernel"]


def written(folder: Path, name: str, pipeline: str) -> str:
    """A file with the text of a function behind some stages."""
    out, err = io.StringIO(), io.StringIO()
    path = folder / "frame.mlir"
    assert lect_opt.run(["--capture", f"{FILE}:{name}", *(["-p", pipeline] if pipeline else []), "-o", str(path)], None, out, err) == 0, err.getvalue()
    return str(path)


@pytest.mark.parametrize("pipeline", STAGES)
@pytest.mark.parametrize("name", ["softened", "in_place", "with_closure", "normed", "numbers"])
def test_each_level_of_a_frame(name, pipeline, tmp_path, capsys):
    path = written(tmp_path, name, pipeline)
    status = lect_run.main([path, "--frame", f"{FILE}:{name}", "--compare-eager", "--compare", path])
    out, err = capsys.readouterr()
    assert status == 0, out + err
    assert f"compared with {path}: equal" in out and "compared with eager: equal" in out


def test_random_numbers_are_those_of_the_seed(tmp_path, capsys):
    """Of torch's generator: lect's own come with the pass that seeds them."""
    path = written(tmp_path, "dropped", "capture")
    assert lect_run.main([path, "--frame", f"{FILE}:dropped", "--compare-eager"]) == 0, capsys.readouterr()


def test_an_edit_is_seen(tmp_path, capsys):
    path = Path(written(tmp_path, "softened", "capture,aot"))
    path.write_text(path.read_text().replace("other = 2.0", "other = 3.0"))
    assert lect_run.main([str(path), "--frame", f"{FILE}:softened", "--compare-eager"]) == 1
    assert "compared with eager: output 0: values differ" in capsys.readouterr().out


def test_an_edited_frame(tmp_path, capsys):
    path = Path(written(tmp_path, "softened", "capture"))
    text = path.read_text()
    assert "pyframe.return" in text
    path.write_text(text.replace("pyframe.load_const() {value = 3}", "pyframe.load_const() {value = 5}"))
    assert path.read_text() != text
    assert lect_run.main([str(path), "--frame", f"{FILE}:softened", "--compare-eager"]) == 1
    assert "compared with eager: output 1: 1 of 1 values differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "pipeline", "flags", "message"),
    [
        ("cut", "capture", ["--frame", f"{FILE}:cut"], "is cut at a graph break"),
        ("softened", "", ["--frame", f"{FILE}:nothing"], "has no function 'nothing'"),
        ("softened", "", ["--frame", "softened"], "--frame takes FILE.py:FUNCTION"),
        ("softened", "capture", ["--random-inputs", "--compare-eager"], "name it with --frame"),
    ],
)
def test_wrong_calls(name, pipeline, flags, message, tmp_path, capsys):
    path = written(tmp_path, name, pipeline)
    assert lect_run.main([path, *flags]) == 1
    err = capsys.readouterr().err
    assert message in err and "Traceback" not in err


def test_a_module_without_a_frame(tmp_path, capsys):
    path = tmp_path / "graph.mlir"
    path.write_text("functional.func @f(%x: !functional.tensor<3xf32>) {\n  functional.return(%x)\n}\n")
    assert lect_run.main([str(path), "--frame", f"{FILE}:softened"]) == 1
    assert "the module has no frame" in capsys.readouterr().err
