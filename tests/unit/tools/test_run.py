"""`lect-run`: inputs that it makes for programs, and what it takes for a difference."""

from __future__ import annotations

import io

import pytest
import torch

from lect.dialects import make_context
from lect.ir import parse_module
from lect.runtime.levels import apart, find_program, random_inputs
from lect.tools import lect_opt, lect_run

NUMBERS = """
fx.graph @f(%x: !fx.tensor<4x6xf32>, %n: !fx.number<f64>, %k: !fx.number<i64>) {
  %0 = fx.call(%x, %n) {target = @operator.mul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x6xf32>
  %1 = fx.call(%0, %k) {target = @operator.add, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x6xf32>
  fx.return(%1)
}
"""
LOOKUP = """
fx.graph @f(%x: !fx.tensor<3x5xf32>, %t: !fx.tensor<3xi64>, %w: !fx.tensor<2x4xf32>) {
  %0 = fx.call(%x, %t) {target = @torch.nn.functional.cross_entropy, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<f32>
  %1 = fx.call(%t, %w) {target = @torch.nn.functional.embedding, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<3x4xf32>
  fx.return(%0, %1)
}
"""
PRODUCT = """
functional.func @f(%x: !functional.tensor<30x500xf32>, %y: !functional.tensor<500x20xf32>, %z: !functional.tensor<20x400xf32>) {
  %0 = functional.mm(%x, %y) : !functional.tensor<30x20xf32>
  %1 = functional.mm(%0, %z) : !functional.tensor<30x400xf32>
  %2 = functional.sum(%1) {dims = [0]} : !functional.tensor<400xf32>
  functional.return(%1, %2)
}
"""
RANDOM = """
fx.graph @f(%x: !fx.tensor<4x3xf32>) {
  %0 = fx.call(%x) {target = @torch.nn.functional.dropout, args = [#fx.operand<0>, 0.5]} : !fx.tensor<4x3xf32>
  %1 = fx.call(%0) {target = @torch.Tensor.bernoulli_, args = [#fx.operand<0>, 0.3]} : !fx.tensor<4x3xf32>
  %2 = fx.call(%x) {target = @torch.rand_like, args = [#fx.operand<0>]} : !fx.tensor<4x3xf32>
  %3 = fx.call(%x, %2) {target = @operator.add, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x3xf32>
  fx.return(%1, %3)
}
"""
TWO = "functional.func @g(%x: !functional.tensor<4xf32>) {\n  %0 = functional.exp(%x) : !functional.tensor<4xf32>\n  functional.return(%0)\n}\n"


def at(folder, text, name="a.mlir"):
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("text", [NUMBERS, LOOKUP, PRODUCT, RANDOM], ids=["numbers", "lookup", "product", "random"])
def test_each_level(text, tmp_path, capsys):
    path = at(tmp_path, text)
    assert lect_run.main([path, "--random-inputs", "--compare-levels"]) == 0, capsys.readouterr()
    out, err = io.StringIO(), io.StringIO()
    lower = str(tmp_path / "lower.mlir")
    assert lect_opt.run([path, "-p", "aot" if "fx.graph" in text else "loop", "-o", lower], None, out, err) == 0, err.getvalue()
    assert lect_run.main([path, "--random-inputs", "--compare", lower]) == 0, capsys.readouterr()


def test_a_number_is_one_at_the_level_of_calls(tmp_path):
    program = find_program(parse_module(NUMBERS, make_context()))
    _, n, k = random_inputs(program, 0)
    assert type(n) is float and type(k) is int


def test_integers_that_point_to_something_are_small():
    _, labels, _ = random_inputs(find_program(parse_module(LOOKUP, make_context())), 0)
    assert labels.min() >= 0 and labels.max() <= 1
    plain = parse_module("functional.func @f(%x: !functional.tensor<50xi64>) {\n  functional.return(%x)\n}\n", make_context())
    (others,) = random_inputs(find_program(plain), 0)
    assert others.min() < 0 and others.max() > 1


def test_how_far_apart_runs_may_lie():
    """As LECT_CHECK has it, relative to the largest value; with a tolerance, relative to each."""
    want = torch.tensor([1000.0, 1.0])
    near, far = torch.tensor([1000.0, 1.01]), torch.tensor([1000.0, 1.2])
    assert apart([near], [want]) is None
    assert "values differ" in apart([far], [want])
    assert "values differ" in apart([near], [want], 1e-3)
    assert "values differ" in apart([torch.tensor([1.001])], [torch.tensor([1.0])])
    assert apart([2], [2]) is None and "values differ" in apart([2.0], [3.0])


def test_the_program_of_the_same_name_is_compared(tmp_path, capsys):
    one, both = at(tmp_path, TWO), at(tmp_path, TWO.replace("@g", "@h").replace("exp", "sin") + TWO, "both.mlir")
    assert lect_run.main([one, "--random-inputs", "--compare", both]) == 0, capsys.readouterr()
    assert lect_run.main([both, "--random-inputs"]) == 1
    assert "--function NAME" in capsys.readouterr().err


def test_results_that_cannot_be_written(tmp_path, capsys):
    path = at(tmp_path, TWO)
    assert lect_run.main([path, "--random-inputs", "--outputs", str(tmp_path / "no" / "o.safetensors")]) == 1
    assert "cannot write the results to" in capsys.readouterr().err


def test_a_seed_that_torch_does_not_take(tmp_path, capsys):
    with pytest.raises(SystemExit):
        lect_run.main([at(tmp_path, TWO), "--random-inputs", "--seed", "9" * 30])
    assert "seeds of 64 bits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--print-ir-tree-dir", "{}/x"], "cannot write '"),
        (["--target", "vector_bytes=-3"], "--target takes whole numbers from 1, got 'vector_bytes=-3'"),
        (["--target", "vector_bytes=0"], "--target takes whole numbers from 1"),
        (["--target", "vector_bytes=1.5"], "--target takes whole numbers from 1"),
    ],
)
def test_arguments_of_lect_opt(tmp_path, arguments, message):
    path, out, err = at(tmp_path, TWO), io.StringIO(), io.StringIO()
    assert lect_opt.run([path, "-p", "cse", *[word.replace("{}", path) for word in arguments]], None, out, err) == 1
    assert message in err.getvalue() and "bug of lect" not in err.getvalue()
