"""Host programs as native code on the device, beside those in Python."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch

import lect
from lect.runtime.entry import RUNTIME

pytestmark = pytest.mark.cuda


def mixed(x: Any, w: Any, b: Any) -> Any:
    """Kernels, products with and without a sum, a view, and calls that only Python makes."""
    y = torch.addmm(b, x, w).tanh()
    z = torch.sort(y @ w.t(), -1)[0]
    return torch.relu(z) * 2, y.t(), torch.addmm(b, z, w), torch.bmm(y.view(4, 16, 64), y.view(4, 16, 64).transpose(1, 2))


def inputs() -> tuple[Any, ...]:
    return torch.randn(64, 32, device="cuda"), torch.randn(32, 64, device="cuda"), torch.randn(64, device="cuda")


def natives() -> list[Any]:
    """The native host programs of what is compiled."""
    versions = [version for frame in RUNTIME.frames for version in frame.cache.versions]
    return [version.run.__dict__["executable"].native for version in versions]


def test_both_hosts_give_the_same() -> None:
    args = inputs()
    native = lect.compile(mixed, fullgraph=True)
    results = native(*args)
    (program,) = natives()
    assert program is not None
    assert {"stream", "start", "empty_on", "sum"} <= {kind for kind, _ in program.rows}
    lect.reset()
    for found, wanted in zip(results, lect.compile(mixed, fullgraph=True, options={"host": "python"})(*args)):
        assert found.stride() == wanted.stride()
        assert torch.equal(found, wanted)
    assert natives() == [None]


def test_memory_is_given_back() -> None:
    args = inputs()
    run = lect.compile(mixed)
    run(*args)
    torch.cuda.synchronize()
    gc.collect()  # what tests before this one have left
    before = torch.cuda.memory_allocated()
    for _ in range(100):
        run(*args)
    assert torch.cuda.memory_allocated() == before


def test_no_memory_is_torchs_own_error_and_the_next_call_works() -> None:
    def large(x: Any, n: Any) -> Any:
        return (x[:, None] + x[None, :]) * 2

    run = lect.compile(large)
    small = torch.randn(1 << 10, device="cuda")
    with torch.no_grad():
        with pytest.raises(torch.OutOfMemoryError):
            run(torch.randn(1 << 20, device="cuda"), 1)
        torch.testing.assert_close(run(small, 1), large(small, 1))


def test_gradients_through_a_native_host() -> None:
    args = [each.requires_grad_() for each in inputs()]
    wanted = torch.autograd.grad(sum(each.square().sum() for each in mixed(*args)), args)
    found = torch.autograd.grad(sum(each.square().sum() for each in lect.compile(mixed)(*args)), args)
    for a, b in zip(found, wanted):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-2)


def test_streams_and_graphs_see_the_work() -> None:
    args = inputs()
    run = lect.compile(lambda x, w, b: torch.addmm(b, x, w).tanh() * 2)
    wanted = run(*args)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(10_000_000)
        copies = [each * 1 for each in args]  # ready long after the call is made
        found = run(*copies)
    side.synchronize()
    assert torch.equal(found, wanted)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run(*args)
    out.zero_()
    graph.replay()
    assert torch.equal(out, wanted)
