"""Protocols of classes and functions of the library in compiled functions."""

import bisect
import functools
import json
import time
import weakref

import pytest
import torch

import lect
from tests.e2e import protocol_programs
from tests.e2e.support import check, same, stops, versions


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


@pytest.mark.parametrize("program", protocol_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_program_is_one_graph(program):
    compiled = lect.compile(program, fullgraph=True, options={"level": "fx"})
    for seed in range(2):
        check(program, torch.randn(4, generator=torch.Generator().manual_seed(seed)), compiled=compiled)
    assert stops() == []
    assert versions() == 1


def test_data_that_was_read_may_change():
    compiled = lect.compile(lambda x, data, items: x * len(json.dumps(data)) + bisect.bisect(items, 3), fullgraph=True)
    program = lambda x, data, items: x * len(json.dumps(data)) + bisect.bisect(items, 3)  # noqa: E731
    for data, items in (({"a": [1]}, [1, 5]), ({"a": [1, 2]}, [1, 5]), ({"a": [1]}, [1, 2])):
        check(program, torch.ones(2), data, items, compiled=compiled)
    assert versions() == 3


def test_a_cache_that_outlives_the_frame_breaks():
    def program(x):
        @functools.cache
        def double(number):
            return number * 2

        return x + double(3), double

    want, got = program(torch.ones(2)), lect.compile(program)(torch.ones(2))
    same(want[0], got[0])
    assert got[1](4) == 8 and got[1].cache_info().misses == want[1].cache_info().misses + 1
    assert stops()[:1] == ["LB0008"]


def test_a_weak_container_that_outlives_the_frame_forgets():
    def program(x, key):
        made = weakref.WeakKeyDictionary()
        made[key] = 1
        return x * 2, made

    key = protocol_programs.Thing()
    returned, made = lect.compile(program)(torch.ones(2), key)
    same(returned, torch.full((2,), 2.0))
    assert len(made) == 1
    del key
    lect.reset()
    assert len(made) == 0


def test_clocks_are_read_when_the_program_reads_them():
    def program(x):
        begun = time.perf_counter()
        y = x @ x
        taken = time.perf_counter() - begun
        return y, begun, taken

    compiled = lect.compile(program)
    seen = [compiled(torch.ones(3, 3))[1:] for _ in range(3)]
    assert len({begun for begun, _ in seen}) == 3
    assert all(taken > 0 for _, taken in seen)
    assert "LB0013" in stops()


def test_objects_with_weak_references_live_over_a_break():
    def program(x):
        thing = protocol_programs.Thing()
        reference = weakref.ref(thing)
        print(end="")
        return x + (reference() is not None)

    check(program, torch.ones(2))
    assert stops() == ["LB0013"]
