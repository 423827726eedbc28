"""Real models, tiny: the compiled one gives eager's outputs, twice, and leaves the model as it was; in training also gradients and buffers."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from lect.runtime import entry
from tests.models.catalogue import CASES
from tests.models.trial import try_model, try_training
from tests.models.wide import ALL

MISSING = [name for name in ("transformers", "timm") if importlib.util.find_spec(name) is None]

# The elements of an input or of a buffer decide a branch or a size in these; all others are one graph.
CUT = frozenset(
    "NystromformerModel LongformerModel LEDModel SwitchTransformersModel XLMModel FlaubertModel NllbMoeModel Siglip2VisionModel EncodecModel".split()
)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}: the extra `models`")]


@pytest.fixture(autouse=True)
def round_trip(monkeypatch):
    """What is printed at the end of each level is read back and compared, with LECT_ROUND_TRIP=passes what is behind each pass."""
    given = entry.RUNTIME.environment
    monkeypatch.setattr(entry.RUNTIME, "environment", replace(given, round_trip=given.round_trip or "levels"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_training_equals_eager(name, record_property):
    outcome = try_training(CASES[name])
    record_property("result", outcome.reason or "one graph")
    record_property("detail", outcome.detail)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_compiled_equals_eager(name, record_property):
    outcome = try_model(ALL[name])
    record_property("result", outcome.reason or "one graph")
    record_property("detail", outcome.detail)
    record_property("capture_ms", outcome.capture_ms)
    record_property("compile_ms", outcome.compile_ms)
    assert bool(outcome.reason) == (name in CUT), outcome.row()
