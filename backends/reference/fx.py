"""The meaning of an `fx.graph`, executed: each call is made, in order, on real tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lect.dialects.fx import ops as fx
from lect.dialects.fx.modes import MODE_CALLS, kept_modes
from lect.dialects.fx.python_values import decode, decode_kwargs, flatten_results, target_of
from lect.dialects.fx.region_rules import RULES
from lect.dialects.fx.regions import YieldOp
from lect.ir import Block, LectError, Operation, Value


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
            return _Run().block(func.body, inputs)
    return _Run().block(func.body, inputs)


class _Run:
    """One run: what each value is now."""

    def __init__(self) -> None:
        self.values: dict[Value, Any] = {}

    def block(self, block: Block, args: Sequence[Any]) -> list[Any]:
        """Call a block on arguments; what its terminator names."""
        self.values.update(zip(block.args, args))
        for op in block:
            operands = [self.values[value] for value in op.operands]
            if isinstance(op, fx.ReturnOp | YieldOp):
                return operands
            self.values.update(zip(op.results, self._results(op, operands)))
        raise LectError("the graph has no 'fx.return'", op=block.parent_op)

    def _results(self, op: Operation, operands: list[Any]) -> list[Any]:
        if isinstance(op, fx.CallOp):
            return run_call(op, operands)
        rule = RULES.get(op.name)
        if rule is None:
            raise LectError(f"'{op.name}' has no meaning inside of a graph", op=op)
        regions = [lambda *args, block=region.blocks[0]: self.block(block, args) for region in op.regions]
        return _located(op, op.name, lambda: rule(op, regions, operands))


def run_call(op: fx.CallOp, operands: Sequence[Any]) -> list[Any]:
    """The results of one call."""
    target = target_of(op.target)
    returned = _located(op, op.target.leaf, lambda: target(*decode(op.args, operands), **decode_kwargs(op.kwargs, operands)))
    return flatten_results(returned, op.structure, len(op.results))


def _located(op: Operation, name: str, run: Callable[[], Any]) -> Any:
    """What `run` gives; its failure is one of the call, with its place."""
    try:
        return run()
    except LectError:
        raise
    except Exception as error:
        raise LectError(f"{name} failed with {type(error).__name__}: {error}", op=op) from error
