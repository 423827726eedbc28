"""Native host programs beside those in Python: values, who owns what, errors, and what is left to Python."""

from __future__ import annotations

import gc
import itertools
import sys
import weakref

import pytest
import torch

from lect.backends import native_host, python_host
from lect.backends.native_host import program as program_module
from lect.backends.native_host import runner as runner_module
from lect.dialects import make_context
from lect.ir import LectError, parse_module

PRODUCTS = """
host.func @f(%x: !host.tensor<3x4xf32>, %y: !host.tensor<4x3xf32>, %z: !host.tensor<3x3xf32>) {
  %m = host.memory(%x) : !host.buffer<12xf32>
  %t = host.view(%m) : !host.tensor<4x3xf32, strides [1, 4]>
  %p = host.extern(%x, %y) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<3x3xf32>
  %q = host.extern(%z, %x, %t) {callee = @aten.addmm.default, args = [#host.operand<0>, #host.operand<1>, #host.operand<2>], kwargs = {beta = 0.5, alpha = 2}}
    : !host.tensor<3x3xf32>
  host.free(%t)
  %c = host.extern(%p) {callee = @aten.cumsum.default, args = [#host.operand<0>, 0]} : !host.tensor<3x3xf32>
  %s, %i = host.extern(%q) {callee = @aten.sort.default, args = [#host.operand<0>]} : (!host.tensor<3x3xf32>, !host.tensor<3x3xi64>)
  host.free(%p)
  host.return(%c, %q, %s, %i, %x)
}
"""


def program(text):
    func = parse_module(text, make_context()).body.first
    return native_host.load(func, {}, None), python_host.load(func, {}, None)


def test_values_are_those_of_the_python_host():
    native, python = program(PRODUCTS)
    for special in (False, True):
        x, y, z = torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3)
        if special:
            x[0, 0], y[1, 1], z[2, 2] = float("inf"), float("nan"), -0.0
        found, wanted = native.run(x, y, z), python.run(x, y, z)
        assert len(found) == 5 and found[4] is x
        for a, b in zip(found, wanted):
            assert a.stride() == b.stride() and torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())


def test_nothing_outlives_its_use():
    native, _ = program(PRODUCTS)
    x, y, z = torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3)
    counts = [sys.getrefcount(each) for each in (x, y, z)]
    results = native.run(x, y, z)
    dead = [weakref.ref(each) for each in results[:4]]
    del results
    gc.collect()
    assert [sys.getrefcount(each) for each in (x, y, z)] == counts
    assert [each() for each in dead] == [None] * 4


def test_a_function_keeps_its_program():
    run = program(PRODUCTS)[0].run
    gc.collect()
    assert len(run(torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3))) == 5


def test_a_program_keeps_the_runner_that_it_was_made_with(monkeypatch):
    """Two threads may each have made one, of which the process keeps the last."""
    once = runner_module._Once()
    monkeypatch.setattr(runner_module, "_once", lambda: once)
    first, _ = program(PRODUCTS)
    alive = weakref.ref(once.made)
    once.made = None
    program(PRODUCTS)
    gc.collect()
    assert alive() is not None and alive() is not once.made
    assert len(first.run(torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3))) == 5
    del first
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("arguments", [(), (torch.ones(3, 4),), (1, 2, 3), (torch.ones(3, 4), torch.ones(4, 3), None)])
def test_other_arguments_are_refused(arguments):
    native, _ = program(PRODUCTS)
    with pytest.raises(RuntimeError, match="as many tensors"):
        native.run(*arguments)


def test_gradients_are_off_inside_alone():
    text = "host.func @f(%x: !host.tensor<4xf32>) {\n"
    text += "  %s = host.extern(%x) {callee = @aten.sin.default, args = [#host.operand<0>]} : !host.tensor<4xf32>\n  host.return(%s)\n}\n"
    native, _ = program(text)
    x = torch.ones(4, requires_grad=True)
    assert native.run(x)[0].requires_grad and not native.quiet(x)[0].requires_grad
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not native.quiet(x)[0].requires_grad and not torch.is_grad_enabled()


FAILS = """
host.func @f(%x: !host.tensor<4x4xf32>, %i: !host.tensor<1xi64>) {
  %e = host.empty() : !host.tensor<4x4xf32>
  %p = host.extern(%x, %x) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<4x4xf32>
  %s = host.extern(%p, %i) {callee = @aten.index_select.default, args = [#host.operand<0>, 0, #host.operand<1>]} : !host.tensor<1x4xf32>
  host.free(%e)
  host.return(%s)
}
"""


def _raised(run, *arguments):
    with pytest.raises((RuntimeError, IndexError)) as caught:
        run(*arguments)
    return caught.value


def test_exceptions_are_torch_s_own():
    native, python = program(FAILS)
    x = torch.ones(4, 4)
    for run in (native.run, native.quiet):
        found, wanted = _raised(run, x, torch.tensor([7])), _raised(python.run, x, torch.tensor([7]))
        assert type(found) is type(wanted) and str(found) == str(wanted)
        assert torch.is_grad_enabled()
        frame = found.__traceback__
        while frame.tb_next is not None:
            frame = frame.tb_next
        assert frame.tb_frame.f_code in native.codes or "_ops.py" in frame.tb_frame.f_code.co_filename


def test_what_native_code_finds_is_raised_out_of_a_known_frame():
    native, _ = program(FAILS)
    found = _raised(native.run, torch.ones(3, 5), torch.tensor([0]))  # a matrix that cannot be multiplied by itself
    assert type(found) is RuntimeError and "3x5" in str(found)
    assert found.__traceback__.tb_next.tb_frame.f_code in native.codes


def _profiled(run, *arguments):
    """The names of the events of a call, in the order in which they begin."""
    with torch.autograd.profiler.profile() as profiler:
        try:
            run(*arguments)
        except RuntimeError as error:
            assert "3x5" in str(error)
    return [event.name for event in profiler.function_events if event.name in ("lect::f", "aten::mm", "aten::addmm", "aten::sort", "aten::cumsum")]


def test_a_profiler_sees_products_and_the_program():
    native, python = program(PRODUCTS)
    given = torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3)
    native.run(*given)
    wanted = ["aten::mm", "aten::addmm", "aten::cumsum", "aten::sort"]
    assert _profiled(python.run, *given) == wanted
    assert _profiled(native.run, *given) == _profiled(native.quiet, *given) == ["lect::f", *wanted]


def test_what_fails_in_native_code_and_not_in_python_goes_on(monkeypatch):
    """Memory that was short, for instance: Python's result takes the place of the tensor that was made for it."""
    import ctypes

    fails = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(lambda *tensors: 1)
    plain = program_module.symbol_address
    monkeypatch.setattr(program_module, "symbol_address", lambda name: ctypes.cast(fails, ctypes.c_void_p).value if name.endswith("_mm_out") else plain(name))
    native, python = program(PRODUCTS)
    given = torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3)
    counts = [sys.getrefcount(each) for each in given]
    for a, b in zip(native.run(*given), python.run(*given)):
        assert torch.equal(a, b)
    del a, b  # the last result is an input
    assert [sys.getrefcount(each) for each in given] == counts


def test_an_event_ends_where_a_product_fails():
    native, _ = program(FAILS)
    for _ in range(2):
        assert _profiled(native.run, torch.ones(3, 5), torch.tensor([0])) == ["lect::f", "aten::mm", "aten::mm"]  # once more in Python, for the error
    with torch.autograd.profiler.profile() as profiler:
        _raised(native.run, torch.ones(3, 5), torch.tensor([0]))
        torch.sin(torch.ones(2))
    (after,) = [event for event in profiler.function_events if event.name == "aten::sin"]
    assert after.cpu_parent is None


def test_a_torch_without_events_runs_programs(monkeypatch):
    found = runner_module.symbol_address
    monkeypatch.setattr(runner_module, "symbol_address", lambda name: None if "record_function" in name else found(name))
    monkeypatch.setattr(runner_module, "_once", itertools.repeat(runner_module._Once()).__next__)
    native, python = program(PRODUCTS)
    given = torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3)
    assert "aten::mm" not in _profiled(native.run, *given)
    assert torch.equal(native.run(*given)[0], python.run(*given)[0])


def test_calls_inside_of_calls():
    native, _ = program(PRODUCTS)
    x, y, z = torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3)
    seen = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if len(seen) < 3:
                seen.append(func)
                with torch.utils._python_dispatch._disable_current_modes():
                    native.run(x, y, z)
            return result

    with Mode():
        found = native.run(x, y, z)
    assert seen and torch.equal(found[0], native.run(x, y, z)[0])


def test_memory_elsewhere_has_no_native_program():
    text = 'host.func @f() {\n  %e = host.empty() : !host.tensor<4xf32, "mps:0">\n  host.return(%e)\n}\n'
    with pytest.raises(LectError, match="no memory on mps"):
        program(text)


@pytest.fixture
def silent_torch(monkeypatch):
    """A torch whose calls from native code do not say what went wrong."""
    monkeypatch.setattr(runner_module, "message_symbol", lambda: None)
    monkeypatch.setattr(runner_module, "_once", itertools.repeat(runner_module._Once()).__next__)


def test_errors_of_a_torch_that_does_not_tell_them_are_python_s(silent_torch):
    native, python = program(FAILS)
    assert "product" in native.text and "python" in native.text
    for x, i in ((torch.ones(4, 4), torch.tensor([7])), (torch.ones(3, 5), torch.tensor([0]))):
        found, wanted = _raised(native.run, x, i), _raised(python.run, x, i)
        assert type(found) is type(wanted) and str(found) == str(wanted)
    native, python = program(PRODUCTS)
    x, y, z = torch.randn(3, 4), torch.randn(4, 3), torch.randn(3, 3)
    for a, b in zip(native.run(x, y, z), python.run(x, y, z)):
        assert torch.equal(a, b)


def test_what_cannot_be_made_is_tried_once(monkeypatch):
    asked = []

    def refuse(handle, store):
        asked.append(handle)
        raise LectError("no such symbol")

    monkeypatch.setattr(runner_module, "_once", itertools.repeat(runner_module._Once()).__next__)
    monkeypatch.setattr(runner_module, "Runner", refuse)
    for _ in range(2):
        with pytest.raises(LectError, match="no such symbol"):
            program(FAILS)
    assert len(asked) == 1


def test_memory_that_native_code_reads_of_a_tensor_that_python_made():
    """The tensor itself is read by nobody behind the step that makes it."""
    native, python = program("""
host.func @f(%x: !host.tensor<2x3xf32>) {
  %c = host.extern(%x) {callee = @aten.cumsum.default, args = [#host.operand<0>, 0]} : !host.tensor<2x3xf32>
  %m = host.memory(%c) : !host.buffer<6xf32>
  %e = host.empty() : !host.tensor<2x3xf32>
  %v = host.view(%m) : !host.tensor<3x2xf32, strides [1, 3]>
  host.return(%v, %e)
}
""")
    x = torch.randn(2, 3)
    assert torch.equal(native.run(x)[0], python.run(x)[0])
