"""Elements of tensors as numbers of run time: `x.item()` of one that exists before the call is read when the call begins.

    step += 1; rate / step.item()   ->   rate / (L["step"]:element + 1.0), computed by the residual code

The number must be what the program would read in that place.  So the tensor is on the CPU, and was written to by nothing but additions of constants,
which are added to the number: exactly, which for a float of 32 bits means that both are whole and small, and that is guarded.

A tensor that was made of a number of run time, and written to by nothing, gives that number back, rounded to its type.
"""

from __future__ import annotations

import operator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from lect.dialects.fx import ops as fx
from lect.dialects.fx.types import OperandRef
from lect.dialects.guard.arithmetic import to_f32
from lect.frontends.capture.numbers import RunTimeNumber, apply
from lect.frontends.tensors import LT
from lect.ir import Operation, Value

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer

# Below these magnitudes sums of whole numbers are exact; None where Python's sum is torch's.
_EXACT = MappingProxyType({torch.float64: None, torch.float32: 1 << 23, torch.int64: 1 << 61, torch.int32: 1 << 29})
_WHOLE = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})
_DOUBLE = 1 << 53  # up to here every int is a float
_ADDITIONS = frozenset({"operator.iadd", "torch.Tensor.add_"})
_ADDITIONS_TO_LISTS = frozenset({"torch._foreach_add_", "torch._C._VariableFunctions._foreach_add_"})


class InputElements:
    """What was added to the tensors of the graph so far: for each value the constants, None where something else was written."""

    def __init__(self, t: Tracer) -> None:
        self.t = t
        self.added: dict[Value, tuple[float, ...] | None] = {}
        self.unclear = False  # something of one element was written that may be a view of an input
        self.used = False  # a number was read behind a write, so no other input may share that memory
        self.made: dict[int, tuple[LT, RunTimeNumber]] = {}  # tensors of one number
        self._last: Operation | None = None

    def note_made(self, tensor: LT, number: RunTimeNumber) -> None:
        """A traced tensor was made of a number."""
        self.made[id(tensor)] = (tensor, number)

    def number(self, tensor: LT) -> Box | None:
        """The only element of a tensor as a box; None when it is not known."""
        self.t.memo.disturb()
        if id(tensor) in self.made:
            return self._number_of_made(tensor)
        t = self.t
        real = t.real_of.get(id(tensor))
        known = t.seen.get(id(tensor))
        if real is None or known is None or known[1] is None or t.graph.block is not t.graph.top:
            return None
        if real.numel() != 1 or real.device.type != "cpu" or real.dtype not in _EXACT or real.is_inference():
            return None
        self._catch_up()
        added = self.added.get(t.graph.value_of(tensor), ())
        if added is None or self.unclear:
            return None
        self.used = self.used or bool(added)
        place = known[1].step("element")
        place.run_time = place.path() not in t.policy.by_value
        box = t.wrap(torch.Tensor.item(real), place)
        if added and not self._adds_exactly(box, real.dtype, added):
            return None
        for constant in added:
            found = apply(t, operator.add, [box, (constant, None)])
            box = found if found is not None else (t.leak(box) + constant, None)
        return box

    def _number_of_made(self, tensor: LT) -> Box | None:
        number, dtype, t = self.made[id(tensor)][1], tensor.dtype, self.t
        if tensor.is_inference() or tensor._version or tensor.device.type != "cpu" or t.graph.block is not t.graph.top:
            return None
        self._catch_up()
        if self.unclear:
            return None
        box: Box | None = (number, None)
        if type(number.value) is int and dtype in _WHOLE:
            return box
        if dtype not in (torch.float32, torch.float64):
            return None
        if type(number.value) is int:
            bounds = [(operator.le, _DOUBLE), (operator.ge, -_DOUBLE)] if dtype is torch.float32 else []
            if not all(self._holds((number, None), test, limit) for test, limit in bounds):
                return None
            box = apply(t, float, [(number, None)])
        return apply(t, to_f32, [box]) if dtype is torch.float32 and box is not None else box

    def _adds_exactly(self, box: Box, dtype: torch.dtype, added: tuple[float, ...]) -> bool:
        limit = _EXACT[dtype]
        if limit is None:
            return True
        kind = float if dtype.is_floating_point else int
        if any(constant != int(constant) or abs(constant) > limit // 2 for constant in added) or len(added) > 1 << 10:
            return False
        bound = kind(limit // 2)
        tests = [(operator.lt, bound), (operator.gt, -bound)]
        if kind is float:
            rest = apply(self.t, operator.mod, [box, (1.0, None)])
            whole = self._holds(rest, operator.eq, 0.0) if rest is not None else self.t.leak(box) % 1.0 == 0.0
            if not whole:
                return False
        return all(self._holds(box, test, value) for test, value in tests)

    def _holds(self, box: Box, test: Any, value: Any) -> bool:
        """The outcome of a comparison, guarded."""
        found = apply(self.t, test, [box, (value, None)])
        return bool(found[0]) if found is not None else bool(test(self.t.leak(box), value))

    def clear(self) -> None:
        """Forget everything."""
        self.added.clear()
        self.made.clear()
        self._last = None

    # ---- what was written --------------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        op = self.t.graph.top.first if self._last is None else self._last.next
        while op is not None:
            if id(op) in self.t.graph.writers:
                self._wrote(op)
            self._last, op = op, op.next

    def _wrote(self, op: Operation) -> None:
        targets, constant = self._addition(op)
        if constant is None:
            self.unclear = self.unclear or any(_may_be_view(value) for value in op.operands)
            self.added.update(dict.fromkeys((*op.operands, *op.results), None))
            return
        self.unclear = self.unclear or any(_may_be_view(value) and value not in self.added for value in targets)
        for value in targets:
            before = self.added.get(value, ())
            self.added[value] = None if before is None else (*before, constant)
        for value, result in zip(targets, op.results):
            self.added[result] = self.added[value]

    def _addition(self, op: Operation) -> tuple[list[Value], Any]:
        """The tensors that a constant is added to, and the constant; None for it when this is something else."""
        if not isinstance(op, fx.CallOp) or len(op.args) != 2:
            return [], None
        name = op.target.leaf
        if name in _ADDITIONS and op.args[0] == OperandRef(0) and not op.kwargs and len(op.operands) == 1:
            return [op.operands[0]], _constant(op.args[1])
        if name in _ADDITIONS_TO_LISTS and type(op.args[0]) is dict and "list" in op.args[0]:
            listed = op.args[0]["list"]
            if all(type(item) is OperandRef for item in listed) and len({item.number for item in listed}) == len(listed):
                return [op.operands[item.number] for item in listed], self._summand(op)
        return [], None

    def _summand(self, op: fx.CallOp) -> Any:
        scale = _constant(op.kwargs.get("alpha", 1))
        if scale is None or any(name != "alpha" for name in op.kwargs):
            return None
        if type(op.args[1]) is not OperandRef:
            return None if _constant(op.args[1]) is None else op.args[1] * scale
        value = op.operands[op.args[1].number]
        made, tensor = value.owner, self.t.graph.tensors().get(value)
        if not isinstance(made, fx.CallOp) or made.target.leaf != "torch.tensor" or tensor is None or tensor._version:
            return None
        number = _constant(made.args[0])
        return None if number is None else number * scale


def _may_be_view(value: Value) -> bool:
    sizes = getattr(value.type, "shape", ())
    return isinstance(value.owner, Operation) and all(size == 1 for size in sizes)


def _constant(value: Any) -> Any:
    return value if type(value) in (int, float) else None
