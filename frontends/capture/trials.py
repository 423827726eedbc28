"""Following a call apart from the trace, to know what it does before it runs for real: nothing of it becomes part of the frame."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from lect.frontends.capture.breaks import GraphBreak, UserError
from lect.frontends.capture.tracer import Tracer
from lect.frontends.tensors import propagating
from lect.frontends.tensors.torch_warnings import silent

UNKNOWN = object()


class Trial(NamedTuple):
    """How a call ends, with an exception or not, and the objects that it writes to, as far as it can be followed.

    `returned` is what it returns in the trace of its own, where a tensor has no elements; UNKNOWN when it cannot be followed to the end.
    """

    raises: bool
    written: tuple[Any, ...]
    returned: Any


def try_call(t: Tracer, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Trial:
    """Follow a call of a function with plain values from here.  Where it cannot be followed on says nothing about how it ends."""
    from lect.frontends.capture.calls import call

    trial, raises, returned = Tracer(t.code_table), False, UNKNOWN
    trial.is_trial = True
    trial.deepest = t.deepest
    trial.guards.loc = t.loc
    try:
        with propagating() as trial.mode, silent():
            named = {name: trial.static(value) for name, value in kwargs.items()}
            returned = call(trial, trial.static(function), [trial.static(value) for value in args], named)[0]
    except UserError:
        raises = True
    except (GraphBreak, Exception):  # the function runs for real then, and has the last word
        pass
    written = tuple([effect.target[0] for effect in trial.effects if not isinstance(effect.target[0], logging.Logger)])  # a message is no write
    trial.close()
    return Trial(raises, written, returned)
