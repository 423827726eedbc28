"""When the hook is not used: beside another frame evaluation function, without the extension, on an interpreter it does not know."""

import ctypes
import shutil
import subprocess
import sys
import sysconfig

import pytest

from lect.runtime import frame_hook
from tests.unit.frame_hook.support import made, replacing

SOURCE = "def f(x): return 'as written'\ndef g(x): return 'other'"
FOREIGN = """
#include <Python.h>
typedef PyObject *(*Evaluate)(PyThreadState *, struct _PyInterpreterFrame *, int);
extern Evaluate _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState *);
extern void _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState *, Evaluate);
static Evaluate below;
static int calls;
/* Like another compiler's hook, it hands frames on to whom it found in the slot. */
static PyObject *foreign(PyThreadState *ts, struct _PyInterpreterFrame *frame, int throwing)
{
    calls++;
    return below(ts, frame, throwing);
}
int foreign_calls(void) { return calls; }
int foreign_is_installed(void) { return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) == foreign; }
void install(void)
{
    below = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), foreign);
}
void uninstall(void) { _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), below); }
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """Another frame evaluation function."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "foreign.c").write_text(FOREIGN)
    command = [compiler, "-shared", "-fPIC", f"-isystem{sysconfig.get_paths()['include']}", str(folder / "foreign.c"), "-o", str(folder / "foreign.so")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return ctypes.PyDLL(str(folder / "foreign.so"))


def test_a_region_beside_a_foreign_hook_runs_as_written_and_says_so(fh, foreign):
    f, g = made(SOURCE, "f", "g")
    events = []
    hook = frame_hook.Hook(replacing(fh, {f.__code__: g.__code__}), events.append, "outer")
    foreign.install()
    try:
        assert hook.call(f, 1) == "as written"
        assert hook.region(f)(1) == "as written"
        with hook.armed():
            assert f(1) == "as written"
        assert foreign.foreign_is_installed()
        assert foreign.foreign_calls() > 0
    finally:
        foreign.uninstall()
    assert [(event.kind, event.function, event.reason) for event in events] == [("hook refused", "outer", "foreign hook")], "once"
    assert "another frame evaluation function" in str(events[0])
    assert hook.call(f, 1) == "other"


def test_the_refusal_may_raise(fh, foreign):
    def raises(reason):
        raise RuntimeError(reason)

    (f,) = made(SOURCE, "f")
    foreign.install()
    try:
        with pytest.raises(RuntimeError, match="another frame evaluation function is installed"):
            fh.Trigger(lambda *arguments: None, raises).call(f, 1)
        with pytest.raises(RuntimeError, match="another frame evaluation function is installed"):
            fh.swap(fh.Trigger(lambda *arguments: None))
        assert fh.Trigger(lambda *arguments: None).call(f, 1) == "as written"
    finally:
        foreign.uninstall()


def test_a_foreign_hook_that_calls_this_one_does_not_go_round_in_circles(fh, foreign):
    """It was installed inside of a region, so it found this hook below."""
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(replacing(fh, {f.__code__: g.__code__}))

    def program():
        foreign.install()
        try:
            return f(1)
        finally:
            foreign.uninstall()

    assert trigger.call(program) == "other"


def test_a_hook_put_back_behind_our_back_goes_away_by_itself(fh, foreign):
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(replacing(fh, {f.__code__: g.__code__}))
    trigger.call(foreign.install)
    assert foreign.foreign_is_installed(), "not ours, so it was left alone"
    foreign.uninstall()
    assert fh.statistics()["installed"], "it has put back what it had found"
    f(1)
    assert not fh.statistics()["installed"]


class TestWithoutTheExtension:
    """Everything of `frame_hook` works and does nothing."""

    @pytest.fixture(autouse=True)
    def absent(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "lect.runtime._frame_hook", None)
        frame_hook._load.cache_clear()
        yield
        monkeypatch.undo()
        frame_hook._load.cache_clear()

    def test_says_why(self):
        assert not frame_hook.available()
        event = frame_hook.refusal("f")
        assert (event.function, event.reason) == ("f", "no extension")
        assert event.reason in str(event)
        assert frame_hook.statistics() == {}

    def test_regions_run_the_function(self):
        hook = frame_hook.Hook(lambda *arguments: 1 / 0, print)
        assert hook.call(max, 1, 2) == 2
        assert hook.region(max) is max
        with hook.armed(), frame_hook.disarmed():
            assert max(3, 4) == 4
        hook.set(made(SOURCE, "f")[0].__code__, frame_hook.SKIP)
        assert hook.entries(made(SOURCE, "f")[0].__code__) is None
        hook.clear()


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ({"version_info": (3, 14, 0, "final", 0)}, "python version"),
        ({"version_info": (3, 10, 0, "final", 0)}, "python version"),
    ],
)
def test_unknown_interpreters_are_refused(monkeypatch, patch, reason):
    frame_hook._load.cache_clear()
    for name, value in patch.items():
        monkeypatch.setattr(sys, name, value)
    try:
        found = frame_hook.refusal()
    finally:
        monkeypatch.undo()
        frame_hook._load.cache_clear()
    assert found.reason == reason


def test_free_threading_is_refused(monkeypatch):
    frame_hook._load.cache_clear()
    real = sysconfig.get_config_var
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else real(name))
    try:
        found = frame_hook.refusal()
    finally:
        monkeypatch.undo()
        frame_hook._load.cache_clear()
    assert found.reason == "free threading"


def test_every_reason_has_a_sentence():
    for reason, sentence in frame_hook.REFUSALS.items():
        assert sentence in frame_hook.HookRefused("f", reason=reason).text()
