"""The Python host: text of each operation, values of what runs, errors for what cannot, and no way for a name to become code."""

import inspect
import linecache

import pytest
import torch

from lect.backends.llvm.jit import compile_object, load_object
from lect.backends.llvm.launcher import make_launcher
from lect.backends.python_host import load, print_python
from lect.backends.python_host.load import check_layout
from lect.dialects import make_context
from lect.ir import LectError, parse_module, verify

NEGATE = """
define void @negate(ptr %args, i64 %lo, i64 %hi) {
entry:
  %x = load ptr, ptr %args
  %y.at = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %y.at
  %any = icmp slt i64 %lo, %hi
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %lo, %entry ], [ %next, %loop ]
  %x.at = getelementptr float, ptr %x, i64 %i
  %v = load float, ptr %x.at
  %n = fneg float %v
  %out = getelementptr float, ptr %y, i64 %i
  store float %n, ptr %out
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %hi
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def parse(text):
    module = parse_module(text, make_context())
    verify(module)
    return module.body.first


def run(text, *tensors, kernels=None):
    return load(parse(text), kernels or {}, make_launcher()).run(*tensors)


@pytest.fixture(scope="module")
def negate():
    code = load_object(compile_object(NEGATE))
    return {"negate": code.address("negate"), "keep": code}


PROGRAM = """
host.func @f.graph(%x: !host.tensor<8x16xf32>, %w: !host.tensor<16x4xf32>) {
  %xm = host.memory(%x) : !host.buffer<128xf32>
  %b = host.alloc() {reason = "extern operand"} : !host.buffer<128xf32>
  host.launch(%xm, %b) {kernel = @negate, grid = 128, grain = 16}
  %v = host.view(%b) : !host.tensor<8x16xf32>
  %r = host.extern(%v, %w) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<8x4xf32>
  host.free(%b)
  %t = host.view(%xm) {offset = 16} : !host.tensor<16x7xf32, strides [1, 16]>
  host.return(%r, %t, %x)
}
"""


def test_program_runs_and_reads_like_the_ir(negate):
    x, w = torch.randn(8, 16), torch.randn(16, 4)
    product, rest, same = run(PROGRAM, x, w, kernels=negate)
    torch.testing.assert_close(product, -x @ w)
    assert torch.equal(rest, x[1:].t()) and rest.data_ptr() == x[1:].data_ptr()
    assert same is x
    text = print_python(parse(PROGRAM)).text
    assert "def f_graph(x, w):" in text
    assert "b = empty(128, dtype=f32)" in text and "# extern operand" in text
    assert "launch(kernel_negate, pointers2(x.data_ptr(), b.data_ptr()), 128, 16)" in text
    assert "del b" in text


def test_memory_of_a_part_of_a_storage_starts_at_its_first_element(negate):
    text = """
    host.func @g(%x: !host.tensor<3xf32>) {
      %xm = host.memory(%x) : !host.buffer<3xf32>
      %e = host.empty() : !host.tensor<3xf32>
      %em = host.memory(%e) : !host.buffer<3xf32>
      host.launch(%xm, %em) {kernel = @negate, grid = 3}
      %v = host.view(%xm) {offset = 1} : !host.tensor<2xf32>
      host.return(%e, %v)
    }"""
    x = torch.arange(10.0)[4:7]
    negated, view = run(text, x, kernels=negate)
    assert negated.tolist() == [-4.0, -5.0, -6.0]
    assert view.tolist() == [5.0, 6.0]


def test_several_results_and_written_out_arguments():
    text = """
    host.func @g(%x: !host.tensor<4x5xf32>) {
      %v, %i = host.extern(%x) {callee = @aten.max.dim, args = [#host.operand<0>, -1], kwargs = {keepdim = true}} : (!host.tensor<4x1xf32>, !host.tensor<4x1xi64>)
      %f = host.extern() {callee = @aten.full.default, args = [[2, 3], inf], kwargs = {dtype = f64}} : !host.tensor<2x3xf64>
      %c = host.extern(%x, %x) {callee = @aten.cat.default, args = [[#host.operand<0>, #host.operand<1>], 1]} : !host.tensor<4x10xf32>
      host.return(%v, %i, %f, %c)
    }"""
    x = torch.randn(4, 5)
    values, indices, full, joined = run(text, x)
    assert torch.equal(values, x.max(-1, keepdim=True).values) and torch.equal(indices, x.max(-1, keepdim=True).indices)
    assert full.dtype == torch.float64 and full.isinf().all()
    assert torch.equal(joined, torch.cat([x, x], 1))


def test_empty_grid_launches_nothing():
    text = "host.func @g(%x: !host.tensor<0xf32>) { %m = host.memory(%x) : !host.buffer<0xf32> host.launch(%m) {kernel = @k, grid = 0} host.return(%x) }"
    assert "launch" not in print_python(parse(text)).text
    assert run(text, torch.empty(0))[0].shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("@aten.no_such_function.default", "no library function"),
        ("@aten.mm.no_such_overload", "no library function"),
        ("@os.system", "no library function"),
        ("@aten.mm.default.name", "named by namespace, operator and overload"),
        ('@"aten.mm.default; import os"', "names no library function"),
        ("@__builtins__.open.default", "no library function"),
    ],
)
def test_unknown_library_function_is_a_located_error(call, message):
    text = f"host.func @g(%x: !host.tensor<2x2xf32>) {{\n  %r = host.extern(%x) {{callee = {call}}} : !host.tensor<2x2xf32>\n  host.return(%r)\n}}"
    with pytest.raises(LectError, match=message) as caught:
        load(parse(text), {}, None)
    assert caught.value.loc.line in (1, 2)


def test_launch_of_a_kernel_that_is_not_there():
    with pytest.raises(LectError, match="launches the kernel @negate, which is not compiled"):
        load(parse(PROGRAM), {}, None)


def test_names_cannot_become_code():
    text = """
    host.func @"f():\\n  import os\\nx"(%import: !host.tensor<2xf32>, %launch: !host.tensor<2xf32>, %1: !host.tensor<2xf32>) {
      %r = host.extern(%import) {callee = @aten.neg.default, args = [#host.operand<0>]} : !host.tensor<2xf32>
      %e = host.empty() {reason = "a\\nimport os"} : !host.tensor<2xf32>
      host.return(%r, %launch, %1, %e)
    }"""
    source = print_python(parse(text)).text
    assert "import os" not in [line.strip() for line in source.splitlines()]
    x = torch.ones(2)
    assert run(text, x, x + 1, x + 2)[0].tolist() == [-1.0, -1.0]


def test_argument_names_cannot_become_code():
    text = """
    host.func @g(%x: !host.tensor<2xf32>) {
      %r = host.extern(%x) {callee = @aten.neg.default, kwargs = {"a=1) or f(b" = 1}} : !host.tensor<2xf32>
      host.return(%r)
    }"""
    with pytest.raises(LectError, match="is no name of an argument"):
        print_python(parse(text))


def test_debugger_finds_the_text(negate):
    program = load(parse(PROGRAM), negate, make_launcher())
    assert linecache.getline(program.filename, 1) == "def f_graph(x, w):\n"
    assert inspect.getsource(program.run) == program.text


def test_layout_that_differs_is_copied_only_when_observable():
    x = torch.randn(4, 1, 3)
    odd = torch.empty_strided((4, 1, 3), (3, 99, 1)).copy_(x)
    assert check_layout("f", odd, (4, 1, 3), (3, 3, 1), torch.float32) is odd
    turned = x.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    copied = check_layout("f", turned, (4, 1, 3), (3, 3, 1), torch.float32)
    assert copied.stride() == (3, 3, 1) and torch.equal(copied, x)
    with pytest.raises(LectError, match="gave a tensor of sizes"):
        check_layout("f", x, (4, 3), (3, 1), torch.float32)
