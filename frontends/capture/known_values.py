"""Values of tensors that are known while tracing: those that depend on no input of the graph.

The program may ask for the elements of `torch.arange(3)` or of `torch.tensor(sizes).max()`.  When it does, the operations recorded so far run for
real, in their order, as far as all their operands are known; what they give is what they will give at run time.  An operation that draws random
numbers, reads memory that nobody has written, belongs to another library or makes much is never run, and a write of unknown values to a known tensor
makes all tensors that share its memory unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from types import MappingProxyType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lect.dialects.fx import ops as fx
from lect.dialects.fx import types as fx_types
from lect.dialects.fx.modes import MODE_CALLS, RANDOM_STATE_CALLS
from lect.dialects.fx.python_values import decode, decode_kwargs, flatten_results, target_of
from lect.frontends.capture.graph import GraphRecorder
from lect.frontends.capture.scalars import tensor_type
from lect.frontends.tensors import LT, Propagation
from lect.ir import Operation, Value

MOST_ELEMENTS = 1 << 20
_UNWRITTEN = ("empty", "new_empty", "resize", "set_", "_empty")


class Unknown(Exception):
    """The value depends on an input of the graph, on chance, or on what may not run while tracing."""


class Evaluation(TorchDispatchMode):
    """Runs what it sees on real tensors.  Raises `Unknown` for operations whose result is not a function of their arguments."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False, or torch wraps every call in a function that imports its compiler."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if not _is_function(func):
            raise Unknown(str(func))
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


@cache
def _is_function(func: Any) -> bool:
    """True for operators of ATen whose result depends on their arguments alone."""
    name = func._opname
    return func.namespace in ("aten", "prim") and torch.Tag.nondeterministic_seeded not in func.tags and not name.startswith(_UNWRITTEN)


class KnownValues:
    """The known tensors of one trace.  `reads` collects the traced tensors that torch itself has read as numbers, with those numbers."""

    def __init__(self, graph: GraphRecorder) -> None:
        self.graph = graph
        self.values: dict[Value, torch.Tensor] = {}
        self.reads: dict[int, Any] = {}
        self.expected: list[bool] = []  # what a function reads that raises for anything else, the last one first; the graph checks it
        self.asked: Callable[[], None] = lambda: None  # called when the program asks for elements
        self.mode: Propagation | None = None
        self._last: Operation | None = None

    def attach(self, mode: Propagation) -> None:
        """Answer when torch reads an element of a traced tensor in this mode."""
        self.mode = mode
        mode.read = self.element
        mode.expected = lambda tensor: self.expected.pop() if self.expected else None

    def clear(self) -> None:
        """Drop all values."""
        self.values.clear()
        self.reads.clear()
        self.mode = self._last = None

    @property
    def writes(self) -> int:
        """How many writes in place torch has done so far."""
        return self.mode.writes if self.mode is not None else 0

    def element(self, tensor: LT) -> Any:
        """The number that a tensor of one element holds, None when that is neither known nor expected."""
        try:
            real = self.real(tensor)
        except Unknown:
            return self.expected.pop() if self.expected else None
        with torch._C._DisableTorchDispatch():
            number = real.item()
        self.reads[id(tensor)] = number
        return number

    def real(self, tensor: LT) -> torch.Tensor:
        """A tensor with the present elements of a traced one, not to be changed.  Raises `Unknown`."""
        self.asked()
        if not self.graph.knows(tensor):
            raise Unknown("a tensor that no recorded call has made")
        self._catch_up()
        found = self.values.get(self.graph.value_of(tensor))
        if found is None:
            raise Unknown("an input decides")
        return found

    def replaced(self, value: Any) -> Any:
        """`value` with real tensors in the place of traced ones, inside of plain containers too.  Raises `Unknown`."""
        kind = type(value)
        if kind is LT:
            return self.real(value)
        if kind is tuple or kind is list:
            return kind([self.replaced(item) for item in value])
        if kind is dict:
            return {key: self.replaced(item) for key, item in value.items()}
        if kind is slice:
            return slice(self.replaced(value.start), self.replaced(value.stop), self.replaced(value.step))
        return value

    def call(self, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """`function(*args, **kwargs)` on real tensors.  Raises `Unknown`, and what the function raises."""
        real_args, real_kwargs = self.replaced(args), self.replaced(kwargs)
        with torch.no_grad(), Evaluation():
            return function(*real_args, **real_kwargs)

    # ---- running what was recorded -----------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        op = self.graph.block.first if self._last is None else self._last.next
        while op is not None:
            if not self._run(op):
                self._forget(op)
            self._last, op = op, op.next

    def _run(self, op: Operation) -> bool:
        """Run one operation if its value is known; False when it is not."""
        if type(op) is not fx.CallOp or any(value not in self.values for value in op.operands) or any(_is_large(value) for value in op.results):
            return False
        operands = [self.values[value] for value in op.operands]
        if op.target.leaf in MODE_CALLS:  # they happened when they were recorded; a value made in another mode has another type
            return True
        if op.target.leaf in RANDOM_STATE_CALLS:
            return False
        function = target_of(op.target)
        try:
            with torch.no_grad(), Evaluation():
                returned = function(*decode(op.args, operands), **decode_kwargs(op.kwargs, operands))
            results = flatten_results(returned, op.structure, len(op.results))
        except Exception:
            return False
        if any(not isinstance(real, torch.Tensor) or not _fits(real, value) for real, value in zip(results, op.results)):
            return False
        self.values.update(zip(op.results, results))
        return True

    def _forget(self, op: Operation) -> None:
        """What an operation that was not run may have written to is unknown from now on."""
        if id(op) not in self.graph.writers:
            return
        written = {self.values[value].untyped_storage().data_ptr() for value in op.operands if value in self.values}
        for value, real in list(self.values.items()):
            if real.untyped_storage().data_ptr() in written:
                del self.values[value]


def _is_large(value: Value) -> bool:
    found = value.type
    if not isinstance(found, fx_types.TensorType) or found.device != "cpu":
        return True
    sizes = [size for size in found.shape if type(size) is int]
    return len(sizes) != found.rank or prod(sizes) > MOST_ELEMENTS


def _fits(real: torch.Tensor, value: Value) -> bool:
    """True when the tensor is what the trace says it is."""
    found, wanted = tensor_type(real), value.type
    return all(getattr(found, part) == getattr(wanted, part) for part in ("shape", "element", "strides", "device"))


def literal_of(real: torch.Tensor) -> list[Any] | None:
    """The elements in the order of memory, for a graph to hold; None when they are many, no plain numbers, or not dense in memory."""
    if real.numel() > MOST_LITERAL or real.dtype not in _PLAIN:
        return None
    reach = sum((size - 1) * stride for size, stride in zip(real.shape, real.stride())) + 1 if real.numel() else 0
    if reach != real.numel():
        return None
    with torch._C._DisableTorchDispatch():
        found: list[Any] = real.as_strided((reach,), (1,)).tolist()
    return found


MOST_LITERAL = 4096
_PLAIN = MappingProxyType({getattr(torch, name): None for name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()})
