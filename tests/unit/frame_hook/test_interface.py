"""`lect.runtime.frame_hook`: rules, outcomes, flat arguments, errors of the look-up."""

import collections
import contextlib
import json
import os
import statistics
import sys
from pathlib import Path

import pytest

from lect.runtime import frame_hook
from lect.runtime.frame_hook import DEFAULT, SKIP, CallbackHook, Hook, Rule, answer, call_arguments, disarmed, flat_count, flatten, rules, state_of
from tests.unit.frame_hook.support import made

SOURCE = "def f(x): return 'as written'\ndef g(x): return 'other'"


def test_arming_a_block(fh):
    f, g = made(SOURCE, "f", "g")
    hook = Hook(lambda code, function, arguments: (fh.always, g.__code__) if function is f else DEFAULT, print)
    with hook.armed():
        assert f(1) == "other"
        with disarmed():
            assert f(1) == "as written"
        assert f(1) == "other"
    assert f(1) == "as written"
    assert hook.entries(f.__code__) == [(fh.always, g.__code__)]
    hook.set(f.__code__, SKIP)
    assert hook.entries(f.__code__) == SKIP
    hook.clear()
    assert hook.entries(f.__code__) is None


def test_arming_ends_with_an_exception(fh):
    hook = Hook(lambda *arguments: None, print)
    with pytest.raises(KeyError), hook.armed():
        raise KeyError
    assert fh.armed() is None


def test_answer_is_what_the_call_returns(fh):
    (f,) = made(SOURCE, "f")
    hook = Hook(lambda code, function, arguments: answer(arguments) if function is f else DEFAULT, print)
    assert hook.call(sorted, [3, 1, 2], key=f) == [1, 2, 3]
    assert hook.call(map, f, [5]).__next__ is not None
    assert hook.call(f, 5) == (5,)


def test_look_up_runs_disarmed_and_may_arm_again(fh):
    """As an interpreter does that runs the callee itself, with calls of C functions in it."""
    inner, outer = made("def inner(x): return x\ndef outer(x): return sorted([2, 1], key=inner)", "inner", "outer")
    depth = []

    def look_up(code, function, arguments):
        depth.append((code.co_name, fh.armed()))
        if function is outer:
            with hook.armed():
                return answer(sorted([2, 1], key=inner))
        return answer(-arguments[0])

    hook = Hook(look_up, print)
    assert hook.call(outer, 0) == [2, 1]
    assert depth == [("outer", None), ("inner", None), ("inner", None)]


def test_error_of_the_look_up_is_an_event_and_never_the_programs(fh):
    (f,) = made(SOURCE, "f")
    events = []
    hook = Hook(lambda *arguments: 1 / 0, events.append, "region")
    assert [hook.call(f, 1) for _ in range(3)] == ["as written"] * 3
    assert [(event.reason, event.function) for event in events] == [("lookup failed", "region")]
    assert "f: ZeroDivisionError: division by zero" in str(events[0])
    assert hook.entries(f.__code__) == DEFAULT


def test_an_interpreter_is_called_back_from_c(fh):
    """Also for functions that the rules leave alone, and with every exception passed on."""
    hook = CallbackHook(lambda code, function, arguments: answer(-function(*arguments)), print)
    assert hook.call(sorted, [1, 3, 2], key=made("def f(x): return x", "f")[0]) == [3, 2, 1]
    with hook.armed():
        assert list(map(statistics.mean, [[1, 3], [5, 7]])) == [-2, -6]

    class Break(BaseException):
        pass

    for kind in (ValueError, Break):

        def raises(code, function, arguments, kind=kind):
            raise kind("out of the C function")

        with pytest.raises(kind, match="out of the C function"):
            CallbackHook(raises, print).call(sorted, [1, 2], key=made("def f(x): return x", "f")[0])


def test_interrupt_in_the_look_up_is_not_swallowed(fh):
    (f,) = made(SOURCE, "f")

    def look_up(*arguments):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Hook(look_up, print).call(f, 1)


@pytest.mark.parametrize(
    ("function", "state"),
    [
        (Hook.call, SKIP),
        (contextlib.contextmanager, DEFAULT),
        (json.dumps, DEFAULT),
        (collections.namedtuple, DEFAULT),
        (pytest.fixture, ""),
        (made, ""),
    ],
)
def test_rules(function, state):
    assert state_of(function.__code__) == state


def test_rules_for_code_without_a_file():
    def at(name):
        return state_of(made.__code__.replace(co_filename=name))

    assert at("<frozen importlib._bootstrap>") == SKIP
    assert at("<frozen codecs>") == DEFAULT
    assert at("<guards of f>") == SKIP
    assert at("<lect host f 0>") == SKIP
    assert at("<string>") == ""
    assert all(rule.reason for rule in rules())


def test_rules_of_one_hook_come_first(fh):
    asked = []
    (mine,) = made("def f(x): return x", "f")
    rules_of_mine = (Rule("<string>", SKIP, "made by a test"), Rule(str(Path(json.__file__).parent), "", "a program like any other"))
    hook = Hook(lambda code, function, arguments: asked.append(code.co_name), print, rules=rules_of_mine)
    assert hook.call(lambda: (json.loads("[1]", parse_int=mine), mine(2))) == (["1"], 2)
    assert hook.entries(mine.__code__) == SKIP
    assert asked[:2] == ["<lambda>", "loads"]


def test_links_of_an_editable_install_are_lect_too():
    package = Path(frame_hook.__file__).parent.parent
    folders = [entry for entry in package.iterdir() if entry.is_symlink()]
    for folder in folders:
        assert state_of(made.__code__.replace(co_filename=str(folder.resolve() / "x.py"))) == SKIP
        assert state_of(made.__code__.replace(co_filename=str(folder.resolve()) + "_of_a_user" + os.sep + "x.py")) == ""


def test_functions_of_the_rules_are_not_asked_for_but_what_they_call_is(fh):
    asked = []
    hook = Hook(lambda code, function, arguments: asked.append(code.co_name), print)
    (f,) = made("def f(x): return x", "f")

    def program():
        with contextlib.suppress(KeyError):
            return json.loads("[1, 2]", parse_int=f)

    assert hook.call(program) == ["1", "2"]
    assert asked == ["program", "f", "f"]


def test_flat_arguments_and_back():
    def plain(a, /, b, *args, c, d=4, **kwargs):
        return a, b, args, c, d, kwargs

    code = plain.__code__
    assert flat_count(code) == 6
    flat = (1, 2, 3, 4, (5, 6), {"z": 7})
    args, kwargs = call_arguments(code, flat)
    assert plain(*args, **kwargs) == (1, 2, (5, 6), 3, 4, {"z": 7})
    other = type(plain)(flatten(code), {})
    assert other(1, 2, 3, 4, (5, 6), {"z": 7}) == (1, 2, (5, 6), 3, 4, {"z": 7})
    assert call_arguments((lambda: 0).__code__, ()) == ((), {})


def test_nothing_heavy_is_imported():
    import subprocess

    program = f"import sys; sys.path[:] = {sys.path!r}\nimport lect.runtime.frame_hook\nassert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
