"""Decide how many programs of a kernel are worth a thread, and write it on its launches.

    host.launch(%x, %y) {kernel = @n0, grid = 4096}  =>  host.launch(%x, %y) {kernel = @n0, grid = 4096, grain = 512}

A launch gives no thread fewer than `grain` programs, so one of fewer than twice as many stays on the thread that asks for it.  The work of a program is
counted in operations on single elements: those of a loop once for each step, with the sizes of the captured call where they are known only at run time.  A
heavy operation counts for `HEAVY_WORK`, and an access to memory for `MEMORY_WORK` of the others, which is what they take of a core's time.  Starting and
awaiting threads costs some microseconds; `work` operations are several times that.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.host import ops as host
from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import axes_of
from lect.dialects.scalars import HEAVY
from lect.ir import Block, Context, Operation
from lect.ir.facts import facts_of
from lect.ir.symbolic import Size
from lect.passes.base import Pass, option

HEAVY_WORK = 10
MEMORY_WORK = 8
MEMORY = (kernel.LoadOp, kernel.StoreOp, kernel.AtomicAddOp)
FREE = (kernel.ConstOp, kernel.LanesOp, kernel.BoundOp, kernel.ProgramIdOp, kernel.PrefetchOp, kernel.ScratchOp, kernel.YieldOp, kernel.ReturnOp)


@dataclass(frozen=True)
class KernelParallelize(Pass):
    """Set `grain` of every launch on a CPU."""

    name: ClassVar[str] = "kernel-parallelize"
    work: int = option(500_000, "operations that are worth a thread")

    def run(self, op: Operation, ctx: Context) -> None:
        kernels = {inner.sym_name: inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.target == "cpu"}
        grains: dict[str, int] = {}
        for func in [inner for inner in op.body if isinstance(inner, host.FuncOp)]:
            for launch in [inner for inner in func.body if isinstance(inner, host.LaunchOp)]:
                name: str = launch.kernel.path[-1]
                if name not in kernels:
                    continue
                if name not in grains:
                    grains[name] = max(-(-self.work // max(program_work(kernels[name]), 1)), 1)
                if launch.attrs.get("grain", 1) != grains[name]:
                    launch.attrs["grain"] = grains[name]
                    ctx.count("launches given a grain")


def program_work(func: kernel.FuncOp) -> int:
    """The operations of one program of a kernel on single elements, in those of the cheapest."""
    return Work(func).of(func.body)


class Work:
    """Counts the work of one kernel; the elements of tiles over the same axes are counted once."""

    def __init__(self, func: kernel.FuncOp) -> None:
        self.func, self.facts = func, facts_of(func)
        self.elements: dict[Set[str], int] = {}

    def of(self, block: Block) -> int:
        """The work of a block, run once."""
        total = 0
        for op in block:
            if isinstance(op, kernel.ForOp):
                total += self._steps(op) * self.of(op.body)
            elif not isinstance(op, FREE):
                total += self._weight(op) * self._elements(frozenset().union(*[axes_of(value.type) for value in (*op.operands, *op.results)]))
        return total

    def _steps(self, loop: kernel.ForOp) -> int:
        block, extent = self.func.blocks.size(loop.axis), self._size(kernel.axis_of(loop, loop.axis).extent)
        walked = extent - self._size(loop.begin) if loop.span is None else min(self._size(loop.span), extent)
        return max(-(-walked // (loop.step or block)), 0)

    def _weight(self, op: Operation) -> int:
        return MEMORY_WORK if isinstance(op, MEMORY) else HEAVY_WORK if op.name.partition(".")[2] in HEAVY else 1

    def _elements(self, axes: Set[str]) -> int:
        if axes not in self.elements:
            count = 1
            for axis in self.func.axes.axes:
                if axis.name in axes:
                    count *= min(self.func.blocks.size(axis.name), max(self._size(axis.extent), 1))
            self.elements[axes] = count
        return self.elements[axes]

    def _size(self, size: Size) -> int:
        return self.facts.hint(size)
