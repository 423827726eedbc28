"""Objects that a program makes anew for each call and that are alive across a cut: a few versions hold for all calls, with eager's values."""

import pytest
import torch

import lect
from tests.e2e import anew_programs
from tests.e2e.support import fallbacks, same

OF_ONE_WAY = 3  # calls behind which there is nothing to learn where the objects lie to each other as before


@pytest.mark.parametrize("program", anew_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_how_objects_lie_to_each_other_is_seen(program):
    compiled = lect.compile(program)
    for number in range(10):
        x = torch.randn(3)
        same(program(x, number % 4), compiled(x, number % 4))


@pytest.mark.parametrize("program", anew_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_new_objects_need_no_new_versions(program):
    compiled = lect.compile(program)
    for number in range(8):
        if number == OF_ONE_WAY:
            before = len(lect.events("recompile"))
        x = torch.randn(3)
        same(program(x, 3), compiled(x, 3))
    assert len(lect.events("recompile")) == before, [str(event) for event in lect.events("recompile")]
    assert "LB0027" not in fallbacks()


A, B, C = anew_programs.Thing(), anew_programs.Thing(), anew_programs.Thing()
SET, TABLE, LIST = {A, B}, {A: 1, B: 2}, [A, B]


@pytest.mark.parametrize(
    "copy",
    [lambda: SET.copy(), lambda: SET | {1}, lambda: frozenset(SET), lambda: dict(TABLE), lambda: set(LIST), lambda: dict.fromkeys(LIST), lambda: TABLE.keys()],
    ids=["copy", "union", "frozenset", "dict", "set", "fromkeys", "keys"],
)
def test_a_copy_holds_what_its_original_holds_now(copy):
    def found(x):
        return x * (C in copy())

    compiled = lect.compile(found)
    x = torch.ones(2)
    globals().update(SET={A, B}, TABLE={A: 1, B: 2}, LIST=[A, B])
    same(found(x), compiled(x))
    globals().update(SET={A, C}, TABLE={A: 1, C: 2}, LIST=[A, C])
    assert found(x).sum() == 2
    same(found(x), compiled(x))
