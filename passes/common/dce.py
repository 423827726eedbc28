"""Remove what has no effect on any result: operations, block arguments, and blocks that nothing reaches.

    ^bb0(%a: f32):
      %dead = d.exp(%a) : f32                    ^bb0(%a: f32):
      cf.br()[^loop(%a, %a)]                =>     cf.br()[^loop(%a)]
    ^loop(%x: f32, %unused: f32):                ^loop(%x: f32):
      cf.br()[^loop(%x, %unused)]                  cf.br()[^loop(%x)]

An operation is needed when it is no candidate for removal (it writes, frees, may do anything, ends a block, or is a symbol) or when a needed
operation uses a result; an argument is needed when a needed operation uses it, so a cycle of arguments that only feed each other goes too.  The
arguments of entry blocks belong to the operation around them and stay, and so do those of blocks that a branch hands values of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.ir import SEGMENTS, Block, Context, Operation, Region, Value, is_removable, reverse_postorder
from lect.passes.base import Pass


@dataclass(frozen=True)
class Dce(Pass):
    """Remove operations, block arguments and blocks that are not needed."""

    name: ClassVar[str] = "dce"

    def run(self, op: Operation, ctx: Context) -> None:
        """Everything inside `op`; `op` itself stays."""
        around = [each for each in op.walk() if each.regions]
        ctx.count("blocks removed", sum(_remove_unreachable(region) for each in around for region in each.regions))
        needed = _Needed()
        needed.need(op)
        needed.propagate()
        ctx.count("operations removed", _remove_operations(op, needed.ops))
        left = [each for each in around if each in needed.ops]
        ctx.count("arguments removed", sum(_remove_arguments(region, needed.args) for each in left for region in each.regions))


def _remove_unreachable(region: Region) -> int:
    if len(region.blocks) < 2:
        return 0
    reached = set(reverse_postorder(region))
    lost = [block for block in region.blocks if block not in reached]
    for block in lost:
        region.remove(block)
    return len(lost)


class _Needed:
    """The needed operations and block arguments, found from those that are needed for their own sake."""

    def __init__(self) -> None:
        self.ops: set[Operation] = set()
        self.args: set[Value] = set()
        self.work: list[Operation] = []
        self.predecessors: dict[Block, list[tuple[Operation, int]]] = {}

    def need(self, op: Operation) -> None:
        """`op` is needed, and so is what inside it is needed for its own sake."""
        if op in self.ops:
            return
        self.ops.add(op)
        self.work.append(op)
        for region in op.regions:
            for block in region.blocks:
                if block.last is not None:
                    for number, successor in enumerate(block.last.successors):
                        self.predecessors.setdefault(successor, []).append((block.last, number))
                for inner in block:
                    if not is_removable(inner):
                        self.need(inner)

    def propagate(self) -> None:
        """Follow operands until nothing new is needed.  What a branch passes to a block is needed only if the block's argument is."""
        ops = self.ops
        while self.work:
            op = self.work.pop()
            operands = op.operands[: len(op.operands) - sum(_passed_sizes(op))] if op.successors else op.operands
            for value in operands:
                owner = value.owner
                if owner in ops:
                    continue
                if owner.is_operation and not owner.regions:
                    ops.add(owner)
                    self.work.append(owner)
                else:
                    self.value(value)
            if op.successors and _is_opaque(op):
                for block in op.successors:
                    for argument in block.args:
                        self.value(argument)

    def value(self, value: Value) -> None:
        """A needed operation uses `value`; follow arguments back through the branches that pass them."""
        stack = [value]
        while stack:
            value = stack.pop()
            owner = value.owner
            if isinstance(owner, Operation):
                self.need(owner)
            elif value not in self.args:
                self.args.add(value)
                for branch, number in self.predecessors.get(owner, ()):
                    if not _is_opaque(branch):
                        stack.append(branch.operands[_passed_start(branch, number) + value.index])


def _is_opaque(branch: Operation) -> bool:
    """True when the arguments of the successors must stay: what goes to which is not known, or the branch itself hands values to them."""
    return branch.definition is None or type(branch).produced is not Operation.produced


def _passed_sizes(branch: Operation) -> list[int]:
    """How many operands go to each successor; empty for an opaque branch, which needs all its operands."""
    definition = branch.definition
    if definition is None or not branch.successors or _is_opaque(branch):
        return []
    return definition.segments(branch)[len(definition.operands) :]


def _passed_start(branch: Operation, number: int) -> int:
    """The position of the first operand for successor `number`."""
    sizes = _passed_sizes(branch)
    return len(branch.operands) - sum(sizes[number:])


def _remove_operations(top: Operation, needed: set[Operation]) -> int:
    dead = [op for op in top.walk() if op not in needed]
    dead = [op for op in dead if op.parent_op is None or op.parent_op in needed]
    for op in dead:  # they may use each other in a circle through block arguments
        op.drop_operands()
    for op in dead:
        op.detach()
    return len(dead)


def _remove_arguments(region: Region, needed: set[Value]) -> int:
    lost = [value for block in region.blocks[1:] for value in block.args if value not in needed]
    if not lost:
        return 0
    removed = set(lost)
    for block in region.blocks:
        if block.last is not None and block.last.successors:
            _stop_passing(block.last, removed)
    for block in region.blocks[1:]:
        for position in reversed(range(len(block.args))):
            if block.args[position] in removed:
                block.erase_arg(position)
    return len(lost)


def _stop_passing(branch: Operation, removed: set[Value]) -> None:
    """Drop the operands that a branch passes to removed arguments."""
    sizes = _passed_sizes(branch)
    if not sizes:
        return
    operands = branch.operands[: len(branch.operands) - sum(sizes)]
    new_sizes = []
    for number, block in enumerate(branch.successors):
        start = _passed_start(branch, number)
        passed = [branch.operands[start + argument.index] for argument in block.args if argument not in removed]
        operands = operands + passed
        new_sizes.append(len(passed))
    assert branch.definition is not None
    if branch.definition.needs_segments:
        branch.attrs[SEGMENTS] = (*branch.definition.segments(branch)[: -len(sizes)], *new_sizes)
    branch.set_operands(operands)
