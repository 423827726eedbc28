"""The meaning of an `fx.graph`, executed: each call is made, in order, on real tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lect.dialects.fx import ops as fx
from lect.dialects.fx.execution import Execution
from lect.dialects.fx.modes import MODE_CALLS, kept_modes
from lect.ir import LectError, Operation


def run(func: Operation, inputs: Sequence[Any]) -> list[Any]:
    """Call the graph's functions on `inputs`; gives what it returns.

    Raises `LectError` for what is no graph, for the wrong number of inputs, and for a call that fails, with the place of the call.
    """
    if not isinstance(func, fx.GraphOp):
        raise LectError(f"this runs 'fx.graph', not '{func.name}'", op=func)
    args = func.body.args
    if len(inputs) != len(args):
        raise LectError(f"the graph takes {len(args)} inputs, got {len(inputs)}", op=func)
    if any(isinstance(op, fx.CallOp) and op.target.leaf in MODE_CALLS for op in func.walk()):
        with kept_modes():
            return Execution().run(func.body, inputs)
    return Execution().run(func.body, inputs)
