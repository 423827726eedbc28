"""The data stack and the C stack: frames that grow, and recursion far deeper than hooked calls may go."""

import subprocess
import sys
import threading

import pytest

from tests.unit.frame_hook.support import made, replacing

GROWING = (
    "def f(n): return f(n - 1)\ndef large(n):\n if n == 0: return 0\n" + "".join(f" v{i} = n\n" for i in range(200)) + " return f(n - 1) + v199 - v0 + 1\n"
)


@pytest.fixture
def deep():
    before = sys.getrecursionlimit()
    yield sys.setrecursionlimit
    sys.setrecursionlimit(before)


def test_frames_that_grow_cross_the_chunks_of_the_data_stack(fh, deep):
    function, large = made(GROWING, "f", "large")
    trigger = fh.Trigger(replacing(fh, {function.__code__: large.__code__}))
    deep(5000)
    before = fh.statistics()
    assert trigger.call(function, 2000) == 2000
    after = fh.statistics()
    assert after["in place"] > before["in place"]
    assert after["by call"] > before["by call"], "where a chunk is full, the code is called"


def test_hooked_recursion_is_as_deep_as_the_limit_says(fh, deep):
    """3.12 and 3.13 count C recursion, which hooked calls are; 1500 units would end this one at 750."""
    (depth,) = made("def depth(n): return 0 if n == 0 else 1 + depth(n - 1)", "depth")
    trigger = fh.Trigger(lambda *arguments: "default")
    deep(4000)
    assert trigger.call(depth, 3500) == 3500


def test_recursion_deeper_than_the_c_stack_goes_on_without_the_hook(fh, deep):
    (depth,) = made("def depth(n): return 0 if n == 0 else 1 + depth(n - 1)", "depth")
    trigger = fh.Trigger(lambda *arguments: "default")
    deep(60_000)
    assert trigger.call(depth, 50_000) == 50_000
    assert depth(50_000) == 50_000


def test_thread_with_a_small_stack(fh, deep):
    (depth,) = made("def depth(n): return 0 if n == 0 else 1 + depth(n - 1)", "depth")
    trigger = fh.Trigger(lambda *arguments: "default")
    deep(20_000)
    found = []
    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(trigger.call(depth, 10_000)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert found == [10_000]


def test_unarmed_thread_beside_an_armed_one_ends_in_an_error_not_in_a_crash(fh):
    """The hook is installed for all threads, so calls of an unarmed one take C stack too while another is armed."""
    program = """
import sys, threading
from lect.runtime import _frame_hook as fh
sys.setrecursionlimit(1_000_000)
ready, done = threading.Event(), threading.Event()
def armed():
    trigger = fh.Trigger(lambda *arguments: "default")
    trigger.call(lambda: (ready.set(), done.wait()))
thread = threading.Thread(target=armed)
thread.start()
ready.wait()
def depth(n):
    return depth(n + 1)
try:
    depth(0)
except RecursionError as error:
    print("RecursionError")
done.set()
thread.join()
"""
    result = subprocess.run([sys.executable, "-c", "import lect.runtime\n" + extend_path() + program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.strip()) == (0, "RecursionError"), result.stderr


def extend_path() -> str:
    """Statements by which a child process finds the extension where this process has it."""
    import lect.runtime

    return f"lect.runtime.__path__[:] = {list(lect.runtime.__path__)!r}\n"


def test_generators_and_coroutines_are_never_asked_for(fh):
    import asyncio

    asked = []

    def callee(x):
        return x + 1

    def generator(n):
        for i in range(n):
            yield callee(i)

    async def coroutine(n):
        return callee(n)

    async def asynchronous(n):
        for i in range(n):
            yield callee(i)

    async def main():
        return [await coroutine(1), [x async for x in asynchronous(2)]]

    def root():
        return list(generator(3)), sum(callee(i) for i in range(3)), asyncio.run(main())

    def callback(code, function, arguments):
        asked.append(code)
        return (fh.always, (lambda x: x * 10).__code__) if code is callee.__code__ else "default"

    trigger = fh.Trigger(callback)
    for _ in range(3):
        assert trigger.call(root) == ([0, 10, 20], 30, [10, [0, 10]])
    names = {code.co_name for code in asked}
    assert "callee" in names
    assert not {"generator", "coroutine", "asynchronous", "main", "<genexpr>"} & names
    made_inside = trigger.call(generator, 2)
    assert list(made_inside) == [1, 2], "the body runs where the generator is advanced, here outside of the region"


def test_class_bodies_and_modules_are_never_asked_for(fh):
    asked = []

    def root():
        class Inner:
            attribute = 1

        return eval("Inner.attribute", {"Inner": Inner})

    def callback(code, function, arguments):
        asked.append(code.co_name)

    assert fh.Trigger(callback).call(root) == 1
    assert "Inner" not in asked
    assert "<module>" not in asked
