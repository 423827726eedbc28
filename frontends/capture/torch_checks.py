"""`torch._check` and its like: a condition of the program on sizes, with its exception and its words.

The comparison is followed in front of the call, so a size of an input is guarded there, with that line, and a size that the graph finds is checked when it
runs.  What is left is the exception of a condition that does not hold.  torch's own function would import symbolic algebra for that question.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.numbers import apply

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer

UNSAID = "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to PyTorch.)"


def check_with(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`torch._check_with(error_type, cond, message)`.  Breaks for a condition that is no bool, which torch itself refuses."""
    named = dict(zip(("error_type", "cond", "message"), args)) | kwargs
    error, message = t.leak(named["error_type"]), named.get("message", (None, None))
    holds = t.leak(named["cond"])
    if type(holds) is not bool:
        raise t.stop("LB0003", f"torch._check of a {type(holds).__name__}")
    if holds:
        return (None, None)
    raise UserError(error(UNSAID if message[0] is None else _text(t, message)))


def check_is_size(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`torch._check_is_size(i, message, max=)`."""
    named = dict(zip(("i", "message"), args)) | kwargs
    for compare, bound in ((operator.ge, (0, None)), (operator.le, named.get("max", (None, None)))):
        if bound[0] is not None:
            holds = apply(t, compare, [named["i"], bound])
            if holds is None:
                holds = (run_real(compare, t.leak(named["i"]), t.leak(bound)), None)
            check_with(t, [(RuntimeError, None), holds, named.get("message", (None, None))], {})
    return (None, None)


def _text(t: Tracer, message: Box) -> str:
    """What the program says."""
    from lect.frontends.capture.calls import call_function

    said = t.leak(call_function(t, message, [], {}))
    if type(said) is not str:
        raise t.stop("LB0003", f"torch._check says a {type(said).__name__}")
    return said


# The function behind the one that warns that it will go.
_IS_SIZE = getattr(torch._check_is_size, "__wrapped__", torch._check_is_size)
CHECKS: Mapping[Any, Any] = MappingProxyType({torch._check_with: check_with, _IS_SIZE: check_is_size})
