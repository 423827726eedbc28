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


def test_native_guards_notice_a_context_variable_without_a_value():
    program = anew_programs.context_variable_without_a_value
    compiled = lect.compile(program, options={"guards": "both"})
    x = torch.randn(3)
    for number in (1, 3, 1, 3, 0, 1, 2, 3):
        same(program(x, number), compiled(x, number))


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


def in_a_copy(x, tensor, held):
    copied = dict(held)
    return x * (tensor in held) + 10 * (tensor in copied) + len(held)


def behind_a_look_at_the_values(x, tensor, held):
    values = list(held.values())
    return x * (tensor in held) + values[0] + held.get(tensor, 5)


def in_a_set(x, tensor, held):
    return x * (tensor in set(held)) + len({tensor, *held})


@pytest.mark.parametrize("program", [in_a_copy, behind_a_look_at_the_values, in_a_set])
def test_whether_a_tensor_is_a_key_is_seen_at_each_call(program):
    lect.reset()
    compiled = lect.compile(program)
    x, first, second = torch.ones(2), torch.ones(3), torch.ones(3)
    for tensor, key in ((first, first), (second, first), (first, first), (second, second), (first, second)):
        same(program(x, tensor, {key: 1}), compiled(x, tensor, {key: 1}))
    assert len([event for event in lect.events("compile") if event.function == program.__name__]) <= 3


def state_of_parameters(x):
    parameters = [torch.nn.Parameter(x.clone()), torch.nn.Parameter(x * 2)]
    state = {}
    for parameter in parameters:
        entry = state.setdefault(parameter, {"step": 0})
        entry["step"] += 1
        anew_programs.cut()
        entry["average"] = parameter.detach() * entry["step"]
    return [state[parameter]["average"] for parameter in parameters], parameters[1] in state, len(state), sum(map(len, state.values()))


def test_new_parameters_as_keys_need_no_new_versions():
    compiled = lect.compile(state_of_parameters)
    for number in range(6):
        if number == OF_ONE_WAY:
            before = len(lect.events("recompile"))
        x = torch.randn(3)
        same(state_of_parameters(x), compiled(x))
    assert len(lect.events("recompile")) == before
