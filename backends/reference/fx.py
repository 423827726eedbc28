"""The meaning of an `fx.graph`, executed: each call is made, in order, on real tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lect.dialects.fx import ops as fx
from lect.dialects.fx.modes import MODE_CALLS, kept_modes
from lect.dialects.fx.python_values import decode, decode_kwargs, flatten_results, target_of
from lect.ir import LectError, Operation, Value


def run(func: Operation, inputs: Sequence[Any]) -> list[Any]:
    """Call the graph's functions on `inputs`; gives what it returns.

    Raises `LectError` for what is no graph, for the wrong number of inputs, and for a call that fails, with the place of the call.
    """
    if not isinstance(func, fx.GraphOp):
        raise LectError(f"this runs 'fx.graph', not '{func.name}'", op=func)
    args = func.body.args
    if len(inputs) != len(args):
        raise LectError(f"the graph takes {len(args)} inputs, got {len(inputs)}", op=func)
    if any(isinstance(op, fx.CallOp) and op.target.leaf in MODE_CALLS for op in func.body):
        with kept_modes():
            return _run_body(func, inputs)
    return _run_body(func, inputs)


def _run_body(func: fx.GraphOp, inputs: Sequence[Any]) -> list[Any]:
    values: dict[Value, Any] = dict(zip(func.body.args, inputs))
    for op in func.body:
        if isinstance(op, fx.ReturnOp):
            return [values[value] for value in op.operands]
        if not isinstance(op, fx.CallOp):
            raise LectError(f"'{op.name}' has no meaning inside of a graph", op=op)
        values.update(zip(op.results, run_call(op, [values[value] for value in op.operands])))
    raise LectError("the graph has no 'fx.return'", op=func)


def run_call(op: fx.CallOp, operands: Sequence[Any]) -> list[Any]:
    """The results of one call."""
    target = target_of(op.target)
    try:
        returned = target(*decode(op.args, operands), **decode_kwargs(op.kwargs, operands))
    except LectError:
        raise
    except Exception as error:
        raise LectError(f"{op.target.leaf} failed with {type(error).__name__}: {error}", op=op) from error
    return flatten_results(returned, op.structure, len(op.results))
