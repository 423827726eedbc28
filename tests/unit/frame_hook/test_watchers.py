"""Debuggers, coverage, profilers and tracers beside the hook."""

import sys

import pytest

from tests.unit.frame_hook.support import made, replacing

SOURCE = """
def f(x):
    y = x
    return y
def g(x):
    return 'other'
"""


@pytest.fixture
def pair(fh):
    """A function that is replaced, and a call of it in a region."""
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(replacing(fh, {f.__code__: g.__code__.replace(co_name="f")}))
    assert trigger.call(f, 1) == "other"
    return f, lambda: trigger.call(f, 1)


def test_a_trace_function_sees_the_program_as_written(pair):
    f, run = pair
    seen = []

    def trace(frame, event, argument):
        if frame.f_code.co_name == "f":
            seen.append((event, frame.f_lineno, frame.f_code is f.__code__))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert run() == 1
    finally:
        sys.settrace(before)
    assert seen == [("call", 2, True), ("line", 3, True), ("line", 4, True), ("return", 4, True)]
    assert run() == "other"


def test_a_debugger_stops_at_the_lines_as_written(pair):
    import bdb

    f, run = pair

    class Debugger(bdb.Bdb):
        lines = []

        def user_line(self, frame):
            if frame.f_code.co_name == "f":
                self.lines.append(frame.f_lineno)
            self.set_step()

    before = sys.gettrace()
    debugger = Debugger()
    try:
        assert debugger.runcall(run) == 1
    finally:
        sys.settrace(before)
    assert debugger.lines == [3, 4]


def test_coverage_of_a_trace_function_counts_every_line(pair):
    import trace

    f, run = pair
    f.__globals__["__file__"] = "program.py"  # trace wants one
    counter = trace.Trace(count=True, trace=False)
    before = sys.gettrace()
    try:
        assert counter.runfunc(run) == 1
    finally:
        sys.settrace(before)
    lines = {line for (name, line), _ in counter.results().counts.items() if name == f.__code__.co_filename}
    assert {3, 4} <= lines
    assert 6 not in lines


def test_a_trace_function_may_be_set_inside_of_a_region(fh):
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(replacing(fh, {f.__code__: g.__code__}))

    def program():
        first = f(1)
        before = sys.gettrace()
        sys.settrace(lambda *arguments: None)
        try:
            second = f(1)
        finally:
            sys.settrace(before)
        return first, second, f(1)

    assert trigger.call(program) == ("other", 1, "other")


def test_a_profile_function_sees_calls_and_returns_in_pairs(pair):
    f, run = pair
    seen = []

    def profile(frame, event, argument):
        if frame.f_code.co_name == "f":
            seen.append((event, argument))

    sys.setprofile(profile)
    try:
        assert run() == "other"
    finally:
        sys.setprofile(None)
    assert seen == [("call", None), ("return", "other")]


def test_a_profiler_sees_no_frame_that_was_disposed_of(fh):
    (f,) = made(SOURCE, "f")
    seen = []
    trigger = fh.Trigger(lambda code, function, arguments: (7,) if function is f else None)
    sys.setprofile(lambda frame, event, argument: seen.append(frame.f_code.co_name))
    try:
        assert trigger.call(f, 1) == 7
    finally:
        sys.setprofile(None)
    assert "f" not in seen
    assert "<no frame>" not in seen


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
@pytest.mark.parametrize(("tool", "want"), [("DEBUGGER_ID", 1), ("COVERAGE_ID", 1), ("PROFILER_ID", "other"), ("OPTIMIZER_ID", "other")])
def test_tools_of_sys_monitoring(pair, tool, want):
    f, run = pair
    monitoring = sys.monitoring
    number = getattr(monitoring, tool)
    events = monitoring.events
    seen = []
    monitoring.use_tool_id(number, "test")
    try:
        monitoring.register_callback(number, events.PY_START, lambda code, offset: seen.append(("start", code.co_name)))
        monitoring.register_callback(number, events.PY_RETURN, lambda code, offset, value: seen.append(("return", code.co_name)))
        monitoring.register_callback(number, events.LINE, lambda code, line: seen.append((line, code.co_name)))
        monitoring.set_events(number, events.PY_START | events.PY_RETURN | events.LINE)
        assert run() == want
    finally:
        monitoring.set_events(number, 0)
        monitoring.free_tool_id(number)
    lines = [3, 4] if want == 1 else [6]
    assert [event for event, name in seen if name == "f"] == ["start", *lines, "return"]
    assert run() == "other"
