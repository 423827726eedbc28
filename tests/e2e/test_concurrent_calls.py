"""Several threads, and processes that were forked: one compile for all, and each call's own values."""

import asyncio
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import lect

THREADS = 8


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def at_once(work, count=THREADS):
    """`work(number)` in `count` threads that begin at one moment; what each gave."""
    barrier = threading.Barrier(count)

    def begin(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def test_first_calls_in_many_threads_compile_once():
    def program(x, y):
        return torch.softmax(x @ y, -1) + x.sum()

    compiled = lect.compile(program)
    given = [(torch.randn(4, 5), torch.randn(5, 3)) for _ in range(THREADS)]
    found = at_once(lambda number: compiled(*given[number]))
    for got, args in zip(found, given):
        torch.testing.assert_close(got, program(*args))
    assert len(lect.events("compile")) == 1


@pytest.mark.parametrize(("dynamic", "versions"), [(False, 3), (None, 2)])
def test_threads_with_other_sizes_share_the_versions(dynamic, versions):
    def program(x):
        return x.exp().cumsum(0)

    compiled = lect.compile(program, dynamic=dynamic)
    given = [torch.randn(3 + number % 3) for number in range(THREADS)]
    for _ in range(3):
        for got, x in zip(at_once(lambda number: compiled(given[number])), given):
            torch.testing.assert_close(got, program(x))
    assert len(lect.events("compile")) == versions


def test_different_functions_compile_side_by_side():
    def make(factor):
        return lambda x: (x * factor).tanh().sum(0)

    programs = [make(float(number)) for number in range(THREADS)]
    compiled = [lect.compile(program) for program in programs]
    x = torch.randn(6, 4)
    for got, program in zip(at_once(lambda number: compiled[number](x)), programs):
        torch.testing.assert_close(got, program(x))
    assert len(lect.events("compile")) == THREADS and not lect.events("fallback")


def test_a_module_trains_in_many_threads():
    """Gradients of all threads add up in the parameters, as in eager."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 2))
    compiled = lect.compile(model)
    given = [torch.randn(3, 5) for _ in range(THREADS)]

    def step(fn, x):
        return torch.autograd.grad(fn(x).square().sum(), list(model.parameters()))

    for got, x in zip(at_once(lambda number: step(compiled, given[number])), given):
        torch.testing.assert_close(got, step(model, x))
    assert len(lect.events("compile")) == 1


def test_modes_of_one_thread_are_not_those_of_another():
    """Autograd is on in half of the threads: these results carry a gradient, and no others."""

    def program(x):
        return x * 2

    compiled = lect.compile(program)
    x = torch.randn(4, requires_grad=True)

    def call(number):
        with torch.set_grad_enabled(number % 2 == 0):
            return compiled(x).requires_grad

    for _ in range(2):
        assert at_once(call) == [number % 2 == 0 for number in range(THREADS)]


def test_a_reset_while_others_call():
    def program(x):
        return x.sin() + 1

    compiled = lect.compile(program)
    x = torch.randn(5)

    def work(number):
        for _ in range(5):
            if number == 0:
                lect.reset()
            torch.testing.assert_close(compiled(x), program(x))

    at_once(work, 4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_calls_and_compiles():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the threads of OpenMP do not survive a fork, in eager either
    try:
        before = lect.compile(lambda x: x.exp() + 1)
        x = torch.randn(5)
        before(x)
        child = os.fork()
        if child == 0:
            good = False
            try:
                after = lect.compile(lambda x: x.log().sum())
                good = torch.allclose(before(x), x.exp() + 1) and torch.allclose(after(x.abs()), x.abs().log().sum())
            finally:
                os._exit(0 if good else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    finally:
        torch.set_num_threads(threads)


def sums_of_exponentials(x):
    return x.exp().sum(0) + 1


def call_and_compile(queue):
    """In a process that was started anew."""
    x = torch.randn(5, 3)
    queue.put(torch.allclose(lect.compile(sums_of_exponentials)(x), sums_of_exponentials(x)) and len(lect.events("compile")) == 1)


@pytest.mark.slow
def test_a_spawned_process_calls_and_compiles():
    lect.compile(sums_of_exponentials)(torch.randn(5, 3))
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=call_and_compile, args=(queue,))
    process.start()
    assert queue.get(timeout=120)
    process.join()
    assert process.exitcode == 0


CELL = """
import torch
import lect

@lect.compile
def activation(x):
    return torch.sigmoid(x) * x

found, wanted = activation(given), torch.sigmoid(given) * given
"""


def test_cells_of_a_notebook():
    """Code without a file, run inside of an event loop, again with the same names, and in a thread beside it."""
    names = {"given": torch.randn(6)}

    async def cell():
        exec(compile(CELL, "<cell>", "exec"), names)
        torch.testing.assert_close(names["found"], names["wanted"])
        beside = await asyncio.to_thread(names["activation"], names["given"])
        torch.testing.assert_close(beside, names["wanted"])

    for _ in range(2):
        asyncio.run(cell())
    assert not lect.events("fallback")
