"""Calls whose graph raises when it runs: an index out of range, a matrix that has no inverse.

A compiled function runs its graph first and its other effects behind it, so an exception out of the graph would come before effects that the program
has in front of the operation that raises.  While the graph has changed nothing that outlives the call, the call can simply be made again, as the program
is written: then the effects, the exception and its traceback are the program's own.  Here is decided for which graphs that holds, and recognised
that it was the graph that raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType, TracebackType
from typing import Any

import torch

from lect.dialects.host.ops import ExternOp, LaunchOp, UpdateOp, WriteOp, WrittenOp
from lect.dialects.loop.library import may_raise
from lect.ir import Location, Operation, Value


def with_random_state_kept(graph: Callable[..., Any]) -> Callable[..., Any]:
    """`graph`, which leaves torch's generator on the CPU as it found it when it raises."""

    def run(*args: Any) -> Any:
        state = torch.default_generator.get_state()
        try:
            return graph(*args)
        except BaseException:
            torch.default_generator.set_state(state)
            raise

    return run


def raised_in(error: BaseException, codes: frozenset[CodeType]) -> bool:
    """True when an exception came out of a frame of one of these codes."""
    step: TracebackType | None = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if any(code is each for each in codes):  # not `in`: a hash is that of the constants, which may be any objects
            return True
        step = step.tb_next
    return False


def show_line(error: BaseException, code: CodeType, places: Mapping[int, Location]) -> None:
    """In the traceback of an exception that came out of the code of a graph, the function shows the line of the program that raised it.

    `places` are these lines, by those of the code.  A line of another file is left to the entry of the graph.
    """
    entries: list[TracebackType] = []
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code is not code:
        entries.append(step)
        step = step.tb_next
    loc = places.get(step.tb_lineno) if step is not None else None
    if loc is None:
        return
    while entries:
        each = entries.pop()
        here = each.tb_frame.f_code.co_filename == loc.file
        step = TracebackType(step, each.tb_frame, -1 if here else each.tb_lasti, loc.line if here else each.tb_lineno)
        if here:
            break
    for each in reversed(entries):
        step = TracebackType(step, each.tb_frame, each.tb_lasti, each.tb_lineno)
    error.__traceback__ = step


def changes_nothing_before_it_raises(host: Operation) -> bool:
    """True when no call of a host function that may raise stands behind a write to a parameter."""
    written = {_root(op.target) for op in host.body if isinstance(op, WrittenOp)}  # by kernels, of which it is not known here when
    wrote = False
    for op in host.body:
        if isinstance(op, UpdateOp):
            return False  # one that raises may have written some of its elements
        if isinstance(op, ExternOp) and wrote and may_raise(op.callee.leaf):
            return False
        wrote = wrote or isinstance(op, WriteOp) or (isinstance(op, LaunchOp) and _writes_any(op, written))
    return True


def _writes_any(launch: LaunchOp, written: set[Value]) -> bool:
    """True when a kernel may write to one of these: then it is given it twice, to read and to write."""
    roots = [_root(buffer) for buffer in launch.buffers]
    return any(roots.count(value) > 1 for value in written)


def _root(value: Value) -> Value:
    """The parameter or allocation in which a view or memory lies."""
    owner: Any = value.op
    while owner is not None and owner.name in ("host.view", "host.memory"):
        value = owner.operands[0]
        owner = value.op
    return value
