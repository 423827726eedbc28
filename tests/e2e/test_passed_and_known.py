"""An object that the program passes in is at times one that its code names, or the class of another: what is returned for the latter is not what is passed."""

import math
import operator

import pytest
import torch

import lect


@pytest.fixture(autouse=True)
def fresh(trigger):
    lect.reset()


def agree(want, got):
    assert torch.equal(want[0], got[0])
    assert want[1:] == got[1:]


class First:
    pass


class Second:
    pass


NAMED = First


def class_of_another(x, given, other):
    return x + 1, given, type(other)


def class_of_another_first(x, given, other):
    return x + 1, type(other), given


def attribute_of_the_class(x, given, other):
    return x + 1, given, type(other).__name__, other.__class__.__name__


def builtins_in_containers(x, given, other):
    return x + 1, [given], [set, len, super, math], {"print": print, "given": given}


def named_by_the_program(x, given, other):
    return x + 1, given, NAMED, torch.relu, math.floor


def of_values(x, given, other):
    return x + 1, given, type(None), (lambda: 1).__class__, x.__class__, True.__class__


def called_behind_a_break(x, given, other):
    print(end="")
    return x + 1, given, type(set("ab")), sorted(set("b") | set("a"))


def kept_over_a_break(x, given, other):
    found = type(other)
    print(end="")
    return x + 1, found is given, found, given


PROGRAMS = [
    *(class_of_another, class_of_another_first, attribute_of_the_class, builtins_in_containers, named_by_the_program, of_values),
    *(called_behind_a_break, kept_over_a_break),
]
CALLS = [
    *((set, {1}), (list, {1}), (First, First()), (Second, First()), (torch.relu, {1}), (torch.sin, {1}), (math, {1}), (operator, {1}), (len, {1})),
    *((math.floor, 1), (math.ceil, 1), (type(None), 1), (torch.Tensor, 1), (int, 1), (super, 1), (print, 1), (bool, True)),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("backwards", [False, True])
def test_what_is_passed_and_what_is_known(program, backwards):
    compiled = lect.compile(program, options={"level": "fx", "version_limit": 100})
    x = torch.ones(2)
    for given, other in (CALLS[::-1] if backwards else CALLS) * 2:
        agree(program(x, given, other), compiled(x, given, other))


def in_turns(x, out):
    for text in ("cdc", "efgfe", "ccb", "ef", "abcda"):
        for kind in (set, list, set, dict.fromkeys):
            print(end="")
            out.append((type(kind(text)).__name__, type(set(text)).__name__, sorted(set(text) | set("z"))))
            out.append(kind)
    return x + 1, out


def test_builtins_that_are_values_of_a_loop_with_a_break():
    compiled, x = lect.compile(in_turns, options={"level": "fx"}), torch.ones(2)
    for _ in range(2):
        agree(in_turns(x, []), compiled(x, []))
