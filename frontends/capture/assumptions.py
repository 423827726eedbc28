"""Branches on tensors of which one side raises: `if not valid.all(): raise ValueError(...)`.

The other side is followed, and the graph checks that the tensor says so.  Where it does not, the graph raises, having changed nothing, and the call is made
again as it is written, which gives the program's exception (see `runtime/repeat.py`).  A graph that cannot be run again is captured anew without this
(`NumberPolicy.assumes`), so that the frame is cut at the branch.
"""

from __future__ import annotations

from typing import Any

import torch

from lect.frontends.bytecode.decode import UnsupportedCode
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.operators import truth
from lect.frontends.capture.torch_calls import torch_call
from lect.frontends.capture.tracer import Box, Tracer
from lect.ir import Block

MESSAGE = "a branch that raises"  # of the error that the graph raises, which nobody sees
_LONGEST = 8  # blocks on the way to the end of a branch


def decide(frame: Any, op: Any, box: Box) -> bool:
    """The truth of the tensor on which a `pyframe.cond_branch` decides: what is known of it, or what does not raise.  Breaks where neither is the case."""
    t: Tracer = frame.t
    try:
        return truth(t, box)
    except GraphBreak as stop:
        raising = [_raises(frame.program, block) for block in op.successors[:2]]
        if stop.number != "LB0002" or raising[0] is raising[1] or not t.policy.assumes or box[0].device.type != "cpu":
            raise  # on a GPU a check that fails would be the end of all work of the process there
    taken = raising[1]
    t.memo.disturb()
    flag = box if box[0].dtype is torch.bool else torch_call(t, torch.ne, [box, (0, None)], {})
    torch_call(t, torch._assert_async, [flag if taken else torch_call(t, torch.logical_not, [flag], {}), (MESSAGE, None)], {})
    t.assumed += 1
    return taken


def _raises(program: Any, block: Block) -> bool:
    """True when a branch ends in a `raise` that the function itself does not handle, whatever it does on the way there."""
    for _ in range(_LONGEST):
        try:
            last: Any = program.steps_of(block)[-1][1]
        except UnsupportedCode:
            return False
        if last.handler is not None:
            return False
        if last.name == "pyframe.raise":
            return True
        if last.name != "pyframe.branch":
            return False
        block = last.successors[0]
    return False
