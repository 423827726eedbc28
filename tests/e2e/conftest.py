"""All programs of this folder run with both triggers: functions given to `lect.compile` alone, and the frame hook below them."""

from dataclasses import replace
from zlib import crc32

import pytest

from lect.runtime import entry, frame_hook

# Whose native guards are there from the first call on, and compared with Python's in each.
BOTH_GUARDS = frozenset(
    "test_guards test_stale_values test_class_checks test_class_entries test_classes test_hooks test_shared_state test_replaced_code test_numbers "
    "test_replaced_below".split()
)


def use_trigger(name, monkeypatch):
    """Make this the default of the option `trigger`."""
    if name == "hook" and not frame_hook.available():
        pytest.skip(str(frame_hook.refusal()))
    monkeypatch.setattr(entry.RUNTIME, "environment", replace(entry.RUNTIME.environment, trigger=name))


@pytest.fixture(autouse=True, params=["function", "hook"])
def trigger(request, monkeypatch):
    """The default of the option `trigger`."""
    use_trigger(request.param, monkeypatch)


@pytest.fixture(autouse=True)
def guards(request, trigger, monkeypatch):
    """The default of the option `guards`."""
    if request.module.__name__.rpartition(".")[2] in BOTH_GUARDS and entry.RUNTIME.environment.guards is None:
        monkeypatch.setattr(entry.RUNTIME, "environment", replace(entry.RUNTIME.environment, guards="both"))


@pytest.fixture(autouse=True)
def round_trip(request, monkeypatch):
    """Of twenty tests, three read back what is printed at the end of each level, and one behind each pass: all of them would take too long."""
    number = crc32(request.node.nodeid.encode())
    how = "passes" if number % 20 == 0 else "levels" if number % 5 == 0 else None
    if how is not None and entry.RUNTIME.environment.round_trip is None:
        monkeypatch.setattr(entry.RUNTIME, "environment", replace(entry.RUNTIME.environment, round_trip=how))
