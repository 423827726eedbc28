"""Running the operations of an `fx.graph` one after the other, on whatever stands for tensors."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lect.dialects.fx import ops as fx
from lect.dialects.fx.python_values import decode, decode_kwargs, flatten_results, target_of
from lect.dialects.fx.region_rules import RULES
from lect.dialects.fx.regions import YieldOp
from lect.ir import Block, LectError, Operation, Value


class Execution:
    """What each value is now; `outer` are values that stand outside of the blocks that are run."""

    def __init__(self, outer: Mapping[Value, Any] | None = None) -> None:
        self.values: dict[Value, Any] = dict(outer or {})
        self.blocks = contextlib.ExitStack()
        self.inference: list[contextlib.ExitStack] = []

    def block(self, block: Block, args: Sequence[Any]) -> list[Any]:
        """Call a block on arguments; what its terminator names.  Raises `LectError` at an operation that fails, with its place."""
        self.values.update(zip(block.args, args))
        for op in block:
            operands = [self.values[value] for value in op.operands]
            if isinstance(op, fx.ReturnOp | YieldOp):
                return operands
            self.values.update(zip(op.results, self.results(op, operands)))
        raise LectError("the graph has no 'fx.return'", op=block.parent_op)

    def run(self, block: Block, args: Sequence[Any]) -> list[Any]:
        """`block`, with no mode left on when it fails."""
        with self.blocks:
            return self.block(block, args)

    def _switch(self, op: Operation) -> None:
        """Enter or leave a block of inference mode."""
        if isinstance(op, fx.EnterInferenceOp):
            opened = self.blocks.enter_context(contextlib.ExitStack())
            opened.enter_context(importlib.import_module("torch").inference_mode(op.enabled))
            self.inference.append(opened)
        else:
            self.inference.pop().close()

    def results(self, op: Operation, operands: Sequence[Any]) -> list[Any]:
        """The results of one operation."""
        if isinstance(op, fx.CallOp):
            return run_call(op, operands)
        if isinstance(op, fx.EnterInferenceOp | fx.LeaveInferenceOp):
            self._switch(op)
            return []
        rule = RULES.get(op.name)
        if rule is None:
            raise LectError(f"'{op.name}' has no meaning inside of a graph", op=op)
        regions = [self.function(region.blocks[0]) for region in op.regions]
        return _located(op, op.name, lambda: rule(op, regions, operands))

    def function(self, block: Block) -> Callable[..., list[Any]]:
        """A region as a function."""
        return lambda *args: self.block(block, args)


def run_call(op: fx.CallOp, operands: Sequence[Any]) -> list[Any]:
    """The results of one call."""
    target = target_of(op.target)
    returned = _located(op, op.target.leaf, lambda: target(*decode(op.args, operands), **decode_kwargs(op.kwargs, operands)))
    return flatten_results(returned, op.structure, len(op.results))


def _located(op: Operation, name: str, run: Callable[[], Any]) -> Any:
    """What `run` gives; its failure is one of the operation, with its place."""
    try:
        return run()
    except LectError:
        raise
    except Exception as error:
        raise LectError(f"{name} failed with {type(error).__name__}: {error}", op=op) from error
