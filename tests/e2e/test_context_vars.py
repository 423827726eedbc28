"""Context variables in compiled functions."""

import contextvars

import pytest
import torch

import lect
from tests.e2e.support import check, same, stops, versions

SCALE = contextvars.ContextVar("scale", default=2.0)
EMPTY = contextvars.ContextVar("empty")


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def test_value_is_guarded():
    def program(x):
        return x * SCALE.get()

    compiled = lect.compile(program)
    check(program, torch.ones(2), compiled=compiled)
    token = SCALE.set(5.0)
    try:
        check(program, torch.ones(2), compiled=compiled)
    finally:
        SCALE.reset(token)
    check(program, torch.ones(2), compiled=compiled)
    assert stops() == []


def test_set_and_reset():
    def program(x):
        outer = SCALE.set(5.0)
        inner = SCALE.set(7.0)
        x = x * SCALE.get()
        SCALE.reset(inner)
        x = x + SCALE.get()
        SCALE.reset(outer)
        return x * SCALE.get()

    check(program, torch.ones(2))
    assert SCALE.get() == 2.0
    assert stops() == []


def test_set_for_good():
    def program(x):
        SCALE.set(SCALE.get() + 1)
        return x * SCALE.get()

    def run(call):
        return contextvars.copy_context().run(lambda: (call(torch.ones(2)), call(torch.ones(2)), SCALE.get()))

    same(run(program), run(lect.compile(program)))
    assert SCALE.get() == 2.0


def test_variable_without_a_value():
    def program(x):
        try:
            return x * EMPTY.get()
        except LookupError:
            return x * EMPTY.get(3.0)

    check(program, torch.ones(2))


def test_token_that_leaves_the_call():
    def program(x):
        return x * 2, SCALE.set(9.0)

    def run(call):
        value, token = call(torch.ones(2))
        SCALE.reset(token)
        return value, SCALE.get()

    same(run(program), run(lect.compile(program)))


NUMBER = contextvars.ContextVar("NUMBER", default=1.0)


def set_for_a_while(x, number):
    token = NUMBER.set(number)
    inner = NUMBER.set(3.0)
    told = token.var is NUMBER, token.var.name, inner.old_value == number, isinstance(token, contextvars.Token), type(token) is contextvars.Token
    y = x * NUMBER.get()
    NUMBER.reset(inner)
    y = y + NUMBER.get()
    NUMBER.reset(token)
    return y * NUMBER.get(), told


def set_for_good(x, number):
    NUMBER.set([number])
    NUMBER.get().append(number * 2)
    return x + NUMBER.get()[1]


@pytest.mark.parametrize("program", [set_for_a_while, set_for_good])
def test_numbers_that_are_set_are_known_at_run_time(program):
    compiled, x = lect.compile(program), torch.ones(2)
    for number in (0.5, 1.5, -2.0, float("inf"), 7.5, 8.5):
        left = []
        for function in (program, compiled):
            context = contextvars.copy_context()
            left.append((context.run(function, x, number), context.get(NUMBER)))
        same(*left)
    assert versions() == 2
