"""What a host program is handed over is freed behind its last use, by both hosts; what it borrows is not."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest
import torch

import lect
from lect.backends import native_host, python_host
from lect.dialects import make_context
from lect.ir import parse_module
from lect.runtime.executable import Executable

FOLLOWED: list[weakref.ref] = []
ALIVE: list[list[bool]] = []


@pytest.fixture(scope="module")
def probe():
    """An operator that gives its argument on and notes which of the followed tensors are alive."""
    library = torch.library.Library("lect_test", "DEF")
    library.define("probe(Tensor x) -> Tensor")

    def note(x):
        ALIVE.append([each() is not None for each in FOLLOWED])
        return x.clone()

    library.impl("probe", note, "CPU")
    yield
    library._destroy()


TEXT = """
host.func @f(%x: !host.tensor<3x3xf32>, %y: !host.tensor<3x3xf32>, %z: !host.tensor<3x3xf32>) CONSUMED {
  %a = host.extern(%x) {callee = @lect_test.probe.default, args = [#host.operand<0>]} : !host.tensor<3x3xf32>
  FREE_X
  %b = host.extern(%a) {callee = @lect_test.probe.default, args = [#host.operand<0>]} : !host.tensor<3x3xf32>
  %m = host.memory(%y) : !host.buffer<9xf32>
  %t = host.view(%m) : !host.tensor<3x3xf32, strides [1, 3]>
  %p = host.extern(%b, %t) {callee = @aten.mm.default, args = [#host.operand<0>, #host.operand<1>]} : !host.tensor<3x3xf32>
  host.free(%t)
  FREE_Y
  %c = host.extern(%p) {callee = @lect_test.probe.default, args = [#host.operand<0>]} : !host.tensor<3x3xf32>
  host.return(%c, %z)
}
"""
BORROWS = TEXT.replace("CONSUMED", "").replace("FREE_X", "").replace("FREE_Y", "")
CONSUMES = TEXT.replace("CONSUMED", "{consumed = [0, 1]}").replace("FREE_X", "host.free(%x)").replace("FREE_Y", "host.free(%y)")


def executable(text, host):
    func = parse_module(text, make_context()).body.first
    made = Executable(func, lambda func: python_host.load(func, {}, None), None)
    made.native = native_host.load(func, {}, None) if host == "native" else None
    return made


def called(run, inputs):
    """The results of a call with a list, and what was alive at each probe; the caller has no other reference to the tensors."""
    FOLLOWED[:] = [weakref.ref(each) for each in inputs]
    ALIVE.clear()
    return run(inputs), list(ALIVE)


@pytest.mark.parametrize("host", ["native", "python"])
def test_consumed_tensors_die_where_they_were_used_last(probe, host):
    x, y, z = torch.randn(3, 3), torch.randn(3, 3), torch.randn(3, 3)
    wanted = x @ y.t()
    inputs = [x, y, z]
    del x, y
    made = executable(CONSUMES, host)
    results, alive = called(made.consuming, inputs)
    torch.testing.assert_close(results[0], wanted)
    assert results[1] is z
    assert alive == [[True, True, True], [False, True, True], [False, False, True]]
    assert inputs == []


@pytest.mark.parametrize("host", ["native", "python"])
def test_a_program_that_consumes_can_be_called_with_tensors(probe, host):
    x, y, z = torch.randn(3, 3), torch.randn(3, 3), torch.randn(3, 3)
    for run in (executable(CONSUMES, host).run, executable(CONSUMES, host)):
        torch.testing.assert_close(run(x, y, z)[0], x @ y.t())


@pytest.mark.parametrize("host", ["native", "python"])
def test_nothing_is_freed_twice_or_kept(probe, host):
    x, y, z = torch.randn(3, 3), torch.randn(3, 3), torch.randn(3, 3)
    counts = [sys.getrefcount(each) for each in (x, y, z)]
    for text in (CONSUMES, BORROWS):
        made = executable(text, host)
        for _ in range(5):
            results = made.consuming([x, y, z])
            torch.testing.assert_close(results[0], x @ y.t())
        del results
    FOLLOWED.clear()
    gc.collect()
    assert [sys.getrefcount(each) for each in (x, y, z)] == counts


@pytest.mark.parametrize("given", [[], [torch.ones(3, 3)], [torch.ones(3, 3), 1, torch.ones(3, 3)], [[], [], []]])
def test_a_list_of_other_things_is_refused_and_left_as_it_is(probe, given):
    made = executable(CONSUMES, "native")
    copy = list(given)
    with pytest.raises(RuntimeError, match="as many tensors"):
        made.consuming(given)
    assert all(a is b for a, b in zip(given, copy)) and len(given) == len(copy)


def most(run):
    """The most bytes of tensors that a call has at once, above what was there before it."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    live = peak = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak


@pytest.mark.parametrize("host", ["native", "python"])
@pytest.mark.parametrize("retained", [False, True])
def test_what_the_forward_kept_is_freed_in_the_backward(host, retained):
    """Eight layers keep eight products of 64 KB for a backward, whose gradients need as much: what was kept goes as these come."""
    torch.manual_seed(0)
    weights = [(torch.randn(128, 128) / 12).requires_grad_() for _ in range(8)]
    x = torch.randn(128, 128)

    def loss(x):
        for weight in weights:
            x = torch.tanh(x @ weight)
        return x.sum()

    compiled = lect.compile(loss, options={"host": host})

    def step(run):
        for weight in weights:
            weight.grad = None
        run(x).backward(retain_graph=retained)

    for _ in range(2):
        step(compiled)
    found = most(lambda: step(compiled))
    gradients = [weight.grad.clone() for weight in weights]
    step(loss)
    for weight, gradient in zip(weights, gradients):
        torch.testing.assert_close(gradient, weight.grad)
    each = 4 * 128 * 128
    assert (found < 12 * each) is not retained, f"{found / each:.1f} products at once"
