"""Dominance in the block graph of a region, and the order of operations in a block.

Answers are computed on first use and hold until the IR changes; make a new object after a change.
"""

from __future__ import annotations

from .block import Block, Region
from .operation import Operation
from .value import Value


class Dominance:
    """Which block, operation or value is surely reached before which."""

    def __init__(self) -> None:
        self._idom: dict[Region, dict[Block, Block | None]] = {}
        self._order: dict[Block, dict[Operation, int]] = {}

    def position(self, op: Operation) -> int:
        """The number of `op` in its block."""
        block = op.parent
        assert block is not None
        order = self._order.get(block)
        if order is None:
            order = self._order[block] = {}
            cursor, number = block.first, 0
            while cursor is not None:
                order[cursor] = number
                number += 1
                cursor = cursor.next
        return order[op]

    def block_dominates(self, a: Block, b: Block) -> bool:
        """True when every path from the entry of their region to `b` passes `a` (a block dominates itself); unreachable blocks are dominated by all."""
        if a is b:
            return True
        region = b.parent
        assert region is not None
        idom = self._idom.get(region)
        if idom is None:
            idom = self._idom[region] = immediate_dominators(region)
        if b not in idom:
            return True
        cursor = idom[b]
        while cursor is not None:
            if cursor is a:
                return True
            cursor = idom[cursor]
        return False

    def value_dominates(self, value: Value, user: Operation) -> bool:
        """True when `value` is defined on every path to `user`, which may stand in a nested region."""
        block = value.block
        if block is None:
            return False
        op: Operation | None = user
        while op is not None and op.parent is not None and op.parent.parent is not block.parent:
            op = op.parent_op
        if op is None or op.parent is None:
            return False
        if op.parent is not block:
            return self.block_dominates(block, op.parent)
        maker = value.op
        return maker is None or (maker is not op and self.position(maker) < self.position(op))


def reverse_postorder(region: Region) -> list[Block]:
    """Reachable blocks, each after the blocks that lead to it (back edges aside).  Iterative, so deep graphs are fine."""
    if not region.blocks:
        return []
    seen = {region.entry}
    out: list[Block] = []
    stack = [(region.entry, iter(_successors(region.entry)))]
    while stack:
        block, rest = stack[-1]
        following = next(rest, None)
        if following is None:
            out.append(block)
            stack.pop()
        elif following not in seen:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return out[::-1]


def _successors(block: Block) -> tuple[Block, ...]:
    return block.last.successors if block.last is not None else ()


def immediate_dominators(region: Region) -> dict[Block, Block | None]:
    """The immediate dominator of each reachable block (None for the entry), by the iterative method of Cooper, Harvey and Kennedy (2001)."""
    order = reverse_postorder(region)
    number = {block: i for i, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            predecessors[successor].append(block)
    idom: dict[Block, Block | None] = {order[0]: None} if order else {}
    changed = len(order) > 1
    while changed:
        changed = False
        for block in order[1:]:
            new: Block | None = None
            for before in predecessors[block]:
                if before in idom:
                    new = before if new is None else _intersect(before, new, idom, number)
            if block not in idom or idom[block] is not new:
                idom[block] = new
                changed = True
    return idom


def _intersect(a: Block, b: Block, idom: dict[Block, Block | None], number: dict[Block, int]) -> Block:
    while a is not b:
        while number[a] > number[b]:
            up = idom[a]
            assert up is not None
            a = up
        while number[b] > number[a]:
            up = idom[b]
            assert up is not None
            b = up
    return a
