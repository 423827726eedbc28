"""Allow kernels for a GPU whose floats all end up in 16 bits to compute with the fast functions of the hardware.

    kernel.func @n0(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {..}  =>  ... {approximate = "every float result is rounded to 16 bits"}

Exponentials, divisions and roots that are off by some units of f32 in the last place differ from exact ones by 2^-20, and what is stored is rounded to 2^-9
or 2^-12: of thousands of results one may be rounded to the other side.  A kernel that stores anything else stays exact, unless it is a sum of numbers that
were rounded to 16 bits, as the gradient of a bias beside that of what it was added to; and so does one that rounds an f32
to an integer or compares it: where a number just misses an integer or another number, a small error is a great one.  Numbers that were rounded to 16 bits
before may be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import TileType, element_of
from lect.ir import Block, Context, Operation, ScalarType, Value
from lect.ir.types import f32, f64
from lect.passes.base import Pass

ROUNDINGS = frozenset("floor ceil trunc round floor_div trunc_div remainder fmod sign".split())
COMPARISONS = frozenset("eq ne lt le gt ge".split())
ARITHMETIC = frozenset(f"kernel.{name}" for name in "add sub mul neg abs fma maximum minimum".split())
REASON = "every float result is rounded to 16 bits"


@dataclass(frozen=True)
class KernelApproximateHalves(Pass):
    """Mark kernels for a GPU that may use approximate functions."""

    name: ClassVar[str] = "kernel-approximate-halves"
    gpu_only: ClassVar[bool] = True

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp)]:
            if func.target == "cuda" and func.approximate is None and ends_in_halves(func):
                func.attrs["approximate"] = REASON
                ctx.count("kernels with approximate functions")


def ends_in_halves(func: kernel.FuncOp) -> bool:
    """Whether a kernel stores 16-bit floats, and nothing else but sums of such."""
    stores = [op for op in func.walk() if isinstance(op, (kernel.StoreOp, kernel.AtomicAddOp))]
    numbers = [value.type for op in func.walk() for value in op.results if isinstance(value.type, (TileType, ScalarType))]
    wide = any(element_of(type) is f64 for type in numbers)
    halves = any(element_of(op.value.type).is_half for op in stores) and all(element_of(op.value.type).is_half or _is_sum(op.value) for op in stores)
    return halves and not wide and not any(_is_discrete(op) for op in func.walk())


def _is_sum(value: Value) -> bool:
    """Whether an f32 is made of numbers that were rounded to 16 bits, of loaded ones and of constants, by arithmetic that every processor does exactly."""
    if element_of(value.type) is not f32:
        return False
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        op = each.op
        if op is None:
            found = _carried(each)
        elif _is_rounded(each):
            continue
        elif isinstance(op, kernel.ForOp):
            found = [op.initial[each.index], op.body.last.operands[each.index]]  # type: ignore[union-attr]
        elif isinstance(op, kernel.SelectOp):
            found = [op.when_true, op.when_false]
        elif isinstance(op, kernel.ReduceOp) or op.name in ARITHMETIC:
            found = list(op.operands)
        else:
            return False
        if not found:
            return False
        pending += [new for new in found if new not in seen]
        seen.update(found)
    return True


def _carried(argument: Value) -> list[Value]:
    """What a loop carries in an argument of its body: what it begins with and what each step gives."""
    loop = argument.owner.parent_op if isinstance(argument.owner, Block) else None
    if not isinstance(loop, kernel.ForOp) or argument.index == 0:
        return []
    return [loop.initial[argument.index - 1], loop.body.last.operands[argument.index - 1]]  # type: ignore[union-attr]


def _is_discrete(op: Operation) -> bool:
    """Whether the result of an operation jumps where an f32 that is no rounded number changes a little."""
    name = op.name.partition(".")[2]
    cast = isinstance(op, kernel.CastOp) and element_of(op.value.type) is f32 and not element_of(op.result.type).is_float
    if cast or name in ROUNDINGS or name in COMPARISONS or name == "reduce_index":
        return any(element_of(value.type) is f32 and not _is_rounded(value) for value in op.operands)
    return False


def _is_rounded(value: Value) -> bool:
    """Whether an f32 is exact whatever functions are: a constant, a loaded number, one that was rounded to 16 bits, or one of these negated."""
    op = value.op
    if isinstance(op, kernel.CastOp):
        return element_of(op.value.type) is not f32
    if op is not None and op.name in ("kernel.neg", "kernel.abs"):
        return _is_rounded(op.operands[0])
    return isinstance(op, (kernel.ConstOp, kernel.LoadOp))
