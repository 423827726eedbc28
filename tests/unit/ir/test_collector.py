"""Python's cyclic collector while a compile runs, and what it finds behind it."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from lect.ir import collector
from lect.ir.collector import ALLOWANCE, FEW, IMMORTAL, collector_off


class Node:
    """Something that can be in a cycle and be watched."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def walked() -> Iterator[None]:
    """Nothing frozen and everything walked in front of a test (but what was frozen, which may be millions), and the collector as it was behind it."""
    enabled, frozen = gc.isenabled(), gc.get_freeze_count()
    gc.collect()
    gc.unfreeze()
    gc.enable()
    collector._FROZEN.ask_again = 0.0
    yield
    (gc.enable if enabled else gc.disable)()
    if frozen:
        gc.freeze()


def many(number: int = 2 * FEW) -> list[list[int]]:
    """Young objects."""
    return [[place] for place in range(number)]


def generation(thing: object) -> int:
    """The generation in which an object is."""
    assert gc.is_tracked(thing)
    return next((number for number in range(2) if any(each is thing for each in gc.get_objects(number))), 2)


def test_nothing_is_collected_inside_and_the_collector_is_on_behind() -> None:
    before = [each["collections"] for each in gc.get_stats()]
    with collector_off():
        assert not gc.isenabled()
        made = many()
        assert [each["collections"] for each in gc.get_stats()] == before
    assert gc.isenabled()
    assert len(made) == 2 * FEW


def test_many_objects_are_old_behind_it() -> None:
    with collector_off():
        made = many()
    assert generation(made[-1]) == 2


def test_few_objects_stay_young() -> None:
    with collector_off():
        made = many(10)
    assert generation(made[-1]) == 0


def test_cycles_made_inside_are_found_by_a_full_collection() -> None:
    with collector_off():
        made = many()
        dead = weakref.ref(Node())
    assert dead() is not None
    del made
    gc.collect()
    assert dead() is None


def test_the_collector_stays_off_where_it_was_off() -> None:
    gc.disable()
    with collector_off():
        made = many()
    assert not gc.isenabled()
    assert generation(made[-1]) == 0


def test_only_the_outermost_ends_the_rest() -> None:
    with collector_off():
        with collector_off():
            made = many()
        assert not gc.isenabled()
        assert generation(made[-1]) == 0
    assert generation(made[-1]) == 2


def test_an_exception_leaves_the_collector_on() -> None:
    made: list[list[int]] = []
    with pytest.raises(KeyError), collector_off():
        made += many()
        raise KeyError
    assert gc.isenabled()
    assert generation(made[-1]) == 2


def test_what_a_program_froze_stays_frozen() -> None:
    kept = many(2 * IMMORTAL)
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collector_off():
            made = many()
        assert gc.get_freeze_count() == frozen
        assert generation(made[-1]) < 2
    finally:
        gc.unfreeze()
    assert len(kept) == 2 * IMMORTAL


def test_frozen_objects_are_counted_now_and_then() -> None:
    """To count them Python walks them all, at each compile of a program that froze millions."""
    kept = many(2 * IMMORTAL)
    gc.freeze()
    try:
        frozen = collector._Frozen()
        assert frozen.any()
        before = frozen.ask_again
        assert before > 0 and frozen.any() and frozen.ask_again == before
        gc.unfreeze()
        frozen.ask_again = 0.0
        assert not frozen.any()
        assert not frozen.any() and frozen.ask_again == 0.0
    finally:
        gc.unfreeze()
    assert len(kept) == 2 * IMMORTAL


def test_so_many_pass_and_no_more_until_all_objects_were_walked() -> None:
    passed = collector._Passed()
    assert passed.allows(ALLOWANCE // 2)
    assert passed.allows(ALLOWANCE // 2)
    assert not passed.allows(FEW)
    gc.collect()
    assert passed.allows(FEW)
