"""Compute equal things once.

    %1 = functional.exp(%0) : !t
    %2 = functional.exp(%0) : !t            =>     %1 = functional.exp(%0) : !t
    %3 = functional.add(%1, %2) : !t               %3 = functional.add(%1, %1) : !t

Two operations are equal when they are of one class and agree in operands (in any order where the first two commute), attributes and result
types.  The first must dominate the second.  Pure operations merge across blocks and into nested regions; operations that only read merge inside
one block while nothing in between may write.  Operations with regions, symbols and terminators stay, and are searched inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.ir import (
    Block,
    Commutative,
    Context,
    IsolatedFromAbove,
    Operation,
    Region,
    Terminator,
    effects_of,
    is_pure_class,
    literal_key,
)
from lect.ir.dominance import immediate_dominators
from lect.passes.base import Pass

READS_ONLY = frozenset({"read"})


@dataclass(frozen=True)
class Cse(Pass):
    """Replace an operation by an equal one that dominates it."""

    name: ClassVar[str] = "cse"

    def run(self, op: Operation, ctx: Context) -> None:
        """Search all regions of `op`."""
        search = _Search()
        search.regions(op)
        ctx.count("operations merged", search.merged)


class _Table:
    """Known operations by key; a lookup goes on in the tables around it."""

    def __init__(self, outer: _Table | None) -> None:
        self.outer = outer
        self.known: dict[Any, Operation] = {}

    def find(self, key: Any) -> Operation | None:
        table: _Table | None = self
        while table is not None:
            found = table.known.get(key)
            if found is not None:
                return found
            table = table.outer
        return None


class _Search:
    def __init__(self) -> None:
        self.merged = 0

    def regions(self, op: Operation, outer: _Table | None = None) -> None:
        visible = None if IsolatedFromAbove in op.traits else outer
        for region in op.regions:
            self.region(region, visible)

    def region(self, region: Region, outer: _Table | None) -> None:
        """Visit the dominator tree, each block after the block that dominates it directly."""
        if len(region.blocks) == 1:
            self.block(region.entry, _Table(outer))
            return
        tables: dict[Block | None, _Table | None] = {None: outer}
        for block, dominator in immediate_dominators(region).items():  # in reverse postorder: dominators come first
            table = tables[block] = _Table(tables[dominator])
            self.block(block, table)

    def block(self, block: Block, table: _Table) -> None:
        reads: dict[Any, Operation] = {}
        for op in block:
            cls: Any = type(op)
            if is_pure_class(cls) and not op.regions:
                if _can_merge(op):
                    self.merge(op, table, None)
                continue
            effects = effects_of(op)
            kinds = None if effects is None else {kind for kind, _ in effects}
            if op.regions:
                self.regions(op, table)
            if kinds is None or kinds - READS_ONLY - {"allocate"}:
                reads.clear()
            elif "allocate" not in kinds and _can_merge(op):
                self.merge(op, table, reads if kinds else None)

    def merge(self, op: Operation, table: _Table, reads: dict[Any, Operation] | None) -> None:
        """Replace `op` by its equal, or note it; `reads` are the reads that still hold, None for a pure operation."""
        key = _key(op)
        equal = table.find(key) if reads is None else reads.get(key)
        if equal is not None:
            op.replace(equal.results)
            self.merged += 1
        elif reads is None:
            table.known[key] = op
        else:
            reads[key] = op


def _can_merge(op: Operation) -> bool:
    return bool(op.results) and not op.regions and not op.successors and "sym_name" not in op.attrs and Terminator not in op.traits


def _key(op: Operation) -> Any:
    operands = tuple(op.operands)
    if len(operands) > 1 and id(operands[0]) > id(operands[1]) and Commutative in op.traits:
        operands = operands[1], operands[0], *operands[2:]
    attrs, results = op.attrs, op.results
    named = tuple([(name, literal_key(attrs[name])) for name in (sorted(attrs) if len(attrs) > 1 else attrs)]) if attrs else ()
    return type(op), op.name, operands, named, results[0].type if len(results) == 1 else tuple([value.type for value in results])
