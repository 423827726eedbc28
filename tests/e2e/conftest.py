"""All programs of this folder run with both triggers: functions given to `lect.compile` alone, and the frame hook below them."""

from dataclasses import replace

import pytest

from lect.runtime import entry, frame_hook


def use_trigger(name, monkeypatch):
    """Make this the default of the option `trigger`."""
    if name == "hook" and not frame_hook.available():
        pytest.skip(str(frame_hook.refusal()))
    monkeypatch.setattr(entry.RUNTIME, "environment", replace(entry.RUNTIME.environment, trigger=name))


@pytest.fixture(autouse=True, params=["function", "hook"])
def trigger(request, monkeypatch):
    """The default of the option `trigger`."""
    use_trigger(request.param, monkeypatch)
