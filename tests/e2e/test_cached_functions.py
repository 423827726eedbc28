"""Functions with `functools.lru_cache` from outside of the frame: what they give, how often they run, and what their caches tell of it is eager's."""

import functools

import pytest
import torch

import lect
from tests.e2e.support import same, stops, versions


def reads_a_variable():
    state = {"k": 2}
    calls = []

    @functools.lru_cache
    def scale(a):
        calls.append(a)
        return a * state["k"]

    def program(x):
        return x * scale(3), len(calls), tuple(scale.cache_info())

    yield program
    state["k"] = 5
    yield program
    scale.cache_clear()
    yield program
    yield program


def writes_a_variable():
    state = {"k": 2}

    @functools.lru_cache(maxsize=1)
    def scale(a):
        state["k"] += 1
        return a * state["k"]

    def program(x, n):
        return x * scale(n), state["k"], tuple(scale.cache_info())

    for n in (1, 2, 1, 1, 2, 2):
        yield program, n


def full_cache():
    log = []

    @functools.lru_cache(maxsize=2)
    def number(a):
        log.append(a)
        return len(log)

    def first(x):
        return x * number(1) + number(2)

    def second(x):
        return x * number(3) + number(1)

    yield from (first, first, second, first, second)


def hits_are_counted():
    @functools.lru_cache
    def number(a, *, b=1):
        return a + b

    def program(x):
        return x * number(1) + number(1, b=2)

    def count(x):
        return x * number.cache_info().hits + number.cache_info().misses

    yield from (program, program, program, count)
    number.cache_clear()
    yield from (count, program, count)


def tensors_are_counted():
    @functools.lru_cache(maxsize=2)
    def mask(n):
        return torch.ones(n)

    @functools.cache
    def pair(n):
        return torch.ones(n), {"n": n}

    def program(x, n):
        return x * mask(n).sum() + pair(n)[0].sum()

    def count(x):
        return x, tuple(mask.cache_info()), tuple(pair.cache_info())

    for n in (2, 2, 3, 4, 2, 3):
        yield program, n
        yield count
    mask.cache_clear()
    yield count
    yield program, 2
    yield count


def variable_around_is_bound_again():
    n = 2

    @functools.lru_cache(typed=True)
    def scale(a):
        return a * n

    def program(x):
        return x * scale(3) + scale(3.0)

    yield program
    n = 5
    yield program
    scale.cache_clear()
    yield program


def list_that_is_remembered():
    state = [2]

    @functools.cache
    def pair(a):
        return [a, state[0]]

    def program(x):
        return x * pair(1)[1]

    yield program
    pair(1)[1] = 9
    yield program
    pair.cache_clear()
    state[0] = 4
    yield program


def error_is_not_remembered():
    state = [True]

    @functools.lru_cache
    def checked(a):
        if state[0]:
            raise ValueError("no")
        return a

    def program(x):
        try:
            return x * checked(3)
        except ValueError:
            return x - 1

    yield program
    state[0] = False
    yield program
    state[0] = True
    yield program


def error_of_the_first_calls():
    log = []

    @functools.lru_cache
    def number(a):
        log.append(a)
        if len(log) < 3:
            raise ValueError(a)
        return a * 2

    def program(x):
        try:
            return x + number(3), list(log), tuple(number.cache_info())
        except ValueError:
            return x - 1, list(log)

    for _ in range(5):
        yield program


def error_in_a_helper():
    log = []

    @functools.cache
    def number(a):
        log.append(a)
        return {1: 2}[a]

    def helper(a):
        try:
            return number(a)
        except KeyError:
            return -1

    def program(x, a):
        return x + helper(a), list(log), [helper(each) for each in (1, 5)]

    for a in (7, 1, 7, 8):
        yield program, a


def reads_what_the_frame_has_written():
    state = {"k": 2}

    @functools.cache
    def scale(a):
        return a * state["k"]

    def program(x, k):
        state["k"] = k
        return x * scale(3)

    yield program, 5
    yield program, 6
    scale.cache_clear()
    yield program, 7


def cleared_in_the_frame():
    log = []

    @functools.lru_cache
    def number(a):
        log.append(a)
        return len(log)

    def program(x):
        first = number(1)
        number.cache_clear()
        return x * first + number(1)

    yield program
    yield program


CASES = [
    reads_a_variable,
    writes_a_variable,
    full_cache,
    hits_are_counted,
    tensors_are_counted,
    variable_around_is_bound_again,
    list_that_is_remembered,
    error_is_not_remembered,
    error_of_the_first_calls,
    error_in_a_helper,
    reads_what_the_frame_has_written,
    cleared_in_the_frame,
]


def calls(make, compiled):
    """What the programs of a case give, one call after the other."""
    known, given = {}, []
    for step in make():
        program, *args = step if isinstance(step, tuple) else (step,)
        if compiled:
            if program not in known:
                known[program] = lect.compile(program, options={"level": "fx", "guards": "both"})
            program = known[program]
        given.append(program(torch.arange(3.0), *args))
    return given


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_value_is_that_of_eager(make):
    lect.reset()
    same(calls(make, False), calls(make, True))


def test_calls_that_are_remembered_break_nothing():
    @functools.lru_cache
    def number(a):
        return a + 1

    def program(x):
        return x * number(1) + number(2)

    lect.reset()
    compiled = lect.compile(program, fullgraph=True)
    for _ in range(3):
        x = torch.randn(3)
        same(program(x), compiled(x))
    assert versions() == 1 and not stops() and number.cache_info()[:2] == (10, 2)
