"""The verifier.  It checks these invariants, in this order for each operation:

1. the use lists of operands and values agree, and no operand or result lacks a type;
2. operands, results, attributes, regions and successors are those its definition declares, and `infer` gives its result types;
3. its traits hold;
4. every region has a block, the entry block has no predecessor, every block ends in a terminator (unless the operation says otherwise), and
   terminators stand last; successor blocks lie in the same region and get operands of the types of their arguments;
5. every operand is defined on all paths to its use, and not outside of an isolated operation;
6. its own `verify` passes.

The first violation is raised as `VerifyError`.
"""

from __future__ import annotations

from .block import Block, Region
from .diagnostics import VerifyError, require
from .dominance import Dominance
from .operation import Operation
from .structure import verify_structure
from .traits import IsolatedFromAbove, NoTerminator, Terminator
from .value import Value


def verify(op: Operation) -> None:
    """Check `op` and all nested operations.  Raises `VerifyError`."""
    _Verifier().op(op, ())


class _Verifier:
    def __init__(self) -> None:
        self.dominance = Dominance()
        self.seen: set[Operation] = set()  # operations met so far: within a block, those that stand before

    def op(self, op: Operation, inside: tuple[Region, ...]) -> None:
        """Check one operation; `inside` are the regions from which it may take values, innermost first."""
        operands = op.operands
        for value in operands:
            if value.users.get(op, 0) != (1 if len(operands) == 1 else operands.count(value)):
                raise VerifyError(f"the use list of an operand of '{op.name}' does not agree with its operands", op=op)
        definition = op.definition
        if definition is not None:
            try:
                verify_structure(op)
            except VerifyError as error:  # rules shared by operations know only types
                error.about(op)
                raise
            for trait in definition.checked_traits:
                trait.verify(op)
        if op.successors:
            self._successors(op)
        elif op.next is None and definition is not None and op.parent is not None and Terminator not in op.traits:
            parent = op.parent_op
            require(
                parent is None or parent.definition is None or NoTerminator in parent.traits, op, "the block must end in a terminator, not in '{}'", op.name
            )
        self._operands(op, inside)
        if op.regions:
            self._regions(op, inside)
        if definition is not None and definition.has_verify:
            op.verify()

    def _operands(self, op: Operation, inside: tuple[Region, ...]) -> None:
        block = op.parent
        if block is None:
            return
        seen = self.seen
        for value in op.operands:
            owner = value.owner
            if type(owner) is Block:
                if owner is block:
                    continue
            elif owner.parent is block:
                if owner in seen:
                    continue
                raise VerifyError(f"operand of '{op.name}' is used before it is defined", op=op)
            self._outer_operand(op, value, inside)
        if op.results:
            seen.add(op)

    def _outer_operand(self, op: Operation, value: Value, inside: tuple[Region, ...]) -> None:
        block = value.block
        require(
            block is not None and block.parent in inside, op, "operand of '{}' is defined outside of the operation that isolates it, or not at all", op.name
        )
        require(self.dominance.value_dominates(value, op), op, "operand of '{}' is not defined on every path to its use", op.name)

    def _successors(self, op: Operation) -> None:
        require(op.next is None, op, "'{}' has successors and must be the last operation of its block", op.name)
        region = op.parent.parent if op.parent is not None else None
        definition = op.definition
        if definition is None:
            return
        sizes = definition.segments(op)[len(definition.operands) :]
        position = len(op.operands) - sum(sizes)
        for number, (block, size) in enumerate(zip(op.successors, sizes)):
            require(block.parent is region, op, "successor {} of '{}' is not in the same region", number, op.name)
            types = [value.type for value in op.operands[position : position + size]] + list(op.produced(number))
            require(len(block.args) == len(types), op, "successor {} of '{}' takes {} arguments, got {}", number, op.name, len(block.args), len(types))
            for argument, type in zip(block.args, types):
                require(argument.type is type, op, "successor {} of '{}' takes {}, got {}", number, op.name, argument.type, type)
            position += size

    def _regions(self, op: Operation, inside: tuple[Region, ...]) -> None:
        isolated = IsolatedFromAbove in op.traits
        for number, region in enumerate(op.regions):
            require(region.blocks or op.definition is None, op, "region {} of '{}' has no block", number, op.name)
            if region.blocks and len(region.blocks) > 1:
                entry = region.entry
                for block in region.blocks:
                    if block.last is not None and any(successor is entry for successor in block.last.successors):
                        raise VerifyError(f"the entry block of '{op.name}' is a successor of another block", op=op)
            visible = (region,) if isolated else (region, *inside)
            needs_end = op.definition is not None and NoTerminator not in op.traits
            for block in region.blocks:
                if needs_end and block.last is None:
                    raise VerifyError(f"a block of '{op.name}' is empty but needs a terminator", op=op)
                cursor = block.first
                while cursor is not None:
                    self.op(cursor, visible)
                    cursor = cursor.next
