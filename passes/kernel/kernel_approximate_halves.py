"""Allow kernels for a GPU whose floats all end up in 16 bits to compute with the fast functions of the hardware.

    kernel.func @n0(%x: !kernel.ptr<bf16>, %y: !kernel.ptr<bf16>) {..}  =>  ... {approximate = "every float result is rounded to 16 bits"}

Exponentials, divisions and roots that are off by some units of f32 in the last place differ from exact ones by 2^-20, and what is stored is rounded to 2^-9
or 2^-12: of thousands of results one may be rounded to the other side.  A kernel that stores an f32 or an f64, or whose integers or conditions depend on
floats, stays exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import TileType, element_of
from lect.ir import Context, Operation, ScalarType
from lect.ir.types import f64
from lect.passes.base import Pass

REASON = "every float result is rounded to 16 bits"


@dataclass(frozen=True)
class KernelApproximateHalves(Pass):
    """Mark kernels for a GPU that may use approximate functions."""

    name: ClassVar[str] = "kernel-approximate-halves"

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp)]:
            if func.target == "cuda" and func.approximate is None and ends_in_halves(func):
                func.attrs["approximate"] = REASON
                ctx.count("kernels with approximate functions")


def ends_in_halves(func: kernel.FuncOp) -> bool:
    """Whether a kernel stores 16-bit floats and nothing else."""
    stores = [op for op in func.walk() if isinstance(op, (kernel.StoreOp, kernel.AtomicAddOp))]
    numbers = [value.type for op in func.walk() for value in op.results if isinstance(value.type, (TileType, ScalarType))]
    wide = any(element_of(type) is f64 for type in numbers)
    return bool(stores) and not wide and all(element_of(op.value.type).is_half for op in stores)

