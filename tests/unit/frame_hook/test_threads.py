"""Threads, forks and interpreters."""

import os
import subprocess
import sys
import threading

import pytest

from tests.unit.frame_hook.support import made, replacing
from tests.unit.frame_hook.test_stack import extend_path

SOURCE = "import threading\ndef f(x): return threading.current_thread().name\ndef g(x): return 'other'"


def test_only_the_armed_thread_is_seen(fh):
    f, g = made(SOURCE, "f", "g")
    names = []
    stop, wrong = threading.Event(), []

    def callback(code, function, arguments):
        names.append(threading.current_thread().name)
        return (fh.always, g.__code__) if function is f else "default"

    def worker():
        me = threading.current_thread().name
        while not stop.is_set():
            if f(1) != me:
                wrong.append(1)

    threads = [threading.Thread(target=worker) for _ in range(3)]
    for thread in threads:
        thread.start()
    run = fh.Region(f, fh.Trigger(callback))
    assert {run(1) for _ in range(5000)} == {"other"}
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert set(names) == {threading.current_thread().name}


def test_several_armed_threads(fh):
    f, g = made(SOURCE, "f", "g")
    run = fh.Region(f, fh.Trigger(replacing(fh, {f.__code__: g.__code__})))
    found = []
    threads = [threading.Thread(target=lambda: found.extend(run(1) for _ in range(3000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["other"] * 12_000


def test_threads_started_in_a_region_are_not_armed(fh):
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(replacing(fh, {f.__code__: g.__code__}))
    found = []

    def root():
        thread = threading.Thread(target=lambda: found.append(f(1)), name="started")
        thread.start()
        thread.join()
        return f(1)

    assert trigger.call(root) == "other"
    assert found == ["started"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_child_of_a_fork_counts_its_own_threads(fh):
    """The other threads are gone in the child, and with them what they armed."""
    program = """
import os, sys, threading
from lect.runtime import frame_hook
assert frame_hook.available()
from lect.runtime import _frame_hook as fh
ready, done = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: fh.Trigger(lambda *a: "default").call(lambda: (ready.set(), done.wait())))
thread.start()
ready.wait()
child = os.fork()
if child == 0:
    counts = fh.statistics()
    os._exit(0 if (counts["armed threads"], counts["installed"]) == (0, False) else 1)
status = os.waitpid(child, 0)[1]
done.set()
thread.join()
sys.exit(os.waitstatus_to_exitcode(status))
"""
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import lect.runtime\n" + extend_path() + program], capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr


REFUSED = """
import sys
sys.path[:] = {path!r}
import lect.runtime
{extend}
try:
    import lect.runtime._frame_hook
except ImportError as error:
    assert "interpreter" in str(error), error
else:
    raise AssertionError("the extension was imported")
from lect.runtime import frame_hook
assert not frame_hook.available()
assert frame_hook.refusal().reason == "subinterpreter", frame_hook.refusal()
"""
MAKE_INTERPRETER = """
import os
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
number = interpreters.create()
run = getattr(interpreters, "run_string", None) or interpreters.exec
failed = run(number, PROGRAM)
print(failed or "", file=sys.stderr, flush=True)
os._exit(0 if failed is None else 1)  # CPython 3.12.1 crashes when an interpreter that imported this much Python code is ended
"""


def test_subinterpreters_are_refused(fh):
    """In a process of its own: once a second interpreter was made, CPython no longer knows who holds the GIL, and torch's autograd engine refuses to run."""
    program = REFUSED.format(path=sys.path, extend=extend_path())
    child = subprocess.run([sys.executable, "-c", f"PROGRAM = {program!r}\n{MAKE_INTERPRETER}"], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
