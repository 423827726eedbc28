"""Programs that would be followed for ever, or that change while they are followed."""

import pytest
import torch

import lect
from lect.runtime import frame
from tests.e2e.support import same


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()


def test_the_rests_of_a_function_are_followed_for_so_long_alone(monkeypatch):
    monkeypatch.setattr(frame, "MOST_FOLLOWED", 200)

    def program(x, lines):
        for number in range(12):
            lines.append(format(x.sum().item(), f".{number}f"))
            for _ in range(20):
                x = x + number
        return x

    x = torch.randn(3)
    want, got = [], []
    want.append(program(x, want))
    compiled = lect.compile(program)
    got.append(compiled(x, got))
    same(want, got)
    assert len(lect.events("compile")) < 12
    assert "LB0031" in [event.number for event in lect.events("fallback")]
    lect.reset()
    same(program(x, []), compiled(x, []))  # another count begins


def test_a_container_that_another_thread_changes_while_it_is_followed(monkeypatch):
    given = [1.0]
    followed = []

    def compile_call(*args, **kwargs):
        made = original(*args, **kwargs)
        if not followed:
            given.append(2.0)
        followed.append(made)
        return made

    original = frame.compile_call
    monkeypatch.setattr(frame, "compile_call", compile_call)
    compiled = lect.compile(lambda x, numbers: x + len(numbers))
    same(torch.ones(2) + 2, compiled(torch.ones(2), given))
    assert len(followed) == 2
    assert lect.events("fallback") == []
