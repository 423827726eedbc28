"""Ask for the next program's row while the last sweep over this one runs.

    for R { %v = load(%x, %row, %r); ...; store }   =>   %next = kernel.index(%row) {map = (d0) -> (d0 + 1)}
                                                         for R { %v = load ...; prefetch(%x, %next, %r); ...; store }

A kernel that walks its row in several sweeps reads memory in the first and the cache in the others; the first waits.  Where a later sweep loads
from the same memory, or keeps what it needs in scratch, it asks for the same place one row on.  Rows between `least` and `most` bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.ir import Context, Operation, Value
from lect.ir.facts import facts_of
from lect.ir.index_map import IndexMap, coefficient, dims_of
from lect.ir.symbolic import dim
from lect.passes.base import Pass, option


@dataclass(frozen=True)
class KernelPrefetchRows(Pass):
    """Fetch the next row ahead in kernels of several sweeps."""

    name: ClassVar[str] = "kernel-prefetch-rows"
    least: int = option(2048, "shortest row in bytes")
    most: int = option(65536, "longest row in bytes")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.target == "cpu"]:
            ctx.count("rows fetched ahead", prefetch_rows(func, self.least, self.most))


def prefetch_rows(func: kernel.FuncOp, least: int, most: int) -> int:
    """Add prefetches to the last sweep of one kernel; gives their number."""
    sweeps = [op for op in func.body if isinstance(op, kernel.ForOp) and not any(isinstance(inner, kernel.ForOp) for inner in op.body)]
    program = next((op for op in func.body if isinstance(op, kernel.ProgramIdOp) and op.dim == len(func.grid) - 1), None)
    if len(sweeps) < 2 or program is None or facts_of(func).hint(func.programs) < 2:
        return 0
    first, last = sweeps[0], sweeps[-1]
    if first.axis != last.axis or first.span or last.span or last.begin:
        return 0
    lanes = next((op.result for op in last.body if isinstance(op, kernel.LanesOp) and op.axis == last.axis), None)
    extent = facts_of(func).hint(kernel.axis_of(last, last.axis).extent)
    wanted = [load for load in first.body if isinstance(load, kernel.LoadOp) and _walks_rows(load, program.result, first)]
    wanted = [load for load in wanted if least <= extent * load.pointer.type.element.bytes <= most]
    if lanes is None or not wanted:
        return 0
    following = kernel.IndexOp([program.result], IndexMap(1, (dim(0) + 1,)), loc=func.loc)
    func.body.insert_before(program.next, following)
    for load in wanted:
        indices = [following.result if value is program.result else lanes if value.block is first.body else value for value in load.indices]
        made = kernel.PrefetchOp(load.pointer, indices, load.map, loc=load.loc)
        last.body.insert_before(lanes.op.next, made)  # type: ignore[union-attr]
    return len(wanted)


def _walks_rows(load: kernel.LoadOp, program: Value, loop: kernel.ForOp) -> bool:
    """Whether a load's address steps by one along the loop's lanes and moves with the program's number."""
    if load.map.num_indices or program not in load.indices:
        return False
    for position, value in enumerate(load.indices):
        lanes = isinstance(value.op, kernel.LanesOp) and value.op.axis == loop.axis
        if value.block is loop.body and not lanes:
            return False
        if lanes and coefficient(load.map.offset, position) != 1:
            return False
    moves = coefficient(load.map.offset, load.indices.index(program))
    return bool(moves) and bool(dims_of(load.map.offset))
