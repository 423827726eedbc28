"""The threads that compile: shared by all compiles, gone when nothing compiles, and there again in a forked process."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lect.backends.compile_pool import NAME, CompilePool, compile_pool


def alive():
    return [each for each in threading.enumerate() if each.name.startswith(NAME)]


def gone(seconds=10):
    """True as soon as no thread of a pool is alive."""
    end = time.monotonic() + seconds
    while alive() and time.monotonic() < end:
        time.sleep(0.001)
    return not alive()


def doubled(x):
    return 2 * x


def test_results_come_as_they_are_done():
    late = threading.Event()

    def work(x):
        if x == 0:
            assert late.wait(30)
        return x

    found = []
    for x in CompilePool(2).each(work, range(4)):
        found.append(x)
        if len(found) == 3:
            late.set()
    assert sorted(found[:3]) == [1, 2, 3] and found[3] == 0
    assert gone()


def test_one_thing_needs_no_thread():
    assert list(CompilePool(8).each(lambda x: threading.current_thread(), [1])) == [threading.current_thread()]
    assert list(CompilePool(1).each(lambda x: threading.current_thread(), [1, 2])) == [threading.current_thread()] * 2
    assert list(CompilePool(8).each(doubled, [])) == []


def test_compiles_at_once_share_the_threads():
    pool, busy = CompilePool(3), threading.Barrier(2)
    seen, most = set(), []

    def work(x):
        seen.add(threading.current_thread().name)
        most.append(len(alive()))
        time.sleep(0.001)
        return doubled(x)

    def compile_some():
        busy.wait()
        return sorted(pool.each(work, range(12)))

    compiles = [threading.Thread(target=lambda: results.append(compile_some())) for _ in range(2)]
    results = []
    for each in compiles:
        each.start()
    for each in compiles:
        each.join()
    assert results == [sorted(map(doubled, range(12)))] * 2
    assert len(seen) <= 3 and max(most) <= 3
    assert gone()


def test_an_exception_ends_what_has_not_begun():
    pool, begun, hold = CompilePool(2), [], threading.Event()

    def work(x):
        begun.append(x)
        if x == 0:
            raise ValueError("no such kernel")
        assert hold.wait(30)

    with pytest.raises(ValueError, match="no such kernel"):
        list(pool.each(work, range(50)))
    hold.set()
    assert gone()
    assert len(begun) <= 4
    assert sorted(pool.each(doubled, range(3))) == [0, 2, 4]


def test_work_inside_of_work_waits_for_nobody():
    pool = CompilePool(2)

    def outer(x):
        return sum(pool.each(doubled, range(x)))

    assert sorted(pool.each(outer, range(6))) == sorted(sum(map(doubled, range(x))) for x in range(6))


def test_a_caller_that_looks_at_no_more_results_keeps_no_thread():
    pool = CompilePool(2)
    results = pool.each(doubled, range(20))
    next(results)
    results.close()
    assert gone()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_forked_in_the_middle_of_a_compile_has_threads_of_its_own():
    hold = threading.Event()

    def work(x):
        assert hold.wait(30)
        return x

    pool, most = compile_pool(), compile_pool().most
    pool.most = 2
    other = threading.Thread(target=lambda: list(pool.each(work, range(4))))
    other.start()
    while not alive():
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = sorted(pool.each(doubled, range(5))) == [0, 2, 4, 6, 8]
        finally:
            os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    hold.set()
    other.join()
    pool.most = most
    assert os.waitstatus_to_exitcode(status) == 0
    assert gone()


def test_what_no_thread_takes_any_more_is_done_here(monkeypatch):
    """The interpreter ends, or there are too many threads."""
    plain, taken = ThreadPoolExecutor.submit, []

    def submit(self, *args):
        taken.append(args)
        if len(taken) > 2:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        return plain(self, *args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    pool = CompilePool(2)
    assert sorted(pool.each(doubled, range(5))) == [0, 2, 4, 6, 8]
    assert pool._threads is None and pool._compiles == 0


def test_inside_of_the_loop_of_a_notebook():
    async def cell():
        return sorted(CompilePool(2).each(doubled, range(4)))

    assert asyncio.run(cell()) == [0, 2, 4, 6]


def compile_in_a_new_process(queue):
    queue.put(sorted(CompilePool(2).each(doubled, range(4))))


def test_a_spawned_process():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=compile_in_a_new_process, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == [0, 2, 4, 6]
    process.join()
    assert process.exitcode == 0


def test_a_process_ends_while_a_thread_compiles():
    """What runs is finished, and nobody hangs."""
    text = """
import threading, time
from lect.backends.compile_pool import CompilePool
pool, begun = CompilePool(2), threading.Event()
def work(x):
    begun.set()
    time.sleep(0.05)
    return x
threading.Thread(target=lambda: list(pool.each(work, range(6))), daemon=True).start()
begun.wait()
print("end")
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
