"""The programs of docs/graph-breaks.md break for the reasons under which they stand."""

import sys

import pytest
import torch

import lect
from lect.frontends.capture.breaks import REASONS
from lect.tools.break_examples import EXAMPLES


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


@pytest.mark.parametrize("number", EXAMPLES)
def test_example_breaks_for_its_reason(number):
    sys.modules.pop("mailbox", None)
    try:
        lect.compile(EXAMPLES[number])(torch.randn(2, 3))
    except (TypeError, ValueError):
        assert number in ("LB0006", "LB0012")
    assert number in [event.number for event in lect.events("graph break", "fallback", "note")]


def test_examples_are_of_reasons_that_exist():
    assert set(EXAMPLES) <= set(REASONS)
    assert len(EXAMPLES) >= 18
