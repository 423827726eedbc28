"""All programs of this folder run with both triggers: functions given to `lect.compile` alone, and the frame hook below them.

Without the slow tests, each program runs with one of the two, which its name decides; those of `BOTH_TRIGGERS` always run with both.
"""

from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from lect.runtime import entry, frame_hook

# Whose native guards are there from the first call on, and compared with Python's in each.
BOTH_GUARDS = frozenset(
    "test_guards test_stale_values test_class_checks test_class_entries test_classes test_hooks test_shared_state test_replaced_code test_numbers "
    "test_replaced_below".split()
)

# Where the triggers do different things: functions behind a cut, below others, in other threads, and what their frames are seen to be.
BOTH_TRIGGERS = frozenset(
    "test_between_graphs test_breaks test_breaks_everywhere test_cache test_calls_of_modules test_class_entries test_concurrent_calls test_effects "
    "test_guards test_hooks test_long_searches test_methods_of_bases test_nested_frames test_released test_replaced_below test_replaced_code test_states "
    "test_threads test_tracebacks test_training".split()
)
HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # in front of what leaves the slow ones out
def pytest_collection_modifyitems(items):
    """The second trigger of each program is slow."""
    for item in items:
        case = getattr(item, "callspec", None)
        if item.path.parent == HERE and item.path.stem not in BOTH_TRIGGERS and case is not None and "trigger" in case.params:
            trigger = case.params["trigger"]
            number = crc32(f"{item.path.name} {item.originalname} {case.id.replace(trigger, '', 1)}".encode())
            if (number + (trigger == "hook")) % 2:
                item.add_marker(pytest.mark.slow)


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
    """Of forty tests, three read back what is printed at the end of each level, and one behind each pass: all of them would take too long."""
    number = crc32(request.node.nodeid.encode())
    how = "passes" if number % 40 == 0 else "levels" if number % 10 == 0 else None
    if how is not None and request.module.__name__.rpartition(".")[2] != "test_long_programs" and entry.RUNTIME.environment.round_trip is None:
        monkeypatch.setattr(entry.RUNTIME, "environment", replace(entry.RUNTIME.environment, round_trip=how))
