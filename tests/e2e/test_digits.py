"""The network of `make demo` learns the same under eager and compiled."""

import runpy

import pytest

from tests.meta.tree import ROOT

DIGITS = runpy.run_path(str(ROOT / "examples/digits.py"), run_name="digits")


def test_losses_are_the_same_step_by_step():
    eager, compiled = DIGITS["compare"](epochs=1)
    assert len(eager.losses) == len(compiled.losses) == 10
    assert compiled.losses[-1] < compiled.losses[0] / 2
    assert compiled.accuracy == pytest.approx(eager.accuracy, abs=0.01)


def test_a_loss_that_differs_is_found(monkeypatch):
    train = DIGITS["train"]

    def wrong(data, compile, epochs):
        for found in train(data, lambda model: model, epochs):
            if compile is DIGITS["lect"].compile and len(found.losses) == 4:
                found.losses[3] *= 1.01
            yield found

    monkeypatch.setitem(DIGITS["compare"].__globals__, "train", wrong)
    with pytest.raises(AssertionError, match="Mismatched elements"):
        DIGITS["compare"](epochs=1)
