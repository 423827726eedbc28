"""lect-reduce: modules on which something fails become small, and fail in the same way."""

import random
import re
import sys

import pytest

from lect.dialects import make_context
from lect.ir import PassFailure, parse_module, print_module, verify
from lect.passes import load_pass
from lect.passes.manager import PassManager
from lect.tools import lect_reduce, lect_run
from lect.tools.reducing import count_ops

T = "!functional.tensor<24x40xf32>"


def chain(length, seed=0):
    """A graph of pointwise operations, each of one or two earlier values."""
    source = random.Random(seed)
    values, lines = ["%x", "%y"], []
    for number in range(length):
        name = source.choice(["sin", "exp", "tanh", "relu", "neg", "add", "mul", "sub", "maximum"])
        chosen = [source.choice(values[-6:]) for _ in range(2 if name in ("add", "mul", "sub", "maximum") else 1)]
        lines.append(f"  %v{number} = functional.{name}({', '.join(chosen)}) : {T}")
        values.append(f"%v{number}")
    return "\n".join([f"functional.func @f(%x: {T}, %y: {T}) {{", *lines, f"  functional.return({values[-1]}, {values[-3]}, {values[2]})", "}", ""])


def crashing(monkeypatch, name, broken):
    """Let a pass fail where `broken` says so of some operation."""
    kind = load_pass(name)
    run = kind.run

    def fails(self, op, ctx):
        for inner in op.walk():
            broken(inner)
        run(self, op, ctx)

    monkeypatch.setattr(kind, "run", fails)


def reduced(tmp_path, text, *arguments):
    """Operations that are left, and the small text."""
    path = tmp_path / "big.mlir"
    path.write_text(text)
    assert lect_reduce.main([str(path), *arguments]) == 0
    small = (tmp_path / "big-reduced.mlir").read_text()
    module = parse_module(small, make_context(), "small.mlir")
    verify(module)
    return count_ops(module), small


def tanh_of_product(op):
    if op.name == "functional.tanh" and op.operands[0].op is not None and op.operands[0].op.name == "functional.mul":
        raise KeyError("a product")


def many_readers(op):
    if op.name == "functional.exp" and len(op.result.users) > 1:
        raise PassFailure("an exp with several readers", op=op)


def a_maximum(op):
    if op.name == "functional.maximum":
        op.attrs["other"] = 3  # which the verifier refuses


@pytest.mark.parametrize(
    ("broken", "message", "most"), [(tanh_of_product, "KeyError", 2), (many_readers, "several readers", 4), (a_maximum, "left invalid IR|maximum", 2)]
)
def test_failures_of_a_pass(tmp_path, monkeypatch, broken, message, most):
    crashing(monkeypatch, "functional-fold-views", broken)
    text = chain(120)
    left, small = reduced(tmp_path, text, "--", "lect-opt", "{}", "-p", "canonicalize,functional-fold-views")
    assert left <= most
    assert "24x40" not in small  # sizes become small, too
    found = lect_reduce.Command(("lect-opt", "{}", "-p", "canonicalize,functional-fold-views"), True, 9).run(tmp_path / "big-reduced.mlir")
    assert found.status == 1 and re.search(message, found.output)


def test_a_wrong_fusion(tmp_path, capsys):
    module = parse_module(chain(12).replace("functional.return", "  %s = functional.softmax(%v11) {dim = 1} : " + T + "\n  functional.return"), make_context())
    PassManager.parse("functional-to-loop,loop-realize").run(module, make_context())
    left, small = reduced(
        tmp_path, print_module(module), "--", "lect-run", "{}", "--random-inputs", "--reference", "--compare-levels", "-p", "loop-fuse-vertical{seed_bug=fusion}"
    )
    assert left < 10
    capsys.readouterr()
    arguments = ["--random-inputs", "--reference", "--compare-levels", "-p", "loop-fuse-vertical{seed_bug=fusion}"]
    assert lect_run.main([str(tmp_path / "big-reduced.mlir"), *arguments]) == 1
    assert "values differ" in capsys.readouterr().out
    assert lect_run.main([str(tmp_path / "big-reduced.mlir"), *arguments[:-1], "loop-fuse-vertical"]) == 0


def test_a_file_that_names_its_own_command(tmp_path, monkeypatch):
    crashing(monkeypatch, "functional-fold-views", tanh_of_product)
    left, small = reduced(tmp_path, "// configuration: -p functional-fold-views\n// KeyError: 'a product'\n" + chain(40))
    assert left == 2 and small.startswith("// configuration: -p functional-fold-views\n// KeyError")


def test_a_graph_of_calls(tmp_path, monkeypatch):
    def broken(op):
        if op.name == "fx.call" and "softmax" in str(op.attrs["target"]):
            raise KeyError("softmax")

    crashing(monkeypatch, "fx-build-joint", broken)
    t = "!fx.tensor<6x8xf32>"
    calls = [f"  %{k} = fx.call(%{k - 1}) {{target = @torch.{'softmax' if k == 9 else 'exp'}, args = [#fx.operand<0>{', 1' if k == 9 else ''}]}} : {t}" for k in range(1, 20)]
    text = "\n".join([f"fx.graph @g(%x: {t}) {{", f"  %0 = fx.call(%x) {{target = @torch.sin, args = [#fx.operand<0>]}} : {t}", *calls, "  fx.return(%19)", "}", ""])
    left, small = reduced(tmp_path, text, "--", "lect-opt", "{}", "-p", "fx-build-joint")
    assert left == 1 and "softmax" in small


def test_any_program(tmp_path):
    script = "import sys; text = open(sys.argv[1]).read(); sys.exit('functional.exp' in text and 'functional.sub' in text)"
    left, small = reduced(tmp_path, chain(30), "--", sys.executable, "-c", script, "{}")
    assert left <= 3 and "functional.exp" in small and "functional.sub" in small


def test_several_functions(tmp_path, monkeypatch):
    crashing(monkeypatch, "functional-fold-views", tanh_of_product)
    text = chain(20, 5).replace("@f", "@a").replace("functional.mul", "functional.add") + "\n" + chain(60)
    left, small = reduced(tmp_path, text, "--", "lect-opt", "{}", "-p", "functional-fold-views")
    assert left == 2 and small.count("functional.func") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "lect-opt", "{}"], "does not fail"),
        ([], "names no command of its own"),
        (["--match", "nothing like it", "--", "lect-opt", "{}", "-p", "no-such-pass"], "has nothing like"),
    ],
)
def test_what_cannot_be_reduced(tmp_path, capsys, arguments, message):
    path = tmp_path / "a.mlir"
    path.write_text(chain(3))
    assert lect_reduce.main([str(path), *arguments]) == 1
    assert message in capsys.readouterr().err


PROGRAM = """
import torch

def f(x):
    return torch.softmax(torch.sin(x).cos() + 1, -1).exp() * 2

def inputs():
    return (torch.randn(4, 6),)
"""


def test_a_function_of_a_python_file(tmp_path, capsys):
    path = tmp_path / "f.py"
    path.write_text(PROGRAM)
    assert lect_reduce.main([f"{path}:f", "--match", r"loop\.cos", "--", "lect-opt", "{}", "-p", "aot,loop"]) == 0
    out = capsys.readouterr().out
    small = (tmp_path / "f-reduced.mlir").read_text()
    assert out.startswith("1 of 6 operations are left"), out
    assert "torch.Tensor.cos" in small and "softmax" not in small


@pytest.mark.parametrize(
    ("file", "arguments", "message"),
    [
        ("f.py", [], "f.py:FUNCTION"),
        ("f.py:g", ["--", "lect-opt", "{}"], "g"),
        ("f.py:f", ["--match", "(", "--", "lect-opt", "{}"], "--match is no regular expression"),
        ("f.py:f", [], "names no command of its own"),
    ],
)
def test_python_files_that_cannot_be_reduced(tmp_path, capsys, file, arguments, message):
    (tmp_path / "f.py").write_text(PROGRAM)
    assert lect_reduce.main([str(tmp_path / file), *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_five_hundred_operations(tmp_path, monkeypatch, capsys):
    crashing(monkeypatch, "functional-fold-views", tanh_of_product)
    left, _ = reduced(tmp_path, chain(500), "--", "lect-opt", "{}", "-p", "canonicalize,cse,functional-fold-views")
    assert left == 2
