"""Who computed a sample: library calls of a backward count as those of a forward, and so does a backward that torch runs."""

from __future__ import annotations

import torch

import lect
from lect.runtime import entry
from lect.runtime.events import BackwardFallback
from tests.opinfo.report import counted, only_native
from tests.opinfo.trial import Watch


def way_of(function, *tensors):
    """Who computed a function and its gradients."""
    entry.RUNTIME.log.clear()
    with Watch() as watch:
        torch.autograd.grad(lect.compile(function)(*tensors).sum(), tensors)
        return watch.way()[0]


def test_a_native_backward_is_native():
    assert way_of(lambda x: torch.exp(x) * 2, torch.randn(4, requires_grad=True)) == "native"


def test_a_library_call_of_a_backward_counts(monkeypatch):
    leaves = []
    monkeypatch.setattr("tests.opinfo.trial.is_meant", lambda callee: bool(leaves.append(callee)))
    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
    assert way_of(lambda x: x * 2, x) == "native"
    assert way_of(lambda x, y: x @ y, x, y) == "library"
    assert leaves == ["aten.mm.default"] * 3  # one of the forward and two of the backward


def test_a_backward_that_torch_runs_counts():
    with Watch() as watch:
        lect.compile(lambda x: x + 1)(torch.ones(3))
        entry.RUNTIME.log.clear()
        entry.RUNTIME.log.add(BackwardFallback("f", "too large"))
        assert watch.way()[0] == "torch"
    entry.RUNTIME.log.clear()


def test_an_entry_is_native_with_its_backward():
    rows = [
        {"entry": "a", "kind": "forward", "way": "native"},
        {"entry": "a", "kind": "backward", "way": "native"},
        {"entry": "a", "kind": "out", "way": "torch"},
        {"entry": "b", "kind": "forward", "way": "native"},
        {"entry": "b", "kind": "backward", "way": "library"},
    ]
    assert only_native(rows, ("forward", "backward")) == {"a"}
    assert counted(rows).startswith("Every forward and backward sample of 1 entries") and counted(rows).endswith("of 2.")
