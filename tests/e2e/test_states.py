"""What programs give, raise, print into lists and leave behind in their objects, call by call, is eager's, with both triggers."""

import pytest
import torch

import lect
from tests.e2e import language_states, object_states, torch_states
from tests.e2e.support import same

PROGRAMS = [*language_states.PROGRAMS, *object_states.PROGRAMS, *torch_states.PROGRAMS]


def told(program, wrap):
    """All that a program notes, and what its calls give or raise, with what is chained to that."""
    torch.manual_seed(0)
    found = []

    def call(function, *args):
        try:
            found.append(("gives", function(*args)))
        except Exception as error:
            chain = []
            while error is not None:
                chain.append((type(error).__name__, str(error), type(error.__cause__).__name__, error.__suppress_context__))
                error = error.__context__
            found.append(("raises", chain))

    program(wrap, call, lambda value: found.append(("tells", value)))
    return found


@pytest.mark.parametrize("trigger", ["function", "hook"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_leaves_what_it_leaves_uncompiled(program, trigger):
    lect.reset()
    want = told(program, lambda function: function)
    got = told(program, lambda function: lect.compile(function, options={"trigger": trigger}))
    same(want, got)
    assert [event.detail for event in lect.events("fallback") if event.number == "LB0020"] == []
